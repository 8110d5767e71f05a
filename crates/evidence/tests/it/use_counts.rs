//! The counts of uses are those of a whole scan: of real source, by the rules of `rg -w -F --count-matches`.

use std::{collections::BTreeMap, fs, path::Path};

use codeinfo_core::{PathMap, Root, RootFilter};
use codeinfo_evidence::{
    Evidence, EvidenceError, MAX_SHOWN, NamePattern, NameUses, OccurrenceKind, Outline,
    RequestedLines,
};
use codeinfo_test_support::{
    ingest::{TestIndex, TestRepository, build_request},
    sources::{copy_folder, fetch_crate_source},
};
use regex::Regex;

fn build_evidence(index: &TestIndex) -> Evidence {
    Evidence::new(index.store.clone(), PathMap::default())
}

/// The text of each indexed file as it is on disk.
async fn read_texts(index: &TestIndex, folder: &Path) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for path in index.list_indexed_files().await {
        if let Ok(text) = fs::read_to_string(folder.join(&path)) {
            texts.insert(path, text);
        }
    }
    texts
}

/// The pattern that ripgrep uses for `-w -F`.
fn word_pattern(name: &str) -> Regex {
    Regex::new(&format!(r"\b{{start-half}}(?:{})\b{{end-half}}", regex::escape(name))).unwrap()
}

/// Counts a word in all files, and the files that have it.
fn scan_word(name: &str, texts: &BTreeMap<String, String>) -> (usize, usize) {
    let word = word_pattern(name);
    let counts = texts.values().map(|text| word.find_iter(text).count());
    counts.filter(|count| *count > 0).fold((0, 0), |(all, files), count| (all + count, files + 1))
}

/// Names of a text, from all over it and of all kinds.
fn pick_names(texts: &BTreeMap<String, String>, most: usize) -> Vec<String> {
    let kinds =
        [r"\w+", r"\w+(?:::|\.|->)\w+", r"[$@]\w+", r"\w+-\w+", r"_\w*", r"\w+\(", r"[^\w\s]{2}"];
    let mut names = Vec::new();
    for kind in kinds {
        let kind = Regex::new(kind).unwrap();
        let mut found: Vec<&str> = texts
            .values()
            .flat_map(|text| kind.find_iter(text).map(|found| found.as_str()))
            .collect();
        found.sort_unstable();
        found.dedup();
        let step = (found.len() / most).max(1);
        names.extend(found.into_iter().step_by(step).take(most).map(str::to_owned));
    }
    names
}

fn count_uses(uses: &NameUses) -> usize {
    uses.groups.iter().map(|group| group.count).sum()
}

async fn compare_counts(index: &TestIndex, folder: &Path, most: usize) -> usize {
    let (texts, evidence) = (read_texts(index, folder).await, build_evidence(index));
    let names = pick_names(&texts, most);
    for name in &names {
        let uses = evidence.find_uses(name, RootFilter::Everything).await.unwrap();
        assert_eq!((uses.count, uses.files), scan_word(&uses.name, &texts), "{name:?}");
        // A qualified name that occurs nowhere as written, or whose definition is known by its type, is
        // counted by its last part.
        let is_known = !uses.definitions.is_empty() && name.ends_with(&uses.name);
        assert!(uses.name == *name || is_known || scan_word(name, &texts).0 == 0, "{name:?}");
        assert_eq!((count_uses(&uses), uses.unread), (uses.count, 0), "{name:?}");
        let shown = uses.groups.iter().flat_map(|group| &group.files);
        let lines: usize = shown.map(|file| file.lines.len()).sum();
        assert_eq!(lines > 0, uses.count > 0, "{name:?}");
        assert!(lines <= MAX_SHOWN, "{name:?}: {lines}");
    }
    names.len()
}

#[tokio::test]
async fn counts_at_scale_are_those_of_a_whole_scan_of_real_crates() {
    let index = TestIndex::new().await;
    let source = fetch_crate_source("ignore").await;
    index.run_ingest(build_request(&source)).await;
    let compared = compare_counts(&index, &source.canonicalize().unwrap(), 40).await;
    assert!(compared > 200, "{compared}");
}

#[tokio::test]
async fn counts_are_those_of_a_whole_scan_of_every_language() {
    let index = TestIndex::new().await;
    let repository = index.create_repository("languages", &[]);
    copy_folder(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../chunk/tests/fixtures"),
        &repository.join("src"),
    );
    repository.write("cut.txt", &format!("{} needle needles\n", "word needle, ".repeat(900)));
    repository.write(
        "words.md",
        "größe Größe größe² naïve 日本語 日本 語 a_ a_ _ __ café e\u{301}t\u{e9}\n",
    );
    index.ingest(&repository).await;
    let compared = compare_counts(&index, &repository.0, 20).await;
    assert!(compared > 100, "{compared}");
    let texts = read_texts(&index, &repository.0).await;
    for name in
        ["needle", "größe", "日本語", "a_", "_", "__", "naïve", "na", "e\u{301}t\u{e9}", "€"]
    {
        let uses = build_evidence(&index).find_uses(name, RootFilter::Everything).await.unwrap();
        assert_eq!((uses.count, uses.files), scan_word(name, &texts), "{name:?}");
    }
    // Where no spaces separate words, a name may be a part of a longer one.
    let uses = build_evidence(&index).find_uses("日本", RootFilter::Everything).await.unwrap();
    assert_eq!((uses.count, uses.files), (2, 1));
}

#[tokio::test]
async fn matches_at_scale_are_those_of_a_whole_scan_of_real_crates() {
    let index = TestIndex::new().await;
    let source = fetch_crate_source("ignore").await;
    index.run_ingest(build_request(&source)).await;
    let (texts, evidence) =
        (read_texts(&index, &source.canonicalize().unwrap()).await, build_evidence(&index));
    let star = |name: &str| NamePattern::from_name(name).unwrap().unwrap();
    let regex = |pattern: &str| NamePattern::parse_regex(pattern).unwrap();
    for (pattern, scanned) in [
        (star("is_*"), r"\b{start-half}is_\w*"),
        (star("*Builder"), r"\w*Builder\b{end-half}"),
        (star("*ignore*"), r"\w*ignore\w*"),
        (regex(r"fn \w+_\w+\("), r"fn \w+_\w+\("),
        (regex("^use .*;$"), "(?m)^use .*;$"),
        (regex(r"(?i)\bpath\w?\b"), r"(?i)\bpath\w?\b"),
    ] {
        let scan = Regex::new(scanned).unwrap();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for found in texts.values().flat_map(|text| scan.find_iter(text)) {
            *counts.entry(found.as_str()).or_default() += 1;
        }
        let matches = evidence.find_matches(pattern, RootFilter::Everything).await.unwrap();
        assert_eq!((matches.unread, matches.uncounted, matches.is_cut), (0, 0, false));
        assert_eq!(matches.count, counts.values().sum::<usize>(), "{scanned}");
        assert_eq!(matches.distinct, counts.len(), "{scanned}");
        assert!(matches.count > 10, "{scanned}: {}", matches.count);
        for name in &matches.names {
            assert_eq!(counts.get(name.name.as_str()), Some(&name.count), "{scanned}");
        }
    }
}

#[tokio::test]
async fn a_pattern_that_matches_everywhere_is_bounded() {
    let index = TestIndex::new().await;
    let repository = index.create_repository("demo", &[]);
    let numbers: Vec<String> = (0..30_000).map(|number| format!("n{number}\n")).collect();
    let numbers = numbers.concat();
    repository.write("numbers.txt", &numbers);
    repository.write("line.txt", &"word. ".repeat(400_000));
    index.ingest(&repository).await;
    let everything = NamePattern::parse_regex(r"\w+").unwrap();
    let matches =
        build_evidence(&index).find_matches(everything, RootFilter::Everything).await.unwrap();
    assert_eq!((matches.distinct, matches.names.len()), (20_000, 500));
    assert!(matches.uncounted >= 10_000, "{}", matches.uncounted);
}

/// More chunks have the name than one read returns.
#[tokio::test]
async fn a_name_at_scale_is_counted_whole() {
    let index = TestIndex::new().await;
    let repository = create_many_files(&index);
    index.ingest(&repository).await;
    let uses = build_evidence(&index).find_uses("okapi", RootFilter::Everything).await.unwrap();
    assert_eq!((uses.count, uses.files, uses.unread), (11_001, 111, 0));
    assert_eq!(uses.groups.len(), 1);
    let rare =
        build_evidence(&index).find_uses("okapi.zebra_7", RootFilter::Everything).await.unwrap();
    assert_eq!((rare.count, rare.groups[0].group), (110, OccurrenceKind::Documents));
}

fn create_many_files(index: &TestIndex) -> TestRepository {
    let repository = index.create_repository("many", &[]);
    // Lines of text make chunks of sixty.
    let chunk = |n: usize| format!("okapi.zebra_{n}\n{}", "a\n".repeat(59));
    let text: String = (0..100).map(chunk).collect();
    for file in 0..110 {
        repository.write(&format!("notes/a{file}.txt"), &text);
    }
    // The chunk that a search would find last.
    let words: Vec<String> = (0..150).map(|n| format!("word{n}")).collect();
    repository.write("notes/last.txt", &format!("okapi {}\n", words.join(" ")));
    repository
}

#[tokio::test]
async fn files_with_more_uses_of_a_name_come_first() {
    let index = TestIndex::new().await;
    let text = "fn okapi() {}\n";
    let files = ["deps/a/a.rs", "examples/b.rs", "src/c.rs", "tests/d.rs"];
    index.ingest(&index.create_repository("demo", &files.map(|path| (path, text)))).await;
    let uses = build_evidence(&index).find_uses("okapi", RootFilter::Everything).await.unwrap();
    let shown =
        uses.groups[0].files.iter().map(|file| file.file.path.split("/demo/").last().unwrap());
    let order = ["src/c.rs", "examples/b.rs", "tests/d.rs", "deps/a/a.rs"];
    assert_eq!(shown.collect::<Vec<_>>(), order);
}

#[tokio::test]
async fn two_versions_of_a_file_are_counted_once() {
    let index = TestIndex::new().await;
    let repository = index.create_repository(
        "demo",
        &[("a.rs", "fn okapi() {}\n"), ("b.rs", "fn b() { okapi() }\n")],
    );
    index.ingest(&repository).await;
    repository.write("a.rs", "fn okapi() { okapi() }\n");
    index.ingest(&repository).await;
    let uses = build_evidence(&index).find_uses("okapi", RootFilter::Everything).await.unwrap();
    assert_eq!((uses.count, uses.files), (3, 2));
    fs::remove_file(repository.join("b.rs")).unwrap();
    index.ingest(&repository).await;
    let uses = build_evidence(&index).find_uses("okapi", RootFilter::Everything).await.unwrap();
    assert_eq!((uses.count, uses.files), (2, 1));
}

#[tokio::test]
async fn known_secrets_are_not_shown() {
    let index = TestIndex::new().await;
    let repository = index.create_repository(
        "demo",
        &[("a.rs", "fn okapi() {}\n"), ("b.rs", "fn b() { okapi() }\n")],
    );
    index.ingest(&repository).await;
    let root = Root { private_files: Some(vec!["b.rs".to_owned()]), ..index.load_root().await };
    index.store.put_root(root).await.unwrap();
    let evidence = build_evidence(&index);
    assert_eq!(evidence.find_uses("okapi", RootFilter::Everything).await.unwrap().count, 1);
    assert_eq!(
        evidence.find_uses("{", RootFilter::Everything).await.unwrap().count,
        1,
        "of all files"
    );
    let Outline::Folder(folder) =
        evidence.load_outline("demo", RootFilter::Everything).await.unwrap()
    else {
        panic!()
    };
    assert_eq!((folder.files, folder.members.len()), (1, 1));
    for path in ["b.rs", "demo/b.rs", repository.join("b.rs").to_str().unwrap()] {
        let read =
            evidence.read_lines(path, RequestedLines::default(), RootFilter::Everything).await;
        assert!(matches!(read, Err(EvidenceError::NotFound { .. })), "{path}: {read:?}");
        let outlined = evidence.load_outline(path, RootFilter::Everything).await;
        assert!(matches!(outlined, Err(EvidenceError::NotFound { .. })), "{path}: {outlined:?}");
    }
}

#[tokio::test]
async fn an_incomplete_file_is_reported_as_missing_from_the_counts() {
    let index = TestIndex::new().await;
    let repository = index.create_repository(
        "demo",
        &[("a.rs", "fn okapi() {}\n"), ("b.rs", "fn b() { okapi() }\n")],
    );
    index.ingest(&repository).await;
    let root = index.load_root().await.id;
    let known = index.store.files_at(root, vec!["b.rs".to_owned()]).await.unwrap();
    let chunks = known[0].chunk_ids(root, 0..1).collect();
    index.store.remove_chunks(chunks).await.unwrap();
    let uses = build_evidence(&index).find_uses("{", RootFilter::Everything).await.unwrap();
    assert_eq!((uses.count, uses.files, uses.unread), (1, 1, 1));
    for path in ["b.rs", "a.rs"] {
        let outlined = build_evidence(&index).load_outline(path, RootFilter::Everything).await;
        let is_busy = matches!(outlined, Err(EvidenceError::InProgress(_)));
        assert_eq!(is_busy, path == "b.rs", "{outlined:?}");
    }
}
