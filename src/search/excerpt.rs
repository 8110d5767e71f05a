//! The text that a language model is shown of what was found.
//!
//! Pieces found last are trimmed first, to their signature and the lines with words of the query;
//! then they are left out, and counted. Every line of a file begins with its number and `|`, and
//! no line of ours does, so that content cannot pass for a result.

mod render;
mod trim;

use std::collections::HashMap;

use self::{
    render::{Level, Run},
    trim::Wanted,
};
use super::{Found, Freshness, group::by_file};
use crate::domain::{FileSummary, Hit};

/// What to say when nothing was found.
const NOTHING: &str = "No indexed code matches this query. Try other words: names that the code \
                       itself might use, or fewer of them.";

/// A text for a language model, and what it shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Excerpt {
    /// Numbered lines of code, best first, under lines that say where they are from.
    pub text: String,
    /// The files of the chunks shown, each once, best first.
    pub files: Vec<FileSummary>,
    /// Number of chunks found that are not shown.
    pub left_out: usize,
}

/// Renders what was found for `query` in at most `max_bytes` bytes.
///
/// Chunks of one file stand together, and neighbours as one piece of code. While there is too
/// much, the pieces found last are trimmed first, to the signature and the lines that have words of
/// the query; then they are left out, and the last line says how many were and how to get them. The first
/// line names what the query asks for that is nowhere.
pub fn excerpt(found: &Found, query: &str, freshness: &Freshness, max_bytes: usize) -> Excerpt {
    let absent = render::absent(&found.absent);
    let room = max_bytes.saturating_sub(absent.len());
    let hits = excerpt_of_hits(&found.hits, query, freshness, room);
    Excerpt { text: absent + &hits.text, ..hits }
}

fn excerpt_of_hits(hits: &[Hit], query: &str, freshness: &Freshness, max_bytes: usize) -> Excerpt {
    if hits.is_empty() {
        return Excerpt { text: cut(NOTHING, max_bytes).to_owned(), files: vec![], left_out: 0 };
    }
    let mut pieces = pieces(hits, &Wanted::of(query), freshness);
    let ages = render::ages(freshness);
    let all = hits.len();
    loop {
        let shown: usize = pieces.iter().map(|piece| piece.run.hits.len()).sum();
        let end = format!("{}{}", note(all - shown), ages);
        let bytes: usize = pieces.iter().map(Piece::bytes).sum();
        if bytes + end.trim_end().len() <= max_bytes && !pieces.is_empty() {
            return rendered(&pieces, &end, all - shown);
        }
        if pieces.is_empty() {
            let text = cut(note(all).trim_end(), max_bytes).to_owned();
            return Excerpt { text, files: vec![], left_out: all };
        }
        shrink(&mut pieces);
    }
}

/// A run of code and how much of it is shown.
struct Piece<'a> {
    run: Run<'a>,
    /// Whole, trimmed and tight.
    texts: [String; 3],
    level: Level,
}

impl Piece<'_> {
    fn text(&self) -> &str {
        let [whole, trimmed, tight] = &self.texts;
        match self.level {
            Level::Whole => whole,
            Level::Trimmed => trimmed,
            Level::Tight => tight,
        }
    }

    fn bytes(&self) -> usize {
        // Between pieces is an empty line.
        self.text().len() + 1
    }
}

/// Makes pieces of hits: by file in the order of its best hit, and by line within a file.
fn pieces<'a>(hits: &'a [Hit], wanted: &Wanted, freshness: &Freshness) -> Vec<Piece<'a>> {
    let mut files: Vec<Vec<(usize, &Hit)>> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (rank, hit) in hits.iter().enumerate() {
        let place = *places.entry(hit.path.as_str()).or_insert(files.len());
        match files.get_mut(place) {
            Some(file) => file.push((rank, hit)),
            None => files.push(vec![(rank, hit)]),
        }
    }
    let runs = files.into_iter().flat_map(render::runs);
    runs.map(|run| {
        let text = |level| render::text(&run, level, wanted, freshness);
        let texts = [Level::Whole, Level::Trimmed, Level::Tight].map(text);
        Piece { run, texts, level: Level::Whole }
    })
    .collect()
}

/// Shows less: trims the piece found last that can be trimmed, or leaves out the last one.
fn shrink(pieces: &mut Vec<Piece<'_>>) {
    for (from, to) in [(Level::Whole, Level::Trimmed), (Level::Trimmed, Level::Tight)] {
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
    Excerpt { text: text.trim_end().to_owned(), files: by_file(&shown), left_out }
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
        super::{fixture::hit, freshness::Stale},
        *,
    };

    fn found(hits: Vec<Hit>) -> Found {
        Found {
            files: by_file(&hits),
            hits,
            absent: Vec::new(),
            model_id: "code-static-1@1".to_owned(),
        }
    }

    fn excerpt(hits: Vec<Hit>, max_bytes: usize) -> Excerpt {
        super::excerpt(&found(hits), "line 17", &Freshness::default(), max_bytes)
    }

    #[test]
    fn chunks_stand_under_a_line_that_says_where_they_are_from() {
        let hits = vec![hit("src/a.rs", 3..=4, 0.91), hit("src/b.rs", 1..=1, 0.5)];
        let excerpt = excerpt(hits.clone(), 12_000);
        insta::assert_snapshot!(excerpt.text, @r"
        [demo] /repos/demo/src/a.rs:3-4 `Store::open` rust (score 0.91)
        3|line 3
        4|line 4

        [demo] /repos/demo/src/b.rs:1-1 `Store::open` rust (score 0.50)
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
        [demo] /repos/demo/src/a.rs:7-11 `Store::open` rust (score 0.90)
        7|line 7
        9|line 9
        10|line 10
        11|line 11

        [demo] /repos/demo/src/a.rs:40-41 `Store::close` rust (score 0.60)
        ^|fn close(self) -> Result<(), StoreError> {
        40|line 40
        41|line 41

        [demo] /repos/demo/src/b.rs:1-1 `Store::open` rust (score 0.80)
        1|line 1
        ");
        let ranges: Vec<String> = excerpt.files[0].ranges.iter().map(ToString::to_string).collect();
        assert_eq!(ranges, ["7-7", "9-11", "40-41"]);
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
        [demo] /repos/demo/src/a.rs:1-2 `Store::open` rust (score 0.90)
        1|line 1
        2|line 2

        [demo] /repos/demo/src/long.rs:1-900 `Store::open` rust (score 0.80)
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
        ⋯

        [demo] /repos/demo/src/longer.rs:1-9000 `Store::open` rust (score 0.70)
        1|line 1
        2|line 2
        3|line 3
        ⋯
        16|line 16
        17|line 17
        18|line 18
        ⋯
        ");
        let narrow = excerpt(hits(), 300);
        insta::assert_snapshot!(narrow.text, @r"
        [demo] /repos/demo/src/a.rs:1-2 `Store::open` rust (score 0.90)
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
        let excerpt = super::excerpt(&found, "line", &freshness, 12_000);
        insta::assert_snapshot!(excerpt.text, @r"
        [demo] /repos/demo/src/a.rs:1-1 `Store::open` rust (score 0.90, changed since indexed: read the file)
        1|line 1

        [demo] /repos/demo/src/b.rs:1-1 `Store::open` rust (score 0.80, deleted since indexed)
        1|line 1

        [demo] /repos/demo/src/c.rs:1-1 `Store::open` rust (score 0.70)
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
