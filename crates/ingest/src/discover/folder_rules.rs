//! Reads the rules that a folder adds to a walk: ignore files, and `linguist-generated` attributes.

use std::{io, path::Path};

use codeinfo_worktree::{
    beneath::{self, FolderEntry, FolderEntryKind},
    ignored::{self, IgnoreError, IgnoreRules},
};

use super::{walk::RootWalk, walk_entry::WalkEntry};
use crate::skip::SkipReason;

pub(super) const ATTRIBUTES_FILE: &str = ".gitattributes";
const ATTRIBUTE: &str = "linguist-generated";

/// Converts the lines about generated files to patterns of an ignore file, with a `!` before those
/// of files that are not generated. Both kinds of file match alike, and the last matching line
/// wins.
fn read_generated_patterns(content: &[u8]) -> Vec<u8> {
    let content = String::from_utf8_lossy(content);
    let mut patterns = String::new();
    for line in content.trim_start_matches('\u{feff}').lines() {
        let trimmed = line.trim_start();
        // `[attr]` defines a macro of attributes; Git refuses `!`.
        if trimmed.starts_with(['#', '!', '[']) && !is_class(trimmed) {
            continue;
        }
        let Some((pattern, attributes)) = split_pattern(trimmed) else { continue };
        let Some(is_generated) = attributes.split_whitespace().rev().find_map(read_attribute)
        else {
            continue;
        };
        if !is_generated {
            patterns.push('!');
        }
        patterns.push_str(&pattern);
        patterns.push('\n');
    }
    patterns.into_bytes()
}

/// Returns true if a line begins with a class of characters.
fn is_class(line: &str) -> bool {
    line.starts_with('[') && !line.starts_with("[attr]")
}

/// Splits a line after its pattern, which may be quoted.
fn split_pattern(line: &str) -> Option<(String, &str)> {
    let Some(quoted) = line.strip_prefix('"') else {
        let (pattern, attributes) = line.split_once(char::is_whitespace)?;
        return Some((pattern.to_owned(), attributes));
    };
    let (mut pattern, mut is_escaped) = (String::new(), false);
    for (at, character) in quoted.char_indices() {
        match character {
            '"' if !is_escaped => return Some((pattern, quoted.get(at + 1..)?)),
            '\\' if !is_escaped => is_escaped = true,
            _ => {
                pattern.push(character);
                is_escaped = false;
            }
        }
    }
    None
}

fn read_attribute(attribute: &str) -> Option<bool> {
    match attribute.strip_prefix(ATTRIBUTE) {
        Some("" | "=true" | "=1") => Some(true),
        Some("=false" | "=0") => Some(false),
        Some(_) => None,
        None => (attribute.strip_prefix(['-', '!']) == Some(ATTRIBUTE)).then_some(false),
    }
}

impl RootWalk<'_> {
    pub(super) fn read_rules(
        &mut self,
        folder: &WalkEntry,
        entries: &[FolderEntry],
    ) -> IgnoreRules {
        let mut contents = ignored::IgnoreFileContents::default();
        for (name, content) in ignored::NAMES.into_iter().zip(&mut contents) {
            let first = name.split('/').next().unwrap_or_default();
            let Some(entry) = entries.iter().find(|entry| entry.name == first) else { continue };
            let read = match entry.kind {
                FolderEntryKind::File if first == name => {
                    self.read_rule_file(&folder.os_path.join(name))
                }
                // In a worktree `.git` is a file that names a folder elsewhere, which is not read.
                FolderEntryKind::Folder if first != name => {
                    match self.read_rule_file(&folder.os_path.join(name)) {
                        Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                        read => read,
                    }
                }
                _ if first != name => continue,
                _ => Err(io::ErrorKind::InvalidInput.into()),
            };
            match read {
                Ok(_) if self.usage.is_exhausted() => {
                    self.skip_patterns(folder, name, IgnoreError::TooManyInAll);
                }
                Ok(read) => *content = Some(read),
                Err(_) => self.skip_patterns(folder, name, IgnoreError::NotRegular),
            }
        }
        let mut rules = folder.rules.clone();
        if contents.iter().any(Option::is_some) {
            let (with, errors) = rules.with_ignore_files(&folder.path, &contents);
            self.usage.add_folder(&with, &rules);
            for (name, error) in errors {
                self.skip_patterns(folder, name, error);
            }
            rules = with;
        }
        let is_attributes = |entry: &FolderEntry| {
            entry.name == ATTRIBUTES_FILE && entry.kind == FolderEntryKind::File
        };
        if entries.iter().any(is_attributes) { self.with_generated(folder, rules) } else { rules }
    }

    /// Adds the generated files of a folder's attributes to its rules.
    fn with_generated(&mut self, folder: &WalkEntry, rules: IgnoreRules) -> IgnoreRules {
        let Ok(mut content) = self.read_rule_file(&folder.os_path.join(ATTRIBUTES_FILE)) else {
            return rules;
        };
        let is_too_large = ignored::MAX_BYTES < content.len();
        if is_too_large {
            let whole_lines = content.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
            content.truncate(whole_lines);
        }
        let patterns = read_generated_patterns(&content);
        if patterns.is_empty() {
            return rules;
        }
        if self.usage.is_exhausted() {
            self.skip_patterns(folder, ATTRIBUTES_FILE, IgnoreError::TooManyInAll);
            return rules;
        }
        let (with, error) = rules.with_generated(&folder.path, &patterns);
        self.usage.add_folder(&with, &rules);
        if let Some(error) = error.or(is_too_large.then_some(IgnoreError::TooLarge)) {
            self.skip_patterns(folder, ATTRIBUTES_FILE, error);
        }
        with
    }

    /// Reads an ignore file up to one byte above the limit, which proves that it is too large.
    fn read_rule_file(&self, path: &Path) -> io::Result<Vec<u8>> {
        let (file, _) = self.root.open_file(path)?;
        beneath::read_to_limit(file, ignored::MAX_BYTES as u64 + 1, || self.context.pulse.beat())
    }

    /// Reports an ignore file that is ignored, wholly or in part.
    fn skip_patterns(&mut self, folder: &WalkEntry, name: &str, error: IgnoreError) {
        let path =
            if folder.is_root() { name.to_owned() } else { format!("{}/{name}", folder.path) };
        self.skip_path(path, SkipReason::IgnoreFile(error));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_about_generated_files_become_patterns() {
        let content = b"\xef\xbb\xbf# comment linguist-generated\n\
            *.sql linguist-generated\n\
            /api/*.go text eol=lf linguist-generated=true\n\
            \"with space.js\" linguist-generated\n\
            [ab].c linguist-generated\r\n\
            *.pb.go -linguist-generated\n\
            kept.sql linguist-generated=false\n\
            unset.sql !linguist-generated\n\
            [attr]made linguist-generated\n\
            !no.sql linguist-generated\n\
            *.rs text\n\
            \"open linguist-generated\n\
            alone\n\
            odd.x linguist-generated=maybe\n";
        let expected = "*.sql\n/api/*.go\nwith space.js\n[ab].c\n!*.pb.go\n!kept.sql\n!unset.sql\n";
        assert_eq!(String::from_utf8(read_generated_patterns(content)).unwrap(), expected);
    }
}
