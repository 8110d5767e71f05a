//! House rules: layers and homes of crates, what documents promise, and budgets of the code, which may only fall.
//!
//! `cargo test --test house` compares `src` and `crates` with `budgets.toml`; with `UPDATE=1` it lowers
//! budgets that the figures are well below. It raises none.
#![cfg(test)]

mod budgets;
mod capacity;
mod documents;
mod import_cycles;
mod names;
mod phrases;
mod project_structure;
mod source_rules;
mod tokens;

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
};

use budgets::{HouseFigure, find_faults, lower_budgets};
use names::NameCounts;
use phrases::PhraseCounts;
use tokens::SourceFile;

/// Folders whose sources are measured.
const MEASURED_FOLDERS: [&str; 4] = ["src", "crates", "tests/e2e", "tests/support"];

#[test]
fn figures_stay_within_their_budgets() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("budgets.toml");
    let budgets = fs::read_to_string(&path).unwrap();
    let figures = measure_workspace();
    let lowered = lower_budgets(&figures, &budgets);
    let is_update = env::var_os("UPDATE").is_some();
    if is_update && lowered != budgets {
        fs::write(&path, &lowered).unwrap();
    }
    let faults = find_faults(&figures, if is_update { &lowered } else { &budgets });
    assert!(faults.is_empty(), "tests/house/budgets.toml:\n{}", faults.join("\n"));
}

/// Maximum lines of code in one crate.
const MAX_CRATE_LINES: f64 = 8_000.0;

#[test]
fn no_crate_is_too_large() {
    let large = measure_workspace().into_iter().filter(|figure| {
        figure.section == "lines" && figure.name != "total" && figure.value > MAX_CRATE_LINES
    });
    let large: Vec<String> = large.map(|figure| figure.name).collect();
    assert!(large.is_empty(), "{large:?} have more than {MAX_CRATE_LINES} lines; split them");
}

/// Measures all sources of the product, and the names and phrases of folders called `tests`.
fn measure_workspace() -> Vec<HouseFigure> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut crates: BTreeMap<String, usize> = BTreeMap::new();
    let (mut names, mut phrases) = (NameCounts::default(), PhraseCounts::default());
    let (mut test_names, mut test_phrases) = (NameCounts::default(), PhraseCounts::default());
    for path in MEASURED_FOLDERS.iter().flat_map(|folder| list_sources(&root.join(folder))) {
        let relative = path.strip_prefix(&root).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let file = SourceFile::parse(&text);
        if is_test_file(relative) {
            if relative.iter().any(|part| part == "tests") {
                test_names.add_file(&file);
                test_phrases.add_file(&file);
            }
            continue;
        }
        *crates.entry(find_crate(relative)).or_default() += file.count_code_lines();
        names.add_file(&file);
        phrases.add_file(&file);
    }
    let total = crates.values().sum();
    let mut figures = vec![HouseFigure::count_lines("total".to_owned(), total)];
    figures.extend(crates.into_iter().map(|(name, count)| HouseFigure::count_lines(name, count)));
    figures.extend(derive_figures(total, &names, &phrases));
    figures.extend(derive_test_figures(&test_names, &test_phrases));
    figures
}

fn derive_test_figures(names: &NameCounts, phrases: &PhraseCounts) -> [HouseFigure; 4] {
    let (one_word_types, lines) = (names.count_one_word_types(), phrases.comment_lines);
    [
        HouseFigure::count_names("types of tests with a name of one word", one_word_types),
        HouseFigure::count_names(
            "functions of tests named by a bare participle",
            names.bare_participles,
        ),
        HouseFigure::count_names(
            "parameters of tests that are tuple patterns",
            names.tuple_parameters,
        ),
        HouseFigure::share(
            "house phrases per 100 lines of comments of tests",
            phrases.house_phrases,
            lines,
            100.0,
        ),
    ]
}

fn derive_figures(lines: usize, names: &NameCounts, phrases: &PhraseCounts) -> [HouseFigure; 8] {
    let (functions, types) = (names.functions, names.count_types());
    let percent = |name, count, of| HouseFigure::share(name, count, of, 100.0);
    let (questions, docs) = (phrases.question_docs, phrases.doc_comments);
    [
        percent("functions with a name of one word, percent", names.one_word_functions, functions),
        percent("types with a name of one word, percent", names.count_one_word_types(), types),
        percent(
            "types whose name three or more types have, percent",
            names.count_repeated_types(),
            types,
        ),
        percent("functions named by a bare participle, percent", names.bare_participles, functions),
        percent("doc comments that begin with What, Whether, How, Of, percent", questions, docs),
        percent(
            "house phrases per 100 lines of comments",
            phrases.house_phrases,
            phrases.comment_lines,
        ),
        HouseFigure::count_names("parameters that are tuple patterns", names.tuple_parameters),
        HouseFigure::share(
            "variables that shadow themselves, per 1000 lines",
            names.self_shadowing_lets,
            lines,
            1000.0,
        ),
    ]
}

/// Lists the Rust sources below a folder, sorted; fixtures of languages are no sources.
fn list_sources(folder: &Path) -> Vec<PathBuf> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() && entry.file_name() != "fixtures" && entry.file_name() != "target" {
            sources.extend(list_sources(&path));
        } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "rs") {
            sources.push(path);
        }
    }
    sources.sort();
    sources
}

/// Returns whether a file has nothing but tests or benches, by its name or a folder's.
fn is_test_file(path: &Path) -> bool {
    path.iter().filter_map(|part| part.to_str()).any(|part| {
        let stem = part.trim_end_matches(".rs");
        ["tests", "test", "benches"].contains(&stem) || stem.ends_with("_tests")
    })
}

/// Returns the crate that a file belongs to: `src` is the program.
fn find_crate(path: &Path) -> String {
    let depth = if path.starts_with("crates") { 2 } else { 1 };
    path.iter().take(depth).map(|part| part.to_str().unwrap()).collect::<Vec<_>>().join("/")
}

#[test]
fn files_belong_to_crates_and_tests_to_none() {
    let owner = |path: &str| find_crate(Path::new(path));
    assert_eq!(owner("src/run/elect.rs"), "src");
    assert_eq!(owner("crates/lang/src/lib.rs"), "crates/lang");
    let is_test = |path: &str| is_test_file(Path::new(path));
    assert!(is_test("src/api/tests.rs") && is_test("crates/chunk/tests/cut.rs"));
    assert!(!is_test("src/store/embedded/latest.rs") && !is_test("src/atest.rs"));
}
