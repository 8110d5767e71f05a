//! Fills the store: discover, chunk, embed, write.
//!
//! A worker takes runs one after the other; another one takes what the watcher asks for, while the
//! first has much to do. What a run finds is compared with what the store knows; only what changed is read,
//! embedded and written, the new before the old is deleted. A run happens when somebody asks for it, or
//! when [`watch`] sees a change.

mod about;
mod adds;
pub mod discover;
mod error;
mod explain;
mod folders;
mod inspect;
mod mend;
mod names;
mod past;
mod path_form;
mod pipeline;
pub mod plan;
mod pulse;
mod repository;
mod revision;
mod root;
mod runs;
mod scope;
mod settings;
mod skip;
mod standing;
mod status;
mod watch;
mod worker;

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use codeinfo_core::{LastRun, PathMap, Root, RunId, task::Tasks, telemetry::Failures};
use codeinfo_embed::Embedder;
use codeinfo_store::Store;
use codeinfo_worktree::private_places::PrivatePlaces;
use tokio::{
    sync::{Notify, watch as channel},
    task::JoinHandle,
};

use self::{
    about::Counted,
    adds::Additions,
    folders::Chooser,
    pipeline::{Deps, Folders, Job, Origin},
    plan::Mode,
    pulse::Watchdog,
    repository::Turns,
    runs::{Bounds, Lane, Runs},
    watch::Watches,
};

pub use about::{About, LanguageCount};
pub use adds::Added;
pub use error::IngestError;
pub use explain::{Explanation, explain_folder};
pub use folders::{Choice, Listing};
pub use past::PastRun;
pub use path_form::explain_form;
pub use root::{Request, RootStatus, can_be_indexed};
pub use scope::Scope;
pub use settings::IngestSettings;
pub use skip::{Missing, Reason, Skipped};
pub use standing::Standing;
pub use status::{RunCounts, State, Status};
pub use watch::Watching;

/// Starts and follows runs. Clones share the queue.
#[derive(Clone)]
pub struct Ingest {
    shared: Arc<Shared>,
    paths: PathMap,
    chooser: Chooser,
    /// Whether worktrees of indexed repositories are indexed when somebody asks there.
    joins: bool,
}

/// What the worker and all clones share.
struct Shared {
    deps: Deps,
    runs: Mutex<Runs>,
    /// Wakes the workers.
    queued: Notify,
    /// Wakes who begins runs again that lost the store.
    lost: Notify,
    /// How the watcher does.
    watches: Watches,
    /// Languages of roots.
    counted: Counted,
    /// What trees add to others.
    additions: Additions,
}

impl Shared {
    /// No change of the table can be left half made, so that a poisoned lock still guards a whole
    /// one.
    fn runs(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn admit(&self, runs: &mut Runs, job: Job) -> Result<RunId, IngestError> {
        let stopping = self.deps.tasks.stopping();
        if stopping.is_cancelled() {
            return Err(IngestError::Cancelled);
        }
        let run = runs.admit(job, stopping.child_token())?;
        self.queued.notify_waiters();
        Ok(run)
    }
}

/// What a client asks for.
fn job(root: Root, mode: Mode) -> Job {
    Job { root, mode, scope: None, origin: Origin::User }
}

impl Ingest {
    /// Starts the workers, which end when `tasks` stop. Must be called on a runtime.
    pub fn new(
        store: Store,
        embedder: Arc<dyn Embedder>,
        limits: IngestSettings,
        tasks: Tasks,
    ) -> Self {
        let bounds = Bounds {
            queued: limits.max_queued_runs,
            finished: limits.max_finished_runs,
            patience: limits.run_patience,
        };
        let folders = Folders::default();
        let watchdog = Watchdog::new(tasks.clone());
        let lookups = Watchdog::new(tasks.clone());
        let chooser = Chooser::new(Vec::new(), tasks.clone());
        let failures = Failures::default();
        let turns = Turns::default();
        let deps = Deps {
            store,
            embedder,
            max_file_bytes: limits.max_file_bytes,
            private: Arc::default(),
            folders,
            turns,
            watchdog,
            lookups,
            tasks,
            failures,
        };
        let runs = Mutex::new(Runs::new(bounds));
        let (watches, counted, additions) = Default::default();
        let (queued, lost) = Default::default();
        let shared = Arc::new(Shared { deps, runs, queued, lost, watches, counted, additions });
        shared.deps.tasks.spawn(mend::resume(Arc::clone(&shared)));
        for lane in Lane::ALL {
            shared.deps.tasks.spawn(worker::work(Arc::clone(&shared), lane));
        }
        Self { shared, paths: PathMap::default(), chooser, joins: false }
    }

    /// Shows paths to clients as `paths` says.
    #[must_use]
    pub fn shown_as(self, paths: PathMap) -> Self {
        Self { paths, ..self }
    }

    /// Never indexes the `private` places: they hold the index, keys and conversations. Counts once.
    #[must_use]
    pub fn without(self, private: PrivatePlaces) -> Self {
        self.shared.deps.private.get_or_init(|| private.into());
        self
    }

    /// Has worktrees of indexed repositories indexed when somebody asks there, if that is wanted.
    #[must_use]
    pub fn joining(self, joins: bool) -> Self {
        Self { joins, ..self }
    }

    /// Lets people choose from folders below `allowed`.
    #[must_use]
    pub fn choosing_in(self, allowed: Vec<PathBuf>) -> Self {
        let chooser = Chooser::new(allowed, self.shared.deps.tasks.clone());
        Self { chooser, ..self }
    }

    /// Lists the folders in a folder that can be indexed; without one, those that may be chosen from.
    pub async fn folders(&self, path: Option<&Path>) -> Result<Listing, IngestError> {
        self.chooser.list(path, &self.shared.deps.private_places()).await
    }

    /// Starts a run of a folder. While one of the same folder waits or works, returns that one.
    pub async fn start(&self, request: Request) -> Result<RunId, IngestError> {
        let deps = &self.shared.deps;
        let placed = root::place(deps, request.path.clone()).await;
        if request.is_confined {
            let folder = match &placed {
                Ok((path, revision)) => revision.as_ref().map_or(path, |one| &one.folder),
                // What is there, and what is not, is not for everybody to learn.
                Err(_) => &request.path,
            };
            self.refuse_outside(folder).await?;
        }
        let (path, revision) = placed?;
        let settled = self.shared.runs().settled();
        let roots = deps.store.roots().await?;
        let (lookups, host) = ((&deps.lookups, deps.tasks.stopping()), deps.store.host());
        let known =
            repository::of_tree(lookups, host.clone(), &path, revision.as_ref(), &roots).await?;
        let id = root::known_id(&roots, &path, revision.is_some())
            .unwrap_or_else(|| revision::id(host.as_ref(), &path, revision.as_ref()));
        root::alone_where_shown(id, &path, &roots, &self.paths)?;
        let fresh = Root { id, revision, model_id: deps.embedder.model().id(), ..Root::of(path) };
        let mut runs = self.shared.runs();
        runs.forget_names(&settled);
        let root = root::requested(request, fresh, host.as_ref(), &roots, &runs)?;
        self.shared.admit(&mut runs, job(known.of(root), Mode::Changes))
    }

    /// Refuses a folder that is below neither an indexed one nor one that may be chosen from.
    async fn refuse_outside(&self, folder: &Path) -> Result<(), IngestError> {
        let deps = &self.shared.deps;
        let roots = deps.store.roots().await?;
        let mut indexed = roots.iter().filter_map(Root::folder);
        let is_allowed = indexed.any(|indexed| folder.starts_with(indexed))
            || self.chooser.allows(folder, &deps.private_places()).await;
        if is_allowed { Ok(()) } else { Err(IngestError::Confined) }
    }

    /// Starts a run that embeds every file of a known root again, found by name, id or path.
    pub async fn reembed(&self, root: &str) -> Result<RunId, IngestError> {
        let root = self.find(root).await?;
        match &root.host {
            Some(host) if host.is_unknown() => return self.adopt(root).await,
            Some(host) => return Err(IngestError::Elsewhere(root.name, host.name.clone())),
            None => {}
        }
        if let Some(folder) = root.folder() {
            root::folder(&self.shared.deps, folder.to_owned()).await?;
        }
        let model_id = self.shared.deps.embedder.model().id();
        let root = Root { model_id, last_run: LastRun::Completed, ..root };
        self.shared.admit(&mut self.shared.runs(), job(root, Mode::Everything))
    }

    /// Makes a root of this host of one that was indexed when all hosts were taken to have the same folders, if it is
    /// here.
    async fn adopt(&self, root: Root) -> Result<RunId, IngestError> {
        let (path, revision) = root::place(&self.shared.deps, root.path.clone()).await?;
        let id = revision::id(self.shared.deps.store.host().as_ref(), &path, revision.as_ref());
        let (name, description) = (Some(root.name.clone()), root.description.clone());
        let former = (root.id != id).then(|| root.id.to_string());
        // Written before the other one goes, whose name it takes, so that a kill in between loses neither.
        let own = Root { id, host: None, repository: None, origin: None, ..root.discarded() };
        self.shared.deps.store.put_root(own).await?;
        if let Some(former) = former {
            self.remove(&former).await?;
        }
        self.start(Request { path, name, description, is_confined: false }).await
    }

    /// Starts to repair the roots whose index was found damaged; what is returned ends when that has.
    /// Must be called on a runtime, once.
    pub fn repair(&self) -> JoinHandle<()> {
        self.shared.deps.tasks.spawn_handle(mend::mend(self.clone()))
    }

    /// From now on keeps every root as its folder is, until the tasks stop. Must be called on a
    /// runtime, once.
    pub fn keep_current(&self) {
        self.shared.watches.begin();
        self.shared.deps.tasks.spawn(watch::watch(Arc::clone(&self.shared)));
    }

    /// Returns how far a run is. While it waits for the store or the embedder, the message says why.
    pub fn status(&self, run: RunId) -> Result<Status, IngestError> {
        let mut status = self.shared.runs().status(run)?;
        if matches!(status.state, State::Scanning | State::Embedding) {
            let Deps { store, embedder, .. } = &self.shared.deps;
            let stall = embedder.stall().or_else(|| store.stall());
            status.message = stall.or(status.message);
        }
        Ok(status)
    }

    /// Returns where runs that fail are noted, which others may use, too.
    pub fn failures(&self) -> Failures {
        self.shared.deps.failures.clone()
    }

    /// Returns how many runs wait or work.
    pub fn running(&self) -> usize {
        self.shared.runs().unended()
    }

    /// Follows a run; its last status has a final state.
    pub fn watch(&self, run: RunId) -> Result<channel::Receiver<Status>, IngestError> {
        self.shared.runs().watch(run)
    }

    /// Cancels a run, which ends soon; one that has ended stays as it is.
    pub fn cancel(&self, run: RunId) -> Result<Status, IngestError> {
        self.shared.runs().cancel(run)
    }

    /// Cancels the run of a root, waits for its end, and forgets the root with everything indexed
    /// for it. Goes on when the caller goes away.
    pub async fn remove(&self, root: &str) -> Result<Root, IngestError> {
        let root = self.find(root).await?;
        let ending = self.shared.runs().close(&root)?;
        let shared = Arc::clone(&self.shared);
        let (id, removed) = (root.id, root.clone());
        let removal = self.shared.deps.tasks.spawn_handle(async move {
            if let Some(mut ending) = ending {
                // The sender lives until the run has ended.
                drop(ending.wait_for(|status| status.state.is_final()).await);
            }
            let removed = pipeline::remove(&shared.deps, &removed).await;
            shared.runs().reopen(id);
            removed
        });
        removal.await??;
        Ok(root)
    }

    /// Returns every root, those with a waiting first run included, ordered by name.
    pub async fn roots(&self) -> Result<Vec<RootStatus>, IngestError> {
        let known = self.shared.deps.store.roots().await?;
        let mut elsewhere = HashSet::new();
        for root in known.iter().filter(|root| root::is_interrupted(root)) {
            if self.shared.deps.store.is_leased(root.owner()).await? {
                elsewhere.insert(root.id);
            }
        }
        Ok(root::statuses(known, &elsewhere, &self.shared.runs()))
    }

    /// Finds a root by name, id or path, among those in the store, then among those whose first run
    /// waits.
    async fn find(&self, reference: &str) -> Result<Root, IngestError> {
        let mut roots = self.shared.deps.store.roots().await?;
        roots.extend(self.shared.runs().active_roots().map(|(root, ..)| root.clone()));
        let found = self.paths.root(&roots, reference).cloned();
        found.ok_or_else(|| IngestError::unknown(reference))
    }
}
