//! What rules leave out of an index: how much by each, and the first paths by name.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    paths::{ends_with, is_below},
    plain_name,
};

/// Maximum number of characters of a path in a message.
const MAX_PATH_CHARS: usize = 120;

/// Rule that leaves something out of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OmissionRule {
    /// Folder of other people's code.
    Vendored,
    /// Folder that a build makes.
    Built,
    /// An ignore file asks for it.
    Ignored,
    /// Its name begins with a dot.
    Hidden,
    /// Text in lines that no person writes.
    Minified,
    /// A program wrote it.
    Generated,
    /// A drawing in the form of text.
    Drawing,
    /// It records which versions of packages were chosen.
    LockFile,
    /// Its name or its first bytes show that it is no text.
    Binary,
    /// Its name is that of a secret.
    Secret,
    /// It holds a private key, or is nothing but secrets.
    HoldsSecret,
    /// A link, a pipe or a device.
    Link,
    /// The index, or other data of ours.
    OwnData,
    /// Larger than the limit.
    TooLarge,
    /// Its path is not UTF-8.
    PathNotUtf8,
    /// It or its folder could not be read.
    Unreadable,
    /// Its content is not in the repository, which is a partial clone.
    NotFetched,
    /// Another repository: a submodule, or a worktree.
    Module,
    /// A rule of another version.
    #[serde(other)]
    Other,
}

impl OmissionRule {
    /// Rules that follow from the content of a file, each with the letter, no hex digit, that stands for it in a
    /// version.
    const OF_CONTENT: [(Self, char); 4] =
        [(Self::Minified, 'm'), (Self::Generated, 'g'), (Self::Drawing, 'v'), (Self::Binary, 'n')];

    /// Returns why the rule leaves something out, in a few words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Vendored => "other people's code",
            Self::Built => "made by a build",
            Self::Ignored => "ignored",
            Self::Hidden => "hidden",
            Self::Minified => "minified",
            Self::Generated => "generated",
            Self::Drawing => "drawing",
            Self::LockFile => "lock file",
            Self::Binary => "no text",
            Self::Secret => "secret by its name",
            Self::HoldsSecret => "holds secrets",
            Self::Link => "link",
            Self::OwnData => "data of CodeInfo itself",
            Self::TooLarge => "too large",
            Self::PathNotUtf8 => "its path is not UTF-8",
            Self::Unreadable => "unreadable",
            Self::NotFetched => {
                "not in this partial clone; `git fetch --refetch --no-filter` gets it"
            }
            Self::Module => "a repository of its own, which `codeinfo ingest` of this path indexes",
            Self::Other => "by a rule of another version",
        }
    }

    /// Returns whether `!PATH` in `.codeinfoignore` brings it in.
    pub fn can_be_overruled(self) -> bool {
        match self {
            Self::Vendored
            | Self::Built
            | Self::Ignored
            | Self::Hidden
            | Self::Minified
            | Self::Generated
            | Self::Drawing
            | Self::LockFile => true,
            Self::Binary
            | Self::Secret
            | Self::HoldsSecret
            | Self::Link
            | Self::OwnData
            | Self::TooLarge
            | Self::PathNotUtf8
            | Self::Unreadable
            | Self::NotFetched
            | Self::Module
            | Self::Other => false,
        }
    }

    /// Returns whether what it leaves out may hold names of code.
    pub fn may_hide_code(self) -> bool {
        !matches!(
            self,
            Self::Drawing
                | Self::LockFile
                | Self::Binary
                | Self::Secret
                | Self::Link
                | Self::OwnData
                | Self::Other
        )
    }

    /// Returns whether it leaves out what should have been indexed, and could not be.
    pub fn is_failure(self) -> bool {
        matches!(
            self,
            Self::HoldsSecret
                | Self::TooLarge
                | Self::PathNotUtf8
                | Self::Unreadable
                | Self::NotFetched
                | Self::Module
        )
    }

    /// Returns the letter that stands for a rule about content.
    pub(super) fn to_letter(self) -> Option<char> {
        Self::OF_CONTENT.iter().find(|(rule, _)| *rule == self).map(|(_, letter)| *letter)
    }

    /// Returns the rule about content that a letter stands for.
    pub(super) fn from_letter(letter: char) -> Option<Self> {
        Self::OF_CONTENT.iter().find(|(_, known)| *known == letter).map(|(rule, _)| *rule)
    }
}

/// Paths that one rule left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OmittedGroup {
    /// Number of files.
    pub files: u64,
    /// Number of folders, of which nothing is counted.
    pub folders: u64,
    /// The first files and folders, in order; a folder ends with `/`.
    pub paths: BTreeSet<String>,
}

impl OmittedGroup {
    /// Maximum number of paths that are kept of one rule.
    const MAX_PATHS: usize = 40;

    fn add_path(&mut self, path: String) {
        if path.ends_with('/') {
            self.folders += 1;
        } else {
            self.files += 1;
        }
        self.paths.insert(path);
        if Self::MAX_PATHS < self.paths.len() {
            // A folder says more than a file.
            let last_file = self.paths.iter().rev().find(|path| !path.ends_with('/')).cloned();
            match last_file {
                Some(file) => self.paths.remove(&file),
                None => self.paths.pop_last().is_some(),
            };
        }
    }

    /// Returns how many there are.
    pub fn total(&self) -> u64 {
        self.files + self.folders
    }

    /// Returns `3 folders and 1 file`.
    pub fn describe_counts(&self) -> String {
        count_paths(self.folders, self.files)
    }

    /// Returns the first paths, folders first, and `…` where there are more.
    pub fn example_paths(&self, max_paths: usize) -> Vec<&str> {
        let (folders, files): (Vec<&str>, Vec<&str>) =
            self.paths.iter().map(String::as_str).partition(|path| path.ends_with('/'));
        let more = (max_paths as u64) < self.total();
        let first = folders.into_iter().chain(files).take(max_paths);
        first.chain(more.then_some("…")).collect()
    }
}

/// What rules left out of the index of a root.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OmittedPaths {
    groups: BTreeMap<OmissionRule, OmittedGroup>,
    /// Whether all paths are kept, for who asks for a list.
    #[serde(skip)]
    pub names_all: bool,
}

impl OmittedPaths {
    /// Returns whether nothing was left out.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Adds a file.
    pub fn add_file(&mut self, rule: OmissionRule, path: &str) {
        self.add_path(rule, path.to_owned());
    }

    /// Adds a folder, of which nothing is walked.
    pub fn add_folder(&mut self, rule: OmissionRule, path: &str) {
        self.add_path(rule, format!("{path}/"));
    }

    fn add_path(&mut self, rule: OmissionRule, path: String) {
        let group = self.groups.entry(rule).or_default();
        if self.names_all {
            group.paths.insert(path);
        } else {
            group.add_path(path);
        }
    }

    /// Adds what other rules left out that `is_wanted`, with `prefix` before each path.
    pub fn add_groups(
        &mut self,
        other: &Self,
        prefix: &str,
        is_wanted: impl Fn(OmissionRule) -> bool,
    ) {
        for (rule, group) in other.groups.iter().filter(|(rule, _)| is_wanted(**rule)) {
            let own = self.groups.entry(*rule).or_default();
            let (files, folders) = (own.files + group.files, own.folders + group.folders);
            for path in &group.paths {
                own.add_path(format!("{prefix}{path}"));
            }
            (own.files, own.folders) = (files, folders);
        }
    }

    /// Returns the rules that left something out, the most telling first.
    pub fn groups(&self) -> impl Iterator<Item = (OmissionRule, &OmittedGroup)> {
        self.groups.iter().map(|(rule, group)| (*rule, group))
    }

    /// Says why a path is not in the index, and how it is brought in, if it is known to be left out.
    pub fn explain_path(&self, path: &str) -> Option<String> {
        let (rule, path) = self.find_omission(path).or_else(|| self.find_ending(path))?;
        Some(explain_omission(rule, path))
    }

    /// Finds a file or folder that was left out whose path ends with all parts of `end`.
    fn find_ending(&self, end: &str) -> Option<(OmissionRule, &str)> {
        let is_meant = |path: &&String| ends_with(path.trim_end_matches('/'), end);
        self.groups()
            .find_map(|(rule, group)| Some((rule, group.paths.iter().find(is_meant)?.as_str())))
    }

    /// Returns what is known by its path to be left out below a folder; of the root itself, all.
    #[must_use]
    pub fn filter_below(&self, folder: &str) -> Self {
        if folder.is_empty() {
            return self.clone();
        }
        let mut omitted = Self::default();
        for (rule, group) in &self.groups {
            for path in group.paths.iter().filter(|path| is_below(path, folder)) {
                omitted.groups.entry(*rule).or_default().add_path(path.clone());
            }
        }
        omitted
    }

    /// Finds what was left out at a path or above it: the rule, and the file or folder.
    pub fn find_omission(&self, path: &str) -> Option<(OmissionRule, &str)> {
        let above = path.match_indices('/').filter_map(|(at, _)| path.get(..=at));
        let whole = format!("{path}/");
        let wanted: Vec<&str> = above.chain([path, whole.as_str()]).collect();
        wanted.into_iter().find_map(|wanted| {
            self.groups().find_map(|(rule, group)| Some((rule, group.paths.get(wanted)?.as_str())))
        })
    }

    /// Adds what was known before of the paths that a run did not look at. Where a rule left out more than are kept
    /// by path, its counts stay until all is looked at again.
    #[must_use]
    pub fn with_rest(mut self, before: &Self, is_covered: impl Fn(&str) -> bool) -> Self {
        for (rule, group) in &before.groups {
            let now = self.groups.entry(*rule).or_default();
            let seen = std::mem::take(now);
            for path in group.paths.iter().filter(|path| !is_covered(path.trim_end_matches('/'))) {
                now.add_path(path.clone());
            }
            let is_whole = group.total() == group.paths.len() as u64;
            for path in seen.paths {
                if !now.paths.contains(&path) {
                    now.add_path(path);
                }
            }
            if !is_whole {
                (now.files, now.folders) = (group.files, group.folders);
            }
        }
        self.groups.retain(|_, group| 0 < group.total());
        self
    }
}

/// Says why a file, or a folder with a `/` at its end, is not in the index, and how it is brought in.
pub fn explain_omission(rule: OmissionRule, path: &str) -> String {
    let path = plain_name(path, MAX_PATH_CHARS).replace('`', "'");
    let hint = if rule.can_be_overruled() {
        format!("; `!{path}` in `.codeinfoignore` brings it in")
    } else {
        String::new()
    };
    format!("`{path}` was left out of the index ({}){hint}", rule.as_str())
}

/// Lists in one short line what was left out: for each rule how much, and one path, that of something called like
/// one of `names` if there is one.
pub fn list_omissions<'a>(
    groups: impl Iterator<Item = (OmissionRule, &'a OmittedGroup)>,
    names: &[&str],
) -> String {
    let describe = |(rule, group): (OmissionRule, &OmittedGroup)| {
        let is_meant = |path: &&&str| names.iter().any(|name| is_called(path, name));
        let examples = group.example_paths(OmittedGroup::MAX_PATHS);
        let example = examples.iter().find(is_meant).or(examples.first()).copied();
        let path = plain_name(example.unwrap_or_default(), MAX_PATH_CHARS);
        let more = match group.total() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{path}{more} ({})", rule.as_str())
    };
    groups.filter(|(_, group)| 0 < group.total()).map(describe).collect::<Vec<_>>().join(", ")
}

/// Returns `3 folders and 1 file`.
pub fn count_paths(folders: u64, files: u64) -> String {
    let counted = |count: u64, what: &str| match count {
        0 => None,
        1 => Some(format!("1 {what}")),
        count => Some(format!("{count} {what}s")),
    };
    let parts = [counted(folders, "folder"), counted(files, "file")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" and ")
}

/// Returns whether a file or folder has a name, with an ending or without.
fn is_called(path: &str, name: &str) -> bool {
    let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let stem = last.split('.').next().unwrap_or_default();
    last.eq_ignore_ascii_case(name) || stem.eq_ignore_ascii_case(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn omitted(files: &[&str], folders: &[&str]) -> OmittedPaths {
        let mut omitted = OmittedPaths::default();
        for path in files {
            omitted.add_file(OmissionRule::Ignored, path);
        }
        for path in folders {
            omitted.add_folder(OmissionRule::Vendored, path);
        }
        omitted
    }

    #[test]
    fn all_are_counted_and_the_first_are_named_folders_before_files() {
        let mut group = OmittedGroup::default();
        for number in 0..100 {
            group.add_path(format!("{number:03}.log"));
        }
        group.add_path("z/".to_owned());
        assert_eq!(group.describe_counts(), "1 folder and 100 files");
        assert_eq!(group.paths.len(), OmittedGroup::MAX_PATHS);
        assert_eq!(group.example_paths(3), ["z/", "000.log", "001.log", "…"]);
    }

    #[test]
    fn a_path_is_found_by_itself_and_by_the_folder_above() {
        let omitted = omitted(&["a.log"], &["x/vendor"]);
        assert_eq!(omitted.find_omission("a.log"), Some((OmissionRule::Ignored, "a.log")));
        for path in ["x/vendor", "x/vendor/deep/a.rs"] {
            assert_eq!(
                omitted.find_omission(path),
                Some((OmissionRule::Vendored, "x/vendor/")),
                "{path}"
            );
        }
        assert_eq!((omitted.find_omission("x"), omitted.find_omission("x/vendors")), (None, None));
    }

    #[test]
    fn a_run_of_a_part_leaves_what_is_known_of_the_rest() {
        let before = omitted(&["a.log", "src/b.log"], &["vendor"]);
        let now = omitted(&["src/c.log"], &[]).with_rest(&before, |path| path.starts_with("src/"));
        assert_eq!(now, omitted(&["a.log", "src/c.log"], &["vendor"]));
        // Nothing is counted twice where not all are named.
        let many: Vec<String> = (0..100).map(|number| format!("src/{number:03}.log")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let again = omitted(&["src/099.log"], &[]);
        let again = again.with_rest(&omitted(&many, &[]), |path| path == "src/099.log");
        assert_eq!(again.groups().next().unwrap().1.files, 100);
    }

    #[test]
    fn a_rule_of_another_version_is_read() {
        let read: OmittedPaths =
            serde_json::from_str(r#"{"newRule":{"files":1,"folders":0,"paths":["a"]}}"#).unwrap();
        assert_eq!(read.find_omission("a"), Some((OmissionRule::Other, "a")));
    }
}
