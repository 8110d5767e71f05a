//! Prints the definitions that each reference of a folder's files resolves to.
//!
//! `resolve_files FOLDER LIST` reads the files that LIST names, a path below FOLDER a line. It prints
//! a line for each reference: path, line, column, kind, rule or other result, and definitions, with
//! tabs between them and `|` between those that are alternatives. `benches/graph.py` reads this.
#![expect(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a program for measurements, which ends at the first error"
)]

use std::{
    env, fs,
    io::{self, BufWriter, Write},
    time::Instant,
};

use codeinfo_facts::SourceFacts;
use codeinfo_facts::extract_facts;
use codeinfo_graph::{
    is_manifest,
    resolve::{ResolutionResult, SymbolGraph},
};

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [folder, list] = arguments.as_slice() else {
        eprintln!("usage: resolve_files FOLDER LIST");
        return;
    };
    let begun = Instant::now();
    let list = fs::read_to_string(list).unwrap();
    let manifests: Vec<_> = list
        .lines()
        .filter(|path| is_manifest(path))
        .filter_map(|path| {
            Some((path.to_owned(), fs::read_to_string(format!("{folder}/{path}")).ok()?))
        })
        .collect();
    let files: Vec<_> = list.lines().filter_map(|path| read_facts(folder, path)).collect();
    let extracted = begun.elapsed();
    let file_count = u32::try_from(files.len()).unwrap();
    let graph = SymbolGraph::from_facts(files).with_manifests(&manifests);
    let mut output = BufWriter::new(io::stdout().lock());
    let mut count = 0;
    for file in 0..file_count {
        let (path, facts) = (graph.file_path(file), graph.file_facts(file).unwrap());
        for reference in &facts.references {
            let resolution = graph.resolve(file, reference);
            let (line, column) = reference.at;
            let result = render_resolution(&graph, &resolution);
            writeln!(output, "{path}\t{line}\t{column}\t{:?}\t{result}", reference.kind).unwrap();
            count += 1;
        }
    }
    eprintln!("{count} references, facts {extracted:?}, all {:?}", begun.elapsed());
}

/// Returns path and facts of a file; `None` if it cannot be read or its language has no rules.
fn read_facts(folder: &str, path: &str) -> Option<(String, SourceFacts)> {
    let text = fs::read_to_string(format!("{folder}/{path}")).ok()?;
    let language = codeinfo_lang::detect::detect_language(path, &text)?;
    Some((path.to_owned(), extract_facts(language, &text)?))
}

fn render_resolution(graph: &SymbolGraph, resolution: &ResolutionResult) -> String {
    let ResolutionResult::Found(definitions, rule) = resolution else {
        return format!("{resolution:?}\t");
    };
    let mut places = Vec::new();
    for id in definitions {
        let (line, column) = graph.definition(*id).unwrap().name_at;
        let path = graph.file_path(id.file);
        places.push(format!("{path}:{line}:{column}"));
    }
    // Alternatives are one definition.
    let separator = if graph.are_alternatives(definitions) { "|" } else { " " };
    format!("{rule:?}\t{}", places.join(separator))
}
