//! Compares the callers of definitions that differ between two trees of a repository.

use std::time::{Duration, Instant};

use codeinfo_facts::compare::ChangeKind;
use codeinfo_graph::resolve::DefinitionId;
use tokio::{runtime::Handle, time::timeout};

use super::{
    super::{Evidence, EvidenceError, snapshot::load_snapshots},
    Certainty, FoundPiece, GRACE, RelatedSymbol, RelationKind, SymbolPlace,
    session::GraphSession,
};

/// Maximum time for each tree; what is read is remembered, so that a later search compares more.
const TIME: Duration = Duration::from_millis(150);
/// Maximum definitions whose callers are compared.
const MAX_DEFINITIONS: usize = 4;
/// Maximum callers of a definition in each tree; those of one with more are not compared.
const MAX_CALLERS: usize = 200;

/// A caller that differs between two trees.
#[derive(Debug)]
pub struct CallerChange {
    /// The called definition in the second tree.
    pub called: SymbolPlace,
    /// The caller in the tree that has it, or in the second one. It is not only possible.
    pub caller: RelatedSymbol,
    /// Kind of the difference.
    pub change: ChangeKind,
}

impl Evidence {
    /// Compares the callers of definitions that differ between two trees, given by name, and are in
    /// their pieces. Also returns true if files were not read; then added and deleted callers are
    /// unknown.
    pub async fn compare_callers(
        &self,
        trees: [&str; 2],
        pieces: Vec<FoundPiece>,
    ) -> Result<(Vec<CallerChange>, bool), EvidenceError> {
        let roots = self.store.roots().await?;
        let find = |name: &str| roots.iter().find(|root| root.name == name).cloned();
        let [Some(before), Some(now)] = trees.map(find) else { return Ok((Vec::new(), false)) };
        if before.id == now.id {
            return Ok((Vec::new(), false));
        }
        let evidence = self.clone();
        let deadline = Instant::now() + 2 * TIME;
        let compare = async {
            // In one order, so that no comparison waits for another one that waits for it.
            let is_first = before.id < now.id;
            let [one, other] = if is_first { [before, now] } else { [now, before] };
            let (leased_one, leased_other) =
                (self.lease_tree(&one).await?, self.lease_tree(&other).await?);
            self.run_blocking(move || {
                let one = GraphSession::open(&evidence, &one, leased_one, deadline);
                let other = GraphSession::open(&evidence, &other, leased_other, deadline);
                let trees = if is_first { [&one, &other] } else { [&other, &one] };
                let changes = compare_in_pieces(trees, &pieces);
                let (is_one_cut, is_other_cut) = (one.close(), other.close());
                (changes, is_one_cut || is_other_cut)
            })
            .await
        };
        let compared = timeout(2 * TIME + GRACE, compare).await;
        let (mut changes, is_incomplete) = compared.map_err(|_| EvidenceError::Stalled)??;
        changes.retain(|caller| caller.change == ChangeKind::Changed || !is_incomplete);
        Ok((changes, is_incomplete))
    }
}

/// Compares the callers of the first definitions in some pieces that differ.
fn compare_in_pieces(trees: [&GraphSession<'_>; 2], pieces: &[FoundPiece]) -> Vec<CallerChange> {
    let [before, now] = trees;
    let mut compared: Vec<SymbolPlace> = Vec::new();
    let mut changes = Vec::new();
    for piece in pieces {
        let Some(tree) = trees.into_iter().find(|tree| tree.root.name == piece.repo) else {
            continue;
        };
        for id in tree.list_definitions_in(piece) {
            let names = tree.names(id);
            let Some((former, former_ids)) = before.find_named(&piece.rel_path, &names) else {
                continue;
            };
            let Some((called, ids)) = now.find_named(&piece.rel_path, &names) else { continue };
            let is_new = compared.len() < MAX_DEFINITIONS && !compared.contains(&called);
            if is_new && differs(trees, [&former, &called]) {
                let callers = [before.list_callers(&former_ids), now.list_callers(&ids)];
                if callers.iter().all(|callers| callers.len() <= MAX_CALLERS) {
                    compare_callers(trees, &called, callers, &mut changes);
                }
                compared.push(called);
            }
        }
    }
    changes
}

fn compare_callers(
    trees: [&GraphSession<'_>; 2],
    called: &SymbolPlace,
    callers: [Vec<RelatedSymbol>; 2],
    changes: &mut Vec<CallerChange>,
) {
    let [former, current] = callers;
    let find_same = |caller: &RelatedSymbol, others: &[RelatedSymbol]| {
        let is_same = |other: &&RelatedSymbol| {
            let [one, other] = [&caller.place, &other.place];
            one.name == other.name && one.file.rel_path == other.file.rel_path
        };
        others.iter().find(is_same).cloned()
    };
    let deleted = former.iter().filter(|caller| find_same(caller, &current).is_none());
    let mut found: Vec<(RelatedSymbol, ChangeKind)> =
        deleted.map(|caller| (caller.clone(), ChangeKind::Deleted)).collect();
    for caller in current {
        match find_same(&caller, &former) {
            None => found.push((caller, ChangeKind::Added)),
            // Recursion is no other caller, and the lines of the top level are not known.
            Some(_) if caller.place == *called || caller.place.name.is_empty() => {}
            Some(same) if differs(trees, [&same.place, &caller.place]) => {
                found.push((caller, ChangeKind::Changed));
            }
            Some(_) => {}
        }
    }
    found.retain(|(caller, _)| caller.certainty != Certainty::Possible);
    let change = |(caller, change)| CallerChange { called: called.clone(), caller, change };
    changes.extend(found.into_iter().map(change));
}

/// Returns true if a definition has other lines in two trees, apart from blank ones.
fn differs(trees: [&GraphSession<'_>; 2], places: [&SymbolPlace; 2]) -> bool {
    let read = |tree: &GraphSession<'_>, place: &SymbolPlace| {
        let record = tree.reader().record(&place.file.rel_path)?.clone();
        let (first, last) = place.lines;
        let snapshots =
            Handle::current().block_on(load_snapshots(tree.store(), vec![record])).ok()?;
        let text = snapshots.first()?.text();
        let lines = text.lines().take(last as usize).skip((first as usize).saturating_sub(1));
        Some(lines.map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect())
    };
    let [before, now] = trees;
    let [former, current] = places;
    let version = |tree: &GraphSession<'_>| {
        Some(tree.reader().record(&current.file.rel_path)?.version.clone())
    };
    if version(before) == version(now) || now.reader().is_spent() {
        return false;
    }
    let texts: [Option<Vec<String>>; 2] = [read(before, former), read(now, current)];
    matches!(texts, [Some(former), Some(current)] if former != current)
}

impl GraphSession<'_> {
    /// Finds the definitions with `names`, outermost first, in a file, and the place of the first.
    fn find_named(&self, path: &str, names: &[&str]) -> Option<(SymbolPlace, Vec<DefinitionId>)> {
        let mut ids = self.graph().find_definitions(self.graph().find_file(path)?, names.last()?);
        ids.retain(|id| self.names(*id) == names);
        Some((self.place(*ids.first()?)?, ids))
    }

    fn list_callers(&self, definitions: &[DefinitionId]) -> Vec<RelatedSymbol> {
        self.describe_groups(self.relate(definitions, RelationKind::Callers))
    }
}
