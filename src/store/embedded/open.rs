//! Opens a store: its files are compared with their checksums before the engine reads them, what is
//! damaged is moved away, and the roots that are to be repaired are marked.
//!
//! A damaged segment is moved away and the rest opened; what the engine cannot open at all is
//! moved as a whole. Then every root is marked, as any may have lost something. Commands other
//! than `serve` and `ingest` refuse a damaged store. Failures of the system, known by their
//! numbers, refuse the start and move nothing.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use tracing::info;

use super::{
    super::{Collection, OnMismatch, StoreError, atomic},
    aside,
    audit::{self, audit},
    checksums::{self, Checksums, Compare, State},
    entries,
    journal::Journal,
    manifest::Manifest,
    mappings, repair,
    roster::Roster,
    shard::{self, Shard},
    system,
    writer::{Notes, Shards, Writer},
};

/// What a store is opened for.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) model: String,
    pub(super) dimensions: usize,
    pub(super) on_mismatch: OnMismatch,
    /// Whether damage is repaired; else it is refused.
    pub(super) repairs: bool,
    pub(super) compare: Compare,
}

/// Opens the store in `folder`.
pub(super) fn open(folder: &Path, wanted: &Wanted) -> Result<Writer, StoreError> {
    let roster = Roster::open(folder, wanted.repairs)?;
    match open_once(folder, wanted, &roster, None) {
        Err(StoreError::Damaged { reason, .. }) if wanted.repairs => {
            let is_whole = roster.is_whole();
            roster.mark(Some(&reason), &roster.roots())?;
            if !is_whole {
                roster.lose(&reason, &[])?;
            }
            aside::whole(folder, &reason)?;
            open_once(folder, wanted, &roster, Some(reason))
        }
        opened => opened,
    }
}

/// Reads which model filled the store in `folder` and how long its vectors are; `None` if there is none
/// yet.
pub(super) fn recorded(folder: &Path) -> Result<Option<(String, usize)>, StoreError> {
    Manifest::recorded(folder).map_err(|error| judged(folder, error))
}

/// Opens the store, without those of its segments that are damaged. `found` is what was found damaged
/// before.
fn open_once(
    folder: &Path,
    wanted: &Wanted,
    roster: &Roster,
    mut found: Option<String>,
) -> Result<Writer, StoreError> {
    let create = |source| judged(folder, StoreError::io(folder, source));
    fs::create_dir_all(folder).map_err(create)?;
    // Locks the folder, so it comes first.
    let journal = Journal::open(folder).map_err(|error| judged(folder, error))?;
    let open = || Manifest::open(folder, &wanted.model, wanted.dimensions);
    let mut manifest = open().map_err(|error| judged(folder, error))?;
    if manifest.is_new() && found.is_none() && !roster.roots().is_empty() {
        let reason = "its folder is missing".to_owned();
        refuse_unless(wanted.repairs, folder, &reason)?;
        // A process that ends before the roots are in the store leaves a new store and the list.
        roster.mark(Some(&reason), &roster.roots())?;
        found = Some(reason);
    }
    let is_discarding = discard(folder, wanted, &mut manifest)?;
    let mut checksums = Checksums::open(folder).map_err(|error| judged(folder, error))?;
    let damaged = damaged(folder, &manifest, &mut checksums, wanted.compare)
        .map_err(|error| judged(folder, error))?;
    let is_lost = !roster.is_whole() && damaged.iter().any(|path| is_of_roots(path));
    if let Some(reason) = reason(&damaged) {
        refuse_unless(wanted.repairs, folder, &reason)?;
        roster.mark(Some(&reason), &roster.roots())?;
        if is_lost {
            roster.lose(&reason, &[])?;
        }
        let part = |path| checksums::segment(path).unwrap_or(path);
        let parts: BTreeSet<&str> = damaged.iter().map(|path| part(path.as_str())).collect();
        aside::parts(folder, parts, &reason)?;
        found = Some(reason);
    }
    checksums.disturb()?;
    let numbers = manifest.reserve()?;
    let notes = Notes { journal, manifest, numbers, checksums, roster: roster.clone() };
    let mut writer =
        recover(folder, wanted.dimensions, notes).map_err(|error| judged(folder, error))?;
    if is_discarding {
        writer.finish_discarding()?;
    }
    let audit = audit(&writer, found).map_err(|error| judged(folder, error))?;
    if let Some(reason) = &audit.damage {
        refuse_unless(wanted.repairs, folder, reason)?;
    }
    let is_lost = is_lost || audit.is_lost;
    let reason = audit.damage.clone();
    if wanted.repairs && !audit.roots.is_empty() {
        audit::mark(&mut writer, audit)?;
        writer.flush()?;
    } else {
        writer.list_roots();
    }
    if is_lost {
        roster.lose(reason.as_deref().unwrap_or_default(), &writer.roots()?)?;
        audit::forget_strangers(&mut writer)?;
    }
    Ok(writer)
}

/// Drops chunks and files of another model or layout, or refuses them. Returns whether any were to be
/// dropped.
fn discard(folder: &Path, wanted: &Wanted, manifest: &mut Manifest) -> Result<bool, StoreError> {
    let Wanted { model, dimensions, on_mismatch, .. } = wanted;
    match (manifest.check(model, *dimensions), on_mismatch) {
        (Ok(()), _) => {}
        (Err(mismatch), OnMismatch::Refuse) => return Err(mismatch),
        (Err(mismatch), OnMismatch::Discard) => {
            info!(reason = %mismatch, "discarding what another model or version indexed");
            manifest.start_discarding(model, *dimensions)?;
        }
    }
    if manifest.discarding() {
        for collection in [Collection::Chunks, Collection::Files] {
            atomic::remove_folder(&folder.join(shard::folder_name(collection)))?;
        }
    }
    Ok(manifest.discarding())
}

fn recover(folder: &Path, dimensions: usize, notes: Notes) -> Result<Writer, StoreError> {
    let first = notes.numbers.first;
    let shard = |collection| Shard::open(folder, collection, dimensions, first);
    let shards = Shards {
        chunks: shard(Collection::Chunks)?,
        files: shard(Collection::Files)?,
        roots: shard(Collection::Roots)?,
    };
    let mut writer = Writer::replay(folder, Arc::new(shards), notes)?;
    if writer.was_optimizing()? {
        repair::remove_copies(&mut writer)?;
    }
    writer.recovered()?;
    for collection in Collection::ALL {
        writer.shards().get(collection).remove_former_indexes()?;
    }
    Ok(writer)
}

/// Says whether a failure comes of the files or of the system.
fn judged(folder: &Path, error: StoreError) -> StoreError {
    let path: PathBuf = folder.to_owned();
    let damaged = |reason| StoreError::Damaged { path: path.clone(), reason };
    match error {
        StoreError::Engine { .. } | StoreError::Io { .. } => {
            let reason = error.to_string();
            match (system::advice(&reason), &error) {
                (Some(_), StoreError::Engine { .. }) if system::is_absurd(folder, &reason) => {
                    damaged(reason)
                }
                (Some(advice), _) => StoreError::System { path, reason, advice },
                (None, StoreError::Io { source, .. }) if !is_of_files(source) => error,
                (None, _) => damaged(reason),
            }
        }
        StoreError::Malformed(_) => damaged(error.to_string()),
        other => other,
    }
}

/// Whether an error of the system says that something is not there, or is no file.
fn is_of_files(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, InvalidData, IsADirectory, NotADirectory, NotFound};
    matches!(error.kind(), AlreadyExists | InvalidData | IsADirectory | NotADirectory | NotFound)
}

fn refuse_unless(repairs: bool, folder: &Path, reason: &str) -> Result<(), StoreError> {
    if repairs {
        return Ok(());
    }
    Err(StoreError::Damaged { path: folder.to_owned(), reason: reason.to_owned() })
}

/// Names some of the damaged files.
fn reason(damaged: &[String]) -> Option<String> {
    match damaged {
        [] => None,
        [one] if one == checksums::FILE => Some(format!("`{one}` is missing or damaged")),
        [one] => Some(format!("`{one}` is not what was written")),
        [first, others @ ..] => {
            Some(format!("`{first}` and {} other files are not what was written", others.len()))
        }
    }
}

/// Returns what is not as it was written, or would hang the engine, by paths below the folder of the store.
fn damaged(
    folder: &Path,
    manifest: &Manifest,
    checksums: &mut Checksums,
    compare: Compare,
) -> Result<Vec<String>, StoreError> {
    let mut damaged = entries::strange(folder)?;
    let is_proof_gone = match checksums.state() {
        State::Whole => false,
        State::Missing => manifest.has_checksums(),
        State::Damaged => true,
    };
    if is_proof_gone {
        damaged.push(checksums::FILE.to_owned());
    }
    damaged.extend(checksums.damaged(compare)?);
    if !checksums.is_at_rest() {
        damaged.extend(mappings::implausible(folder)?);
    }
    // The rest was dropped, or is about to be.
    damaged.retain(|path| !manifest.discarding() || is_of_roots(path) || path == checksums::FILE);
    damaged.sort_unstable();
    damaged.dedup();
    Ok(damaged)
}

fn is_of_roots(path: &str) -> bool {
    path.split('/').next() == Some(shard::folder_name(Collection::Roots))
}
