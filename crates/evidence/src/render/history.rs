//! Renders commits as text for models and people.

use std::fmt::Write;

use codeinfo_core::{MAX_TOOL_TEXT_BYTES, count_things, plain_line, plain_name};
use codeinfo_history::{ChangeKind, ChangedFile, CommitDetails, CommitId, HistoryStop, LineCounts};

const MAX_CHARS: usize = 300;
/// Maximum bytes of a message, of a difference and of a list of files.
const MAX_PART_BYTES: usize = 2_500;
/// Bytes for the last lines.
const RESERVE: usize = 500;

/// A line of a difference, without secrets.
pub(crate) struct DiffLine {
    /// `-`, `+` or a blank.
    pub(crate) sign: char,
    /// Line number: of the old version for `-`, else of the new one.
    pub(crate) number: u32,
    pub(crate) text: String,
}

/// Text with each commit as `repository@id date subject` above what it changed. Lines of messages
/// and of files follow a `|`. Lines beyond the limit of a tool's text are dropped.
pub(crate) struct HistoryText {
    repo: String,
    tip: CommitId,
    text: String,
    is_cut: bool,
}

impl HistoryText {
    pub(crate) fn new(repo: &str, tip: &CommitId) -> Self {
        let repo = plain_name(repo, MAX_CHARS);
        Self { repo, tip: *tip, text: String::new(), is_cut: false }
    }

    pub(crate) fn push_place(&mut self, place: &str) {
        let place = plain_name(place, MAX_CHARS);
        self.push_line(&format!("{}@{:.10}: history of {place}", self.repo, self.tip.to_string()));
    }

    pub(crate) fn push_note(&mut self, note: &str) {
        self.push_line(&format!("({note})"));
    }

    pub(crate) fn push_commit(&mut self, commit: &CommitDetails) {
        let (id, date) = (commit.id.to_string(), commit.author_time.to_string());
        let subject = plain_name(&redact(&commit.subject), MAX_CHARS);
        let merge = match commit.parents.len() {
            0 | 1 => String::new(),
            parents => format!(" (merge of {parents} commits)"),
        };
        let reverted = commit.reverted_commit();
        let revert = reverted.map(|id| format!(" (says that it reverts {id:.10})"));
        let revert_note = revert.unwrap_or_default();
        self.push_line(&format!("{}@{id:.10} {date:.10} {subject}{merge}{revert_note}", self.repo));
    }

    /// Adds the author, the parents and the rest of the message.
    pub(crate) fn push_message(&mut self, commit: &CommitDetails) {
        let author = plain_name(&redact(&commit.author_name), MAX_CHARS);
        self.push_line(&format!("{} by {author}, {}", commit.id, commit.author_time));
        let body = redact(&commit.body);
        let lines = body.lines().map(|line| format!("|{}", plain_name(line, MAX_CHARS)));
        self.push_part(lines, commit.is_truncated);
    }

    /// Adds a file: `renamed src/a.rs to src/b.rs +3 -1`.
    pub(crate) fn push_file(&mut self, file: &ChangedFile) {
        self.push_line(&describe_file(file));
    }

    pub(crate) fn push_diff(&mut self, diff: &[DiffLine], is_truncated: bool) {
        let lines = diff.iter().map(|DiffLine { sign, number, text }| {
            let shown = text.get(..text.floor_char_boundary(MAX_CHARS)).unwrap_or_default();
            let mark = if shown.len() < text.len() { " ⋯" } else { "" };
            format!("{sign}{number}|{}{mark}", plain_line(shown.trim_end()))
        });
        self.push_part(lines, is_truncated);
    }

    /// Adds the public files of a commit that changed `count` files.
    pub(crate) fn push_files(&mut self, files: &[&ChangedFile], count: usize) {
        let counted = count_things(count as u64, "file");
        self.push_line(&format!("{counted}, against the first parent:"));
        self.push_part(files.iter().map(|file| describe_file(file)), false);
        if files.len() < count {
            let left_out = count_things((count - files.len()) as u64, "file");
            self.push_line(&format!("({left_out} not shown: left out of the index)"));
        }
    }

    pub(crate) fn finish(mut self, stop: Option<HistoryStop>) -> String {
        if self.is_cut {
            self.text.push_str("(the rest does not fit: ask for less)\n");
        }
        let last_line = stop.map(|stop| format!("({stop})")).unwrap_or_default();
        (self.text + &last_line).trim_end().to_owned()
    }

    fn push_part(&mut self, lines: impl Iterator<Item = String>, is_truncated: bool) {
        let start = self.text.len();
        for line in lines {
            if self.text.len() - start > MAX_PART_BYTES {
                return self.push_note("and more lines");
            }
            self.push_line(&line);
        }
        if is_truncated {
            self.push_note("and more lines");
        }
    }

    fn push_line(&mut self, line: &str) {
        self.is_cut |= self.text.len() + line.len() + RESERVE > MAX_TOOL_TEXT_BYTES;
        if !self.is_cut {
            // Writing to a `String` cannot fail.
            let _ = writeln!(self.text, "{line}");
        }
    }
}

fn describe_file(file: &ChangedFile) -> String {
    let kind = match file.kind {
        ChangeKind::Added => "added",
        ChangeKind::Modified if file.lines.is_none() => "in",
        ChangeKind::Modified => "modified",
        ChangeKind::Renamed => "renamed",
        ChangeKind::Copied => "copied",
        ChangeKind::Deleted => "deleted",
        ChangeKind::TypeChanged => "changed the type of",
    };
    let path = plain_name(&file.path, MAX_CHARS);
    let old_path = file.old_path.as_ref().map(|old| plain_name(old, MAX_CHARS) + " to ");
    let lines = file.lines.map(|LineCounts { added, removed }| format!(" +{added} -{removed}"));
    format!("  {kind} {}{path}{}", old_path.unwrap_or_default(), lines.unwrap_or_default())
}

/// Replaces secrets in what an author wrote.
fn redact(text: &str) -> String {
    codeinfo_secrets::redact_secrets("", None, text).text.into_owned()
}
