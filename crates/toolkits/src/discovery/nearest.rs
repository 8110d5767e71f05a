//! Names that a wrong one may mean.

use strsim::osa_distance;

use super::entry::ToolIndexEntry;

/// Most names that an error gives.
pub(super) const MOST: usize = 3;
/// The least share of letters that two names of one spelling have in common.
const LEAST_ALIKE: f32 = 0.6;
/// Longer names are compared by their beginning.
const MAX_COMPARED_CHARS: usize = 64;

/// Returns the ids spelled most like `id`, best first. A tool of the same name in another toolkit is near, too.
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

/// Returns a wrong id as words to search with.
pub(super) fn to_search_words(id: &str) -> String {
    let id: String = id.chars().take(4 * MAX_COMPARED_CHARS).collect();
    id.strip_prefix("mcp:").unwrap_or(&id).replace([':', '_', '-', '.', '/'], " ")
}

/// Returns the first few names, each once.
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

/// Returns the share of letters that stay when one name is changed into the other.
#[expect(clippy::cast_precision_loss, reason = "names are short")]
fn name_similarity(a: &str, b: &str) -> f32 {
    let longest = a.chars().count().max(b.chars().count()).max(1);
    1.0 - osa_distance(a, b) as f32 / longest as f32
}

fn fold_name(name: &str) -> String {
    let name = name.strip_prefix("mcp:").unwrap_or(name);
    let lower = name.chars().take(MAX_COMPARED_CHARS).flat_map(char::to_lowercase);
    lower.map(|c| if matches!(c, '-' | '.' | '/' | ' ') { '_' } else { c }).collect()
}
