//! What the ignore files of a folder and of those above it leave out, by Git's rules. Ignore files
//! are a repository's own, so that their size, their number of patterns and what one pattern costs
//! are bounded; what goes over a bound is left out and said.
//!
//! Files are read here and only matched by the `ignore` crate, whose own walker opens them as they
//! are: a link to `/dev/zero` took all memory, a pipe never ended.

use std::{fmt, sync::Arc};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

/// Ignore files, weakest first: of two that say something of a path, the later kind counts, in
/// whatever folder it lies.
pub const NAMES: [&str; 4] = [".git/info/exclude", ".gitignore", ".ignore", ".codeinfoignore"];

/// Number of the [`NAMES`] that git reads, which are the first.
const OF_GIT: usize = 2;

/// What a folder has in the ignore file of each of [`NAMES`].
pub type IgnoreFileContents = [Option<Vec<u8>>; NAMES.len()];

/// The most bytes that are read of one ignore file; the largest of well-known projects have a tenth.
pub const MAX_BYTES: usize = 256 * 1024;
/// The most patterns that count in a folder: those of its ignore files and of all above it. Each
/// takes about a kilobyte.
pub const MAX_PATTERNS: usize = 5_000;
/// The most bytes of patterns with wildcards that count in a folder: they are compiled together,
/// which takes a thousand times their size, and the compiler gives up at ten megabytes.
pub const MAX_WILD_BYTES: usize = 32 * 1024;
/// The most patterns that count in one walk, over all folders, however many have ignore files.
pub const MAX_WALK_PATTERNS: usize = 200_000;
/// The most bytes of patterns with wildcards that count in one walk: thirty-two folders at their bound.
pub const MAX_WALK_WILD_BYTES: usize = 1 << 20;
/// A pattern with more wildcards is not one that people write.
pub const MAX_WILDCARDS: usize = 16;
/// A longer pattern matches nothing: the system allows no longer path.
pub const MAX_PATTERN_BYTES: usize = 4096;

/// Why an ignore file does not count, or not as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnoreError {
    /// It is a link, a pipe, a device or a folder, or cannot be opened.
    NotRegular,
    /// It has more than [`MAX_BYTES`].
    TooLarge,
    /// There are more than [`MAX_PATTERNS`], or [`MAX_WILD_BYTES`].
    TooMany,
    /// The walk met [`MAX_WALK_PATTERNS`], or [`MAX_WALK_WILD_BYTES`], before it.
    TooManyInAll,
    /// A pattern has more than [`MAX_WILDCARDS`] or [`MAX_PATTERN_BYTES`], or is no pattern.
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

/// What ignore files say of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnoreVerdict {
    /// Nothing.
    Silent,
    Ignored,
    /// A pattern of git asks to ignore it, which git does with no file that it tracks.
    IgnoredByGit,
    /// A pattern with `!` asks for it.
    Kept,
}

/// The patterns that count in one folder. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct IgnoreRules {
    nearest: Option<Arc<IgnoreLevel>>,
}

/// The ignore files of one folder.
#[derive(Debug)]
struct IgnoreLevel {
    /// One for each of [`NAMES`] that the folder has.
    sets: [Option<Gitignore>; NAMES.len()],
    /// Patterns of files that its `.gitattributes` calls generated.
    generated: Option<Gitignore>,
    /// How many bytes of a path lead to the folder, with the `/` after it.
    prefix: usize,
    spent: PatternUsage,
    /// The patterns with `!` of its `.codeinfoignore` that name a folder and something in it.
    asked: Vec<String>,
    above: Option<Arc<IgnoreLevel>>,
}

/// How much of the bounds is used up.
#[derive(Debug, Clone, Copy, Default)]
pub struct PatternUsage {
    patterns: usize,
    wild_bytes: usize,
}

impl PatternUsage {
    /// Adds what the rules of a folder cost beyond those of the folder above.
    pub fn add_folder(&mut self, folder: &IgnoreRules, above: &IgnoreRules) {
        let (spent, before) = (folder.pattern_usage(), above.pattern_usage());
        self.patterns += spent.patterns.saturating_sub(before.patterns);
        self.wild_bytes += spent.wild_bytes.saturating_sub(before.wild_bytes);
    }

    /// Whether a walk may compile no more patterns.
    pub fn is_all(self) -> bool {
        MAX_WALK_PATTERNS <= self.patterns || MAX_WALK_WILD_BYTES <= self.wild_bytes
    }
}

impl IgnoreRules {
    /// Returns the rules of a folder, by its path below the root, that has ignore files of its own:
    /// the content of each of [`NAMES`]. Returns the errors too, each with the name of its file.
    pub fn with_ignore_files(
        &self,
        folder: &str,
        files: &IgnoreFileContents,
    ) -> (Self, Vec<(&'static str, IgnoreError)>) {
        let mut spent = self.pattern_usage();
        let (mut sets, mut errors) = ([const { None }; NAMES.len()], Vec::new());
        for ((content, name), into) in files.iter().zip(NAMES).zip(&mut sets) {
            let Some(content) = content else { continue };
            *into = Some(compile_patterns(content, &mut spent, |error| {
                if !errors.contains(&(name, error)) {
                    errors.push((name, error));
                }
            }));
        }
        let prefix = if folder.is_empty() { 0 } else { folder.len() + 1 };
        let asked = files.last().and_then(Option::as_deref).map(asked_below).unwrap_or_default();
        let level = IgnoreLevel {
            sets,
            generated: None,
            prefix,
            spent,
            asked,
            above: self.nearest.clone(),
        };
        (Self { nearest: Some(Arc::new(level)) }, errors)
    }

    /// Returns the rules with the patterns of a folder about generated files, and an error where not all count.
    pub fn with_generated(&self, folder: &str, patterns: &[u8]) -> (Self, Option<IgnoreError>) {
        let (mut spent, mut error) = (self.pattern_usage(), None);
        let generated = Some(compile_patterns(patterns, &mut spent, |found| error = Some(found)));
        let prefix = if folder.is_empty() { 0 } else { folder.len() + 1 };
        let (sets, above) = ([const { None }; NAMES.len()], self.nearest.clone());
        let level = IgnoreLevel { sets, generated, prefix, spent, asked: Vec::new(), above };
        (Self { nearest: Some(Arc::new(level)) }, error)
    }

    /// Says whether a file is generated, if patterns say anything of it: those of the nearest folder count.
    pub fn is_generated(&self, path: &str) -> Option<bool> {
        let mut level = self.nearest.as_deref();
        while let Some(here) = level {
            level = here.above.as_deref();
            let said = path.get(here.prefix..).zip(here.generated.as_ref());
            match said.map(|(below, generated)| generated.matched(below, false)) {
                None | Some(Match::None) => {}
                Some(found) => return Some(found.is_ignore()),
            }
        }
        None
    }

    fn pattern_usage(&self) -> PatternUsage {
        self.nearest.as_ref().map(|level| level.spent).unwrap_or_default()
    }

    /// Returns whether a pattern with `!` of a `.codeinfoignore` asks for a path, which overrules all but secrets.
    pub fn asks_for(&self, path: &str, is_folder: bool) -> bool {
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

    /// Returns whether such a pattern may ask for something in a folder.
    pub fn asks_below(&self, folder: &str) -> bool {
        let mut level = self.nearest.as_deref();
        while let Some(here) = level {
            level = here.above.as_deref();
            let Some(below) = folder.get(here.prefix..) else { continue };
            if here.asked.iter().any(|pattern| leads_through(pattern, below)) {
                return true;
            }
        }
        false
    }

    /// Says what becomes of a path below the root. Folders above it are not asked.
    pub fn match_path(&self, path: &str, is_folder: bool) -> IgnoreVerdict {
        let mut said = [IgnoreVerdict::Silent; NAMES.len()];
        let mut level = self.nearest.as_deref();
        while let Some(here) = level {
            level = here.above.as_deref();
            // A path outside of the folder is none that its rules are about.
            let Some(below) = path.get(here.prefix..) else { continue };
            for (said, set) in said.iter_mut().zip(&here.sets) {
                if let Some(set) = set
                    && *said == IgnoreVerdict::Silent
                {
                    *said = match set.matched(below, is_folder) {
                        Match::None => IgnoreVerdict::Silent,
                        Match::Ignore(_) => IgnoreVerdict::Ignored,
                        Match::Whitelist(_) => IgnoreVerdict::Kept,
                    };
                }
            }
        }
        let last = said.into_iter().enumerate().rfind(|(_, said)| *said != IgnoreVerdict::Silent);
        match last {
            Some((kind, IgnoreVerdict::Ignored)) if kind < OF_GIT => IgnoreVerdict::IgnoredByGit,
            Some((_, verdict)) => verdict,
            None => IgnoreVerdict::Silent,
        }
    }
}

/// Reads the patterns of one file, as far as the bounds allow.
fn compile_patterns(
    content: &[u8],
    spent: &mut PatternUsage,
    mut report: impl FnMut(IgnoreError),
) -> Gitignore {
    let content = match content.get(..MAX_BYTES) {
        Some(start) if content.len() > MAX_BYTES => {
            report(IgnoreError::TooLarge);
            // A pattern that is cut off would mean something else.
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
        if spent.patterns == MAX_PATTERNS || MAX_WILD_BYTES < spent.wild_bytes + wild_bytes {
            report(IgnoreError::TooMany);
            continue;
        }
        match builder.add_line(None, &literal_braces(line)) {
            Ok(_) => {
                spent.patterns += 1;
                spent.wild_bytes += wild_bytes;
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
fn asked_below(content: &[u8]) -> Vec<String> {
    let content = String::from_utf8_lossy(content.get(..MAX_BYTES).unwrap_or(content));
    let patterns = content.lines().filter_map(|line| line.strip_prefix('!'));
    let patterns = patterns.map(|pattern| pattern.trim().trim_matches('/'));
    let is_wanted = |pattern: &&str| pattern.contains('/') && !pattern.starts_with("**");
    patterns.filter(is_wanted).take(MAX_PATTERNS).map(str::to_owned).collect()
}

/// Returns whether a pattern may match something in a folder: each part of the folder fits that of the pattern.
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

/// Escapes braces outside of classes: they are alternatives to the matcher, and themselves to Git.
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
