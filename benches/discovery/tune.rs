//! Chooses weights on the tuning half: each in turn, over a few values, until none gets better.

use std::io::Write as _;

use codeinfo_embed::StaticModel;
use codeinfo_toolkits::discovery::{ToolIndex, ToolIndexEntry, ToolRankingWeights};

use super::{Half, Outcome, Question, Score};

type Set = fn(&mut ToolRankingWeights, f32);

const STEPS: [(&str, Set, &[f32]); 12] = [
    ("dense", |w, v| w.dense = v, &[0.2, 0.3, 0.4, 0.5, 0.6, 0.7]),
    ("gist", |w, v| w.gist = v, &[0.0, 0.25, 0.5, 0.75, 1.0]),
    ("synonyms", |w, v| w.synonyms = v, &[0.2, 0.35, 0.5, 0.7]),
    ("synonyms_dense", |w, v| w.synonyms_dense = v, &[0.2, 0.35, 0.5, 0.7, 1.0]),
    ("stop_word_discount", |w, v| w.stop_word_discount = v, &[0.5, 0.7, 0.8, 0.9, 1.0]),
    ("name", |w, v| w.name = v, &[1.0, 1.5, 2.0, 3.0, 4.0]),
    ("toolkit", |w, v| w.toolkit = v, &[0.0, 0.5, 1.0, 2.0, 3.0]),
    ("title", |w, v| w.title = v, &[0.0, 0.5, 1.0, 2.0]),
    ("parameter", |w, v| w.parameter = v, &[0.0, 0.1, 0.25, 0.5, 1.0]),
    ("parameter_description", |w, v| w.parameter_description = v, &[0.0, 0.05, 0.1, 0.25, 0.5]),
    ("toolkit_bonus", |w, v| w.toolkit_bonus = v, &[0.0, 0.1, 0.2, 0.3, 0.5]),
    ("coverage", |w, v| w.coverage = v, &[0.0, 0.1, 0.2, 0.4, 0.6]),
];

pub(super) fn tune(
    tools: &[ToolIndexEntry],
    questions: &[Question],
    model: &StaticModel,
) -> Outcome<()> {
    let mut out = std::io::stdout().lock();
    let worth = |weights: ToolRankingWeights| {
        let index = ToolIndex::with_weights(tools.to_vec(), model.clone(), weights);
        let score = Score::measure(&index, questions.iter().filter(|one| one.half == Half::Tune));
        (score.reciprocal + score.five) / score.questions
    };
    let mut best = ToolRankingWeights::SHIPPED;
    let mut most = worth(best);
    loop {
        let before = most;
        for (name, set, values) in STEPS {
            for value in values {
                let mut tried = best;
                set(&mut tried, *value);
                let found = worth(tried);
                // Small gains are noise of a hundred questions.
                if found > most + 0.002 {
                    (best, most) = (tried, found);
                    writeln!(out, "{name} {value}: {found:.4}")?;
                }
            }
        }
        if most <= before {
            writeln!(out, "{best:?}")?;
            return Ok(());
        }
    }
}
