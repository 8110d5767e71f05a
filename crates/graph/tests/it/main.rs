//! Each rule of resolution, with its trap, on files written here.

mod hostile;
mod python;
mod script;

use codeinfo_graph::{
    extract_facts,
    resolve::{Resolution, SymbolGraph},
};

/// Files of a repository, by path, joined.
struct TestRepository {
    graph: SymbolGraph,
    texts: Vec<(String, String)>,
}

impl TestRepository {
    fn new(files: &[(&str, &str)]) -> Self {
        let facts = files.iter().filter_map(|(path, text)| {
            let language = codeinfo_lang::detect::detect_language(path, text)?;
            Some(((*path).to_owned(), extract_facts(language, text)?))
        });
        let graph = SymbolGraph::new(facts.collect());
        let texts = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        Self { graph, texts: texts.collect() }
    }

    /// Resolves the reference at the first occurrence of `marked`, of which the name is the part
    /// after the last dot or space. Returns `path:line name (rule)` for each definition.
    fn resolve(&self, path: &str, marked: &str) -> String {
        let (_, text) = self.texts.iter().find(|(known, _)| known == path).unwrap();
        let at = text.find(marked).unwrap_or_else(|| panic!("{path} has no `{marked}`"));
        let at = at + marked.rfind(['.', ' ', '(']).map_or(0, |dot| dot + 1);
        let line = u32::try_from(text[..at].matches('\n').count() + 1).unwrap();
        let column = u32::try_from(at - text[..at].rfind('\n').map_or(0, |end| end + 1)).unwrap();
        let (file, facts) = self
            .graph
            .files()
            .enumerate()
            .find_map(|(at, (known, facts))| (known == path).then_some((at, facts)))
            .unwrap();
        let reference = facts.references.iter().find(|reference| reference.at == (line, column));
        let Some(reference) = reference else { return "no reference".to_owned() };
        match self.graph.resolve(u32::try_from(file).unwrap(), reference) {
            Resolution::Found(definitions, rule) => {
                let places: Vec<String> = definitions
                    .iter()
                    .map(|id| {
                        let (path, definition) = self.graph.definition(*id).unwrap();
                        format!("{path}:{} {}", definition.name_at.0, definition.name)
                    })
                    .collect();
                format!("{} ({rule:?})", places.join(", "))
            }
            other => format!("{other:?}"),
        }
    }
}

/// Checks what references resolve to, each given as path, marked text and result.
#[track_caller]
fn check(files: &[(&str, &str)], expected: &[(&str, &str, &str)]) {
    let repository = TestRepository::new(files);
    for (path, marked, result) in expected {
        assert_eq!(repository.resolve(path, marked), *result, "`{marked}` in {path}");
    }
}
