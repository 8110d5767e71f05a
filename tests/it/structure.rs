//! `projectStructure.md` repeats what each file says of itself: the first sentence of its `//!` lines.
//!
//! `UPDATE=1 cargo test --test it structure` writes it. What stands above the mark is written by hand.

use std::{
    env,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

const FILE: &str = "projectStructure.md";
/// Ends what is written by hand.
const MARK: &str =
    "<!-- Generated from here on: `UPDATE=1 cargo test --test it structure` writes it. -->\n";
/// Folders whose sources are listed. One that does not exist has none.
const FOLDERS: [&str; 7] =
    ["src", "crates", "tests/house", "tests/it", "benches", "fuzz/fuzz_targets", "fuzz/src"];

#[test]
fn the_structure_is_what_the_files_say_of_themselves() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let written = fs::read_to_string(root.join(FILE)).unwrap();
    let (by_hand, _) = written.split_once(MARK).expect("the mark is there");
    let whole = format!("{by_hand}{MARK}{}", generated(root));
    if env::var_os("UPDATE").is_some() {
        fs::write(root.join(FILE), &whole).unwrap();
        return;
    }
    let first = whole.lines().zip(written.lines()).find(|(generated, there)| generated != there);
    assert!(
        written == whole,
        "{FILE} is not up to date, first at {first:?}; run `UPDATE=1 cargo test --test it structure`"
    );
}

/// Lists every source file by folder, with its first sentence.
fn generated(root: &Path) -> String {
    let (mut text, mut current) = (String::new(), String::new());
    for folder in FOLDERS {
        let mut files = Vec::new();
        walk(&root.join(folder), &mut files);
        let named = files.iter().map(|path| path.strip_prefix(root).unwrap().to_str().unwrap());
        let mut paths: Vec<&str> = named.collect();
        // A module stands before its parts, and what stands alone in a folder before the folders in it.
        paths.sort_by_key(|path| (section(root, path), parts(path)));
        for path in paths {
            let section = section(root, path);
            if section != current {
                let _ = write!(text, "\n## `{section}`\n\n| File | What |\n|---|---|\n");
                current = section;
            }
            let source = fs::read_to_string(root.join(path)).unwrap();
            let sentence = first_sentence(&source).replace('|', "\\|");
            assert!(!sentence.is_empty(), "{path} does not say what it is for");
            let _ = writeln!(text, "| `{path}` | {sentence} |");
        }
    }
    text
}

/// `src/store.rs` and `src/store/hnsw.rs` → `src/store`; `src/tls.rs`, which has no folder → `src`.
fn section(root: &Path, path: &str) -> String {
    let parts = parts(path);
    let [top, module, ..] = &parts[..] else { return path.to_owned() };
    let inner = format!("{top}/{module}");
    if root.join(&inner).is_dir() { inner } else { (*top).to_owned() }
}

fn parts(path: &str) -> Vec<&str> {
    path.trim_end_matches(".rs").split('/').collect()
}

fn first_sentence(source: &str) -> String {
    let head = source.lines().map_while(|line| line.strip_prefix("//!"));
    let paragraph: Vec<&str> = head.map(str::trim).take_while(|line| !line.is_empty()).collect();
    let paragraph = paragraph.join(" ");
    let end = paragraph.match_indices(". ").map(|(at, _)| at).find(|at| {
        let next = paragraph.get(at + 2..).and_then(|rest| rest.chars().next());
        next.is_some_and(char::is_uppercase)
    });
    let sentence = paragraph.get(..end.unwrap_or(paragraph.len())).unwrap();
    sentence.trim_end_matches('.').to_owned()
}

/// Collects the sources below a folder, except for links to others.
fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.map(Result::unwrap) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            walk(&path, found);
        } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn a_sentence_ends_where_the_next_one_begins() {
    let first = |source: &str| first_sentence(source);
    assert_eq!(first("//! Reads `a.b`. Pure.\n\nuse x;"), "Reads `a.b`");
    assert_eq!(
        first("//! Two lines, one\n//! sentence: `12. x`.\n//!\n//! More."),
        "Two lines, one sentence: `12. x`"
    );
    assert_eq!(first("use x;"), "");
}
