//! Answers as models write them, about this product's own sources: right citations are never called wrong.

use std::{
    fs,
    io::{self, Write},
    path::Path,
    time::Instant,
};

use codeinfo_citations::{
    CheckedCitation, CitationChecker, CitationState, LookupScope, describe_faults,
};
use codeinfo_core::{LineRange, PathMap};
use codeinfo_test_support::ingest::{TestIndex, TestRepository};

/// Right answers. `<<PATH NAME>>` is replaced by the first and last line of a definition,
/// `<<PATH NAME first>>` and `<<PATH NAME last>>` by one of them.
const ANSWERS: [&str; 36] = [
    // Lists and tables.
    "1. **`CitationChecker::check_text`** reads the citations (`src/cite.rs:<<src/cite.rs check_text>>`).\n\
     2. `resolve_citations` finds the files – see src/cite.rs:<<src/cite.rs resolve_citations>>.\n\
     3. `judge_lines` judges each: src/cite/judge.rs:<<src/cite/judge.rs judge_lines>>",
    "- `src/cite/judge.rs:<<src/cite/judge.rs judge_lines>>`: `judge_lines` judges.\n\
     - `src/cite/read.rs:<<src/cite/read.rs read_files>>` — reads, with `MAX_BYTES` as its bound.\n\
     - src/beneath.rs:<<src/beneath.rs open_file>> (`open_file`) opens.",
    "| What | Where | Calls |\n|---|---|---|\n\
     | `judge_lines` | src/cite/judge.rs:<<src/cite/judge.rs judge_lines>> | `find_misplaced_name` |\n\
     | `find_misplaced_name` | [judge.rs](src/cite/judge.rs#L<<src/cite/judge.rs find_misplaced_name first>>-L<<src/cite/judge.rs \
     find_misplaced_name last>>) | `definitions_of` of `CitedFileText` |",
    "The callers are src/cite.rs:<<src/cite.rs read_cited_files>> (`read_cited_files`), src/cite/judge.rs:<<src/cite/judge.rs judge_lines>> \
     (`judge_lines`) and src/cite/parse.rs:<<src/cite/parse.rs unescape_path>> (`unescape_path`).",
    "* src/cite/read.rs:<<src/cite/read.rs read_files>> has `read_files`, src/cite/fault.rs:<<src/cite/fault.rs join_lines>> has \
     `join_lines`.\n* And src/cite/parse.rs:<<src/cite/parse.rs find_citations>>.",
    // Two files and their names in a sentence.
    "`judge_lines` in `src/cite/judge.rs:<<src/cite/judge.rs judge_lines>>` is given what `read_files` in \
     `src/cite/read.rs:<<src/cite/read.rs read_files>>` has read.",
    "`judge_lines` (src/cite/judge.rs:<<src/cite/judge.rs judge_lines>>) calls `join_lines` \
     (src/cite/fault.rs:<<src/cite/fault.rs join_lines>>) only for `CitationFault`.",
    "src/cite/judge.rs:<<src/cite/judge.rs judge_lines>> defines `judge_lines`; src/cite/parse.rs:<<src/cite/parse.rs unescape_path>> \
     takes escapes away.",
    "In `src/cite/read.rs:<<src/cite/read.rs read_files>>`, `read_files` opens each root once, and the text goes to \
     src/cite/parse.rs:<<src/cite/parse.rs find_citations>> afterwards.",
    "Once the `PathMap` is known, src/cite/read.rs:<<src/cite/read.rs read_files>> takes each `FileReadRequest` and opens it.",
    "`judge_lines` decides (src/cite/judge.rs:<<src/cite/judge.rs judge_lines>>; see also \
     src/cite/read.rs:<<src/cite/read.rs read_files>>, which is alike).",
    "The struct `CitedFile` (src/cite/judge.rs:<<src/cite/judge.rs CitedFile>>), similar to \
     src/cite/read.rs:<<src/cite/read.rs CurrentFile>>, has the content.",
    "See src/cite/judge.rs:<<src/cite/judge.rs judge_lines>> and `src/cite/read.rs:<<src/cite/read.rs read_files>>`; \
     `join_lines`: src/cite/fault.rs:<<src/cite/fault.rs join_lines>>.",
    "Both src/cite/judge.rs:<<src/cite/judge.rs judge_lines>> (`judge_lines`) and src/cite/fault.rs:<<src/cite/fault.rs \
     join_lines>> (`join_lines`) are pure.",
    // Several ranges, brackets, and other ways to write lines.
    "`judge_lines` and `find_misplaced_name` are in src/cite/judge.rs:<<src/cite/judge.rs judge_lines>>, \
     <<src/cite/judge.rs find_misplaced_name>>.",
    "`join_lines` (in [the faults](src/cite/fault.rs#L<<src/cite/fault.rs join_lines first>>-L<<src/cite/fault.rs join_lines \
     last>>) (see `quote_paths` (src/cite/fault.rs:<<src/cite/fault.rs quote_paths>>), which is private)) writes them.",
    "`join_lines` – `src/cite/fault.rs` (lines <<src/cite/fault.rs join_lines>>) – writes `12-40, 55`.",
    "Look at **[`join_lines`](src/cite/fault.rs#L<<src/cite/fault.rs join_lines first>>)** and \
     *`quote_paths`* (*src/cite/fault.rs:<<src/cite/fault.rs quote_paths>>*).",
    "`join_lines` is at `src/cite/fault.rs#L<<src/cite/fault.rs join_lines first>>C5-L<<src/cite/fault.rs join_lines last>>C2`, \
     `./src/cite/fault.rs:<<src/cite/fault.rs join_lines first>>:5` and `fault.rs:<<src/cite/fault.rs join_lines last>>`.",
    "### `join_lines` (src/cite/fault.rs:<<src/cite/fault.rs join_lines>>)\n\nIt joins ranges.\n\n\
     > `quote_paths` is next to it: src/cite/fault.rs:<<src/cite/fault.rs quote_paths>>",
    // Code blocks with numbers, and what programs print.
    "`join_lines` joins ranges (src/cite/fault.rs:<<src/cite/fault.rs join_lines>>):\n\n```rust\n\
     88| pub(super) fn join_lines(lines: &[LineRange]) -> String {\n89|     let one = |range: &LineRange| match range {\n\
     ```\n\nThen `quote_paths` (src/cite/fault.rs:<<src/cite/fault.rs quote_paths>>).",
    "It then prints\n\n```\nthread 'main' panicked at src/gone/main.rs:3:5:\n   at \
     /rustc/5980/library/std/src/panicking.rs:689:5\n```\n\nwhich `join_lines` cannot (src/cite/fault.rs:<<src/cite/fault.rs \
     join_lines>>).",
    "Run `cargo test -p codeinfo-citations` first; `check` and `report` are then in \
     src/cite/judge.rs:<<src/cite/judge.rs judge_lines>>, more or less.",
    "Bounded by `MAX_BYTES` = 64 MiB (src/cite/read.rs:<<src/cite/read.rs MAX_BYTES first>>), at 12:30, e.g. \
     for v1.2.3, 3:4 of all.",
    "After `just join_lines again`, names are joined (src/cite/fault.rs:<<src/cite/fault.rs quote_paths>>).",
    // Names in other spellings, and words that are no names.
    "`relPath` is the path below the root, `movedTo` the right lines (src/cite.rs:<<src/cite.rs CheckedCitation>>).",
    "The `moved-to` member and the field `rel_path` are in src/cite.rs:<<src/cite.rs CheckedCitation>>.",
    "A citation is `verified`, `moved`, `changed` or `missing` (src/cite/fault.rs:<<src/cite/fault.rs DocumentCitationState>>).",
    "`RootDir::open_file(path)?` and `fn read_file(&self)` read (`src/cite/read.rs`:<<src/cite/read.rs read_file>>).",
    "`room.acquire_owned().await` waits for one of `MAX_CHECKS` (src/cite.rs:<<src/cite.rs run_blocking>>, e.g. the \
     first lines).",
    "Every `CitedFileText` has its lines\n(src/cite/content.rs:<<src/cite/content.rs CitedFileText>>), which\n`line_count` \
     counts (src/cite/content.rs:<<src/cite/content.rs line_count>>).",
    // Other languages, and other line ends.
    "`join_lines` steht in src/cite/fault.rs:<<src/cite/fault.rs join_lines>> und ruft nichts auf; `quote_paths` \
     (siehe `src/cite/fault.rs:<<src/cite/fault.rs quote_paths>>`) fügt Namen zusammen, z.B. für `Display`.",
    "Die Funktion `judge_lines` (src/cite/judge.rs:<<src/cite/judge.rs judge_lines>>, vgl. \
     src/cite/read.rs:<<src/cite/read.rs read_files>>) prüft `CitedFile`.",
    "`join_lines` は src/cite/fault.rs:<<src/cite/fault.rs join_lines>> で定義されています。次に`quote_paths`\
     （src/cite/fault.rs:<<src/cite/fault.rs quote_paths>>）が名前をつなぎます。`judge_lines`は\
     `src/cite/judge.rs:<<src/cite/judge.rs judge_lines>>`にあります。",
    "`join_lines` joins ranges (src/cite/fault.rs:<<src/cite/fault.rs join_lines>>).\r\n\r\n- `quote_paths`: \
     src/cite/fault.rs:<<src/cite/fault.rs quote_paths>>\r\n- src/cite/judge.rs:<<src/cite/judge.rs judge_lines>>: \
     `judge_lines`\r\n\r\n```rust\r\n12| let x;\r\n```\r\n",
    // Citations of a file alone, and files that are no citations.
    "`src/cite.rs` is the entry (`cite.rs`), `std::fs` opens, `Cargo.lock` is left out, and `checker.check_text` \
     (src/cite.rs:<<src/cite.rs check_text>>), if any, would be `a.b.c(d)`.",
];

/// Returns the source of the product that the answers call `path`.
fn source_path(path: &str) -> std::path::PathBuf {
    let path = match path {
        "src/beneath.rs" => "crates/worktree/src/beneath.rs".to_owned(),
        "src/cite.rs" => "crates/citations/src/lib.rs".to_owned(),
        path => path.replace("src/cite", "crates/citations/src"),
    };
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Returns the first and last line of a definition.
fn find_definition_lines(path: &str, name: &str) -> (usize, usize) {
    let text = fs::read_to_string(source_path(path)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let heads = ["fn", "struct", "enum", "trait", "const"].map(|head| format!("{head} {name}"));
    let is_head = |line: &&str| {
        let after = heads.iter().find_map(|head| line.split_once(head.as_str()));
        after.is_some_and(|(_, after)| after.starts_with(['(', '<', ' ', ':', ';']))
    };
    let first = lines.iter().position(is_head).unwrap_or_else(|| panic!("{path} {name}"));
    if lines[first].ends_with(';') {
        return (first + 1, first + 1);
    }
    let indent = lines[first].len() - lines[first].trim_start().len();
    let end = format!("{}}}", " ".repeat(indent));
    let length = lines[first..].iter().position(|line| *line == end).unwrap();
    (first + 1, first + length + 1)
}

fn fill_placeholders(answer: &str) -> String {
    let mut text = String::new();
    let mut rest = answer;
    while let Some((before, after)) = rest.split_once("<<") {
        let (place, after) = after.split_once(">>").unwrap();
        let words: Vec<&str> = place.split_whitespace().collect();
        let (first, last) = find_definition_lines(words[0], words[1]);
        text.push_str(before);
        match words.get(2) {
            Some(&"first") => text.push_str(&first.to_string()),
            Some(_) => text.push_str(&last.to_string()),
            None => text.push_str(&[first, last].map(|line| line.to_string()).join("-")),
        }
        rest = after;
    }
    text + rest
}

async fn index_product() -> (TestIndex, TestRepository) {
    let index = TestIndex::new().await;
    let repository = index.create_repository("product", &[]);
    for path in ["src/cite.rs", "src/beneath.rs"] {
        repository.write(path, &fs::read_to_string(source_path(path)).unwrap());
    }
    for entry in fs::read_dir(source_path("src/cite")).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            continue;
        }
        repository.write(&format!("src/cite/{name}"), &fs::read_to_string(entry.path()).unwrap());
    }
    index.ingest(&repository).await;
    (index, repository)
}

#[tokio::test(flavor = "multi_thread")]
async fn right_answers_have_no_fault_however_they_are_written() {
    let (index, _repo) = index_product().await;
    let checker = CitationChecker::new(index.store.clone(), PathMap::default());
    let mut wrong = Vec::new();
    for answer in ANSWERS {
        let text = fill_placeholders(answer);
        let report = checker.check_text(&text, &LookupScope::default()).await.unwrap();
        assert!(!report.citations.is_empty(), "{text}");
        let faults = describe_faults(&text, &report);
        if !faults.is_empty() || report.unchecked > 0 {
            wrong.push(format!(
                "{text}\n=> {} unchecked, {}",
                report.unchecked,
                faults.join("\n=> ")
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), ANSWERS.len(), wrong.join("\n\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_answer_is_checked_at_once() {
    let (index, _repo) = index_product().await;
    let checker = CitationChecker::new(index.store.clone(), PathMap::default());
    let text = fill_placeholders(&ANSWERS[..24].join("\n\n"));
    let begun = Instant::now();
    let report = checker.check_text(&text, &LookupScope::default()).await.unwrap();
    // No time is asserted.
    let count = report.citations.len();
    writeln!(io::stderr(), "{count} citations in {:?}", begun.elapsed()).unwrap();
    assert!(count >= 40, "{count}");
    assert_eq!(describe_faults(&text, &report), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_place_among_right_ones_is_found() {
    let (index, _repo) = index_product().await;
    let checker = CitationChecker::new(index.store.clone(), PathMap::default());
    let verdict = "src/cite/judge.rs:<<src/cite/judge.rs judge_lines>>";
    for (wrong, name) in [
        // The names of each are its own.
        (
            format!("`judge_lines` in {verdict} calls `unescape_path` in `src/cite/parse.rs:1-3`."),
            "unescape_path",
        ),
        (
            format!(
                "`unescape_path` in `src/cite/parse.rs:1-3` is called by `judge_lines` in {verdict}."
            ),
            "unescape_path",
        ),
        (
            format!(
                "The callers are {verdict} (`judge_lines`) and src/cite/parse.rs:1-3 (`unescape_path`)."
            ),
            "unescape_path",
        ),
        (
            format!("- {verdict}: `judge_lines`, as src/cite/parse.rs:1-3 has `unescape_path`."),
            "unescape_path",
        ),
        (
            format!(
                "`judge_lines` ({verdict}) asks first, then `unescape_path` decides (src/cite/parse.rs:1-3)."
            ),
            "unescape_path",
        ),
        (
            format!(
                "Once `nothing` is left, src/cite/parse.rs:1-3 gives `unescape_path` up, as `judge_lines` asks ({verdict})."
            ),
            "unescape_path",
        ),
        ("`judge_lines`は`src/cite/judge.rs:1-3`にあります。".to_owned(), "judge_lines"),
        ("`judge_lines` steht in src/cite/judge.rs:1-3 und urteilt.".to_owned(), "judge_lines"),
        (
            "| x | y |\r\n|---|---|\r\n| `judge_lines` | src/cite/judge.rs:1-3 |\r\n".to_owned(),
            "judge_lines",
        ),
    ] {
        let text = fill_placeholders(&wrong);
        let report = checker.check_text(&text, &LookupScope::default()).await.unwrap();
        let planted = |one: &&CheckedCitation| one.lines == [LineRange { first: 1, last: 3 }];
        let planted = report.citations.iter().find(planted).unwrap();
        assert_ne!(planted.state, CitationState::Confirmed, "{name}: {text}");
        let others = report.citations.iter().filter(|one| one.lines != planted.lines);
        for one in others {
            assert_ne!(one.state, CitationState::Wrong, "{text}");
        }
    }
}
