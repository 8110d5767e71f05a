//! Each rule of resolution, with its trap, on files written here.
#![cfg(test)]

mod alternatives;
mod bash;
mod c;
mod cpp;
mod csharp;
mod expected;
mod go;
mod hostile;
mod java;
mod javascript;
mod manifests;
mod php;
mod possible;
mod python;
mod python_types;
mod python_values;
mod ruby;
mod rust;
mod scip;
mod typescript;
mod words;

use codeinfo_facts::extract_facts;
use codeinfo_graph::resolve::{ResolutionResult, SymbolGraph};

/// Files of a repository, by path, joined.
struct ResolvedFiles {
    graph: SymbolGraph,
    texts: Vec<(String, String)>,
}

impl ResolvedFiles {
    fn new(files: &[(&str, &str)]) -> Self {
        let facts = files.iter().filter_map(|(path, text)| {
            let language = codeinfo_lang::detect::detect_language(path, text)?;
            Some(((*path).to_owned(), extract_facts(language, text)?))
        });
        let graph = SymbolGraph::from_facts(facts.collect());
        let texts = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        Self { graph, texts: texts.collect() }
    }

    /// Resolves the reference at the first occurrence of `marked`, of which the name is the part
    /// after the last dot, space, line end, parenthesis or `<`. Returns `path:line name (rule)` for each
    /// definition.
    fn resolve(&self, path: &str, marked: &str) -> String {
        let (_, text) = self.texts.iter().find(|(known, _)| known == path).unwrap();
        let start = text.find(marked).unwrap_or_else(|| panic!("{path} has no `{marked}`"));
        let start = start
            + marked.rfind(['.', ' ', '(', '<', '\n', '\t', ':', '>']).map_or(0, |place| place + 1);
        let before = text.get(..start).unwrap();
        let line = u32::try_from(before.matches('\n').count() + 1).unwrap();
        let column = u32::try_from(start - before.rfind('\n').map_or(0, |end| end + 1)).unwrap();
        let file = self.graph.find_file(path).unwrap();
        let facts = self.graph.file_facts(file).unwrap();
        let reference = facts.references.iter().find(|reference| reference.at == (line, column));
        let Some(reference) = reference else { return "no reference".to_owned() };
        match self.graph.resolve(file, reference) {
            ResolutionResult::Found(definitions, rule) => {
                let places = definitions.iter().map(|id| {
                    let definition = self.graph.definition(*id).unwrap();
                    let path = self.graph.file_path(id.file);
                    format!("{path}:{} {}", definition.name_at.0, definition.name)
                });
                format!("{} ({rule:?})", places.collect::<Vec<_>>().join(", "))
            }
            other => format!("{other:?}"),
        }
    }
}

/// Checks the results of references, each given as path, marked text and result.
#[track_caller]
fn check_resolved(files: &[(&str, &str)], expected: &[(&str, &str, &str)]) {
    let repository = ResolvedFiles::new(files);
    for (path, marked, result) in expected {
        assert_eq!(repository.resolve(path, marked), *result, "`{marked}` in {path}");
    }
}

/// Checks the results of references of one file, each given as marked text and result.
#[track_caller]
fn check_file(path: &str, text: &str, expected: &[(&str, &str)]) {
    let repository = ResolvedFiles::new(&[(path, text)]);
    for (marked, result) in expected {
        assert_eq!(repository.resolve(path, marked), *result, "`{marked}`");
    }
}
