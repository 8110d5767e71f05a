//! Excerpts of hits, case by case.

use std::time::Duration;

use codeinfo_core::LineRange;

use super::{
    super::{
        DiffHunk, DocumentedName, FileDiff, NameLocation, UnmatchedFiles, fixture::hit,
        freshness::FileStaleness,
    },
    *,
};

fn build_results(hits: Vec<Hit>) -> SearchResults {
    let model_id = "code-static-1@1".to_owned();
    SearchResults { files: summarize_files(&hits), hits, model_id, ..SearchResults::default() }
}

fn excerpt(hits: Vec<Hit>, max_bytes: usize) -> Excerpt {
    render_excerpt(
        &build_results(hits),
        "line 17",
        &ResultFreshness::default(),
        &BTreeSet::new(),
        max_bytes,
    )
}

#[test]
fn each_piece_has_a_line_with_its_location() {
    let hits = vec![hit("src/a.rs", 3..=4, 0.91), hit("src/b.rs", 1..=1, 0.5)];
    let excerpt = excerpt(hits.clone(), 12_000);
    insta::assert_snapshot!(excerpt.text, @r"
    [demo] /repos/demo/src/a.rs:3-4 `Store::open`
    3|line 3
    4|line 4

    [demo] /repos/demo/src/b.rs:1-1 `Store::open`
    1|line 1
    ");
    assert_eq!((excerpt.files, excerpt.left_out), (summarize_files(&hits), 0));
}

#[test]
fn adjacent_chunks_of_a_file_form_one_piece() {
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
    [demo] /repos/demo/src/a.rs:7-11 `Store::open`
    7|line 7
    9|line 9
    10|line 10
    11|line 11

    [demo] /repos/demo/src/a.rs:40-41 `Store::close`
    ^|fn close(self) -> Result<(), StoreError> {
    40|line 40
    41|line 41

    [demo] /repos/demo/src/b.rs:1-1 `Store::open`
    1|line 1
    ");
    let ranges: Vec<String> = excerpt.files[0].ranges.iter().map(ToString::to_string).collect();
    assert_eq!(ranges, ["7-7", "9-11", "40-41"]);
    let whole = ["src/a.rs:7", "src/a.rs:9", "src/a.rs:11", "src/a.rs:40", "src/b.rs:1"];
    assert_eq!(excerpt.whole, whole);
}

#[test]
fn chunks_near_the_best_score_are_shown_whole() {
    let scores = [0.9, 0.6, 0.46, 0.44];
    let hits = scores.iter().zip(1..);
    let hits = hits.map(|(score, place)| hit(&format!("src/{place}.rs"), 15..=40, *score));
    let excerpt = excerpt(hits.collect(), 12_000);
    let last = excerpt.text.split("\n\n").last().unwrap();
    insta::assert_snapshot!(last, @r"
    [demo] /repos/demo/src/4.rs:15-40 `Store::open`
    15|line 15
    ");
    assert_eq!(excerpt.whole, ["src/1.rs:15", "src/2.rs:15", "src/3.rs:15"]);
}

#[test]
fn long_chunks_make_room_for_shorter_ones() {
    let lengths = [500, 100, 500, 10].iter().zip(1..);
    let hits = lengths.map(|(lines, place)| hit(&format!("src/{place}.rs"), 1..=*lines, 0.9));
    let mut hits: Vec<Hit> = hits.collect();
    hits[0].chunk.truncate(1500);
    let excerpt = excerpt(hits, 12_000);
    assert_eq!(excerpt.whole, ["src/1.rs:1", "src/2.rs:1", "src/4.rs:1"]);
    assert!(excerpt.text.contains("3.rs:1-500 `Store::open`\n1|line 1\n17|line 17\n\n"));
    assert!(excerpt.text.len() < WHOLE_BYTES + 500, "{} bytes", excerpt.text.len());
}

#[test]
fn known_chunks_are_shown_by_location_only() {
    let hits = (1..=4).map(|place| hit(&format!("src/{place}.rs"), 1..=9, 0.9));
    let known = BTreeSet::from(["src/1.rs:1".to_owned(), "src/2.rs:1".to_owned()]);
    let found = build_results(hits.collect());
    let excerpt = render_excerpt(&found, "line", &ResultFreshness::default(), &known, 12_000);
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
fn weak_hits_are_left_out_or_marked() {
    let shown = |scores: &[f64], absent: &[&str], query: &str| {
        let hits = scores.iter().zip(1..);
        let hits = hits.map(|(score, place)| hit(&format!("src/{place}.rs"), 1..=9, *score));
        let absent = absent.iter().map(|name| (*name).to_owned()).collect();
        let found = SearchResults { absent, ..build_results(hits.collect()) };
        let none = BTreeSet::new();
        render_excerpt(&found, query, &ResultFreshness::default(), &none, 12_000)
    };
    let counts = |excerpt: &Excerpt| (excerpt.files.len(), excerpt.whole.len(), excerpt.left_out);
    assert_eq!(counts(&shown(&[0.9, 0.28, 0.26, 0.1], &[], "shelf")), (2, 1, 0));
    assert_eq!(counts(&shown(&[0.1, 0.09, 0.02], &[], "line")), (2, 2, 0));
    let weak = shown(&[0.19, 0.18, 0.17, 0.16], &[], "line of shelves");
    assert!(weak.text.starts_with("nothing fits well; the nearest:\n[demo] "), "{}", weak.text);
    assert_eq!(counts(&weak), (NEAREST, 0, 0));
    let far = shown(&[0.39, 0.38], &["Shelf"], "line of Shelf");
    assert_eq!(counts(&far), (2, 0, 0));
    let half = shown(&[0.9, 0.8], &["Shelf"], "line of Shelf");
    assert!(half.text.starts_with("not in the index: Shelf\n[demo] "), "{}", half.text);
    assert_eq!(counts(&half), (2, 1, 0));
    let none = shown(&[0.9; 5], &["Shelf", "Rack"], "Shelf Rack");
    let first = "not in the index: Shelf, Rack\nnothing fits well; the nearest:\n[demo] ";
    assert!(none.text.starts_with(first), "{}", none.text);
    assert_eq!(counts(&none), (NEAREST, 0, 0));
}

#[test]
fn absent_and_documented_names_come_first() {
    let place = NameLocation { path: "/r/notes.md".to_owned(), line: 7 };
    let documented = vec![DocumentedName { name: "Shelf".to_owned(), place }];
    let absent_words = vec!["giraffe".to_owned(), "zebra".to_owned()];
    let hits = || vec![hit("src/1.rs", 1..=9, 0.9), hit("src/2.rs", 1..=9, 0.9)];
    let shown = |documented: Vec<DocumentedName>| {
        let found = SearchResults {
            absent_words: absent_words.clone(),
            documented,
            ..build_results(hits())
        };
        let none = BTreeSet::new();
        render_excerpt(&found, "line of Shelf", &ResultFreshness::default(), &none, 12_000)
    };
    let words = shown(Vec::new());
    assert!(words.text.starts_with("words found nowhere: giraffe, zebra\n[demo] "), "{words:?}");
    assert_eq!(words.whole.len(), 2);
    let first =
        "no code has Shelf, only documents: /r/notes.md:7; words found nowhere: giraffe, zebra\n";
    let both = shown(documented);
    assert!(both.text.starts_with(first), "{both:?}");
    assert_eq!(both.whole.len(), 1);
}

#[test]
fn comments_in_code_are_shown_briefly() {
    let shown = |language: &str, line: &str| {
        let chunk = vec![line; 20].join("\n");
        let language = Some(language.to_owned());
        let hit = Hit { language, chunk, ..hit("src/a", 1..=20, 0.9) };
        let excerpt = excerpt(vec![hit], 12_000);
        (excerpt.text.lines().count(), excerpt.whole.len())
    };
    assert_eq!(shown("rust", "// a"), (3, 0));
    assert_eq!(shown("rust", "a();"), (21, 1));
    assert_eq!(shown("markdown", "* a"), (21, 1));
}

#[test]
fn other_definitions_are_listed_in_one_line() {
    let other_definitions =
        (1..=10).map(|line| NameLocation { path: "/r/a.rs".to_owned(), line }).collect();
    let found =
        SearchResults { other_definitions, ..build_results(vec![hit("src/1.rs", 1..=1, 0.9)]) };
    let text =
        render_excerpt(&found, "line", &ResultFreshness::default(), &BTreeSet::new(), 12_000).text;
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("(also defined in /r/a.rs:1, /r/a.rs:2, "), "{last}");
    assert!(last.ends_with("/r/a.rs:8 and 2 more)"), "{last}");
}

#[test]
fn the_last_hits_are_trimmed_first_and_then_left_out() {
    let hits = || {
        vec![
            hit("src/long.rs", 1..=900, 0.9),
            hit("src/longer.rs", 1..=9000, 0.8),
            hit("src/a.rs", 1..=2, 0.4),
        ]
    };
    insta::assert_snapshot!(excerpt(hits(), 600).text, @r"
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

    [demo] /repos/demo/src/a.rs:1-2 `Store::open`
    1|line 1
    ");
    let narrow = excerpt(hits(), 200);
    insta::assert_snapshot!(narrow.text, @r"
    [demo] /repos/demo/src/long.rs:1-900 `Store::open`
    1|line 1
    17|line 17

    (2 more chunks were found but do not fit: narrow the query, name a repository, or read the files above)
    ");
    let shown: Vec<&str> = narrow.files.iter().map(|file| file.rel_path.as_str()).collect();
    assert_eq!((shown, narrow.left_out), (vec!["src/long.rs"], 2));
}

#[test]
fn changed_files_and_index_ages_are_shown() {
    let found = build_results(vec![
        hit("src/a.rs", 1..=1, 0.9),
        hit("src/b.rs", 1..=1, 0.8),
        hit("src/c.rs", 1..=1, 0.7),
    ]);
    let freshness = ResultFreshness {
        ages: [("demo".to_owned(), Duration::from_secs(150))].into(),
        stale: [("a", FileStaleness::Changed), ("b", FileStaleness::Deleted)]
            .map(|(name, stale)| (format!("/repos/demo/src/{name}.rs"), stale))
            .into(),
    };
    let excerpt = render_excerpt(&found, "line", &freshness, &BTreeSet::new(), 12_000);
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
fn an_empty_result_has_a_text() {
    let excerpt = excerpt(vec![], 12_000);
    assert_eq!((excerpt.text.as_str(), excerpt.files, excerpt.left_out), (NOTHING, vec![], 0));
}

#[test]
fn a_name_with_a_line_break_stays_on_its_line() {
    let named = Hit { symbol: Some("a\n[fake] /b".to_owned()), ..hit("src/a.rs", 1..=1, 0.5) };
    assert_eq!(excerpt(vec![named], 12_000).text.lines().count(), 2);
}

#[test]
fn excerpts_fit_every_limit_and_count_all_chunks() {
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
        let count = hits.len();
        let max_bytes = next(1500);
        let excerpt = excerpt(hits, max_bytes);
        assert!(excerpt.text.len() <= max_bytes);
        assert_eq!(excerpt.files.len() + excerpt.left_out, count);
    }
}

/// Returns results with a hunk of `lines` lines for each path and place, each touched by a hit.
fn build_comparison(places: &[(&str, u32, u32)]) -> SearchResults {
    let mut diffs: Vec<FileDiff> = Vec::new();
    let mut hits = Vec::new();
    for (path, first, lines) in places {
        let body = (0..*lines).map(|line| format!("+line {line}\n")).collect::<Vec<_>>().concat();
        let range = LineRange { first: *first, last: first + lines - 1 };
        let text = format!("@@ -{},0 +{first},{lines} @@ open\n{body}", first - 1);
        let hunk = DiffHunk { before: None, after: Some(range), text };
        let is_added = (*path).ends_with("new.rs");
        match diffs.iter_mut().find(|diff| diff.rel_path == *path) {
            Some(diff) => diff.hunks.push(hunk),
            None => diffs.push(FileDiff {
                rel_path: (*path).to_owned(),
                path: format!("/repos/demo/{path}"),
                before: (!is_added).then(|| "demo@v1".to_owned()),
                after: Some("demo".to_owned()),
                hunks: vec![hunk],
            }),
        }
        let only_in = Some("demo".to_owned());
        hits.push(Hit { only_in, ..hit(path, range.first..=range.last, 0.9) });
    }
    let also_differ =
        Some(UnmatchedFiles { count: 12, paths: vec!["a.rs".to_owned(), "b.rs".to_owned()] });
    SearchResults { diffs, also_differ, ..build_results(hits) }
}

fn render_comparison(found: &SearchResults, max_bytes: usize) -> Excerpt {
    render_excerpt(found, "line", &ResultFreshness::default(), &BTreeSet::new(), max_bytes)
}

#[test]
fn changes_between_trees_are_unified_diffs_by_file() {
    let mut found =
        build_comparison(&[("src/a.rs", 30, 2), ("src/new.rs", 1, 1), ("src/a.rs", 7, 1)]);
    found.diffs[0].hunks.swap(0, 1);
    let excerpt = render_comparison(&found, 12_000);
    insta::assert_snapshot!(excerpt.text, @r"
    /repos/demo/src/a.rs
    --- src/a.rs@demo@v1
    +++ src/a.rs@demo
    @@ -6,0 +7,1 @@ open
    +line 0
    @@ -29,0 +30,2 @@ open
    +line 0
    +line 1

    /repos/demo/src/new.rs
    --- /dev/null
    +++ src/new.rs@demo
    @@ -0,0 +1,1 @@ open
    +line 0

    (also differ, but do not fit: a.rs, b.rs and 10 more)
    ");
    assert_eq!((excerpt.files.len(), excerpt.whole.len(), excerpt.left_out), (2, 0, 0));
    // Without a matching change, the differing files are named.
    let nothing = SearchResults {
        notice: Some("no difference was found".to_owned()),
        also_differ: found.also_differ,
        ..SearchResults::default()
    };
    let text = render_comparison(&nothing, 12_000).text;
    assert_eq!(
        text,
        "no difference was found\n(also differ, but do not fit: a.rs, b.rs and 10 more)"
    );
}

#[test]
fn later_changes_are_cut_and_then_left_out() {
    let found =
        build_comparison(&[("a.rs", 1, 300), ("b.rs", 1, 200), ("c.rs", 1, 40), ("d.rs", 1, 40)]);
    let excerpt = render_comparison(&found, 12_000);
    let counts: Vec<usize> =
        excerpt.text.split("\n\n").map(|file| file.matches("+line").count()).collect();
    assert_eq!((counts, excerpt.left_out), (vec![300, 117, 0, 0, 0], 0));
    assert!(excerpt.text.len() < WHOLE_BYTES + 600, "{} bytes", excerpt.text.len());
    assert!(excerpt.text.contains("+line 116\n⋯ 83 more lines\n\n/repos/demo/c.rs\n"));
    assert!(excerpt.text.contains("@@ -0,0 +1,40 @@ open\n⋯ 40 more lines\n\n"));
    let narrow = render_comparison(&found, 3_500);
    assert_eq!((narrow.files.len(), narrow.left_out), (1, 3));
    for max_bytes in 0..4_000 {
        let excerpt = render_comparison(&found, max_bytes);
        assert!(excerpt.text.len() <= max_bytes);
        assert_eq!(excerpt.files.len() + excerpt.left_out, 4);
    }
}
