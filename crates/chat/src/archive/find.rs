//! Searches conversations for words, and collects the files they cite.

use std::collections::HashSet;

use serde_json::Value;

use super::{ArchivedConversation, ArchivedTurn, CitedPath, ConversationSummary};

/// Maximum words of a search; further ones are ignored.
const MAX_WORDS: usize = 16;
/// Maximum number of cited files of a conversation, and of the bytes of their paths, because the
/// summary line is read at once.
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
    let mut known = HashSet::new();
    let cited = citations.flatten().filter_map(|citation| {
        let member = |name: &str| citation.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(CitedPath { repo: member("repo")?, rel_path: member("relPath")? })
    });
    let mut bytes = 0;
    let fits = |one: &CitedPath| {
        bytes += one.repo.len() + one.rel_path.len();
        bytes <= MAX_CITED_BYTES
    };
    cited.filter(|one| known.insert(one.clone())).take(MAX_CITED).take_while(fits).collect()
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
