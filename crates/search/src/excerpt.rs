//! Renders results as text for a language model.
//!
//! Chunks that score about as well as the best are shown whole while there is room, others with one
//! or two lines, and those that the conversation has seen before by location only. If the text is
//! too long, the lowest-ranked pieces are trimmed first, then left out and counted. Every line of a
//! file begins with its number and `|`, or in a unified diff with a space, `-` or `+`, so that
//! content cannot pass for a result.

mod changes;
mod render;
mod trim;

use std::collections::BTreeSet;

use codeinfo_core::{FileSummary, Hit};

use self::{
    render::{DetailLevel, HitRun},
    trim::QueryWords,
};
use super::{ResultFreshness, SearchResults, results::summarize_files};

const NOTHING: &str = "Nothing indexed fits this query. Try other words: names that the code \
                       itself might use, or fewer of them.";
const WEAK: &str = "nothing fits well; the nearest:\n";

/// Minimum share of the best score for a chunk shown whole.
const NEAR: f64 = 0.5;
/// Maximum total bytes of the chunks shown whole. For 225 questions with known lines, a mean of
/// 4,400 bytes then shows 38 % of them; the first three chunks show 36 % in 4,800.
const WHOLE_BYTES: usize = 4000;
/// Results shown if none fits well.
const NEAREST: usize = 3;
/// Minimum share of the best score for a chunk shown at all. No chunk with an answer has less.
const FLOOR: f64 = 0.3;
/// Best score below which nothing fits well, unless a chunk contains all words of the query. One in
/// a hundred questions with an answer among the first five results has a lower best score.
const GOOD: f64 = 0.2;
/// The same limit if a name of the query occurs nowhere, because only the rest matched.
const GOOD_WITHOUT_NAME: f64 = 0.4;

/// A text for a language model, with the chunks it shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Excerpt {
    /// Numbered lines of code, best first, under lines with their location.
    pub text: String,
    /// Files of the shown chunks, without duplicates, best first.
    pub files: Vec<FileSummary>,
    /// Ids of the chunks that are shown whole.
    pub whole: Vec<String>,
    /// Number of chunks that match the query and are not shown.
    pub left_out: usize,
}

/// Renders the results for `query` in at most `max_bytes` bytes. `known` contains the ids of the
/// chunks that the reader has seen before.
///
/// Files are in the order of their best chunk, and neighbours in a file are one piece. The first
/// line names the terms that occur nowhere; results that hardly match are left out. Changes between
/// two trees are unified diffs, also if the reader has seen the chunks before.
pub fn render_excerpt(
    results: &SearchResults,
    query: &str,
    freshness: &ResultFreshness,
    known: &BTreeSet<String>,
    max_bytes: usize,
) -> Excerpt {
    let also_differ = match &results.also_differ {
        Some(files) => format!("({})\n", files.describe_files()),
        None => String::new(),
    };
    if let (true, Some(notice)) = (results.hits.is_empty(), &results.notice) {
        let text = format!("{notice}\n{also_differ}");
        let text = truncate_text(text.trim_end(), max_bytes).to_owned();
        return Excerpt { text, files: vec![], whole: vec![], left_out: 0 };
    }
    let mut first = render::render_absent_terms(results);
    if let Some(notice) = &results.notice {
        first.push_str(notice);
        first.push('\n');
    }
    let query_words = QueryWords::from_query(query);
    let (hits, max_whole) = select_hits(results, query, &query_words);
    if !hits.is_empty() && max_whole == 0 {
        first.push_str(WEAK);
    }
    let room = max_bytes.saturating_sub(first.len());
    if !results.diffs.is_empty() {
        let last = also_differ + &render::render_index_ages(freshness);
        let excerpt = changes::render_changes(&results.diffs, &hits, freshness, &last, room);
        return Excerpt { text: first + &excerpt.text, ..excerpt };
    }
    let mut pieces = build_pieces(&hits, max_whole, known);
    for piece in &mut pieces {
        piece.render_levels(&query_words, freshness);
    }
    let last = [
        render::render_other_definitions(&results.other_definitions),
        render::render_index_ages(freshness),
    ]
    .concat();
    let excerpt = fit_pieces(pieces, hits.len(), &last, room);
    Excerpt { text: first + &excerpt.text, ..excerpt }
}

/// Returns the hits to show, and the maximum number of them to show whole.
fn select_hits<'a>(
    results: &'a SearchResults,
    query: &str,
    query_words: &QueryWords,
) -> (Vec<&'a Hit>, usize) {
    let best = results.hits.first().map_or(0.0, |hit| hit.score);
    let hits = results.hits.iter().filter(|hit| hit.score >= FLOOR * best);
    let is_absent = |word: &str| results.absent.iter().any(|absent| absent == word);
    let has_all_names = results.absent.is_empty() && results.documented.is_empty();
    let (good, max_whole) = if has_all_names { (GOOD, usize::MAX) } else { (GOOD_WITHOUT_NAME, 1) };
    let is_weak = best < good && !hits.clone().any(|hit| query_words.are_all_in(&hit.chunk));
    if is_weak || query.split_whitespace().all(is_absent) {
        return (hits.take(NEAREST).collect(), 0);
    }
    (hits.collect(), max_whole)
}

fn fit_pieces(
    mut pieces: Vec<ExcerptPiece<'_>>,
    all: usize,
    last: &str,
    max_bytes: usize,
) -> Excerpt {
    if all == 0 {
        let text = truncate_text(NOTHING, max_bytes).to_owned();
        return Excerpt { text, files: vec![], whole: vec![], left_out: 0 };
    }
    loop {
        let shown: usize = pieces.iter().map(|piece| piece.run.hits.len()).sum();
        let end = format!("{}{last}", render_left_out_note(all - shown));
        let bytes: usize = pieces.iter().map(ExcerptPiece::byte_len).sum();
        if bytes + end.trim_end().len() <= max_bytes && !pieces.is_empty() {
            return join_pieces(&pieces, &end, all - shown);
        }
        if pieces.is_empty() {
            let text = truncate_text(render_left_out_note(all).trim_end(), max_bytes).to_owned();
            return Excerpt { text, files: vec![], whole: vec![], left_out: all };
        }
        shrink_pieces(&mut pieces);
    }
}

struct ExcerptPiece<'a> {
    run: HitRun<'a>,
    level: DetailLevel,
    /// Text at each level from [`ExcerptPiece::level`] down.
    texts: Vec<(DetailLevel, String)>,
}

impl ExcerptPiece<'_> {
    fn render_levels(&mut self, query_words: &QueryWords, freshness: &ResultFreshness) {
        let levels = self.level.and_less().iter();
        let text = |level: &DetailLevel| {
            (*level, render::render_run(&self.run, *level, query_words, freshness))
        };
        self.texts = levels.map(text).collect();
    }

    fn text(&self) -> &str {
        let text = self.texts.iter().find(|(level, _)| *level == self.level);
        text.map_or("", |(_, text)| text)
    }

    fn is_whole(&self) -> bool {
        self.level == DetailLevel::Whole
            && !self.text().lines().any(|line| line.starts_with(trim::MARK))
    }

    fn byte_len(&self) -> usize {
        // One more for the empty line between pieces.
        self.text().len() + 1
    }
}

/// Makes pieces of hits by file: files in the order of their best hit, and pieces best first.
fn build_pieces<'a>(
    hits: &[&'a Hit],
    max_whole: usize,
    known: &BTreeSet<String>,
) -> Vec<ExcerptPiece<'a>> {
    let near = hits.first().map_or(0.0, |best| NEAR * best.score);
    let mut whole = 0;
    let mut room = WHOLE_BYTES;
    let mut files: Vec<Vec<(DetailLevel, usize, &Hit)>> = Vec::new();
    for (rank, hit) in hits.iter().enumerate() {
        let bytes = render::count_whole_bytes(hit);
        let level = if known.contains(&hit.chunk_id) {
            DetailLevel::Known
        } else if hit.score < near {
            DetailLevel::Head
        } else if whole < max_whole && (whole == 0 || bytes <= room) && !render::is_comment(hit) {
            whole += 1;
            room = room.saturating_sub(bytes);
            DetailLevel::Whole
        } else {
            DetailLevel::Brief
        };
        let is_of = |file: &&mut Vec<(DetailLevel, usize, &Hit)>| {
            file.first()
                .is_some_and(|(_, _, first)| (&first.host, &first.path) == (&hit.host, &hit.path))
        };
        match files.iter_mut().find(is_of) {
            Some(file) => file.push((level, rank, hit)),
            None => files.push(vec![(level, rank, hit)]),
        }
    }
    files.iter().flat_map(|file| build_file_pieces(file)).collect()
}

fn build_file_pieces<'a>(hits: &[(DetailLevel, usize, &'a Hit)]) -> Vec<ExcerptPiece<'a>> {
    let mut pieces = Vec::new();
    for level in [DetailLevel::Whole, DetailLevel::Brief, DetailLevel::Head, DetailLevel::Known] {
        let alike = hits
            .iter()
            .filter(|(hit_level, ..)| *hit_level == level)
            .map(|(_, rank, hit)| (*rank, *hit))
            .collect();
        let runs = render::group_adjacent_hits(alike).into_iter();
        pieces.extend(runs.map(|run| ExcerptPiece { run, level, texts: Vec::new() }));
    }
    pieces.sort_by_key(|piece| piece.run.rank);
    pieces
}

/// Trims the lowest-ranked piece that can be trimmed, or else removes the lowest-ranked one.
fn shrink_pieces(pieces: &mut Vec<ExcerptPiece<'_>>) {
    for (from, to) in
        [(DetailLevel::Whole, DetailLevel::Trimmed), (DetailLevel::Trimmed, DetailLevel::Brief)]
    {
        let last = pieces.iter_mut().filter(|piece| piece.level == from);
        if let Some(piece) = last.max_by_key(|piece| piece.run.rank) {
            piece.level = to;
            return;
        }
    }
    let last = pieces.iter().enumerate().max_by_key(|(_, piece)| piece.run.rank);
    if let Some(last) = last.map(|(at, _)| at) {
        drop(pieces.remove(last));
    }
}

fn join_pieces(pieces: &[ExcerptPiece<'_>], end: &str, left_out: usize) -> Excerpt {
    let mut text = String::new();
    for piece in pieces {
        text.push_str(piece.text());
        text.push('\n');
    }
    text.push_str(end);
    let mut ranked: Vec<(usize, &Hit)> =
        pieces.iter().flat_map(|piece| piece.run.hits.clone()).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let shown: Vec<Hit> = ranked.into_iter().map(|(_, hit)| hit.clone()).collect();
    let whole_pieces = pieces.iter().filter(|piece| piece.is_whole());
    let whole =
        whole_pieces.flat_map(|piece| piece.run.hits.iter().map(|(_, hit)| hit.chunk_id.clone()));
    Excerpt {
        text: text.trim_end().to_owned(),
        files: summarize_files(&shown),
        whole: whole.collect(),
        left_out,
    }
}

/// Returns one line, empty if `left_out` is 0. It never gets shorter with more chunks.
fn render_left_out_note(left_out: usize) -> String {
    let (chunks, do_not) = match left_out {
        0 => return String::new(),
        1 => ("chunk was", "does not"),
        _ => ("chunks were", "do not"),
    };
    format!(
        "({left_out} more {chunks} found but {do_not} fit: narrow the query, name a repository, or \
         read the files above)\n"
    )
}

fn truncate_text(text: &str, max_bytes: usize) -> &str {
    text.split_at(text.floor_char_boundary(max_bytes)).0
}

#[cfg(test)]
mod tests;
