//! What the citations of documents stood for when people last agreed with them: a small file of a line for
//! each, in order, so that changes of it are small and merge. Pure.

use std::{
    collections::BTreeMap,
    fmt::{self, Write},
};

use crate::domain::LineRange;

/// The name of the file, at the root of a work tree.
pub const LOCK_FILE: &str = "citations.lock";
const HEAD: &str =
    "# Written by `codeinfo check --fix`: what each citation of a document stands for.\n";

/// Lines of a file that a document cites. Paths are below the root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) document: String,
    pub(super) path: String,
    pub(super) lines: LineRange,
}

/// The fingerprint of what each citation stands for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Lock {
    pub(super) entries: BTreeMap<Key, String>,
}

impl Lock {
    /// Reads a lock file. Fails with the number of the first line that is none of it.
    pub(super) fn read(text: &str) -> Result<Self, usize> {
        let mut lock = Self::default();
        for (number, line) in (1_usize..).zip(text.lines()) {
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                let (key, fingerprint) = entry(line).ok_or(number)?;
                lock.entries.insert(key, fingerprint);
            }
        }
        Ok(lock)
    }

    /// Returns what was cited of a file's lines.
    pub(super) fn get(&self, document: &str, path: &str, lines: LineRange) -> Option<&str> {
        let (document, path) = (document.to_owned(), path.to_owned());
        self.entries.get(&Key { document, path, lines }).map(String::as_str)
    }

    /// Returns the path that a document cited all of these lines of, and that has this end.
    pub(super) fn ending(&self, document: &str, end: &str, lines: &[LineRange]) -> Option<String> {
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

impl fmt::Display for Lock {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(HEAD)?;
        for (Key { document, path, lines }, fingerprint) in &self.entries {
            writeln!(out, "{} {}:{lines} {fingerprint}", escaped(document), escaped(path))?;
        }
        Ok(())
    }
}

fn entry(line: &str) -> Option<(Key, String)> {
    let mut words = line.split(' ');
    let (document, place, fingerprint) = (words.next()?, words.next()?, words.next()?);
    let (path, lines) = place.rsplit_once(':')?;
    let lines = LineRange::try_from(lines.to_owned()).ok()?;
    let is_hex = fingerprint.len() < 100 && fingerprint.chars().all(|c| c.is_ascii_hexdigit());
    let key = Key { document: plain(document)?, path: plain(path)?, lines };
    (is_hex && words.next().is_none()).then(|| (key, fingerprint.to_owned()))
}

/// Writes a path without what parts the words of a line.
fn escaped(path: &str) -> String {
    let mut escaped = String::with_capacity(path.len());
    for c in path.chars() {
        if c.is_whitespace() || c.is_control() || matches!(c, '%' | '#') {
            // Writing to a `String` cannot fail.
            let _infallible = write!(escaped, "%{:x};", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

fn plain(escaped: &str) -> Option<String> {
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
        let key = |document: &str, path: &str, first| Key {
            document: document.to_owned(),
            path: path.to_owned(),
            lines: LineRange { first, last: 40 },
        };
        let mut lock = Lock::default();
        lock.entries.insert(key("b.md", "src/a.rs", 12), "0a".to_owned());
        lock.entries.insert(key("a b%.md", "#x/c\u{3000}:d.rs", 9), "ff".to_owned());
        let text = lock.to_string();
        let expected =
            "a%20;b%25;.md %23;x/c%3000;:d.rs:9-40 ff\nb.md src/a.rs:12-40 0a\n".to_owned();
        assert_eq!(text, HEAD.to_owned() + &expected);
        assert_eq!(Lock::read(&text.replace('\n', "\r\n")), Ok(lock));
        for bad in [
            "a.md b.rs:1-2",
            "a.md b.rs:1-2 zz",
            "a.md b.rs ff",
            "a.md b.rs:1-2 ff x",
            "<<<<<<< ours",
        ] {
            assert_eq!(Lock::read(&format!("# x\n\n{bad}")), Err(3), "{bad}");
        }
    }
}
