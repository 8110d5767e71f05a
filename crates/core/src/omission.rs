//! Omissions: files and folders that rules leave out of an index, with counts and example paths.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use codeinfo_lang::detect::{MachineFile, detect_machine_file};
use serde::{Deserialize, Serialize};

use super::{
    count_things,
    paths::{ends_with, is_below},
    plain_name,
};

/// Maximum number of characters of a path in a message.
const MAX_PATH_CHARS: usize = 120;

/// Rule that leaves a file or folder out of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OmissionRule {
    /// Folder with third-party code.
    Vendored,
    /// Folder with build output.
    Built,
    /// An ignore file excludes it.
    Ignored,
    /// Its name begins with a dot.
    Hidden,
    /// Text with lines that no person writes.
    Minified,
    /// File written by a program.
    Generated,
    /// Drawing in a text format.
    Drawing,
    /// File that records the chosen versions of packages.
    LockFile,
    /// Not text, judged by name or first bytes.
    Binary,
    /// Secret, judged by its name.
    Secret,
    /// File that contains a private key, or nothing but secrets.
    HoldsSecret,
    /// A link, a pipe or a device.
    Link,
    /// The index, or other data of CodeInfo.
    OwnData,
    /// File above the size limit.
    TooLarge,
    /// Path that is not UTF-8.
    PathNotUtf8,
    /// The file, or its folder, could not be read.
    Unreadable,
    /// Content missing from a partial clone.
    NotFetched,
    /// Another repository: a submodule or a worktree.
    Module,
    /// Rule of another version of CodeInfo.
    #[serde(other)]
    Other,
}

impl OmissionRule {
    /// Rules about a file's content, with the letter (no hex digit) that marks each in a version.
    const CONTENT_RULES: [(Self, char); 4] =
        [(Self::Minified, 'm'), (Self::Generated, 'g'), (Self::Drawing, 'v'), (Self::Binary, 'n')];

    /// Returns the rule that the names of a path show, if any.
    pub(crate) fn for_path(path: &str) -> Option<Self> {
        if path.split('/').any(|part| part.starts_with('.')) {
            return Some(Self::Hidden);
        }
        Self::for_file_name(path.rsplit('/').next().unwrap_or(path))
    }

    /// Returns the rule that leaves a file out by its name alone, if any.
    pub fn for_file_name(name: &str) -> Option<Self> {
        detect_machine_file(name).map(|file| match file {
            MachineFile::Binary => Self::Binary,
            MachineFile::LockFile => Self::LockFile,
            MachineFile::Generated => Self::Generated,
        })
    }

    /// Returns the reason in a few words.
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

    /// Returns whether `!PATH` in `.codeinfoignore` overrules the rule.
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

    /// Returns whether omitted files may contain names of code.
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

    /// Returns whether the omitted file should have been indexed but could not be.
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

    pub(super) fn to_letter(self) -> Option<char> {
        Self::CONTENT_RULES.iter().find(|(rule, _)| *rule == self).map(|(_, letter)| *letter)
    }

    pub(super) fn from_letter(letter: char) -> Option<Self> {
        Self::CONTENT_RULES.iter().find(|(_, known)| *known == letter).map(|(rule, _)| *rule)
    }
}

/// Paths that one rule left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OmittedGroup {
    /// Number of files, without those in omitted folders.
    pub files: u64,
    /// Number of folders.
    pub folders: u64,
    /// First files and folders in order. The path of a folder ends with `/`.
    pub paths: BTreeSet<String>,
}

impl OmittedGroup {
    /// Maximum number of paths stored per rule.
    const MAX_PATHS: usize = 40;

    fn add_path(&mut self, path: String) {
        if path.ends_with('/') {
            self.folders += 1;
        } else {
            self.files += 1;
        }
        self.paths.insert(path);
        if self.paths.len() > Self::MAX_PATHS {
            // A folder is more informative than a file.
            let last_file = self.paths.iter().rev().find(|path| !path.ends_with('/')).cloned();
            match last_file {
                Some(file) => self.paths.remove(&file),
                None => self.paths.pop_last().is_some(),
            };
        }
    }

    /// Returns the number of files and folders.
    pub fn total(&self) -> u64 {
        self.files + self.folders
    }

    /// Returns the counts in words, such as `3 folders and 1 file`.
    pub fn describe_counts(&self) -> String {
        count_paths(self.folders, self.files)
    }

    /// Returns at most `max_paths` paths, folders first, and `…` if there are more.
    pub fn example_paths(&self, max_paths: usize) -> Vec<&str> {
        let (folders, files): (Vec<&str>, Vec<&str>) =
            self.paths.iter().map(String::as_str).partition(|path| path.ends_with('/'));
        let more = (max_paths as u64) < self.total();
        let first = folders.into_iter().chain(files).take(max_paths);
        first.chain(more.then_some("…")).collect()
    }
}

/// Paths left out of the index of a root, by rule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OmittedPaths {
    /// Shared by clones, because each search clones all roots.
    groups: Arc<BTreeMap<OmissionRule, OmittedGroup>>,
    /// True if all paths are stored, for commands that list them.
    #[serde(skip)]
    pub keeps_all_paths: bool,
}

impl OmittedPaths {
    /// Returns whether no path was left out.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Adds a file.
    pub fn add_file(&mut self, rule: OmissionRule, path: &str) {
        self.add_path(rule, path.to_owned());
    }

    /// Adds a folder. Its content is not walked.
    pub fn add_folder(&mut self, rule: OmissionRule, path: &str) {
        self.add_path(rule, format!("{path}/"));
    }

    fn add_path(&mut self, rule: OmissionRule, path: String) {
        let group = Arc::make_mut(&mut self.groups).entry(rule).or_default();
        if self.keeps_all_paths {
            group.paths.insert(path);
        } else {
            group.add_path(path);
        }
    }

    /// Adds the groups of `other` whose rule `is_wanted`, with `prefix` before each path.
    pub fn add_groups(
        &mut self,
        other: &Self,
        prefix: &str,
        is_wanted: impl Fn(OmissionRule) -> bool,
    ) {
        for (rule, group) in other.groups.iter().filter(|(rule, _)| is_wanted(**rule)) {
            let own = Arc::make_mut(&mut self.groups).entry(*rule).or_default();
            let files = own.files + group.files;
            let folders = own.folders + group.folders;
            for path in &group.paths {
                own.add_path(format!("{prefix}{path}"));
            }
            own.files = files;
            own.folders = folders;
        }
    }

    /// Returns the rules that left something out, most important first.
    pub fn groups(&self) -> impl Iterator<Item = (OmissionRule, &OmittedGroup)> {
        self.groups.iter().map(|(rule, group)| (*rule, group))
    }

    /// Explains why a path is not in the index and how to include it; `None` if nothing is known.
    pub fn explain_path(&self, path: &str) -> Option<String> {
        let (rule, path) = self.find_omission(path).or_else(|| self.find_by_ending(path))?;
        Some(explain_omission(rule, path))
    }

    /// Finds an omitted file or folder whose path ends with all parts of `end`.
    fn find_by_ending(&self, end: &str) -> Option<(OmissionRule, &str)> {
        let has_end = |path: &&String| ends_with(path.trim_end_matches('/'), end);
        self.groups()
            .find_map(|(rule, group)| Some((rule, group.paths.iter().find(has_end)?.as_str())))
    }

    /// Returns the stored omissions below a folder. For the root itself, returns all omissions.
    #[must_use]
    pub fn filter_below(&self, folder: &str) -> Self {
        if folder.is_empty() {
            return self.clone();
        }
        let mut omitted = Self::default();
        for (rule, group) in self.groups.iter() {
            for path in group.paths.iter().filter(|path| is_below(path, folder)) {
                Arc::make_mut(&mut omitted.groups).entry(*rule).or_default().add_path(path.clone());
            }
        }
        omitted
    }

    /// Finds the rule and the omitted file or folder for a path or a folder above it.
    pub fn find_omission(&self, path: &str) -> Option<(OmissionRule, &str)> {
        let above = path.match_indices('/').filter_map(|(at, _)| path.get(..=at));
        let folder = format!("{path}/");
        let wanted: Vec<&str> = above.chain([path, folder.as_str()]).collect();
        wanted.into_iter().find_map(|wanted| {
            self.groups().find_map(|(rule, group)| Some((rule, group.paths.get(wanted)?.as_str())))
        })
    }

    /// Adds the omissions of `before` that this run did not cover. If a rule omitted more paths
    /// than are stored, its counts stay until a run covers everything.
    #[must_use]
    pub fn with_uncovered(mut self, before: &Self, is_covered: impl Fn(&str) -> bool) -> Self {
        for (rule, group) in before.groups.iter() {
            let merged = Arc::make_mut(&mut self.groups).entry(*rule).or_default();
            let seen = std::mem::take(merged);
            for path in group.paths.iter().filter(|path| !is_covered(path.trim_end_matches('/'))) {
                merged.add_path(path.clone());
            }
            let is_whole = group.total() == group.paths.len() as u64;
            for path in seen.paths {
                if !merged.paths.contains(&path) {
                    merged.add_path(path);
                }
            }
            if !is_whole {
                merged.files = group.files;
                merged.folders = group.folders;
            }
        }
        Arc::make_mut(&mut self.groups).retain(|_, group| group.total() > 0);
        self
    }
}

/// Explains why a file, or a folder ending with `/`, is not in the index and how to include it.
pub fn explain_omission(rule: OmissionRule, path: &str) -> String {
    let path = plain_name(path, MAX_PATH_CHARS).replace('`', "'");
    let hint = if rule.can_be_overruled() {
        format!("; `!{path}` in `.codeinfoignore` brings it in")
    } else {
        String::new()
    };
    format!("`{path}` was left out of the index ({}){hint}", rule.as_str())
}

/// Lists omissions in one short line: per rule the count and an example, of `names` if possible.
pub fn list_omissions<'a>(
    groups: impl Iterator<Item = (OmissionRule, &'a OmittedGroup)>,
    names: &[&str],
) -> String {
    let describe = |(rule, group): (OmissionRule, &OmittedGroup)| {
        let has_name = |path: &&&str| names.iter().any(|name| has_name_or_stem(path, name));
        let examples = group.example_paths(OmittedGroup::MAX_PATHS);
        let example = examples.iter().find(has_name).or(examples.first()).copied();
        let path = plain_name(example.unwrap_or_default(), MAX_PATH_CHARS);
        let more = match group.total() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{path}{more} ({})", rule.as_str())
    };
    groups.filter(|(_, group)| group.total() > 0).map(describe).collect::<Vec<_>>().join(", ")
}

/// Returns counts in words, such as `3 folders and 1 file`.
pub fn count_paths(folders: u64, files: u64) -> String {
    let counts = [(folders, "folder"), (files, "file")];
    let present = counts.into_iter().filter(|(count, _)| *count > 0);
    present.map(|(count, noun)| count_things(count, noun)).collect::<Vec<_>>().join(" and ")
}

/// Returns whether a file or folder has a name, with or without its extension. Ignores ASCII case.
fn has_name_or_stem(path: &str, name: &str) -> bool {
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
    fn omissions_are_counted_and_folders_are_listed_first() {
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
    fn a_partial_run_keeps_the_omissions_that_it_did_not_cover() {
        let before = omitted(&["a.log", "src/b.log"], &["vendor"]);
        let now =
            omitted(&["src/c.log"], &[]).with_uncovered(&before, |path| path.starts_with("src/"));
        assert_eq!(now, omitted(&["a.log", "src/c.log"], &["vendor"]));
        // Counts stay correct when not all paths are stored.
        let paths: Vec<String> = (0..100).map(|number| format!("src/{number:03}.log")).collect();
        let many: Vec<&str> = paths.iter().map(String::as_str).collect();
        let again = omitted(&["src/099.log"], &[])
            .with_uncovered(&omitted(&many, &[]), |path| path == "src/099.log");
        assert_eq!(again.groups().next().unwrap().1.files, 100);
    }

    #[test]
    fn a_rule_of_another_version_is_read() {
        let read: OmittedPaths =
            serde_json::from_str(r#"{"newRule":{"files":1,"folders":0,"paths":["a"]}}"#).unwrap();
        assert_eq!(read.find_omission("a"), Some((OmissionRule::Other, "a")));
    }
}
