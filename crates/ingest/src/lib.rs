//! Fills the store: discovers, chunks, embeds and writes the files of roots.
//!
//! A client requests a run, or the watcher does when it sees a change. A run reads, embeds and
//! writes only files that differ from the store, and writes new chunks before it deletes old ones.
//!
//! One worker takes all runs in order. A second one takes the watcher's runs of other repositories,
//! and a third one takes any of their runs once the first has worked for long.

mod client_tree;
pub mod discover;
mod error;
mod folder_choice;
mod inspect;
mod io_watchdog;
mod names;
mod pipeline;
pub mod plan;
mod repository;
mod root;
mod root_details;
mod runs;
mod scope;
mod skip;
mod status;
mod watch;
mod worker;

pub use client_tree::ClientTree;
pub use discover::{FolderExplanation, explain_folder};
pub use error::IngestError;
pub use folder_choice::{FolderChoice, FolderChoices};
pub use names::explain_form;
pub use pipeline::FollowUp;
pub use root::{IngestRequest, RootStatus, can_be_indexed};
pub use root_details::{LanguageCount, RootDetails, TreeAdditions};
pub use scope::PathScope;
pub use skip::{MissingFiles, SkipReason, SkippedPath};
pub use status::{PastRun, RunCounts, RunState, RunStatus};
pub use watch::WatchStatus;

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use codeinfo_core::{LastRun, PathMap, Root, RunId, task::Tasks, telemetry::FailureLog};
use codeinfo_embed::Embedder;
use codeinfo_store::Store;
use codeinfo_worktree::private_places::PrivatePlaces;
use tokio::{
    sync::{Notify, watch as channel},
    task::JoinHandle,
};

use self::{
    folder_choice::FolderChooser,
    io_watchdog::IoWatchdog,
    pipeline::{IndexedFolders, IngestJob, RunDependencies, RunOrigin},
    plan::RunMode,
    repository::OwnerLocks,
    root_details::{AdditionsCache, LanguageCache},
    runs::{RunLimits, RunTable, WorkerLane},
    watch::WatchFaults,
};

/// Limits of indexing.
#[derive(Debug, Clone, Copy)]
pub struct IngestSettings {
    /// Maximum bytes of a file; larger files are skipped and counted.
    pub max_file_bytes: u64,
    /// Maximum number of waiting runs.
    pub max_queued_runs: usize,
    /// Maximum number of finished runs with a status.
    pub max_finished_runs: usize,
    /// Time after which a run no longer delays runs of other repositories.
    pub run_patience: Duration,
}

/// Starts and follows runs. Clones share the queue.
#[derive(Clone)]
pub struct Ingest {
    shared: Arc<IngestState>,
    path_map: PathMap,
    chooser: FolderChooser,
    /// Indexes a worktree of an indexed repository when a client works in it.
    joins: bool,
}

/// State shared by the workers and all clones of [`Ingest`].
struct IngestState {
    deps: RunDependencies,
    runs: Mutex<RunTable>,
    queued: Notify,
    /// Wakes the task that restarts runs that lost the store.
    lost: Notify,
    watches: WatchFaults,
    languages: LanguageCache,
    additions: AdditionsCache,
}

impl IngestState {
    /// Locks the run table. A poisoned lock is safe to use: no change leaves the table half made.
    fn lock_runs(&self) -> MutexGuard<'_, RunTable> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn admit_job(&self, runs: &mut RunTable, job: IngestJob) -> Result<RunId, IngestError> {
        let stopping = self.deps.tasks.stop_token();
        if stopping.is_cancelled() {
            return Err(IngestError::Cancelled);
        }
        let run = runs.admit_job(job, stopping.child_token())?;
        self.queued.notify_waiters();
        Ok(run)
    }
}

fn build_user_job(root: Root, mode: RunMode) -> IngestJob {
    IngestJob { root, mode, scope: None, origin: RunOrigin::User }
}

impl Ingest {
    /// Starts the workers, which end when `tasks` stop. Must be called on a runtime.
    pub fn new(
        store: Store,
        embedder: Arc<dyn Embedder>,
        settings: IngestSettings,
        tasks: Tasks,
    ) -> Self {
        let run_limits = RunLimits {
            queued: settings.max_queued_runs,
            finished: settings.max_finished_runs,
            patience: settings.run_patience,
        };
        let folders = IndexedFolders::default();
        let watchdog = IoWatchdog::new(tasks.clone());
        let lookups = IoWatchdog::new(tasks.clone());
        let chooser = FolderChooser::new(Vec::new(), tasks.clone());
        let failures = FailureLog::default();
        let turns = OwnerLocks::default();
        let deps = RunDependencies {
            store,
            embedder,
            max_file_bytes: settings.max_file_bytes,
            private: Arc::default(),
            folders,
            turns,
            watchdog,
            lookups,
            tasks,
            failures,
            follow_up: Arc::default(),
        };
        let runs = Mutex::new(RunTable::new(run_limits));
        let (watches, languages, additions) = Default::default();
        let (queued, lost) = Default::default();
        let shared =
            Arc::new(IngestState { deps, runs, queued, lost, watches, languages, additions });
        shared.deps.tasks.spawn(worker::resume_lost_runs(Arc::clone(&shared)));
        for lane in WorkerLane::ALL {
            shared.deps.tasks.spawn(worker::run_worker(Arc::clone(&shared), lane));
        }
        Self { shared, path_map: PathMap::default(), chooser, joins: false }
    }

    /// Converts the paths that clients see with `path_map`.
    #[must_use]
    pub fn with_path_map(self, path_map: PathMap) -> Self {
        Self { path_map, ..self }
    }

    /// Excludes the `private` places from indexing. Only the first call has an effect.
    #[must_use]
    pub fn with_private_places(self, private: PrivatePlaces) -> Self {
        self.shared.deps.private.get_or_init(|| private.into());
        self
    }

    /// Adds work to the end of each successful run. Only the first call has an effect.
    #[must_use]
    pub fn with_follow_up(self, follow_up: FollowUp) -> Self {
        self.shared.deps.follow_up.get_or_init(|| follow_up);
        self
    }

    /// Sets whether worktrees of indexed repositories are indexed when a client works in them.
    #[must_use]
    pub fn with_joining_worktrees(self, joins: bool) -> Self {
        Self { joins, ..self }
    }

    /// Lets clients choose from folders below `allowed`.
    #[must_use]
    pub fn with_folder_choices(self, allowed: Vec<PathBuf>) -> Self {
        let chooser = FolderChooser::new(allowed, self.shared.deps.tasks.clone());
        Self { chooser, ..self }
    }

    /// Lists the indexable folders in `path`; without a path, lists the folders to choose from.
    pub async fn list_folders(&self, path: Option<&Path>) -> Result<FolderChoices, IngestError> {
        self.chooser.list_folders(path, &self.shared.deps.private_places()).await
    }

    /// Starts a run for a folder, or returns the waiting or working run of the same folder.
    pub async fn start_run(&self, request: IngestRequest) -> Result<RunId, IngestError> {
        let deps = &self.shared.deps;
        let resolved = root::resolve_request_path(deps, request.path.clone()).await;
        if request.is_confined {
            let folder = match &resolved {
                Ok((path, revision)) => revision.as_ref().map_or(path, |revision| &revision.folder),
                // A confined client must not learn which paths exist.
                Err(_) => &request.path,
            };
            self.refuse_outside(folder).await?;
        }
        let (path, revision) = resolved?;
        let ended = self.shared.lock_runs().ended_roots();
        let roots = deps.store.roots().await?;
        let host = deps.store.host();
        let (lookups, stopping) = (&deps.lookups, deps.tasks.stop_token());
        let commit = revision.as_ref();
        let facts =
            repository::load_tree_facts(lookups, stopping, host.clone(), &path, commit, &roots)
                .await?;
        let id = root::find_known_id(&roots, &path, revision.is_some())
            .unwrap_or_else(|| repository::root_id(host.as_ref(), &path, revision.as_ref()));
        root::refuse_taken_path(id, &path, &roots, &self.path_map)?;
        let fresh =
            Root { id, revision, model_id: deps.embedder.model().id(), ..Root::from_folder(path) };
        let mut runs = self.shared.lock_runs();
        runs.forget_names(&ended);
        let root = root::build_requested_root(request, fresh, host.as_ref(), &roots, &runs)?;
        self.shared.admit_job(&mut runs, build_user_job(facts.apply_to(root), RunMode::Changes))
    }

    /// Refuses a folder that is neither below an indexed folder nor below one to choose from.
    async fn refuse_outside(&self, folder: &Path) -> Result<(), IngestError> {
        let deps = &self.shared.deps;
        let roots = deps.store.roots().await?;
        let mut indexed = roots.iter().filter_map(Root::local_folder);
        let is_allowed = indexed.any(|indexed| folder.starts_with(indexed))
            || self.chooser.is_allowed(folder, &deps.private_places()).await;
        if is_allowed { Ok(()) } else { Err(IngestError::Confined) }
    }

    /// Starts a run that embeds every file of a root again. Finds the root by name, id or path.
    pub async fn reembed_root(&self, root: &str) -> Result<RunId, IngestError> {
        let root = self.find_root(root).await?;
        match &root.host {
            Some(host) if host.is_unknown() => return self.adopt_root(root).await,
            Some(host) => return Err(IngestError::OnOtherHost(root.name, host.name.clone())),
            None => {}
        }
        if let Some(folder) = root.local_folder() {
            root::canonicalize_folder(&self.shared.deps, folder.to_owned()).await?;
        }
        let model_id = self.shared.deps.embedder.model().id();
        let root = Root { model_id, last_run: LastRun::Completed, ..root };
        self.shared
            .admit_job(&mut self.shared.lock_runs(), build_user_job(root, RunMode::Everything))
    }

    /// Turns a root whose host is unknown into a root of this host if its folder exists here. Such
    /// roots were indexed when all hosts were assumed to have the same folders.
    async fn adopt_root(&self, root: Root) -> Result<RunId, IngestError> {
        let (path, revision) =
            root::resolve_request_path(&self.shared.deps, root.path.clone()).await?;
        let id =
            repository::root_id(self.shared.deps.store.host().as_ref(), &path, revision.as_ref());
        let (name, description) = (Some(root.name.clone()), root.description.clone());
        let former = (root.id != id).then(|| root.id.to_string());
        // The new root, with the name of the old one, is written first: a kill loses neither.
        let own = Root { id, host: None, repository: None, origin: None, ..root.without_index() };
        self.shared.deps.store.put_root(own).await?;
        if let Some(former) = former {
            self.remove_root(&former).await?;
        }
        self.start_run(IngestRequest { path, name, description, is_confined: false }).await
    }

    /// Starts to repair damaged roots; the returned task ends when all are repaired.
    ///
    /// Must be called once, on a runtime.
    pub fn repair_damaged_roots(&self) -> JoinHandle<()> {
        self.shared.deps.tasks.spawn_handle(worker::run_repairs(self.clone()))
    }

    /// Starts to watch all roots and to index their changes, until the tasks stop.
    ///
    /// Must be called once, on a runtime.
    pub fn watch_roots(&self) {
        self.shared.watches.start_watching();
        self.shared.deps.tasks.spawn(watch::watch_roots(Arc::clone(&self.shared)));
    }

    /// Returns the status of a run; its message says why it waits for the store or the embedder.
    pub fn run_status(&self, run: RunId) -> Result<RunStatus, IngestError> {
        let mut status = self.shared.lock_runs().run_status(run)?;
        if matches!(status.state, RunState::Scanning | RunState::Embedding) {
            let RunDependencies { store, embedder, .. } = &self.shared.deps;
            let stall = embedder.stall_reason().or_else(|| store.stall());
            status.message = stall.or(status.message);
        }
        Ok(status)
    }

    /// Returns the log of failed runs, which other parts may share.
    pub fn failures(&self) -> FailureLog {
        self.shared.deps.failures.clone()
    }

    /// Returns the number of runs that wait or work.
    pub fn active_run_count(&self) -> usize {
        self.shared.lock_runs().active_run_count()
    }

    /// Follows a run; its last status has a final state.
    pub fn watch_run(&self, run: RunId) -> Result<channel::Receiver<RunStatus>, IngestError> {
        self.shared.lock_runs().watch_run(run)
    }

    /// Cancels a run, which ends soon. A run that has ended is unchanged.
    pub fn cancel_run(&self, run: RunId) -> Result<RunStatus, IngestError> {
        self.shared.lock_runs().cancel_run(run)
    }

    /// Cancels the run of a root, waits for its end, and deletes the root with its index.
    ///
    /// The removal completes even if the caller is dropped.
    pub async fn remove_root(&self, root: &str) -> Result<Root, IngestError> {
        let root = self.find_root(root).await?;
        let ending = self.shared.lock_runs().close_root(&root)?;
        let shared = Arc::clone(&self.shared);
        let (id, removed) = (root.id, root.clone());
        let removal = self.shared.deps.tasks.spawn_handle(async move {
            if let Some(mut ending) = ending {
                // The sender lives until the run has ended.
                drop(ending.wait_for(|status| status.state.is_final()).await);
            }
            let removed = pipeline::remove_root(&shared.deps, &removed).await;
            shared.lock_runs().reopen_root(id);
            removed
        });
        removal.await??;
        Ok(root)
    }

    /// Returns every root, ordered by name, including roots whose first run waits.
    pub async fn list_roots(&self) -> Result<Vec<RootStatus>, IngestError> {
        let known = self.shared.deps.store.roots().await?;
        let mut leased = HashSet::new();
        for root in known.iter().filter(|root| root::is_interrupted(root)) {
            if self.shared.deps.store.is_leased(root.chunk_owner()).await? {
                leased.insert(root.id);
            }
        }
        Ok(root::collect_statuses(known, &leased, &self.shared.lock_runs()))
    }

    /// Finds a root by name, id or path in the store, then among roots whose first run waits.
    async fn find_root(&self, reference: &str) -> Result<Root, IngestError> {
        let mut roots = self.shared.deps.store.roots().await?;
        roots.extend(self.shared.lock_runs().active_roots().map(|(root, ..)| root.clone()));
        let found = self.path_map.find_root(&roots, reference).cloned();
        found.ok_or_else(|| IngestError::unknown_root(reference))
    }
}
