//! Reads the messages of the best commits again, and orders them by the meaning of each word.

use std::{path::Path, sync::Arc};

use codeinfo_embed::{QuestionWords, StaticModel, lexical};
use codeinfo_history::{CommitDetails, CommitId, HistoryBudget, HistoryReader};

use super::{
    SearchedHistory,
    reading::redact_message,
    table::{CommitTable, MERGE_SHARE, MessageQuery},
};

/// Maximum commits whose messages are read again. Four times as many find no more.
const MAX_CANDIDATES: usize = 100;
/// Maximum bytes of a question whose words are compared.
const MAX_COMPARED_BYTES: usize = 400;
/// Share of the meaning of a word that the rest of a message has.
const BODY_SHARE: f32 = 0.85;

pub(super) struct CommitCandidate<'a> {
    pub(super) score: f32,
    /// Git folder of its repository.
    pub(super) folder: &'a Path,
    pub(super) id: CommitId,
}

pub(super) fn rank_candidates<'a>(
    tables: &[(&'a SearchedHistory, Arc<CommitTable>)],
    query: &MessageQuery,
) -> Vec<CommitCandidate<'a>> {
    let mut ranked = Vec::new();
    for (history, table) in tables {
        let folder = history.common_folder.as_path();
        let best = table.rank(query, &history.tree_tips()).into_iter().take(MAX_CANDIDATES);
        ranked.extend(best.filter_map(|(place, score)| {
            Some(CommitCandidate { score, folder, id: *table.ids.get(place)? })
        }));
    }
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    ranked.truncate(MAX_CANDIDATES);
    ranked
}

/// Reads the beginning of a question with the weights that its terms have in a repository.
pub(super) fn weigh_question<'a>(
    text: &str,
    model: &'a StaticModel,
    weights: &[(u32, f32)],
) -> QuestionWords<'a> {
    let start = text.get(..text.floor_char_boundary(MAX_COMPARED_BYTES)).unwrap_or_default();
    model.read_question(start, |word| {
        let terms = lexical::extract_query_terms(word).indices;
        let own = weights.iter().filter(|(term, _)| terms.contains(term));
        own.map(|(_, weight)| *weight).fold(0.0, f32::max)
    })
}

/// Reads the commits of a repository and returns them with new scores, except those that are gone.
pub(super) fn rescore_commits(
    candidates: &[&CommitCandidate<'_>],
    reader: &mut HistoryReader,
    budget: &HistoryBudget,
    words: &mut QuestionWords<'_>,
) -> Vec<(f32, CommitDetails)> {
    let mut rescored = Vec::new();
    for candidate in candidates {
        if let Ok(commit) = reader.read_commit(&candidate.id, budget) {
            rescored.push((rescore(candidate.score, &commit, words), commit));
        }
    }
    rescored
}

/// Returns the mean of the score of a commit and the share of the question's meaning that its
/// message has. Commits that the question names keep their score of 1.
fn rescore(score: f32, commit: &CommitDetails, words: &mut QuestionWords<'_>) -> f32 {
    if score >= 1.0 {
        return score;
    }
    let message = redact_message(commit);
    let subject = message.lines().next().unwrap_or_default();
    let share = words.find_share([(subject, 1.0), (&message, BODY_SHARE)]);
    let part = if commit.parents.len() > 1 { MERGE_SHARE } else { 1.0 };
    f32::midpoint(score, share * part)
}

#[cfg(test)]
mod tests {
    use codeinfo_history::CommitTime;

    use super::*;

    fn commit(subject: &str, body: &str, parents: usize) -> CommitDetails {
        let id: CommitId = "1".repeat(40).parse().unwrap();
        CommitDetails {
            id,
            parents: vec![id; parents],
            author_name: String::new(),
            author_email: String::new(),
            author_time: CommitTime::default(),
            subject: subject.to_owned(),
            body: body.to_owned(),
            is_truncated: false,
        }
    }

    #[test]
    fn messages_with_words_of_near_meaning_are_better() {
        let model = StaticModel::load().unwrap();
        let question = "delete the expired password";
        // The first has the rarest term.
        let term = |word| lexical::extract_query_terms(word).indices[0];
        let weights = [(term("password"), 8.0), (term("delete"), 1.0), (term("expired"), 1.0)];
        let mut words = weigh_question(question, &model, &weights);
        let mut score =
            |subject, body, parents| rescore(0.2, &commit(subject, body, parents), &mut words);
        let ordered = [
            score("Expired password deleted", "", 1),
            score("Remove old passwd", "", 1),
            score("Remove it", "Old passwd", 1),
            score("Remove it", "Old passwd", 2),
            score("Delete what is expired", "", 1),
            score("Parse headers", "", 1),
            score("", "", 1),
        ];
        assert!(ordered.is_sorted_by(|better, worse| better > worse), "{ordered:?}");
        let named = rescore(1.0, &commit("", "", 2), &mut words);
        assert!(
            (ordered[6] - 0.1).abs() < 1e-6 && (named - 1.0).abs() < 1e-6,
            "{ordered:?} {named}"
        );
    }
}
