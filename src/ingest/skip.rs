//! Files that should have been indexed and could not be, counted and named.

use std::fmt;

use super::discover::ignored;

/// Why a file is not indexed, although nothing asked to leave it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Larger than the limit.
    TooLarge,
    /// It or its folder could not be read.
    Unreadable,
    /// Its content is not UTF-8.
    NotUtf8,
    /// Its path is not UTF-8.
    PathNotUtf8,
    /// It holds a private key, or is nothing but secrets.
    HoldsSecret,
    /// An ignore file that does not count, or not as a whole.
    IgnoreFile(ignored::Fault),
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self {
            Self::TooLarge => "too large",
            Self::Unreadable => "unreadable",
            Self::NotUtf8 => "not UTF-8",
            Self::PathNotUtf8 => "its path is not UTF-8",
            Self::HoldsSecret => "holds secrets",
            Self::IgnoreFile(fault) => return fault.fmt(formatter),
        };
        formatter.write_str(reason)
    }
}

/// A file that was skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Path below the root.
    pub path: String,
    pub reason: Reason,
}

/// How many skipped files a message names.
const NAMED: usize = 10;

/// Skipped files: all counted, the first few in order of path named.
#[derive(Debug, Default)]
pub(super) struct Skips {
    pub(super) count: u64,
    named: Vec<Skipped>,
}

impl Skips {
    pub(super) fn add(&mut self, skipped: Skipped) {
        self.count += 1;
        self.named.push(skipped);
        // Readers run side by side; the same files make the same message.
        self.named.sort_by(|a, b| a.path.cmp(&b.path));
        self.named.truncate(NAMED);
    }

    /// Returns `skipped 2 files: a.txt (not UTF-8), b.txt (unreadable)`, or `None` without any.
    pub(super) fn message(&self) -> Option<String> {
        if self.count == 0 {
            return None;
        }
        let named: Vec<String> =
            self.named.iter().map(|file| format!("{} ({})", file.path, file.reason)).collect();
        let files = if self.count == 1 { "file" } else { "files" };
        let rest = self.count - self.named.len() as u64;
        let more = if rest == 0 { String::new() } else { format!(" and {rest} more") };
        Some(format!("skipped {} {files}: {}{more}", self.count, named.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_few_are_named_and_all_are_counted() {
        let mut skips = Skips::default();
        assert_eq!(skips.message(), None);
        skips.add(Skipped { path: "a".to_owned(), reason: Reason::NotUtf8 });
        assert_eq!(skips.message().unwrap(), "skipped 1 file: a (not UTF-8)");
        for _ in 0..NAMED {
            skips.add(Skipped { path: "b".to_owned(), reason: Reason::TooLarge });
        }
        assert!(skips.message().unwrap().ends_with("b (too large) and 1 more"));
    }
}
