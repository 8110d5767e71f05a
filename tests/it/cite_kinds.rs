//! Citations that must not be accused, fifty of each kind.

use std::{fmt::Write, sync::Arc};

use codeinfo::{
    cite::{Checker, CitationState, LookupScope},
    config::PathMap,
};

use crate::ingest_bench::Bench;

const COUNT: usize = 50;
/// Lines of each function of [`module`], with the blank one after it.
const FUNCTION_LINES: usize = 47;

/// Returns a module of functions that declare a limit in their second line and use it in none of the last forty.
fn module() -> String {
    let mut text = String::new();
    for number in 0..COUNT {
        writeln!(text, "fn step_{number}(input: u32) -> u32 {{").unwrap();
        writeln!(text, "    let limit_of_{number} = input;").unwrap();
        for line in 0..43 {
            writeln!(text, "    let part_{line} = {line} + {number};").unwrap();
        }
        text.push_str("}\n\n");
    }
    text
}

/// Checks sentences one by one. Returns the state of the citation of each, with the sentence.
async fn states(
    files: &[(&str, &str)],
    sentences: impl Iterator<Item = String>,
) -> Vec<(CitationState, String)> {
    let bench = Bench::new().await;
    let repo = bench.repo("demo", files);
    bench.ingest(&repo).await;
    let checker = Checker::new(Arc::clone(&bench.store), PathMap::default());
    let mut states = Vec::new();
    for sentence in sentences {
        let report = checker.check(&sentence, &LookupScope::default()).await.unwrap();
        let [citation] = &report.citations[..] else { panic!("{sentence}: {report:?}") };
        states.push((citation.state, sentence));
    }
    states
}

fn assert_all_are(state: CitationState, states: &[(CitationState, String)]) {
    assert_eq!(states.len(), COUNT);
    let others: Vec<_> = states.iter().filter(|(one, _)| *one != state).collect();
    assert!(others.is_empty(), "{others:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_in_the_definition_around_the_lines_accuses_nobody() {
    let module = module();
    let files = [("src/steps.rs", &*module)];
    let lines = |number: usize| {
        let first = number * FUNCTION_LINES + 30;
        format!("{first}-{}", first + 3)
    };
    let own = (0..COUNT)
        .map(|number| format!("`limit_of_{number}` bounds it (src/steps.rs:{}).", lines(number)));
    assert_all_are(CitationState::Unconfirmed, &states(&files, own).await);
    // In another definition the same lines are wrong.
    let others = (0..COUNT).map(|number| {
        let other = (number + 1) % COUNT;
        format!("`limit_of_{number}` bounds it (src/steps.rs:{}).", lines(other))
    });
    assert_all_are(CitationState::Wrong, &states(&files, others).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_that_begins_in_the_file_ends_with_it() {
    let text: String =
        module().lines().take(156).fold(String::new(), |text, line| text + line + "\n");
    let files = [("src/steps.rs", &*text)];
    let behind = (0..COUNT).map(|more| format!("See src/steps.rs:{}-{}.", 156 - more, 157 + more));
    for (state, sentence) in states(&files, behind).await {
        assert_ne!(state, CitationState::Wrong, "{sentence}");
    }
    let outside = (0..COUNT).map(|more| format!("See src/steps.rs:{}-{}.", 157 + more, 190 + more));
    assert_all_are(CitationState::Wrong, &states(&files, outside).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_files_and_parts_of_the_path_accuse_nobody() {
    let module = module();
    let files = [("crates/door_keeper/src/net/steps.rs", &*module)];
    let names =
        ["door_keeper", "active.json", "settings.yaml", "net", "steps", "net::steps", "src/net"];
    let sentences = (0..COUNT).map(|number| {
        let first = number * FUNCTION_LINES + 10;
        let name = names[number % names.len()];
        format!(
            "`{name}` keeps part {number} (crates/door_keeper/src/net/steps.rs:{first}-{}).",
            first + 9
        )
    });
    for (state, sentence) in states(&files, sentences).await {
        assert_ne!(state, CitationState::Wrong, "{sentence}");
    }
}
