//! Parses commits with their places: `app@1a2b3c4`, `app@1a2b3c4:src/a.rs:3-5`. Does no I/O.

use std::ops::{Range, RangeInclusive};

use super::{Citation, CitationCertainty, CitationScanner, MarkdownPieceKind, unescape_path};

/// Digits of an id: from the shortest that git prints to a whole one of SHA-256.
const ID_DIGITS: RangeInclusive<usize> = 7..=64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommitReference {
    /// Name of the repository; `None` for an id alone.
    pub(crate) repo: Option<String>,
    /// Id or its beginning, in lower case.
    pub(crate) id: String,
    /// Path of a file below the root of the repository.
    pub(crate) path: Option<String>,
    /// Meaning of the text if it names no commit.
    pub(crate) otherwise: Option<Box<Citation>>,
}

impl CitationScanner<'_> {
    /// Parses a commit and its place, which follows after `/`, `:` or a blank. An id without a
    /// repository counts only at the start of a code span.
    pub(super) fn parse_commit(&self, run: &Range<usize>) -> Option<Citation> {
        let in_link = self.is_link_target(run);
        let written = self.trim_path_marks(run, in_link);
        let (written_repo, written_id, rest) = split_commit(self.text.get(written.clone())?)?;
        let starts_code =
            self.piece.kind == MarkdownPieceKind::Code && written.start == self.piece.range.start;
        // `app@1a2b3c4^` is another commit.
        let is_parent = self.text_from(written.end).starts_with('^');
        let is_no_citation = is_parent || self.piece.kind == MarkdownPieceKind::Fenced;
        if is_no_citation || written_repo.is_none() && !starts_code {
            return None;
        }
        let place = match rest {
            "" if written.end == run.end => self.parse_following_place(run.end),
            "" => None,
            _ => self.parse_citation(run.clone()),
        };
        let id_end = written.end - rest.len();
        let path = place.as_ref().and_then(|place| match rest {
            "" if in_link => unescape_path(&place.path, true),
            "" => Some(place.path.clone()),
            _ => place.path.split_once(written_id)?.1.strip_prefix('/').map(str::to_owned),
        });
        let end = place.as_ref().map_or(id_end, |place| place.range.end);
        let is_beyond = end > self.piece.range.end;
        let start = if is_beyond { self.find_span_start(written.start) } else { written.start };
        let repo =
            written_repo.map_or(Some(None), |repo| unescape_path(repo, in_link).map(Some))?;
        let id = written_id.to_ascii_lowercase();
        let named = repo.as_ref().map_or_else(|| id.clone(), |repo| format!("{repo}@{id}"));
        Some(Citation {
            range: start..end,
            whole: self.find_enclosing_range(&(start..end), in_link),
            path: path.as_ref().map_or_else(|| named.clone(), |path| format!("{named}:{path}")),
            lines: place.as_ref().map(|place| place.lines.clone()).unwrap_or_default(),
            certainty: match repo {
                Some(_) => CitationCertainty::Location,
                None => CitationCertainty::IfFound,
            },
            written: place.as_ref().map_or(written.start..id_end, |place| place.written.clone()),
            numbers: place.as_ref().map(|place| place.numbers.clone()).unwrap_or_default(),
            commit: Some(CommitReference { repo, id, path, otherwise: place.map(Box::new) }),
        })
    }

    /// Parses the place after a commit. In prose, one after a blank needs lines.
    fn parse_following_place(&self, from: usize) -> Option<Citation> {
        let after = self.text_from(from);
        let gap = [": ", ":", " "].into_iter().find(|gap| after.starts_with(gap))?;
        let run = self.next_run(from + gap.len())?;
        let is_commit = self.text.get(run.clone()).and_then(split_commit).is_some();
        if run.start != from + gap.len() || is_commit {
            return None;
        }
        let place = self.parse_place(run, gap == ":")?;
        let is_close = gap == ":" || self.piece.kind == MarkdownPieceKind::Code;
        let is_relative = !place.path.starts_with(['/', '~']);
        (is_relative && (is_close || !place.lines.is_empty())).then_some(place)
    }
}

/// Splits a text into repository, id and what follows the id: nothing, or a path after `/`. An id
/// without a repository has a letter, because numbers have none.
fn split_commit(text: &str) -> Option<(Option<&str>, &str, &str)> {
    let split_id = |from: usize| {
        let after = text.get(from..)?;
        let digits = after.bytes().take_while(u8::is_ascii_hexdigit).count();
        let (id, rest) = after.split_at_checked(digits)?;
        let is_end = rest.is_empty() || rest.starts_with('/');
        (ID_DIGITS.contains(&digits) && is_end).then_some((id, rest))
    };
    let mut marks = text.match_indices('@').filter(|(at, _)| *at > 0);
    let named = marks.find_map(|(at, _)| Some((text.get(..at)?, split_id(at + 1)?)));
    if let Some((repo, (id, rest))) = named {
        return Some((Some(repo), id, rest));
    }
    let (id, rest) = split_id(0)?;
    let is_id = rest.is_empty() && id.contains(char::is_alphabetic);
    is_id.then_some((None, id, rest))
}
