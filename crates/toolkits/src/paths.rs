//! Checks that paths in the arguments of a call stay below the folders that a toolkit may read.
//!
//! The sandbox already restricts our processes. This check refuses earlier, with a reason that helps the model, and
//! covers toolkits that only pass a path on. It recognises paths heuristically: an absolute path if the parameter's
//! name suggests a path or the first folder exists, a home path if the name suggests one, and a relative path if it
//! climbs with `..` out of its base, the working folder.

use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value};

/// Words in names of parameters that take paths.
const NAMES: [&str; 8] = ["path", "file", "dir", "folder", "cwd", "root", "repo", "workspace"];
/// Maximum nesting of arguments. They have been validated, and the parser bounds their depth.
const MAX_DEPTH: usize = 128;

/// Returns the reason for refusing a call if a path is below none of the canonical `folders`. Accesses the disk.
pub(super) fn check_argument_paths(
    arguments: &Map<String, Value>,
    folders: &[PathBuf],
) -> Option<String> {
    arguments.iter().find_map(|(name, value)| check_value(name, value, folders, 0))
}

fn check_value(name: &str, value: &Value, folders: &[PathBuf], depth: usize) -> Option<String> {
    if depth > MAX_DEPTH {
        return Some(format!("`{name}` is nested too deep"));
    }
    match value {
        Value::String(text) => check_text(name, text, folders),
        Value::Array(values) => {
            values.iter().find_map(|value| check_value(name, value, folders, depth + 1))
        }
        Value::Object(members) => members.iter().find_map(|(name, value)| {
            let in_name = check_text("a name", name, folders);
            in_name.or_else(|| check_value(name, value, folders, depth + 1))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn check_text(name: &str, raw_text: &str, folders: &[PathBuf]) -> Option<String> {
    let text = raw_text.trim();
    // Long option: `--file=PATH`.
    let option = text.strip_prefix('-').and_then(|option| option.split_once('='));
    if let Some((option, value)) = option {
        return check_text(option, value, folders);
    }
    let is_file_url = text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("file:"));
    let refused = |why: &str| {
        Some(format!("`{name}` {why}; give a path below an indexed repository, or leave it out"))
    };
    if is_file_url {
        let path = url::Url::parse(text).ok().and_then(|url| url.to_file_path().ok());
        return match path {
            Some(path) if is_below(&path, folders) => None,
            Some(_) | None => refused("is the address of a file outside the indexed repositories"),
        };
    }
    // Short option: `-CPATH`.
    if let Some(value) = text.strip_prefix('-').and_then(|option| option.get(1..))
        && let Some(reason) = check_text(name, value, folders)
    {
        return Some(reason);
    }
    let path = Path::new(text);
    let has_parent = path.components().any(|component| component == Component::ParentDir);
    let is_written_as_path = is_name_of_path(name) || (has_parent && is_plain_path(text));
    if has_parent && !path.is_absolute() {
        let mut there = folders.iter().filter_map(|folder| folder.join(path).canonicalize().ok());
        let leads_out = there.any(|path| !is_below(&path, folders));
        if leads_out || (climbs_out(path) && is_written_as_path) {
            return refused("leads out of the folder that it begins in");
        }
    }
    if text.starts_with('~') && is_name_of_path(name) {
        return refused("is a path of the user's home");
    }
    let is_path = path.is_absolute() && (is_written_as_path || starts_at_a_folder(path));
    if is_path && !is_below(path, folders) {
        return refused("is a path outside the indexed repositories");
    }
    None
}

fn is_name_of_path(name: &str) -> bool {
    let lower = name.to_lowercase();
    NAMES.iter().any(|word| lower.contains(word))
}

/// Returns true if a text has no characters that are typical of sentences and patterns but rare in paths.
fn is_plain_path(text: &str) -> bool {
    !text.contains(|c: char| c.is_whitespace() || "*?[](){}|^$+\\\"'<>,;".contains(c))
}

fn climbs_out(path: &Path) -> bool {
    let mut depth = 0_usize;
    for component in path.components() {
        match component {
            Component::ParentDir if depth == 0 => return true,
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    false
}

/// Returns true if the first folder of an absolute path exists, which suggests a real path.
fn starts_at_a_folder(path: &Path) -> bool {
    let first: PathBuf = path.components().take(2).collect();
    first.parent().is_some() && first.is_dir()
}

/// Returns true if the existing part of `path`, links resolved, is below one of `folders`, and the rest has no `..`.
fn is_below(path: &Path, folders: &[PathBuf]) -> bool {
    let resolved = path.ancestors().find_map(|ancestor| {
        let rest = path.strip_prefix(ancestor).ok()?;
        Some(ancestor.canonicalize().ok()?.join(rest))
    });
    let settled =
        resolved.filter(|path| !path.components().any(|part| part == Component::ParentDir));
    settled.is_some_and(|path| folders.iter().any(|folder| path.starts_with(folder)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    #[test]
    fn only_paths_below_the_folders_are_let_through() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("repo").canonicalize().unwrap_or_else(|_| {
            fs::create_dir(folder.path().join("repo")).unwrap();
            folder.path().join("repo").canonicalize().unwrap()
        });
        let outside_folder = folder.path().join("other");
        fs::create_dir(&outside_folder).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(&outside_folder, inside.join("link")).unwrap();
        let folders = [inside.clone()];
        let refused = |arguments: Value| {
            check_argument_paths(arguments.as_object().unwrap(), &folders).is_some()
        };
        let below = |path: &str| inside.join(path).display().to_string();

        assert!(!refused(json!({ "path": inside, "n": 1, "x": null })));
        assert!(!refused(json!({ "path": below("not/there/yet.rs") })));
        assert!(!refused(json!({ "path": "src/lib.rs", "query": "a / b", "glob": "**/*.rs" })));
        assert!(!refused(json!({ "url": "/api/users", "text": "~ about ~", "ratio": "/" })));
        assert!(!refused(json!({ "uri": format!("file://{}", below("a.rs")) })));

        assert!(refused(json!({ "path": outside_folder })));
        assert!(
            refused(json!({ "path": folder.path().join("repository") })),
            "a name that only begins alike"
        );
        assert!(refused(json!({ "repo_path": "/nowhere/at/all" })));
        assert!(refused(json!({ "query": "/etc/passwd" })), "whatever the parameter is called");
        assert!(refused(json!({ "file": "~/.ssh/id_rsa" })));
        assert!(refused(json!({ "name": "../../secret" })));
        assert!(refused(json!({ "list": [{ "deep": ["/etc/shadow"] }] })));
        assert!(refused(json!({ "uri": "FILE:///etc/passwd" })));
        assert!(refused(json!({ "uri": "file:etc" })));
        assert!(refused(json!({ "uri": "\t file:///etc/passwd" })));
        assert!(refused(json!({ "options": { "/etc/passwd": true } })));
        assert!(refused(json!({ "args": ["--file=/etc/passwd"] })));
        #[cfg(unix)]
        assert!(refused(json!({ "path": below("link/a.rs") })), "a link leads out");
    }

    #[test]
    fn parents_refuse_only_paths_that_lead_out() {
        let folder = tempfile::tempdir().unwrap();
        let repo = folder.path().canonicalize().unwrap().join("repo");
        fs::create_dir_all(repo.join("src/deep")).unwrap();
        fs::create_dir_all(folder.path().join("my keys (old)")).unwrap();
        fs::create_dir_all(folder.path().join("other/inner")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(folder.path().join("other/inner"), repo.join("link")).unwrap();
        let folders = [repo.clone()];
        let refused = |name: &str, text: &str| {
            check_argument_paths(json!({ name: text }).as_object().unwrap(), &folders).is_some()
        };
        let below = |path: &str| repo.join(path).display().to_string();
        for (name, text) in [
            ("range", "HEAD~1..HEAD"),
            ("range", "main...feature"),
            ("revision", "..HEAD"),
            ("revision", "origin/main..feature/../x y"),
            ("message", "wait .."),
            ("message", "see ../ (the folder above), then go on"),
            ("pattern", r"^\.\./(\w+)$"),
            ("pattern", "../.*"),
            ("pattern", "import .* from ['\"]../"),
            ("glob", "src/**/../*.rs"),
            ("query", "a / .. / b"),
            ("url", "https://example.org/a/../b"),
            ("path", "src/deep/../lib.rs"),
            ("path", &below("src/deep/../lib.rs")),
            ("version", "1..2"),
            ("text", "..."),
        ] {
            assert!(!refused(name, text), "{name}: {text}");
        }
        for (name, text) in [
            ("name", ".."),
            ("name", "../../secret"),
            ("name", "./../secret"),
            ("name", "a/../../secret"),
            ("path", "../my keys (old)"),
            ("pattern", "../my keys (old)"),
            ("path", "../*"),
            ("option", "--file=../../secret"),
            ("option", "-C../.."),
            ("option", "-I/etc"),
            ("x", "/../etc/passwd"),
            ("x", "/nowhere/../etc/passwd"),
            ("x", &below("nowhere/../../other")),
            ("x", &below("src/../../other")),
            ("uri", "file:///../etc/passwd"),
            #[cfg(unix)]
            ("x", "link/../inner"),
            #[cfg(unix)]
            ("x", &below("link/..")),
        ] {
            assert!(refused(name, text), "{name}: {text}");
        }
    }
}
