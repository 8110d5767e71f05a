//! Groups hits into runs of code and renders them as text.

use std::{fmt::Write, time::Duration};

use codeinfo_core::{Hit, plain_line, plain_name};
use codeinfo_lang::{Language, LanguageKind, detect};

use super::{
    super::{
        DocumentedName, NameLocation, ResultFreshness, SearchResults, freshness::FileStaleness,
    },
    trim::{self, NumberedLine, QueryWords, TrimLimits},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DetailLevel {
    Whole,
    Trimmed,
    /// The first line of code, and the one that matches the query best.
    Brief,
    /// The first line of code.
    Head,
    /// Only the location, because the reader has seen the code already.
    Known,
}

impl DetailLevel {
    /// Returns this level and those with less detail, most detailed first.
    pub(super) fn and_less(self) -> &'static [Self] {
        match self {
            Self::Whole => &[Self::Whole, Self::Trimmed, Self::Brief],
            Self::Trimmed => &[Self::Trimmed, Self::Brief],
            Self::Brief => &[Self::Brief],
            Self::Head => &[Self::Head],
            Self::Known => &[Self::Known],
        }
    }
}

const TRIMMED: TrimLimits = TrimLimits { lines: 24, around: 2, bytes: 400 };
const BRIEF: TrimLimits = TrimLimits { lines: 2, around: 0, bytes: 200 };
const HEAD: TrimLimits = TrimLimits { lines: 1, ..BRIEF };
/// Maximum lines between hits that are one piece of code; most often one blank line.
const NEAR: u32 = 1;
/// Maximum symbols in the header of a piece of code.
const MAX_SYMBOLS: usize = 3;
/// Maximum characters of a name, and of a path.
const MAX_NAME_CHARS: usize = 100;
const MAX_PATH_CHARS: usize = 500;

/// Adjacent hits of one file, ordered by line, each with its rank.
#[derive(Debug)]
pub(super) struct HitRun<'a> {
    /// Rank of the best hit.
    pub(super) rank: usize,
    pub(super) hits: Vec<(usize, &'a Hit)>,
}

pub(super) fn group_adjacent_hits(mut hits: Vec<(usize, &Hit)>) -> Vec<HitRun<'_>> {
    hits.sort_by_key(|(rank, hit)| (hit.start_line, *rank));
    let mut runs: Vec<HitRun<'_>> = Vec::new();
    for (rank, hit) in hits {
        match runs.last_mut() {
            Some(run) if run.hits.last().is_some_and(|(_, before)| is_next(before, hit)) => {
                run.rank = run.rank.min(rank);
                run.hits.push((rank, hit));
            }
            _ => runs.push(HitRun { rank, hits: vec![(rank, hit)] }),
        }
    }
    runs
}

fn is_next(before: &Hit, hit: &Hit) -> bool {
    before.end_line < hit.start_line && hit.start_line - before.end_line - 1 <= NEAR
}

/// Renders a run: a line with its location, then its code or the parts that match the query. Lines
/// of code begin with a number, or with `^` for the definition above them.
pub(super) fn render_run(
    run: &HitRun<'_>,
    level: DetailLevel,
    query_words: &QueryWords,
    freshness: &ResultFreshness,
) -> String {
    let mut text = render_header(run, level, freshness);
    if level == DetailLevel::Known {
        return text;
    }
    if let Some(signature) = run.hits.first().and_then(|(_, hit)| hit.signature.as_deref()) {
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "^|{}", plain_line(signature));
    }
    let code = list_code_lines(run);
    let language = run.hits.first().and_then(|(_, hit)| code_language(hit));
    text.push_str(&match level {
        DetailLevel::Whole => render_whole_code(&code, language),
        DetailLevel::Trimmed => trim::render_trimmed_lines(&code, query_words, TRIMMED),
        DetailLevel::Brief => trim::render_brief_lines(&code, query_words, BRIEF),
        DetailLevel::Head => trim::render_brief_lines(&code, query_words, HEAD),
        DetailLevel::Known => String::new(),
    });
    text
}

fn render_whole_code(code: &[NumberedLine<'_>], language: Option<&Language>) -> String {
    trim::render_all_lines(code, |line| language.is_some_and(|language| language.is_comment(line)))
}

pub(super) fn count_whole_bytes(hit: &Hit) -> usize {
    let run = HitRun { rank: 0, hits: vec![(0, hit)] };
    render_whole_code(&list_code_lines(&run), code_language(hit)).len()
}

/// Returns the language of a chunk if it is a programming language.
fn code_language(hit: &Hit) -> Option<&'static Language> {
    let language = detect::find_language(hit.language.as_deref()?)?;
    (language.kind == LanguageKind::Code).then_some(language)
}

/// Returns true if all lines of a chunk of code except at most one are comments.
pub(super) fn is_comment(hit: &Hit) -> bool {
    let Some(language) = code_language(hit) else { return false };
    let lines = hit.chunk.lines().filter(|line| !line.trim().is_empty());
    lines.filter(|line| !language.is_comment(line)).nth(1).is_none()
        && hit.chunk.lines().any(|line| language.is_comment(line))
}

fn list_code_lines<'a>(run: &HitRun<'a>) -> Vec<NumberedLine<'a>> {
    let lines = run
        .hits
        .iter()
        .flat_map(|(_, hit)| (hit.start_line..).zip(hit.chunk.lines()))
        .map(|(number, text)| NumberedLine { number, text });
    lines.filter(|line| !line.text.trim().is_empty()).collect()
}

/// Renders one line: repository, absolute path with lines, symbols, and notes about the piece.
fn render_header(run: &HitRun<'_>, level: DetailLevel, freshness: &ResultFreshness) -> String {
    let (Some((_, first)), Some((_, last))) = (run.hits.first(), run.hits.last()) else {
        return String::new();
    };
    // Names come from repositories: a name must not end its field or the line.
    let repo = plain_name(&first.repo, MAX_NAME_CHARS).replace(['[', ']'], " ");
    let path = plain_name(&first.path, MAX_PATH_CHARS);
    let mut line = format!("[{repo}] {path}:{}-{}", first.start_line, last.end_line);
    let mut symbols: Vec<&str> =
        run.hits.iter().filter_map(|(_, hit)| hit.symbol.as_deref()).collect();
    symbols.dedup();
    for symbol in symbols.iter().take(MAX_SYMBOLS) {
        let _ = write!(line, " `{}`", plain_name(symbol, MAX_NAME_CHARS).replace('`', "'"));
    }
    let known = (level == DetailLevel::Known).then(|| "shown before".to_owned());
    let file_notes = list_file_notes(first, freshness);
    let also = render_also_in(&first.also_in);
    let notes: Vec<String> = known.into_iter().chain(file_notes).chain(also).collect();
    if !notes.is_empty() {
        let _ = write!(line, " ({})", notes.join(", "));
    }
    line.push('\n');
    line
}

/// Lists the notes about a hit's file: its host, and that it changed since it was indexed.
pub(super) fn list_file_notes(hit: &Hit, freshness: &ResultFreshness) -> Vec<String> {
    let host = hit.host.as_ref().map(|host| format!("on {}", plain_name(host, MAX_NAME_CHARS)));
    let staleness = freshness.stale.get(&hit.path).filter(|_| hit.host.is_none());
    let stale = staleness.map(|staleness| match staleness {
        FileStaleness::Changed => "changed since indexed: read the file".to_owned(),
        FileStaleness::Deleted => "deleted since indexed".to_owned(),
    });
    host.into_iter().chain(stale).collect()
}

fn render_also_in(trees: &[String]) -> Option<String> {
    const MAX_NAMED: usize = 3;
    let named: Vec<String> =
        trees.iter().take(MAX_NAMED).map(|name| plain_name(name, MAX_NAME_CHARS)).collect();
    let list = named.join(", ");
    match trees.len().saturating_sub(MAX_NAMED) {
        _ if trees.is_empty() => None,
        0 => Some(format!("also in {list}")),
        more => Some(format!("also in {list} and {more} more")),
    }
}

/// Renders the terms that occur nowhere, or only in documents, in one line.
pub(super) fn render_absent_terms(results: &SearchResults) -> String {
    let names = |names: &[String]| {
        let names: Vec<String> =
            names.iter().map(|name| plain_name(name, MAX_NAME_CHARS)).collect();
        names.join(", ")
    };
    let mut parts = Vec::new();
    if !results.absent.is_empty() {
        parts.push(format!("not in the index: {}", names(&results.absent)));
    }
    for DocumentedName { name, place } in &results.documented {
        let path = plain_name(&place.path, MAX_PATH_CHARS);
        let name = plain_name(name, MAX_NAME_CHARS);
        parts.push(format!("no code has {name}, only documents: {path}:{}", place.line));
    }
    if !results.absent_words.is_empty() {
        parts.push(format!("words found nowhere: {}", names(&results.absent_words)));
    }
    if parts.is_empty() { String::new() } else { parts.join("; ") + "\n" }
}

/// Renders one line with further definitions of the name of the query, or an empty text.
pub(super) fn render_other_definitions(places: &[NameLocation]) -> String {
    const MAX_NAMED: usize = 8;
    if places.is_empty() {
        return String::new();
    }
    let named: Vec<String> = places
        .iter()
        .take(MAX_NAMED)
        .map(|NameLocation { path, line }| format!("{}:{line}", plain_name(path, MAX_PATH_CHARS)))
        .collect();
    let rest = match places.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("(also defined in {}{rest})\n", named.join(", "))
}

/// Renders one line with the time since each repository was indexed.
pub(super) fn render_index_ages(freshness: &ResultFreshness) -> String {
    const MAX_NAMED: usize = 8;
    let ages: Vec<String> = freshness
        .ages
        .iter()
        .take(MAX_NAMED)
        .map(|(name, age)| format!("{} {}", plain_name(name, MAX_NAME_CHARS), format_age(*age)))
        .collect();
    if ages.is_empty() {
        return String::new();
    }
    format!("(indexed: {})\n", ages.join(", "))
}

fn format_age(age: Duration) -> String {
    let minutes = age.as_secs() / 60;
    let (count, unit) = match minutes {
        0 => return "less than a minute ago".to_owned(),
        1..60 => (minutes, "minute"),
        60..2880 => (minutes / 60, "hour"),
        _ => (minutes / 1440, "day"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural} ago")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_a_fitting_unit() {
        let shown = |minutes: u64| format_age(Duration::from_secs(minutes * 60 + 59));
        let ages: Vec<String> = [0, 1, 59, 60, 2879, 2880, 14_400].into_iter().map(shown).collect();
        insta::assert_snapshot!(ages.join("\n"), @r"
        less than a minute ago
        1 minute ago
        59 minutes ago
        1 hour ago
        47 hours ago
        2 days ago
        10 days ago
        ");
    }
}
