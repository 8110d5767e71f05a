//! Builds the permission profile of the model's shell, which grants the indexed folders and the system's
//! programs and no other file of the user.
//!
//! Each thread gets the profile before anything runs in it. No `sandboxPolicy` follows, because it would
//! silently replace the profile. Folders with keys are denied only inside a root or a system folder: no rule
//! can grant reading inside a denied folder.

mod secret_files;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use codeinfo_worktree::private_places::PrivatePlaces;
use serde_json::{Map, Value, json};

pub(super) use self::secret_files::SecretLocator;

/// Indexed folder that the model's shell may read, except for some files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadableRoot {
    pub folder: PathBuf,
    /// Absolute paths of secret files in the folder.
    pub private_files: Vec<PathBuf>,
}

/// Indexed folder that search covers but the model's shell cannot read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExcludedRoot {
    pub folder: PathBuf,
    pub reason: &'static str,
}

/// Reason for excluding a path that Codex would parse as a pattern; patterns grant nothing.
const PATTERN: &str = "its path has one of `*?[`";
const TOO_MANY: &str = "its secrets lie in too many places; index folders of it instead, or put \
                        them into fewer folders";
const INSIDE: &str = "it lies in a folder of another repository that is kept from the shell for its \
                      secrets";

#[derive(Debug, Clone, Default)]
pub(super) struct SandboxContext {
    /// Codex's own files, without which no command starts.
    pub(super) program: Vec<PathBuf>,
    /// Places of keys, conversations and the index: those of the user, of Codex and of this server.
    pub(super) private: PrivatePlaces,
}

/// Rules of one profile by path. The shell cannot see a path without a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SandboxRules(BTreeMap<String, SandboxAccess>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SandboxAccess {
    Read,
    Write,
    Deny,
}

/// Maximum denied paths. A command's cost grows with their square: 0.4 s at 100, 5 s at 500 (Codex 0.169).
const MAX_DENIED: usize = 100;

/// Codex's name for the system's programs and settings, such as `/usr` and `/etc`.
const SYSTEM: &str = ":minimal";
const SYSTEM_FOLDERS: [&str; 8] =
    ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr", "/etc", "/opt"];
/// Secret system files that no command needs; the user who runs the server may be able to read them.
const SYSTEM_SECRETS: [&str; 8] = [
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/ssl/private", "/etc/ssh",
    "/etc/krb5.keytab", "/etc/codex",
];

impl SandboxRules {
    /// Builds the rules for `readable`, whose secrets are located, and returns the roots that they exclude. Reads
    /// the file system only outside of those roots.
    pub(super) fn build(
        readable: &[ReadableRoot],
        context: &SandboxContext,
    ) -> (Self, Vec<ExcludedRoot>) {
        let (open, closed): (Vec<&ReadableRoot>, Vec<&ReadableRoot>) =
            readable.iter().partition(|readable| is_plain(&readable.folder));
        let excluded = |folder: &Path, reason| ExcludedRoot { folder: folder.to_owned(), reason };
        let mut excluded_roots: Vec<ExcludedRoot> =
            closed.iter().map(|readable| excluded(&readable.folder, PATTERN)).collect();
        let mut roots = BTreeSet::new();
        let mut private = BTreeSet::new();
        for readable in open {
            roots.insert(readable.folder.clone());
            private.extend(readable.private_files.iter().cloned());
        }
        let system = SYSTEM_SECRETS.iter().filter_map(|path| Path::new(path).canonicalize().ok());
        let hidden = context.private.resolve().into_paths().chain(system);
        let is_granted = |path: &PathBuf| {
            let mut granted = roots.iter().chain(&context.program);
            granted.any(|root| path.starts_with(root))
                || SYSTEM_FOLDERS.iter().any(|folder| path.starts_with(folder))
        };
        // A path without a grant needs no denial. Denying it would hide a root below it.
        let hidden = retain_outermost(
            hidden
                .filter(is_granted)
                .flat_map(|path| exclude_program_files(path, &context.program))
                .collect(),
        );
        private.retain(|path| !hidden.iter().any(|above| path.starts_with(above)));
        let private = retain_outermost(private);
        let room = MAX_DENIED.saturating_sub(hidden.len());
        roots.retain(|root| {
            let is_inside = private.iter().any(|above| root.starts_with(above));
            if is_inside {
                excluded_roots.push(excluded(root, INSIDE));
            }
            !is_inside
        });
        let (private, lost) = merge_denied_paths(private, &roots, room);
        excluded_roots.extend(lost.iter().map(|root| excluded(root, TOO_MANY)));
        let mut rules = BTreeMap::from([(SYSTEM.to_owned(), SandboxAccess::Read)]);
        let mut rule = |path: &Path, access| {
            rules.insert(path.to_string_lossy().into_owned(), access);
        };
        context.program.iter().for_each(|path| rule(path, SandboxAccess::Read));
        roots.difference(&lost).for_each(|root| rule(root, SandboxAccess::Read));
        hidden
            .iter()
            .chain(&private)
            .for_each(|path| rule(&escape_pattern(path), SandboxAccess::Deny));
        (Self(rules), excluded_roots)
    }

    /// Denies `folder`, if it exists, without checking that a rule grants it.
    pub(super) fn deny_folder(&mut self, folder: &Path) {
        if let Ok(folder) = folder.canonicalize() {
            self.0.insert(
                escape_pattern(&folder).to_string_lossy().into_owned(),
                SandboxAccess::Deny,
            );
        }
    }

    /// Returns the denied files of git's settings with their content, without credentials. Reads the file system.
    pub(super) fn copy_git_settings(&self) -> Vec<(PathBuf, String)> {
        let denied = self.0.iter().filter(|(_, access)| **access == SandboxAccess::Deny);
        let paths = denied.map(|(path, _)| PathBuf::from(path)).filter(|path| is_plain(path));
        paths
            .filter_map(|path| secret_files::copy_settings(&path).map(|copy| (path, copy)))
            .collect()
    }

    pub(super) fn allow_writing(&mut self, folder: &Path) {
        self.0.insert(folder.to_string_lossy().into_owned(), SandboxAccess::Write);
    }

    /// Returns the rules in Codex's format, with write access to `scratch` if given.
    pub(super) fn with_scratch(&self, scratch: Option<&Path>) -> Map<String, Value> {
        let rules = self.0.iter().map(|(path, access)| (path.clone(), access.to_json()));
        let own = scratch
            .map(|path| (path.to_string_lossy().into_owned(), SandboxAccess::Write.to_json()));
        rules.chain(own).collect()
    }
}

/// Drops paths inside other ones of `paths`, because the sandbox cannot mount one denied path inside another.
fn retain_outermost(mut paths: BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    // A folder sorts before its content.
    let mut outer: Option<PathBuf> = None;
    paths.retain(|path| {
        let is_inside = outer.as_ref().is_some_and(|outer| path.starts_with(outer));
        if !is_inside {
            outer = Some(path.clone());
        }
        !is_inside
    });
    paths
}

/// Returns `folder`, or its entries without `program` inside it: nothing in a denied folder can be granted.
fn exclude_program_files(folder: PathBuf, program: &[PathBuf]) -> Vec<PathBuf> {
    if !program.iter().any(|file| file.starts_with(&folder)) {
        return vec![folder];
    }
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let others = entries.map(|entry| entry.path());
    others.filter(|path| !program.iter().any(|file| file.starts_with(path))).collect()
}

impl SandboxAccess {
    fn to_json(self) -> Value {
        match self {
            Self::Read => json!("read"),
            Self::Write => json!("write"),
            Self::Deny => json!("deny"),
        }
    }
}

/// Returns true if Codex reads `path` literally and not as a pattern.
pub(super) fn is_plain(path: &Path) -> bool {
    path.to_str().is_some_and(|path| !path.contains(['*', '?', '[']))
}

/// Escapes `path` so that Codex matches this path alone.
fn escape_pattern(path: &Path) -> PathBuf {
    if is_plain(path) {
        return path.to_owned();
    }
    let mut pattern = String::new();
    for character in path.to_string_lossy().chars() {
        match character {
            '*' | '?' | '[' | '{' | '}' => pattern.extend(['[', character, ']']),
            character => pattern.push(character),
        }
    }
    pattern.into()
}

/// Reduces `paths` to at most `room` paths that cover them and contain none of `roots`. Also returns the roots
/// whose secrets cannot be covered; they must not be granted.
fn merge_denied_paths(
    mut paths: BTreeSet<PathBuf>,
    roots: &BTreeSet<PathBuf>,
    room: usize,
) -> (BTreeSet<PathBuf>, BTreeSet<PathBuf>) {
    let mut lost = BTreeSet::new();
    while paths.len() > room {
        if let Some(folder) = find_fullest_folder(&paths, roots) {
            paths.retain(|path| !path.starts_with(&folder));
            paths.insert(folder);
        } else if let Some(root) =
            roots.iter().filter(|root| !lost.contains(*root)).max_by_key(|root| {
                let count = paths.iter().filter(|path| path.starts_with(root)).count();
                // Outer roots first, because they also grant the content of inner ones.
                (count, Reverse(root.components().count()))
            })
        {
            lost.insert(root.clone());
            let granted: Vec<&PathBuf> = roots.difference(&lost).collect();
            paths.retain(|path| granted.iter().any(|root| path.starts_with(root)));
        } else {
            break;
        }
    }
    (paths, lost)
}

/// Returns the folder that may be denied with most of `paths` as direct children, the deepest of several.
fn find_fullest_folder(paths: &BTreeSet<PathBuf>, roots: &BTreeSet<PathBuf>) -> Option<PathBuf> {
    let mut counts: BTreeMap<&Path, usize> = BTreeMap::new();
    for folder in paths.iter().filter_map(|path| path.parent()) {
        // A root in a denied folder could not be read.
        if roots.iter().all(|root| !root.starts_with(folder)) {
            *counts.entry(folder).or_default() += 1;
        }
    }
    let fullest =
        counts.into_iter().max_by_key(|(folder, count)| (*count, folder.components().count()));
    fullest.map(|(folder, _)| folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(paths: &[&str]) -> BTreeSet<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn secrets_that_lie_together_are_denied_with_their_folder() {
        let roots = set(&["/r"]);
        let secrets = set(&["/r/a", "/r/certs/1", "/r/certs/2", "/r/certs/3", "/r/x/y/1"]);
        assert_eq!(merge_denied_paths(secrets.clone(), &roots, 5), (secrets.clone(), set(&[])));
        assert_eq!(
            merge_denied_paths(secrets.clone(), &roots, 4),
            (set(&["/r/a", "/r/certs", "/r/x/y/1"]), set(&[]))
        );
        assert_eq!(merge_denied_paths(secrets, &roots, 0), (set(&[]), set(&["/r"])));
    }

    #[test]
    fn a_root_that_is_given_up_leaves_the_secrets_of_those_inside_it_denied() {
        let roots = set(&["/r", "/r/in"]);
        let secrets = set(&["/r/1", "/r/2", "/r/in/3"]);
        assert_eq!(merge_denied_paths(secrets, &roots, 1), (set(&["/r/in/3"]), set(&["/r"])));
        // The outer root would still grant the content of the inner one.
        let secrets = set(&["/r/in/1", "/r/in/2"]);
        assert_eq!(merge_denied_paths(secrets, &roots, 1), (set(&[]), set(&["/r", "/r/in"])));
    }

    #[test]
    fn a_root_inside_another_is_never_denied() {
        let roots = set(&["/r", "/r/in/ner"]);
        let secrets = set(&["/r/in/1", "/r/in/2", "/r/in/ner/3", "/r/other/4", "/r/other/5"]);
        assert_eq!(
            merge_denied_paths(secrets, &roots, 4),
            (set(&["/r/in/1", "/r/in/2", "/r/in/ner/3", "/r/other"]), set(&[]))
        );
    }
}
