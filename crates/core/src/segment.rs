//! Questions, and the ordered segments of their answers.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{FileSummary, LineRange};

/// Maximum bytes of a question.
pub const MAX_QUESTION_BYTES: usize = 64 * 1024;

/// A trimmed question, not empty and at most 64 KiB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question(String);

/// Errors that make a text an invalid question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidQuestion {
    /// The text contains only white space.
    #[error("`question` is blank")]
    Blank,
    /// The text exceeds [`MAX_QUESTION_BYTES`].
    #[error("`question` has {0} bytes; at most {MAX_QUESTION_BYTES} are allowed")]
    TooLong(usize),
    /// The text contains a NUL character, which terminals and file names cannot carry.
    #[error("`question` holds a NUL character")]
    Nul,
}

impl Question {
    /// Returns the text of the question.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Question {
    type Err = InvalidQuestion;

    fn from_str(text: &str) -> Result<Self, InvalidQuestion> {
        match text.trim() {
            "" => Err(InvalidQuestion::Blank),
            text if text.len() > MAX_QUESTION_BYTES => Err(InvalidQuestion::TooLong(text.len())),
            text if text.contains('\0') => Err(InvalidQuestion::Nul),
            text => Ok(Self(text.to_owned())),
        }
    }
}

/// One piece of an answer, in the order in which Codex emitted it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Segment {
    /// A complete reasoning summary.
    Thinking {
        /// The text of one reasoning item.
        text: String,
    },
    /// Files whose lines a search, `ReadLines` or `FindUses` showed to the model.
    VectorSummary {
        /// Each file once, best first.
        files: Vec<FileSummary>,
    },
    /// A message of the model to the person who asked the question.
    Answer {
        /// The text of one message item.
        text: String,
        /// Result of the citation check, only on the final answer and only if the check could run.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        checked: Option<CitationCounts>,
    },
}

/// Result of checking the citations of an answer. Field names are a wire promise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CitationCounts {
    /// Number of citations in the answer.
    pub citations: usize,
    /// Places that exist and whose lines fit the statement about them.
    pub confirmed: usize,
    /// Places that exist, or could not be looked up, and that nothing ties to their statement.
    pub unconfirmed: usize,
    /// Places that do not exist or surely lack what the answer states; struck out or marked there.
    pub wrong: usize,
    /// Citations that were wrong at first and that the model corrected.
    pub repaired: usize,
    /// Citations that were wrong at first and that the model removed.
    pub dropped: usize,
    /// Unconfirmed and wrong citations, in the order of the answer.
    pub places: Vec<UnconfirmedCitation>,
    /// Result of the second reader. Absent if the reader was off or no sentence cites anything.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub claims: Option<ClaimCounts>,
    /// Repositories that the answer cites, each once, in the order of the answer.
    #[serde(default)]
    pub repositories: Vec<CitedRepository>,
}

/// Citation that is not confirmed. Field names are a wire promise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnconfirmedCitation {
    /// Absolute path as the client sees it, or the cited text if it matches no file. A commit is
    /// written `app@1a2b3c4`, or `app@1a2b3c4:src/a.rs` with a file.
    pub path: String,
    /// Line ranges as the answer writes them. Empty if a whole file is cited.
    pub lines: Vec<LineRange>,
    /// `unconfirmed` or `wrong`.
    pub state: String,
    /// Reason, if a commit is cited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl CitationCounts {
    /// Returns whether the answer's text contains marks of the check.
    pub fn is_marked(&self) -> bool {
        self.wrong > 0 || self.claims.is_some_and(|claims| claims.contradicted > 0)
    }
}

/// Repository that an answer cites, with the indexed state of its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CitedRepository {
    /// Name of the repository, or of one of its worktrees or commits, such as `app@v1.2`.
    pub name: String,
    /// Full id of the commit whose files are indexed, or `working tree` for a folder.
    pub commit: String,
    /// End of the last completed run, in RFC 3339.
    pub indexed_at: Option<String>,
}

/// Counts of cited sentences by the support of the lines. Field names are a wire promise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimCounts {
    /// Sentences that the cited lines support.
    pub supported: usize,
    /// Sentences that a cited line disproves. The text marks them.
    pub contradicted: usize,
    /// Sentences that are neither supported nor disproved.
    pub open: usize,
}
