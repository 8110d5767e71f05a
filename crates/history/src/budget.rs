//! Limits of a question about history, and why an answer ends where it does.

use std::{fmt, io, time::Instant};

use crate::CommitId;

/// Limits of one question. What was found before a limit was reached is returned.
#[derive(Debug, Clone)]
pub struct HistoryBudget {
    /// Maximum commits looked at.
    pub max_commits: usize,
    /// Maximum bytes of the objects looked at.
    pub max_bytes: u64,
    /// Maximum commits returned, each with up to 16 KiB of its message.
    pub max_results: usize,
    /// Time at which to stop. One object is unpacked, or two files are compared, to the end.
    pub deadline: Instant,
}

impl HistoryBudget {
    /// Returns a budget of 200,000 commits and 1 GiB that ends at a time.
    pub fn until(deadline: Instant) -> Self {
        Self { max_commits: 200_000, max_bytes: 1 << 30, max_results: 100_000, deadline }
    }
}

/// Reasons why a question was not followed to the first commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    CommitLimit(usize),
    /// The limit of bytes looked at.
    ByteLimit(u64),
    ResultLimit(usize),
    TimeLimit,
    /// A commit changes more files than are compared.
    TooManyFiles,
    /// The repository is a shallow clone, which lacks earlier commits.
    Shallow,
    /// An object is not in the repository, which is a partial clone, or damaged.
    Missing(CommitId),
    TooLarge(CommitId),
    /// An object does not have the format of git.
    Unreadable(CommitId),
}

impl fmt::Display for StopReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommitLimit(limit) => write!(formatter, "the limit of {limit} commits"),
            Self::ByteLimit(limit) => write!(formatter, "the limit of {limit} bytes"),
            Self::ResultLimit(limit) => write!(formatter, "the limit of {limit} results"),
            Self::TimeLimit => formatter.write_str("the time limit"),
            Self::TooManyFiles => formatter.write_str("the commit changes too many files"),
            Self::Shallow => formatter.write_str("the clone is shallow and lacks earlier commits"),
            Self::Missing(id) => write!(formatter, "object `{id}` is not in the repository"),
            Self::TooLarge(id) => write!(formatter, "object `{id}` is too large"),
            Self::Unreadable(id) => write!(formatter, "object `{id}` cannot be read"),
        }
    }
}

/// Result of a part of a walk, which ends at the first reason to stop.
pub(crate) type WalkResult<T = ()> = Result<T, StopReason>;

/// Place and reason of the end of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryStop {
    pub reason: StopReason,
    /// The commit that was looked at last.
    pub commit: Option<CommitId>,
}

impl fmt::Display for HistoryStop {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.commit {
            Some(commit) => {
                write!(formatter, "not looked further than `{commit}`: {}", self.reason)
            }
            None => write!(formatter, "nothing was looked at: {}", self.reason),
        }
    }
}

/// Errors of questions that cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("the objects of the repository cannot be opened")]
    Repository(#[source] io::Error),
    #[error("the commit has no file `{0}`")]
    UnknownPath(String),
    #[error("`{path}` has {lines} lines")]
    UnknownLines { path: String, lines: u32 },
    #[error("`{0}` is binary, or too large to be compared")]
    NoText(String),
    #[error("{0}")]
    Stopped(HistoryStop),
}
