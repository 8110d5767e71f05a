//! File of one conversation: a JSON line for the summary and one per turn.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use codeinfo_core::{
    ConversationId,
    atomic::{self, FileAccess},
};
use serde_json::{Value, json};
use tracing::warn;

use super::{
    ArchiveError, ArchivedConversation, ArchivedTurn, ConversationFile, ConversationSummary, find,
};

pub(super) const EXTENSION: &str = "jsonl";
/// Extension of unreadable files.
const ASIDE: &str = "damaged";
/// Extension of files being written.
const UNFINISHED: &str = "tmp";
/// Maximum bytes of the first line; only a foreign file exceeds it.
const MAX_SUMMARY_BYTES: u64 = 1 << 20;
/// Maximum bytes of a conversation. First the tool results of the oldest turns are dropped, then
/// the turns.
const MAX_BYTES: usize = 8 << 20;

/// Reads the summaries in a folder, and moves invalid files aside.
pub(super) fn list_conversations(
    folder: &Path,
) -> Result<HashMap<ConversationId, ConversationFile>, ArchiveError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashMap::new()),
        Err(error) => return Err(ArchiveError::for_file(folder, error)),
    };
    let mut known = HashMap::new();
    for entry in entries.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == UNFINISHED) {
            // Remainder of a write that crashed.
            drop(atomic::remove_file(&path));
        }
        let Some(id) = id_of(&path) else { continue };
        match first_line(&path) {
            Ok(one) if one.summary.id == id => {
                known.insert(id, one);
            }
            Ok(_) => put_aside(&path),
            Err(error @ ArchiveError::Damaged { .. }) => {
                warn!(%error, "a conversation cannot be read and was moved aside");
                put_aside(&path);
            }
            // The file may be readable at the next start.
            Err(error) => warn!(%error, "a conversation cannot be read"),
        }
    }
    Ok(known)
}

/// Returns the conversation id in a file name.
fn id_of(path: &Path) -> Option<ConversationId> {
    let is_kept = path.extension().is_some_and(|extension| extension == EXTENSION);
    path.file_stem().filter(|_| is_kept)?.to_str()?.parse().ok()
}

fn first_line(path: &Path) -> Result<ConversationFile, ArchiveError> {
    let opened = atomic::open_regular_file(path, File::options().read(true));
    let file = opened.map_err(|error| ArchiveError::for_file(path, error))?;
    let bytes = file.metadata().map_err(|error| ArchiveError::for_file(path, error))?.len();
    let mut line = String::new();
    let read = BufReader::new(file.take(MAX_SUMMARY_BYTES)).read_line(&mut line);
    read.map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => damaged_error(path, &error),
        _ => ArchiveError::for_file(path, error),
    })?;
    let summary = serde_json::from_str(&line).map_err(|error| damaged_error(path, &error))?;
    Ok(ConversationFile { summary, bytes })
}

/// Reads a conversation; `None` if the file does not exist.
pub(super) fn read_conversation(path: &Path) -> Result<Option<ArchivedConversation>, ArchiveError> {
    let bytes = atomic::read_if_exists(path, FileAccess::Owner);
    let Some(bytes) = bytes.map_err(|error| ArchiveError::for_file(path, error))? else {
        return Ok(None);
    };
    let mut lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let summary: ConversationSummary =
        serde_json::from_slice(first).map_err(|error| damaged_error(path, &error))?;
    let parsed: Result<Vec<ArchivedTurn>, _> = lines.map(serde_json::from_slice).collect();
    let turns = parsed.map_err(|error| damaged_error(path, &error))?;
    Ok(Some(ArchivedConversation { summary, turns }))
}

/// Shrinks a conversation to the limit, writes it, and returns its bytes.
pub(super) fn write_conversation(
    folder: &Path,
    path: &Path,
    conversation: &mut ArchivedConversation,
) -> Result<u64, ArchiveError> {
    atomic::create_private_folder(folder).map_err(|error| ArchiveError::for_file(folder, error))?;
    let mut lines: Vec<String> =
        conversation.turns.iter().map(|turn| json!(turn).to_string()).collect();
    let bytes = |lines: &[String]| lines.iter().map(String::len).sum::<usize>();
    for (turn, line) in conversation.turns.iter_mut().zip(0..) {
        if bytes(&lines) > MAX_BYTES {
            leave_out_results(turn);
            if let Some(line) = lines.get_mut(line) {
                *line = json!(turn).to_string();
            }
        }
    }
    while bytes(&lines) > MAX_BYTES && lines.len() > 1 {
        lines.remove(0);
        conversation.turns.remove(0);
    }
    conversation.summary.turns = conversation.turns.iter().map(|turn| turn.id).collect();
    conversation.summary.cited = find::collect_cited_files(&conversation.turns);
    lines.insert(0, json!(conversation.summary).to_string());
    let mut text = lines.join("\n");
    text.push('\n');
    let written = atomic::write_atomically(path, text.as_bytes(), FileAccess::Owner);
    written.map_err(|error| ArchiveError::for_file(path, error))?;
    Ok(text.len() as u64)
}

/// Drops the tool results of a turn.
fn leave_out_results(turn: &mut ArchivedTurn) {
    for frame in &mut turn.frames {
        if let Some(result) = frame.data.get_mut("result") {
            *result = Value::Null;
        }
    }
}

/// Removes all files of a conversation.
pub(super) fn remove_conversation(path: &Path) -> Result<(), ArchiveError> {
    for extension in [EXTENSION, ASIDE, UNFINISHED] {
        let sibling = path.with_extension(extension);
        atomic::remove_file(&sibling).map_err(|error| ArchiveError::for_file(&sibling, error))?;
    }
    Ok(())
}

/// Moves an unusable file aside, so that it is neither read again nor lost.
pub(super) fn put_aside(path: &Path) {
    let aside = path.with_extension(ASIDE);
    if let Err(error) = fs::rename(path, &aside) {
        warn!(path = %path.display(), %error, "a damaged conversation cannot be moved aside");
    }
}

fn damaged_error(path: &Path, reason: &dyn std::error::Error) -> ArchiveError {
    ArchiveError::Damaged { path: path.to_owned(), reason: reason.to_string() }
}
