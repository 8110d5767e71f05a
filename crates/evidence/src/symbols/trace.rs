//! Follows calls from a definition, step by step.

use std::collections::{HashMap, HashSet, VecDeque};

use codeinfo_core::RootFilter;
use codeinfo_facts::{DefinitionKind, ReferenceKind};
use codeinfo_graph::resolve::DefinitionId;

use serde::Serialize;

use super::{
    super::{Evidence, EvidenceError},
    Certainty, SymbolPlace, TIME,
    name::SymbolName,
    session::{CONSTRUCTORS, FoundReference, GraphSession},
};

/// Default number of steps of a tree.
pub const DEFAULT_TRACE_DEPTH: usize = 3;
/// Maximum number of steps.
pub const MAX_TRACE_DEPTH: usize = 12;
/// Maximum definitions of a tree, and that are visited for a path.
const MAX_STEPS: usize = 150;
const MAX_VISITED: usize = 2_000;
/// Maximum steps from one definition.
const MAX_BRANCHES: usize = 40;
/// Maximum definitions that a trace begins with.
const MAX_STARTS: usize = 8;

/// Direction of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceDirection {
    /// From a definition to those that call it.
    Callers,
    /// From a definition to those that it calls.
    Callees,
}

/// Calls to follow.
#[derive(Debug, Clone)]
pub struct TraceRequest {
    /// Name or place of the definition to begin with.
    pub from: String,
    /// Name or place of the definition to end with; `None` for a tree.
    pub to: Option<String>,
    /// Direction; `Callees` leads from a caller to what it reaches.
    pub direction: TraceDirection,
    /// Maximum number of steps.
    pub depth: usize,
}

/// Calls that were followed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallTrace {
    /// Definitions that the trace begins with. Each step names the one before it.
    pub starts: Vec<SymbolPlace>,
    /// Steps: of a tree those with fewer steps before them first, or the one path in its order.
    pub steps: Vec<TraceStep>,
    /// Definitions with the name of `to`; empty for a tree.
    pub ends: Vec<SymbolPlace>,
    /// True if `to` was reached.
    pub is_reached: bool,
    /// True if there is more than was followed: too many definitions, or too little time.
    pub is_cut: bool,
}

/// A step from one definition to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceStep {
    /// Index in `steps` of the step before it; `None` after a start.
    pub before: Option<usize>,
    /// Number of steps from the start, counted from 1.
    pub depth: usize,
    /// The definition that the step leads to.
    #[serde(flatten)]
    pub place: SymbolPlace,
    /// Line of the call, in the file of the caller.
    pub call_line: u32,
    /// Certainty of the call.
    pub certainty: Certainty,
}

#[derive(Clone, Copy)]
struct VisitedDefinition {
    /// `None` for the top level of a file.
    id: Option<DefinitionId>,
    /// Index of the visit before it.
    before: Option<usize>,
    depth: usize,
    call: Option<FoundReference>,
}

impl Evidence {
    /// Follows calls from a definition: to another one on a shortest path, or within some steps.
    pub async fn trace_calls(
        &self,
        request: TraceRequest,
        within: RootFilter,
    ) -> Result<CallTrace, EvidenceError> {
        let (roots, _) = self.list_present_roots(within).await?;
        let (from, found) = self.locate_name(&request.from, within, &roots).await?;
        let to = match &request.to {
            Some(to) => Some(self.locate_name(to, within, &roots).await?.0),
            None => None,
        };
        let mut trace = None;
        for root in found.into_iter().take(super::MAX_TREES) {
            let (start, end, asked) = (from.clone(), to.clone(), request.clone());
            let work =
                move |session: &GraphSession<'_>| session.trace(&start, end.as_ref(), &asked);
            let (mut found, is_incomplete) = self.run_with_graph(root, TIME, work).await?;
            found.is_cut |= is_incomplete;
            let is_better = trace.as_ref().is_none_or(|known: &CallTrace| {
                known.starts.is_empty() || (!known.is_reached && found.is_reached)
            });
            if is_better {
                trace = Some(found);
            }
        }
        Ok(trace.unwrap_or_default())
    }
}

impl GraphSession<'_> {
    fn trace(
        &self,
        from: &SymbolName,
        to: Option<&SymbolName>,
        request: &TraceRequest,
    ) -> CallTrace {
        let mut starts = self.find_definitions(from);
        let mut is_cut = starts.len() > MAX_STARTS;
        starts.truncate(MAX_STARTS);
        let ends = to.map(|to| self.find_definitions(to));
        let start = |id: &DefinitionId| VisitedDefinition {
            id: Some(*id),
            before: None,
            depth: 0,
            call: None,
        };
        let mut visited: Vec<VisitedDefinition> = starts.iter().map(start).collect();
        let mut seen: HashSet<DefinitionId> = starts.iter().copied().collect();
        let mut queue: VecDeque<usize> = (0..visited.len()).collect();
        let mut reached = None;
        let limit = if ends.is_some() { MAX_VISITED } else { MAX_STEPS };
        while let Some(place) = queue.pop_front() {
            let Some(current) = visited.get(place).copied() else { break };
            let Some(id) = current.id.filter(|_| current.depth < request.depth) else { continue };
            for (next, call) in self.follow_calls(id, request.direction, &mut is_cut) {
                if next.is_some_and(|next| !seen.insert(next)) {
                    continue;
                }
                if visited.len() >= limit + starts.len() {
                    is_cut = true;
                    break;
                }
                queue.push_back(visited.len());
                let is_end = next.is_some_and(|next| {
                    ends.as_ref().is_some_and(|ends| self.is_one_of(next, ends))
                });
                if is_end && reached.is_none() {
                    reached = Some(visited.len());
                }
                let (before, depth) = (Some(place), current.depth + 1);
                visited.push(VisitedDefinition { id: next, before, depth, call: Some(call) });
            }
            if reached.is_some() || self.reader().is_spent() {
                is_cut |= reached.is_none();
                break;
            }
        }
        let kept = match (&ends, reached) {
            (None, _) => (0..visited.len()).collect(),
            (Some(_), Some(end)) => list_path(&visited, end),
            (Some(_), None) => Vec::new(),
        };
        let places = |ids: &[DefinitionId]| ids.iter().filter_map(|id| self.place(*id)).collect();
        CallTrace {
            starts: places(&starts),
            steps: self.describe_steps(&visited, &kept),
            ends: ends.as_deref().map(places).unwrap_or_default(),
            is_reached: reached.is_some(),
            is_cut: is_cut && reached.is_none(),
        }
    }

    /// Returns the first definitions one step away.
    fn follow_calls(
        &self,
        id: DefinitionId,
        direction: TraceDirection,
        is_cut: &mut bool,
    ) -> Vec<(Option<DefinitionId>, FoundReference)> {
        let mut steps = self.list_steps(id, direction);
        *is_cut |= steps.len() > MAX_BRANCHES;
        steps.truncate(MAX_BRANCHES);
        steps
    }

    /// Returns the definitions one step away, each once, with its most certain call; tests last.
    pub(super) fn list_steps(
        &self,
        id: DefinitionId,
        direction: TraceDirection,
    ) -> Vec<(Option<DefinitionId>, FoundReference)> {
        let calls = match direction {
            TraceDirection::Callees => {
                let mut calls = self.find_referenced(self.constructor_of(id));
                calls.retain(|call| call.kind == ReferenceKind::Call);
                let overriding: Vec<FoundReference> = calls
                    .iter()
                    .flat_map(|call| {
                        let targets = self.find_overriding(call.target).into_iter();
                        let certainty = Certainty::Possible;
                        targets.map(move |target| FoundReference { certainty, target, ..*call })
                    })
                    .collect();
                calls.extend(overriding);
                calls
            }
            TraceDirection::Callers => {
                let mut calls = self.find_references(&[id]);
                calls.retain(|call| call.kind != ReferenceKind::Import);
                calls
            }
        };
        let mut steps: Vec<(Option<DefinitionId>, FoundReference)> = Vec::new();
        for call in calls {
            let next = match direction {
                TraceDirection::Callees => Some(call.target),
                TraceDirection::Callers => call.enclosing,
            };
            let is_same = |(known, former): &&mut (Option<DefinitionId>, FoundReference)| {
                *known == next && (next.is_some() || former.file == call.file)
            };
            match steps.iter_mut().find(is_same) {
                Some((_, known)) if call.certainty < known.certainty => *known = call,
                Some(_) => {}
                None => steps.push((next, call)),
            }
        }
        let is_test =
            |call: &FoundReference| self.is_test(self.graph().file_path(call.file), call.at.0);
        steps.sort_by_cached_key(|(_, call)| (is_test(call), call.certainty));
        steps
    }

    /// Returns the constructor of a type that has one, else the definition itself.
    fn constructor_of(&self, id: DefinitionId) -> DefinitionId {
        let is_type =
            self.graph().definition(id).is_some_and(|fact| fact.kind == DefinitionKind::Type);
        let constructors = CONSTRUCTORS.iter().filter(|_| is_type);
        let mut members = constructors.flat_map(|name| self.graph().list_members(id, name));
        members.next().unwrap_or(id)
    }

    fn is_one_of(&self, id: DefinitionId, ends: &[DefinitionId]) -> bool {
        ends.contains(&id) || ends.contains(&self.constructor_of(id))
    }

    fn describe_steps(&self, visited: &[VisitedDefinition], kept: &[usize]) -> Vec<TraceStep> {
        let mut steps: Vec<TraceStep> = Vec::new();
        let mut step_of = HashMap::new();
        for place in kept {
            let Some(VisitedDefinition { id, before, depth, call: Some(call) }) =
                visited.get(*place)
            else {
                continue;
            };
            let at_top = || self.top_level_place(call.file, call.at.0);
            let Some(described) = id.map_or_else(|| Some(at_top()), |id| self.place(id)) else {
                continue;
            };
            step_of.insert(*place, steps.len());
            let before = before.and_then(|before| step_of.get(&before).copied());
            let (call_line, certainty) = (call.at.0, call.certainty);
            steps.push(TraceStep { before, depth: *depth, place: described, call_line, certainty });
        }
        steps
    }
}

/// Returns the visits on the way to one, in order.
fn list_path(visited: &[VisitedDefinition], end: usize) -> Vec<usize> {
    let mut path = Vec::new();
    let mut current = Some(end);
    while let Some(place) = current {
        path.push(place);
        // A visit follows the one before it, so that this ends.
        current = visited.get(place).and_then(|visit| visit.before);
    }
    path.reverse();
    path
}
