//! Judges a citation of a commit by its message, its changes or its files. Does no I/O.
//!
//! A citation without lines is confirmed if the changed lines or the message have most words of its
//! sentence, and one of them each of its numbers. A message confirms only that its author said so.
//! Such a citation is wrong only if the commit or file is missing. Lines are judged as in any file.

use std::{collections::HashSet, sync::LazyLock};

use codeinfo_embed::StaticModel;
use codeinfo_lang::words::{fold_name, stem_word};

use super::{
    CheckedCitation, Citation,
    assess::{CitationContext, CitationVerdict, CitedLines},
    commits::{ChangeTerms, CommitContent, CommitEvidence, CommitTexts, ReadCommit},
    fault::{CitationFault, CitationState},
    fit::{CitedStatement, TermLines},
};

/// Minimum share of the words of a sentence, by weight, that confirm a citation.
const MIN_SHARE: f32 = 0.5;
/// Words that say that something was added, and that something was removed.
const ADDITION_WORDS: [&str; 6] = ["add", "added", "adds", "introduce", "introduced", "introduces"];
const REMOVAL_WORDS: [&str; 6] = ["remove", "removed", "removes", "delete", "deleted", "deletes"];
const HISTORY_WORDS: [&str; 13] = [
    "commit", "change", "changed", "changes", "says", "message", "history", "since", "merge",
    "merged", "made", "author", "version",
];

static ADDITION_STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| stem_words(&ADDITION_WORDS));
static REMOVAL_STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| stem_words(&REMOVAL_WORDS));
static HISTORY_STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| stem_words(&HISTORY_WORDS));

fn stem_words(words: &[&str]) -> HashSet<String> {
    words.iter().map(|word| fold_name(stem_word(word.as_bytes()))).collect()
}

/// Judges a citation by what was read of its commit; `None` if nothing was. `cited` are the lines
/// of the commit's file with those of the neighbours.
pub(super) fn judge_commit(
    citation: &Citation,
    repo: Option<String>,
    read: &ReadCommit,
    context: CitationContext<'_>,
    cited: Option<(&CitedLines<'_>, Vec<&CitedLines<'_>>)>,
    model: &StaticModel,
) -> Option<CheckedCitation> {
    let mut checked = CheckedCitation::from_citation(citation, CitationState::Wrong);
    let mut commit = read.commit.clone();
    match &*read.content {
        CommitContent::Unread => return None,
        CommitContent::Fault(state, fault) => {
            (checked.state, checked.fault) = (*state, Some(fault.clone()));
        }
        CommitContent::Texts(texts) => {
            commit.shown_by = texts.find_evidence(context.statement);
            checked.state = match commit.shown_by {
                Some(_) => CitationState::Confirmed,
                None => CitationState::Unconfirmed,
            };
            let reason = "neither its message nor its changes say this";
            let is_shown = commit.shown_by.is_some();
            checked.fault = (!is_shown).then(|| CitationFault::Commit(reason.to_owned()));
        }
        CommitContent::Files(files) => {
            let (lines, neighbours) = cited?;
            let mut verdict = lines.judge_citation(&neighbours);
            let mut file = files.first()?;
            // Lines that the commit removed have the numbers of the former file.
            if let Some(former) = files.get(1).filter(|_| verdict != CitationVerdict::Confirmed) {
                let former_lines = CitedLines::new(former, &checked.lines, context, model);
                let other = former_lines.judge_citation(&neighbours);
                let is_better = other == CitationVerdict::Confirmed
                    || matches!(verdict, CitationVerdict::Wrong(..))
                        && other == CitationVerdict::Unconfirmed;
                if is_better {
                    (verdict, file) = (other, former);
                }
            }
            checked.apply_verdict(verdict, file);
            let is_confirmed = checked.state == CitationState::Confirmed;
            commit.shown_by = is_confirmed.then_some(CommitEvidence::Lines);
        }
    }
    checked.reason = checked.fault.as_ref().map(ToString::to_string);
    let rel_path = read.rel_path.clone();
    Some(CheckedCitation { repo, rel_path, commit: Some(commit), ..checked })
}

impl CommitTexts {
    fn find_evidence(&self, statement: &CitedStatement) -> Option<CommitEvidence> {
        let Self { message, origin, changes } = self;
        let clause = &statement.clause;
        let is_addition = clause.has_any(&ADDITION_STEMS);
        let is_removal = clause.has_any(&REMOVAL_STEMS);
        let is_history_word = |stem: &str| {
            let words = [&*HISTORY_STEMS, &*ADDITION_STEMS, &*REMOVAL_STEMS];
            words.iter().any(|stems| stems.contains(stem))
        };
        let fits = |texts: &[&TermLines]| {
            clause.share_within(texts, is_history_word).is_some_and(|share| share >= MIN_SHARE)
        };
        // What was removed is not shown by a line that was added.
        let fits_change = |change: &ChangeTerms, others: &[&TermLines]| {
            let added = (is_addition || !is_removal).then_some(&change.added);
            let removed = (is_removal || !is_addition).then_some(&change.removed);
            let texts: Vec<&TermLines> =
                added.into_iter().chain(removed).chain(others.iter().copied()).collect();
            fits(&texts)
        };
        let lines = changes.iter().flat_map(|change| [&change.added, &change.removed]);
        let everything: Vec<&TermLines> = lines.chain([message, origin]).collect();
        if !clause.has_numbers_within(&everything) {
            return None;
        }
        if !fits(&[origin]) && changes.iter().any(|change| fits_change(change, &[origin])) {
            return Some(CommitEvidence::Diff);
        }
        let mut all = changes.iter();
        let is_said =
            fits(&[message, origin]) || all.any(|one| fits_change(one, &[message, origin]));
        is_said.then_some(CommitEvidence::Message)
    }
}
