//! Second reading of an answer: the request to the reader and the verdicts in its reply. Pure.
//!
//! Lines of a repository are hostile. Structure begins with a key that is random per request, material begins with
//! a number or a mark, and a verdict counts only for a number and a line that were sent.
//!
//! The request contains only sentences and cited lines. It divides its bytes fairly among the
//! sentences and reports the omitted lines.

mod request;

use std::{collections::HashSet, ops::Range};

use codeinfo_citations::{CitedExcerpt, Claim, find_words};
use codeinfo_core::ClaimCounts;

pub(super) use self::request::{INSTRUCTIONS, ReadingRequest, reply_schema};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ClaimVerdict {
    /// The cited lines support the claim.
    Supported,
    /// A cited line shows that the claim is false.
    Contradicted {
        citation: Range<usize>,
        line: u32,
    },
    /// The cited lines, which were sent completely, do not contain the claim.
    NotInLines,
    Open,
}

#[derive(Debug)]
pub(crate) struct ClaimContradiction<'a> {
    pub(crate) claim: &'a Claim,
    pub(crate) excerpt: &'a CitedExcerpt,
    pub(crate) line: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct JudgedClaims {
    claims: Vec<Claim>,
    verdicts: Vec<ClaimVerdict>,
}

impl JudgedClaims {
    pub(crate) fn new(claims: Vec<Claim>) -> Self {
        let verdicts = vec![ClaimVerdict::Open; claims.len()];
        Self { claims, verdicts }
    }

    /// Creates the claims of a correction of `former`; unchanged ones keep their verdicts. Also returns the
    /// positions to read again: per changed contradicted claim, the new one with the most words in common.
    pub(crate) fn from_correction(former: &Self, claims: Vec<Claim>) -> (Self, Vec<usize>) {
        let mut judged = Self::new(claims);
        let mut places = Vec::new();
        for (claim, verdict) in former.claims.iter().zip(&former.verdicts) {
            let is_kept = |other: &Claim| is_same_claim(other, claim);
            if let Some(place) = judged.claims.iter().position(is_kept) {
                judged.set_verdict(place, moved_verdict(verdict, claim, judged.claims.get(place)));
            } else if matches!(verdict, ClaimVerdict::Contradicted { .. }) {
                let words = find_words(&claim.sentence);
                let common = |other: &Claim| {
                    let is_old = former.claims.iter().any(|known| is_same_claim(known, other));
                    if is_old {
                        0
                    } else {
                        find_words(&other.sentence).intersection(&words).count()
                    }
                };
                let counts = judged.claims.iter().map(common).enumerate();
                let best = counts.max_by_key(|(place, count)| (*count, std::cmp::Reverse(*place)));
                places.extend(best.filter(|(_, count)| *count > 0).map(|(place, _)| place));
            }
        }
        places.sort_unstable();
        places.dedup();
        (judged, places)
    }

    pub(crate) fn claims(&self) -> &[Claim] {
        &self.claims
    }

    pub(crate) fn set_verdict(&mut self, place: usize, verdict: ClaimVerdict) {
        if let Some(known) = self.verdicts.get_mut(place) {
            *known = verdict;
        }
    }

    pub(crate) fn counts(&self) -> ClaimCounts {
        let mut counts = ClaimCounts::default();
        for verdict in &self.verdicts {
            match verdict {
                ClaimVerdict::Supported => counts.supported += 1,
                ClaimVerdict::Contradicted { .. } => counts.contradicted += 1,
                ClaimVerdict::NotInLines | ClaimVerdict::Open => counts.open += 1,
            }
        }
        counts
    }

    /// Returns the byte ranges of the citations whose lines do not support their sentences.
    pub(crate) fn unsupported_citations(&self) -> HashSet<Range<usize>> {
        let unsupported = |(claim, verdict): (&Claim, &ClaimVerdict)| match verdict {
            ClaimVerdict::NotInLines => {
                claim.excerpts.iter().map(|excerpt| excerpt.citation.clone()).collect()
            }
            ClaimVerdict::Contradicted { citation, .. } => vec![citation.clone()],
            ClaimVerdict::Supported | ClaimVerdict::Open => Vec::new(),
        };
        self.claims.iter().zip(&self.verdicts).flat_map(unsupported).collect()
    }

    /// Returns the contradicted claims in the order of the text.
    pub(crate) fn contradictions(&self) -> impl Iterator<Item = ClaimContradiction<'_>> {
        self.claims.iter().zip(&self.verdicts).filter_map(|(claim, verdict)| {
            let ClaimVerdict::Contradicted { citation, line } = verdict else { return None };
            let excerpt = claim.excerpts.iter().find(|one| one.citation == *citation)?;
            Some(ClaimContradiction { claim, excerpt, line: *line })
        })
    }
}

/// Returns true if two claims are the same sentence about the same lines, at any position.
fn is_same_claim(one: &Claim, other: &Claim) -> bool {
    let excerpts = |claim: &Claim| -> Vec<(String, Vec<(u32, String)>)> {
        claim.excerpts.iter().map(|one| (one.path.clone(), one.lines.clone())).collect()
    };
    one.sentence == other.sentence && excerpts(one) == excerpts(other)
}

/// Transfers the verdict on a claim to the same claim of another text.
fn moved_verdict(verdict: &ClaimVerdict, from: &Claim, to: Option<&Claim>) -> ClaimVerdict {
    let ClaimVerdict::Contradicted { citation, line } = verdict else { return verdict.clone() };
    let at = from.excerpts.iter().position(|one| one.citation == *citation);
    let moved = at.and_then(|at| to?.excerpts.get(at));
    moved.map_or(ClaimVerdict::Open, |excerpt| ClaimVerdict::Contradicted {
        citation: excerpt.citation.clone(),
        line: *line,
    })
}
