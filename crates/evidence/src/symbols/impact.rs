//! Finds the definitions that a change touches, and what reaches them: callers and tests.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    time::{Duration, Instant},
};

use codeinfo_core::RootFilter;
use codeinfo_facts::{
    ImportFact, ReferenceFact, ShortExpression, SourceFacts,
    compare::{ChangeKind, DefinitionChange},
};
use codeinfo_graph::resolve::{DefinitionId, FileIndex, ResolutionResult};
use serde::Serialize;

use super::{
    super::{Evidence, EvidenceError, snapshot::retain_indexed},
    Certainty, SymbolPlace, TraceDirection,
    changes::{ChangedDefinition, ChangedFiles, TreeChanges, compare_tree},
    session::{FoundReference, GraphSession, file_stem},
};

/// Name of the commit to compare with if none is named: the checked-out one.
pub const DEFAULT_SINCE: &str = "HEAD";
/// Maximum time of a request, below that of its step; and of comparing files, which comes first.
const TIME: Duration = Duration::from_secs(8);
const COMPARING_TIME: Duration = Duration::from_secs(5);
/// Maximum touched definitions whose callers are followed, and maximum callers.
const MAX_STARTS: usize = 500;
const MAX_REACHED: usize = 2_000;

/// A change to examine.
#[derive(Debug, Clone)]
pub struct ImpactRequest {
    /// Branch, tag or id of the commit to compare with.
    pub since: String,
    /// Maximum number of steps to a touched definition.
    pub depth: usize,
}

/// A definition that a change touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TouchedDefinition {
    /// The definition; of a deleted one where it was in the commit.
    #[serde(flatten)]
    pub place: SymbolPlace,
    /// Kind of the change.
    pub change: ChangeKind,
}

/// A definition that reaches a touched one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReachingDefinition {
    /// The definition, or the top level of a file.
    #[serde(flatten)]
    pub place: SymbolPlace,
    /// Number of steps to the touched definition; 0 for a touched test.
    pub depth: usize,
    /// Certainty of the least certain step.
    pub certainty: Certainty,
    /// Name of the definition that it uses on the way.
    pub through: String,
    /// Line of that use.
    pub call_line: u32,
    /// True if it uses a name that was deleted, and nothing else has that name there.
    pub is_broken: bool,
}

/// Definitions that a change touches, and what reaches them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeImpact {
    /// Name of the repository.
    pub repo: String,
    /// Full id of the commit that its files were compared with.
    pub commit: String,
    /// Touched definitions, by file; those of tests last.
    pub touched: Vec<TouchedDefinition>,
    /// Definitions outside of tests that reach them, least steps first.
    pub callers: Vec<ReachingDefinition>,
    /// Definitions in files of tests that reach them, least steps first.
    pub tests: Vec<ReachingDefinition>,
    /// Further files of the change.
    #[serde(flatten)]
    pub files: ChangedFiles,
    /// True if something was not compared or followed, for want of time or for its number.
    pub is_cut: bool,
}

impl Evidence {
    /// Finds what changed since a commit and what reaches it, in one repository.
    pub async fn find_impact(
        &self,
        request: ImpactRequest,
        within: RootFilter,
    ) -> Result<ChangeImpact, EvidenceError> {
        let root = self.find_only_tree(within).await?;
        let files = retain_indexed(self.store.files(root.id).await?, &root);
        let started = Instant::now();
        let (tree, since) = (root.clone(), request.since);
        let compare = move || {
            let changes = compare_tree(&tree, &files, &since, started + COMPARING_TIME)?;
            Ok::<_, EvidenceError>(changes)
        };
        let changes = self.run_blocking(compare).await??;
        let work = move |session: &GraphSession<'_>| session.find_impact(changes, request.depth);
        let time = TIME.saturating_sub(started.elapsed());
        let (mut impact, is_incomplete) = self.run_with_graph(root, time, work).await?;
        impact.is_cut |= is_incomplete;
        Ok(impact)
    }
}

/// A definition whose callers are followed.
struct ImpactStep<'a> {
    /// The definition of the index; `None` for one that it lacks.
    id: Option<DefinitionId>,
    name: String,
    /// Certainty of the steps from it to a touched definition.
    certainty: Certainty,
    deleted: Option<&'a ChangedDefinition>,
}

/// Definitions that were reached, each once.
#[derive(Default)]
struct ReachedDefinitions {
    found: Vec<(Option<DefinitionId>, ReachingDefinition)>,
    /// Index in `found` by definition and file.
    places: HashMap<(Option<DefinitionId>, FileIndex), usize>,
}

impl GraphSession<'_> {
    fn find_impact(&self, changes: TreeChanges, depth: usize) -> ChangeImpact {
        let mut is_cut = changes.is_cut || changes.definitions.len() > MAX_STARTS;
        let mut touched: Vec<TouchedDefinition> =
            changes.definitions.iter().map(|changed| self.describe_touched(changed)).collect();
        touched.sort_by_key(|touched| touched.place.is_test);
        let named =
            changes.definitions.iter().filter(|changed| !changed.definition.names.is_empty());
        let starts: Vec<ImpactStep<'_>> =
            named.take(MAX_STARTS).flat_map(|changed| self.list_starts(changed)).collect();
        let mut reaching = self.reach_starts(starts, depth, &mut is_cut);
        // The top levels of files are known by their places alone.
        let places: HashSet<(&str, &str)> = touched
            .iter()
            .map(|touched| (touched.place.file.rel_path.as_str(), touched.place.name.as_str()))
            .collect();
        reaching.retain(|found| {
            found.is_broken || !places.contains(&(&found.place.file.rel_path, &found.place.name))
        });
        let touched_tests = touched
            .iter()
            .filter(|touched| touched.place.is_test && touched.change != ChangeKind::Deleted);
        reaching.extend(touched_tests.map(|touched| ReachingDefinition {
            place: touched.place.clone(),
            depth: 0,
            certainty: Certainty::Certain,
            through: touched.place.name.clone(),
            call_line: touched.place.line,
            is_broken: false,
        }));
        reaching.sort_by(|one, other| {
            let order = |found: &ReachingDefinition| (found.depth, found.certainty);
            let place =
                |found: &ReachingDefinition| (found.place.file.path.clone(), found.place.line);
            order(one).cmp(&order(other)).then_with(|| place(one).cmp(&place(other)))
        });
        let (tests, callers) = reaching.into_iter().partition(|found| found.place.is_test);
        ChangeImpact {
            repo: self.root.name.clone(),
            commit: changes.commit,
            touched,
            callers,
            tests,
            files: changes.files,
            is_cut,
        }
    }

    fn describe_touched(&self, changed: &ChangedDefinition) -> TouchedDefinition {
        let DefinitionChange { names, line, lines, change, .. } = &changed.definition;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let place = self.describe_place(&changed.path, &names, *line, *lines);
        TouchedDefinition { place, change: *change }
    }

    /// Returns the definitions of the index that a changed one is.
    fn list_starts<'c>(&self, changed: &'c ChangedDefinition) -> Vec<ImpactStep<'c>> {
        let name = changed.definition.names.last().map(String::as_str).unwrap_or_default();
        let file = self.graph().find_file(&changed.path);
        let found = file.map(|file| self.graph().find_definitions(file, name)).unwrap_or_default();
        let same = found.into_iter().filter(|id| self.names(*id) == changed.definition.names);
        let mut ids: Vec<Option<DefinitionId>> = same.map(Some).collect();
        let deleted =
            Some(changed).filter(|changed| changed.definition.change == ChangeKind::Deleted);
        if ids.is_empty() && deleted.is_some() {
            ids.push(None);
        }
        let name = self.describe_touched(changed).place.name;
        let step =
            |id| ImpactStep { id, name: name.clone(), certainty: Certainty::Certain, deleted };
        ids.into_iter().map(step).collect()
    }

    /// Follows callers breadth first: each definition by the fewest, then the most certain steps.
    fn reach_starts(
        &self,
        starts: Vec<ImpactStep<'_>>,
        max_depth: usize,
        is_cut: &mut bool,
    ) -> Vec<ReachingDefinition> {
        let touched: HashMap<DefinitionId, bool> =
            starts.iter().filter_map(|start| Some((start.id?, start.deleted.is_some()))).collect();
        let mut reached = ReachedDefinitions::default();
        let mut level = starts;
        for depth in 1..=max_depth {
            let first = reached.found.len();
            for step in &level {
                if self.reader().is_spent() || reached.found.len() >= MAX_REACHED {
                    *is_cut = true;
                    return reached.into_found();
                }
                for (caller, call) in self.list_impact_callers(step) {
                    let touched_caller = caller.and_then(|caller| touched.get(&caller));
                    // A touched caller of a deleted definition breaks unless it is deleted itself.
                    let is_known = touched_caller
                        .is_some_and(|is_deleted| *is_deleted || step.deleted.is_none());
                    let place = match caller {
                        _ if is_known => None,
                        Some(id) => self.place(id),
                        None => Some(self.top_level_place(call.file, call.at.0)),
                    };
                    let Some(place) = place else { continue };
                    let found = ReachingDefinition {
                        place,
                        depth,
                        certainty: step.certainty.max(call.certainty),
                        through: step.name.clone(),
                        call_line: call.at.0,
                        is_broken: step.deleted.is_some(),
                    };
                    reached.add(caller, call.file, found);
                }
            }
            let new = reached.found.iter().skip(first);
            let next = new.filter_map(|(id, found)| {
                let caller = id.filter(|id| !touched.contains_key(id))?;
                let (name, certainty) = (found.place.name.clone(), found.certainty);
                Some(ImpactStep { id: Some(caller), name, certainty, deleted: None })
            });
            level = next.collect();
        }
        reached.into_found()
    }

    fn list_impact_callers(
        &self,
        step: &ImpactStep<'_>,
    ) -> Vec<(Option<DefinitionId>, FoundReference)> {
        match (step.id, step.deleted) {
            (Some(id), _) => self.list_steps(id, TraceDirection::Callers),
            (None, Some(deleted)) => self.find_broken_uses(deleted),
            (None, None) => Vec::new(),
        }
    }

    /// Finds uses of the name of a deleted definition that lead to no other one.
    fn find_broken_uses(
        &self,
        deleted: &ChangedDefinition,
    ) -> Vec<(Option<DefinitionId>, FoundReference)> {
        let Some((name, outer)) = deleted.definition.names.split_last() else { return Vec::new() };
        let mut steps: Vec<(Option<DefinitionId>, FoundReference)> = Vec::new();
        for file in self.find_files_with(name) {
            let Some(facts) = self.graph().file_facts(file) else { continue };
            for reference in facts.references.iter().filter(|other| other.name() == Some(name)) {
                let enclosing = self.enclosing_definition(file, reference);
                if steps.iter().any(|step| step.0 == enclosing && step.1.file == file) {
                    continue;
                }
                let is_unknown = match self.graph().resolve(file, reference) {
                    ResolutionResult::Unknown => true,
                    ResolutionResult::External => false,
                    ResolutionResult::Found(..) | ResolutionResult::Local => continue,
                };
                let is_own_file = self.graph().file_path(file) == deleted.path;
                let is_named = is_own_file || names_module(facts, reference, &deleted.path);
                let certainty = match (&reference.target, outer.is_empty()) {
                    // A module that lacks the name, or is gone.
                    (ShortExpression::Name(_), true) if is_unknown || is_named => Certainty::Likely,
                    (ShortExpression::Member(..), true) if is_named => Certainty::Likely,
                    (ShortExpression::Member(..), false) if is_unknown => Certainty::Possible,
                    _ => continue,
                };
                let (at, kind) = (reference.at, reference.kind);
                // The target is gone; no step leads to it.
                let target = DefinitionId { file, index: u32::MAX };
                let call = FoundReference { file, at, kind, certainty, enclosing, target };
                steps.push((enclosing, call));
            }
        }
        steps
    }
}

impl ReachedDefinitions {
    /// Adds a definition, or replaces a known one by a use that breaks or is more certain.
    fn add(&mut self, id: Option<DefinitionId>, file: FileIndex, found: ReachingDefinition) {
        let place = match self.places.entry((id, file)) {
            Entry::Vacant(entry) => {
                entry.insert(self.found.len());
                self.found.push((id, found));
                return;
            }
            Entry::Occupied(entry) => *entry.get(),
        };
        if let Some((_, known)) = self.found.get_mut(place) {
            let order =
                |found: &ReachingDefinition| (found.depth, !found.is_broken, found.certainty);
            if order(&found) < order(known) {
                *known = found;
            }
        }
    }

    fn into_found(self) -> Vec<ReachingDefinition> {
        self.found.into_iter().map(|(_, found)| found).collect()
    }
}

/// Returns true if a reference leads through an import to a module that has the name of a file.
fn names_module(facts: &SourceFacts, reference: &ReferenceFact, path: &str) -> bool {
    let stem = file_stem(path);
    let is_stem = |module: &str| module.rsplit(['.', '/']).take(2).any(|part| part == stem);
    match &reference.target {
        ShortExpression::Name(name) => {
            let imports_it =
                |import: &ImportFact| is_stem(&import.module) && import.name.as_ref() == Some(name);
            facts.imports.iter().any(imports_it) || facts.star_imports.iter().any(|it| is_stem(it))
        }
        ShortExpression::Member(receiver, _) => match &**receiver {
            ShortExpression::Name(module) | ShortExpression::Member(_, module) => module == stem,
            _ => false,
        },
        _ => false,
    }
}
