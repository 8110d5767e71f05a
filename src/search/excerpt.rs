//! The text that a language model is shown of what was found.
//!
//! The best chunks are shown whole, further ones by the lines that fit the query best, and those that the
//! conversation was shown before by their place alone: what a model needs of them, it reads. While that is
//! too much, pieces found last are trimmed first, then they are left out, and counted. Every line of a
//! file begins with its number and `|`, and no line of ours does, so that content cannot pass for a result.

mod render;
mod trim;

use std::collections::BTreeSet;

use self::{
    render::{Level, Run},
    trim::Wanted,
};
use super::{Found, Freshness, group::by_file};
use crate::domain::{FileSummary, Hit};

/// What to say when nothing was found.
const NOTHING: &str = "Nothing indexed fits this query. Try other words: names that the code \
                       itself might use, or fewer of them.";
/// What to say above results that are not likely to be what is asked for.
const WEAK: &str = "nothing fits well; the nearest:\n";

/// So many chunks are shown whole: of 153 questions with known lines, three hold 52 % of these in
/// 3,500 bytes, five 65 % in 5,800.
const WHOLE: usize = 3;
/// So many are named where none fits well.
const NEAREST: usize = 3;
/// A chunk with a smaller share of the best score is left out: of those with lines that answer a question,
/// none has less.
const FLOOR: f64 = 0.3;
/// Where the best score is smaller, nothing fits well, unless a chunk has all words of the query: one in a
/// hundred questions with an answer among the first five has less.
const GOOD: f64 = 0.2;

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
pub fn excerpt(
    found: &Found,
    query: &str,
    freshness: &Freshness,
    known: &BTreeSet<String>,
    max_bytes: usize,
) -> Excerpt {
    let mut first = render::absent(&found.absent);
    let wanted = Wanted::of(query);
    let (hits, whole) = fitting(found, query, &wanted);
    if !hits.is_empty() && whole == 0 {
        first.push_str(WEAK);
    }
    let room = max_bytes.saturating_sub(first.len());
    let mut pieces = pieces(&hits, whole, known);
    for piece in &mut pieces {
        piece.render(&wanted, freshness);
    }
    let last = [render::also(&found.also), render::ages(freshness)].concat();
    let excerpt = fitted(pieces, hits.len(), &last, room);
    Excerpt { text: first + &excerpt.text, ..excerpt }
}

/// Returns the hits that are worth showing, and how many of them whole.
fn fitting<'a>(found: &'a Found, query: &str, wanted: &Wanted) -> (Vec<&'a Hit>, usize) {
    let best = found.hits.first().map_or(0.0, |hit| hit.score);
    let hits = found.hits.iter().filter(|hit| hit.score >= FLOOR * best);
    let is_absent = |word: &str| found.absent.iter().any(|absent| absent == word);
    let is_weak = best < GOOD && !hits.clone().any(|hit| wanted.all_in(&hit.chunk));
    if is_weak || query.split_whitespace().all(is_absent) {
        return (hits.take(NEAREST).collect(), 0);
    }
    (hits.collect(), if found.absent.is_empty() { WHOLE } else { 1 })
}

/// Puts pieces together, as far as there is room.
fn fitted(mut pieces: Vec<Piece<'_>>, all: usize, last: &str, max_bytes: usize) -> Excerpt {
    if all == 0 {
        let text = cut(NOTHING, max_bytes).to_owned();
        return Excerpt { text, files: vec![], whole: vec![], left_out: 0 };
    }
    loop {
        let shown: usize = pieces.iter().map(|piece| piece.run.hits.len()).sum();
        let end = format!("{}{last}", note(all - shown));
        let bytes: usize = pieces.iter().map(Piece::bytes).sum();
        if bytes + end.trim_end().len() <= max_bytes && !pieces.is_empty() {
            return rendered(&pieces, &end, all - shown);
        }
        if pieces.is_empty() {
            let text = cut(note(all).trim_end(), max_bytes).to_owned();
            return Excerpt { text, files: vec![], whole: vec![], left_out: all };
        }
        shrink(&mut pieces);
    }
}

/// A run of code and how much of it is shown.
struct Piece<'a> {
    run: Run<'a>,
    level: Level,
    /// How it looks at each level down from [`Piece::level`].
    texts: Vec<(Level, String)>,
}

impl Piece<'_> {
    fn render(&mut self, wanted: &Wanted, freshness: &Freshness) {
        let levels = self.level.and_less().iter();
        let text = |level: &Level| (*level, render::text(&self.run, *level, wanted, freshness));
        self.texts = levels.map(text).collect();
    }

    fn text(&self) -> &str {
        let text = self.texts.iter().find(|(level, _)| *level == self.level);
        text.map_or("", |(_, text)| text)
    }

    /// Whether nothing of the run is left out.
    fn is_whole(&self) -> bool {
        self.level == Level::Whole && !self.text().lines().any(|line| line.starts_with(trim::MARK))
    }

    fn bytes(&self) -> usize {
        // Between pieces is an empty line.
        self.text().len() + 1
    }
}

/// Makes pieces of hits: by file in the order of its best hit, and best first within a file. The first
/// `whole` that are not known are to be shown whole.
fn pieces<'a>(hits: &[&'a Hit], whole: usize, known: &BTreeSet<String>) -> Vec<Piece<'a>> {
    let mut room = whole;
    let mut files: Vec<Vec<(Level, usize, &Hit)>> = Vec::new();
    for (rank, hit) in hits.iter().enumerate() {
        let level = if known.contains(&hit.chunk_id) {
            Level::Known
        } else if room > 0 {
            room -= 1;
            Level::Whole
        } else {
            Level::Brief
        };
        let is_of = |file: &&mut Vec<(Level, usize, &Hit)>| {
            file.first().is_some_and(|(_, _, first)| first.path == hit.path)
        };
        match files.iter_mut().find(is_of) {
            Some(file) => file.push((level, rank, hit)),
            None => files.push(vec![(level, rank, hit)]),
        }
    }
    files.iter().flat_map(|file| of_file(file)).collect()
}

/// Makes pieces of the hits of one file.
fn of_file<'a>(hits: &[(Level, usize, &'a Hit)]) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    for level in [Level::Whole, Level::Brief, Level::Known] {
        let alike = hits.iter().filter(|(of, ..)| *of == level);
        let alike = alike.map(|(_, rank, hit)| (*rank, *hit)).collect();
        let runs = render::runs(alike).into_iter();
        pieces.extend(runs.map(|run| Piece { run, level, texts: Vec::new() }));
    }
    pieces.sort_by_key(|piece| piece.run.rank);
    pieces
}

/// Shows less: trims the piece found last that can be trimmed, or leaves out the last one.
fn shrink(pieces: &mut Vec<Piece<'_>>) {
    for (from, to) in [(Level::Whole, Level::Trimmed), (Level::Trimmed, Level::Brief)] {
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

fn rendered(pieces: &[Piece<'_>], end: &str, left_out: usize) -> Excerpt {
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
fn note(left_out: usize) -> String {
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
fn cut(text: &str, max_bytes: usize) -> &str {
    text.split_at(text.floor_char_boundary(max_bytes)).0
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{
        super::{DefinedAt, fixture::hit, freshness::Stale},
        *,
    };

    fn found(hits: Vec<Hit>) -> Found {
        Found {
            files: by_file(&hits),
            hits,
            absent: Vec::new(),
            also: Vec::new(),
            model_id: "code-static-1@1".to_owned(),
        }
    }

    fn excerpt(hits: Vec<Hit>, max_bytes: usize) -> Excerpt {
        super::excerpt(&found(hits), "line 17", &Freshness::default(), &BTreeSet::new(), max_bytes)
    }

    #[test]
    fn chunks_stand_under_a_line_that_says_where_they_are_from() {
        let hits = vec![hit("src/a.rs", 3..=4, 0.91), hit("src/b.rs", 1..=1, 0.5)];
        let excerpt = excerpt(hits.clone(), 12_000);
        insta::assert_snapshot!(excerpt.text, @r"
        [demo] /repos/demo/src/a.rs:3-4 `Store::open`
        3|line 3
        4|line 4

        [demo] /repos/demo/src/b.rs:1-1 `Store::open`
        1|line 1
        ");
        assert_eq!((excerpt.files, excerpt.left_out), (by_file(&hits), 0));
    }

    #[test]
    fn chunks_of_a_file_stand_together_and_neighbours_are_one_piece() {
        let inside = Hit {
            symbol: Some("Store::close".to_owned()),
            signature: Some("fn close(self) -> Result<(), StoreError> {".to_owned()),
            ..hit("src/a.rs", 40..=41, 0.6)
        };
        let excerpt = excerpt(
            vec![
                hit("src/a.rs", 9..=10, 0.9),
                hit("src/b.rs", 1..=1, 0.8),
                hit("src/a.rs", 7..=7, 0.7),
                inside,
                hit("src/a.rs", 11..=11, 0.5),
            ],
            12_000,
        );
        insta::assert_snapshot!(excerpt.text, @r"
        [demo] /repos/demo/src/a.rs:7-10 `Store::open`
        7|line 7
        9|line 9
        10|line 10

        [demo] /repos/demo/src/a.rs:40-41 `Store::close`
        ^|fn close(self) -> Result<(), StoreError> {
        40|line 40
        41|line 41

        [demo] /repos/demo/src/a.rs:11-11 `Store::open`
        11|line 11

        [demo] /repos/demo/src/b.rs:1-1 `Store::open`
        1|line 1
        ");
        let ranges: Vec<String> = excerpt.files[0].ranges.iter().map(ToString::to_string).collect();
        assert_eq!(ranges, ["7-7", "9-11", "40-41"]);
        assert_eq!(excerpt.whole, ["src/a.rs:7", "src/a.rs:9", "src/b.rs:1"]);
    }

    #[test]
    fn further_chunks_are_shown_by_the_lines_that_fit_best() {
        let hits = (1..=4).map(|place| hit(&format!("src/{place}.rs"), 15..=40, 0.9));
        let excerpt = excerpt(hits.collect(), 12_000);
        let last = excerpt.text.split("\n\n").last().unwrap();
        insta::assert_snapshot!(last, @r"
        [demo] /repos/demo/src/4.rs:15-40 `Store::open`
        15|line 15
        17|line 17
        ");
        assert_eq!((excerpt.files.len(), excerpt.whole.len()), (4, WHOLE));
    }

    #[test]
    fn what_was_shown_before_is_named_and_gives_its_place_to_others() {
        let hits = (1..=4).map(|place| hit(&format!("src/{place}.rs"), 1..=9, 0.9));
        let known = BTreeSet::from(["src/1.rs:1".to_owned(), "src/2.rs:1".to_owned()]);
        let found = found(hits.collect());
        let excerpt = super::excerpt(&found, "line", &Freshness::default(), &known, 12_000);
        assert!(
            excerpt.text.starts_with(
                "[demo] /repos/demo/src/1.rs:1-9 `Store::open` (shown before)\n\n\
                 [demo] /repos/demo/src/2.rs:1-9 `Store::open` (shown before)\n\n\
                 [demo] /repos/demo/src/3.rs:1-9 `Store::open`\n1|line 1\n"
            ),
            "{}",
            excerpt.text
        );
        assert_eq!(excerpt.whole, ["src/3.rs:1", "src/4.rs:1"]);
        assert_eq!(excerpt.files.len(), 4);
    }

    #[test]
    fn what_hardly_fits_is_left_out_and_where_nothing_fits_well_that_is_said() {
        let shown = |scores: &[f64], absent: &[&str], query: &str| {
            let hits = scores.iter().zip(1..);
            let hits = hits.map(|(score, place)| hit(&format!("src/{place}.rs"), 1..=9, *score));
            let absent = absent.iter().map(|name| (*name).to_owned()).collect();
            let found = Found { absent, ..found(hits.collect()) };
            let none = BTreeSet::new();
            super::excerpt(&found, query, &Freshness::default(), &none, 12_000)
        };
        let counts =
            |excerpt: &Excerpt| (excerpt.files.len(), excerpt.whole.len(), excerpt.left_out);
        assert_eq!(counts(&shown(&[0.9, 0.28, 0.26, 0.1], &[], "shelf")), (2, 2, 0));
        assert_eq!(counts(&shown(&[0.1, 0.09, 0.02], &[], "line")), (2, 2, 0));
        let weak = shown(&[0.19, 0.18, 0.17, 0.16], &[], "line of shelves");
        assert!(weak.text.starts_with("nothing fits well; the nearest:\n[demo] "), "{}", weak.text);
        assert_eq!(counts(&weak), (NEAREST, 0, 0));
        let half = shown(&[0.9, 0.8], &["Shelf"], "line of Shelf");
        assert!(half.text.starts_with("not in the index: Shelf\n[demo] "), "{}", half.text);
        assert_eq!(counts(&half), (2, 1, 0));
        let none = shown(&[0.9; 5], &["Shelf", "Rack"], "Shelf Rack");
        let first = "not in the index: Shelf, Rack\nnothing fits well; the nearest:\n[demo] ";
        assert!(none.text.starts_with(first), "{}", none.text);
        assert_eq!(counts(&none), (NEAREST, 0, 0));
    }

    #[test]
    fn long_comments_are_cut_in_code_alone_and_are_not_taken_for_shown() {
        let shown = |language: &str, line: &str| {
            let chunk = vec![line; 20].join("\n");
            let language = Some(language.to_owned());
            let hit = Hit { language, chunk, ..hit("src/a", 1..=20, 0.9) };
            let excerpt = excerpt(vec![hit], 12_000);
            (excerpt.text.lines().count(), excerpt.whole.len())
        };
        assert_eq!(shown("rust", "// a"), (6, 0));
        assert_eq!(shown("rust", "a();"), (21, 1));
        assert_eq!(shown("markdown", "* a"), (21, 1));
    }

    #[test]
    fn further_definitions_are_named_in_a_line() {
        let also = (1..=10).map(|line| DefinedAt { path: "/r/a.rs".to_owned(), line }).collect();
        let found = Found { also, ..found(vec![hit("src/1.rs", 1..=1, 0.9)]) };
        let text =
            super::excerpt(&found, "line", &Freshness::default(), &BTreeSet::new(), 12_000).text;
        let last = text.lines().last().unwrap();
        assert!(last.starts_with("(also defined in /r/a.rs:1, /r/a.rs:2, "), "{last}");
        assert!(last.ends_with("/r/a.rs:8 and 2 more)"), "{last}");
    }

    #[test]
    fn what_was_found_last_is_trimmed_first_and_then_left_out() {
        let hits = || {
            vec![
                hit("src/a.rs", 1..=2, 0.9),
                hit("src/long.rs", 1..=900, 0.8),
                hit("src/longer.rs", 1..=9000, 0.7),
            ]
        };
        insta::assert_snapshot!(excerpt(hits(), 600).text, @r"
        [demo] /repos/demo/src/a.rs:1-2 `Store::open`
        1|line 1
        2|line 2

        [demo] /repos/demo/src/long.rs:1-900 `Store::open`
        1|line 1
        2|line 2
        3|line 3
        4|line 4
        5|line 5
        6|line 6
        7|line 7
        8|line 8
        9|line 9
        10|line 10
        11|line 11
        12|line 12
        13|line 13
        14|line 14
        15|line 15
        16|line 16
        17|line 17
        18|line 18
        19|line 19
        20|line 20
        21|line 21
        22|line 22
        23|line 23
        24|line 24
        ⋯ 25-900

        [demo] /repos/demo/src/longer.rs:1-9000 `Store::open`
        1|line 1
        17|line 17
        ");
        let narrow = excerpt(hits(), 200);
        insta::assert_snapshot!(narrow.text, @r"
        [demo] /repos/demo/src/a.rs:1-2 `Store::open`
        1|line 1
        2|line 2

        (2 more chunks were found but do not fit: narrow the query, name a repository, or read the files above)
        ");
        let shown: Vec<&str> = narrow.files.iter().map(|file| file.rel_path.as_str()).collect();
        assert_eq!((shown, narrow.left_out), (vec!["src/a.rs"], 2));
    }

    #[test]
    fn files_that_changed_are_marked_and_the_age_of_the_index_is_told() {
        let found = found(vec![
            hit("src/a.rs", 1..=1, 0.9),
            hit("src/b.rs", 1..=1, 0.8),
            hit("src/c.rs", 1..=1, 0.7),
        ]);
        let freshness = Freshness {
            ages: [("demo".to_owned(), Duration::from_secs(150))].into(),
            stale: [("a", Stale::Changed), ("b", Stale::Deleted)]
                .map(|(name, stale)| (format!("/repos/demo/src/{name}.rs"), stale))
                .into(),
        };
        let excerpt = super::excerpt(&found, "line", &freshness, &BTreeSet::new(), 12_000);
        insta::assert_snapshot!(excerpt.text, @r"
        [demo] /repos/demo/src/a.rs:1-1 `Store::open` (changed since indexed: read the file)
        1|line 1

        [demo] /repos/demo/src/b.rs:1-1 `Store::open` (deleted since indexed)
        1|line 1

        [demo] /repos/demo/src/c.rs:1-1 `Store::open`
        1|line 1

        (indexed: demo 2 minutes ago)
        ");
    }

    #[test]
    fn nothing_found_says_so() {
        let excerpt = excerpt(vec![], 12_000);
        assert_eq!((excerpt.text.as_str(), excerpt.files, excerpt.left_out), (NOTHING, vec![], 0));
    }

    #[test]
    fn a_name_with_a_line_break_stays_on_its_line() {
        let named = Hit { symbol: Some("a\n[fake] /b".to_owned()), ..hit("src/a.rs", 1..=1, 0.5) };
        assert_eq!(excerpt(vec![named], 12_000).text.lines().count(), 2);
    }

    #[test]
    fn no_limit_is_passed_and_nothing_is_lost_from_the_count() {
        let mut random = 7_u32;
        let mut next = |below: usize| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 8) as usize % below
        };
        for _ in 0..2000 {
            let hits: Vec<Hit> = (0..next(7))
                .map(|place| {
                    let lines: Vec<&str> = (0..=next(40))
                        .map(|_| ["", "日本語 = 1;", "x 17", "naïve()"][next(4)])
                        .collect();
                    Hit { chunk: lines.join("\n"), ..hit(&format!("f{place}.rs"), 1..=9, 0.5) }
                })
                .collect();
            let (count, max_bytes) = (hits.len(), next(1500));
            let excerpt = excerpt(hits, max_bytes);
            assert!(excerpt.text.len() <= max_bytes);
            assert_eq!(excerpt.files.len() + excerpt.left_out, count);
        }
    }
}
