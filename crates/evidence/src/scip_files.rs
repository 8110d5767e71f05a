//! Keeps the SCIP indexes that were given for roots: a file for each root, in a private folder.
//!
//! The store is not involved, so that an index outlives the content of its root in any engine. It
//! counts only for files whose indexed text it describes.

use std::{
    fs,
    io::{self, Seek},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use codeinfo_core::{
    Root, RootId,
    atomic::{create_private_folder, remove_file},
    error::ErrorCode,
};
use codeinfo_graph::{
    resolve::SharedScipIndex,
    scip::{MAX_INDEX_BYTES, ScipError, ScipIndex},
};
use codeinfo_store::StoreError;
use codeinfo_worktree::beneath::{FileFacts, FileHandle, RootDir};
use tempfile::{NamedTempFile, TempPath};
use tokio::{
    fs::File,
    io::AsyncWriteExt,
    sync::{OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
};
use tracing::warn;

use super::Evidence;

/// Name of an index in the folder of a tree, which counts if none was given.
const TREE_FILE: &str = "index.scip";

const MAX_KEPT_BYTES: u64 = 128 << 20;

/// Folder of the given indexes; without one, none can be given. Clones share it.
#[derive(Clone)]
pub(super) struct ScipFolder {
    path: Option<PathBuf>,
    /// Lets one index arrive at a time, because each takes as much disk space as it may.
    turn: Arc<Semaphore>,
    /// Indexes that were read, the last one first. Unlike graphs, they remain when much is read.
    kept: Arc<Mutex<Vec<(RootId, FileFacts, SharedScipIndex)>>>,
}

/// A SCIP index that arrives in pieces. The former one counts until [`Self::finish`].
pub struct ScipUpload {
    evidence: Evidence,
    root: Root,
    folder: PathBuf,
    file: File,
    bytes: u64,
    /// Removes the file unless it is complete.
    path: TempPath,
    turn: OwnedSemaphorePermit,
}

/// A failure to keep a SCIP index.
#[derive(Debug, thiserror::Error)]
pub enum ScipFileError {
    /// It is no SCIP index.
    #[error(transparent)]
    Content(#[from] ScipError),
    /// It has no indexed file of the repository, which is named.
    #[error("the SCIP index has no indexed file of `{0}`; run the indexer in its folder")]
    Foreign(String),
    /// Another one is being received.
    #[error("another SCIP index is being received; try again in a moment")]
    Busy,
    /// Its file cannot be written.
    #[error("the SCIP index cannot be kept: {0}")]
    Unwritable(#[from] io::Error),
    /// The store failed.
    #[error("cannot read what is indexed: {0}")]
    Store(#[from] StoreError),
}

impl ScipFileError {
    /// Returns the error code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Content(_) | Self::Foreign(_) => ErrorCode::ValidationFailed,
            Self::Busy => ErrorCode::Busy,
            Self::Unwritable(_) => ErrorCode::StoreUnavailable,
            Self::Store(cause) => cause.code(),
        }
    }
}

impl ScipFolder {
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self { path, turn: Arc::new(Semaphore::new(1)), kept: Arc::default() }
    }

    /// Opens the index that was given for a root, else the one in the folder of its tree.
    pub(super) fn open_index(&self, root: &Root) -> Option<(FileHandle, FileFacts)> {
        let open = |folder: RootDir, name: &str| folder.open_file(Path::new(name)).ok();
        let given = self.path.as_ref().and_then(|folder| RootDir::open(folder).ok());
        given.and_then(|folder| open(folder, &name_file(root.id))).or_else(|| {
            // The objects of a commit are not searched for one.
            let tree = RootDir::open_root(root).ok().filter(|_| root.revision.is_none());
            open(tree?, TREE_FILE)
        })
    }

    /// Reads an opened index of a root unless it is kept; `None` if it is damaged.
    pub(super) fn read_index(
        &self,
        root: RootId,
        opened: (FileHandle, FileFacts),
    ) -> Option<SharedScipIndex> {
        let (file, facts) = opened;
        let lock = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((.., index)) = lock().iter().find(|known| (known.0, known.1) == (root, facts)) {
            return Some(Arc::clone(index));
        }
        let read = ScipIndex::read(file);
        let content = read.inspect_err(|error| warn!(%error, "the SCIP index is not used")).ok()?;
        let index = Arc::new(Mutex::new(content));
        let mut kept = lock();
        kept.retain(|(known, ..)| *known != root);
        if facts.size <= MAX_KEPT_BYTES {
            kept.insert(0, (root, facts, Arc::clone(&index)));
        }
        let mut bytes = 0;
        kept.retain(|(_, known, _)| {
            bytes += known.size;
            bytes <= MAX_KEPT_BYTES
        });
        Some(index)
    }
}

impl Evidence {
    /// Keeps the SCIP indexes that are given for roots in `folder`, below an existing folder.
    #[must_use]
    pub fn with_scip_folder(self, folder: PathBuf) -> Self {
        Self { scip_folder: ScipFolder::new(Some(folder)), ..self }
    }

    /// Begins to receive the SCIP index of a root.
    ///
    /// # Errors
    ///
    /// Another index is being received, or the folder cannot be written.
    pub fn receive_scip_index(&self, root: Root) -> Result<ScipUpload, ScipFileError> {
        let ScipFolder { path, turn, .. } = &self.scip_folder;
        let turn = Arc::clone(turn).try_acquire_owned().map_err(|_| ScipFileError::Busy)?;
        let folder = path.clone().ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))?;
        create_private_folder(&folder)?;
        // Only its account can read it.
        let (file, path) = NamedTempFile::new_in(&folder)?.into_parts();
        let (evidence, file) = (self.clone(), File::from_std(file));
        Ok(ScipUpload { evidence, root, folder, file, bytes: 0, path, turn })
    }

    /// Removes the SCIP index that was given for a root, if there is one.
    pub fn remove_scip_index(&self, root: RootId) -> Result<(), ScipFileError> {
        let folder = self.scip_folder.path.as_ref();
        Ok(folder.map_or(Ok(()), |folder| remove_file(&folder.join(name_file(root))))?)
    }
}

impl ScipUpload {
    /// Adds a piece. Fails if the index becomes larger than [`MAX_INDEX_BYTES`].
    pub async fn write_piece(&mut self, piece: &[u8]) -> Result<(), ScipFileError> {
        self.bytes += piece.len() as u64;
        if self.bytes > MAX_INDEX_BYTES {
            return Err(ScipError::TooLarge.into());
        }
        Ok(self.file.write_all(piece).await?)
    }

    /// Makes the index that of its root. Returns the number of indexed files that it has.
    ///
    /// # Errors
    ///
    /// It is no SCIP index, has no indexed file, or cannot be written.
    pub async fn finish(mut self) -> Result<usize, ScipFileError> {
        self.file.flush().await?;
        let mut file = self.file.into_std().await;
        let files = self.evidence.store.files(self.root.id).await?;
        let roots = self.evidence.store.roots().await?;
        let turn = self.turn;
        let finish = move || {
            // Held until the work ends, even if the client leaves.
            let _turn = turn;
            file.sync_all()?;
            file.rewind()?;
            let index = ScipIndex::read(&file)?;
            let count = files.iter().filter(|file| index.document(&file.path).is_some()).count();
            if count == 0 {
                return Err(ScipFileError::Foreign(self.root.name));
            }
            let target = self.folder.join(name_file(self.root.id));
            self.path.persist(target).map_err(|failed| failed.error)?;
            // Removes what ended processes and removed roots left.
            let names: Vec<String> = roots.iter().map(|root| name_file(root.id)).collect();
            for entry in fs::read_dir(&self.folder)? {
                let entry = entry?;
                if names.iter().all(|name| entry.file_name() != name.as_str()) {
                    let removed = remove_file(&entry.path());
                    drop(removed.inspect_err(|error| warn!(%error, "a former SCIP index remains")));
                }
            }
            Ok(count)
        };
        spawn_blocking(finish).await.map_err(io::Error::other)?
    }
}

fn name_file(root: RootId) -> String {
    format!("{root}.scip")
}
