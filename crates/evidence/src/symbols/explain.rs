//! Tells the uses of one definition from those of others with the same name.

use std::{collections::HashMap, time::Duration};

use codeinfo_core::{Root, RootFilter};
use codeinfo_graph::resolve::DefinitionId;
use serde::Serialize;

use super::{
    super::{Evidence, EvidenceError, IndexedFile, word::WordMatcher},
    MAX_TREES, SymbolPlace,
    name::SymbolName,
    session::GraphSession,
};

/// Maximum time for telling the uses of definitions from others.
const EXPLAIN_TIME: Duration = Duration::from_secs(1);
/// Maximum files with a name whose uses are resolved unless the name is qualified.
const MAX_FILES: usize = 200;

/// Uses of one definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionUses {
    /// The definition.
    #[serde(flatten)]
    pub place: SymbolPlace,
    /// Number of certain, of likely and of possible uses.
    pub by_certainty: [usize; 3],
}

#[derive(Debug, Default)]
pub(crate) struct UseExplanation {
    pub(crate) definitions: Vec<DefinitionUses>,
    /// Names of the definitions around lines, by repository, path and line; blank at the top level.
    lines: HashMap<(String, String, u32), String>,
}

impl UseExplanation {
    /// Returns the name of the definition around a line.
    pub(crate) fn enclosing(&self, file: &IndexedFile, line: u32) -> Option<String> {
        let name = self.lines.get(&(file.repo.clone(), file.rel_path.clone(), line));
        name.filter(|name| !name.is_empty()).cloned()
    }

    /// Returns true if a line of a file is one of a definition or of its uses.
    pub(crate) fn has_line(&self, roots: &[Root], root: usize, path: &str, line: u32) -> bool {
        let Some(root) = roots.get(root) else { return false };
        let is_definition = |uses: &DefinitionUses| {
            let file = &uses.place.file;
            uses.place.line == line && file.rel_path == path && file.repo == root.name
        };
        self.lines.contains_key(&(root.name.clone(), path.to_owned(), line))
            || self.definitions.iter().any(is_definition)
    }
}

impl Evidence {
    /// Explains the uses of definitions named with their type or file. Also returns the last part
    /// of the name; `None` for other names and those unknown to the graph.
    pub(crate) async fn explain_qualified_uses(
        &self,
        asked: &str,
        within: RootFilter,
    ) -> Result<Option<(WordMatcher, UseExplanation)>, EvidenceError> {
        let name = SymbolName::parse(asked);
        let is_qualified = match &name {
            SymbolName::AtLine { .. } => true,
            SymbolName::Named { path, qualifiers, .. } => path.is_some() || !qualifiers.is_empty(),
        };
        if !is_qualified {
            return Ok(None);
        }
        let (roots, _) = self.list_present_roots(within).await?;
        let Ok((name, roots)) = self.locate_name(asked, within, &roots).await else {
            return Ok(None);
        };
        let mut explanation = UseExplanation::default();
        for root in roots.into_iter().take(MAX_TREES) {
            self.add_explanation(root, &name, Vec::new(), &mut explanation).await?;
        }
        let last = explanation.definitions.first().and_then(|uses| {
            let start = uses.place.name.rfind(['.', ':', '#', '/']).map_or(0, |place| place + 1);
            WordMatcher::new(uses.place.name.get(start..)?).ok()
        });
        Ok(last.map(|word| (word, explanation)))
    }

    /// Explains the uses of all definitions with a name, and lines given by repository.
    pub(crate) async fn explain_uses(
        &self,
        word: &WordMatcher,
        roots: &[Root],
        mut lines: HashMap<String, Vec<(String, u32)>>,
        files: usize,
    ) -> Result<UseExplanation, EvidenceError> {
        let mut explanation = UseExplanation::default();
        let name = SymbolName::Named {
            path: None,
            qualifiers: Vec::new(),
            name: if files <= MAX_FILES { word.as_str().to_owned() } else { String::new() },
        };
        for root in roots {
            if let Some(lines) = lines.remove(root.name.as_str()) {
                self.add_explanation(root.clone(), &name, lines, &mut explanation).await?;
            }
        }
        Ok(explanation)
    }

    async fn add_explanation(
        &self,
        root: Root,
        name: &SymbolName,
        lines: Vec<(String, u32)>,
        explanation: &mut UseExplanation,
    ) -> Result<(), EvidenceError> {
        let (repository, symbol) = (root.name.clone(), name.clone());
        let work = move |session: &GraphSession<'_>| {
            let definitions = session.find_definitions(&symbol);
            let (uses, mut enclosing) = session.count_uses_of(&definitions);
            for (path, line) in lines {
                let around = session.find_definition_at(&path, line);
                enclosing.push((path, line, around));
            }
            let named = enclosing.into_iter().map(|(path, line, around)| {
                let place = around.and_then(|id| session.place(id));
                (path, line, place.map(|place| place.name).unwrap_or_default())
            });
            (uses, named.collect::<Vec<_>>())
        };
        let ((uses, lines), _) = self.run_with_graph(root, EXPLAIN_TIME, work).await?;
        explanation.definitions.extend(uses);
        let keyed =
            lines.into_iter().map(|(path, line, name)| ((repository.clone(), path, line), name));
        explanation.lines.extend(keyed);
        Ok(())
    }
}

/// A line with the definition around it.
type EnclosedLine = (String, u32, Option<DefinitionId>);

impl GraphSession<'_> {
    /// Counts the uses of each definition. Also returns the lines of the uses.
    fn count_uses_of(
        &self,
        definitions: &[DefinitionId],
    ) -> (Vec<DefinitionUses>, Vec<EnclosedLine>) {
        let mut counted: Vec<(DefinitionId, DefinitionUses)> = definitions
            .iter()
            .filter_map(|id| {
                Some((*id, DefinitionUses { place: self.place(*id)?, by_certainty: [0; 3] }))
            })
            .collect();
        let mut lines = Vec::new();
        for reference in self.find_references(definitions) {
            let known = counted.iter_mut().find(|(id, _)| *id == reference.target);
            let count =
                known.and_then(|(_, uses)| uses.by_certainty.get_mut(reference.certainty as usize));
            if let Some(count) = count {
                *count += 1;
            }
            let path = self.graph().file_path(reference.file).to_owned();
            lines.push((path, reference.at.0, reference.enclosing));
        }
        (counted.into_iter().map(|(_, uses)| uses).collect(), lines)
    }
}
