//! What becomes of an answer whose citations were checked: the model puts wrong ones right, once, and
//! those that stay wrong are struck out. Pure.

use super::cited::list_repositories;
use crate::{
    cite::{self, Checked, Fault, Report, State},
    domain::{CitationCounts, Root, plain_line},
};

/// Most bytes of what is said of wrong citations to the model.
const MAX_FAULTS: usize = 8000;
/// A corrected answer has at least one in so many of the bytes of the former: less is no whole answer.
const MIN_SHARE: usize = 4;

/// An answer beside the check of its citations.
#[derive(Debug)]
pub(super) struct Proof {
    text: String,
    report: Report,
    /// How many citations of an earlier answer were wrong, and are no longer.
    repaired: usize,
}

impl Proof {
    pub(super) fn new(text: String, report: Report) -> Self {
        Self { text, report, repaired: 0 }
    }

    /// Returns what to ask the model for, if there is something for it to put right.
    pub(super) fn request(&self) -> Option<String> {
        let citations = self.report.citations.iter().filter(|one| is_wrong(one)).cloned().collect();
        let wrong = Report { citations, unchecked: 0 };
        let mut faults = String::new();
        for fault in cite::faults(&self.text, &wrong) {
            let fault = format!("- {}\n", plain_line(&fault));
            if faults.len() + fault.len() <= MAX_FAULTS {
                faults.push_str(&fault);
            }
        }
        (!faults.is_empty()).then(|| {
            format!(
                "These places in your answer are wrong:\n\n{faults}\nRead them again where you need \
                 to, and write the whole answer once more, with the right places. Leave out what \
                 you cannot find. Do not mention this correction."
            )
        })
    }

    /// Returns this answer, a correction of `former`, if it is better: fewer places are wrong in it, and
    /// the answer is still a whole one.
    pub(super) fn if_better_than(self, former: &Self) -> Option<Self> {
        let is_whole = self.text.len() * MIN_SHARE >= former.text.len()
            && self.count(State::Verified) * 2 >= former.count(State::Verified);
        let repaired = former.wrong().saturating_sub(self.wrong());
        (is_whole && repaired > 0).then_some(Self { repaired, ..self })
    }

    /// Returns the text, with what is wrong struck out, and what was found out about its citations. `roots` are all
    /// that are indexed.
    pub(super) fn finish(self, roots: &[Root]) -> (String, CitationCounts, Vec<Checked>) {
        let counts = CitationCounts {
            citations: self.report.citations.len() + self.report.unchecked,
            verified: self.count(State::Verified),
            repaired: self.repaired,
            wrong: self.wrong(),
            repositories: list_repositories(&self.report.citations, roots),
        };
        let mut text = self.text;
        let mut done = text.len();
        for one in self.report.citations.iter().rev().filter(|one| is_wrong(one)) {
            // The text of a link may be a citation too, and is struck out with the link.
            if one.whole.end <= done
                && let Some(cited) = text.get(one.whole.clone())
            {
                let struck = struck(&text, one, cited);
                text.replace_range(one.whole.clone(), &struck);
                done = one.whole.start;
            }
        }
        (text, counts, self.report.citations)
    }

    fn wrong(&self) -> usize {
        self.report.citations.iter().filter(|one| is_wrong(one)).count()
    }

    fn count(&self, state: State) -> usize {
        self.report.citations.iter().filter(|one| one.state == state).count()
    }
}

/// Whether a citation is wrong. One whose lines changed since they were indexed need not be: the model
/// may have read the file as it is now.
fn is_wrong(one: &Checked) -> bool {
    one.fault.as_ref().is_some_and(|fault| !matches!(fault, Fault::Changed { .. }))
}

/// Strikes out a citation. Beside another tilde, two more would begin a block of code.
fn struck(text: &str, one: &Checked, cited: &str) -> String {
    let (before, after) = (text.get(..one.whole.start), text.get(one.whole.end..));
    let is_beside = before.is_some_and(|before| before.ends_with('~'))
        || after.is_some_and(|after| after.starts_with('~'));
    let (open, close) =
        if is_beside || cited.starts_with('~') { ("<del>", "</del>") } else { ("~~", "~~") };
    format!("{open}{cited}{close} ({})", correction(one))
}

/// Says beside a citation that was struck out what is known instead.
fn correction(one: &Checked) -> String {
    if one.moved_to.is_empty() {
        return "not found".to_owned();
    }
    let lines: Vec<String> = one.moved_to.iter().map(ToString::to_string).collect();
    format!("not found; perhaps {}", lines.join(", "))
}
