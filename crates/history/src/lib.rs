//! Reads a repository's history without running git: commits, and which changed a file or lines.
//!
//! Repositories are not trusted. Each question has a [`HistoryBudget`], and each answer says in its
//! `stop` why it looked no further. The results agree with those of `git log`, `git log --follow`,
//! `git log -L` and `git blame`. Everything blocks.
//!
//! ```no_run
//! use std::time::{Duration, Instant};
//!
//! use codeinfo_history::{HistoryBudget, HistoryReader};
//! use codeinfo_worktree::git::GitRepository;
//!
//! let repository = GitRepository::open("/src/project".as_ref())?.ok_or("no repository")?;
//! let head = repository.head_commit().ok_or("no commit")?;
//! let mut reader = HistoryReader::open(repository.common_folder(), &head)?;
//! let budget = HistoryBudget::until(Instant::now() + Duration::from_secs(2));
//! let history = reader.line_history(&head.parse()?, "src/main.rs", 10, 20, &budget)?;
//! for change in &history.changes {
//!     println!("{} {}", change.commit.id, change.commit.subject);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod blame;
mod budget;
mod commit_diff;
mod commit_list;
mod commit_object;
mod file_history;
mod line_diff;
mod line_history;
mod parent_files;
mod reader;
mod renames;
mod tree_diff;
mod walk;

pub use gix_hash::ObjectId as CommitId;

pub use crate::{
    blame::{BlameResult, BlamedLines},
    budget::{HistoryBudget, HistoryError, HistoryStop, StopReason},
    commit_diff::{ChangedFile, CommitDiff, FilePatch},
    commit_list::{CommitIdList, CommitList},
    commit_object::{CommitDetails, CommitTime},
    file_history::{ChangeKind, FileChange, FileHistory, LineCounts},
    line_diff::DiffHunk,
    line_history::{LineChange, LineHistory},
    reader::HistoryReader,
};
