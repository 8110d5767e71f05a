//! Reads commits, folders and files of a repository within a budget, and remembers them.

use std::{collections::HashSet, io, num::NonZero, path::Path, sync::Arc, time::Instant};

use codeinfo_worktree::beneath::{
    ObjectFault, ObjectReader, RootDir, as_object_fault, read_to_limit,
};
use gix_object::{Kind as Object, TreeRefIter, tree::EntryMode};
use lru::LruCache;

use crate::{
    CommitId,
    budget::{HistoryBudget, HistoryError, HistoryStop, StopReason, WalkResult},
    commit_object::{CommitDetails, CommitNode, ParsedCommit},
};

/// Maximum bytes of a commit. The largest messages of real repositories have some hundred kilobytes.
const MAX_COMMIT_BYTES: u64 = 16 << 20;
/// Maximum bytes of a folder. Git becomes slow with a tenth of it.
const MAX_TREE_BYTES: u64 = 4 << 20;
/// Maximum bytes of a file that is compared by lines.
pub(crate) const MAX_FILE_BYTES: u64 = 8 << 20;
/// Maximum commits remembered, about 200 bytes each, because questions read the same commits.
const MAX_REMEMBERED_COMMITS: NonZero<usize> = NonZero::new(150_000).unwrap();
/// Maximum bytes of folders remembered.
const MAX_REMEMBERED_TREES: usize = 64 << 20;
/// Number of files remembered. A walk compares each version with the one before and after it.
const MAX_REMEMBERED_FILES: NonZero<usize> = NonZero::new(8).unwrap();
/// Maximum bytes of the file that lists where a clone was cut.
const MAX_SHALLOW_BYTES: u64 = 16 << 20;

/// Answers questions about the history of one repository. Remembers commits and folders, so the
/// second question is faster; objects that are written later are found.
#[derive(Debug)]
pub struct HistoryReader {
    objects: ObjectReader,
    shallow: HashSet<CommitId>,
    nodes: LruCache<CommitId, Arc<CommitNode>>,
    trees: LruCache<CommitId, Arc<[u8]>>,
    tree_bytes: usize,
    files: LruCache<CommitId, Arc<[u8]>>,
    usage: BudgetUsage,
}

#[derive(Debug)]
struct BudgetUsage {
    budget: HistoryBudget,
    commits: usize,
    bytes: u64,
    last_commit: Option<CommitId>,
    is_shallow: bool,
}

/// A file, link or submodule of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileEntry {
    pub(crate) mode: EntryMode,
    pub(crate) id: CommitId,
}

impl HistoryReader {
    /// Opens the objects of a git folder. `commit` is the full id of any commit of it.
    pub fn open(git: &Path, commit: &str) -> Result<Self, HistoryError> {
        let objects = ObjectReader::open(git, commit.len()).map_err(HistoryError::Repository)?;
        let shallow = read_shallow(git).map_err(HistoryError::Repository)?;
        let usage = BudgetUsage::new(HistoryBudget::until(Instant::now()));
        let nodes = LruCache::sparse(MAX_REMEMBERED_COMMITS);
        Ok(Self {
            objects,
            shallow,
            nodes,
            trees: LruCache::unbounded(),
            tree_bytes: 0,
            files: LruCache::new(MAX_REMEMBERED_FILES),
            usage,
        })
    }

    pub(crate) fn start_question(&mut self, budget: &HistoryBudget) {
        self.usage = BudgetUsage::new(budget.clone());
    }

    /// Returns where and why a walk ended. `None` if it went to the first commit.
    pub(crate) fn find_stop(&self, result: WalkResult) -> Option<HistoryStop> {
        let shallow = self.usage.is_shallow.then_some(StopReason::Shallow);
        let reason = result.err().or(shallow)?;
        Some(HistoryStop { reason, commit: self.usage.last_commit })
    }

    /// Fails if `count` results are enough.
    pub(crate) fn check_results(&self, count: usize) -> WalkResult {
        let max = self.usage.budget.max_results;
        if count < max { Ok(()) } else { Err(StopReason::ResultLimit(max)) }
    }

    /// Reads a commit and counts it. Commits where a clone was cut have no parents.
    pub(crate) fn visit_commit(&mut self, id: &CommitId) -> WalkResult<Arc<CommitNode>> {
        if self.usage.commits >= self.usage.budget.max_commits {
            return Err(StopReason::CommitLimit(self.usage.budget.max_commits));
        }
        self.usage.commits += 1;
        let node = self.load_commit(id)?;
        self.usage.last_commit = Some(*id);
        self.usage.is_shallow |= node.is_cut;
        Ok(node)
    }

    pub(crate) fn load_commit(&mut self, id: &CommitId) -> WalkResult<Arc<CommitNode>> {
        self.check_time()?;
        match self.nodes.get(id) {
            Some(node) => Ok(Arc::clone(node)),
            None => self.parse_commit(id, |parsed| Arc::clone(&parsed.node)),
        }
    }

    pub(crate) fn read_details(&mut self, id: &CommitId) -> WalkResult<CommitDetails> {
        self.parse_commit(id, |parsed| CommitDetails::from(parsed))
    }

    pub(crate) fn parse_commit<T>(
        &mut self,
        id: &CommitId,
        convert: impl FnOnce(&ParsedCommit<'_>) -> T,
    ) -> WalkResult<T> {
        let bytes = self.read_object(id, Object::Commit, MAX_COMMIT_BYTES)?;
        let is_cut = self.shallow.contains(id);
        let parsed = ParsedCommit::parse(*id, &bytes, is_cut).ok_or(StopReason::Unreadable(*id))?;
        self.nodes.put(*id, Arc::clone(&parsed.node));
        Ok(convert(&parsed))
    }

    /// Reads the content of a file; that of a submodule is the id of its commit.
    pub(crate) fn read_file(&mut self, entry: &FileEntry) -> WalkResult<Arc<[u8]>> {
        if entry.mode.is_commit() {
            return Ok(format!("Subproject commit {}\n", entry.id).into_bytes().into());
        }
        if let Some(content) = self.files.get(&entry.id).cloned() {
            self.charge_bytes(content.len())?;
            return Ok(content);
        }
        let content: Arc<[u8]> = self.read_object(&entry.id, Object::Blob, MAX_FILE_BYTES)?.into();
        self.files.put(entry.id, Arc::clone(&content));
        Ok(content)
    }

    /// Reads the size of a file without its content.
    pub(crate) fn read_size(&mut self, entry: &FileEntry) -> WalkResult<u64> {
        self.check_time()?;
        self.objects.read_size(&entry.id).map_err(|error| explain_error(&error, entry.id))
    }

    pub(crate) fn read_tree(&mut self, id: &CommitId) -> WalkResult<Arc<[u8]>> {
        if let Some(tree) = self.trees.get(id).cloned() {
            self.charge_bytes(tree.len())?;
            return Ok(tree);
        }
        let tree: Arc<[u8]> = self.read_object(id, Object::Tree, MAX_TREE_BYTES)?.into();
        self.tree_bytes += tree.len();
        if let Some((_, old)) = self.trees.push(*id, Arc::clone(&tree)) {
            self.tree_bytes -= old.len();
        }
        while self.tree_bytes > MAX_REMEMBERED_TREES
            && let Some((_, old)) = self.trees.pop_lru()
        {
            self.tree_bytes -= old.len();
        }
        Ok(tree)
    }

    pub(crate) fn find_entry(
        &mut self,
        tree: &CommitId,
        path: &[u8],
    ) -> WalkResult<Option<FileEntry>> {
        let mut current = *tree;
        let mut names = path.split(|byte| *byte == b'/').peekable();
        while let Some(name) = names.next() {
            let bytes = self.read_tree(&current)?;
            let found = list_entries(&bytes, &current)
                .find(|entry| !matches!(entry, Ok((other, _)) if *other != name));
            let Some((_, entry)) = found.transpose()? else { return Ok(None) };
            match names.peek() {
                None => return Ok((!entry.mode.is_tree()).then_some(entry)),
                Some(_) if entry.mode.is_tree() => current = entry.id,
                Some(_) => return Ok(None),
            }
        }
        Ok(None)
    }

    fn read_object(&mut self, id: &CommitId, kind: Object, max: u64) -> WalkResult<Vec<u8>> {
        let read = self.objects.read_object(id, kind, max);
        let bytes = read.map_err(|error| explain_error(&error, *id))?;
        self.charge_bytes(bytes.len())?;
        Ok(bytes)
    }

    fn charge_bytes(&mut self, count: usize) -> WalkResult {
        self.usage.bytes = self.usage.bytes.saturating_add(count as u64);
        if self.usage.bytes > self.usage.budget.max_bytes {
            return Err(StopReason::ByteLimit(self.usage.budget.max_bytes));
        }
        self.check_time()
    }

    fn check_time(&self) -> WalkResult {
        if Instant::now() < self.usage.budget.deadline {
            Ok(())
        } else {
            Err(StopReason::TimeLimit)
        }
    }
}

impl BudgetUsage {
    fn new(budget: HistoryBudget) -> Self {
        Self { budget, commits: 0, bytes: 0, last_commit: None, is_shallow: false }
    }
}

pub(crate) fn list_entries<'a>(
    tree: &'a [u8],
    id: &CommitId,
) -> impl Iterator<Item = WalkResult<(&'a [u8], FileEntry)>> {
    let tree_id = *id;
    TreeRefIter::from_bytes(tree, tree_id.kind()).map(move |result| {
        let entry = result.map_err(|_| StopReason::Unreadable(tree_id))?;
        Ok((entry.filename.as_ref(), FileEntry { mode: entry.mode, id: entry.oid.to_owned() }))
    })
}

fn explain_error(error: &io::Error, id: CommitId) -> StopReason {
    match as_object_fault(error) {
        Some(ObjectFault::Missing) => StopReason::Missing(id),
        _ if error.kind() == io::ErrorKind::FileTooLarge => StopReason::TooLarge(id),
        _ => StopReason::Unreadable(id),
    }
}

/// Reads the commits whose parents a shallow clone lacks.
fn read_shallow(git: &Path) -> io::Result<HashSet<CommitId>> {
    let (file, _) = match RootDir::open(git)?.open_file(Path::new("shallow")) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashSet::new()),
        Err(error) => return Err(error),
    };
    let bytes = read_to_limit(file, MAX_SHALLOW_BYTES, || ())?;
    Ok(bytes.split(|byte| *byte == b'\n').filter_map(|id| CommitId::from_hex(id).ok()).collect())
}
