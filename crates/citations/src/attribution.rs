//! Finds the names and the text in a sentence that belong to each of its citations. Does no I/O.
//!
//! A name belongs to the citation after it. It belongs to the citation before it if that one starts
//! the sentence, or if the name follows it directly in brackets or after a colon. A citation in the
//! flow of its sentence, neither in brackets nor right after a name, may have the names on either
//! side. Citations with nothing but punctuation between them form a group and share their names.

use std::ops::Range;

use super::{
    markdown::{MarkdownPieceKind, MarkdownPieces},
    names::{CitedName, MAX_NAMES, name_in_prose, names_in_code},
    parse::Citation,
};

/// Maximum words before a citation that starts its sentence: "In `a.rs:1-9`, …".
const MAX_OPENING_WORDS: usize = 2;
/// Maximum bytes before a citation that are searched for an open bracket.
const MAX_BRACKET_BYTES: usize = 400;
/// Words between the citations of a group, or between a name and its citation.
const JOINING_WORDS: [&str; 17] = [
    "and", "or", "see", "at", "in", "lines", "line", "und", "oder", "siehe", "bei", "zeilen",
    "zeile", "et", "ou", "と", "や",
];
/// Joining words that add something else.
const ADDING_WORDS: [&str; 6] = ["and", "or", "und", "oder", "et", "ou"];
/// Words before a citation that is only compared with; the sentence is about something else.
const ASIDE_WORDS: [&str; 10] =
    ["also", "cf", "compare", "similar", "similarly", "like", "unlike", "auch", "vgl", "ähnlich"];
/// Abbreviations whose full stop does not end a sentence.
const ABBREVIATIONS: [&str; 11] =
    ["e.g", "i.e", "cf", "vs", "etc", "approx", "resp", "z.b", "d.h", "vgl", "bzw"];

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct AttributedText {
    pub(super) names: Vec<CitedName>,
    /// Index of the first citation of its group.
    pub(super) group: usize,
    /// Parts of the text that may be about the citation, with their weights: 1 for its own clause.
    pub(super) texts: Vec<(Range<usize>, f32)>,
}

/// Weight of the text after a citation in the flow of its sentence.
const FLOW_WEIGHT: f32 = 0.6;
/// Weight of the text after the last citation of a sentence.
const TAIL_WEIGHT: f32 = 0.25;
/// Weight of other clauses of the sentence, and of the sentences before it.
const CONTEXT_WEIGHT: f32 = 0.3;
/// Maximum bytes of the texts of one citation; a long paragraph has half of it.
const MAX_TEXT_BYTES: usize = 4 << 10;
/// Minimum weight of a text that is about the citation itself.
pub(super) const OWN_WEIGHT: f32 = FLOW_WEIGHT;

pub(super) fn attribute_text(
    text: &str,
    pieces: &MarkdownPieces,
    citations: &[Citation],
) -> Vec<AttributedText> {
    let tokens = tokenize_text(text, pieces, citations);
    let mut all: Vec<AttributedText> = Vec::with_capacity(citations.len());
    let mut context: Vec<Range<usize>> = Vec::new();
    for range in split_sentences(text, pieces, &tokens) {
        let tokens = tokens_in_range(&tokens, &range);
        if pieces.blocks.binary_search(&range.start).is_ok() {
            context.clear();
        }
        let gaps =
            TokenizedSentence { text, range, tokens }.attribute_citations(&context, &mut all);
        if gaps.len() > 1 {
            context.clear();
        }
        context.extend(gaps);
    }
    all
}

/// Returns the sentences of a text. A sentence ends with a full stop or with its block; citations
/// after the full stop belong to it.
pub(super) fn sentence_ranges(
    text: &str,
    pieces: &MarkdownPieces,
    citations: &[Citation],
) -> Vec<Range<usize>> {
    split_sentences(text, pieces, &tokenize_text(text, pieces, citations))
}

#[derive(Debug, Clone)]
struct SentenceToken {
    range: Range<usize>,
    kind: SentenceTokenKind,
}

#[derive(Debug, Clone)]
enum SentenceTokenKind {
    Citation {
        /// Start of its code span or link.
        begins: usize,
    },
    Names(Vec<CitedName>),
    /// A word that is not a name.
    Other,
    /// One of [`JOINING_WORDS`].
    Joining,
    /// One of [`ASIDE_WORDS`].
    Aside,
    Stop,
}

impl SentenceToken {
    fn is_citation(&self) -> bool {
        matches!(self.kind, SentenceTokenKind::Citation { .. })
    }

    fn separates_citations(&self) -> bool {
        matches!(
            self.kind,
            SentenceTokenKind::Names(_) | SentenceTokenKind::Other | SentenceTokenKind::Aside
        )
    }
}

struct TokenizedSentence<'a> {
    text: &'a str,
    range: Range<usize>,
    tokens: &'a [SentenceToken],
}

impl TokenizedSentence<'_> {
    /// Adds the names and texts of each citation. Returns the texts between the citations.
    fn attribute_citations(
        &self,
        context: &[Range<usize>],
        all: &mut Vec<AttributedText>,
    ) -> Vec<Range<usize>> {
        let begin = all.len();
        let mut gaps: Vec<Range<usize>> = Vec::new();
        let mut gap_start = self.range.start;
        let (mut at, mut opened, mut is_claimed) = (0, true, false);
        while let Some(first) = self.find_position(at, SentenceToken::is_citation) {
            let lead = self.tokens.get(at..first).unwrap_or_default();
            let end = self
                .find_position(first, SentenceToken::separates_citations)
                .unwrap_or(self.tokens.len());
            let next =
                self.find_position(end, SentenceToken::is_citation).unwrap_or(self.tokens.len());
            let tail = self.tokens.get(end..next).unwrap_or_default();
            let cited = self.tokens.get(first..end).unwrap_or_default();
            let is_adjacent = self.is_adjacent(lead, cited.first());
            let mut names = match last_names(lead) {
                Some(nearest) if is_claimed && is_adjacent => {
                    collect_names(std::slice::from_ref(nearest))
                }
                Some(_) if !is_claimed && !is_aside(lead) => collect_names(lead),
                _ => Vec::new(),
            };
            let is_first = at > 0
                || lead.iter().filter(|token| token.separates_citations()).count()
                    <= MAX_OPENING_WORDS;
            let own = self.find_own_tokens(cited, tail, self.tokens.get(next));
            opened &= names.is_empty() && is_first && (tail.is_empty() || !own.is_empty());
            is_claimed = opened || self.is_attached(cited, tail);
            let is_in_flow = || !is_adjacent && !self.is_in_brackets(cited.first());
            if is_claimed || !names.is_empty() && is_in_flow() {
                add_names(&mut names, collect_names(own));
            }
            let group = all.len();
            let count = cited.iter().filter(|token| token.is_citation()).count();
            let place = gaps.len();
            if let (Some(SentenceTokenKind::Citation { begins }), Some(last)) = (
                cited.first().map(|token| &token.kind),
                cited.iter().rfind(|token| token.is_citation()),
            ) {
                gaps.push(gap_start..(*begins).max(gap_start));
                gap_start = last.range.end;
            }
            let leads =
                lead.iter().filter(|token| token.separates_citations()).count() > MAX_OPENING_WORDS;
            let after = match cited.first() {
                _ if !leads => 1.0,
                first if self.is_in_brackets(first) => TAIL_WEIGHT,
                _ if self.text.get(gap_start..).is_some_and(is_pause) => TAIL_WEIGHT,
                _ => FLOW_WEIGHT,
            };
            let texts = vec![(place..place + 1, 1.0), (place + 1..place + 2, after)];
            all.extend((0..count).map(|_| AttributedText {
                names: names.clone(),
                group,
                texts: texts.clone(),
            }));
            at = end;
        }
        gaps.push(gap_start..self.range.end.max(gap_start));
        for attributed in all.get_mut(begin..).unwrap_or_default() {
            attributed.texts = weigh_texts(&attributed.texts, &gaps, context);
            cut_texts(self.text, &mut attributed.texts);
        }
        gaps
    }

    fn find_position(&self, from: usize, is: impl Fn(&SentenceToken) -> bool) -> Option<usize> {
        self.tokens.get(from..)?.iter().position(is).map(|at| from + at)
    }

    /// Returns whether a citation directly follows the last name, as in `` `open` in a.rs:3``.
    fn is_adjacent(&self, lead: &[SentenceToken], citation: Option<&SentenceToken>) -> bool {
        let last = lead.iter().rfind(|token| token.separates_citations());
        let (Some(name), Some(citation)) = (last, citation) else { return false };
        let between = self.text.get(name.range.end..citation.range.start).unwrap_or_default();
        let separator = between.strip_prefix("()").unwrap_or(between);
        let is_apart = separator.contains([',', ';', '、', ')', '）'])
            || separator.split_whitespace().any(|word| ADDING_WORDS.contains(&word));
        matches!(name.kind, SentenceTokenKind::Names(_)) && !is_apart
    }

    /// Returns whether the first name after a group of citations is in brackets or after a colon.
    fn is_attached(&self, cited: &[SentenceToken], tail: &[SentenceToken]) -> bool {
        let last = cited.iter().rfind(|token| token.is_citation());
        let (Some(last), Some(name)) = (last, tail.first()) else { return false };
        let between = self.text.get(last.range.end..name.range.start).unwrap_or_default();
        let mark = between.trim_matches(|c: char| c.is_whitespace() || "`*_".contains(c));
        matches!(name.kind, SentenceTokenKind::Names(_))
            && ["(", "[", ":", "–", "—", "-", "=", "→", "->", "（", "：", "|"].contains(&mark)
    }

    /// Returns the tokens after a group of citations that may belong to it: none after a semicolon,
    /// and no name directly before the next citation.
    fn find_own_tokens<'m>(
        &self,
        cited: &[SentenceToken],
        tail: &'m [SentenceToken],
        next: Option<&SentenceToken>,
    ) -> &'m [SentenceToken] {
        let is_name = |token: &SentenceToken| matches!(token.kind, SentenceTokenKind::Names(_));
        let last = cited.iter().rfind(|token| token.is_citation());
        if let (Some(last), Some(name)) = (last, tail.iter().find(|token| is_name(token)))
            && self
                .text
                .get(last.range.end..name.range.start)
                .is_some_and(|text| text.contains(';'))
        {
            return &[];
        }
        let is_taken =
            |next: &&SentenceToken| next.is_citation() && self.is_adjacent(tail, Some(next));
        let last = next.filter(is_taken).and_then(|_| tail.iter().rposition(is_name));
        last.and_then(|last| tail.get(..last)).unwrap_or(tail)
    }

    fn is_in_brackets(&self, citation: Option<&SentenceToken>) -> bool {
        let Some(SentenceToken { kind: SentenceTokenKind::Citation { begins }, .. }) = citation
        else {
            return false;
        };
        let far = begins.saturating_sub(MAX_BRACKET_BYTES).max(self.range.start);
        let before = self.text.get(self.text.ceil_char_boundary(far)..*begins);
        let mut open = 0_i32;
        for c in before.unwrap_or_default().chars() {
            match c {
                '(' | '（' => open += 1,
                ')' | '）' => open = (open - 1).max(0),
                _ => {}
            }
        }
        open > 0
    }
}

/// Leaves out what is above [`MAX_TEXT_BYTES`], of the texts with the least weight first.
fn cut_texts(text: &str, texts: &mut Vec<(Range<usize>, f32)>) {
    let mut rest = MAX_TEXT_BYTES;
    if texts.iter().map(|(range, _)| range.len()).sum::<usize>() <= rest {
        return;
    }
    texts.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (range, _) in texts.iter_mut() {
        let end = text.floor_char_boundary(range.start + range.len().min(rest));
        range.end = end.max(range.start);
        rest -= range.len();
    }
    texts.retain(|(range, _)| !range.is_empty());
}

/// Weighs the texts of a sentence and before it for a citation. `own` has the indexes of the gaps
/// before and after the citation, each with its weight.
fn weigh_texts(
    own: &[(Range<usize>, f32)],
    gaps: &[Range<usize>],
    context: &[Range<usize>],
) -> Vec<(Range<usize>, f32)> {
    let weight = |place: usize| {
        let given =
            own.iter().find(|(places, _)| places.contains(&place)).map(|(_, weight)| *weight);
        match given {
            // Text before the next citation belongs to that one.
            Some(TAIL_WEIGHT) if place + 1 < gaps.len() => 0.0,
            given => given.unwrap_or(CONTEXT_WEIGHT),
        }
    };
    let sentence = gaps.iter().enumerate().map(|(place, gap)| (gap.clone(), weight(place)));
    let before = context.iter().map(|range| (range.clone(), CONTEXT_WEIGHT));
    sentence.chain(before).filter(|(_, weight)| *weight > 0.0).collect()
}

/// Returns whether a text begins with a punctuation mark that ends a clause.
fn is_pause(text: &str) -> bool {
    text.trim_start_matches(['`', ' ', '*', '_']).starts_with([';', ',', '.'])
}

fn last_names(tokens: &[SentenceToken]) -> Option<&SentenceToken> {
    tokens.iter().rfind(|token| matches!(token.kind, SentenceTokenKind::Names(_)))
}

/// Returns whether the last words mark a citation as a comparison.
fn is_aside(lead: &[SentenceToken]) -> bool {
    let words =
        lead.iter().rev().take_while(|token| !matches!(token.kind, SentenceTokenKind::Names(_)));
    words.take(2).any(|token| matches!(token.kind, SentenceTokenKind::Aside))
}

/// Returns the names among tokens without duplicates, those nearest to the end first.
fn collect_names(tokens: &[SentenceToken]) -> Vec<CitedName> {
    let mut found = Vec::new();
    for token in tokens.iter().rev() {
        if let SentenceTokenKind::Names(names) = &token.kind {
            add_names(&mut found, names.clone());
        }
    }
    found
}

fn add_names(names: &mut Vec<CitedName>, more: Vec<CitedName>) {
    for name in more {
        if names.len() < MAX_NAMES && !names.iter().any(|known| known.word == name.word) {
            names.push(name);
        }
    }
}

fn tokens_in_range<'a>(tokens: &'a [SentenceToken], range: &Range<usize>) -> &'a [SentenceToken] {
    let first = tokens.partition_point(|token| token.range.start < range.start);
    let end = tokens.partition_point(|token| token.range.start < range.end);
    tokens.get(first..end).unwrap_or_default()
}

fn split_sentences(
    text: &str,
    pieces: &MarkdownPieces,
    tokens: &[SentenceToken],
) -> Vec<Range<usize>> {
    let stops = tokens
        .iter()
        .filter(|token| matches!(token.kind, SentenceTokenKind::Stop))
        .map(|token| token.range.end);
    let mut ends: Vec<usize> = pieces.blocks.iter().copied().chain(stops).collect();
    ends.push(text.len());
    ends.sort_unstable();
    let mut start = 0;
    let mut sentences: Vec<Range<usize>> = Vec::with_capacity(ends.len());
    for end in ends {
        if start >= end {
            continue;
        }
        let own = tokens_in_range(tokens, &(start..end));
        let is_citation_alone = own.iter().any(SentenceToken::is_citation)
            && !own.iter().any(SentenceToken::separates_citations);
        match sentences.last_mut() {
            // `It waits. (a.rs:3)`: the citation belongs to the sentence before it.
            Some(before) if is_citation_alone && pieces.blocks.binary_search(&start).is_err() => {
                before.end = end;
            }
            _ => sentences.push(start..end),
        }
        start = end;
    }
    sentences
}

fn tokenize_text(
    text: &str,
    pieces: &MarkdownPieces,
    citations: &[Citation],
) -> Vec<SentenceToken> {
    let mut tokens = Vec::new();
    let mut cited = citations.iter().peekable();
    // A citation may end after its code span.
    let mut done = 0;
    for piece in &pieces.pieces {
        let is_prose = piece.kind == MarkdownPieceKind::Prose;
        let mut has_citation = false;
        while let Some(citation) = cited.next_if(|citation| citation.range.start < piece.range.end)
        {
            let start = citation.range.start.max(piece.range.start);
            if is_prose {
                read_prose(text, piece.range.start.max(done)..start, &mut tokens);
            }
            let kind = SentenceTokenKind::Citation { begins: citation.whole.start };
            tokens.push(SentenceToken { range: start..citation.whole.end.max(start), kind });
            done = citation.range.end;
            has_citation = true;
        }
        let rest = piece.range.start.max(done)..piece.range.end;
        match piece.kind {
            MarkdownPieceKind::Prose => read_prose(text, rest, &mut tokens),
            MarkdownPieceKind::Code if !has_citation => {
                let names = names_in_code(text.get(rest).unwrap_or_default());
                let kind = if names.is_empty() {
                    SentenceTokenKind::Other
                } else {
                    SentenceTokenKind::Names(names)
                };
                tokens.push(SentenceToken { range: piece.range.clone(), kind });
            }
            MarkdownPieceKind::Code | MarkdownPieceKind::Fenced => {}
        }
    }
    tokens
}

fn read_prose(text: &str, range: Range<usize>, tokens: &mut Vec<SentenceToken>) {
    let Some(prose) = text.get(range.clone()) else { return };
    let mut at = range.start;
    for word in prose.split_inclusive(char::is_whitespace) {
        let inner =
            word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_' && c != '(' && c != ')');
        let bare = inner.trim_matches(['(', ')']);
        if bare.contains(char::is_alphanumeric) && !bare.contains("://") {
            let name = name_in_prose(inner.trim_start_matches('('));
            let kind = name
                .map_or_else(|| classify_word(bare), |name| SentenceTokenKind::Names(vec![name]));
            let start = at + word.find(bare).unwrap_or_default();
            tokens.push(SentenceToken { range: start..start + bare.len(), kind });
        }
        let tail = word.trim_end();
        if ends_sentence(tail, bare, text.get(at + word.len()..).unwrap_or_default()) {
            let end = at + tail.len();
            tokens.push(SentenceToken {
                range: end.saturating_sub(1)..end,
                kind: SentenceTokenKind::Stop,
            });
        }
        at += word.len();
    }
}

fn classify_word(word: &str) -> SentenceTokenKind {
    match word.to_lowercase().as_str() {
        word if JOINING_WORDS.contains(&word) => SentenceTokenKind::Joining,
        word if ASIDE_WORDS.contains(&word) => SentenceTokenKind::Aside,
        _ => SentenceTokenKind::Other,
    }
}

/// Returns whether a word ends its sentence; `after` is the text after it.
fn ends_sentence(word: &str, bare: &str, after: &str) -> bool {
    let closed = word.trim_end_matches(['"', '\'', ')', '*', '_', ']']);
    closed.ends_with(['.', '!', '?', '。', '！', '？'])
        && !ABBREVIATIONS.contains(&bare.to_lowercase().as_str())
        && !after.trim_start().starts_with(char::is_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{names::CitedNameWeight, parse::find_citations_in_pieces};

    fn attribute_names(text: &str) -> Vec<String> {
        let pieces = MarkdownPieces::parse(text);
        let mut citations = find_citations_in_pieces(text, &pieces, 100);
        citations.retain(|citation| !citation.is_bare());
        let attributed = attribute_text(text, &pieces, &citations);
        assert_eq!(attributed.len(), citations.len());
        let names = |attributed: &AttributedText| {
            let names = attributed.names.iter().map(|name| match name.weight {
                CitedNameWeight::Name => name.word.clone(),
                CitedNameWeight::Word => format!("{}?", name.word),
                CitedNameWeight::Hint => format!("{}~", name.word),
            });
            names.collect::<Vec<String>>().join(" ")
        };
        attributed.iter().map(names).collect()
    }

    #[test]
    fn a_name_belongs_to_the_citation_after_it() {
        for (text, expected) in [
            ("`parse_it` reads (a.rs:1-2).", &["parse_it"][..]),
            ("`a_b` calls `c_d` (a.rs:1) and `e_f` (b.rs:2).", &["c_d a_b", "e_f"]),
            ("- `a.rs:1-2`: `Slots::open()` waits", &["open"]),
            ("In a.rs:1, `a_b` waits. `c_d` does not.", &["a_b"]),
            ("`a_b` is here: a.rs:1, b.rs:2 and `c.rs` (lines 3-4).", &["a_b", "a_b", "a_b"]),
            ("`a_b` waits. (a.rs:1-2)", &["a_b"]),
            ("`a_b` waits.\n\na.rs:1-2", &[""]),
            ("It handle_it() first (a.rs:1), as GitHub does.", &["handle_it"]),
            ("The limits are far away in a.rs:1, and `Slots` has them (b.rs:2).", &["", "Slots"]),
            ("| `a_b` | a.rs:1 |\n| `c_d` | b.rs:2 |", &["a_b", "c_d"]),
            ("`true` if `error` or `x`, e.g. in GitHub (a.rs:1).", &["GitHub? error?"]),
            // A citation that starts its sentence has the names after it.
            ("a.rs:1 has `a_b` and b.rs:2 has `c_d`.", &["a_b", "c_d"]),
            ("a.rs:1 has `a_b`, while b.rs:2 does not.", &["a_b", ""]),
            ("a.rs:1 (`a_b`), b.rs:2 (`c_d`)", &["a_b", "c_d"]),
            ("The callers are a.rs:1 (`a_b`), b.rs:2 (`c_d`).", &["a_b", "c_d"]),
            ("See a.rs:1; `a_b` is at b.rs:2.", &["", "a_b"]),
            ("`a_b` in `a.rs:1` calls `c_d` in `b.rs:2`.", &["a_b", "c_d"]),
            ("Once `a_b` is there, a.rs:1 calls `c_d`.", &["a_b c_d"]),
            ("`a_b` waits (see also a.rs:1).", &[""]),
            ("`cargo run` and `src/b.rs` (a.rs:1)", &["cargo~ run~", "cargo~ run~"]),
            ("`self.engines.forHeader(x)` (a.rs:1)", &["forHeader"]),
            ("`a_b` in `src/a.rs`:12-40 and `c_d` in a.rs:3", &["a_b", "c_d"]),
        ] {
            assert_eq!(attribute_names(text), expected, "{text}");
        }
    }

    #[test]
    fn texts_of_a_citation_are_bounded_and_its_own_come_first() {
        let long = "größe ".repeat(3_000);
        let text = format!("{long}a.rs:1 is last, `own_name` waits (b.rs:2), and {long}.");
        let pieces = MarkdownPieces::parse(&text);
        let citations = find_citations_in_pieces(&text, &pieces, 100);
        let attributed = attribute_text(&text, &pieces, &citations);
        for AttributedText { texts, .. } in &attributed {
            assert!(texts.iter().map(|(range, _)| range.len()).sum::<usize>() <= MAX_TEXT_BYTES);
            assert!(texts.iter().all(|(range, _)| text.get(range.clone()).is_some()));
        }
        assert!(text.get(attributed[1].texts[0].0.clone()).unwrap().contains("own_name"));
    }
}
