//! File of one conversation, with a JSON line for the summary and one per turn, and the search in it.

use std::{
    collections::{HashMap, HashSet},
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
    ArchiveError, ArchivedConversation, ArchivedTurn, CitedPath, ConversationFile,
    ConversationSummary,
};

pub(super) const EXTENSION: &str = "jsonl";
const ASIDE: &str = "damaged";
/// Extension of files being written.
const UNFINISHED: &str = "tmp";
/// Maximum bytes of the first line; only a foreign file exceeds it.
const MAX_SUMMARY_BYTES: u64 = 1 << 20;
/// Maximum bytes of a conversation. First the tool results of the oldest turns are dropped, then the turns.
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
    let mut files = HashMap::new();
    for entry in entries.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == UNFINISHED) {
            // Remainder of a write that crashed.
            drop(atomic::remove_file(&path));
        }
        let Some(id) = parse_file_name(&path) else { continue };
        match read_summary(&path) {
            Ok(one) if one.summary.id == id => {
                files.insert(id, one);
            }
            Ok(_) => move_aside(&path),
            Err(error @ ArchiveError::Damaged { .. }) => {
                warn!(%error, "a conversation cannot be read and was moved aside");
                move_aside(&path);
            }
            // The file may be readable at the next start.
            Err(error) => warn!(%error, "a conversation cannot be read"),
        }
    }
    Ok(files)
}

fn parse_file_name(path: &Path) -> Option<ConversationId> {
    let is_kept = path.extension().is_some_and(|extension| extension == EXTENSION);
    path.file_stem().filter(|_| is_kept)?.to_str()?.parse().ok()
}

fn read_summary(path: &Path) -> Result<ConversationFile, ArchiveError> {
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
            drop_results(turn);
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
    conversation.summary.cited = collect_cited_files(&conversation.turns);
    lines.insert(0, json!(conversation.summary).to_string());
    let mut text = lines.join("\n");
    text.push('\n');
    let written = atomic::write_atomically(path, text.as_bytes(), FileAccess::Owner);
    written.map_err(|error| ArchiveError::for_file(path, error))?;
    Ok(text.len() as u64)
}

fn drop_results(turn: &mut ArchivedTurn) {
    for frame in &mut turn.frames {
        if let Some(result) = frame.data.get_mut("result") {
            *result = Value::Null;
        }
    }
}

pub(super) fn remove_conversation(path: &Path) -> Result<(), ArchiveError> {
    for extension in [EXTENSION, ASIDE, UNFINISHED] {
        let sibling = path.with_extension(extension);
        atomic::remove_file(&sibling).map_err(|error| ArchiveError::for_file(&sibling, error))?;
    }
    Ok(())
}

/// Moves an unusable file aside, so that it is neither read again nor lost.
pub(super) fn move_aside(path: &Path) {
    let aside = path.with_extension(ASIDE);
    if let Err(error) = fs::rename(path, &aside) {
        warn!(path = %path.display(), %error, "a damaged conversation cannot be moved aside");
    }
}

fn damaged_error(path: &Path, reason: &dyn std::error::Error) -> ArchiveError {
    ArchiveError::Damaged { path: path.to_owned(), reason: reason.to_string() }
}

/// Maximum words of a search; further ones are ignored.
const MAX_WORDS: usize = 16;
/// Maximum cited files of a conversation and bytes of their paths, because the summary line is read at once.
const MAX_CITED: usize = 500;
const MAX_CITED_BYTES: usize = 256 << 10;
/// Characters of the excerpt before and after the first match.
const BEFORE: usize = 60;
const AFTER: usize = 120;

/// Returns the files that the answers of turns cite, in order and without repetitions.
pub(super) fn collect_cited_files(turns: &[ArchivedTurn]) -> Vec<CitedPath> {
    let citations = turns.iter().flat_map(|turn| &turn.frames).filter_map(|frame| {
        frame.data.get("citations").filter(|_| frame.name == "final")?.as_array()
    });
    let mut files = HashSet::new();
    let cited = citations.flatten().filter_map(|citation| {
        let member = |name: &str| citation.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(CitedPath { repo: member("repo")?, rel_path: member("relPath")? })
    });
    let mut bytes = 0;
    let fits = |one: &CitedPath| {
        bytes += one.repo.len() + one.rel_path.len();
        bytes <= MAX_CITED_BYTES
    };
    cited.filter(|one| files.insert(one.clone())).take(MAX_CITED).take_while(fits).collect()
}

/// A conversation that matches a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationMatch {
    pub summary: ConversationSummary,
    /// Text around the first match of the first word.
    pub excerpt: String,
}

/// Returns the words of a search in lower case.
pub(super) fn split_words(text: &str) -> Vec<String> {
    text.split_whitespace().take(MAX_WORDS).map(str::to_lowercase).collect()
}

/// Returns the conversation if its questions and answers together contain all words.
pub(super) fn match_conversation(
    conversation: ArchivedConversation,
    words: &[String],
) -> Option<ConversationMatch> {
    let texts: Vec<&str> = conversation
        .turns
        .iter()
        .flat_map(|turn| {
            let answer_frames = turn.frames.iter().filter(|frame| frame.name == "answer");
            let answers = answer_frames.filter_map(|frame| frame.data.get("text")?.as_str());
            [turn.question.as_str()].into_iter().chain(answers)
        })
        .collect();
    let lower: Vec<String> = texts.iter().map(|text| text.to_lowercase()).collect();
    let has = |word: &String| lower.iter().any(|text| text.contains(word));
    if !words.iter().all(has) {
        return None;
    }
    let first = words.first()?;
    let (text, at) = texts.iter().zip(&lower).find_map(|(text, lower)| {
        let at = lower.find(first)?;
        // Lower-casing may change the length of letters, so the position is approximate.
        Some((text, lower.get(..at)?.chars().count()))
    })?;
    let excerpt: String =
        text.chars().skip(at.saturating_sub(BEFORE)).take(BEFORE + AFTER).collect();
    let one_line = excerpt.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(ConversationMatch { summary: conversation.summary, excerpt: one_line })
}
