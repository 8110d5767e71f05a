//! Opens an index: compares files with their checksums, moves damaged ones away, and marks roots for repair.
//!
//! A damaged segment is moved away and the others opened; a damaged manifest takes the whole index with it.
//! Commands other than `serve` and `ingest` refuse a damaged index, and compare only what they read into
//! memory. Failures of the system, known by errno, refuse the start and move nothing.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use codeinfo_core::{LastRun, Root, RootId, error::system_advice};
use tracing::info;

use crate::{
    IndexError, IndexOptions, OnMismatch, deletions,
    folder::{self, FolderLock},
    manifest::{
        IndexManifest, MANIFEST_FILE, SegmentEntry, deletions_file_name, segment_file_name,
    },
    root_list::RootList,
    segment::{ChecksumScope, IndexSegment},
    snapshot::LiveSegment,
    source::SegmentSource,
    writer::{IndexContents, IndexWriter},
};

/// Names of files and folders of former layouts.
const FORMER_NAMES: [&str; 6] = ["chunks", "files", "roots", "journal", "checksums", "optimizing"];

pub(crate) fn open_index(folder: &Path, options: &IndexOptions) -> Result<IndexWriter, IndexError> {
    let classify = |error| classify_error(folder, error);
    let root_list = RootList::open(folder, options.repairs).map_err(classify)?;
    match open_once(folder, options, &root_list, None).map_err(classify) {
        Err(IndexError::Damaged { reason, .. }) if options.repairs => {
            // If this process is killed, the next one finds the folder missing or the roots marked.
            if !root_list.is_whole() {
                root_list.mark_lost(&reason, &[])?;
            }
            folder::quarantine_folder(folder, &reason)?;
            open_once(folder, options, &root_list, Some(reason)).map_err(classify)
        }
        opened => opened,
    }
}

pub(crate) fn read_model(folder: &Path) -> Result<Option<(String, usize)>, IndexError> {
    let read = IndexManifest::read(folder).map_err(|error| classify_error(folder, error))?;
    Ok(read.map(|manifest| (manifest.model, manifest.dimensions)))
}

/// Opens the index without its damaged segments. `damage` describes damage that was found before.
fn open_once(
    folder: &Path,
    options: &IndexOptions,
    root_list: &RootList,
    mut damage: Option<String>,
) -> Result<IndexWriter, IndexError> {
    fs::create_dir_all(folder).map_err(|source| IndexError::io(folder, source))?;
    let lock = FolderLock::acquire(folder)?;
    let (mut manifest, is_new) = match read_manifest(folder, options, root_list)? {
        Some(manifest) => (manifest, false),
        None => (IndexManifest::new(&options.model, options.dimensions), true),
    };
    if is_new && damage.is_none() && !root_list.roots().is_empty() {
        let reason = "its folder is missing".to_owned();
        refuse_unless(options.repairs, folder, &reason)?;
        damage = Some(reason);
    }
    if is_new {
        manifest.roots = root_list.roots();
    }
    let mut damaged: BTreeSet<RootId> = match damage {
        Some(_) => manifest.roots.iter().map(|root| root.id).collect(),
        None => BTreeSet::new(),
    };
    let OpenedSegments { segments, lost } =
        open_segments(folder, &manifest, options.checksum_scope())?;
    if let Some(reason) = name_lost_files(&lost) {
        refuse_unless(options.repairs, folder, &reason)?;
        let lost_roots: BTreeSet<RootId> =
            lost.iter().flat_map(|(entry, _)| entry.roots.iter().copied()).collect();
        let is_affected = |root: &&Root| {
            let mut ids = [root.id, root.chunk_owner()]
                .into_iter()
                .chain(RootId::former_record_ids(root.chunk_owner()));
            ids.any(|id| lost_roots.contains(&id))
        };
        damaged.extend(manifest.roots.iter().filter(is_affected).map(|root| root.id));
        let files: Vec<String> = lost.iter().flat_map(|(entry, _)| entry.file_names()).collect();
        folder::quarantine_files(folder, &files, &reason)?;
        damage = Some(reason);
    }
    remove_strays(folder, &manifest)?;
    let contents = IndexContents { manifest, segments };
    let mut writer =
        IndexWriter::new(folder, lock, contents, root_list.clone(), options.seal_chunks);
    let miscounted = find_miscounted_roots(&writer);
    if let Some((root, reason)) = miscounted.first() {
        refuse_unless(options.repairs, folder, reason)?;
        damage.get_or_insert_with(|| reason.clone());
        damaged.insert(*root);
    }
    damaged.extend(miscounted.into_iter().map(|(root, _)| root));
    mark_damaged_roots(&mut writer, options.repairs, damage.as_deref(), damaged, is_new)?;
    Ok(writer)
}

fn mark_damaged_roots(
    writer: &mut IndexWriter,
    repairs: bool,
    damage: Option<&str>,
    mut damaged: BTreeSet<RootId>,
    is_new: bool,
) -> Result<(), IndexError> {
    let roots = Arc::clone(&writer.current().get().roots);
    damaged.extend(roots.keys().filter(|root| writer.root_list().is_damaged(**root)));
    damaged.retain(|root| roots.contains_key(root));
    if repairs && !damaged.is_empty() {
        let affected: Vec<Root> =
            roots.values().filter(|root| damaged.contains(&root.id)).cloned().collect();
        writer.root_list().mark_damaged(damage, &affected)?;
        writer.change_snapshot(|snapshot| {
            for root in Arc::make_mut(&mut snapshot.roots).values_mut() {
                if damaged.contains(&root.id) {
                    root.last_run = LastRun::Damaged;
                }
            }
        });
    } else if is_new || damage.is_some() {
        writer.change_snapshot(|_| {});
    }
    writer.commit()?;
    if !repairs || damaged.is_empty() {
        writer.save_root_list();
    }
    Ok(())
}

/// Reads the manifest, or replaces one of another model or layout without its records; `None` without an index.
fn read_manifest(
    folder: &Path,
    options: &IndexOptions,
    root_list: &RootList,
) -> Result<Option<IndexManifest>, IndexError> {
    let former = match IndexManifest::read(folder) {
        Ok(None) if is_folder_empty(folder)? => return Ok(None),
        Ok(None) => {
            let reason = format!("`{MANIFEST_FILE}` is missing");
            return Err(IndexError::Damaged { path: folder.to_owned(), reason });
        }
        Ok(Some(manifest)) => match manifest.check_model(&options.model, options.dimensions) {
            Ok(()) => return Ok(Some(manifest)),
            Err(mismatch) => {
                refuse_to_discard(options, mismatch)?;
                Some(manifest)
            }
        },
        Err(older @ IndexError::OlderLayout { .. }) => {
            refuse_to_discard(options, older)?;
            None
        }
        Err(error) => return Err(error),
    };
    let mut manifest = IndexManifest::new(&options.model, options.dimensions);
    let listed = root_list.roots();
    let mut roots = former.map_or_else(|| listed.clone(), |former| former.roots);
    let is_known = |lost: &Root, roots: &[Root]| roots.iter().any(|root| root.id == lost.id);
    let damaged = listed.into_iter().filter(|root| root_list.is_damaged(root.id));
    let lost: Vec<Root> = damaged.filter(|root| !is_known(root, &roots)).collect();
    roots.extend(lost);
    manifest.roots = roots.into_iter().map(Root::without_index).collect();
    manifest.write(folder)?;
    Ok(Some(manifest))
}

fn refuse_to_discard(options: &IndexOptions, mismatch: IndexError) -> Result<(), IndexError> {
    match options.on_mismatch {
        OnMismatch::Refuse => Err(mismatch),
        OnMismatch::Discard => {
            info!(reason = %mismatch, "discarding what another model or version indexed");
            Ok(())
        }
    }
}

struct OpenedSegments {
    segments: Vec<LiveSegment>,
    /// Damaged segments, each with the name of its damaged file.
    lost: Vec<(SegmentEntry, String)>,
}

fn open_segments(
    folder: &Path,
    manifest: &IndexManifest,
    compare: ChecksumScope,
) -> Result<OpenedSegments, IndexError> {
    let (mut segments, mut lost) = (Vec::new(), Vec::new());
    for entry in &manifest.segments {
        match open_segment(folder, manifest.dimensions, entry, compare) {
            Ok(live) => segments.push(live),
            Err((file, source)) => {
                match classify_error(folder, IndexError::io(&folder.join(&file), source)) {
                    IndexError::Damaged { .. } => lost.push((entry.clone(), file)),
                    other => return Err(other),
                }
            }
        }
    }
    Ok(OpenedSegments { segments, lost })
}

/// Opens one segment. A failure contains the name of the file.
fn open_segment(
    folder: &Path,
    dimensions: usize,
    entry: &SegmentEntry,
    compare: ChecksumScope,
) -> Result<LiveSegment, (String, io::Error)> {
    let open = |path: &Path| IndexSegment::open(SegmentSource::open(path)?, dimensions, compare);
    let file = segment_file_name(entry.number);
    let segment = open(&folder.join(&file)).map_err(|error| (file, error))?;
    let (chunk_count, file_count) = (segment.chunks.len(), segment.files.len());
    let live = LiveSegment::new(segment, Some(entry.number));
    let Some(number) = entry.deleted else { return Ok(live) };
    let read = deletions::read_deletions(folder, number, chunk_count, file_count);
    let (chunks, files) = read.map_err(|error| (deletions_file_name(number), error))?;
    Ok(live.with_saved_deletions(number, chunks, files))
}

fn name_lost_files(lost: &[(SegmentEntry, String)]) -> Option<String> {
    match lost {
        [] => None,
        [(_, one)] => Some(format!("`{one}` is not what was written")),
        [(_, first), others @ ..] => {
            Some(format!("`{first}` and {} other files are not what was written", others.len()))
        }
    }
}

/// Returns the roots that have more or fewer chunks than after their last run, each with a description. A tree of a
/// repository may have fewer chunks than are stored under its owner.
fn find_miscounted_roots(writer: &IndexWriter) -> Vec<(RootId, String)> {
    let snapshot = writer.current().get();
    let completed = snapshot.roots.values().filter(|root| root.last_run.is_completed());
    let counts = completed.map(|root| (root, snapshot.count(Some(root.chunk_owner()))));
    let differ = counts.filter(|(root, chunks)| {
        let is_alone = root.repository.is_none();
        *chunks < root.counts.chunks || (is_alone && *chunks != root.counts.chunks)
    });
    let described = differ.map(|(root, chunks)| {
        let (name, wanted) = (&root.name, root.counts.chunks);
        (root.id, format!("`{name}` has {chunks} chunks where {wanted} belong"))
    });
    described.collect()
}

/// Returns whether a folder has no index files. A process killed while it wrote the first manifest stored nothing.
fn is_folder_empty(folder: &Path) -> Result<bool, IndexError> {
    Ok(list_folder(folder)?.iter().all(|name| !is_index_file(name) || name == "manifest.tmp"))
}

/// Removes files of killed processes and of former layouts.
fn remove_strays(folder: &Path, manifest: &IndexManifest) -> Result<(), IndexError> {
    let kept: BTreeSet<String> =
        manifest.segments.iter().flat_map(SegmentEntry::file_names).collect();
    for name in
        list_folder(folder)?.into_iter().filter(|name| is_index_file(name) && !kept.contains(name))
    {
        let path = folder.join(&name);
        if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            folder::remove_folder(&path)?;
        } else {
            folder::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Returns whether a name is that of a file or folder of an index, except the manifest and the list of roots.
fn is_index_file(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
    FORMER_NAMES.contains(&name) || matches!(extension, Some("segment" | "deleted" | "tmp"))
}

fn list_folder(folder: &Path) -> Result<Vec<String>, IndexError> {
    let failed = |source| IndexError::io(folder, source);
    let names = fs::read_dir(folder).map_err(failed)?.map(|entry| {
        entry.map(|entry| entry.file_name().to_string_lossy().into_owned()).map_err(failed)
    });
    names.collect()
}

/// Turns an I/O error into damage or a failure of the system.
fn classify_error(folder: &Path, error: IndexError) -> IndexError {
    let path: PathBuf = folder.to_owned();
    match error {
        IndexError::Io { ref source, .. } => {
            let reason = error.to_string();
            match system_advice(source) {
                Some(advice) => IndexError::System { path, reason, advice },
                None if is_damage(source) => IndexError::Damaged { path, reason },
                None => error,
            }
        }
        IndexError::Malformed(_) => IndexError::Damaged { path, reason: error.to_string() },
        other => other,
    }
}

/// Returns whether an error means that a file is missing, is no file, or differs from what was written.
fn is_damage(error: &io::Error) -> bool {
    use io::ErrorKind::{
        AlreadyExists, InvalidData, IsADirectory, NotADirectory, NotFound, UnexpectedEof,
    };
    let kinds = [AlreadyExists, InvalidData, IsADirectory, NotADirectory, NotFound, UnexpectedEof];
    kinds.contains(&error.kind())
}

fn refuse_unless(repairs: bool, folder: &Path, reason: &str) -> Result<(), IndexError> {
    if repairs {
        return Ok(());
    }
    Err(IndexError::Damaged { path: folder.to_owned(), reason: reason.to_owned() })
}
