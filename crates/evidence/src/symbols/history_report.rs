//! Structures of the commits that changed a subject, without secrets. Text and JSON are made of them.

use codeinfo_history::{ChangeKind, ChangedFile, CommitDetails, CommitId};
use serde::Serialize;

/// Maximum parents of a commit that are named.
const MAX_PARENTS: usize = 100;

/// Commits of a subject in one repository, newest first.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryReport {
    /// Name of the root.
    pub repo: String,
    /// Name of the root without that of its branch, tag or commit.
    #[serde(skip)]
    pub base_repo: String,
    /// Full id of the commit from which the history is followed.
    pub tip: String,
    /// Subject, such as `src/a.rs:5-7`, with the lines that the tip has.
    pub subject: String,
    /// True if the indexed file has other content than the tip.
    pub is_changed: bool,
    /// The commits.
    pub commits: Vec<CommitReport>,
    /// Place and reason of the end of the search; `None` if it went to the first commit.
    pub stop: Option<String>,
}

/// A commit, and what it changed of the subject.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitReport {
    /// Full id.
    pub id: String,
    /// Full ids of the parents, at most a hundred.
    pub parents: Vec<String>,
    /// Number of parents: two or more for a merge.
    pub parent_count: usize,
    /// Name of the author; blank if a setting hides it.
    pub author: String,
    /// Time of the author, such as `2026-01-31 12:00:00 +0100`.
    pub date: String,
    /// First paragraph of the message.
    pub subject: String,
    /// Rest of the message, only of a single commit.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// True if the message is cut.
    pub is_message_cut: bool,
    /// Id, or its beginning, of the commit that the message says is reverted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverts: Option<String>,
    /// True if newer commits are left out before this one, the last.
    pub is_after_gap: bool,
    /// True if the lines appeared in this commit.
    pub is_origin: bool,
    /// First and last lines of the tip that got their present form in this commit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub present_lines: Vec<(u32, u32)>,
    /// Change of the file that was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<FileChangeReport>,
    /// Reason for which the change, or its lines, are not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
    /// All changed files, only of a single commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<ChangedFileList>,
}

/// Files that a commit changed against its first parent.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangedFileList {
    /// Files in the order of their paths, at most a thousand.
    pub listed: Vec<FileChangeReport>,
    /// Number of files, including those that are not listed.
    pub count: usize,
    /// Number of files, among the first ten thousand, that are left out of the index, and not listed.
    pub hidden: usize,
}

/// Change of a file in a commit.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChangeReport {
    /// Path in the commit; of a deleted file, its last one.
    pub path: String,
    /// Path before the commit, if it was another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// One of `added`, `modified`, `renamed`, `copied`, `deleted` and `retyped`.
    pub kind: &'static str,
    /// Number of added and of removed lines, if they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    /// True if a file with the path is indexed.
    pub is_indexed: bool,
    /// Lines of the difference that were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diff: Vec<DiffLine>,
    /// True if lines of the difference are left out.
    pub is_cut: bool,
}

/// A line of a difference, without secrets.
#[derive(Debug, Serialize)]
pub struct DiffLine {
    /// `-`, `+` or a blank.
    pub sign: char,
    /// Line number: of the old version for `-`, else of the new one.
    pub number: u32,
    /// The line.
    pub text: String,
    /// Start, end and letter of the class of each highlighted part, in UTF-16 code units.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<(u32, u32, char)>,
}

impl CommitReport {
    pub(super) fn new(commit: &CommitDetails) -> Self {
        Self {
            id: commit.id.to_string(),
            parents: commit.parents.iter().take(MAX_PARENTS).map(CommitId::to_string).collect(),
            parent_count: commit.parents.len(),
            author: redact(&commit.author_name),
            date: commit.author_time.to_string(),
            subject: redact(&commit.subject),
            is_message_cut: commit.is_truncated,
            reverts: commit.reverted_commit().map(str::to_owned),
            ..Self::default()
        }
    }
}

impl FileChangeReport {
    pub(super) fn new(file: ChangedFile, is_indexed: bool) -> Self {
        let kind = match file.kind {
            ChangeKind::Added => "added",
            ChangeKind::Modified => "modified",
            ChangeKind::Renamed => "renamed",
            ChangeKind::Copied => "copied",
            ChangeKind::Deleted => "deleted",
            ChangeKind::TypeChanged => "retyped",
        };
        let lines = file.lines.map(|lines| (lines.added, lines.removed));
        let ChangedFile { path, old_path, .. } = file;
        Self { path, old_path, kind, lines, is_indexed, diff: Vec::new(), is_cut: false }
    }
}

/// Replaces secrets in a message, and leaves out its first paragraph, in which a key may begin.
pub(crate) fn redact_body(commit: &CommitDetails) -> String {
    let message = redact(&format!("{}\n\n{}", commit.subject, commit.body));
    message.split_once("\n\n").map(|(_, body)| body.to_owned()).unwrap_or_default()
}

/// Replaces secrets in what an author wrote.
pub(crate) fn redact(text: &str) -> String {
    codeinfo_secrets::redact_secrets("", None, text).text.into_owned()
}
