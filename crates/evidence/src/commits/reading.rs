//! Reads the newest commits of a repository into its table.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    time::{Duration, Instant},
};

use codeinfo_embed::{EmbeddingDocument, StaticModel, lexical};
use codeinfo_history::{
    CommitDetails, CommitId, HistoryBudget, HistoryError, HistoryReader, StopReason,
};

use super::table::{CommitTable, MessageEntry};
use crate::symbols::redact;

/// Maximum bytes of a message that count. Real messages have a tenth of it.
const MAX_MESSAGE_BYTES: usize = 4 << 10;
/// Maximum terms of a message that count, those of its first lines.
const MAX_TERMS: usize = 64;

/// Minimum time to read messages, so that each step reads some if finding the commits takes long.
const MIN_READING: Duration = Duration::from_millis(500);
/// Maximum time to find the commits that one of several trees reaches.
const MAX_WALK: Duration = Duration::from_secs(1);

/// Weight of a whole message's vector against its subject's: long bodies are far from questions.
const BODY_WEIGHT: f32 = 0.3;

pub(super) struct ReadingRequest<'a> {
    pub(super) common_folder: &'a Path,
    /// Commits that the indexed trees of the repository check out.
    pub(super) tips: &'a [CommitId],
    pub(super) max_commits: usize,
    pub(super) deadline: Instant,
}

/// Returns the table of the newest commits that the tips reach; reads new ones until the deadline.
pub(super) fn update_table(
    old: &CommitTable,
    model: &StaticModel,
    request: &ReadingRequest<'_>,
) -> Result<CommitTable, HistoryError> {
    let ReadingRequest { common_folder, tips, max_commits, deadline } = *request;
    let hex = tips.first().map(CommitId::to_string).unwrap_or_default();
    let mut reader = HistoryReader::open(common_folder, &hex)?;
    let list_until = |end| HistoryBudget { max_results: max_commits, ..HistoryBudget::until(end) };
    let newest = reader.list_ids(tips, &list_until(deadline));
    let is_late = |reason: StopReason| reason == StopReason::TimeLimit;
    let mut is_cut = newest.stop.is_some_and(|stop| is_late(stop.reason));
    let mut wanted = newest.ids;
    if is_cut {
        // What is known remains until the time suffices.
        append_known(&mut wanted, &old.ids, max_commits);
    }
    let deadline = deadline.max(Instant::now() + MIN_READING);
    let budget = HistoryBudget::until(deadline);
    let known: HashSet<&CommitId> = old.ids.iter().collect();
    let mut added = HashMap::new();
    let mut unread = 0;
    for id in wanted.iter().filter(|id| !known.contains(id)) {
        let late = unread > 0 || Instant::now() >= deadline;
        match if late { None } else { Some(reader.read_commit(id, &budget)) } {
            Some(Ok(commit)) => {
                added.insert(*id, read_message(&commit, model));
            }
            None => unread += 1,
            Some(Err(HistoryError::Stopped(stop))) if is_late(stop.reason) => unread += 1,
            // Damaged commits are known, without words.
            Some(Err(_)) => {
                added.insert(*id, MessageEntry::new(&[], Vec::new(), false));
            }
        }
    }
    let mut table = old.rebuild(&wanted, &added);
    let places: HashMap<CommitId, usize> = table.ids.iter().copied().zip(0..).collect();
    for tip in tips {
        // The reader remembers what it walked.
        let again = list_until(Instant::now() + MAX_WALK);
        let own = if tips.len() == 1 { &wanted } else { &reader.list_ids(&[*tip], &again).ids };
        let mut bits = vec![0; table.ids.len().div_ceil(8)];
        for place in own.iter().filter_map(|id| places.get(id)) {
            if let Some(byte) = bits.get_mut(place / 8) {
                *byte |= 1 << (place % 8);
            }
        }
        table.tips.push((*tip, bits));
    }
    table.limit = max_commits;
    is_cut &= unread == 0;
    table.unread = unread + usize::from(is_cut);
    table.gap = match newest.stop {
        Some(stop) if matches!(stop.reason, StopReason::ResultLimit(_)) => {
            format!("only the newest {max_commits} commits are searched")
        }
        Some(stop) => stop.to_string(),
        None => String::new(),
    };
    Ok(table)
}

/// Appends the known ids that are not listed, up to `max_commits` ids.
fn append_known(listed: &mut Vec<CommitId>, known: &[CommitId], max_commits: usize) {
    let newest: HashSet<CommitId> = listed.iter().copied().collect();
    listed.extend(known.iter().filter(|id| !newest.contains(*id)));
    listed.truncate(max_commits);
}

/// Returns the part of a message that counts, without secrets.
pub(super) fn redact_message(commit: &CommitDetails) -> String {
    let mut message = redact(&format!("{}\n{}", commit.subject, commit.body));
    message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES));
    message
}

/// Returns the meaning and the words of a message, without secrets.
fn read_message(commit: &CommitDetails, model: &StaticModel) -> MessageEntry {
    let message = redact_message(commit);
    let text = message.as_str();
    let subject = text.lines().next().unwrap_or_default();
    let [top, whole] = [subject, text]
        .map(|text| model.embed_document(&EmbeddingDocument { path: "", symbol: "", text }));
    let vector: Vec<f32> = top.iter().zip(whole).map(|(a, b)| a + BODY_WEIGHT * b).collect();
    let mut terms = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let found = lexical::count_terms([(line, 1.0)]).indices;
        let room = MAX_TERMS.saturating_sub(terms.len());
        terms.extend(found.into_iter().take(room).map(|term| (term, number == 0)));
        terms.sort_unstable_by_key(|(term, in_subject)| (*term, !in_subject));
        terms.dedup_by_key(|(term, _)| *term);
    }
    MessageEntry::new(&vector, terms, commit.parents.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_that_are_listed_and_known_are_wanted_once() {
        let [a, b, c] = ["a", "b", "c"].map(|digit| digit.repeat(40).parse::<CommitId>().unwrap());
        for (max_commits, expected) in [(9, &[c, b, a][..]), (2, &[c, b])] {
            let mut listed = vec![c, b];
            append_known(&mut listed, &[b, a], max_commits);
            assert_eq!(listed, expected);
        }
    }
}
