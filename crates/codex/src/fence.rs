//! What the model's shell may read: the indexed folders, the system's programs, and nothing else of the
//! user's. Written as a permission profile of Codex.
//!
//! The profile is given to each thread before anything runs in it, and no `sandboxPolicy` after that, which
//! would silently replace it. Folders with keys are denied only where a root or the system's folders
//! would grant them, because no rule can grant reading inside a denied folder.

mod git;
mod narrow;
mod sight;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use codeinfo_worktree::private_places::PrivatePlaces;
use serde_json::{Map, Value, json};

use self::narrow::merge_denied_paths;
pub(super) use self::sight::SecretLocator;

/// An indexed folder, which the model's shell may read except for some files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadableRoot {
    pub folder: PathBuf,
    /// Absolute paths of files in it that are secrets.
    pub private_files: Vec<PathBuf>,
}

/// An indexed folder that the model's shell does not read, although search finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExcludedRoot {
    pub folder: PathBuf,
    pub reason: &'static str,
}

/// Codex takes such a path for a pattern, and grants nothing by patterns.
const PATTERN: &str = "its path has one of `*?[`";
const TOO_MANY: &str = "its secrets lie in too many places; index folders of it instead, or put \
                        them into fewer folders";
const INSIDE: &str = "it lies in a folder of another repository that is kept from the shell for its \
                      secrets";

/// What else a fence is built from.
#[derive(Debug, Clone, Default)]
pub(super) struct SandboxContext {
    /// Codex's own files, without which no command starts.
    pub(super) program: Vec<PathBuf>,
    /// Places that hold keys, conversations and the index: the user's, Codex's, and ours.
    pub(super) private: PrivatePlaces,
}

/// The rules of one profile, by path. A path that no rule covers does not exist for the shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SandboxRules(BTreeMap<String, SandboxAccess>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SandboxAccess {
    Read,
    Write,
    Deny,
}

/// Most denied paths of one profile. The cost of each command grows with their square: 0.4 s at a
/// hundred, 5 s at five hundred (Codex 0.169).
const MAX_DENIED: usize = 100;

/// Codex's name for the system's programs and settings: `/usr`, `/etc` and their like.
const SYSTEM: &str = ":minimal";
/// What that stands for.
const SYSTEM_FOLDERS: [&str; 8] =
    ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr", "/etc", "/opt"];
/// What no command needs of it, where the server is run by a user who may read it.
const SYSTEM_SECRETS: [&str; 8] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ssl/private",
    "/etc/ssh",
    "/etc/krb5.keytab",
    "/etc/codex",
];

impl SandboxRules {
    /// Builds the fence around `readable`, of which [`Sight`] knows the secrets, and returns those that
    /// it leaves out. Reads the file system, but not at theirs.
    pub(super) fn build(
        readable: &[ReadableRoot],
        surroundings: &SandboxContext,
    ) -> (Self, Vec<ExcludedRoot>) {
        let (open, closed): (Vec<&ReadableRoot>, Vec<&ReadableRoot>) =
            readable.iter().partition(|readable| is_plain(&readable.folder));
        let unread = |folder: &Path, reason| ExcludedRoot { folder: folder.to_owned(), reason };
        let mut left_out: Vec<ExcludedRoot> =
            closed.iter().map(|readable| unread(&readable.folder, PATTERN)).collect();
        let (mut roots, mut private) = (BTreeSet::new(), BTreeSet::new());
        for readable in open {
            roots.insert(readable.folder.clone());
            private.extend(readable.private_files.iter().cloned());
        }
        let system = SYSTEM_SECRETS.iter().filter_map(|path| Path::new(path).canonicalize().ok());
        let hidden = surroundings.private.resolve().into_paths().chain(system);
        let is_granted = |path: &PathBuf| {
            let mut granted = roots.iter().chain(&surroundings.program);
            granted.any(|root| path.starts_with(root))
                || SYSTEM_FOLDERS.iter().any(|folder| path.starts_with(folder))
        };
        // What nothing grants need not be denied, and must not: a root below it could not be read.
        let hidden = retain_outermost(
            hidden
                .filter(is_granted)
                .flat_map(|path| exclude_program_files(path, &surroundings.program))
                .collect(),
        );
        private.retain(|path| !hidden.iter().any(|above| path.starts_with(above)));
        let private = retain_outermost(private);
        let room = MAX_DENIED.saturating_sub(hidden.len());
        roots.retain(|root| {
            let is_inside = private.iter().any(|above| root.starts_with(above));
            if is_inside {
                left_out.push(unread(root, INSIDE));
            }
            !is_inside
        });
        let (private, lost) = merge_denied_paths(private, &roots, room);
        left_out.extend(lost.iter().map(|root| unread(root, TOO_MANY)));
        let mut rules = BTreeMap::from([(SYSTEM.to_owned(), SandboxAccess::Read)]);
        let mut rule = |path: &Path, access| {
            rules.insert(path.to_string_lossy().into_owned(), access);
        };
        surroundings.program.iter().for_each(|path| rule(path, SandboxAccess::Read));
        roots.difference(&lost).for_each(|root| rule(root, SandboxAccess::Read));
        hidden
            .iter()
            .chain(&private)
            .for_each(|path| rule(&escape_pattern(path), SandboxAccess::Deny));
        (Self(rules), left_out)
    }

    /// Denies `folder`, if it is there, although nothing may grant it.
    pub(super) fn deny_folder(&mut self, folder: &Path) {
        if let Ok(folder) = folder.canonicalize() {
            self.0.insert(
                escape_pattern(&folder).to_string_lossy().into_owned(),
                SandboxAccess::Deny,
            );
        }
    }

    /// Returns the files of git's settings that are denied, each with its content without credentials. Reads
    /// the file system.
    pub(super) fn copy_git_settings(&self) -> Vec<(PathBuf, String)> {
        let denied = self.0.iter().filter(|(_, access)| **access == SandboxAccess::Deny);
        let paths = denied.map(|(path, _)| PathBuf::from(path)).filter(|path| is_plain(path));
        paths.filter_map(|path| git::copy_settings(&path).map(|copy| (path, copy))).collect()
    }

    /// Grants writing into `folder`.
    pub(super) fn allow_writing(&mut self, folder: &Path) {
        self.0.insert(folder.to_string_lossy().into_owned(), SandboxAccess::Write);
    }

    /// Returns the rules as Codex takes them, with the right to write into `scratch`, if there is one.
    pub(super) fn with_scratch(&self, scratch: Option<&Path>) -> Map<String, Value> {
        let rules = self.0.iter().map(|(path, access)| (path.clone(), access.to_json()));
        let own = scratch
            .map(|path| (path.to_string_lossy().into_owned(), SandboxAccess::Write.to_json()));
        rules.chain(own).collect()
    }
}

/// Drops what lies in another one of `paths`: the sandbox cannot make the place of one inside another.
fn retain_outermost(mut paths: BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    // In order, a folder comes first.
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

/// Returns `folder`, or what is in it beside `program`, if that is in it: Codex may be installed in its
/// own folder, and nothing in a denied folder can be granted.
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

/// Whether Codex takes `path` as it stands, and not for a pattern.
pub(super) fn is_plain(path: &Path) -> bool {
    path.to_str().is_some_and(|path| !path.contains(['*', '?', '[']))
}

/// Returns `path` as a pattern that matches it alone, where Codex would take it for another pattern.
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
