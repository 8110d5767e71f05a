//! What the benchmark prints: Markdown on standard output, progress on standard error.

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
};

use serde_json::{Value, json};

use super::{
    library::Indexed,
    score::{Place, Score},
    set::Question,
};

/// A question with what came of it.
pub(crate) struct Row<'a> {
    pub(crate) question: &'a Question,
    pub(crate) score: Score,
    pub(crate) places: Vec<Place>,
}

impl Row<'_> {
    /// Returns the row in the form of `retrieval.py --out`.
    pub(crate) fn json(&self) -> Value {
        let places = self.places.iter().map(|place| json!([place.path, place.first, place.last]));
        json!({
            "id": self.question.id,
            "results": places.collect::<Vec<Value>>(),
            "symbols": self.places.iter().map(|place| place.symbol.as_ref()).collect::<Vec<_>>(),
            "ndcg10": self.score.ndcg,
            "recall10": self.score.recall,
            "mrr10": self.score.mrr,
            "hit1": self.score.hit1,
            "hit5": self.score.hit5,
        })
    }
}

/// Prints a line of progress.
pub(crate) fn note(line: &str) -> io::Result<()> {
    writeln!(io::stderr(), "{line}")
}

/// Prints what indexing took, over all repositories that were not in the store before.
#[expect(clippy::cast_precision_loss, reason = "sizes only need to be about right")]
pub(crate) fn indexed(all: &[Indexed]) -> io::Result<()> {
    let new: Vec<&Indexed> = all.iter().filter(|one| !one.was_there).collect();
    let sum = |of: fn(&Indexed) -> u64| new.iter().map(|one| of(one)).sum::<u64>();
    let seconds: f64 = new.iter().map(|one| one.seconds).sum();
    let megabytes = sum(|one| one.bytes) as f64 / 1e6;
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "indexed {} files, {} chunks, {megabytes:.1} MB in {seconds:.1} s ({:.2} MB/s); {} repositories of {} were there\n",
        sum(|one| one.files),
        sum(|one| one.chunks),
        megabytes / seconds.max(1e-9),
        all.len() - new.len(),
        all.len()
    )?;
    writeln!(
        out,
        "| mode | NDCG@10 | recall@10 | MRR@10 | hit@1 | hit@5 | p50 ms | p99 ms | questions |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|---|")
}

/// Prints the line of one mode.
pub(crate) fn mode(name: &str, rows: &[Row<'_>], milliseconds: &[f64]) -> io::Result<()> {
    let mean = |of: fn(&Score) -> f64| mean(rows.iter().map(|row| of(&row.score)));
    let (p50, p99) = (percentile(milliseconds, 50), percentile(milliseconds, 99));
    writeln!(
        io::stdout(),
        "| {name} | {:.4} | {:.4} | {:.4} | {:.4} | {:.4} | {p50:.2} | {p99:.2} | {} |",
        mean(|score| score.ndcg),
        mean(|score| score.recall),
        mean(|score| score.mrr),
        mean(|score| score.hit1),
        mean(|score| score.hit5),
        rows.len()
    )
}

/// Prints NDCG@10 by category, language and repository, as further modes follow in the same table.
pub(crate) fn groups(rows: &[Row<'_>]) -> io::Result<()> {
    type Key = fn(&Question) -> &str;
    let by: [(&str, Key); 3] = [
        ("category", |question| &question.category),
        ("language", |question| &question.language),
        ("repository", |question| &question.repository),
    ];
    for (name, key) in by {
        let mut groups: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for row in rows {
            groups.entry(key(row.question)).or_default().push(row.score.ndcg);
        }
        let each = groups
            .iter()
            .map(|(group, scores)| format!("{group} {:.3}", mean(scores.iter().copied())));
        note(&format!("NDCG@10 by {name}: {}", each.collect::<Vec<String>>().join(", ")))?;
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "there are few questions")]
pub(crate) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0_u64);
    for value in values {
        sum += value;
        count += 1;
    }
    if count == 0 { 0.0 } else { sum / count as f64 }
}

pub(crate) fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(place).copied().unwrap_or_default()
}
