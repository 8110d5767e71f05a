//! `projectStructure.md` leads from a question to a file and a symbol: all of them exist, and every crate is there with
//! what it depends on.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

const FILE: &str = "projectStructure.md";
const MAX_LINES: usize = 150;
const MIN_ANSWERS: usize = 60;

#[test]
fn each_answer_names_a_file_and_a_symbol_in_it() {
    let (mut faults, mut answers) = (Vec::new(), 0);
    for row in list_rows("## Where is …?") {
        let [question, file, symbol] = &row[..] else { panic!("{row:?}") };
        answers += 1;
        let path = repository_root().join(file.trim_matches('`'));
        let Ok(text) = fs::read_to_string(&path) else {
            faults.push(format!("{question} {file} does not exist"));
            continue;
        };
        let symbol = symbol.trim_matches('`');
        if !has_symbol(&text, symbol) {
            faults.push(format!("{question} {file} has no `{symbol}`"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(answers >= MIN_ANSWERS, "{answers} answers");
}

/// Returns whether a file defines a symbol, or has a heading or key of that name where it is no Rust source.
fn has_symbol(text: &str, symbol: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(symbol).any(|(at, _)| {
        let (before, from) = text.split_at(at);
        let after = from.split_at(symbol.len()).1;
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

#[test]
fn each_crate_is_listed_with_what_it_depends_on() {
    let listed: Vec<(String, String)> = list_rows("## Crates")
        .map(|row| (row[0].trim_matches('`').to_owned(), row[2].replace('`', "")))
        .collect();
    let mut folders: BTreeSet<String> = fs::read_dir(repository_root().join("crates"))
        .unwrap()
        .map(|entry| format!("crates/{}", entry.unwrap().file_name().to_str().unwrap()))
        .collect();
    folders.insert("src".to_owned());
    for folder in &folders {
        let row = listed.iter().find(|(name, _)| name == folder);
        let (_, depends_on) = row.unwrap_or_else(|| panic!("{FILE} does not list `{folder}`"));
        let manifest = if folder == "src" { PathBuf::new() } else { PathBuf::from(folder) };
        let manifest = repository_root().join(manifest).join("Cargo.toml");
        assert_eq!(*depends_on, list_dependencies(&manifest), "what `{folder}` depends on");
    }
    assert_eq!(listed.len(), folders.len(), "{listed:?}");
}

/// Lists the crates of this workspace that a manifest names outside of its tests.
fn list_dependencies(manifest: &Path) -> String {
    let manifest: toml::Table = fs::read_to_string(manifest).unwrap().parse().unwrap();
    let dependencies = manifest["dependencies"].as_table().unwrap();
    let own = dependencies.keys().filter_map(|name| name.strip_prefix("codeinfo-"));
    own.collect::<Vec<_>>().join(", ")
}

#[test]
fn the_structure_is_read_in_a_few_minutes() {
    let lines = read_structure().lines().count();
    assert!(lines <= MAX_LINES, "{FILE} has {lines} lines");
}

/// Returns the cells of each row of the tables below a heading.
fn list_rows(heading: &str) -> impl Iterator<Item = Vec<String>> {
    let text = read_structure();
    let (_, below) = text.split_once(&format!("{heading}\n")).expect(heading);
    let section = below.split("\n## ").next().unwrap().to_owned();
    let rows: Vec<Vec<String>> = section
        .lines()
        .filter(|line| line.starts_with("| "))
        // The head of the table.
        .skip(1)
        .map(|line| {
            line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()
        })
        .collect();
    assert!(!rows.is_empty(), "{heading} has no table");
    rows.into_iter()
}

fn read_structure() -> String {
    fs::read_to_string(repository_root().join(FILE)).unwrap()
}

fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
