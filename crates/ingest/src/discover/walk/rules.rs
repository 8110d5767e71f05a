//! Reads the rules that a folder adds to a walk: its ignore files, and the generated files of its
//! `.gitattributes`.

use std::{io, path::Path};

use codeinfo_worktree::beneath::{self, FolderEntry, FolderEntryKind};

use super::{RootWalk, WalkEntry};
use crate::{
    discover::{
        attributes,
        ignored::{self, IgnoreError, IgnoreRules},
    },
    skip::SkipReason,
};

impl RootWalk<'_> {
    /// Reads the ignore files of a folder.
    pub(super) fn read_rules(&mut self, step: &WalkEntry, entries: &[FolderEntry]) -> IgnoreRules {
        let mut contents = ignored::IgnoreFileContents::default();
        for (name, content) in ignored::NAMES.into_iter().zip(&mut contents) {
            let first = name.split('/').next().unwrap_or_default();
            let Some(entry) = entries.iter().find(|entry| entry.name == first) else { continue };
            let read = match entry.kind {
                FolderEntryKind::File if first == name => self.ignore_file(&step.path.join(name)),
                // In a worktree `.git` is a file that names a folder elsewhere, which is not read.
                FolderEntryKind::Folder if first != name => {
                    match self.ignore_file(&step.path.join(name)) {
                        Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                        read => read,
                    }
                }
                _ if first != name => continue,
                _ => Err(io::ErrorKind::InvalidInput.into()),
            };
            match read {
                Ok(_) if self.spent.is_all() => {
                    self.skip_patterns(step, name, IgnoreError::TooManyInAll);
                }
                Ok(read) => *content = Some(read),
                Err(_) => self.skip_patterns(step, name, IgnoreError::NotRegular),
            }
        }
        let mut rules = step.rules.clone();
        if contents.iter().any(Option::is_some) {
            let (with, errors) = rules.with_ignore_files(&step.text, &contents);
            self.spent.add_folder(&with, &rules);
            for (name, error) in errors {
                self.skip_patterns(step, name, error);
            }
            rules = with;
        }
        let is_attributes = |entry: &FolderEntry| {
            entry.name == attributes::NAME && entry.kind == FolderEntryKind::File
        };
        if entries.iter().any(is_attributes) { self.with_generated(step, rules) } else { rules }
    }

    /// Adds the generated files of a folder's attributes to its rules.
    fn with_generated(&mut self, step: &WalkEntry, rules: IgnoreRules) -> IgnoreRules {
        let Ok(mut content) = self.ignore_file(&step.path.join(attributes::NAME)) else {
            return rules;
        };
        let is_too_large = ignored::MAX_BYTES < content.len();
        if is_too_large {
            let whole_lines = content.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
            content.truncate(whole_lines);
        }
        let patterns = attributes::read_patterns(&content);
        if patterns.is_empty() {
            return rules;
        }
        if self.spent.is_all() {
            self.skip_patterns(step, attributes::NAME, IgnoreError::TooManyInAll);
            return rules;
        }
        let (with, error) = rules.with_generated(&step.text, &patterns);
        self.spent.add_folder(&with, &rules);
        if let Some(error) = error.or(is_too_large.then_some(IgnoreError::TooLarge)) {
            self.skip_patterns(step, attributes::NAME, error);
        }
        with
    }

    /// Reads an ignore file up to one byte above the limit, which proves that it is too large.
    fn ignore_file(&self, path: &Path) -> io::Result<Vec<u8>> {
        let (file, _) = self.root.open_file(path)?;
        beneath::read_to_limit(file, ignored::MAX_BYTES as u64 + 1, || self.way.pulse.beat())
    }

    /// Reports an ignore file that is ignored, wholly or in part.
    fn skip_patterns(&mut self, step: &WalkEntry, name: &str, error: IgnoreError) {
        let path = if step.is_root() { name.to_owned() } else { format!("{}/{name}", step.text) };
        self.skip_path(path, SkipReason::IgnoreFile(error));
    }
}
