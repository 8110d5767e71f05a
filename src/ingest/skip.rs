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
    IgnoreFile(ignored::IgnoreError),
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self {
            Self::TooLarge => "too large",
            Self::Unreadable => "unreadable",
            Self::NotUtf8 => "not UTF-8",
            Self::PathNotUtf8 => "its path is not UTF-8",
            Self::HoldsSecret => "holds secrets",
            Self::IgnoreFile(error) => return error.fmt(formatter),
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
    named: Vec<(String, Vec<Reason>)>,
    /// The file that was added last, which may have several reasons.
    last: String,
}

impl Skips {
    /// Adds a file and a reason. Several reasons of one file come one after the other.
    pub(super) fn add(&mut self, Skipped { path, reason }: Skipped) {
        if let Some((_, reasons)) = self.named.iter_mut().find(|(named, _)| *named == path) {
            reasons.push(reason);
            return;
        }
        if self.count > 0 && self.last == path {
            return;
        }
        self.count += 1;
        self.last.clone_from(&path);
        self.named.push((path, vec![reason]));
        // Readers run side by side; the same files make the same message.
        self.named.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.named.truncate(NAMED);
    }

    /// Returns `skipped 2 files: a.txt (not UTF-8), b.txt (unreadable)`, or `None` without any.
    pub(super) fn message(&self) -> Option<String> {
        if self.count == 0 {
            return None;
        }
        let name = |(path, reasons): &(String, Vec<Reason>)| {
            let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
            format!("{path} ({})", reasons.join("; "))
        };
        let named: Vec<String> = self.named.iter().map(name).collect();
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
        for at in 0..NAMED {
            skips.add(Skipped { path: format!("b{at}"), reason: Reason::TooLarge });
        }
        assert!(skips.message().unwrap().ends_with("b8 (too large) and 1 more"));
    }

    #[test]
    fn a_file_with_two_reasons_is_named_and_counted_once() {
        let mut skips = Skips::default();
        for path in ["b", "a"] {
            skips.add(Skipped { path: path.to_owned(), reason: Reason::TooLarge });
            skips.add(Skipped { path: path.to_owned(), reason: Reason::NotUtf8 });
        }
        let all = "skipped 2 files: a (too large; not UTF-8), b (too large; not UTF-8)";
        assert_eq!(skips.message().unwrap(), all);
        // Also when it is not named.
        for _ in 0..2 {
            for at in 0..NAMED {
                skips.add(Skipped { path: format!("A{at}"), reason: Reason::TooLarge });
            }
            skips.add(Skipped { path: "z".to_owned(), reason: Reason::TooLarge });
        }
        skips.add(Skipped { path: "z".to_owned(), reason: Reason::NotUtf8 });
        assert_eq!(skips.count, 13);
    }
}
