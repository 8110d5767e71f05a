//! House rules that the compiler cannot check.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use codeinfo_lang::{comment, languages};

/// Layers of the program's own modules, lowest first. A module may import only from layers below its own. Manifests
/// define what crates may use.
const LAYERS: &[&[&str]] = &[
    &["documents"],
    &["config"],
    &["install"],
    &["service"],
    &["cli"],
    &["app"],
    &["run"],
    &["lib", "main"],
];
/// Outside crates that only some of our crates, or modules of the program, may name.
const FENCES: &[(&str, &[&str])] = &[
    ("envy::", &["config"]),
    ("encoding_rs::", &["worktree"]),
    ("gix_", &["history", "worktree"]),
    ("hyper::", &["http", "server"]),
    ("jsonschema::", &["mcp"]),
    ("tree_sitter", &["chunk", "facts"]),
    ("prometheus_client::", &["core", "server"]),
    ("moka::", &["toolkits"]),
    ("notify::", &["ingest"]),
    ("pulldown_cmark::", &["citations", "server"]),
    ("qdrant_client::", &["store"]),
    ("reqwest::", &["embed", "cli", "toolkits"]),
    ("ring::", &["core", "credentials"]),
    ("rmcp::", &["toolkits"]),
    ("sse_stream::", &["cli"]),
    ("subtle::", &["credentials"]),
    ("sysinfo::", &["store", "toolkits"]),
    ("rustls::", &["core"]),
    ("tokio::process", &["codex", "core", "toolkits", "service", "run"]),
    ("tokio_tungstenite::", &["http", "server"]),
    ("tonic::", &["store"]),
];
/// Crates that do no I/O.
const PURE: &[&str] = &["chunk", "facts", "graph", "lang", "mcp", "secrets"];
/// Names that these crates may not use.
const IMPURE: &[&str] =
    &["std::env", "std::fs", "std::net", "std::process", "tokio::fs", "tokio::net"];
/// Words of languages that also have other meanings: members of JSON on the wire.
const ON_THE_WIRE: &[&str] = &["data", "enum", "object", "properties", "text", "type"];
/// Words of languages outside `codeinfo-lang`: each file with its words and the reason.
const LANGUAGE_FACTS: &[(&str, &[&str], &str)] = &[
    ("crates/search/src/package.rs", &["module"], "a word of questions"),
    ("crates/chunk/src/branches.rs", &["el"], "how `else` and `elif` begin"),
    (
        "crates/chunk/src/macros.rs",
        &["//", "/*", "class", "struct", "union"],
        "what a preprocessor of C reads before a grammar does",
    ),
    ("src/documents.rs", &["md"], "what our documents are called"),
    ("src/config/env/listeners.rs", &["javascript"], "a scheme of addresses"),
    ("crates/toolkits/src/discovery/entry.rs", &["const"], "a keyword of JSON schema"),
    ("crates/toolkits/src/discovery_tools/render.rs", &["const"], "a keyword of JSON schema"),
    (
        "crates/chunk/src/layout/head.rs",
        &["def", "record"],
        "lists of Lisp that define; a key of YAML",
    ),
    (
        "crates/chunk/src/highlight/tree.rs",
        &["function", "macro"],
        "fields of syntax trees, whatever the language",
    ),
    ("crates/chunk/src/outline.rs", &[";"], "a token of the syntax tree"),
    ("crates/facts/src/extract/python.rs", &["function"], "a field of syntax trees"),
    ("crates/facts/src/extract/python/conditions.rs", &["function"], "a field of syntax trees"),
    ("crates/facts/src/extract/python/expressions.rs", &["function"], "a field of syntax trees"),
    ("crates/graph/src/manifests.rs", &["json", "module"], "the end and a member of manifests"),
    (
        "crates/facts/src/extract/script.rs",
        &["class", "function", "module"],
        "kinds and fields of syntax trees",
    ),
    (
        "crates/facts/src/extract/script/expressions.rs",
        &["function", "module"],
        "fields of syntax trees",
    ),
    (
        "crates/facts/src/extract/script/modules.rs",
        &["function", "module"],
        "a field of syntax trees; the object that has a module's exports",
    ),
    (
        "crates/graph/src/modules.rs",
        &[
            "bash", "bats", "c", "cc", "cjs", "cpp", "cs", "cts", "cxx", "def", "go", "go.mod",
            "h", "hh", "hpp", "hxx", "inl", "ipp", "java", "js", "jsx", "mjs", "mts", "py", "pyi",
            "rb", "rs", "sh", "ts", "tsx",
        ],
        "endings in the order in which importers try them, and those of files that a compiler joins",
    ),
    (
        "crates/graph/src/resolve/imports.rs",
        &["bash", "rb", "sh"],
        "endings in the order in which scripts are searched for",
    ),
    ("crates/facts/src/extract/typed.rs", &["class"], "the name of a type without one"),
    ("crates/facts/src/extract/c.rs", &["function", "struct"], "fields and kinds of syntax trees"),
    (
        "crates/facts/src/extract/cpp.rs",
        &["function", "struct"],
        "fields and kinds of syntax trees",
    ),
    ("crates/facts/src/extract/csharp.rs", &["function"], "a field of syntax trees"),
    (
        "crates/facts/src/extract/go.rs",
        &["function", "struct", "v"],
        "fields of syntax trees; the beginning of a version",
    ),
    ("crates/facts/src/extract/java.rs", &["class"], "the name of a type without one"),
    ("crates/facts/src/extract/php.rs", &["function"], "a field of syntax trees"),
    (
        "crates/facts/src/extract/ruby.rs",
        &["class", "module"],
        "kinds of syntax trees, and a method of the language",
    ),
    ("crates/facts/src/extract/rust.rs", &["function", "trait"], "fields of syntax trees"),
    (
        "crates/facts/src/extract/rust/tokens.rs",
        &[";", "macro"],
        "tokens, and a field of syntax trees",
    ),
    (
        "crates/chunk/src/embedded.rs",
        &["javascript", "json", "module"],
        "what attributes of tags say",
    ),
    ("crates/chunk/src/section.rs", &["--"], "an option of `FROM`"),
    ("crates/chunk/src/statement.rs", &["--", "/*", "*/", ";"], "the reader of one language, SQL"),
    ("crates/chunk/src/strip_bodies/braces.rs", &["#", "const", "fn"], "rules of one lexis each"),
    (
        "crates/chunk/src/strip_bodies/indentation.rs",
        &["def"],
        "the reader of one language, Python",
    ),
    (
        "crates/server/src/api/conversations/export.rs",
        &["json", "markdown", "md"],
        "formats of an export, and what its file is called",
    ),
    ("crates/server/src/api/turns/render.rs", &["html"], "a member of a frame"),
    ("crates/chat/src/archive/file.rs", &["jsonl"], "what our files are called"),
    (
        "crates/citations/src/documents/links.rs",
        &["//", "html", "markdown", "md"],
        "documents are in one language, and sites made of them in another; a part of addresses",
    ),
    (
        "crates/citations/src/documents/target.rs",
        &["CHANGELOG", "COPYING", "LICENSE", "NOTICE", "README"],
        "names in capitals that stand for no others",
    ),
    ("crates/codex/src/files.rs", &["cmd"], "what npm's scripts end with on Windows"),
    ("crates/codex/src/confinement_probe.rs", &["sh"], "a program"),
    ("crates/codex/src/sandbox.rs", &["--"], "the end of options"),
    (
        "crates/toolkits/src/launch/program.rs",
        &["bash", "java", "php", "python", "ruby", "sh"],
        "programs that run the file they are given",
    ),
    ("crates/toolkits/src/quote.rs", &["const"], "a word of JSON schema"),
    (
        "crates/secrets/src/assigned/cursor.rs",
        &["#", "//"],
        "comments before a value, in a text of any language",
    ),
    ("crates/secrets/src/assigned/name.rs", &["--"], "the start of options"),
    ("crates/secrets/src/request.rs", &["--"], "the start of options"),
    ("crates/secrets/src/command.rs", &["//"], "a part of addresses"),
    ("crates/secrets/src/group.rs", &["--"], "the rule below the heads of a table"),
    (
        "crates/secrets/src/judge.rs",
        &["conf"],
        "settings in no language, whose values may be secrets",
    ),
    (
        "crates/secrets/src/names.rs",
        CODE,
        "code may be named after secrets; more would let secrets in",
    ),
    ("crates/secrets/src/shape.rs", &[";"], "what ends values"),
    (
        "src/install/edit/json/splice.rs",
        &["//", "/*", "*/"],
        "comments of the one language that it edits",
    ),
    ("crates/search/src/excerpt/render.rs", &["s"], "the end of a plural"),
    ("crates/store/src/lock.rs", &["instance"], "a part of a record"),
    (
        "crates/search/src/rank/factors.rs",
        &["json", "markdown", "xml", "yaml"],
        "words that ask for such files",
    ),
    ("crates/search/src/purpose.rs", &["for"], "words of questions"),
];
/// Code that depends on the kind of the system.
const OF_ONE_SYSTEM: &[&str] = &[
    "os::unix", "os::windows", "os::fd", "rustix::", "nix::", "signal::unix", "signal::windows",
    "cfg(unix)", "cfg(not(unix))", "cfg(windows)", "cfg!(unix)", "cfg!(windows)", "target_os",
];
/// The files where systems differ, each with the reason. All others are the same everywhere.
const SYSTEMS_DIFFER: &[(&str, &str)] = &[
    ("src/app.rs", "the data folder is for its owner; a profile's folder on Windows is anyway"),
    (
        "crates/core/src/atomic.rs",
        "files and folders for their owner, links that are not followed, folders that are synced",
    ),
    ("crates/worktree/src/beneath.rs", "handles of folders where there are such"),
    ("crates/worktree/src/beneath/commit.rs", "names are bytes, or text"),
    ("crates/worktree/src/beneath/handles.rs", "the half of `beneath` with handles"),
    ("crates/codex/src/sandbox.rs", "Codex confines with bubblewrap on Linux alone"),
    ("crates/codex/src/sandbox_rules/secret_files.rs", "links are not followed"),
    ("crates/codex/src/files.rs", "what names of programs end with"),
    ("crates/core/src/pipes.rs", "children are process groups of their own"),
    ("crates/codex/src/scratch.rs", "folders for their owner"),
    ("src/cli/access.rs", "how a browser is started"),
    ("src/config/env/handover.rs", "the environment is shown to others on Linux alone"),
    ("src/config/env/listeners.rs", "a token is needed where connections have no account"),
    ("crates/core/src/timestamp.rs", "when anything of a file changed, where that is known"),
    ("crates/toolkits/src/decision_file.rs", "a folder for its owner"),
    ("crates/toolkits/src/launch.rs", "a folder for its owner"),
    ("crates/worktree/src/git/packed.rs", "numbers of files, or when they were changed"),
    ("crates/ingest/src/watch/events.rs", "whole trees are watched at once, except on Linux"),
    ("crates/ingest/src/names.rs", "paths of Windows are explained on other systems"),
    (
        "crates/ingest/src/watch/watched_root.rs",
        "numbers of folders, or when they were made; cheap whole trees",
    ),
    ("src/install/places.rs", "which system this is"),
    ("src/main.rs", "the allocator, which Windows' compilers do not build"),
    (
        "crates/http/src/peer_account.rs",
        "whose a connection is; without that a token is needed by default",
    ),
    ("crates/http/src/serve.rs", "the file that holds nothing has two names"),
    ("crates/core/src/paths.rs", "what a program is: a mode, or a name's end"),
    ("src/run.rs", "a signal"),
    ("src/run/serve.rs", "signals"),
    ("src/run/stdio.rs", "a server is a process group of its own, and has no files of others"),
    ("src/service/managers.rs", "agents of launchd are a user's by number"),
    ("crates/index/src/folder.rs", "numbers of files, or when they were made"),
    ("crates/index/src/source.rs", "reading at a place"),
    ("crates/core/src/error.rs", "error numbers that the standard library has no kind for"),
    ("crates/index/src/writer.rs", "free room on disks"),
    ("crates/toolkits/src/connection/process.rs", "process groups and signals"),
    (
        "crates/toolkits/src/connection/usage.rs",
        "sizes on disk, and what the kernel tells of processes",
    ),
];
/// The extensions that `crates/secrets/src/names.rs` judges by.
const CODE: &[&str] = &[
    "c", "cc", "cfg", "class", "clj", "conf", "cpp", "cs", "css", "d", "dart", "erb", "ex", "exs",
    "go", "h", "hpp", "hs", "html", "ini", "j2", "java", "js", "json", "jsx", "kt", "kts", "lua",
    "m", "md", "mjs", "ml", "php", "pl", "proto", "py", "pyi", "rb", "rs", "rst", "scala", "sh",
    "swift", "toml", "ts", "tsx", "txt", "vue", "xml", "yaml", "yml", "zig",
];
const MAX_LINES: usize = 600;

#[test]
fn every_file_opens_with_its_purpose_and_stays_short() {
    let mut faults = Vec::new();
    for (path, text) in read_sources() {
        if !text.starts_with("//!") {
            faults.push(format!("{}: no `//!` purpose line", path.display()));
        }
        let lines = text.lines().count();
        if lines > MAX_LINES {
            faults.push(format!("{}: {lines} lines", path.display()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn imports_point_down() {
    let mut faults = Vec::new();
    for (path, text) in read_sources().filter(|(path, _)| path.starts_with("src")) {
        let module = name_module(&path);
        for imported in list_imports(&text) {
            if imported != module && find_layer(&module) <= find_layer(imported) {
                faults.push(format!("{}: {module} imports {imported}", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn outside_crates_are_used_only_in_their_homes() {
    let mut faults = Vec::new();
    for (path, text) in read_sources() {
        let module = name_module(&path);
        for (name, homes) in FENCES {
            if names_crate(&text, name) && !homes.contains(&module.as_str()) {
                faults.push(format!("{}: `{name}` belongs in {homes:?}", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Returns whether a text names a crate, and not only something that ends with its name, such as `String::`.
fn names_crate(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| !text.split_at(at).0.ends_with(is_part))
}

#[test]
fn pure_crates_do_no_io() {
    let mut faults = Vec::new();
    for (path, text) in read_sources() {
        if !path.starts_with("crates") || !PURE.contains(&&*name_module(&path)) {
            continue;
        }
        for name in IMPURE.iter().filter(|name| strip_tests(&text).contains(**name)) {
            faults.push(format!("{}: `{name}`", path.display()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// All facts of a language, from its name to the endings of the names of its tests, are in its file in
/// `crates/lang/src/languages`, and nowhere else.
#[test]
fn languages_are_described_once() {
    let known = list_language_words();
    let (mut faults, mut excused) = (Vec::new(), HashSet::new());
    for (path, text) in read_sources() {
        let path = path.display().to_string();
        let is_test = path.ends_with("/tests.rs") || path.ends_with("/fixture.rs");
        if path.starts_with("crates/lang/") || is_test {
            continue;
        }
        let here = |place: &&(&str, &[&str], &str)| place.0 == path;
        let allowed = LANGUAGE_FACTS.iter().find(here).map_or(&[][..], |place| place.1);
        let found: HashSet<&str> = list_literals(strip_tests(&text))
            .filter(|literal| known.contains(literal) && !ON_THE_WIRE.contains(literal))
            .collect();
        for literal in found {
            if allowed.contains(&literal) {
                excused.insert((path.clone(), literal.to_owned()));
            } else {
                faults.push(format!("{path}: \"{literal}\" is a fact of a language"));
            }
        }
    }
    assert!(faults.is_empty(), "{}\nsay it in crates/lang, or why not", faults.join("\n"));
    for (path, words, _) in LANGUAGE_FACTS {
        for word in *words {
            let used = excused.contains(&((*path).to_owned(), (*word).to_owned()));
            assert!(used, "{path} no longer says \"{word}\"");
        }
    }
}

/// Features of only Unix, or only Windows, are used only in files that handle both.
#[test]
fn systems_differ_only_in_listed_files() {
    let differ = |text: &str| OF_ONE_SYSTEM.iter().any(|name| names_crate(text, name));
    let found: HashSet<String> = read_sources()
        .filter(|(_, text)| differ(strip_tests(text)))
        .map(|(path, _)| path.display().to_string())
        .collect();
    let said: HashSet<String> = SYSTEMS_DIFFER.iter().map(|(path, _)| (*path).to_owned()).collect();
    let unsaid: Vec<_> = found.difference(&said).collect();
    assert!(unsaid.is_empty(), "{unsaid:?}: say in SYSTEMS_DIFFER why, and what other systems do");
    let same: Vec<_> = said.difference(&found).collect();
    assert!(same.is_empty(), "{same:?}: they are the same on every system");
}

/// Words that definitions start with and that mean nothing else.
const DEFINING: &[&str] = &[
    "actor", "class", "const", "data", "def", "defguard", "defimpl", "define", "defmacro",
    "defmodule", "defp", "defprotocol", "enum", "extension", "fn", "fun", "func", "function",
    "impl", "instance", "interface", "macro", "mod", "module", "namespace", "newtype", "object",
    "protocol", "record", "struct", "trait", "type", "typealias", "union", "val",
];

/// Returns every word that describes a language: names, extensions with and without their dot, marks of
/// comments, words of definitions, and ends of names.
fn list_language_words() -> HashSet<&'static str> {
    let mut words: HashSet<&str> = DEFINING.iter().copied().collect();
    for language in languages::iter_all() {
        words.insert(language.name);
        words.extend(language.extensions);
        words.extend(language.file_names);
        words.extend(language.test_paths);
        words.extend(language.generated);
        words.extend(language.declarations);
        let blocks = language.comments.block.iter().flat_map(|(start, end)| [*start, *end]);
        words.extend(language.comments.line.iter().copied().chain(blocks));
    }
    words.extend(comment::CommentSyntax::ANY.line);
    // Words that have another meaning in every language.
    for plain in ["!", "'", "\"", "*", "..", "::", "@", "{", "}", "#[", "]#", "]]"] {
        assert!(words.remove(plain), "{plain}");
    }
    words
}

#[test]
fn literals_are_found_outside_of_comments() {
    let text = "// \"no\"\nf(\"a\", '\"', \"b\\\"c\"); // more\n";
    assert_eq!(list_literals(text).collect::<Vec<_>>(), ["a", "b\\\"c"]);
    assert_eq!(list_literals("if name.ends_with(\".rs\")").collect::<Vec<_>>(), ["rs"]);
}

/// `fuzz/` links to parts of `src/`, and nothing else of the checks builds it.
#[test]
fn fuzzed_files_import_only_linked_files() {
    let folder = repository_root().join("fuzz/src");
    let lib = fs::read_to_string(folder.join("lib.rs")).unwrap();
    let linked: Vec<&str> = lib
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ").and_then(|name| name.strip_suffix(';')))
        .collect();
    assert!(linked.contains(&"ignored"), "{linked:?}");
    let mut files = Vec::new();
    collect_sources(&folder, &mut files);
    let (mut faults, mut at) = (Vec::new(), 0);
    while let Some(path) = files.get(at).cloned() {
        let text = fs::read_to_string(&path).unwrap();
        let elsewhere = text.lines().filter_map(|line| line.strip_prefix("#[path = \""));
        let elsewhere = elsewhere.map(|line| folder.join(line.trim_end_matches("\"]")));
        files.extend(elsewhere);
        for name in list_imports(&text).into_iter().filter(|name| !linked.contains(name)) {
            faults.push(format!("{}: {name} is not in fuzz/src/lib.rs", path.display()));
        }
        at += 1;
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn find_layer(module: &str) -> usize {
    match LAYERS.iter().position(|names| names.contains(&module)) {
        Some(layer) => layer,
        None => panic!("`{module}` has no layer; add it to LAYERS and design.md"),
    }
}

/// Returns the full paths of a `use` tree: `a::{b, c::{self, d}}` has `a::b`, `a::c` and `a::c::d`.
pub(crate) fn expand_use_tree(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((before, group)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        return vec![path.trim_end_matches("::self").to_owned()];
    };
    let group = format!("{{{group}");
    let inner = split_top_level(&group).into_iter().filter(|one| !one.trim().is_empty());
    inner
        .flat_map(expand_use_tree)
        .map(|name| format!("{before}{name}").replace("::self", ""))
        .collect()
}

/// The modules that code names: as `crate::store`, or inside `crate::{config, store::Hit}`.
fn list_imports(text: &str) -> Vec<&str> {
    text.split("crate::")
        .skip(1)
        .flat_map(split_top_level)
        .filter_map(|path| {
            path.trim_start().split(|c: char| !c.is_alphanumeric() && c != '_').next()
        })
        .filter(|name| name.starts_with(char::is_lowercase))
        .collect()
}

/// Splits `{a, b::{c, d}}` into `a` and `b::{c, d}`; anything else is one piece.
fn split_top_level(path: &str) -> Vec<&str> {
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

/// The string literals of a text, as they are written, without the dot that one starts with.
fn list_literals(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| {
        let mut rest = line;
        std::iter::from_fn(move || {
            loop {
                let at = rest.find('"')?;
                let (before, after) = (rest.get(..at)?, rest.get(at + 1..)?);
                if before.ends_with('\'') && after.starts_with('\'') {
                    rest = after;
                    continue;
                }
                let mut is_escaped = false;
                let end = after.find(|c| {
                    let ends = c == '"' && !is_escaped;
                    is_escaped = c == '\\' && !is_escaped;
                    ends
                })?;
                rest = after.get(end + 1..)?;
                let literal = after.get(..end)?;
                return Some(literal.strip_prefix('.').unwrap_or(literal));
            }
        })
    })
}

/// Returns a file without the tests at its end.
fn strip_tests(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap().split("#[cfg(all(test").next().unwrap()
}

/// `crates/store/src/qdrant.rs` → `store`; `src/config.rs` → `config`.
fn name_module(path: &Path) -> String {
    let first = path.components().nth(1).unwrap();
    Path::new(first.as_os_str()).file_stem().unwrap().to_str().unwrap().to_owned()
}

pub(crate) fn read_sources() -> impl Iterator<Item = (PathBuf, String)> {
    let mut found = Vec::new();
    collect_sources(&repository_root().join("src"), &mut found);
    for one in fs::read_dir(repository_root().join("crates")).unwrap() {
        collect_sources(&one.unwrap().path().join("src"), &mut found);
    }
    found.sort();
    found.into_iter().map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        (path.strip_prefix(repository_root()).unwrap().to_owned(), text)
    })
}

fn collect_sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn imports_are_found_in_every_form() {
    assert_eq!(list_imports("use crate::store::Hit;"), ["store"]);
    assert_eq!(
        list_imports("use crate::{\n    codex::{self, Event},\n    error::Code,\n};"),
        ["codex", "error"]
    );
    assert_eq!(list_imports("pub(crate) fn f() -> crate::domain::Id"), ["domain"]);
    assert!(list_imports("use crate::Thing;").is_empty());
}
