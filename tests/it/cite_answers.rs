//! Answers as models write them, about this product's own sources: what is right in them is never called wrong.

use std::{
    fs,
    io::{self, Write},
    path::Path,
    sync::Arc,
    time::Instant,
};

use codeinfo_citations::{
    CheckedCitation, CitationChecker, CitationState, LookupScope, describe_faults,
};
use codeinfo_core::{LineRange, PathMap};

use crate::ingest_bench::{Bench, Repo};

/// Right answers. `<<PATH NAME>>` stands for the first and last line of a definition, `<<PATH NAME first>>`
/// and `<<PATH NAME last>>` for one of them.
const ANSWERS: [&str; 36] = [
    // Lists and tables.
    "1. **`Checker::check`** reads the citations (`src/cite.rs:<<src/cite.rs check>>`).\n\
     2. `meanings` finds the files – see src/cite.rs:<<src/cite.rs meanings>>.\n\
     3. `verdict` judges each: src/cite/judge.rs:<<src/cite/judge.rs verdict>>",
    "- `src/cite/judge.rs:<<src/cite/judge.rs verdict>>`: `verdict` judges.\n\
     - `src/cite/read.rs:<<src/cite/read.rs files>>` — reads, with `MAX_BYTES` as its bound.\n\
     - src/beneath.rs:<<src/beneath.rs file>> (`file`) opens.",
    "| What | Where | Calls |\n|---|---|---|\n\
     | `verdict` | src/cite/judge.rs:<<src/cite/judge.rs verdict>> | `misplaced` |\n\
     | `misplaced` | [judge.rs](src/cite/judge.rs#L<<src/cite/judge.rs misplaced first>>-L<<src/cite/judge.rs \
     misplaced last>>) | `definitions_of` of `Content` |",
    "The callers are src/cite.rs:<<src/cite.rs read>> (`read`), src/cite/judge.rs:<<src/cite/judge.rs verdict>> \
     (`verdict`) and src/cite/parse.rs:<<src/cite/parse.rs plain>> (`plain`).",
    "* src/cite/read.rs:<<src/cite/read.rs files>> has `files`, src/cite/fault.rs:<<src/cite/fault.rs join_lines>> has \
     `join_lines`.\n* And src/cite/parse.rs:<<src/cite/parse.rs citations>>.",
    // Two files and their names in a sentence.
    "`verdict` in `src/cite/judge.rs:<<src/cite/judge.rs verdict>>` is given what `files` in \
     `src/cite/read.rs:<<src/cite/read.rs files>>` has read.",
    "`verdict` (src/cite/judge.rs:<<src/cite/judge.rs verdict>>) calls `join_lines` \
     (src/cite/fault.rs:<<src/cite/fault.rs join_lines>>) only for `Fault`.",
    "src/cite/judge.rs:<<src/cite/judge.rs verdict>> defines `verdict`; src/cite/parse.rs:<<src/cite/parse.rs plain>> \
     takes escapes away.",
    "In `src/cite/read.rs:<<src/cite/read.rs files>>`, `files` opens each root once, and the text goes to \
     src/cite/parse.rs:<<src/cite/parse.rs citations>> afterwards.",
    "Once the `PathMap` is known, src/cite/read.rs:<<src/cite/read.rs files>> takes each `Wanted` and opens it.",
    "`verdict` decides (src/cite/judge.rs:<<src/cite/judge.rs verdict>>; see also \
     src/cite/read.rs:<<src/cite/read.rs files>>, which is alike).",
    "The struct `Known` (src/cite/judge.rs:<<src/cite/judge.rs Known>>), similar to \
     src/cite/read.rs:<<src/cite/read.rs File>>, has the content.",
    "See src/cite/judge.rs:<<src/cite/judge.rs verdict>> and `src/cite/read.rs:<<src/cite/read.rs files>>`; \
     `join_lines`: src/cite/fault.rs:<<src/cite/fault.rs join_lines>>.",
    "Both src/cite/judge.rs:<<src/cite/judge.rs verdict>> (`verdict`) and src/cite/fault.rs:<<src/cite/fault.rs \
     join_lines>> (`join_lines`) are pure.",
    // Several ranges, brackets, and other ways to write lines.
    "`verdict` and `misplaced` are in src/cite/judge.rs:<<src/cite/judge.rs verdict>>, \
     <<src/cite/judge.rs misplaced>>.",
    "`join_lines` (in [the faults](src/cite/fault.rs#L<<src/cite/fault.rs join_lines first>>-L<<src/cite/fault.rs join_lines \
     last>>) (see `quoted` (src/cite/fault.rs:<<src/cite/fault.rs quoted>>), which is private)) writes them.",
    "`join_lines` – `src/cite/fault.rs` (lines <<src/cite/fault.rs join_lines>>) – writes `12-40, 55`.",
    "Look at **[`join_lines`](src/cite/fault.rs#L<<src/cite/fault.rs join_lines first>>)** and \
     *`quoted`* (*src/cite/fault.rs:<<src/cite/fault.rs quoted>>*).",
    "`join_lines` is at `src/cite/fault.rs#L<<src/cite/fault.rs join_lines first>>C5-L<<src/cite/fault.rs join_lines last>>C2`, \
     `./src/cite/fault.rs:<<src/cite/fault.rs join_lines first>>:5` and `fault.rs:<<src/cite/fault.rs join_lines last>>`.",
    "### `join_lines` (src/cite/fault.rs:<<src/cite/fault.rs join_lines>>)\n\nIt joins ranges.\n\n\
     > `quoted` is next to it: src/cite/fault.rs:<<src/cite/fault.rs quoted>>",
    // Code blocks with numbers, and what programs print.
    "`join_lines` joins ranges (src/cite/fault.rs:<<src/cite/fault.rs join_lines>>):\n\n```rust\n\
     88| pub(super) fn join_lines(lines: &[LineRange]) -> String {\n89|     let one = |range: &LineRange| match range {\n\
     ```\n\nThen `quoted` (src/cite/fault.rs:<<src/cite/fault.rs quoted>>).",
    "It then prints\n\n```\nthread 'main' panicked at src/gone/main.rs:3:5:\n   at \
     /rustc/5980/library/std/src/panicking.rs:689:5\n```\n\nwhich `join_lines` cannot (src/cite/fault.rs:<<src/cite/fault.rs \
     join_lines>>).",
    "Run `cargo test --test it cite` first; `check` and `report` are then in \
     src/cite/judge.rs:<<src/cite/judge.rs verdict>>, more or less.",
    "Bounded by `MAX_BYTES` = 64 MiB (src/cite/read.rs:<<src/cite/read.rs MAX_BYTES first>>), at 12:30, e.g. \
     for v1.2.3, 3:4 of all.",
    "After `just join_lines again`, names are joined (src/cite/fault.rs:<<src/cite/fault.rs quoted>>).",
    // Names in other spellings, and words that are none.
    "`relPath` is the path below the root, `movedTo` the right lines (src/cite.rs:<<src/cite.rs Checked>>).",
    "The `moved-to` member and the field `rel_path` are in src/cite.rs:<<src/cite.rs Checked>>.",
    "A citation is `verified`, `moved`, `changed` or `missing` (src/cite/state.rs:<<src/cite/state.rs State>>).",
    "`Beneath::file(path)?` and `fn read(&self)` read (`src/cite/read.rs`:<<src/cite/read.rs read>>).",
    "`room.acquire_owned().await` waits for one of `MAX_CHECKS` (src/cite.rs:<<src/cite.rs blocking>>, e.g. the \
     first lines).",
    "Every `Content` has its lines\n(src/cite/content.rs:<<src/cite/content.rs Content>>), which\n`lines` \
     counts (src/cite/content.rs:<<src/cite/content.rs lines>>).",
    // Other languages, and other line ends.
    "`join_lines` steht in src/cite/fault.rs:<<src/cite/fault.rs join_lines>> und ruft nichts auf; `quoted` \
     (siehe `src/cite/fault.rs:<<src/cite/fault.rs quoted>>`) fügt Namen zusammen, z.B. für `Display`.",
    "Die Funktion `verdict` (src/cite/judge.rs:<<src/cite/judge.rs verdict>>, vgl. \
     src/cite/read.rs:<<src/cite/read.rs files>>) prüft `Known`.",
    "`join_lines` は src/cite/fault.rs:<<src/cite/fault.rs join_lines>> で定義されています。次に`quoted`\
     （src/cite/fault.rs:<<src/cite/fault.rs quoted>>）が名前をつなぎます。`verdict`は\
     `src/cite/judge.rs:<<src/cite/judge.rs verdict>>`にあります。",
    "`join_lines` joins ranges (src/cite/fault.rs:<<src/cite/fault.rs join_lines>>).\r\n\r\n- `quoted`: \
     src/cite/fault.rs:<<src/cite/fault.rs quoted>>\r\n- src/cite/judge.rs:<<src/cite/judge.rs verdict>>: \
     `verdict`\r\n\r\n```rust\r\n12| let x;\r\n```\r\n",
    // No more than a file, and files that are none of these.
    "`src/cite.rs` is the entry (`cite.rs`), `std::fs` opens, `Cargo.lock` is left out, and `checker.check` \
     (src/cite.rs:<<src/cite.rs check>>), if any, would be `a.b.c(d)`.",
];

fn folder(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns the first and last line of a definition.
fn lines_of(path: &str, name: &str) -> (usize, usize) {
    let text = fs::read_to_string(folder(path)).unwrap();
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

fn filled(answer: &str) -> String {
    let mut text = String::new();
    let mut rest = answer;
    while let Some((before, after)) = rest.split_once("<<") {
        let (place, after) = after.split_once(">>").unwrap();
        let words: Vec<&str> = place.split_whitespace().collect();
        let (first, last) = lines_of(words[0], words[1]);
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

async fn product() -> (Bench, Repo) {
    let bench = Bench::new().await;
    let repo = bench.repo("product", &[]);
    for path in ["src/cite.rs", "src/beneath.rs"] {
        repo.write(path, &fs::read_to_string(folder(path)).unwrap());
    }
    for entry in fs::read_dir(folder("src/cite")).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            continue;
        }
        repo.write(&format!("src/cite/{name}"), &fs::read_to_string(entry.path()).unwrap());
    }
    bench.ingest(&repo).await;
    (bench, repo)
}

#[tokio::test(flavor = "multi_thread")]
async fn right_answers_have_no_fault_however_they_are_written() {
    let (bench, _repo) = product().await;
    let checker = CitationChecker::new(Arc::clone(&bench.store), PathMap::default());
    let mut wrong = Vec::new();
    for answer in ANSWERS {
        let text = filled(answer);
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
    let (bench, _repo) = product().await;
    let checker = CitationChecker::new(Arc::clone(&bench.store), PathMap::default());
    let text = filled(&ANSWERS[..24].join("\n\n"));
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
    let (bench, _repo) = product().await;
    let checker = CitationChecker::new(Arc::clone(&bench.store), PathMap::default());
    let verdict = "src/cite/judge.rs:<<src/cite/judge.rs verdict>>";
    for (wrong, name) in [
        // The names of each are its own.
        (format!("`verdict` in {verdict} calls `plain` in `src/cite/parse.rs:1-3`."), "plain"),
        (
            format!("`plain` in `src/cite/parse.rs:1-3` is called by `verdict` in {verdict}."),
            "plain",
        ),
        (
            format!("The callers are {verdict} (`verdict`) and src/cite/parse.rs:1-3 (`plain`)."),
            "plain",
        ),
        (format!("- {verdict}: `verdict`, as src/cite/parse.rs:1-3 has `plain`."), "plain"),
        (
            format!(
                "`verdict` ({verdict}) asks first, then `plain` decides (src/cite/parse.rs:1-3)."
            ),
            "plain",
        ),
        (
            format!("Once `nothing` is left, src/cite/parse.rs:1-3 gives `plain` up ({verdict})."),
            "plain",
        ),
        ("`verdict`は`src/cite/judge.rs:1-3`にあります。".to_owned(), "verdict"),
        ("`verdict` steht in src/cite/judge.rs:1-3 und urteilt.".to_owned(), "verdict"),
        (
            "| x | y |\r\n|---|---|\r\n| `verdict` | src/cite/judge.rs:1-3 |\r\n".to_owned(),
            "verdict",
        ),
    ] {
        let text = filled(&wrong);
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
