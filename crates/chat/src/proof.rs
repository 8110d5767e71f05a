//! Result of the checks of an answer. The model corrects mistakes once; then wrong citations are
//! struck out and contradicted sentences are marked. Pure.

use codeinfo_citations::{CheckedCitation, CitationFault, CitationReport, CitationState};
use codeinfo_core::{
    CitationCounts, CitedRepository, LineRange, Root, Timestamp, UnconfirmedCitation, plain_line,
};

use super::reading::{ClaimContradiction, JudgedClaims};

/// Maximum bytes of the descriptions of wrong citations for the model.
const MAX_FAULTS: usize = 8000;
/// Maximum bytes of the list of contradicted sentences for the model.
const MAX_CONTRADICTIONS: usize = 4000;
/// Minimum size of a correction, as a divisor of the former answer's bytes. A shorter text is no complete answer.
const MIN_SHARE: usize = 4;

#[derive(Debug)]
pub(super) struct AnswerCheck {
    text: String,
    report: CitationReport,
    /// Claims with verdicts; `None` if the second reader was not asked or had no claims to read.
    claims: Option<JudgedClaims>,
    /// Number of wrong citations of the former answer that were corrected, and of those that were dropped.
    repaired: usize,
    dropped: usize,
}

impl AnswerCheck {
    /// Combines the results. A citation whose lines do not support its sentence is unconfirmed.
    pub(super) fn new(
        text: String,
        mut report: CitationReport,
        claims: Option<JudgedClaims>,
    ) -> Self {
        let unsupported = claims.as_ref().map(JudgedClaims::unsupported_citations);
        for citation in &mut report.citations {
            if citation.state == CitationState::Confirmed
                && unsupported.as_ref().is_some_and(|places| places.contains(&citation.range))
            {
                citation.state = CitationState::Unconfirmed;
            }
        }
        Self { text, report, claims, repaired: 0, dropped: 0 }
    }

    pub(super) fn claims(&self) -> Option<&JudgedClaims> {
        self.claims.as_ref()
    }

    /// Returns a request for the model to correct the answer, if something is wrong.
    pub(super) fn build_correction_request(&self) -> Option<String> {
        let citations =
            self.report.citations.iter().filter(|citation| is_wrong(citation)).cloned().collect();
        let wrong = CitationReport { citations, unchecked: 0 };
        let mut faults = String::new();
        for fault in codeinfo_citations::describe_faults(&self.text, &wrong) {
            let fault = format!("- {}\n", plain_line(&fault));
            if faults.len() + fault.len() <= MAX_FAULTS {
                faults.push_str(&fault);
            }
        }
        let mut wrong = String::new();
        if !faults.is_empty() {
            wrong.extend(["These places in your answer are wrong:\n\n", &faults, "\n"]);
        }
        wrong.push_str(&self.list_contradictions());
        (!wrong.is_empty()).then(|| {
            format!(
                "{wrong}Read them again where you need to, and write the whole answer once more, \
                 with the right places. Leave out what you cannot find. Do not mention this \
                 correction."
            )
        })
    }

    /// Lists the contradicted sentences for the model; empty if there are none.
    fn list_contradictions(&self) -> String {
        let mut listed = String::new();
        for ClaimContradiction { claim, excerpt, line } in self.contradictions() {
            let entry = format!("- {}\n  See `{}:{line}`.\n", claim.sentence, excerpt.path);
            if listed.len() + entry.len() <= MAX_CONTRADICTIONS {
                listed.push_str(&entry);
            }
        }
        if listed.is_empty() {
            return listed;
        }
        format!("Lines that these sentences of your answer cite contradict them:\n\n{listed}\n")
    }

    fn contradictions(&self) -> impl Iterator<Item = ClaimContradiction<'_>> {
        self.claims.iter().flat_map(JudgedClaims::contradictions)
    }

    /// A better correction has fewer wrong citations and contradictions, and is still a complete answer.
    pub(super) fn if_better_than(self, former: &Self) -> Option<Self> {
        let is_whole = self.text.len() * MIN_SHARE >= former.text.len()
            && self.sound_count() * 2 >= former.sound_count();
        let gone = former.wrong_count().saturating_sub(self.wrong_count());
        let is_new =
            |citation: &&CheckedCitation| !is_wrong(citation) && !former.cites_place(citation);
        let repaired = gone.min(self.report.citations.iter().filter(is_new).count());
        let problems = |proof: &Self| proof.wrong_count() + proof.contradictions().count();
        let is_better = problems(&self) < problems(former);
        (is_whole && is_better).then_some(Self { repaired, dropped: gone - repaired, ..self })
    }

    /// Returns the text with wrong citations struck out, the counts and the citations; `roots` are all roots.
    pub(super) fn finish_answer(
        self,
        roots: &[Root],
    ) -> (String, CitationCounts, Vec<CheckedCitation>) {
        let counts = CitationCounts {
            citations: self.report.citations.len() + self.report.unchecked,
            confirmed: self.count_state(CitationState::Confirmed),
            unconfirmed: self.count_state(CitationState::Unconfirmed) + self.report.unchecked,
            wrong: self.wrong_count(),
            repaired: self.repaired,
            dropped: self.dropped,
            places: self.report.citations.iter().filter_map(doubtful_place).collect(),
            claims: self.claims.as_ref().map(JudgedClaims::counts),
            repositories: list_repositories(&self.report.citations, roots),
        };
        let mut marks: Vec<ClaimMark> =
            self.contradictions().map(|contradiction| self.build_mark(&contradiction)).collect();
        let mut citations = self.report.citations.clone();
        for mark in marks.iter().rev() {
            let place = citations.partition_point(|citation| citation.range.start < mark.at);
            citations.splice(place..place, mark.citation.clone());
        }
        let mut text = self.text;
        let mut done = text.len();
        for citation in self.report.citations.iter().rev().filter(|citation| is_wrong(citation)) {
            while let Some(mark) = marks.pop_if(|mark| mark.at >= citation.whole.end) {
                text.insert_str(mark.at, &mark.text);
            }
            // The text of a link may itself be a citation, which is struck out with the link.
            if citation.whole.end <= done
                && let Some(cited) = text.get(citation.whole.clone())
            {
                let struck = strike_citation(&text, citation, cited);
                text.replace_range(citation.whole.clone(), &struck);
                done = citation.whole.start;
            }
        }
        for mark in marks.iter().rev() {
            text.insert_str(mark.at, &mark.text);
        }
        (text, counts, citations)
    }

    fn build_mark(&self, contradiction: &ClaimContradiction<'_>) -> ClaimMark {
        let ClaimContradiction { claim, excerpt, line } = contradiction;
        let sentence = self.text.get(claim.range.clone()).unwrap_or_default();
        // The mark goes inside the last cell of a table row.
        let trimmed = sentence.trim_end().trim_end_matches('|').trim_end();
        let lines = LineRange { first: *line, last: *line };
        let cited =
            self.report.citations.iter().find(|citation| citation.range == excerpt.citation);
        let at = claim.range.start + trimmed.len();
        let citation = cited.map(|citation| CheckedCitation {
            lines: vec![lines],
            state: CitationState::Unconfirmed,
            moved_to: Vec::new(),
            hash: None,
            range: at..at,
            whole: at..at,
            fault: None,
            ..citation.clone()
        });
        ClaimMark { at, text: format!(" (contradicted by {}:{line})", excerpt.path), citation }
    }

    fn wrong_count(&self) -> usize {
        self.report.citations.iter().filter(|citation| is_wrong(citation)).count()
    }

    fn sound_count(&self) -> usize {
        self.report.citations.len() - self.wrong_count()
    }

    /// Returns true if the answer cites the same lines of the same file.
    fn cites_place(&self, place: &CheckedCitation) -> bool {
        let is_same = |citation: &CheckedCitation| {
            citation.path == place.path && citation.lines == place.lines
        };
        self.report.citations.iter().any(is_same)
    }

    fn count_state(&self, state: CitationState) -> usize {
        self.report.citations.iter().filter(|citation| citation.state == state).count()
    }
}

/// Mark after a contradicted sentence.
struct ClaimMark {
    at: usize,
    text: String,
    citation: Option<CheckedCitation>,
}

fn is_wrong(citation: &CheckedCitation) -> bool {
    citation.state == CitationState::Wrong
}

fn doubtful_place(citation: &CheckedCitation) -> Option<UnconfirmedCitation> {
    (citation.state != CitationState::Confirmed).then(|| UnconfirmedCitation {
        path: citation.path.clone(),
        lines: citation.lines.clone(),
        state: citation.state.as_str().to_owned(),
        reason: citation.reason.clone(),
    })
}

/// Strikes out a citation that does not exist, and marks as doubtful one that does not show what the sentence
/// says. Next to another tilde, `~~` would begin a code block, so `<del>` replaces it.
fn strike_citation(text: &str, citation: &CheckedCitation, cited: &str) -> String {
    if let Some(fault @ (CitationFault::AtOtherLines { .. } | CitationFault::Absent { .. })) =
        &citation.fault
    {
        return format!("{cited} (doubtful: {})", plain_line(&fault.to_string()));
    }
    let (before, after) = (text.get(..citation.whole.start), text.get(citation.whole.end..));
    let is_beside = before.is_some_and(|before| before.ends_with('~'))
        || after.is_some_and(|after| after.starts_with('~'));
    let (open, close) =
        if is_beside || cited.starts_with('~') { ("<del>", "</del>") } else { ("~~", "~~") };
    format!("{open}{cited}{close} (not found)")
}

/// Replaces the commit for folders, whose files may differ from the checked-out commit.
const WORKING_TREE: &str = "working tree";

/// Citations of files outside of `roots`, which are all indexed roots, name no repository.
fn list_repositories(citations: &[CheckedCitation], roots: &[Root]) -> Vec<CitedRepository> {
    let mut repositories: Vec<CitedRepository> = Vec::new();
    for name in citations.iter().filter_map(|citation| citation.repo.as_deref()) {
        let is_listed = repositories.iter().any(|repository| repository.name == name);
        let root = roots.iter().find(|root| root.name == name).filter(|_| !is_listed);
        repositories.extend(root.map(describe_root));
    }
    repositories
}

fn describe_root(root: &Root) -> CitedRepository {
    let commit = root.revision.as_ref().map(|revision| revision.commit.clone());
    CitedRepository {
        name: root.name.clone(),
        commit: commit.unwrap_or_else(|| WORKING_TREE.to_owned()),
        indexed_at: root.last_ingest_at.as_ref().map(Timestamp::to_string),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use codeinfo_citations::CitationState;
    use codeinfo_core::IndexedCommit;

    fn citation(repo: Option<&str>) -> CheckedCitation {
        CheckedCitation {
            path: "/src/a.rs".to_owned(),
            rel_path: None,
            repo: repo.map(str::to_owned),
            lines: Vec::new(),
            state: CitationState::Confirmed,
            moved_to: Vec::new(),
            hash: None,
            commit: None,
            reason: None,
            range: 0..0,
            whole: 0..0,
            fault: None,
        }
    }

    #[test]
    fn each_repository_is_listed_once_with_its_commit_and_the_time_of_its_index() {
        let folder = PathBuf::from("/src/app");
        let (store, commit) = (folder.join(".git"), "c".repeat(40));
        let revision = IndexedCommit {
            folder: folder.clone(),
            name: "v1".to_owned(),
            store,
            commit: commit.clone(),
        };
        let tagged = Root {
            name: "app@v1".to_owned(),
            revision: Some(revision),
            last_ingest_at: Some(Timestamp::EPOCH),
            ..Root::from_folder(PathBuf::from("/src/app@v1"))
        };
        let roots =
            [Root::from_folder(folder), tagged, Root::from_folder(PathBuf::from("/src/other"))];
        let cited = [Some("app@v1"), None, Some("app"), Some("app@v1"), Some("gone")].map(citation);
        let listed = list_repositories(&cited, &roots);
        let repository = |name: &str, commit: &str, indexed_at: Option<&str>| CitedRepository {
            name: name.to_owned(),
            commit: commit.to_owned(),
            indexed_at: indexed_at.map(str::to_owned),
        };
        assert_eq!(
            listed,
            [
                repository("app@v1", &commit, Some("1970-01-01T00:00:00.000Z")),
                repository("app", "working tree", None),
            ]
        );
    }
}
