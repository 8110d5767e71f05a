//! The text that a language model is shown of what was found.
//!
//! Chunks that fit about as well as the best are shown whole, as far as there is room, others by one or two lines, and
//! those that the conversation was shown before by their place alone: what a model needs of them, it reads. While that is
//! too much, pieces found last are trimmed first, then they are left out, and counted. Every line of a
//! file begins with its number and `|`, and no line of ours does, so that content cannot pass for a result.

mod render;
mod trim;

use std::collections::BTreeSet;

use codeinfo_core::{FileSummary, Hit};

use self::{
    render::{DetailLevel, HitRun},
    trim::QueryWords,
};
use super::{ResultFreshness, SearchResults, group::by_file};

/// What to say when nothing was found.
const NOTHING: &str = "Nothing indexed fits this query. Try other words: names that the code \
                       itself might use, or fewer of them.";
/// What to say above results that are not likely to be what is asked for.
const WEAK: &str = "nothing fits well; the nearest:\n";

/// A chunk is shown whole if its score is at least this share of the best one's, ...
const NEAR: f64 = 0.5;
/// ... and as long as all that are have no more bytes than this. Of 225 questions with known lines, a mean of 4,400 bytes
/// then shows 38 % of them; the first three chunks, whatever their scores and lengths, show 36 % in 4,800.
const WHOLE_BYTES: usize = 4000;
/// So many are named where none fits well.
const NEAREST: usize = 3;
/// A chunk with a smaller share of the best score is left out: of those with lines that answer a question,
/// none has less.
const FLOOR: f64 = 0.3;
/// Where the best score is smaller, nothing fits well, unless a chunk has all words of the query: one in a
/// hundred questions with an answer among the first five has less.
const GOOD: f64 = 0.2;
/// The same where a name of the query is nowhere, so that the rest of the query found what there is.
const GOOD_WITHOUT_NAME: f64 = 0.4;

/// A text for a language model, and what it shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Excerpt {
    /// Numbered lines of code, best first, under lines that say where they are from.
    pub text: String,
    /// The files of the chunks shown, each once, best first.
    pub files: Vec<FileSummary>,
    /// The ids of the chunks that are shown whole.
    pub whole: Vec<String>,
    /// Number of chunks found that fit the query and are not shown.
    pub left_out: usize,
}

/// Renders what was found for `query` in at most `max_bytes` bytes. `known` has the ids of the chunks that
/// the reader was shown before.
///
/// Files stand in the order of their best chunk, and neighbours in a file as one piece of code. The first
/// line names what the query asks for that is nowhere; what hardly fits is left out.
pub fn render_excerpt(
    found: &SearchResults,
    query: &str,
    freshness: &ResultFreshness,
    known: &BTreeSet<String>,
    max_bytes: usize,
) -> Excerpt {
    if let (true, Some(notice)) = (found.hits.is_empty(), &found.notice) {
        let text = truncate_text(notice, max_bytes).to_owned();
        return Excerpt { text, files: vec![], whole: vec![], left_out: 0 };
    }
    let mut first = render::render_absent_terms(found);
    if let Some(notice) = &found.notice {
        first.push_str(notice);
        first.push('\n');
    }
    let wanted = QueryWords::from_query(query);
    let (hits, max_whole) = select_hits(found, query, &wanted);
    if !hits.is_empty() && max_whole == 0 {
        first.push_str(WEAK);
    }
    let room = max_bytes.saturating_sub(first.len());
    let mut pieces = build_pieces(&hits, max_whole, known);
    for piece in &mut pieces {
        piece.render_levels(&wanted, freshness);
    }
    let last =
        [render::render_other_definitions(&found.also), render::render_index_ages(freshness)]
            .concat();
    let excerpt = fit_pieces(pieces, hits.len(), &last, room);
    Excerpt { text: first + &excerpt.text, ..excerpt }
}

/// Returns the hits that are worth showing, and how many of them may be shown whole.
fn select_hits<'a>(
    found: &'a SearchResults,
    query: &str,
    wanted: &QueryWords,
) -> (Vec<&'a Hit>, usize) {
    let best = found.hits.first().map_or(0.0, |hit| hit.score);
    let hits = found.hits.iter().filter(|hit| hit.score >= FLOOR * best);
    let is_absent = |word: &str| found.absent.iter().any(|absent| absent == word);
    let has_all_names = found.absent.is_empty() && found.documented.is_empty();
    let (good, max_whole) = if has_all_names { (GOOD, usize::MAX) } else { (GOOD_WITHOUT_NAME, 1) };
    let is_weak = best < good && !hits.clone().any(|hit| wanted.all_in(&hit.chunk));
    if is_weak || query.split_whitespace().all(is_absent) {
        return (hits.take(NEAREST).collect(), 0);
    }
    (hits.collect(), max_whole)
}

/// Puts pieces together, as far as there is room.
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

/// A run of code and how much of it is shown.
struct ExcerptPiece<'a> {
    run: HitRun<'a>,
    level: DetailLevel,
    /// How it looks at each level down from [`Piece::level`].
    texts: Vec<(DetailLevel, String)>,
}

impl ExcerptPiece<'_> {
    fn render_levels(&mut self, wanted: &QueryWords, freshness: &ResultFreshness) {
        let levels = self.level.and_less().iter();
        let text = |level: &DetailLevel| {
            (*level, render::render_run(&self.run, *level, wanted, freshness))
        };
        self.texts = levels.map(text).collect();
    }

    fn text(&self) -> &str {
        let text = self.texts.iter().find(|(level, _)| *level == self.level);
        text.map_or("", |(_, text)| text)
    }

    /// Whether nothing of the run is left out.
    fn is_whole(&self) -> bool {
        self.level == DetailLevel::Whole
            && !self.text().lines().any(|line| line.starts_with(trim::MARK))
    }

    fn byte_len(&self) -> usize {
        // Between pieces is an empty line.
        self.text().len() + 1
    }
}

/// Makes pieces of hits: by file in the order of its best hit, and best first within a file.
fn build_pieces<'a>(
    hits: &[&'a Hit],
    max_whole: usize,
    known: &BTreeSet<String>,
) -> Vec<ExcerptPiece<'a>> {
    let near = hits.first().map_or(0.0, |best| NEAR * best.score);
    let (mut whole, mut room) = (0, WHOLE_BYTES);
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
    files.iter().flat_map(|file| of_file(file)).collect()
}

/// Makes pieces of the hits of one file.
fn of_file<'a>(hits: &[(DetailLevel, usize, &'a Hit)]) -> Vec<ExcerptPiece<'a>> {
    let mut pieces = Vec::new();
    for level in [DetailLevel::Whole, DetailLevel::Brief, DetailLevel::Head, DetailLevel::Known] {
        let alike = hits.iter().filter(|(of, ..)| *of == level);
        let alike = alike.map(|(_, rank, hit)| (*rank, *hit)).collect();
        let runs = render::group_adjacent_hits(alike).into_iter();
        pieces.extend(runs.map(|run| ExcerptPiece { run, level, texts: Vec::new() }));
    }
    pieces.sort_by_key(|piece| piece.run.rank);
    pieces
}

/// Shows less: trims the piece found last that can be trimmed, or leaves out the last one.
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
    let mut shown: Vec<(usize, &Hit)> = pieces.iter().flat_map(|p| p.run.hits.clone()).collect();
    shown.sort_by_key(|(rank, _)| *rank);
    let shown: Vec<Hit> = shown.into_iter().map(|(_, hit)| hit.clone()).collect();
    let whole = pieces.iter().filter(|piece| piece.is_whole());
    let whole = whole.flat_map(|piece| piece.run.hits.iter().map(|(_, hit)| hit.chunk_id.clone()));
    Excerpt {
        text: text.trim_end().to_owned(),
        files: by_file(&shown),
        whole: whole.collect(),
        left_out,
    }
}

/// One line, or nothing when nothing is left out. More chunks never make it shorter.
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

/// Returns the longest start of `text` that has at most `max_bytes`.
fn truncate_text(text: &str, max_bytes: usize) -> &str {
    text.split_at(text.floor_char_boundary(max_bytes)).0
}

#[cfg(test)]
mod tests;
