//! Lock file with the fingerprint of each citation as people last accepted it. Does no I/O.
//!
//! It has one line for each citation, in order, so that changes of it are small and merge.

use std::{
    collections::BTreeMap,
    fmt::{self, Write},
};

use codeinfo_core::LineRange;

/// Name of the lock file, at the root of a work tree.
pub const LOCK_FILE: &str = "citations.lock";
const HEAD: &str =
    "# Written by `codeinfo check --fix`: what each citation of a document stands for.\n";

/// Key of a lock entry: lines of a file that a document cites. Paths are relative to the root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CitationLockKey {
    pub(super) document: String,
    pub(super) path: String,
    pub(super) lines: LineRange,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CitationLock {
    pub(super) entries: BTreeMap<CitationLockKey, String>,
    /// Documents that were about to be rewritten.
    pub(super) pending: BTreeMap<String, PendingRewrite>,
}

/// Lock entries of a document once it is rewritten.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PendingRewrite {
    /// Hash of its text before.
    pub(super) before: String,
    /// Hash of its text after.
    pub(super) after: String,
    pub(super) entries: BTreeMap<CitationLockKey, String>,
}

/// Fingerprint that matches no lines, so that people have to review them.
const UNKNOWN: &str = "0";

impl CitationLock {
    /// Parses a lock file. Fails with the number of the first invalid line.
    pub(super) fn parse(text: &str) -> Result<Self, usize> {
        let mut lock = Self::default();
        for (number, line) in (1_usize..).zip(text.lines()) {
            let entry = line.trim();
            if !entry.is_empty() && !entry.starts_with('#') {
                let (key, fingerprint, texts) = parse_entry(entry).ok_or(number)?;
                let Some((before, after)) = texts else {
                    lock.entries.insert(key, fingerprint);
                    continue;
                };
                let pending = lock.pending.entry(key.document.clone()).or_default();
                (pending.before, pending.after) = (before, after);
                pending.entries.insert(key, fingerprint);
            }
        }
        Ok(lock)
    }

    /// Decides from the hash `text` of a document whether its pending rewrite took place. If it is
    /// neither the one before nor after, lines with two different fingerprints become [`UNKNOWN`].
    pub(super) fn settle_pending_rewrite(&mut self, document: &str, text: &str) {
        let Some(pending) = self.pending.remove(document) else { return };
        if text == pending.before {
            return;
        }
        if text == pending.after {
            self.entries.retain(|key, _| key.document != document);
            self.entries.extend(pending.entries);
            return;
        }
        for (key, fingerprint) in pending.entries {
            let known = self.entries.entry(key).or_insert_with(|| fingerprint.clone());
            if *known != fingerprint {
                UNKNOWN.clone_into(known);
            }
        }
    }

    pub(super) fn get(&self, document: &str, path: &str, lines: LineRange) -> Option<&str> {
        let key = CitationLockKey { document: document.to_owned(), path: path.to_owned(), lines };
        self.entries.get(&key).map(String::as_str)
    }

    /// Returns the only path with this suffix of which the document cites all these lines.
    pub(super) fn find_path_with_suffix(
        &self,
        document: &str,
        end: &str,
        lines: &[LineRange],
    ) -> Option<String> {
        let first = *lines.first()?;
        let keys = self.entries.keys().filter(|key| key.document == document && key.lines == first);
        let mut paths = keys.map(|key| &key.path).filter(|path| {
            path.strip_suffix(end).is_some_and(|before| before.ends_with('/'))
                && lines.iter().all(|range| self.get(document, path, *range).is_some())
        });
        let path = paths.next()?;
        paths.next().is_none().then(|| path.clone())
    }
}

impl fmt::Display for CitationLock {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(HEAD)?;
        let place = |key: &CitationLockKey| {
            format!("{} {}:{}", escape_path(&key.document), escape_path(&key.path), key.lines)
        };
        for (key, fingerprint) in &self.entries {
            writeln!(out, "{} {fingerprint}", place(key))?;
        }
        for PendingRewrite { before, after, entries } in self.pending.values() {
            for (key, fingerprint) in entries {
                writeln!(out, "{} {fingerprint} {before} {after}", place(key))?;
            }
        }
        Ok(())
    }
}

/// A line of the lock file. A pending one also has the hashes of the document before and after.
type CitationLockEntry = (CitationLockKey, String, Option<(String, String)>);

fn parse_entry(line: &str) -> Option<CitationLockEntry> {
    let mut words = line.split(' ');
    let (document, place, fingerprint) = (words.next()?, words.next()?, words.next()?);
    let (before, after) = (words.next(), words.next());
    let (path, lines) = place.rsplit_once(':')?;
    let lines = LineRange::try_from(lines.to_owned()).ok()?;
    let is_hex = |word: &str| word.len() < 100 && word.chars().all(|c| c.is_ascii_hexdigit());
    let key =
        CitationLockKey { document: unescape_path(document)?, path: unescape_path(path)?, lines };
    let texts = before.zip(after).map(|(before, after)| (before.to_owned(), after.to_owned()));
    let is_whole = texts.is_some() || before.is_none();
    let are_hex = [Some(fingerprint), before, after].into_iter().flatten().all(is_hex);
    (is_whole && are_hex && words.next().is_none()).then(|| (key, fingerprint.to_owned(), texts))
}

/// Escapes the characters of a path that would split a line into words.
fn escape_path(path: &str) -> String {
    let mut escaped = String::with_capacity(path.len());
    for c in path.chars() {
        if c.is_whitespace() || c.is_control() || matches!(c, '%' | '#') {
            let _infallible = write!(escaped, "%{:x};", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

fn unescape_path(escaped: &str) -> Option<String> {
    let mut parts = escaped.split('%');
    let mut path = parts.next()?.to_owned();
    for part in parts {
        let (code, rest) = part.split_once(';')?;
        path.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
        path.push_str(rest);
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_read_as_it_was_written() {
        let key = |document: &str, path: &str, first| CitationLockKey {
            document: document.to_owned(),
            path: path.to_owned(),
            lines: LineRange { first, last: 40 },
        };
        let mut lock = CitationLock::default();
        lock.entries.insert(key("b.md", "src/a.rs", 12), "0a".to_owned());
        lock.entries.insert(key("a b%.md", "#x/c\u{3000}:d.rs", 9), "ff".to_owned());
        let text = lock.to_string();
        let expected =
            "a%20;b%25;.md %23;x/c%3000;:d.rs:9-40 ff\nb.md src/a.rs:12-40 0a\n".to_owned();
        assert_eq!(text, HEAD.to_owned() + &expected);
        assert_eq!(CitationLock::parse(&text.replace('\n', "\r\n")), Ok(lock));
        for bad in [
            "a.md b.rs:1-2",
            "a.md b.rs:1-2 zz",
            "a.md b.rs ff",
            "a.md b.rs:1-2 ff aa",
            "a.md b.rs:1-2 ff aa x",
            "a.md b.rs:1-2 ff aa bb cc",
            "<<<<<<< ours",
        ] {
            assert_eq!(CitationLock::parse(&format!("# x\n\n{bad}")), Err(3), "{bad}");
        }
    }

    #[test]
    fn a_document_that_was_about_to_be_rewritten_has_the_entries_of_its_text() {
        let key = |first| CitationLockKey {
            document: "a.md".to_owned(),
            path: "b.rs".to_owned(),
            lines: LineRange { first, last: first + 4 },
        };
        let entries = |list: &[(u32, &str)]| -> BTreeMap<CitationLockKey, String> {
            list.iter().map(|(first, print)| (key(*first), (*print).to_owned())).collect()
        };
        let old = entries(&[(6, "aa"), (11, "bb")]);
        let new = entries(&[(11, "aa"), (16, "bb")]);
        let (before, after) = ("01".to_owned(), "02".to_owned());
        let mut lock = CitationLock { entries: old.clone(), ..CitationLock::default() };
        let pending = PendingRewrite { before, after, entries: new.clone() };
        lock.pending.insert("a.md".to_owned(), pending);
        let lock = CitationLock::parse(&lock.to_string()).unwrap();
        let neither = entries(&[(6, "aa"), (11, UNKNOWN), (16, "bb")]);
        for (text, expected) in [("01", old), ("02", new), ("03", neither)] {
            let mut settled = lock.clone();
            settled.settle_pending_rewrite("b.md", text);
            assert_eq!(settled.pending.len(), 1);
            settled.settle_pending_rewrite("a.md", text);
            assert_eq!(
                settled,
                CitationLock { entries: expected, ..CitationLock::default() },
                "{text}"
            );
        }
    }
}
