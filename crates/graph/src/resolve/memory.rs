//! Remembers results, and bounds what one reference may take.

use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::{HashMap, HashSet},
    hash::Hash,
    sync::Arc,
    time::Instant,
};

use super::{
    DefinitionId,
    members::TypeAncestors,
    value::{ExtensionId, ScopeId, Targets, UnitIndex, Values},
};
use crate::modules::FileIndex;

/// Maximum depth of expressions that lead to one another while a reference is resolved.
const MAX_DEPTH: u32 = 40;
/// Maximum results that are computed for one another at a time, which bounds the call stack.
const MAX_OPEN_RESULTS: usize = 200;
/// Expressions that are evaluated before the time is looked at again.
const CHECK_INTERVAL: u32 = 16;
/// Maximum expressions that are evaluated for one reference.
const MAX_EVALUATIONS: u32 = 20_000;

/// Results that were computed for former references, and the state of the current one.
#[derive(Default)]
pub(super) struct ResolutionMemory {
    pub(super) values: RefCell<HashMap<ValueKey, Values>>,
    pub(super) exports: RefCell<HashMap<ExportKey, Targets>>,
    pub(super) ancestors: RefCell<HashMap<DefinitionId, TypeAncestors>>,
    pub(super) reached_files: RefCell<HashMap<FileIndex, Arc<Vec<FileIndex>>>>,
    pub(super) extensions: RefCell<HashMap<ExtendedType, Vec<ExtensionId>>>,
    pub(super) units: RefCell<HashMap<String, Arc<UnitIndex>>>,
    pub(super) included: RefCell<HashMap<FileIndex, Arc<Vec<FileIndex>>>>,
    pub(super) sourced: OnceCell<HashSet<FileIndex>>,
    /// Crates of Rust by their names in paths.
    pub(super) crates: OnceCell<HashMap<String, FileIndex>>,
    progress: RefCell<ResolutionProgress>,
    /// Time after which nothing more is computed.
    pub(super) deadline: Cell<Option<Instant>>,
}

/// State of one resolution. Results that depend on one another depend on which comes first; they
/// are not remembered, so that each reference is resolved as if it were the first.
struct ResolutionProgress {
    /// Results being computed, outermost first.
    open: Vec<ResultKey>,
    /// Place in `open` of the outermost unfinished result that was needed; the maximum if none was.
    lowest: usize,
    /// True if something was left out because of a bound.
    is_cut: bool,
    depth: u32,
    evaluations_left: u32,
}

impl Default for ResolutionProgress {
    fn default() -> Self {
        Self {
            open: Vec::new(),
            lowest: usize::MAX,
            is_cut: false,
            depth: 0,
            evaluations_left: MAX_EVALUATIONS,
        }
    }
}

/// A result that is computed once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ResultKey {
    Values(ValueKey),
    Export(ExportKey),
    Ancestors(DefinitionId),
    Extensions(ExtendedType),
}

/// Owner of a remembered value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ValueKey {
    Definition(DefinitionId, Option<DefinitionId>),
    Binding(ScopeId, u32),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ExportKey {
    pub(super) module: FileIndex,
    pub(super) name: String,
}

impl From<ValueKey> for ResultKey {
    fn from(key: ValueKey) -> Self {
        Self::Values(key)
    }
}

impl From<ExportKey> for ResultKey {
    fn from(key: ExportKey) -> Self {
        Self::Export(key)
    }
}

/// A type whose extensions are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ExtendedType(pub(super) DefinitionId);

impl From<ExtendedType> for ResultKey {
    fn from(key: ExtendedType) -> Self {
        Self::Extensions(key)
    }
}

impl From<DefinitionId> for ResultKey {
    fn from(id: DefinitionId) -> Self {
        Self::Ancestors(id)
    }
}

impl ResolutionMemory {
    /// Resets bounds before a reference is resolved.
    pub(super) fn begin_reference(&self) {
        self.progress.replace(ResolutionProgress::default());
    }

    /// Returns true once the time for the current request is over.
    pub(super) fn is_late(&self) -> bool {
        self.deadline.get().is_some_and(|deadline| deadline < Instant::now())
    }

    /// Returns a remembered result or computes it. A result that depends on itself is empty there.
    pub(super) fn get_or_compute<K, T>(
        &self,
        results: &RefCell<HashMap<K, T>>,
        key: K,
        compute: impl FnOnce() -> T,
    ) -> T
    where
        K: Clone + Eq + Hash + Into<ResultKey>,
        T: Clone + Default,
    {
        if let Some(known) = results.borrow().get(&key) {
            return known.clone();
        }
        let Some(lowest_before) = self.open_result(key.clone().into()) else {
            return T::default();
        };
        let result = compute();
        if self.close_result(lowest_before) {
            results.borrow_mut().insert(key, result.clone());
        }
        result
    }

    /// Opens a result and returns `lowest` as it was before; `None` if the result must be empty.
    fn open_result(&self, key: ResultKey) -> Option<usize> {
        let mut progress = self.progress.borrow_mut();
        if let Some(place) = progress.open.iter().position(|open| *open == key) {
            progress.lowest = progress.lowest.min(place);
            return None;
        }
        if progress.open.len() == MAX_OPEN_RESULTS {
            progress.is_cut = true;
            return None;
        }
        let lowest_before = progress.lowest;
        progress.open.push(key);
        progress.lowest = usize::MAX;
        Some(lowest_before)
    }

    /// Closes the innermost result. Returns true if it is complete.
    fn close_result(&self, lowest_before: usize) -> bool {
        let mut progress = self.progress.borrow_mut();
        progress.open.pop();
        let place = progress.open.len();
        let needed = progress.lowest;
        progress.lowest = if needed < place { needed.min(lowest_before) } else { lowest_before };
        needed == usize::MAX && !progress.is_cut
    }

    /// Computes a part of a result, unless there have been too many or they lie too deep.
    pub(super) fn descend<T: Default>(&self, compute: impl FnOnce() -> T) -> T {
        {
            let mut progress = self.progress.borrow_mut();
            let is_late =
                progress.evaluations_left.is_multiple_of(CHECK_INTERVAL) && self.is_late();
            if progress.evaluations_left == 0 || progress.depth == MAX_DEPTH || is_late {
                progress.is_cut = true;
                return T::default();
            }
            progress.evaluations_left -= 1;
            progress.depth += 1;
        }
        let result = compute();
        self.progress.borrow_mut().depth -= 1;
        result
    }
}
