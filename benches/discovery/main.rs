//! Measures how well tools are discovered, over the definitions of published servers; `benches/README.md` says
//! how to run it and what comes out.

mod set;
mod tune;

use std::{collections::BTreeMap, error::Error, io::Write as _, time::Instant};

use codeinfo_embed::StaticModel;
use codeinfo_toolkits::discovery::{ToolIndex, ToolIndexEntry, ToolRankingWeights};

use self::set::{Half, Question};

/// Whatever goes wrong ends the run; this is a tool for people.
type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let tools = set::tools()?;
    let questions = set::questions()?;
    let model = StaticModel::load()?;
    if std::env::args().any(|argument| argument == "--tune") {
        return tune::tune(&tools, &questions, &model);
    }
    let mut out = std::io::stdout().lock();
    let started = Instant::now();
    let index = ToolIndex::new(tools.clone(), model.clone());
    let built = started.elapsed();
    writeln!(
        out,
        "{} tools of {} servers, {} questions",
        index.len(),
        index.domains().count(),
        questions.len()
    )?;
    writeln!(out, "\n| Ranking | Half | hit@1 | hit@5 | MRR@20 |\n|---|---|---|---|---|")?;
    for (name, weights) in modes() {
        let index = ToolIndex::with_weights(tools.clone(), model.clone(), weights);
        for half in [Half::Tune, Half::Report] {
            let score = Score::measure(&index, questions.iter().filter(|one| one.half == half));
            writeln!(out, "| {name} | {half:?} | {score} |")?;
        }
    }
    writeln!(
        out,
        "\n| Kind, reported half | Questions | hit@1 | hit@5 | MRR@20 |\n|---|---|---|---|---|"
    )?;
    let mut kinds: BTreeMap<&str, Vec<&Question>> = BTreeMap::new();
    for question in questions.iter().filter(|one| one.half == Half::Report) {
        kinds.entry(&question.kind).or_default().push(question);
    }
    for (kind, of_kind) in kinds {
        let count = of_kind.len();
        let score = Score::measure(&index, of_kind.into_iter());
        writeln!(out, "| {kind} | {count} | {score} |")?;
    }
    let mut times: Vec<_> =
        questions.iter().map(|question| timed(&index, &question.text)).collect();
    times.sort_unstable();
    let [half, most] = [times.len() / 2, times.len() - 1]
        .map(|place| times.get(place).copied().unwrap_or_default());
    writeln!(out, "\nindex built in {built:.1?}; a search: median {half:.1?}, longest {most:.1?}")?;
    if std::env::args().any(|argument| argument == "--misses") {
        misses(&mut out, &index, &questions)?;
    }
    Ok(())
}

fn timed(index: &ToolIndex, question: &str) -> std::time::Duration {
    let started = Instant::now();
    std::hint::black_box(index.search(question, None, 8));
    started.elapsed()
}

/// What is compared: each list alone, both, and what counts beside them.
fn modes() -> Vec<(&'static str, ToolRankingWeights)> {
    let shipped = ToolRankingWeights::SHIPPED;
    let alone = ToolRankingWeights {
        toolkit_bonus: 0.0,
        coverage: 0.0,
        synonyms: 0.0,
        synonyms_dense: 0.0,
        ..shipped
    };
    vec![
        (
            "BM25, one field",
            ToolRankingWeights {
                dense: 0.0,
                stop_word_discount: 0.0,
                name: 1.0,
                toolkit: 1.0,
                title: 1.0,
                parameter: 1.0,
                parameter_description: 1.0,
                ..alone
            },
        ),
        ("BM25, our fields", ToolRankingWeights { dense: 0.0, ..alone }),
        ("embedder alone", ToolRankingWeights { dense: 1.0, ..alone }),
        ("both", alone),
        (
            "shipped, no synonyms",
            ToolRankingWeights { synonyms: 0.0, synonyms_dense: 0.0, ..shipped },
        ),
        ("shipped", shipped),
    ]
}

/// How far up the first right tool stands, over questions.
#[derive(Default, Clone, Copy)]
struct Score {
    first: f64,
    five: f64,
    reciprocal: f64,
    questions: f64,
}

impl Score {
    fn measure<'a>(index: &ToolIndex, questions: impl Iterator<Item = &'a Question>) -> Self {
        let mut score = Self::default();
        for question in questions {
            score.questions += 1.0;
            let found = index.search(&question.text, None, 20);
            let is_right = |entry: &ToolIndexEntry| question.tools.contains(&entry.id);
            let Some(place) = found.iter().position(|one| is_right(one.entry)) else { continue };
            score.first += f64::from(u8::from(place == 0));
            score.five += f64::from(u8::from(place < 5));
            score.reciprocal += 1.0 / f64::from(u32::try_from(place + 1).unwrap_or(u32::MAX));
        }
        score
    }
}

impl std::fmt::Display for Score {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [first, five, reciprocal] =
            [self.first, self.five, self.reciprocal].map(|sum| sum / self.questions.max(1.0));
        write!(formatter, "{first:.3} | {five:.3} | {reciprocal:.3}")
    }
}

/// Lists the questions of the tuning half whose answer is not among the first five, with what is.
fn misses(out: &mut impl std::io::Write, index: &ToolIndex, questions: &[Question]) -> Outcome<()> {
    for question in questions.iter().filter(|one| one.half == Half::Tune) {
        let found = index.search(&question.text, None, 5);
        let ids: Vec<&str> = found.iter().map(|one| one.entry.id.as_str()).collect();
        if !ids.iter().any(|id| question.tools.iter().any(|tool| tool == id)) {
            writeln!(
                out,
                "{}\n  wanted {}\n  found  {}",
                question.text,
                question.tools.join(" "),
                ids.join(" ")
            )?;
        }
    }
    Ok(())
}
