//! Suggests names near a wrong one.

use strsim::osa_distance;

use super::entry::ToolIndexEntry;

/// Maximum number of suggestions.
pub(super) const MOST: usize = 3;
/// Minimum similarity of two names of similar spelling.
const LEAST_ALIKE: f32 = 0.6;
/// Maximum characters to compare; of longer names only the start counts.
const MAX_COMPARED_CHARS: usize = 64;

/// Returns the identifiers spelled most like `id`, best first. The same tool name in another toolkit counts as
/// near.
pub(super) fn by_spelling<'a>(
    id: &str,
    entries: impl Iterator<Item = &'a ToolIndexEntry>,
) -> Vec<&'a str> {
    let id = fold_name(id);
    let bare = id.rsplit(':').next().unwrap_or_default();
    let rated = entries.map(|entry| {
        let whole = name_similarity(&id, &fold_name(&entry.id));
        (whole.max(0.95 * name_similarity(bare, &fold_name(&entry.name))), entry.id.as_str())
    });
    pick_nearest(rated.collect())
}

/// Returns the names spelled most like `name`, best first.
pub(super) fn names_by_spelling<'a>(
    name: &str,
    names: impl Iterator<Item = &'a str>,
) -> Vec<&'a str> {
    let name = fold_name(name);
    pick_nearest(names.map(|known| (name_similarity(&name, &fold_name(known)), known)).collect())
}

/// Splits a wrong identifier into words for a search.
pub(super) fn to_search_words(id: &str) -> String {
    let start: String = id.chars().take(4 * MAX_COMPARED_CHARS).collect();
    start.strip_prefix("mcp:").unwrap_or(&start).replace([':', '_', '-', '.', '/'], " ")
}

/// Returns the first distinct names, at most [`MOST`].
pub(super) fn first_distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut distinct = Vec::with_capacity(MOST);
    for name in names {
        if distinct.len() == MOST {
            break;
        }
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

fn pick_nearest(mut rated: Vec<(f32, &str)>) -> Vec<&str> {
    rated.retain(|(alike, _)| *alike >= LEAST_ALIKE);
    rated.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    rated.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// Returns the similarity of two names: 1 minus their edit distance relative to the longer one.
#[expect(clippy::cast_precision_loss, reason = "names are short")]
fn name_similarity(a: &str, b: &str) -> f32 {
    let longest = a.chars().count().max(b.chars().count()).max(1);
    1.0 - osa_distance(a, b) as f32 / longest as f32
}

fn fold_name(name: &str) -> String {
    let bare = name.strip_prefix("mcp:").unwrap_or(name);
    let lower = bare.chars().take(MAX_COMPARED_CHARS).flat_map(char::to_lowercase);
    lower.map(|c| if matches!(c, '-' | '.' | '/' | ' ') { '_' } else { c }).collect()
}
