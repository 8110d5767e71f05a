//! Writes documents with moved citations and the lock file, safe against a crash between writes.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs::{self, File, TryLockError},
    ops::Range,
    path::Path,
};

use codeinfo_core::{LineRange, atomic};
use sha2::{Digest, Sha256};

use crate::{
    DocumentError,
    content::short_hex,
    lock::{CitationLock, CitationLockKey, LOCK_FILE, PendingRewrite},
    parse::Citation,
    tree::DocumentTree,
};

#[derive(Debug)]
pub(super) struct DocumentChange {
    pub(super) document: String,
    pub(super) text: String,
    pub(super) edits: Vec<DocumentEdit>,
    /// Lock entries after the change.
    pub(super) entries: BTreeMap<CitationLockKey, String>,
}

/// Lock that keeps other processes from fixing documents of a root until it is dropped.
#[derive(Debug)]
pub(super) struct FixLock {
    _root: Option<File>,
}

impl FixLock {
    /// Takes the lock. Fails if another process holds it.
    pub(super) fn new(root: &Path) -> Result<Self, DocumentError> {
        // If folders cannot be opened or locked, no other process can lock this one either.
        let Ok(folder) = File::open(root) else { return Ok(Self { _root: None }) };
        match folder.try_lock() {
            Err(TryLockError::WouldBlock) => Err(DocumentError::Busy),
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Self { _root: Some(folder) }),
        }
    }
}

pub(super) fn hash_text(text: &str) -> String {
    short_hex(&Sha256::digest(text))
}

/// Writes documents and the lock file, whose content is `stored`, and returns the failures. The
/// lock file first gets the new entries of each document with the hashes of its text before and
/// after, so that after a crash it has the entries of either text.
pub(super) fn write_fixes(
    tree: &DocumentTree,
    stored: &CitationLock,
    lock: &CitationLock,
    changes: Vec<DocumentChange>,
) -> Vec<DocumentError> {
    remove_temporaries(tree, &changes);
    let mut texts: HashMap<String, String> = HashMap::new();
    let mut pending = lock.clone();
    for change in changes.iter().filter(|change| !change.edits.is_empty()) {
        let fixed = apply_edits(&change.text, change.edits.clone());
        let entries = change.entries.clone();
        let (before, after) = (hash_text(&change.text), hash_text(&fixed));
        pending.pending.insert(change.document.clone(), PendingRewrite { before, after, entries });
        texts.insert(change.document.clone(), fixed);
    }
    if !texts.is_empty()
        && let Err(error) = write_file(tree, LOCK_FILE, &pending.to_string())
    {
        return vec![error];
    }
    let mut new_lock = lock.clone();
    new_lock.entries.retain(|key, _| tree.path_exists(&key.document));
    new_lock.pending.retain(|document, _| tree.path_exists(document));
    let mut failures = Vec::new();
    let mut done = HashSet::new();
    let mut new_entries = BTreeMap::new();
    for DocumentChange { document, text, entries, .. } in changes {
        if let Some(fixed) = texts.get(&document)
            && let Err(error) = rewrite_document(tree, &document, &text, fixed)
        {
            failures.push(error);
            continue;
        }
        new_entries.extend(entries);
        done.insert(document);
    }
    new_lock.entries.retain(|key, _| !done.contains(&key.document));
    new_lock.entries.extend(new_entries);
    if new_lock != *stored || !texts.is_empty() {
        failures.extend(write_file(tree, LOCK_FILE, &new_lock.to_string()).err());
    }
    failures
}

fn rewrite_document(
    tree: &DocumentTree,
    document: &str,
    text: &str,
    fixed: &str,
) -> Result<(), DocumentError> {
    if tree.read_text(document).ok().as_deref() != Some(text) {
        return Err(DocumentError::ChangedMeanwhile { path: document.to_owned() });
    }
    write_file(tree, document, fixed)
}

fn write_file(tree: &DocumentTree, path: &str, text: &str) -> Result<(), DocumentError> {
    atomic::replace_user_file(&tree.root.join(path), text.as_bytes())
        .map_err(|source| DocumentError::Write { path: path.to_owned(), source })
}

/// Removes temporary files left by a crash.
fn remove_temporaries(tree: &DocumentTree, changes: &[DocumentChange]) {
    let documents = changes.iter().map(|change| change.document.as_str());
    for path in documents.chain([LOCK_FILE]) {
        // A file that cannot be removed cannot be written either; that failure is reported.
        drop(fs::remove_file(atomic::temporary_path(&tree.root.join(path))));
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DocumentEdit {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

/// Builds the edits that change the lines of a citation, and returns them with the new lines. The
/// number of ranges stays the same, and a single line number stays single.
pub(super) fn edit_line_numbers(
    citation: &Citation,
    to: &[LineRange],
) -> (Vec<DocumentEdit>, Vec<LineRange>) {
    let (mut edits, mut new_lines) = (Vec::new(), Vec::new());
    for (numbers, to) in citation.numbers.iter().zip(to) {
        edits.push(DocumentEdit { range: numbers.first.clone(), text: to.first.to_string() });
        let mut range = LineRange { first: to.first, last: to.first };
        if let Some(last) = &numbers.last {
            edits.push(DocumentEdit { range: last.clone(), text: to.last.to_string() });
            range = *to;
        }
        new_lines.push(range);
    }
    (edits, new_lines)
}

/// Applies edits that do not overlap.
fn apply_edits(text: &str, mut edits: Vec<DocumentEdit>) -> String {
    edits.sort_unstable_by_key(|edit| edit.range.start);
    let (mut changed, mut done) = (String::with_capacity(text.len()), 0);
    for DocumentEdit { range, text: new } in edits {
        changed.push_str(text.get(done..range.start).unwrap_or_default());
        changed.push_str(&new);
        done = range.end;
    }
    changed + text.get(done..).unwrap_or_default()
}
