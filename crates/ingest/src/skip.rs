//! Files that should have been indexed but could not be: their count and names.

use std::{collections::BTreeMap, fmt, io};

use codeinfo_core::{OmissionRule, OmittedGroup, OmittedPaths, plain_name};
use codeinfo_worktree::{
    beneath::{self, ObjectFault},
    ignored,
};

use super::scope::PathScope;

/// Reason why a file could not be indexed, although no rule excludes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// The file is larger than the limit.
    TooLarge,
    /// The file or its folder could not be read.
    Unreadable,
    /// The path is not UTF-8.
    PathNotUtf8,
    /// The file contains a private key, or only secrets.
    HoldsSecret,
    /// The content is not in the repository, which is a partial clone.
    NotFetched,
    /// The folder is another repository: a submodule or a worktree.
    Module,
    IgnoreFile(ignored::IgnoreError),
}

impl SkipReason {
    pub(super) fn from_io_error(error: &io::Error) -> Self {
        match beneath::as_object_fault(error) {
            Some(ObjectFault::Missing) => Self::NotFetched,
            _ if error.kind() == io::ErrorKind::FileTooLarge => Self::TooLarge,
            _ => Self::Unreadable,
        }
    }

    /// Returns true if the file exists and its former index may still be correct.
    pub(super) fn is_temporary(self) -> bool {
        matches!(self, Self::Unreadable | Self::NotFetched)
    }

    /// Returns the rule of this reason. Ignore files have no rule.
    pub(super) fn omission_rule(self) -> Option<OmissionRule> {
        Some(match self {
            Self::TooLarge => OmissionRule::TooLarge,
            Self::Unreadable => OmissionRule::Unreadable,
            Self::PathNotUtf8 => OmissionRule::PathNotUtf8,
            Self::HoldsSecret => OmissionRule::HoldsSecret,
            Self::NotFetched => OmissionRule::NotFetched,
            Self::Module => OmissionRule::Module,
            Self::IgnoreFile(_) => return None,
        })
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IgnoreFile(error) => error.fmt(formatter),
            reason => formatter.write_str(reason.omission_rule().map_or("", OmissionRule::as_str)),
        }
    }
}

/// A skipped file and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedPath {
    /// Path below the root.
    pub path: String,
    pub reason: SkipReason,
}

/// Skipped files: the count of all, and the names of the first in path order.
#[derive(Debug, Default)]
pub(super) struct SkipSummary {
    pub(super) count: u64,
    named: BTreeMap<String, Vec<SkipReason>>,
    /// File added last. It may get several reasons.
    last: String,
    /// Paths excluded by rules, including the skipped files.
    pub(super) omitted: OmittedPaths,
}

impl SkipSummary {
    /// Maximum number of skipped files that are named.
    pub(super) const NAMED: usize = 200;
    /// Maximum number of files that a message names.
    const IN_MESSAGE: usize = 10;

    /// Adds a file and a reason. Several reasons of one file must be added one after the other.
    pub(super) fn add(&mut self, SkippedPath { path, reason }: SkippedPath) {
        if let Some(reasons) = self.named.get_mut(&path) {
            reasons.push(reason);
            return;
        }
        if self.count > 0 && self.last == path {
            return;
        }
        self.count += 1;
        self.last.clone_from(&path);
        match reason.omission_rule() {
            Some(OmissionRule::Module) => self.omitted.add_folder(OmissionRule::Module, &path),
            Some(rule) => self.omitted.add_file(rule, &path),
            None => {}
        }
        // A sorted map makes the message independent of the order in which parallel readers finish.
        self.named.insert(path, vec![reason]);
        if Self::NAMED < self.named.len() {
            self.named.pop_last();
        }
    }

    /// Returns the named files in path order, each with its reasons.
    pub(super) fn named_files(&self) -> Vec<(String, String)> {
        self.named.iter().map(|(path, reasons)| (path.clone(), join_reasons(reasons))).collect()
    }

    /// Returns a message such as `skipped 2 files: a.txt (too large), b.txt (unreadable)`, if any.
    pub(super) fn message(&self) -> Option<String> {
        if self.count == 0 {
            return None;
        }
        let name = |(path, reasons): (&String, &Vec<SkipReason>)| {
            format!("{path} ({})", join_reasons(reasons))
        };
        let named: Vec<String> = self.named.iter().take(Self::IN_MESSAGE).map(name).collect();
        let files = if self.count == 1 { "file" } else { "files" };
        let rest = self.count - named.len() as u64;
        let more = if rest == 0 { String::new() } else { format!(" and {rest} more") };
        Some(format!("skipped {} {files}: {}{more}", self.count, named.join(", ")))
    }
}

/// Returns a line for each rule that excluded paths, skipped files aside, with how to include one.
pub(super) fn omission_lines(omitted: &OmittedPaths) -> Vec<String> {
    /// Maximum number of paths of one rule that a message names.
    const MAX_EXAMPLES: usize = 5;
    /// Maximum characters of such a path.
    const MAX_PATH: usize = 120;
    let groups = omitted.groups().filter(|(rule, _)| !rule.is_failure());
    let line = |(rule, group): (OmissionRule, &OmittedGroup)| {
        let examples: Vec<String> = group
            .example_paths(MAX_EXAMPLES)
            .into_iter()
            .map(|path| plain_name(path, MAX_PATH))
            .collect();
        format!("left out {} ({}): {}", group.describe_counts(), rule.as_str(), examples.join(", "))
    };
    let mut lines: Vec<String> = groups.map(line).collect();
    let mut overruled = omitted.groups().filter(|(rule, _)| rule.can_be_overruled());
    if let Some((_, group)) = overruled.next()
        && let Some(path) = group.example_paths(1).first()
    {
        let path = plain_name(path, MAX_PATH);
        lines.push(format!("(`!{path}` in `.codeinfoignore` brings `{path}` in)"));
    }
    lines
}

fn join_reasons(reasons: &[SkipReason]) -> String {
    let texts: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

/// Files that an index lacks because they could not be indexed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MissingFiles {
    /// Paths below the root and reasons, in path order; at most `SkipSummary::NAMED`.
    pub named: Vec<(String, String)>,
    /// Number of all missing files.
    pub total: u64,
}

impl MissingFiles {
    pub(super) fn from_summary(skips: &SkipSummary) -> Self {
        Self { named: skips.named_files(), total: skips.count }
    }

    /// Adds the missing files known before that are outside the scope of the run.
    pub(super) fn with_rest(mut self, before: &Self, scope: &PathScope) -> Self {
        let is_covered = |(path, _): &&(String, String)| scope.covers(path);
        let covered = before.named.iter().filter(is_covered).count() as u64;
        self.total += before.total.saturating_sub(covered);
        let rest = before.named.iter().filter(|file| !is_covered(file)).cloned();
        self.named.extend(rest);
        self.named.sort();
        self.named.truncate(SkipSummary::NAMED);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMED: usize = SkipSummary::IN_MESSAGE;

    #[test]
    fn the_first_files_are_named_and_all_counted() {
        let mut skips = SkipSummary::default();
        assert_eq!(skips.message(), None);
        skips.add(SkippedPath { path: "a".to_owned(), reason: SkipReason::Unreadable });
        assert_eq!(skips.message().unwrap(), "skipped 1 file: a (unreadable)");
        for at in 0..NAMED {
            skips.add(SkippedPath { path: format!("b{at}"), reason: SkipReason::TooLarge });
        }
        assert!(skips.message().unwrap().ends_with("b8 (too large) and 1 more"));
    }

    #[test]
    fn each_rule_has_a_line() {
        let mut omitted = OmittedPaths::default();
        assert_eq!(omission_lines(&omitted), [""; 0]);
        omitted.add_folder(OmissionRule::Vendored, "vendor");
        omitted.add_file(OmissionRule::TooLarge, "large.rs");
        for number in 0..7 {
            omitted.add_file(OmissionRule::Binary, &format!("{number}.png"));
        }
        insta::assert_snapshot!(omission_lines(&omitted).join("\n"), @r"
        left out 1 folder (other people's code): vendor/
        left out 7 files (no text): 0.png, 1.png, 2.png, 3.png, 4.png, …
        (`!vendor/` in `.codeinfoignore` brings `vendor/` in)
        ");
    }

    #[test]
    fn a_file_with_two_reasons_is_counted_once() {
        let mut skips = SkipSummary::default();
        for path in ["b", "a"] {
            skips.add(SkippedPath { path: path.to_owned(), reason: SkipReason::TooLarge });
            skips.add(SkippedPath { path: path.to_owned(), reason: SkipReason::Unreadable });
        }
        let all = "skipped 2 files: a (too large; unreadable), b (too large; unreadable)";
        assert_eq!(skips.message().unwrap(), all);
        // The same holds for a file that is not named.
        for at in 0..SkipSummary::NAMED {
            skips.add(SkippedPath { path: format!("A{at:03}"), reason: SkipReason::TooLarge });
        }
        skips.add(SkippedPath { path: "z".to_owned(), reason: SkipReason::TooLarge });
        skips.add(SkippedPath { path: "z".to_owned(), reason: SkipReason::Unreadable });
        assert_eq!(skips.count, 203);
        let named = skips.named_files();
        assert_eq!((named.len(), named[199].0.as_str()), (200, "A199"));
    }
}
