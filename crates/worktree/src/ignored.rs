//! Ignore files of a folder and its parents, by the rules of Git.
//!
//! Repositories control their ignore files, so size, number of patterns and cost of a pattern are
//! bounded; parts above a bound are dropped and reported.
//!
//! This module reads the files, and the `ignore` crate only matches. Its own walker opens any path:
//! a link to `/dev/zero` consumed all memory, and a pipe never ended.

use std::{fmt, sync::Arc};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

/// Names of ignore files, weakest first: a later kind overrides an earlier one, in any folder.
pub const NAMES: [&str; 4] = [".git/info/exclude", ".gitignore", ".ignore", ".codeinfoignore"];

/// Number of [`NAMES`] that git reads; they come first.
const GIT_NAMES: usize = 2;

/// Contents of a folder's ignore files, in the order of [`NAMES`].
pub type IgnoreFileContents = [Option<Vec<u8>>; NAMES.len()];

/// Maximum bytes read of an ignore file; the largest of well-known projects have a tenth.
pub const MAX_BYTES: usize = 256 * 1024;
/// Maximum patterns in effect in a folder, with those of its parents; each takes about a kilobyte.
pub const MAX_PATTERNS: usize = 5_000;
/// Maximum bytes of patterns with wildcards in effect in a folder. They are compiled together,
/// which takes a thousand times their size, and the compiler fails at ten megabytes.
pub const MAX_WILD_BYTES: usize = 32 * 1024;
/// Maximum patterns of a walk, over all folders.
pub const MAX_WALK_PATTERNS: usize = 200_000;
/// Maximum bytes of patterns with wildcards of a walk: thirty-two folders at their limit.
pub const MAX_WALK_WILD_BYTES: usize = 1 << 20;
/// Maximum wildcards of a pattern; people do not write more.
pub const MAX_WILDCARDS: usize = 16;
/// Maximum bytes of a pattern; a longer one cannot match, because the system allows no longer path.
pub const MAX_PATTERN_BYTES: usize = 4096;

/// Reason why an ignore file is ignored, wholly or in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnoreError {
    /// The file is a link, a pipe, a device or a folder, or cannot be opened.
    NotRegular,
    /// The file has more than [`MAX_BYTES`].
    TooLarge,
    /// The folder has more than [`MAX_PATTERNS`] or [`MAX_WILD_BYTES`].
    TooMany,
    /// The walk had reached [`MAX_WALK_PATTERNS`] or [`MAX_WALK_WILD_BYTES`].
    TooManyInAll,
    /// A pattern is invalid, or has more than [`MAX_WILDCARDS`] or [`MAX_PATTERN_BYTES`].
    BadPattern,
}

impl fmt::Display for IgnoreError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRegular => {
                formatter.write_str("no regular file, so its patterns do not count")
            }
            Self::TooLarge => {
                let kib = MAX_BYTES / 1024;
                write!(formatter, "larger than {kib} KiB, so only patterns before that count")
            }
            Self::TooMany => write!(
                formatter,
                "more than {MAX_PATTERNS} patterns, or {} KiB of them with wildcards, in it and in \
                 ignore files above, so further ones do not count",
                MAX_WILD_BYTES / 1024
            ),
            Self::TooManyInAll => write!(
                formatter,
                "the ignore files of other folders have {MAX_WALK_PATTERNS} patterns, or {} KiB of \
                 them with wildcards, so those of this one do not count",
                MAX_WALK_WILD_BYTES / 1024
            ),
            Self::BadPattern => write!(
                formatter,
                "a pattern that is malformed, longer than {MAX_PATTERN_BYTES} bytes or has more \
                 than {MAX_WILDCARDS} wildcards does not count"
            ),
        }
    }
}

/// Verdict of ignore files on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnoreVerdict {
    Silent,
    Ignored,
    /// A pattern of git matches, which does not affect files that git tracks.
    IgnoredByGit,
    /// A pattern with `!` matches.
    Kept,
}

/// Patterns in effect in one folder. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct IgnoreRules {
    nearest: Option<Arc<IgnoreLevel>>,
}

/// Ignore files of one folder.
#[derive(Debug)]
struct IgnoreLevel {
    /// Patterns of the folder's own files, in the order of [`NAMES`].
    sets: [Option<Gitignore>; NAMES.len()],
    /// Patterns of the files that its `.gitattributes` marks as generated.
    generated: Option<Gitignore>,
    /// Bytes of the folder's path, including the `/` after it.
    prefix: usize,
    usage: PatternUsage,
    /// Patterns with `!` of its `.codeinfoignore` that name a folder and something in it.
    requested: Vec<String>,
    above: Option<Arc<IgnoreLevel>>,
}

/// Used part of the limits.
#[derive(Debug, Clone, Copy, Default)]
pub struct PatternUsage {
    patterns: usize,
    wild_bytes: usize,
}

impl PatternUsage {
    /// Adds the usage of a folder beyond that of its parent.
    pub fn add_folder(&mut self, folder: &IgnoreRules, above: &IgnoreRules) {
        let (usage, before) = (folder.pattern_usage(), above.pattern_usage());
        self.patterns += usage.patterns.saturating_sub(before.patterns);
        self.wild_bytes += usage.wild_bytes.saturating_sub(before.wild_bytes);
    }

    /// Returns true if as many patterns were compiled as one folder may have.
    pub fn fills_folder(self) -> bool {
        MAX_PATTERNS <= self.patterns || MAX_WILD_BYTES <= self.wild_bytes
    }

    /// Returns true if a walk may compile no more patterns.
    pub fn is_exhausted(self) -> bool {
        MAX_WALK_PATTERNS <= self.patterns || MAX_WALK_WILD_BYTES <= self.wild_bytes
    }
}

impl IgnoreRules {
    /// Adds the ignore files of a folder, given by its path below the root. Returns the rules, and
    /// the errors with the names of their files.
    pub fn with_ignore_files(
        &self,
        folder: &str,
        files: &IgnoreFileContents,
    ) -> (Self, Vec<(&'static str, IgnoreError)>) {
        let mut usage = self.pattern_usage();
        let (mut sets, mut errors) = ([const { None }; NAMES.len()], Vec::new());
        for ((content, name), into) in files.iter().zip(NAMES).zip(&mut sets) {
            let Some(content) = content else { continue };
            *into = Some(compile_patterns(content, &mut usage, |error| {
                if !errors.contains(&(name, error)) {
                    errors.push((name, error));
                }
            }));
        }
        let prefix = if folder.is_empty() { 0 } else { folder.len() + 1 };
        let requested =
            files.last().and_then(Option::as_deref).map(list_requested_below).unwrap_or_default();
        let level = IgnoreLevel {
            sets,
            generated: None,
            prefix,
            usage,
            requested,
            above: self.nearest.clone(),
        };
        (Self { nearest: Some(Arc::new(level)) }, errors)
    }

    /// Adds a folder's patterns of generated files. Returns an error if some were dropped.
    pub fn with_generated(&self, folder: &str, patterns: &[u8]) -> (Self, Option<IgnoreError>) {
        let (mut usage, mut error) = (self.pattern_usage(), None);
        let generated = Some(compile_patterns(patterns, &mut usage, |found| error = Some(found)));
        let prefix = if folder.is_empty() { 0 } else { folder.len() + 1 };
        let (sets, above) = ([const { None }; NAMES.len()], self.nearest.clone());
        let level = IgnoreLevel { sets, generated, prefix, usage, requested: Vec::new(), above };
        (Self { nearest: Some(Arc::new(level)) }, error)
    }

    /// Returns true or false if a pattern says whether a file is generated; the nearest one wins.
    pub fn is_generated(&self, path: &str) -> Option<bool> {
        let mut level = self.nearest.as_deref();
        while let Some(here) = level {
            level = here.above.as_deref();
            let matching = path.get(here.prefix..).zip(here.generated.as_ref());
            match matching.map(|(below, generated)| generated.matched(below, false)) {
                None | Some(Match::None) => {}
                Some(found) => return Some(found.is_ignore()),
            }
        }
        None
    }

    fn pattern_usage(&self) -> PatternUsage {
        self.nearest.as_ref().map(|level| level.usage).unwrap_or_default()
    }

    /// Returns true if a `.codeinfoignore` asks for a path by `!`. Only rules on secrets outrank
    /// it.
    pub fn requests(&self, path: &str, is_folder: bool) -> bool {
        let mut level = self.nearest.as_deref();
        while let Some(here) = level {
            level = here.above.as_deref();
            let (below, [.., own]) = (path.get(here.prefix..), &here.sets);
            let found = below.zip(own.as_ref()).map(|(below, own)| own.matched(below, is_folder));
            match found {
                None | Some(Match::None) => {}
                Some(found) => return found.is_whitelist(),
            }
        }
        false
    }

    /// Returns true if such a pattern may ask for something in a folder.
    pub fn requests_below(&self, folder: &str) -> bool {
        let mut level = self.nearest.as_deref();
        while let Some(here) = level {
            level = here.above.as_deref();
            let Some(below) = folder.get(here.prefix..) else { continue };
            if here.requested.iter().any(|pattern| leads_through(pattern, below)) {
                return true;
            }
        }
        false
    }

    /// Returns the verdict on a path below the root. Does not check its parent folders.
    pub fn match_path(&self, path: &str, is_folder: bool) -> IgnoreVerdict {
        let mut verdicts = [IgnoreVerdict::Silent; NAMES.len()];
        let mut level = self.nearest.as_deref();
        while let Some(here) = level {
            level = here.above.as_deref();
            // The rules of a folder do not apply outside of it.
            let Some(below) = path.get(here.prefix..) else { continue };
            for (verdict, set) in verdicts.iter_mut().zip(&here.sets) {
                if let Some(set) = set
                    && *verdict == IgnoreVerdict::Silent
                {
                    *verdict = match set.matched(below, is_folder) {
                        Match::None => IgnoreVerdict::Silent,
                        Match::Ignore(_) => IgnoreVerdict::Ignored,
                        Match::Whitelist(_) => IgnoreVerdict::Kept,
                    };
                }
            }
        }
        let last = verdicts
            .into_iter()
            .enumerate()
            .rfind(|(_, verdict)| *verdict != IgnoreVerdict::Silent);
        match last {
            Some((kind, IgnoreVerdict::Ignored)) if kind < GIT_NAMES => IgnoreVerdict::IgnoredByGit,
            Some((_, verdict)) => verdict,
            None => IgnoreVerdict::Silent,
        }
    }
}

/// Compiles the patterns of one file within the limits.
fn compile_patterns(
    content: &[u8],
    usage: &mut PatternUsage,
    mut report: impl FnMut(IgnoreError),
) -> Gitignore {
    let content = match content.get(..MAX_BYTES) {
        Some(start) if content.len() > MAX_BYTES => {
            report(IgnoreError::TooLarge);
            // A truncated pattern would have another meaning.
            let end = start.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
            start.split_at(end).0
        }
        _ => content,
    };
    let content = String::from_utf8_lossy(content);
    let mut builder = GitignoreBuilder::new("");
    for line in content.trim_start_matches('\u{feff}').lines() {
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        let wildcards = line.bytes().filter(|byte| matches!(byte, b'*' | b'?' | b'[')).count();
        if MAX_PATTERN_BYTES < line.len() || MAX_WILDCARDS < wildcards {
            report(IgnoreError::BadPattern);
            continue;
        }
        let wild_bytes = if wildcards == 0 { 0 } else { line.len() };
        if usage.patterns == MAX_PATTERNS || MAX_WILD_BYTES < usage.wild_bytes + wild_bytes {
            report(IgnoreError::TooMany);
            continue;
        }
        match builder.add_line(None, &literal_braces(line)) {
            Ok(_) => {
                usage.patterns += 1;
                usage.wild_bytes += wild_bytes;
            }
            Err(_) => report(IgnoreError::BadPattern),
        }
    }
    builder.build().unwrap_or_else(|_| {
        report(IgnoreError::TooMany);
        Gitignore::empty()
    })
}

/// Returns the patterns with `!` of an ignore file that name a folder and something in it.
fn list_requested_below(content: &[u8]) -> Vec<String> {
    let content = String::from_utf8_lossy(content.get(..MAX_BYTES).unwrap_or(content));
    let patterns = content
        .lines()
        .filter_map(|line| line.strip_prefix('!'))
        .map(|pattern| pattern.trim().trim_matches('/'));
    let is_wanted = |pattern: &&str| pattern.contains('/') && !pattern.starts_with("**");
    patterns.filter(is_wanted).take(MAX_PATTERNS).map(str::to_owned).collect()
}

/// Returns true if a pattern may match something in a folder: each part of it fits the pattern's.
fn leads_through(pattern: &str, folder: &str) -> bool {
    let mut parts = pattern.split('/');
    for name in folder.split('/') {
        match parts.next() {
            Some("**") => return true,
            Some(part) if part == name || part.contains(['*', '?', '[']) => {}
            Some(_) | None => return false,
        }
    }
    parts.next().is_some()
}

/// Escapes braces outside of classes, which are alternatives to the matcher but literals to Git.
fn literal_braces(line: &str) -> String {
    let mut escaped = String::with_capacity(line.len());
    let (mut is_escaped, mut is_class) = (false, false);
    for character in line.chars() {
        if matches!(character, '{' | '}') && !is_escaped && !is_class {
            escaped.push('\\');
        }
        escaped.push(character);
        match character {
            '[' if !is_escaped => is_class = true,
            ']' => is_class = false,
            _ => {}
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    escaped
}
