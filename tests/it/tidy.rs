//! House rules that the compiler cannot check.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Layers, lowest first. A module may import only from layers below its own.
const LAYERS: &[&[&str]] = &[
    &["error", "domain", "task", "tls"],
    &["config"],
    &["telemetry"],
    &["net", "rpc", "store", "embed", "codex"],
    &["ingest", "search", "chat"],
    &["wire"],
    &["api", "mcp", "cli"],
    &["app"],
    &["run"],
    &["lib", "main"],
];
/// Outside crates that only some modules may name.
const FENCES: &[(&str, &[&str])] = &[
    ("envy::", &["config"]),
    ("hyper::", &["net", "wire", "api", "mcp"]),
    ("jsonschema::", &["rpc"]),
    ("prometheus_client::", &["telemetry", "api"]),
    ("notify::", &["ingest"]),
    ("qdrant_client::", &["store"]),
    ("qdrant_edge::", &["store"]),
    ("reqwest::", &["embed", "cli"]),
    ("sysinfo::", &["store"]),
    ("rustls::", &["tls"]),
    ("tokio::process", &["codex"]),
    ("tonic::", &["store"]),
];
const MAX_LINES: usize = 500;

#[test]
fn every_file_opens_with_its_purpose_and_stays_short() {
    let mut faults = Vec::new();
    for (path, text) in sources() {
        if !text.starts_with("//!") {
            faults.push(format!("{}: no `//!` purpose line", path.display()));
        }
        let lines = text.lines().count();
        if MAX_LINES < lines {
            faults.push(format!("{}: {lines} lines", path.display()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn imports_point_down() {
    let mut faults = Vec::new();
    for (path, text) in sources() {
        let module = module_of(&path);
        for imported in imports(&text) {
            if imported != module && layer(&module) <= layer(imported) {
                faults.push(format!("{}: {module} imports {imported}", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn outside_crates_stay_behind_their_fence() {
    let mut faults = Vec::new();
    for (path, text) in sources() {
        let module = module_of(&path);
        for (name, homes) in FENCES {
            if text.contains(name) && !homes.contains(&module.as_str()) {
                faults.push(format!("{}: `{name}` belongs in {homes:?}", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// `fuzz/` links to parts of `src/`, and nothing else of the checks builds it.
#[test]
fn what_is_fuzzed_imports_only_what_is_linked_too() {
    let folder = root().join("fuzz/src");
    let lib = fs::read_to_string(folder.join("lib.rs")).unwrap();
    let linked: Vec<&str> = lib
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ").and_then(|name| name.strip_suffix(';')))
        .collect();
    assert!(linked.contains(&"rpc"), "{linked:?}");
    let mut files = Vec::new();
    walk(&folder, &mut files);
    let (mut faults, mut at) = (Vec::new(), 0);
    while let Some(path) = files.get(at).cloned() {
        let text = fs::read_to_string(&path).unwrap();
        let elsewhere = text.lines().filter_map(|line| line.strip_prefix("#[path = \""));
        let elsewhere = elsewhere.map(|line| folder.join(line.trim_end_matches("\"]")));
        files.extend(elsewhere);
        for name in imports(&text).into_iter().filter(|name| !linked.contains(name)) {
            faults.push(format!("{}: {name} is not in fuzz/src/lib.rs", path.display()));
        }
        at += 1;
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn layer(module: &str) -> usize {
    match LAYERS.iter().position(|names| names.contains(&module)) {
        Some(layer) => layer,
        None => panic!("`{module}` has no layer; add it to LAYERS and design.md"),
    }
}

/// The modules that code names: as `crate::store`, or inside `crate::{config, store::Hit}`.
fn imports(text: &str) -> Vec<&str> {
    text.split("crate::")
        .skip(1)
        .flat_map(top_level)
        .filter_map(|path| {
            path.trim_start().split(|c: char| !c.is_alphanumeric() && c != '_').next()
        })
        .filter(|name| name.starts_with(char::is_lowercase))
        .collect()
}

/// Splits `{a, b::{c, d}}` into `a` and `b::{c, d}`; anything else is one piece.
fn top_level(path: &str) -> Vec<&str> {
    let Some(group) = path.strip_prefix('{') else {
        return vec![path];
    };
    let mut depth = 1;
    let mut deepen = move |c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth
    };
    let mut closes = deepen;
    let end = group.find(|c| closes(c) == 0).unwrap_or(group.len());
    group.split_at(end).0.split(|c| deepen(c) == 1 && c == ',').collect()
}

/// `src/store/qdrant.rs` → `store`; `src/config.rs` → `config`.
fn module_of(path: &Path) -> String {
    let first = path.components().nth(1).unwrap();
    Path::new(first.as_os_str()).file_stem().unwrap().to_str().unwrap().to_owned()
}

fn sources() -> impl Iterator<Item = (PathBuf, String)> {
    let mut found = Vec::new();
    walk(&root().join("src"), &mut found);
    found.sort();
    found.into_iter().map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        (path.strip_prefix(root()).unwrap().to_owned(), text)
    })
}

fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn imports_are_found_in_every_form() {
    assert_eq!(imports("use crate::store::Hit;"), ["store"]);
    assert_eq!(
        imports("use crate::{\n    codex::{self, Event},\n    error::Code,\n};"),
        ["codex", "error"]
    );
    assert_eq!(imports("pub(crate) fn f() -> crate::domain::Id"), ["domain"]);
    assert!(imports("use crate::Thing;").is_empty());
}
