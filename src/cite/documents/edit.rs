//! Changes documents: a few bytes of a text, and files as a whole or not at all.

use std::{
    fs::{self, File},
    io::{self, Write},
    ops::Range,
    path::{Path, PathBuf},
};

use crate::{cite::parse::Citation, domain::LineRange};

/// Other bytes for some of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

/// Returns what has a citation name other lines, as many as it does, and those that it names then: one that
/// names a single line goes on to.
pub(super) fn lines(citation: &Citation, to: &[LineRange]) -> (Vec<Edit>, Vec<LineRange>) {
    let (mut edits, mut named) = (Vec::new(), Vec::new());
    for (numbers, to) in citation.numbers.iter().zip(to) {
        edits.push(Edit { range: numbers.first.clone(), text: to.first.to_string() });
        let mut range = LineRange { first: to.first, last: to.first };
        if let Some(last) = &numbers.last {
            edits.push(Edit { range: last.clone(), text: to.last.to_string() });
            range = *to;
        }
        named.push(range);
    }
    (edits, named)
}

/// Applies edits that do not meet.
pub(super) fn applied(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_unstable_by_key(|edit| edit.range.start);
    let (mut changed, mut done) = (String::with_capacity(text.len()), 0);
    for Edit { range, text: new } in edits {
        changed.push_str(text.get(done..range.start).unwrap_or_default());
        changed.push_str(&new);
        done = range.end;
    }
    changed + text.get(done..).unwrap_or_default()
}

/// Replaces a file, or makes it: readers see the old text or the new one. Keeps the file's mode.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let temporary = temporary(path);
    let written = (|| {
        let mut file = File::options().write(true).create_new(true).open(&temporary)?;
        file.write_all(text.as_bytes())?;
        match path.symlink_metadata() {
            Ok(old) => file.set_permissions(old.permissions())?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        file.sync_all()?;
        fs::rename(&temporary, path)
    })();
    if written.is_err() {
        // The failure to write is what counts.
        drop(fs::remove_file(&temporary));
    }
    written
}

/// Returns where the new text of a file is written. It is the same each time, so that what a stop leaves
/// there is found again.
pub(super) fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    path.with_file_name(format!(".{name}.codeinfo.tmp"))
}
