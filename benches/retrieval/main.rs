//! Measures retrieval in this process, over the product's own modules; `benches/README.md` says how
//! to run it and what comes out.

mod ablation;
mod library;
mod options;
mod own;
mod report;
mod sample;
mod score;
mod set;

use std::{error::Error, fs::File, io::Write as _, time::Instant};

use clap::Parser;
use codeinfo_search::{Search, SearchQuery, SearchWeights};

use self::{
    library::Library,
    options::Options,
    report::Row,
    score::{Place, score},
    set::{Question, Set},
};

/// Whatever goes wrong ends the run; this is a tool for people.
type Outcome<T> = Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let options = Options::parse();
    let set = Set::read(&options)?;
    let library = Library::open(options.store.as_deref()).await?;
    let mut indexed = Vec::new();
    for repository in &set.repositories {
        let index = library.index(&repository.name, &repository.folder).await?;
        report::note(&format!("{index}"))?;
        indexed.push(index);
    }
    report::indexed(&indexed)?;
    for (name, weights) in modes(&options) {
        let search = library.search().with_weights(weights);
        let (rows, milliseconds) = ask(&search, &set.questions, options.everywhere).await?;
        report::mode(&name, &rows, &milliseconds)?;
        if name == "hybrid" {
            report::groups(&rows)?;
            write_rows(&options, &rows)?;
        }
    }
    if options.own {
        own::measure(&library, &set, &options).await?;
    }
    Ok(())
}

/// The modes asked for, each a name and its weights.
fn modes(options: &Options) -> Vec<(String, SearchWeights)> {
    let mut modes = vec![("hybrid".to_owned(), SearchWeights::SHIPPED)];
    if options.ablation {
        modes.extend(ablation::lists_alone());
        modes.extend(ablation::each_left_out());
    }
    modes
}

/// Asks each question of its repository and scores what comes back.
async fn ask<'a>(
    search: &Search,
    questions: &'a [Question],
    everywhere: bool,
) -> Outcome<(Vec<Row<'a>>, Vec<f64>)> {
    let mut rows = Vec::new();
    let mut milliseconds = Vec::new();
    for question in questions {
        let repository = (!everywhere).then_some(question.repository.as_str());
        let query = SearchQuery::new(&question.text, repository, Some(10))?;
        let started = Instant::now();
        let found = search.find_chunks(&query).await?;
        milliseconds.push(started.elapsed().as_secs_f64() * 1000.0);
        let places: Vec<Place> = found
            .hits
            .iter()
            .map(|hit| Place {
                // A file of another repository answers nothing.
                path: if hit.repo == question.repository {
                    question.within(&hit.rel_path)
                } else {
                    format!("{}: {}", hit.repo, hit.rel_path)
                },
                first: hit.start_line,
                last: hit.end_line,
                symbol: hit.symbol.clone(),
            })
            .collect();
        rows.push(Row { question, score: score(&places, &question.targets), places });
    }
    Ok((rows, milliseconds))
}

/// Writes one JSON line per question, if asked to.
fn write_rows(options: &Options, rows: &[Row<'_>]) -> Outcome<()> {
    let Some(path) = &options.out else { return Ok(()) };
    let mut out = File::create(path)?;
    for row in rows {
        writeln!(out, "{}", row.json())?;
    }
    Ok(())
}
