//! Writes documents with moved citations and the lock file, safely in case of a crash between
//! writes.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt::Write,
    fs::{self, File, TryLockError},
    path::Path,
};

use codeinfo_core::atomic;
use sha2::{Digest, Sha256};

use super::{
    edit::{self, DocumentEdit},
    error::DocumentError,
};
use crate::{
    lock::{CitationLock, CitationLockKey, LOCK_FILE, PendingRewrite},
    tree::DocumentTree,
};

/// Digits that distinguish two texts of a document.
const HASH_DIGITS: usize = 16;

/// Planned change of one document.
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
    let mut name = String::with_capacity(HASH_DIGITS);
    for byte in Sha256::digest(text).iter().take(HASH_DIGITS / 2) {
        // Writing to a `String` cannot fail.
        let _infallible = write!(name, "{byte:02x}");
    }
    name
}

/// Writes documents and the lock file, whose content is `stored`. Returns the failures.
///
/// The lock file first gets the new entries of each document with the hashes of its text before and
/// after. After a crash it therefore has the entries of either text.
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
        let mended = edit::apply_edits(&change.text, change.edits.clone());
        let entries = change.entries.clone();
        let (before, after) = (hash_text(&change.text), hash_text(&mended));
        pending.pending.insert(change.document.clone(), PendingRewrite { before, after, entries });
        texts.insert(change.document.clone(), mended);
    }
    if !texts.is_empty()
        && let Err(error) = write_file(tree, LOCK_FILE, &pending.to_string())
    {
        return vec![error];
    }
    let mut wanted = lock.clone();
    wanted.entries.retain(|key, _| tree.path_exists(&key.document));
    wanted.pending.retain(|document, _| tree.path_exists(document));
    let mut failures = Vec::new();
    let mut done = HashSet::new();
    let mut entered = BTreeMap::new();
    for DocumentChange { document, text, entries, .. } in changes {
        if let Some(mended) = texts.get(&document)
            && let Err(error) = rewrite_document(tree, &document, &text, mended)
        {
            failures.push(error);
            continue;
        }
        entered.extend(entries);
        done.insert(document);
    }
    wanted.entries.retain(|key, _| !done.contains(&key.document));
    wanted.entries.extend(entered);
    if wanted != *stored || !texts.is_empty() {
        failures.extend(write_file(tree, LOCK_FILE, &wanted.to_string()).err());
    }
    failures
}

fn rewrite_document(
    tree: &DocumentTree,
    document: &str,
    text: &str,
    mended: &str,
) -> Result<(), DocumentError> {
    if tree.read_text(document).ok().as_deref() != Some(text) {
        return Err(DocumentError::Meanwhile { path: document.to_owned() });
    }
    write_file(tree, document, mended)
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
