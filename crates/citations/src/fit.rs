//! Measures how well a statement fits its cited lines, against the rest of the file. Does no I/O.
//!
//! Words are compared by their stems, and names also as a whole. Words of similar meaning count in
//! part. Each word is weighted by its inverse document frequency over the lines of the file
//! (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009).

use std::{
    collections::{HashMap, HashSet, VecDeque},
    ops::Range,
};

use codeinfo_core::LineRange;
use codeinfo_embed::{DIMENSIONS, StaticModel};
use codeinfo_lang::words::{STOP_WORDS, find_identifiers, fold_name, split_identifier, stem_word};

use super::{
    attribution::{AttributedText, OWN_WEIGHT},
    markdown::{MarkdownPieceKind, MarkdownPieces},
};

/// Lines on either side of a range that count as its surroundings.
const SURROUNDING_LINES: usize = 60;
const SIMILAR_WORD_WEIGHT: f32 = 0.7;
/// Weight of a whole name of several words.
const NAME_WEIGHT: f32 = 1.6;
const CODE_WEIGHT: f32 = 1.25;
/// Maximum terms of a statement; further ones are ignored.
const MAX_TERMS: usize = 60;
/// Scores that differ by less are equal.
const EPSILON: f32 = 1e-6;

/// Frequent words of sentences about code, beyond those of questions.
const PROSE_STOP_WORDS: [&str; 37] = [
    "not", "no", "only", "also", "so", "but", "than", "other", "same", "each", "every", "one",
    "two", "both", "first", "last", "does", "such", "after", "before", "either", "more", "most",
    "because", "still", "out", "off", "over", "under", "up", "down", "here", "itself", "without",
    "within", "against", "else",
];
/// Minimum bytes of a code span that can tie a sentence to lines.
const MIN_SPAN_BYTES: usize = 3;
/// Words that mark a sentence about a whole file.
const WHOLE_WORDS: [&str; 5] = ["whole", "entire", "entirely", "throughout", "overall"];

type MeaningVector = [f32; DIMENSIONS];

/// A stem with its word, or a whole name after `=` without one.
type TermOfText = (String, Option<String>);

fn read_terms(text: &str) -> impl Iterator<Item = TermOfText> + '_ {
    find_identifiers(text).flat_map(|identifier| {
        let is_word = |part: &&[u8]| part.len() > 1 || part.first().is_some_and(u8::is_ascii_digit);
        let words = split_identifier(identifier)
            .filter(is_word)
            .map(|part| (fold_name(stem_word(part)), Some(fold_name(part))));
        let whole = split_identifier(identifier)
            .nth(1)
            .map(|_| (format!("={}", fold_name(identifier)), None));
        words.chain(whole)
    })
}

/// Line indexes of each term of a file, counted from 0.
#[derive(Debug, Default)]
pub(super) struct TermLines(HashMap<String, Vec<usize>>);

impl TermLines {
    pub(super) fn from_text(text: &str) -> Self {
        let mut lines: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, line) in text.lines().enumerate() {
            for (term, _) in read_terms(line) {
                let known = lines.entry(term).or_default();
                if known.last() != Some(&at) {
                    known.push(at);
                }
            }
        }
        Self(lines)
    }

    fn has(&self, term: &str) -> bool {
        self.0.contains_key(term)
    }

    fn get(&self, term: &str) -> &[usize] {
        self.0.get(term).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Statement about a citation: its own clause with its surroundings, and alone.
#[derive(Debug, Clone, Default)]
pub(super) struct CitedStatement {
    pub(super) whole: StatementTerms,
    pub(super) clause: StatementTerms,
    /// Its own clause without code spans.
    pub(super) prose: StatementTerms,
    /// Set if the statement is about a whole file.
    pub(super) is_about_whole_file: bool,
}

impl CitedStatement {
    /// Builds the statement about a citation from its texts. `text` is cut into `pieces`.
    pub(super) fn from_attributed_text(
        text: &str,
        pieces: &MarkdownPieces,
        attributed: &AttributedText,
        model: &StaticModel,
    ) -> Self {
        let mut spans = Vec::new();
        let mut whole = Vec::new();
        for (range, weight) in &attributed.texts {
            for piece in pieces.pieces_within(range) {
                let start = piece.range.start.max(range.start);
                let end = piece.range.end.min(range.end);
                let Some(part) = text.get(start..end) else { continue };
                let is_code = piece.kind == MarkdownPieceKind::Code;
                if is_code && *weight >= OWN_WEIGHT {
                    spans.extend(normalize_code_span(part));
                }
                whole.push(WeightedText { text: part, weight: *weight, is_code });
            }
        }
        let is_about_whole_file =
            whole.iter().any(|part| part.weight >= OWN_WEIGHT && has_whole_word(part.text));
        let clause = whole.iter().filter(|part| part.weight >= OWN_WEIGHT).cloned();
        let prose = clause.clone().filter(|part| !part.is_code);
        Self {
            prose: StatementTerms::new(prose, Vec::new(), model),
            clause: StatementTerms::new(clause, spans.clone(), model),
            whole: StatementTerms::new(whole, spans, model),
            is_about_whole_file,
        }
    }
}

/// Returns a code span without white space and arguments, for a search in lines.
fn normalize_code_span(code: &str) -> Option<String> {
    let head = code.split('(').next().unwrap_or(code).trim_matches('.');
    let span: String = head.chars().filter(|c| !c.is_whitespace()).collect();
    (span.len() >= MIN_SPAN_BYTES).then_some(span)
}

fn has_whole_word(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphabetic());
    words.any(|word| WHOLE_WORDS.contains(&word.to_lowercase().as_str()))
}

#[derive(Debug, Clone, PartialEq)]
struct WeightedText<'a> {
    text: &'a str,
    weight: f32,
    is_code: bool,
}

#[derive(Debug, Clone)]
struct StatementTerm {
    stem: String,
    word: Option<String>,
    weight: f32,
    /// Stems of words with similar meaning, each with its weight.
    near: Vec<(String, f32)>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct StatementTerms {
    terms: Vec<StatementTerm>,
    vector: Option<Box<MeaningVector>>,
    /// Code spans without white space.
    spans: Vec<String>,
}

impl StatementTerms {
    fn new<'a>(
        texts: impl IntoIterator<Item = WeightedText<'a>>,
        spans: Vec<String>,
        model: &StaticModel,
    ) -> Self {
        let mut terms = collect_terms(texts);
        let mut sum = [0.0; DIMENSIONS];
        for term in &mut terms {
            let Some(word) = &term.word else { continue };
            model.add_query_word(word, term.weight, &mut sum);
            let near = model.similar_words(word).into_iter();
            let near = near.map(|near| {
                (fold_name(stem_word(near.word.as_bytes())), near.share * SIMILAR_WORD_WEIGHT)
            });
            term.near = near.filter(|(stem, _)| *stem != term.stem).collect();
        }
        Self { terms, vector: to_unit(sum).map(Box::new), spans }
    }

    /// Returns the weighted share of the terms that one of `texts` has; `None` if all are ignored.
    pub(super) fn share_within(
        &self,
        texts: &[&TermLines],
        is_ignored: impl Fn(&str) -> bool,
    ) -> Option<f32> {
        let (mut own, mut all) = (0.0, 0.0);
        for term in self.terms.iter().filter(|term| !is_ignored(&term.stem)) {
            let near = term.near.iter().map(|(stem, weight)| (stem, *weight));
            let stems = near.chain([(&term.stem, 1.0)]);
            let known = stems.filter(|(stem, _)| texts.iter().any(|text| text.has(stem)));
            own += term.weight * known.map(|(_, weight)| weight).fold(0.0, f32::max);
            all += term.weight;
        }
        (all > 0.0).then(|| own / all)
    }

    /// Returns whether one of the terms has one of `stems`.
    pub(super) fn has_any(&self, stems: &HashSet<String>) -> bool {
        self.terms.iter().any(|term| stems.contains(&term.stem))
    }

    /// Returns whether each number of the terms is in one of `texts`.
    pub(super) fn has_numbers_within(&self, texts: &[&TermLines]) -> bool {
        let is_number = |stem: &str| stem.bytes().all(|byte| byte.is_ascii_digit());
        let mut numbers = self.terms.iter().filter(|term| is_number(&term.stem));
        numbers.all(|term| texts.iter().any(|text| text.has(&term.stem)))
    }
}

/// Collects the terms of texts, each once with its greatest weight.
fn collect_terms<'a>(texts: impl IntoIterator<Item = WeightedText<'a>>) -> Vec<StatementTerm> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut terms: Vec<StatementTerm> = Vec::new();
    for WeightedText { text, weight, is_code } in texts {
        for (stem, word) in read_terms(text) {
            let is_plain = word.as_deref().is_some_and(is_stop_word) && !is_code;
            if is_plain || terms.len() >= MAX_TERMS {
                continue;
            }
            let kind = match word {
                None => NAME_WEIGHT,
                Some(_) if is_code => CODE_WEIGHT,
                Some(_) => 1.0,
            };
            let weight = weight * kind;
            if let Some(term) = places.get(&stem).and_then(|at| terms.get_mut(*at)) {
                term.weight = term.weight.max(weight);
            } else {
                places.insert(stem.clone(), terms.len());
                terms.push(StatementTerm { stem, word, weight, near: Vec::new() });
            }
        }
    }
    terms
}

fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(&word) || PROSE_STOP_WORDS.contains(&word)
}

/// Measures of a statement's fit; all but `similarity` and `local_margin` are shares from 0 to 1.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FitMeasures {
    /// Score of the lines divided by the best score of equally many lines of the file.
    pub(super) ratio: f32,
    /// Score of the lines divided by the best score nearby.
    pub(super) local_ratio: f32,
    /// Share of the places nearby with a lower score.
    pub(super) local_rank: f32,
    /// Cosine of the meanings of the statement and of the lines, as sums of word vectors.
    pub(super) similarity: f32,
    /// Similarity of the lines minus that of the most similar lines nearby; 0 or less.
    pub(super) local_margin: f32,
    /// Share of the statement's code spans that occur in the lines.
    pub(super) exact: f32,
    /// 1 if the statement has code spans, else 0.
    pub(super) has_spans: f32,
}

/// Measures of how lines are cut out of their file.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RangeShape {
    /// Number of open brackets at the start and at the end.
    pub(super) unbalanced: f32,
    /// Number of blank lines among the first and the last one.
    pub(super) blank: f32,
    /// 1 if no line is indented less than the first, else 0.
    pub(super) leads: f32,
    /// 1 if the first line closes a block opened before it, else 0.
    pub(super) closes: f32,
}

pub(super) struct CitedRegion<'a> {
    terms: &'a TermLines,
    lines: Vec<&'a str>,
    /// Index ranges of the cited lines, from 0.
    ranges: Vec<Range<usize>>,
    count: usize,
    /// Prefix sums of the vectors of the surrounding lines, and the index of the first of them.
    sums: Vec<MeaningVector>,
    start: usize,
    /// Cited text without white space.
    compact: String,
}

impl<'a> CitedRegion<'a> {
    /// Builds the region of `ranges`, which the file must have, with the lines around them.
    pub(super) fn new(
        terms: &'a TermLines,
        text: &'a str,
        ranges: &[LineRange],
        model: &StaticModel,
    ) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        let place = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
        let ranges: Vec<Range<usize>> =
            ranges.iter().map(|range| place(range.first) - 1..place(range.last)).collect();
        let count = ranges.iter().map(ExactSizeIterator::len).sum::<usize>().min(lines.len());
        let (first, end) = find_outer_bounds(&ranges);
        let start = first.saturating_sub(SURROUNDING_LINES + count);
        let around = lines.get(start..(end + SURROUNDING_LINES + count).min(lines.len()));
        let mut sum = [0.0; DIMENSIONS];
        let mut sums = vec![sum];
        for line in around.unwrap_or_default() {
            model.add_text(line, &mut sum);
            sums.push(sum);
        }
        let cited = ranges.iter().filter_map(|range| lines.get(range.clone())).flatten();
        let compact = cited.flat_map(|line| line.chars()).filter(|c| !c.is_whitespace()).collect();
        Self { terms, lines, ranges, count, sums, start, compact }
    }

    pub(super) fn measure_fit(&self, statement: &StatementTerms) -> FitMeasures {
        let windows = (self.lines.len() + 1).saturating_sub(self.count);
        let (own, scores) = self.score_windows(statement, windows);
        let best = scores.iter().copied().fold(own, f32::max).max(EPSILON);
        let (first, end) = find_outer_bounds(&self.ranges);
        let from = first.saturating_sub(SURROUNDING_LINES + self.count);
        let local = scores.get(from..(end + SURROUNDING_LINES).min(windows)).unwrap_or_default();
        let local_best = local.iter().copied().fold(own, f32::max).max(EPSILON);
        let rank = |score: &f32| match *score - own {
            less if less < -EPSILON => 1.0,
            more if more > EPSILON => 0.0,
            _ => 0.5,
        };
        let (similarity, local_margin) = self.compare_meanings(statement);
        let spans = &statement.spans;
        let found = spans.iter().filter(|span| self.compact.contains(span.as_str())).count();
        FitMeasures {
            ratio: own / best,
            local_ratio: own / local_best,
            local_rank: local.iter().map(rank).sum::<f32>() / count_of(local.len()),
            similarity,
            local_margin,
            exact: if found == 0 { 0.0 } else { count_of(found) / count_of(spans.len()) },
            has_spans: f32::from(u8::from(!spans.is_empty())),
        }
    }

    /// Returns the score of the cited lines, and of each run of equally many lines of the file.
    fn score_windows(&self, statement: &StatementTerms, windows: usize) -> (f32, Vec<f32>) {
        let mut scores = vec![0.0_f32; windows];
        let mut own = 0.0_f32;
        for term in &statement.terms {
            let mut values = vec![0.0_f32; self.lines.len()];
            let exact = std::iter::once((self.terms.get(&term.stem), 1.0));
            let near = term.near.iter().map(|(stem, weight)| (self.terms.get(stem), *weight));
            let mut is_there = false;
            for (lines, weight) in exact.chain(near) {
                for line in lines {
                    if let Some(value) = values.get_mut(*line) {
                        *value = value.max(weight);
                        is_there = true;
                    }
                }
            }
            if !is_there {
                continue;
            }
            let total = count_of(self.lines.len());
            let frequency = values.iter().sum::<f32>();
            let rarity = (1.0 + (total - frequency + 0.5) / (frequency + 0.5)).ln();
            let cited = self.ranges.iter().filter_map(|range| values.get(range.clone())).flatten();
            own += term.weight * rarity * cited.copied().fold(0.0, f32::max);
            add_window_maxima(&values, self.count, term.weight * rarity, &mut scores);
        }
        (own, scores)
    }

    /// Returns the similarity of lines and statement, and its margin over the best lines nearby.
    fn compare_meanings(&self, statement: &StatementTerms) -> (f32, f32) {
        let Some(query) = &statement.vector else { return (0.0, 0.0) };
        let add_lines = |from: usize, to: usize, sum: &mut MeaningVector| {
            let at = |line: usize| self.sums.get(line.saturating_sub(self.start));
            if let (Some(before), Some(all)) = (at(from), at(to)) {
                let both = before.iter().zip(all);
                sum.iter_mut().zip(both).for_each(|(sum, (before, all))| *sum += all - before);
            }
        };
        let cosine = |sum: MeaningVector| {
            let unit = to_unit(sum);
            unit.map_or(0.0, |unit| unit.iter().zip(query.iter()).map(|(a, b)| a * b).sum::<f32>())
        };
        let mut sum = [0.0; DIMENSIONS];
        self.ranges.iter().for_each(|range| add_lines(range.start, range.end, &mut sum));
        let own = cosine(sum);
        let mut best = own;
        for from in self.start..(self.start + self.sums.len()).saturating_sub(self.count) {
            let mut sum = [0.0; DIMENSIONS];
            add_lines(from, from + self.count, &mut sum);
            best = best.max(cosine(sum));
        }
        (own, own - best)
    }

    pub(super) fn mean_shape(&self) -> RangeShape {
        let mut sum = RangeShape::default();
        let share = 1.0 / count_of(self.ranges.len());
        for lines in self.ranges.iter().filter_map(|range| self.lines.get(range.clone())) {
            let RangeShape { unbalanced, blank, leads, closes } = read_shape(lines);
            sum.unbalanced += unbalanced * share;
            sum.blank += blank * share;
            sum.leads += leads * share;
            sum.closes += closes * share;
        }
        sum
    }
}

/// Returns the first index of the ranges and the end of the last one.
fn find_outer_bounds(ranges: &[Range<usize>]) -> (usize, usize) {
    let first = ranges.iter().map(|range| range.start).min().unwrap_or_default();
    (first, ranges.iter().map(|range| range.end).max().unwrap_or_default())
}

fn read_shape(lines: &[&str]) -> RangeShape {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let (mut depth, mut min_depth) = (0_i32, 0_i32);
    for c in lines.iter().flat_map(|line| line.chars()) {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        min_depth = min_depth.min(depth);
    }
    let flag = |is: bool| f32::from(u8::from(is));
    let first = lines.first().copied().unwrap_or_default();
    let end = lines.last().copied().unwrap_or_default();
    let outer = lines.iter().filter(|line| !line.trim().is_empty()).map(|line| indent(line)).min();
    let is_blank = first.trim().is_empty();
    let closes =
        first.trim_start().starts_with(['}', ')', ']']) || matches!(first.trim(), "end" | "else");
    RangeShape {
        unbalanced: flag(min_depth < 0) + flag(depth > min_depth),
        blank: flag(is_blank) + flag(end.trim().is_empty()),
        leads: flag(!is_blank && outer == Some(indent(first))),
        closes: flag(closes),
    }
}

/// Adds to the score of each run of `count` lines the greatest value of its lines, times `weight`,
/// in one pass with a queue of the lines that may still be the greatest.
fn add_window_maxima(values: &[f32], count: usize, weight: f32, scores: &mut [f32]) {
    let mut queue: VecDeque<(usize, f32)> = VecDeque::new();
    for (at, value) in values.iter().copied().enumerate() {
        while queue.back().is_some_and(|(_, last)| *last <= value) {
            queue.pop_back();
        }
        queue.push_back((at, value));
        let Some(window) = (at + 1).checked_sub(count) else { continue };
        if queue.front().is_some_and(|(first, _)| *first < window) {
            queue.pop_front();
        }
        if let (Some(score), Some((_, max))) = (scores.get_mut(window), queue.front()) {
            *score += weight * max;
        }
    }
}

fn to_unit(mut vector: MeaningVector) -> Option<MeaningVector> {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length <= 0.0 {
        return None;
    }
    for value in &mut vector {
        *value /= length;
    }
    Some(vector)
}

/// Returns a count as a divisor: at least 1.
#[expect(clippy::cast_precision_loss, reason = "a share needs not be exact")]
fn count_of(count: usize) -> f32 {
    count.max(1) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_of_lines_counts_its_greatest_value_once() {
        let mut scores = vec![1.0; 4];
        add_window_maxima(&[0.0, 0.5, 0.0, 0.25, 1.0], 2, 2.0, &mut scores);
        assert_eq!(scores, [2.0, 2.0, 1.5, 3.0]);
    }

    #[test]
    fn words_fit_the_lines_that_have_them_or_words_of_the_same_meaning() {
        let model = StaticModel::load().unwrap();
        let filler = |from: usize| -> String {
            let lines: Vec<String> =
                (from..from + 40).map(|at| format!("let value{at} = compute({at});\n")).collect();
            lines.concat()
        };
        let text = format!(
            "{}fn check_password(user: &User) {{\n    verify(user.hash)\n}}\n{}",
            filler(0),
            filler(40)
        );
        let terms = TermLines::from_text(&text);
        let sentence =
            WeightedText { text: "The passwd of a user is checked", weight: 1.0, is_code: false };
        let statement = StatementTerms::new([sentence], Vec::new(), &model);
        let at = |first, last| {
            CitedRegion::new(&terms, &text, &[LineRange { first, last }], &model)
                .measure_fit(&statement)
        };
        let (right, wrong) = (at(41, 43), at(5, 7));
        assert!(right.ratio > 0.99 && right.local_rank > 0.9, "{right:?}");
        assert!(wrong.ratio < 0.2 && wrong.similarity < right.similarity, "{wrong:?}");
    }
}
