//! Lines for agents on when to ask CodeInfo, between markers, in documents of a repository or of a
//! person.

use std::path::{Path, PathBuf};

use super::{edit::EditRefusal, error::InstallError};

/// Documents that agents read. If none exists, the first is created.
const DOCUMENTS: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md"];
const BEGIN: &str = "<!-- codeinfo begin -->";
const END: &str = "<!-- codeinfo end -->";
const LINES: &str = "\
- Before grep or reading files to learn how code works, where something is, what uses it or what a change affects, ask the MCP tool `codebase_question` (server `codeinfo`). If it is listed but deferred, load it by name.
- Ask whole questions and wait: an answer may take minutes. For a follow-up, pass its `conversationId`.
- Answers cite `path:lines`: open those before editing. Search yourself for exact text, for uncommitted changes, and if you have no such tool.
- Sub-agents do the same: repeat these lines when you start one.
";

/// Returns the root of the repository around `folder`, and its existing documents or the one to
/// create. Links to the same document count once.
pub(super) fn find_documents(folder: &Path) -> Result<(PathBuf, Vec<PathBuf>), InstallError> {
    let absolute = folder.canonicalize().map_err(|error| InstallError::for_file(folder, error))?;
    let is_repository = |folder: &&Path| folder.join(".git").try_exists().unwrap_or(false);
    let root = absolute.ancestors().find(is_repository).ok_or(InstallError::NoRepository)?;
    let paths = DOCUMENTS.map(|name| root.join(name));
    let mut seen = Vec::new();
    let mut found: Vec<PathBuf> = paths
        .iter()
        .filter(|path| path.symlink_metadata().is_ok())
        .filter(|path| {
            let real = path.canonicalize().unwrap_or_else(|_| (*path).clone());
            let is_new = !seen.contains(&real);
            seen.push(real);
            is_new
        })
        .cloned()
        .collect();
    if found.is_empty() {
        found.extend(paths.into_iter().take(1));
    }
    Ok((root.to_owned(), found))
}

/// Returns a document with the lines: at its end, or in place of older ones.
pub(super) fn add_instructions(text: &str) -> Result<String, EditRefusal> {
    // A line that ends with `\r` alone ends with `\r\n` when more lines follow.
    let is_crlf = text.contains("\r\n") || text.ends_with('\r');
    let end = if is_crlf { "\r\n" } else { "\n" };
    let block = format!("{BEGIN}\n{LINES}{END}\n").replace('\n', end);
    Ok(match split_at_block(text)? {
        Some((before, after)) => format!("{before}{block}{after}"),
        None if text.is_empty() => block,
        None if text.ends_with('\n') => format!("{text}{end}{block}"),
        None if text.ends_with('\r') => format!("{text}\n{end}{block}"),
        None => format!("{text}{end}{end}{block}"),
    })
}

/// Returns a document without the lines, and without the empty line that was added with them.
pub(super) fn remove_instructions(text: &str) -> Result<String, EditRefusal> {
    Ok(match split_at_block(text)? {
        None => text.to_owned(),
        Some((before, after)) => {
            let above = before.strip_suffix('\n').map(|one| one.strip_suffix('\r').unwrap_or(one));
            format!("{}{after}", above.filter(|one| one.ends_with('\n')).unwrap_or(before))
        }
    })
}

/// Returns the text before and after the lines. A marker counts only if it is alone on its line.
fn split_at_block(text: &str) -> Result<Option<(&str, &str)>, EditRefusal> {
    let mut at = 0;
    let mut begins = Vec::new();
    let mut ends = Vec::new();
    for line in text.split_inclusive('\n') {
        match line.trim() {
            BEGIN => begins.push(at),
            END => ends.push(at + line.len()),
            _ => {}
        }
        at += line.len();
    }
    match (&*begins, &*ends) {
        ([], []) => Ok(None),
        (&[begin], &[end]) if begin < end => Ok(text.get(..begin).zip(text.get(end..))),
        (&[_], &[_]) => Err(EditRefusal::new(format!("has `{END}` before `{BEGIN}`"))),
        _ => Err(EditRefusal::new(format!("has `{BEGIN}` and `{END}` not once each"))),
    }
}
