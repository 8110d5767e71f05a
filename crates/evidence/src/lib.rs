//! Finds evidence in the index: every use of a name, lines of a file, and the definitions of files.
//!
//! Counts are exact: words are counted in the indexed lines, and the terms of the index only select
//! the files. Files are opened beneath their roots, never through a link, and only if the index has
//! content of them. Files left out as secrets are neither read nor shown.
#![warn(missing_docs)]

mod classify;
mod commits;
mod error;
mod lines;
mod links;
mod matches;
mod outline;
mod pattern;
pub mod render;
mod resolve;
mod scan;
mod scip_files;
mod searched;
pub mod snapshot;
mod source;
mod symbols;
mod uses;
mod word;

use std::{sync::Arc, time::Duration};

use codeinfo_core::{PathMap, Root, RootFilter};
use codeinfo_store::Store;
use codeinfo_worktree::roots::FolderCheck;
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};

use self::{commits::CommitIndex, scip_files::ScipFolder};

pub use self::{
    classify::{MAX_SHOWN, OccurrenceKind},
    commits::{CommitSettings, CommitsReading, FoundCommit, FoundCommits},
    error::EvidenceError,
    lines::{FileLines, IndexedFileState, RequestedLines},
    links::{FileLink, FileLinkKind},
    matches::{MatchedName, MatchedPlace, PatternMatches},
    outline::{FolderMember, FolderOutline, FolderSize, Outline, OutlineEntry},
    pattern::NamePattern,
    resolve::{IndexedFile, split_lines},
    scip_files::{ScipFileError, ScipUpload},
    searched::SearchedRepository,
    source::{FilePermalink, HighlightedSource},
    symbols::{
        CallTrace, CallerChange, Certainty, ChangeImpact, ChangeKind, ChangedFileList,
        ChangedFiles, CommitReport, DEFAULT_SINCE, DEFAULT_TRACE_DEPTH, DefinitionUses, DiffLine,
        FileChangeReport, FoundDefinition, FoundPiece, HistoryReport, HistoryRequest,
        ImpactRequest, MAX_TRACE_DEPTH, MovedFile, ReachingDefinition, ReferenceLine,
        RelatedSymbol, RelationKind, SymbolNeighbour, SymbolPlace, SymbolRelations,
        TouchedDefinition, TraceDirection, TraceRequest, TraceStep,
    },
    uses::{NameUses, OccurrenceGroup, UsedFile, UsedLine},
};

/// Maximum concurrent requests. Each takes a thread, for ever if a folder hangs.
const MAX_WORKING: usize = 16;
/// Maximum concurrent questions about history. Each takes up to 200 MiB.
const MAX_HISTORIES: usize = 2;
/// Maximum time of one step of a request, because a folder on a network may hang.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Finds evidence in the content of `store`. Clones share the limit of concurrent requests.
#[derive(Clone)]
pub struct Evidence {
    store: Store,
    path_map: PathMap,
    permits: Arc<Semaphore>,
    history_permits: Arc<Semaphore>,
    folders: FolderCheck,
    graphs: symbols::GraphCache,
    scip_folder: ScipFolder,
    commits: CommitIndex,
}

impl Evidence {
    /// Creates a source of evidence from the content of `store`.
    pub fn new(store: Store, path_map: PathMap) -> Self {
        let permits = Arc::new(Semaphore::new(MAX_WORKING));
        let history_permits = Arc::new(Semaphore::new(MAX_HISTORIES));
        let folders = FolderCheck::default();
        let graphs = symbols::GraphCache::default();
        let scip_folder = ScipFolder::new(None);
        let commits = CommitIndex::default();
        Self { store, path_map, permits, history_permits, folders, graphs, scip_folder, commits }
    }

    /// Returns the roots to read, and the names of those whose folder is gone, which are not read.
    async fn list_present_roots(
        &self,
        within: RootFilter,
    ) -> Result<(Vec<Root>, Vec<String>), EvidenceError> {
        let roots = self.store.roots().await?;
        if roots.is_empty() {
            return Err(EvidenceError::IngestRequired);
        }
        let roots = within.select_roots(&roots);
        let outlived = self.folders.find_missing_unless_all(&roots).await;
        let (gone, present): (Vec<Root>, Vec<Root>) =
            roots.into_iter().partition(|root| outlived.contains(&root.id));
        Ok((present, gone.into_iter().map(|root| root.name).collect()))
    }

    /// Returns a file's absolute path as clients see it.
    fn display_path(&self, root: &Root, path: &str) -> String {
        let path = if path.is_empty() { root.path.clone() } else { root.path.join(path) };
        self.path_map.to_client_path(&path).to_string_lossy().into_owned()
    }

    /// Runs long work on a blocking thread; fails with [`EvidenceError::Stalled`] at [`TIMEOUT`].
    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, EvidenceError> {
        let permits = Arc::clone(&self.permits);
        let working = async {
            let permit = permits.acquire_owned().await.map_err(|_| EvidenceError::Stalled)?;
            let run = move || {
                let done = work();
                drop(permit);
                done
            };
            spawn_blocking(run).await.map_err(|_| EvidenceError::Stalled)
        };
        timeout(TIMEOUT, working).await.map_err(|_| EvidenceError::Stalled)?
    }
}
