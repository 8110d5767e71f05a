//! Finds conversations by their words, and what they cite.

use std::collections::HashSet;

use serde_json::Value;

use super::{ArchivedConversation, ArchivedTurn, CitedPath, ConversationSummary};

/// More words of a search are left out.
const MAX_WORDS: usize = 16;
/// More files of one conversation are not counted, nor longer paths of them: the line that has them is read at once.
const MAX_CITED: usize = 500;
const MAX_CITED_BYTES: usize = 256 << 10;
/// How much is shown around the first word that was found, before it and after it, in characters.
const BEFORE: usize = 60;
const AFTER: usize = 120;

/// Returns the files that the answers of turns cite, each once, in their order.
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

/// A conversation that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationMatch {
    pub summary: ConversationSummary,
    /// What stands around the first of the words.
    pub excerpt: String,
}

/// Returns the words of a search, in lower case.
pub(super) fn split_words(text: &str) -> Vec<String> {
    text.split_whitespace().take(MAX_WORDS).map(str::to_lowercase).collect()
}

/// Returns a conversation if its questions and answers together have all words.
pub(super) fn match_conversation(
    conversation: ArchivedConversation,
    words: &[String],
) -> Option<ConversationMatch> {
    let texts: Vec<&str> = conversation
        .turns
        .iter()
        .flat_map(|turn| {
            let answers = turn.frames.iter().filter(|frame| frame.name == "answer");
            let answers = answers.filter_map(|frame| frame.data.get("text")?.as_str());
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
        // Letters may have another length in lower case; characters are near enough.
        Some((text, lower.get(..at)?.chars().count()))
    })?;
    let excerpt: String =
        text.chars().skip(at.saturating_sub(BEFORE)).take(BEFORE + AFTER).collect();
    let excerpt = excerpt.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(ConversationMatch { summary: conversation.summary, excerpt })
}
