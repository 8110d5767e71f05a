//! Opens a store: every file is compared with its checksums, what is damaged is moved away, and the roots
//! that are to be repaired are marked.
//!
//! A damaged segment is moved away and the rest opened; a damaged manifest takes the whole store with it.
//! Commands other than `serve` and `ingest` refuse a damaged store, and compare only what they read into
//! memory. Failures of the system, known by their numbers, refuse the start and move nothing.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use codeinfo_core::{LastRun, Root, RootId};
use tracing::info;

use super::{
    super::{OnMismatch, StoreError, atomic},
    aside, deletions,
    held::Held,
    manifest::{self, Entry, Manifest, segment_file},
    roster::Roster,
    segment::{Compare, Segment},
    source::Source,
    state::Live,
    system,
    writer::Writer,
};

/// What a store of a former layout has in its folder.
const FORMER: [&str; 6] = ["chunks", "files", "roots", "journal", "checksums", "optimizing"];

/// What a store is opened for.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) model: String,
    pub(super) dimensions: usize,
    pub(super) on_mismatch: OnMismatch,
    /// Whether damage is repaired; else it is refused.
    pub(super) repairs: bool,
    pub(super) compare: Compare,
    /// After how many chunks a commit is made.
    pub(super) seal_chunks: usize,
}

/// Opens the store in `folder`.
pub(super) fn open(folder: &Path, wanted: &Wanted) -> Result<Writer, StoreError> {
    let judged = |error| judged(folder, error);
    let roster = Roster::open(folder, wanted.repairs).map_err(judged)?;
    match open_once(folder, wanted, &roster, None).map_err(judged) {
        Err(StoreError::Damaged { reason, .. }) if wanted.repairs => {
            // Should this process be killed, the next one finds the folder missing, or the roots marked.
            if !roster.is_whole() {
                roster.lose(&reason, &[])?;
            }
            aside::whole(folder, &reason)?;
            open_once(folder, wanted, &roster, Some(reason)).map_err(judged)
        }
        opened => opened,
    }
}

/// Reads which model filled the store in `folder` and how long its vectors are; `None` if there is none
/// yet.
pub(super) fn recorded(folder: &Path) -> Result<Option<(String, usize)>, StoreError> {
    let read = Manifest::read(folder).map_err(|error| judged(folder, error))?;
    Ok(read.map(|manifest| manifest.filled_by()))
}

/// Opens the store, without those of its segments that are damaged. `found` is what was found damaged
/// before.
fn open_once(
    folder: &Path,
    wanted: &Wanted,
    roster: &Roster,
    mut found: Option<String>,
) -> Result<Writer, StoreError> {
    fs::create_dir_all(folder).map_err(|source| StoreError::io(folder, source))?;
    let held = Held::take(folder)?;
    let (mut manifest, is_new) = match read(folder, wanted, roster)? {
        Some(manifest) => (manifest, false),
        None => (Manifest::new(&wanted.model, wanted.dimensions), true),
    };
    if is_new && found.is_none() && !roster.roots().is_empty() {
        let reason = "its folder is missing".to_owned();
        refuse_unless(wanted.repairs, folder, &reason)?;
        found = Some(reason);
    }
    if is_new {
        manifest.roots = roster.roots();
    }
    let mut damaged: BTreeSet<RootId> = match found {
        Some(_) => manifest.roots.iter().map(|root| root.id).collect(),
        None => BTreeSet::new(),
    };
    let Opened { segments, lost } = segments(folder, &manifest, wanted.compare)?;
    if let Some(reason) = reason(&lost) {
        refuse_unless(wanted.repairs, folder, &reason)?;
        let of_lost: BTreeSet<RootId> =
            lost.iter().flat_map(|(entry, _)| entry.roots.iter().copied()).collect();
        let is_hurt = |root: &&Root| {
            let mut ids = [root.id, root.chunk_owner()]
                .into_iter()
                .chain(RootId::former_record_ids(root.chunk_owner()));
            ids.any(|id| of_lost.contains(&id))
        };
        damaged.extend(manifest.roots.iter().filter(is_hurt).map(|root| root.id));
        let files: Vec<String> = lost.iter().flat_map(|(entry, _)| entry.files()).collect();
        aside::parts(folder, files.iter().map(String::as_str), &reason)?;
        found = Some(reason);
    }
    remove_strays(folder, &manifest)?;
    let opened = (manifest, segments);
    let mut writer = Writer::new(folder, held, opened, roster.clone(), wanted.seal_chunks);
    let counted = miscounted(&writer);
    if let Some((root, reason)) = counted.first() {
        refuse_unless(wanted.repairs, folder, reason)?;
        found.get_or_insert_with(|| reason.clone());
        damaged.insert(*root);
    }
    damaged.extend(counted.into_iter().map(|(root, _)| root));
    finish(&mut writer, wanted.repairs, found.as_deref(), damaged, is_new)?;
    Ok(writer)
}

/// Marks the roots that are to be repaired, those included that were before, and writes what was found.
fn finish(
    writer: &mut Writer,
    repairs: bool,
    found: Option<&str>,
    mut damaged: BTreeSet<RootId>,
    is_new: bool,
) -> Result<(), StoreError> {
    let roots = Arc::clone(&writer.current().get().roots);
    damaged.extend(roots.keys().filter(|root| writer.roster().is_damaged(**root)));
    damaged.retain(|root| roots.contains_key(root));
    if repairs && !damaged.is_empty() {
        let hurt: Vec<Root> =
            roots.values().filter(|root| damaged.contains(&root.id)).cloned().collect();
        writer.roster().mark(found, &hurt)?;
        writer.change(|state| {
            for root in Arc::make_mut(&mut state.roots).values_mut() {
                if damaged.contains(&root.id) {
                    root.last_run = LastRun::Damaged;
                }
            }
        });
    } else if is_new || found.is_some() {
        writer.change(|_| {});
    }
    writer.commit()?;
    if !repairs || damaged.is_empty() {
        writer.list_roots();
    }
    Ok(())
}

/// Reads the manifest, or makes one for what another model or layout filled, which is dropped; `None` if
/// there is no store yet.
fn read(folder: &Path, wanted: &Wanted, roster: &Roster) -> Result<Option<Manifest>, StoreError> {
    let former = match Manifest::read(folder) {
        Ok(None) if is_empty(folder)? => return Ok(None),
        Ok(None) => {
            let reason = format!("`{}` is missing", manifest::FILE);
            return Err(StoreError::Damaged { path: folder.to_owned(), reason });
        }
        Ok(Some(manifest)) => match manifest.check(&wanted.model, wanted.dimensions) {
            Ok(()) => return Ok(Some(manifest)),
            Err(mismatch) => {
                refuse_to_discard(wanted, mismatch)?;
                Some(manifest)
            }
        },
        Err(older @ StoreError::OlderLayout { .. }) => {
            refuse_to_discard(wanted, older)?;
            None
        }
        Err(error) => return Err(error),
    };
    let mut manifest = Manifest::new(&wanted.model, wanted.dimensions);
    let listed = roster.roots();
    let mut roots = former.map_or_else(|| listed.clone(), |former| former.roots);
    let is_known = |lost: &Root, roots: &[Root]| roots.iter().any(|root| root.id == lost.id);
    let lost = listed.into_iter().filter(|root| roster.is_damaged(root.id));
    let lost: Vec<Root> = lost.filter(|root| !is_known(root, &roots)).collect();
    roots.extend(lost);
    manifest.roots = roots.into_iter().map(Root::without_index).collect();
    manifest.write(folder)?;
    Ok(Some(manifest))
}

fn refuse_to_discard(wanted: &Wanted, mismatch: StoreError) -> Result<(), StoreError> {
    match wanted.on_mismatch {
        OnMismatch::Refuse => Err(mismatch),
        OnMismatch::Discard => {
            info!(reason = %mismatch, "discarding what another model or version indexed");
            Ok(())
        }
    }
}

/// The segments that a manifest names.
struct Opened {
    segments: Vec<Live>,
    /// Those that are damaged, and which of their files is.
    lost: Vec<(Entry, String)>,
}

/// Opens the segments that a manifest names.
fn segments(folder: &Path, manifest: &Manifest, compare: Compare) -> Result<Opened, StoreError> {
    let (mut segments, mut lost) = (Vec::new(), Vec::new());
    for entry in &manifest.segments {
        match segment(folder, manifest.dimensions, entry, compare) {
            Ok(live) => segments.push(live),
            Err((file, source)) => {
                match judged(folder, StoreError::io(&folder.join(&file), source)) {
                    StoreError::Damaged { .. } => lost.push((entry.clone(), file)),
                    other => return Err(other),
                }
            }
        }
    }
    Ok(Opened { segments, lost })
}

/// Opens one segment. A failure names the file.
fn segment(
    folder: &Path,
    dimensions: usize,
    entry: &Entry,
    compare: Compare,
) -> Result<Live, (String, io::Error)> {
    let open = |path: &Path| Segment::open(Source::open(path)?, dimensions, compare);
    let file = segment_file(entry.number);
    let segment = open(&folder.join(&file)).map_err(|error| (file, error))?;
    let mut live = Live::of(segment, Some(entry.number));
    if let Some(number) = entry.deleted {
        let read = deletions::read(folder, number, &mut live);
        read.map_err(|error| (manifest::deleted_file(number), error))?;
    }
    Ok(live)
}

/// Names some of the damaged files.
fn reason(lost: &[(Entry, String)]) -> Option<String> {
    match lost {
        [] => None,
        [(_, one)] => Some(format!("`{one}` is not what was written")),
        [(_, first), others @ ..] => {
            Some(format!("`{first}` and {} other files are not what was written", others.len()))
        }
    }
}

/// Returns the roots that have more or fewer chunks than their last run left, and says so. A tree of a repository
/// may have fewer than what is kept of that.
fn miscounted(writer: &Writer) -> Vec<(RootId, String)> {
    let state = writer.current().get();
    let completed = state.roots.values().filter(|root| root.last_run.is_completed());
    let counted = completed.map(|root| (root, state.count(Some(root.chunk_owner()))));
    let differ = counted.filter(|(root, chunks)| {
        let is_alone = root.repository.is_none();
        *chunks < root.counts.chunks || (is_alone && *chunks != root.counts.chunks)
    });
    let said = differ.map(|(root, chunks)| {
        let (name, wanted) = (&root.name, root.counts.chunks);
        (root.id, format!("`{name}` has {chunks} chunks where {wanted} belong"))
    });
    said.collect()
}

/// Whether nothing of a store is in its folder. One that was killed while it wrote its first manifest had
/// nothing yet.
fn is_empty(folder: &Path) -> Result<bool, StoreError> {
    Ok(entries(folder)?.iter().all(|name| !is_ours(name) || name == "manifest.tmp"))
}

/// Removes what a killed process left, and what is of a former layout.
fn remove_strays(folder: &Path, manifest: &Manifest) -> Result<(), StoreError> {
    let kept: BTreeSet<String> = manifest.segments.iter().flat_map(Entry::files).collect();
    for name in entries(folder)?.into_iter().filter(|name| is_ours(name) && !kept.contains(name)) {
        let path = folder.join(&name);
        if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            atomic::remove_folder(&path)?;
        } else {
            atomic::remove(&path)?;
        }
    }
    Ok(())
}

/// Whether a name is that of a file or folder that a store makes, but the manifest and the list of roots.
fn is_ours(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
    FORMER.contains(&name) || matches!(extension, Some("segment" | "deleted" | "tmp"))
}

fn entries(folder: &Path) -> Result<Vec<String>, StoreError> {
    let failed = |source| StoreError::io(folder, source);
    let names = fs::read_dir(folder).map_err(failed)?.map(|entry| {
        entry.map(|entry| entry.file_name().to_string_lossy().into_owned()).map_err(failed)
    });
    names.collect()
}

/// Says whether a failure comes of the files or of the system.
fn judged(folder: &Path, error: StoreError) -> StoreError {
    let path: PathBuf = folder.to_owned();
    match error {
        StoreError::Io { ref source, .. } => {
            let reason = error.to_string();
            match system::advice(source) {
                Some(advice) => StoreError::System { path, reason, advice },
                None if is_of_files(source) => StoreError::Damaged { path, reason },
                None => error,
            }
        }
        StoreError::Malformed(_) => StoreError::Damaged { path, reason: error.to_string() },
        other => other,
    }
}

/// Whether an error says that a file is not there, is no file, or is not what was written.
fn is_of_files(error: &io::Error) -> bool {
    use io::ErrorKind::{
        AlreadyExists, InvalidData, IsADirectory, NotADirectory, NotFound, UnexpectedEof,
    };
    let kinds = [AlreadyExists, InvalidData, IsADirectory, NotADirectory, NotFound, UnexpectedEof];
    kinds.contains(&error.kind())
}

fn refuse_unless(repairs: bool, folder: &Path, reason: &str) -> Result<(), StoreError> {
    if repairs {
        return Ok(());
    }
    Err(StoreError::Damaged { path: folder.to_owned(), reason: reason.to_owned() })
}
