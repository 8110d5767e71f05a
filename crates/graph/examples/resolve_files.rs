//! Prints what each reference of a folder's files resolves to.
#![allow(clippy::unwrap_used, clippy::print_stdout)]
use std::{fs, time::Instant};

fn main() {
    let root = std::env::args().nth(1).unwrap();
    let list = fs::read_to_string(std::env::args().nth(2).unwrap()).unwrap();
    let begun = Instant::now();
    let mut files = Vec::new();
    let mut lines = 0;
    for path in list.lines() {
        let Ok(text) = fs::read_to_string(format!("{root}/{path}")) else { continue };
        lines += text.lines().count();
        let language = codeinfo_lang::detect::detect_language(path, &text);
        if let Some(facts) =
            language.and_then(|language| codeinfo_graph::extract_facts(language, &text))
        {
            files.push((path.to_owned(), facts));
        }
    }
    let extracted = begun.elapsed();
    let graph = codeinfo_graph::resolve::SymbolGraph::new(files);
    let mut count = 0;
    for (file, (path, facts)) in graph.files().enumerate() {
        for reference in &facts.references {
            count += 1;
            let found = graph.resolve(u32::try_from(file).unwrap(), reference);
            let (line, column) = reference.at;
            let targets = match &found {
                codeinfo_graph::resolve::Resolution::Found(ids, rule) => {
                    let targets: Vec<String> = ids
                        .iter()
                        .map(|id| {
                            let (path, definition) = graph.definition(*id).unwrap();
                            format!("{path}:{}:{}", definition.name_at.0, definition.name_at.1)
                        })
                        .collect();
                    format!("{rule:?}\t{}", targets.join(" "))
                }
                other => format!("{other:?}\t"),
            };
            println!("{path}\t{line}\t{column}\t{:?}\t{targets}", reference.kind);
        }
    }
    eprintln!("{lines} lines, {count} references, facts {extracted:?}, all {:?}", begun.elapsed());
}
