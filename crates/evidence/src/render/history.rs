//! Renders commits as text for models and people.

use std::fmt::Write;

use codeinfo_core::{MAX_TOOL_TEXT_BYTES, count_things, plain_line, plain_name};

use crate::{
    ChangedFileList, CommitReport, DiffLine, FileChangeReport, FoundCommit, FoundCommits,
    HistoryReport,
};

const MAX_CHARS: usize = 300;
/// Maximum bytes of a message, of a difference and of a list of files.
const MAX_PART_BYTES: usize = 2_500;
/// Bytes for the last lines.
const RESERVE: usize = 500;

/// Renders each commit as `repository@id date subject` above what it changed. Lines of messages
/// and of files follow a `|`. Lines beyond the limit of a tool's text are dropped.
pub fn render_history(report: &HistoryReport) -> String {
    let repo = plain_name(&report.base_repo, MAX_CHARS);
    let mut text = HistoryText { repo, text: String::new(), is_cut: false };
    let subject = plain_name(&report.subject, MAX_CHARS);
    text.push_line(&format!("{}@{:.10}: history of {subject}", text.repo, report.tip));
    if report.is_changed {
        text.push_note("the indexed file has local changes: lines are those of the commit");
    }
    report.commits.iter().for_each(|commit| text.push_commit(commit));
    if text.is_cut {
        text.text.push_str("(the rest does not fit: ask for less)\n");
    }
    let last_line = report.stop.as_ref().map(|stop| format!("({stop})")).unwrap_or_default();
    (text.text + &last_line).trim_end().to_owned()
}

/// Renders found commits, each with its files and the lines of its message that match.
pub fn render_commits(found: &FoundCommits) -> String {
    let mut text = HistoryText::default();
    for commit in &found.commits {
        let FoundCommit { repository, id, time, subject, files, file_count, .. } = commit;
        let marks = describe_kind(commit.merge.unwrap_or_default(), commit.reverts.as_ref());
        let day = cut_time(time);
        text.push_line(&format!("{repository}@{id:.10} {day} {subject}{marks}"));
        commit.lines.iter().for_each(|line| text.push_line(&format!("|{line}")));
        let rest = if files.len() < *file_count { ", …" } else { "" };
        let listed = match (files.join(", "), *file_count) {
            (_, 0) => String::new(),
            (paths, _) if paths.is_empty() => " (left out of the index)".to_owned(),
            (paths, _) => format!(": {paths}{rest}"),
        };
        let counted = count_things(*file_count as u64, "file");
        text.push_line(&format!("  {counted}{listed}"));
    }
    if found.commits.is_empty() {
        text.push_note("no commit found");
    }
    found.notes.iter().for_each(|note| text.push_note(note));
    text.text.trim_end().to_owned()
}

/// Returns the day of a time. One that no calendar has is a number of seconds.
fn cut_time(time: &str) -> &str {
    time.split(' ').next().unwrap_or_default()
}

fn describe_kind(parents: usize, reverted: Option<&String>) -> String {
    let merge = (parents > 1).then(|| format!(" (merge of {parents} commits)"));
    let revert = reverted.map(|id| format!(" (says that it reverts {id:.10})"));
    [merge, revert].into_iter().flatten().collect()
}

#[derive(Default)]
struct HistoryText {
    repo: String,
    text: String,
    is_cut: bool,
}

impl HistoryText {
    fn push_commit(&mut self, commit: &CommitReport) {
        if commit.is_after_gap {
            self.push_note("commits between are left out: raise `limit`");
        }
        if commit.is_origin {
            self.push_note("the lines appeared in");
        }
        let CommitReport { id, date, parent_count, .. } = commit;
        let subject = plain_name(&commit.subject, MAX_CHARS);
        let marks = describe_kind(*parent_count, commit.reverts.as_ref());
        let day = cut_time(date);
        self.push_line(&format!("{}@{id:.10} {day} {subject}{marks}", self.repo));
        if commit.files.is_some() {
            self.push_message(commit);
        }
        if let Some(change) = &commit.change {
            self.push_line(&describe_file(change));
            self.push_diff(&change.diff, change.is_cut);
        }
        if let Some(note) = commit.note {
            self.push_note(note);
        }
        if let Some(files) = &commit.files {
            self.push_files(files);
        }
    }

    fn push_note(&mut self, note: &str) {
        self.push_line(&format!("({note})"));
    }

    fn push_message(&mut self, commit: &CommitReport) {
        let author = plain_name(&commit.author, MAX_CHARS);
        let by = if author.is_empty() { author } else { format!(" by {author},") };
        self.push_line(&format!("{}{by} {}", commit.id, commit.date));
        let body = commit.message.lines();
        let lines = body.map(|line| format!("|{}", plain_name(line, MAX_CHARS)));
        self.push_part(lines, commit.is_message_cut);
    }

    fn push_diff(&mut self, diff: &[DiffLine], is_cut: bool) {
        let lines = diff.iter().map(|DiffLine { sign, number, text, .. }| {
            let shown = text.get(..text.floor_char_boundary(MAX_CHARS)).unwrap_or_default();
            let mark = if shown.len() < text.len() { " ⋯" } else { "" };
            format!("{sign}{number}|{}{mark}", plain_line(shown.trim_end()))
        });
        self.push_part(lines, is_cut);
    }

    fn push_files(&mut self, files: &ChangedFileList) {
        let counted = count_things(files.count as u64, "file");
        self.push_line(&format!("{counted}, against the first parent:"));
        let is_cut = files.listed.len() + files.hidden < files.count;
        self.push_part(files.listed.iter().map(describe_file), is_cut);
        if files.hidden > 0 {
            let left_out = count_things(files.hidden as u64, "file");
            self.push_line(&format!("({left_out} not shown: left out of the index)"));
        }
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
            let _ = writeln!(self.text, "{line}");
        }
    }
}

/// Describes a file: `renamed src/a.rs to src/b.rs +3 -1`.
fn describe_file(file: &FileChangeReport) -> String {
    let kind = match (file.kind, file.lines) {
        ("modified", None) => "in",
        ("retyped", _) => "changed the type of",
        (kind, _) => kind,
    };
    let path = plain_name(&file.path, MAX_CHARS);
    let old_path = file.old_path.as_ref().map(|old| plain_name(old, MAX_CHARS) + " to ");
    let lines = file.lines.map(|(added, removed)| format!(" +{added} -{removed}"));
    format!("  {kind} {}{path}{}", old_path.unwrap_or_default(), lines.unwrap_or_default())
}
