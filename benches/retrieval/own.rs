//! Our own measures beside the shared set: questions sampled from the indexed code itself, whose
//! answers are single lines, and the shared questions put to all repositories at once.

use super::{
    Outcome, ablation, ask,
    library::Library,
    options::Options,
    report::{self, Row, mean},
    sample::{Kind, sample},
    score::Place,
    set::{Question, Set},
};

/// How many results an agent is usually shown.
const SHOWN: usize = 5;

/// Asks and prints one line for each measure.
pub(crate) async fn measure(library: &Library, set: &Set, options: &Options) -> Outcome<()> {
    let search = library.search();
    for kind in Kind::ALL {
        let sampled = set.repositories.iter().map(|repository| sample(kind, repository));
        let questions: Vec<Question> = sampled.flatten().collect();
        let (rows, milliseconds) = ask(&search, &questions, options.everywhere).await?;
        report::mode(&format!("own: {}", kind.name()), &rows, &milliseconds)?;
        report::note(&lines(kind.name(), &rows))?;
        if kind == Kind::Symbol {
            report::note(&labels(&rows))?;
        }
        if options.ablation {
            for (without, weights) in ablation::each_left_out() {
                let search = search.clone().with_weights(weights);
                let (rows, milliseconds) = ask(&search, &questions, options.everywhere).await?;
                let name = format!("own: {}, {without}", kind.name());
                report::mode(&name, &rows, &milliseconds)?;
            }
        }
        for row in rows.iter().filter(|row| row.score.recall <= 0.0).take(options.missed) {
            report::note(&format!(
                "  missed in {}: {}",
                row.question.repository, row.question.text
            ))?;
        }
    }
    let (rows, milliseconds) = ask(&search, &set.questions, true).await?;
    report::mode("own: all repositories at once", &rows, &milliseconds)?;
    if options.ablation {
        for (without, weights) in ablation::each_left_out() {
            let search = search.clone().with_weights(weights);
            let (rows, milliseconds) = ask(&search, &set.questions, true).await?;
            let name = format!("own: all repositories at once, {without}");
            report::mode(&name, &rows, &milliseconds)?;
        }
    }
    Ok(())
}

/// Says how often the line that defines a name is shown under that name.
fn labels(rows: &[Row<'_>]) -> String {
    let met = rows.iter().filter_map(|row| {
        let is_met = |place: &&Place| row.question.targets.iter().any(|one| one.is_met_by(place));
        Some((row, row.places.iter().find(is_met)?))
    });
    let (mut all, mut named) = (0, 0);
    for (row, place) in met {
        all += 1;
        let symbol = place.symbol.as_deref().unwrap_or_default();
        let is_named = symbol.split([':', '.', '#']).next_back() == Some(&row.question.text);
        named += u32::from(is_named);
    }
    format!(
        "of {all} names found, {:.3} are shown under the name",
        f64::from(named) / f64::from(all.max(1))
    )
}

/// Says how many lines a reader gets, and how often the line asked for is among them.
#[expect(clippy::cast_precision_loss, reason = "chunks have few lines")]
fn lines(name: &str, rows: &[Row<'_>]) -> String {
    let length = |place: &Place| f64::from(place.last.saturating_sub(place.first) + 1);
    let shown = |row: &Row<'_>| row.places.iter().take(SHOWN).map(length).sum::<f64>();
    let before = |row: &Row<'_>| {
        let met = |place: &Place| row.question.targets.iter().any(|target| target.is_met_by(place));
        let at = row.places.iter().position(met)?;
        Some(row.places.iter().take(at + 1).map(length).sum::<f64>())
    };
    let read: Vec<f64> = rows.iter().filter_map(before).collect();
    format!(
        "{name}: {SHOWN} results have {:.0} lines; up to the line asked for, {:.0} are read; in the right file {:.3}, on the right line {:.3}",
        mean(rows.iter().map(shown)),
        mean(read.iter().copied()),
        mean(rows.iter().map(|row| f64::from(u8::from(row.places.iter().any(|place| {
            row.question.targets.iter().any(|target| target.path == place.path)
        }))))),
        read.len() as f64 / rows.len().max(1) as f64,
    )
}
