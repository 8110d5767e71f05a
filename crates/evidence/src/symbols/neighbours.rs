//! Finds the definitions that found pieces of code call, and those that call them.

use std::{collections::HashSet, time::Duration};

use codeinfo_core::LineRange;
use codeinfo_embed::lexical;
use codeinfo_facts::{DefinitionKind, ReferenceKind};
use codeinfo_graph::resolve::{DefinitionId, FileIndex};
use codeinfo_lang::words::{split_identifier, split_words, stem_word};
use codeinfo_store::ChunkQuery;
use tokio::runtime::Handle;

use super::{
    super::{Evidence, EvidenceError},
    Certainty, SymbolPlace,
    session::{FoundReference, GraphSession},
};

/// Maximum time for neighbours; what is read is remembered, so that a later search finds more.
const TIME: Duration = Duration::from_millis(150);
/// Maximum definitions whose callers are sought.
const MAX_CALLED: usize = 6;
/// Maximum chunks with the name of a definition in which its callers are sought.
const MAX_CALLER_CHUNKS: usize = 30;
const MAX_NEIGHBOURS: usize = 30;
/// Names of functions that say little about the code around a call.
const COMMON_NAMES: [&str; 16] = [
    "assert", "debug", "error", "fail", "format", "get", "info", "len", "log", "logger", "main",
    "print", "set", "trace", "warn", "warning",
];

/// Lines of a file that a search found.
#[derive(Debug, Clone)]
pub struct FoundPiece {
    /// Name of the repository.
    pub repo: String,
    /// Path below the root.
    pub rel_path: String,
    /// The lines.
    pub lines: LineRange,
}

/// A definition one call away from a found piece.
#[derive(Debug, Clone, PartialEq)]
pub struct SymbolNeighbour {
    /// The definition.
    pub place: SymbolPlace,
    /// True if it calls the piece; false if the piece calls it.
    pub is_caller: bool,
    /// Certainty of the call.
    pub certainty: Certainty,
    score: f32,
}

impl Evidence {
    /// Finds what some pieces, best first, call and what calls them, the most telling for a query
    /// first. Definitions in the pieces are left out.
    pub async fn find_neighbours(
        &self,
        pieces: &[FoundPiece],
        query: &str,
    ) -> Result<Vec<SymbolNeighbour>, EvidenceError> {
        let query_words: HashSet<String> = split_words(query).map(|word| stem(&word)).collect();
        let mut found: Vec<SymbolNeighbour> = Vec::new();
        let mut repositories: Vec<&str> = Vec::new();
        for piece in pieces {
            if !repositories.contains(&piece.repo.as_str()) {
                repositories.push(&piece.repo);
            }
        }
        let roots = self.store.roots().await?;
        for repository in repositories {
            let Some(root) = roots.iter().find(|root| root.name == repository) else { continue };
            let numbered = pieces.iter().cloned().enumerate();
            let pieces: Vec<(usize, FoundPiece)> =
                numbered.filter(|(_, piece)| piece.repo == repository).collect();
            let words = query_words.clone();
            let work = move |session: &GraphSession<'_>| session.find_neighbours(&pieces, &words);
            found.extend(self.run_with_graph(root.clone(), TIME, work).await?.0);
        }
        found.sort_by(|one, other| {
            let place = |neighbour: &SymbolNeighbour| {
                (neighbour.place.file.path.clone(), neighbour.place.line)
            };
            other.score.total_cmp(&one.score).then_with(|| place(one).cmp(&place(other)))
        });
        found.truncate(MAX_NEIGHBOURS);
        Ok(found)
    }
}

impl GraphSession<'_> {
    fn find_neighbours(
        &self,
        pieces: &[(usize, FoundPiece)],
        query_words: &HashSet<String>,
    ) -> Vec<SymbolNeighbour> {
        let mut found: Vec<(Option<DefinitionId>, SymbolNeighbour)> = Vec::new();
        let mut add = |id: Option<DefinitionId>, rank: usize, is_caller, call: &FoundReference| {
            let Some(place) = id.and_then(|id| self.place(id)) else { return };
            let is_shown = pieces.iter().any(|(_, piece)| {
                let LineRange { first, last } = piece.lines;
                piece.rel_path == place.file.rel_path && (first..=last).contains(&place.line)
            });
            if is_shown || call.certainty == Certainty::Possible {
                return;
            }
            let score = score_neighbour(&place, query_words) / (1.0 + to_score(rank) * 0.2);
            let is_same = |(known, _): &&mut (Option<DefinitionId>, SymbolNeighbour)| *known == id;
            if let Some((_, known)) = found.iter_mut().find(is_same) {
                known.score += score * 0.25;
                return;
            }
            let certainty = call.certainty;
            found.push((id, SymbolNeighbour { place, is_caller, certainty, score }));
        };
        let mut called: Vec<(usize, DefinitionId)> = Vec::new();
        for (rank, piece) in pieces {
            if self.reader().is_spent() {
                break;
            }
            for id in self.list_definitions_in(piece) {
                called.push((*rank, id));
            }
            for call in self.find_calls_in(piece) {
                add(Some(call.target), *rank, false, &call);
            }
        }
        for (rank, id) in called.into_iter().take(MAX_CALLED) {
            if self.reader().is_spent() {
                break;
            }
            let in_files = |word: &str| self.find_best_files(word);
            for call in self.find_references_in(&[id], in_files) {
                if call.kind != ReferenceKind::Import {
                    add(call.enclosing, rank, true, &call);
                }
            }
        }
        found.into_iter().map(|(_, neighbour)| neighbour).collect()
    }

    /// Returns the functions and types whose names are in a piece, else the one around it.
    pub(super) fn list_definitions_in(&self, piece: &FoundPiece) -> Vec<DefinitionId> {
        let Some(file) = self.graph().find_file(&piece.rel_path) else { return Vec::new() };
        let Some(facts) = self.graph().file_facts(file) else { return Vec::new() };
        let LineRange { first, last } = piece.lines;
        let indices = (0u32..).zip(&facts.definitions).filter(|(_, fact)| {
            let is_callable = matches!(fact.kind, DefinitionKind::Function | DefinitionKind::Type);
            is_callable && (first..=last).contains(&fact.name_at.0)
        });
        let mut indices: Vec<u32> = indices.map(|(index, _)| index).collect();
        if indices.is_empty() {
            indices.extend(facts.definition_at(first));
        }
        indices.into_iter().map(|index| DefinitionId { file, index }).collect()
    }

    fn find_calls_in(&self, piece: &FoundPiece) -> Vec<FoundReference> {
        let Some(file) = self.graph().find_file(&piece.rel_path) else { return Vec::new() };
        let Some(facts) = self.graph().file_facts(file) else { return Vec::new() };
        let LineRange { first, last } = piece.lines;
        let calls = facts.references.iter().filter(|reference| {
            reference.kind == ReferenceKind::Call && (first..=last).contains(&reference.at.0)
        });
        calls.flat_map(|reference| self.resolve_reference(file, reference)).collect()
    }

    /// Returns the files of the chunks that a search for a word finds first, and reads them.
    fn find_best_files(&self, word: &str) -> Vec<FileIndex> {
        self.read_files_with(word, MAX_CALLER_CHUNKS, || {
            let terms = lexical::list_required_terms(word).into_iter().next()?;
            let query = ChunkQuery::lexical(terms, Some(self.root.id), MAX_CALLER_CHUNKS);
            let found = Handle::current().block_on(self.store().search(query)).ok()?;
            let mut paths: Vec<String> = Vec::new();
            for chunk in found {
                if chunk.record.text.contains(word) && !paths.contains(&chunk.record.path) {
                    paths.push(chunk.record.path);
                }
            }
            Some(paths)
        })
    }
}

/// Scores a neighbour by the words that it shares with the query, less for tests and common names.
fn score_neighbour(place: &SymbolPlace, query_words: &HashSet<String>) -> f32 {
    let count_shared = |text: &str| {
        let words: HashSet<String> = split_words(text).map(|word| stem(&word)).collect();
        to_score(words.intersection(query_words).count())
    };
    let name = place.name.rsplit(['.', ':', '#']).next().unwrap_or_default();
    let shared = count_shared(&place.name) + 0.3 * count_shared(&place.file.rel_path);
    let is_common = split_identifier(name.as_bytes()).count() == 1
        && COMMON_NAMES.contains(&name.to_lowercase().as_str());
    let factor = if place.is_test { 0.3 } else { 1.0 } * if is_common { 0.3 } else { 1.0 };
    (1.0 + 2.0 * shared) * factor
}

fn to_score(number: usize) -> f32 {
    f32::from(u16::try_from(number).unwrap_or(u16::MAX))
}

fn stem(word: &str) -> String {
    String::from_utf8_lossy(stem_word(word.to_lowercase().as_bytes())).into_owned()
}
