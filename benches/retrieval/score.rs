//! Scores of one ranking, as `retrieval.py` of the shared benchmark computes them.

use serde::Deserialize;

/// How many results count.
const TOP: usize = 10;

/// A file, or some of its lines, that answers a question.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Target {
    pub(crate) path: String,
    pub(crate) start_line: Option<u32>,
    pub(crate) end_line: Option<u32>,
}

/// A result.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) path: String,
    pub(crate) first: u32,
    pub(crate) last: u32,
    /// What it is shown under.
    pub(crate) symbol: Option<String>,
}

/// What a ranking is worth, each 0…1.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Score {
    pub(crate) ndcg: f64,
    pub(crate) recall: f64,
    pub(crate) mrr: f64,
    pub(crate) hit1: f64,
    pub(crate) hit5: f64,
}

impl Target {
    /// Returns whether a result is the target's file and, where it names lines, has one of them.
    pub(crate) fn is_met_by(&self, place: &Place) -> bool {
        let first = self.start_line.unwrap_or(0);
        let last = self.end_line.unwrap_or(u32::MAX);
        self.path == place.path && first <= place.last && place.first <= last
    }
}

/// Scores results, best first.
#[expect(clippy::cast_precision_loss, reason = "a question has few targets")]
pub(crate) fn score(results: &[Place], targets: &[Target]) -> Score {
    let results = results.get(..TOP).unwrap_or(results);
    let rank = |target: &Target| results.iter().position(|place| target.is_met_by(place));
    let mut ranks: Vec<usize> = targets.iter().filter_map(rank).collect();
    let found = ranks.len();
    ranks.sort_unstable();
    ranks.dedup();
    let ideal: f64 = (0..targets.len().min(TOP)).map(gain).sum();
    let best = ranks.first().copied();
    let within = |top: usize| if best.is_some_and(|best| best < top) { 1.0 } else { 0.0 };
    Score {
        ndcg: ranks.iter().map(|rank| gain(*rank)).sum::<f64>() / ideal,
        recall: found as f64 / targets.len() as f64,
        mrr: best.map_or(0.0, |best| 1.0 / (best as f64 + 1.0)),
        hit1: within(1),
        hit5: within(5),
    }
}

/// What a relevant result adds at a rank, counted from 0.
#[expect(clippy::cast_precision_loss, reason = "ranks are small")]
fn gain(rank: usize) -> f64 {
    1.0 / (rank as f64 + 2.0).log2()
}
