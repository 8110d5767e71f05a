//! Files that should have been indexed and could not be, counted and named.

use std::{collections::BTreeMap, fmt, io};

use codeinfo_core::{OmissionRule, OmittedGroup, OmittedPaths, plain_name};
use codeinfo_worktree::beneath::{self, ObjectFault};

use super::{discover::ignored, scope::PathScope};

/// Why a file is not indexed, although nothing asked to leave it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// Larger than the limit.
    TooLarge,
    /// It or its folder could not be read.
    Unreadable,
    /// Its path is not UTF-8.
    PathNotUtf8,
    /// It holds a private key, or is nothing but secrets.
    HoldsSecret,
    /// Its content is not in the repository, which is a partial clone.
    NotFetched,
    /// A folder that is another repository: a submodule, or a worktree.
    Module,
    /// An ignore file that does not count, or not as a whole.
    IgnoreFile(ignored::IgnoreError),
}

impl SkipReason {
    /// Says why something could not be read.
    pub(super) fn from_io_error(error: &io::Error) -> Self {
        match beneath::as_object_fault(error) {
            Some(ObjectFault::Missing) => Self::NotFetched,
            _ if error.kind() == io::ErrorKind::FileTooLarge => Self::TooLarge,
            _ => Self::Unreadable,
        }
    }

    /// Whether it is there, and what is known of it from before may still be so.
    pub(super) fn is_passing(self) -> bool {
        matches!(self, Self::Unreadable | Self::NotFetched)
    }

    /// Returns the rule that it is an instance of; an ignore file that does not count is left out by none.
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

/// A file that was skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedPath {
    /// Path below the root.
    pub path: String,
    pub reason: SkipReason,
}

/// Skipped files: all counted, the first few in order of path named.
#[derive(Debug, Default)]
pub(super) struct SkipSummary {
    pub(super) count: u64,
    named: BTreeMap<String, Vec<SkipReason>>,
    /// The file that was added last, which may have several reasons.
    last: String,
    /// What rules left out, these files included.
    pub(super) omitted: OmittedPaths,
}

impl SkipSummary {
    /// How many skipped files are named.
    pub(super) const NAMED: usize = 200;
    /// How many of them a message names.
    const IN_MESSAGE: usize = 10;

    /// Adds a file and a reason. Several reasons of one file come one after the other.
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
        // In order: readers run side by side, and the same files make the same message.
        self.named.insert(path, vec![reason]);
        if Self::NAMED < self.named.len() {
            self.named.pop_last();
        }
    }

    /// Returns the named files, in order of path, and why each was skipped.
    pub(super) fn named_files(&self) -> Vec<(String, String)> {
        self.named.iter().map(|(path, reasons)| (path.clone(), join_reasons(reasons))).collect()
    }

    /// Returns `skipped 2 files: a.txt (too large), b.txt (unreadable)`, or `None` without any.
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

/// Returns a line for each rule that left something out which was not skipped, and how it is brought back.
pub(super) fn omission_lines(omitted: &OmittedPaths) -> Vec<String> {
    /// Maximum number of paths of one rule that a message names.
    const MAX_EXAMPLES: usize = 5;
    /// Maximum number of characters of one.
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
    let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    reasons.join("; ")
}

/// The files that are missing in an index since they could not be indexed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MissingFiles {
    /// Paths below the root and why, in order of path; at most [`Skips::NAMED`].
    pub named: Vec<(String, String)>,
    /// How many there are.
    pub total: u64,
}

impl MissingFiles {
    /// Takes over what a run skipped.
    pub(super) fn from_summary(skips: &SkipSummary) -> Self {
        Self { named: skips.named_files(), total: skips.count }
    }

    /// Adds what was known before of the files that a run did not look at.
    pub(super) fn with_rest(mut self, before: &Self, scope: &PathScope) -> Self {
        let is_covered = |(path, _): &&(String, String)| scope.covers(path);
        let covered = before.named.iter().filter(is_covered).count() as u64;
        self.total += before.total.saturating_sub(covered);
        let rest = before.named.iter().filter(|one| !is_covered(one)).cloned();
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
    fn the_first_few_are_named_and_all_are_counted() {
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
    fn each_rule_has_a_line_with_its_count_and_the_first_paths() {
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
    fn a_file_with_two_reasons_is_named_and_counted_once() {
        let mut skips = SkipSummary::default();
        for path in ["b", "a"] {
            skips.add(SkippedPath { path: path.to_owned(), reason: SkipReason::TooLarge });
            skips.add(SkippedPath { path: path.to_owned(), reason: SkipReason::Unreadable });
        }
        let all = "skipped 2 files: a (too large; unreadable), b (too large; unreadable)";
        assert_eq!(skips.message().unwrap(), all);
        // Also when it is not named.
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
