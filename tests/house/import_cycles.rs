//! No files import one another in a circle. A module may name what the modules above it hold: they are
//! its surroundings, not another part.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use crate::source_rules::{expand_use_tree, read_sources};

/// Files by their module path, such as `["store", "qdrant"]`.
type ModuleFiles = BTreeMap<Vec<String>, (PathBuf, String)>;
/// Files from which each file imports names.
type FileEdges = BTreeMap<PathBuf, BTreeSet<PathBuf>>;

#[test]
fn no_files_import_each_other_in_a_circle() {
    let files: ModuleFiles = read_sources()
        .map(|(path, text)| (name_module(&path), (path, strip_tests(&text).to_owned())))
        .collect();
    let circles = find_circles(list_edges(&files));
    assert!(circles.is_empty(), "move what they share to a file below them: {circles:#?}");
}

/// Returns a file without its tests.
fn strip_tests(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default()
}

/// Returns the path of a module below the name of its crate: `src/store/qdrant.rs` is
/// `["src", "store", "qdrant"]`, and `crates/lang/src/lib.rs` is `["lang"]`.
fn name_module(path: &Path) -> Vec<String> {
    let path = path.with_extension("");
    let parts = path.iter().map(|part| part.to_str().unwrap().to_owned());
    let mut parts: Vec<String> = parts.filter(|part| part != "lib" && part != "crates").collect();
    if parts.len() > 1 && parts[1] == "src" {
        parts.remove(1);
    }
    parts
}

fn list_edges(files: &ModuleFiles) -> FileEdges {
    let mut edges = FileEdges::new();
    for (of, (path, text)) in files {
        let (uses, rest) = split_statements(text);
        let mut named: Vec<Vec<String>> = Vec::new();
        for (is_public, tree) in uses {
            // A name that is only re-exported is not used.
            if !is_public {
                named.extend(expand_use_tree(&tree).iter().map(|path| split_path(path)));
            }
        }
        // A module may also name those below it without a `use`.
        let children =
            files.keys().filter(|child| child.split_last().is_some_and(|(_, up)| up == of));
        for child in children {
            let name = child.last().unwrap();
            let is_part = |c: char| c.is_alphanumeric() || "_:.".contains(c);
            let prefix = format!("{name}::");
            let mut calls = rest.match_indices(&prefix);
            let calls = calls.any(|(at, _)| !rest.split_at(at).0.ends_with(is_part));
            if calls {
                named.push(vec!["self".to_owned(), name.clone()]);
            }
        }
        let targets = named.iter().filter_map(|name| find_target(files, of, name, 0));
        let targets = targets.filter(|target| !of.starts_with(&name_module(target)));
        edges.entry(path.clone()).or_default().extend(targets);
    }
    edges
}

/// Splits a source text into its `use` statements, each with whether it is public, and all else.
fn split_statements(text: &str) -> (Vec<(bool, String)>, String) {
    let (mut uses, mut rest) = (Vec::new(), String::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let code = line.trim_start();
        let (visibility, declared) = code.split_once("use ").unwrap_or(("-", ""));
        let is_use = matches!(visibility.trim(), "" | "pub" | "pub(super)" | "pub(crate)");
        if code.starts_with("//") {
            continue;
        }
        if !is_use {
            rest.push_str(line);
            rest.push('\n');
            continue;
        }
        let mut tree = declared.to_owned();
        while !tree.ends_with(';') {
            let Some(next) = lines.next() else { break };
            tree.push_str(next.trim());
        }
        uses.push((!visibility.is_empty(), tree.trim_end_matches(';').to_owned()));
    }
    (uses, rest)
}

fn split_path(path: &str) -> Vec<String> {
    path.split("::").map(str::to_owned).collect()
}

/// Returns the file that a name, as `of` writes it, is defined in, if it is a file of this workspace.
fn find_target(
    files: &ModuleFiles,
    of: &[String],
    name: &[String],
    depth: usize,
) -> Option<PathBuf> {
    let mut at = of.to_vec();
    let mut rest = name;
    let is_ours = match name.first()?.as_str() {
        "crate" => {
            at.truncate(1);
            true
        }
        "self" | "super" => true,
        child => {
            rest = name;
            let mut below = of.to_vec();
            below.push(child.to_owned());
            if !files.contains_key(&below) {
                return None;
            }
            false
        }
    };
    if is_ours && matches!(name[0].as_str(), "crate" | "self") {
        rest = &name[1..];
    }
    for (place, part) in rest.iter().enumerate() {
        if part == "super" {
            at.pop();
            continue;
        }
        at.push(part.clone());
        if files.contains_key(&at) {
            continue;
        }
        at.pop();
        let (_, text) = files.get(&at)?;
        // A re-exported name is defined elsewhere.
        let passed_on =
            split_statements(text).0.into_iter().flat_map(|(_, tree)| expand_use_tree(&tree));
        let source = passed_on.map(|path| split_path(&path)).find(|path| path.last() == Some(part));
        return match source.filter(|_| depth < 4) {
            Some(mut source) => {
                source.extend(rest[place + 1..].iter().cloned());
                find_target(files, &at, &source, depth + 1).or_else(|| Some(files[&at].0.clone()))
            }
            None => Some(files[&at].0.clone()),
        };
    }
    files.get(&at).map(|(path, _)| path.clone())
}

/// Returns the files that are in a circle, each with what it takes from others of the same one.
fn find_circles(mut edges: FileEdges) -> FileEdges {
    let all = edges.clone();
    edges.retain(|file, targets| {
        targets.retain(|target| is_reachable(&all, target, file));
        !targets.is_empty()
    });
    edges
}

fn is_reachable(edges: &FileEdges, from: &Path, to: &Path) -> bool {
    let mut seen = BTreeSet::from([from]);
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        if at == to {
            return true;
        }
        let targets = edges.get(at).into_iter().flatten().map(PathBuf::as_path);
        open.extend(targets.filter(|target| seen.insert(target)));
    }
    false
}

#[test]
fn a_circle_is_found_without_the_files_that_only_lead_to_it() {
    let file = |name: &str, text: &str| {
        let path = PathBuf::from(format!("src/{name}.rs"));
        (name_module(&path), (path, text.to_owned()))
    };
    let files: ModuleFiles = [
        file("lib", "mod a;\nmod b;\n"),
        file("a", "mod low;\nmod side;\npub struct Held;\nfn f() { low::g() }\n"),
        file("a/low", "use super::{Held, super::c};\n"),
        file("a/side", "use super::super::{d, c};\n"),
        file("b", "mod own;\npub use own::Passed;\nfn h() {}\n"),
        file("b/own", "use crate::{\n    c::{self, Thing},\n    b::h,\n};\n"),
        file("c", "use super::a::low::Low;\n"),
        file("d", "use crate::b::Passed;\n"),
    ]
    .into();
    let found: Vec<String> =
        find_circles(list_edges(&files)).keys().map(|path| path.display().to_string()).collect();
    assert_eq!(found, ["src/a/low.rs", "src/c.rs"]);
}
