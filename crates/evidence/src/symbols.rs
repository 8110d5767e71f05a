//! Finds what calls a definition, what it calls, and other relations, by each tree's symbol graph.
//!
//! A relation is as certain as the rule by which its reference was resolved. Languages without
//! rules have no relations; their names are only counted.

mod caller_changes;
mod changes;
mod explain;
mod graph_cache;
mod history;
mod history_report;
mod impact;
mod name;
mod neighbours;
mod session;
mod trace;

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use codeinfo_core::{Root, RootFilter};
use codeinfo_facts::ReferenceKind;
use codeinfo_graph::resolve::DefinitionId;
use serde::Serialize;
use tokio::time::timeout;

use super::{
    Evidence, EvidenceError,
    resolve::{IndexedFile, ResolvedPath},
    searched::{SearchedRepository, list_searched_repositories},
    snapshot::retain_indexed,
    word::WordMatcher,
};
pub use caller_changes::CallerChange;
pub(super) use changes::open_repository;
pub use changes::{ChangedFiles, MovedFile};
pub use codeinfo_facts::compare::ChangeKind;
pub use codeinfo_graph::resolve::Certainty;
pub use explain::DefinitionUses;
pub(super) use explain::UseExplanation;
pub(super) use graph_cache::GraphCache;
pub use history::HistoryRequest;
pub use history_report::{
    ChangedFileList, CommitReport, DiffLine, FileChangeReport, HistoryReport,
};
pub(super) use history_report::{redact, redact_body};
pub use impact::{
    ChangeImpact, DEFAULT_SINCE, ImpactRequest, ReachingDefinition, TouchedDefinition,
};
use name::SymbolName;
pub use neighbours::{FoundPiece, SymbolNeighbour};
use session::{FoundReference, GraphSession, LeasedTree};
pub use trace::{
    CallTrace, DEFAULT_TRACE_DEPTH, MAX_TRACE_DEPTH, TraceDirection, TraceRequest, TraceStep,
};

const MAX_RELATED: usize = 200;
/// Maximum lines of a related definition that are returned.
const MAX_LINES: usize = 8;
/// Maximum time of a request for relations of definitions.
const TIME: Duration = Duration::from_secs(6);
/// Time after that of a request until it is given up.
const GRACE: Duration = Duration::from_secs(1);
/// Maximum trees whose graphs are asked for one request.
const MAX_TREES: usize = 8;

/// A relation of definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RelationKind {
    /// Definitions that call it.
    Callers,
    /// Definitions that it calls.
    Callees,
    /// Types that extend or implement it.
    Implementations,
    /// Methods of such types that replace it.
    Overrides,
    /// Files that import it.
    Importers,
}

impl RelationKind {
    /// Returns the relation with a name, such as `callers`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "callers" => Some(Self::Callers),
            "callees" => Some(Self::Callees),
            "implementations" => Some(Self::Implementations),
            "overrides" => Some(Self::Overrides),
            "importers" => Some(Self::Importers),
            _ => None,
        }
    }
}

/// A definition and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SymbolPlace {
    /// The file.
    #[serde(flatten)]
    pub file: IndexedFile,
    /// Line of the name.
    pub line: u32,
    /// First and last line.
    pub lines: (u32, u32),
    /// Name after those of the definitions around it; blank for the top level of a file.
    pub name: String,
    /// True for definitions in files of tests.
    pub is_test: bool,
}

/// A definition to which a name leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundDefinition {
    /// The definition.
    #[serde(flatten)]
    pub place: SymbolPlace,
    /// Certainty that the name means it.
    pub certainty: Certainty,
}

/// A definition with a relation to the one that was asked about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RelatedSymbol {
    /// The definition.
    #[serde(flatten)]
    pub place: SymbolPlace,
    /// Certainty of the relation.
    pub certainty: Certainty,
    /// Number of references.
    pub count: usize,
    /// First lines with references.
    #[serde(rename = "references")]
    pub lines: Vec<ReferenceLine>,
    /// File of the lines.
    #[serde(rename = "referencesIn")]
    pub lines_in: IndexedFile,
}

/// A line with references.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReferenceLine {
    /// Line number.
    pub number: u32,
    /// Text of the line without indentation.
    pub text: String,
    /// Certainty of the most certain of them.
    pub certainty: Certainty,
}

/// Relations of the definitions with a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SymbolRelations {
    /// The name or place that was asked about.
    pub asked: String,
    /// The relation.
    pub kind: RelationKind,
    /// Definitions that have the name.
    pub definitions: Vec<SymbolPlace>,
    /// Related definitions: certain ones first, tests last.
    pub related: Vec<RelatedSymbol>,
    /// Number of further related definitions.
    pub more: usize,
    /// Searched repositories.
    #[serde(skip)]
    pub searched: Vec<SearchedRepository>,
    /// Names of unsearched repositories, whose folder is gone.
    #[serde(skip)]
    pub gone: Vec<String>,
    /// True if some files were not read, so that relations may be missing.
    pub is_incomplete: bool,
    /// Number of read files that the SCIP index describes, and that it has in another version.
    pub recorded: [usize; 2],
}

impl Evidence {
    /// Finds the definitions with a relation to those that a name or a place (`path:line`) means.
    pub async fn find_relations(
        &self,
        asked: &str,
        kind: RelationKind,
        within: RootFilter,
    ) -> Result<SymbolRelations, EvidenceError> {
        let (roots, gone) = self.list_present_roots(within).await?;
        let (name, roots_with_name) = self.locate_name(asked, within, &roots).await?;
        let mut relations = SymbolRelations {
            asked: asked.trim().to_owned(),
            kind,
            definitions: Vec::new(),
            related: Vec::new(),
            more: 0,
            searched: list_searched_repositories(&roots),
            gone,
            is_incomplete: roots_with_name.len() > MAX_TREES,
            recorded: [0, 0],
        };
        for root in roots_with_name.into_iter().take(MAX_TREES) {
            let symbol = name.clone();
            let work = move |session: &GraphSession<'_>| {
                let definitions = session.find_definitions(&symbol);
                let groups = session.relate(&definitions, kind);
                let places: Vec<SymbolPlace> =
                    definitions.iter().filter_map(|id| session.place(*id)).collect();
                (places, session.describe_groups(groups), session.reader().recorded())
            };
            let ((places, related, recorded), is_incomplete) =
                self.run_with_graph(root, TIME, work).await?;
            relations.definitions.extend(places);
            relations.related.extend(related);
            relations.is_incomplete |= is_incomplete;
            for (sum, count) in relations.recorded.iter_mut().zip(recorded) {
                *sum += count;
            }
        }
        relations.related.sort_by(|one, other| {
            let order = |symbol: &RelatedSymbol| (symbol.place.is_test, symbol.certainty);
            order(one).cmp(&order(other))
        });
        relations.more = relations.related.len().saturating_sub(MAX_RELATED);
        relations.related.truncate(MAX_RELATED);
        self.load_lines(&mut relations.related, &roots).await?;
        Ok(relations)
    }

    /// Finds the definitions to which the name at a line and a column, in bytes from 0, leads; the
    /// definition itself where it is defined; at most five for a member of an unknown value.
    pub async fn find_definitions_at(
        &self,
        path: &str,
        at: (u32, u32),
        within: RootFilter,
    ) -> Result<Vec<FoundDefinition>, EvidenceError> {
        let ResolvedPath::File(root, record) = self.resolve_path(path, within).await? else {
            return Err(EvidenceError::IsFolder(path.to_owned()));
        };
        let work = move |session: &GraphSession<'_>| session.find_definitions_at(&record.path, at);
        Ok(self.run_with_graph(root, TIME, work).await?.0)
    }

    /// Reads a name, and returns the trees that have files with it, one of each repository.
    async fn locate_name(
        &self,
        asked: &str,
        within: RootFilter,
        roots: &[Root],
    ) -> Result<(SymbolName, Vec<Root>), EvidenceError> {
        let name = SymbolName::parse(asked);
        let word = match &name {
            SymbolName::AtLine { path, line } => {
                return match self.resolve_path(path, within).await? {
                    ResolvedPath::File(root, record) => {
                        let path = record.path;
                        Ok((SymbolName::AtLine { path, line: *line }, vec![root]))
                    }
                    ResolvedPath::Folder(..) => Err(EvidenceError::IsFolder(path.clone())),
                };
            }
            SymbolName::Named { name, .. } => WordMatcher::new(name)?,
        };
        if let [_] = roots {
            return Ok((name, roots.to_vec()));
        }
        let candidates = self.find_candidate_files(&word, roots).await?;
        let mut found: Vec<Root> = Vec::new();
        for (at, _) in candidates.files {
            let Some(root) = roots.get(at) else { continue };
            if found.iter().all(|known| known.chunk_owner() != root.chunk_owner()) {
                found.push(root.clone());
            }
        }
        Ok((name, found))
    }

    /// Waits for the graph of a tree, and lists its files unless the graph has them.
    async fn lease_tree(&self, root: &Root) -> Result<LeasedTree, EvidenceError> {
        let lease = self.graphs.lease_graph(root.id).await;
        let is_current = lease.as_ref().is_some_and(|tree| tree.is_current(root));
        let files = if is_current {
            None
        } else {
            Some(retain_indexed(self.store.files(root.id).await?, root))
        };
        Ok((lease, files))
    }

    /// Runs work on the graph of a tree. Also returns whether files were not read.
    async fn run_with_graph<T: Send + 'static>(
        &self,
        root: Root,
        time: Duration,
        work: impl FnOnce(&GraphSession<'_>) -> T + Send + 'static,
    ) -> Result<(T, bool), EvidenceError> {
        let evidence = self.clone();
        let deadline = Instant::now() + time;
        let run = async {
            let leasing = timeout(time, self.lease_tree(&root)).await;
            let tree = leasing.map_err(|_| EvidenceError::Stalled)??;
            self.run_blocking(move || {
                let session = GraphSession::open(&evidence, &root, tree, deadline);
                let done = work(&session);
                (done, session.close())
            })
            .await
        };
        // The folder of a tree, where its `index.scip` may be, may hang.
        timeout(time + GRACE, run).await.map_err(|_| EvidenceError::Stalled)?
    }

    async fn load_lines(
        &self,
        related: &mut [RelatedSymbol],
        roots: &[Root],
    ) -> Result<(), EvidenceError> {
        let mut wanted: HashMap<&str, HashMap<&str, Vec<&mut ReferenceLine>>> = HashMap::new();
        for symbol in related {
            let file = &symbol.lines_in;
            let files = wanted.entry(&file.repo).or_default();
            files.entry(&file.rel_path).or_default().extend(&mut symbol.lines);
        }
        for root in roots {
            let Some(mut lines_by_path) = wanted.remove(root.name.as_str()) else { continue };
            let paths = lines_by_path.keys().map(|path| (*path).to_owned()).collect();
            let records = self.store.files_at(root.id, paths).await?;
            for snapshot in self.load_snapshots(records).await? {
                let text = snapshot.text();
                let all_lines: Vec<&str> = text.lines().collect();
                let path = snapshot.record.path.as_str();
                for shown in lines_by_path.get_mut(path).into_iter().flatten() {
                    let line = all_lines.get((shown.number as usize).saturating_sub(1));
                    shown.text = line.map(|line| line.trim().to_owned()).unwrap_or_default();
                }
            }
        }
        Ok(())
    }
}

struct ReferenceGroup {
    /// The related definition; `None` for the top level of the file of the references.
    symbol: Option<DefinitionId>,
    references: Vec<FoundReference>,
}

impl GraphSession<'_> {
    /// Finds what has a relation to some definitions, one group for each.
    fn relate(&self, definitions: &[DefinitionId], kind: RelationKind) -> Vec<ReferenceGroup> {
        match kind {
            RelationKind::Callers => {
                let mut references = self.find_references(definitions);
                references.retain(|reference| reference.kind != ReferenceKind::Import);
                group_references(references, |reference| reference.enclosing)
            }
            RelationKind::Callees => {
                let found = definitions.iter().flat_map(|id| self.find_referenced(*id));
                let is_call = |reference: &FoundReference| {
                    reference.kind == ReferenceKind::Call
                        && !definitions.contains(&reference.target)
                };
                group_references(found.filter(is_call).collect(), |call| Some(call.target))
            }
            RelationKind::Implementations => {
                let found = definitions.iter().flat_map(|id| self.find_subtypes(*id, MAX_RELATED));
                group_references(found.collect(), |reference| reference.enclosing)
            }
            RelationKind::Overrides => self.find_overrides(definitions),
            RelationKind::Importers => {
                let mut references = self.find_references(definitions);
                references.retain(|reference| reference.kind == ReferenceKind::Import);
                group_references(references, |_| None)
            }
        }
    }

    fn find_overrides(&self, definitions: &[DefinitionId]) -> Vec<ReferenceGroup> {
        let mut groups = Vec::new();
        for id in definitions {
            let (Some(holder), Some(fact)) =
                (self.graph().enclosing_type(*id), self.graph().definition(*id))
            else {
                continue;
            };
            for reference in self.find_subtypes(holder, MAX_RELATED) {
                let Some(subtype) = reference.enclosing else { continue };
                for member in self.graph().list_members(subtype, &fact.name) {
                    let references = vec![reference];
                    groups.push(ReferenceGroup { symbol: Some(member), references });
                }
            }
        }
        groups
    }

    fn describe_groups(&self, groups: Vec<ReferenceGroup>) -> Vec<RelatedSymbol> {
        groups.into_iter().filter_map(|group| self.describe_group(&group)).collect()
    }

    fn describe_group(&self, group: &ReferenceGroup) -> Option<RelatedSymbol> {
        let first = group.references.first()?;
        let file = self.file(first.file);
        let top_level = || self.top_level_place(first.file, first.at.0);
        let place = group.symbol.map_or_else(|| Some(top_level()), |id| self.place(id))?;
        let mut lines: Vec<ReferenceLine> = Vec::new();
        for reference in group.references.iter().filter(|other| other.file == first.file) {
            let (number, certainty) = (reference.at.0, reference.certainty);
            if let Some(known) = lines.iter_mut().find(|line| line.number == number) {
                known.certainty = known.certainty.min(certainty);
            } else if lines.len() < MAX_LINES {
                lines.push(ReferenceLine { number, text: String::new(), certainty });
            }
        }
        let certainty = group.references.iter().map(|reference| reference.certainty).min()?;
        let count = group.references.len();
        Some(RelatedSymbol { place, certainty, count, lines, lines_in: file })
    }
}

/// Groups references by definition, or by file for those without one, in the order of the first.
fn group_references(
    references: Vec<FoundReference>,
    key: impl Fn(&FoundReference) -> Option<DefinitionId>,
) -> Vec<ReferenceGroup> {
    let mut groups: Vec<ReferenceGroup> = Vec::new();
    let mut places = HashMap::new();
    for reference in references {
        let symbol = key(&reference);
        let file = if symbol.is_none() { Some(reference.file) } else { None };
        let place = *places.entry((symbol, file)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.references.push(reference),
            None => groups.push(ReferenceGroup { symbol, references: vec![reference] }),
        }
    }
    groups
}
