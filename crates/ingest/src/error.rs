//! Errors of indexing.

use std::path::PathBuf;

use codeinfo_core::{IndexedCommit, LastRun, RunId, error::ErrorCode};
use codeinfo_embed::EmbedError;
use codeinfo_store::StoreError;
use codeinfo_worktree::{beneath::ObjectFault, private_places::PrivatePlace};

/// Errors of ingest.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The path does not name an indexable folder.
    #[error("`path` `{}` {reason}", .path.display())]
    Path { path: PathBuf, reason: &'static str },
    #[error("`path` `{}` is, or lies in, {place}, and is never indexed", .path.display())]
    Private { path: PathBuf, place: &'static PrivatePlace },
    /// The commit cannot be indexed.
    #[error("`{name}` of `{}` cannot be indexed: {reason}", .folder.display())]
    Revision { folder: PathBuf, name: String, reason: String },
    /// The folder cannot be opened at present, for lack of a system resource.
    #[error("cannot open `{}`: {source}; see what the system is short of and ingest it again", .path.display())]
    Open {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// Clients would see two roots at one path.
    #[error(
        "`path` `{}` is indexed as `{name}`, from before `INGEST_DIR` changed; run `codeinfo remove {name}` first",
        .path.display()
    )]
    ShownTwice { path: PathBuf, name: String },
    /// A folder has the path that identifies a commit.
    #[error("`path` `{}` is that of `{name}`, which is indexed; run `codeinfo remove {name}` first", .path.display())]
    PathTaken { path: PathBuf, name: String },
    /// The name cannot be used for a root.
    #[error("`name` {0}")]
    Name(String),
    /// The folder has too many files for a root; `largest` is the subfolder with most of them.
    #[error(
        "`{}` holds more than {limit} {unit}, most of them below `{largest}`; leave that out in a \
         `.codeinfoignore`, or ingest a folder below it",
        .path.display()
    )]
    TooManyFiles { path: PathBuf, limit: usize, unit: &'static str, largest: String },
    /// The file system of the folder does not respond.
    #[error(
        "`{}` has not answered for {seconds} s; look at what it lies on (a lost network drive?) and \
         ingest it again",
        .path.display()
    )]
    Stalled { path: PathBuf, seconds: u64 },
    /// The file systems of too many other folders do not respond.
    #[error(
        "`{}` is not looked at, because too many other folders do not answer; look at what they lie \
         on (a lost network drive?), or start the server again",
        .path.display()
    )]
    Crowded { path: PathBuf },
    #[error(
        "folders are not listed, because `FOLDER_ROOTS` is `none`; type the path of a folder instead"
    )]
    ChooserOff,
    /// The folder is not below an allowed one.
    #[error("`path` is not below a folder of `FOLDER_ROOTS`")]
    FolderOutside,
    /// The client is not permitted to have the folder indexed.
    #[error(
        "a token may have only folders indexed that are below an indexed one or below `FOLDER_ROOTS`; the \
         owner can index others with `codeinfo ingest PATH`, or make a token with `codeinfo token create \
         NAME --admin`"
    )]
    Confined,
    /// The folder does not exist or cannot be indexed.
    #[error("`{}` is no folder that can be listed", .0.display())]
    FolderNotFound(PathBuf),
    /// The root belongs to another host.
    #[error("`{0}` is on {1}; run this there, or `codeinfo remove {0}` to forget it")]
    OnOtherHost(String, String),
    /// No root has that name, id or path.
    #[error("no indexed repository is called `{0}`")]
    RootNotFound(String),
    #[error("no ingest run has the id `{0}`")]
    RunNotFound(RunId),
    /// The maximum number of runs is waiting.
    #[error("{0} ingest runs are waiting already; try again when one has ended")]
    QueueFull(usize),
    /// A different operation on the same root is in progress.
    #[error("`{root}` is being {action}; try again when that has ended")]
    RootBusy { root: String, action: &'static str },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// The number of vectors from the embedder differs from the number of texts.
    #[error("the embedder returned {got} vectors for {wanted} texts")]
    VectorCount { got: usize, wanted: usize },
    /// The run was cancelled, or the process is stopping.
    #[error("the run was cancelled")]
    Cancelled,
    /// An internal task panicked or was aborted.
    #[error("an indexing task failed")]
    Task(#[from] tokio::task::JoinError),
}

impl IngestError {
    pub(super) fn for_revision(revision: &IndexedCommit, reason: &str) -> Self {
        let (folder, name) = (revision.folder.clone(), revision.name.clone());
        Self::Revision { folder, name, reason: reason.to_owned() }
    }

    /// Creates the error for an unreadable commit; a shallow clone may lack earlier commits.
    pub(super) fn for_object_fault(
        revision: &IndexedCommit,
        fault: ObjectFault,
        is_shallow: bool,
    ) -> Self {
        let reason = match fault {
            ObjectFault::Missing if is_shallow => {
                "the commit is not in this shallow clone; `git fetch --unshallow` gets it"
            }
            ObjectFault::Missing => "the commit is not in the repository; `git fetch` may get it",
            ObjectFault::Borrowed => {
                "the repository borrows objects of another one, which is not read; `git repack -a -d`, \
                 and then removing `objects/info/alternates`, makes it whole"
            }
            ObjectFault::Ambiguous => "several objects have an id that begins so; name more of it",
            ObjectFault::NoCommit => "it names an object that is no commit",
            ObjectFault::Strange => {
                "its objects are damaged or not kept as git keeps them; see `git fsck`"
            }
        };
        Self::for_revision(revision, reason)
    }

    /// Creates the error for an unknown root. Limits `reference` to 200 characters.
    pub(super) fn unknown_root(reference: &str) -> Self {
        Self::RootNotFound(reference.chars().take(200).collect())
    }

    /// Returns true if the run resumes when the store is available again.
    pub(super) fn is_resumable(&self) -> bool {
        let Self::Store(error) = self else { return false };
        matches!(error, StoreError::Unreachable { .. } | StoreError::LeaseLost { .. })
    }

    /// Returns the outcome that a failed run records in its root.
    pub(super) fn to_last_run(&self) -> LastRun {
        LastRun::Failed { reason: self.failure_message(), resumes: self.is_resumable() }
    }

    pub(super) fn failure_message(&self) -> String {
        let promise = if self.is_resumable() {
            "; the run begins again when the index can be used"
        } else {
            ""
        };
        format!("{self}{promise}")
    }

    /// Returns the error code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Path { .. }
            | Self::Private { .. }
            | Self::Revision { .. }
            | Self::ShownTwice { .. }
            | Self::PathTaken { .. }
            | Self::Name(_)
            | Self::OnOtherHost(..)
            | Self::TooManyFiles { .. } => ErrorCode::ValidationFailed,
            Self::ChooserOff | Self::FolderOutside | Self::Confined => ErrorCode::Forbidden,
            Self::FolderNotFound(_) => ErrorCode::FolderNotFound,
            Self::RootNotFound(_) => ErrorCode::RepoNotFound,
            Self::RunNotFound(_) => ErrorCode::RunNotFound,
            Self::QueueFull(_)
            | Self::RootBusy { .. }
            | Self::Open { .. }
            | Self::Stalled { .. }
            | Self::Crowded { .. } => ErrorCode::Busy,
            Self::Store(error) => error.code(),
            Self::Embed(error) => error.code(),
            Self::Cancelled => ErrorCode::Cancelled,
            Self::VectorCount { .. } | Self::Task(_) => ErrorCode::Internal,
        }
    }
}
