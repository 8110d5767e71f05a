//! Keeps the symbol graphs of the trees that were asked about last, and reads files into them.
//!
//! Facts come from the indexed text. A file that a former graph of the tree had is not read again.
//! The SCIP index of the tree is believed for the files whose indexed text it describes.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use codeinfo_core::{FileRecord, Root, RootId};
use codeinfo_facts::{SourceFacts, extract_facts, reads_language};
use codeinfo_graph::{
    is_manifest,
    resolve::{FileIndex, SharedScipIndex, SymbolGraph},
};
use codeinfo_lang::detect;
use codeinfo_store::Store;
use codeinfo_worktree::beneath::FileFacts;
use tokio::{runtime::Handle, sync};

use super::super::{Evidence, snapshot::load_snapshots};

/// Maximum number of trees whose graphs are kept.
const MAX_TREES: usize = 4;
/// Maximum bytes of text whose facts are kept; facts take six times as much memory as the text.
const MAX_KEPT_BYTES: usize = 16 << 20;
const MAX_READ_BYTES: usize = 16 << 20;
/// Maximum words of a tree whose files are remembered, and files of all of them.
const MAX_WORDS: usize = 4_096;
const MAX_WORD_FILES: usize = 200_000;
const MAX_MANIFESTS: usize = 256;
/// Maximum files that are read from the store at a time.
const MAX_BATCH: usize = 64;

/// Graphs of the trees that were asked about last, the last one at the end.
#[derive(Clone, Default)]
pub(crate) struct GraphCache(Arc<Mutex<Vec<CachedGraph>>>);

struct CachedGraph {
    root: RootId,
    /// Bytes of text whose facts the graph has.
    bytes: usize,
    graph: Arc<sync::Mutex<Option<TreeGraph>>>,
}

/// The graph of a tree, which no other request uses meanwhile; `None` if it was not kept.
pub(super) type GraphLease = sync::OwnedMutexGuard<Option<TreeGraph>>;

impl GraphCache {
    /// Waits until no other request uses the graph of a tree.
    pub(super) async fn lease_graph(&self, root: RootId) -> GraphLease {
        let graph = {
            let mut cached = lock(&self.0);
            let known = cached.iter().position(|cached| cached.root == root);
            let new = || CachedGraph { root, bytes: 0, graph: Arc::default() };
            let entry = known.map_or_else(new, |place| cached.remove(place));
            let graph = Arc::clone(&entry.graph);
            cached.push(entry);
            graph
        };
        graph.lock_owned().await
    }

    /// Takes the graph of a tree out of a lease, or makes one. `files` are those of the tree unless
    /// the graph is of the same ones.
    pub(super) fn take_graph(
        lease: &mut GraphLease,
        evidence: &Evidence,
        root: &Root,
        files: Option<&[FileRecord]>,
        deadline: Instant,
    ) -> TreeGraph {
        let compiler_index = evidence.scip_folder.open_index(root);
        let stamp = compiler_index.as_ref().map(|(_, facts)| *facts);
        let has_files = |tree: &TreeGraph| files.is_none_or(|files| tree.reader.has_files(files));
        let mut tree = match lease.take() {
            Some(tree) if tree.stamp == stamp && has_files(&tree) => tree,
            outdated => {
                let known = outdated.iter().flat_map(|tree| tree.reader.files.values().cloned());
                let listed = files.map_or_else(|| known.collect(), <[FileRecord]>::to_vec);
                // Each file is compared with the SCIP index again, because its text may be another one.
                let former = outdated.filter(|tree| tree.stamp.is_none() && stamp.is_none());
                let compiler = compiler_index
                    .and_then(|opened| evidence.scip_folder.read_index(root.id, opened));
                TreeGraph {
                    stamp,
                    ..TreeGraph::new(&evidence.store, root, listed, former, compiler)
                }
            }
        };
        if files.is_some() {
            // The files may have been others meanwhile.
            tree.files_by_word.get_mut().clear();
            tree.root = root.clone();
        }
        tree.reader.begin_request(deadline);
        tree.graph.set_deadline(Some(deadline));
        tree
    }

    /// Keeps a graph for later requests, unless it has become too large; drops others for it.
    pub(super) fn put_back(&self, mut lease: GraphLease, store: &Store, tree: TreeGraph) {
        let state = lock(&tree.reader.state);
        let is_incomplete = !state.skipped.is_empty();
        drop(state);
        // Files that were skipped must be read when they are needed again.
        let tree = if is_incomplete {
            let files = tree.reader.files.values().cloned().collect();
            let (stamp, compiler) = (tree.stamp, tree.reader.compiler.clone());
            let root = tree.root.clone();
            TreeGraph { stamp, ..TreeGraph::new(store, &root, files, Some(tree), compiler) }
        } else {
            tree
        };
        let (root, bytes) = (tree.root.id, lock(&tree.reader.state).total_bytes);
        *lease = Some(tree);
        drop(lease);
        let mut cached = lock(&self.0);
        if let Some(entry) = cached.iter_mut().find(|entry| entry.root == root) {
            entry.bytes = bytes;
        }
        // Keeps the last ones that have room together.
        let mut bytes = 0;
        let newest = cached.iter().rev().take(MAX_TREES).take_while(|entry| {
            bytes += entry.bytes;
            bytes <= MAX_KEPT_BYTES
        });
        let surplus = cached.len() - newest.count();
        cached.drain(..surplus);
    }
}

pub(super) struct TreeGraph {
    /// The tree as it was when its files were listed.
    root: Root,
    /// Files that were found for words, by the maximum number of chunks that were searched.
    files_by_word: RefCell<HashMap<(usize, String), Vec<FileIndex>>>,
    /// Size and time of the compiler's index.
    stamp: Option<FileFacts>,
    pub(super) graph: SymbolGraph,
    pub(super) reader: Arc<FactReader>,
}

impl TreeGraph {
    fn new(
        store: &Store,
        root: &Root,
        files: Vec<FileRecord>,
        former: Option<TreeGraph>,
        compiler: Option<SharedScipIndex>,
    ) -> Self {
        let mut state = ReaderState::default();
        let paths = files.iter().map(|file| file.path.clone()).collect();
        let files: HashMap<String, FileRecord> =
            files.into_iter().map(|file| (file.path.clone(), file)).collect();
        if let Some(TreeGraph { graph, reader, .. }) = former {
            let skipped = mem::take(&mut lock(&reader.state).skipped);
            let is_same = |path: &str| {
                let versions = [&reader.files, &files].map(|files| Some(&files.get(path)?.version));
                versions[0].is_some() && versions[0] == versions[1] && !skipped.contains(path)
            };
            state.ready = graph.into_facts().filter(|(path, _)| is_same(path)).collect();
            let former = lock(&reader.state);
            (state.total_bytes, state.recorded) = (former.total_bytes, former.recorded);
        }
        let (store, state) = (store.clone(), Mutex::new(state));
        let reader = Arc::new(FactReader { store, files, compiler: compiler.clone(), state });
        let loading = Arc::clone(&reader);
        let graph = SymbolGraph::new(paths, Box::new(move |path| loading.take_facts(path)))
            .with_manifests(&reader.read_manifests())
            .with_compiler(compiler);
        let (root, files_by_word) = (root.clone(), RefCell::default());
        Self { root, files_by_word, stamp: None, graph, reader }
    }

    /// Returns the files that a search for a word finds, remembered while the tree stays the same.
    pub(super) fn find_files(
        &self,
        word: &str,
        max_chunks: usize,
        search: impl FnOnce() -> Option<Vec<String>>,
    ) -> Vec<FileIndex> {
        let key = (max_chunks, word.to_owned());
        if let Some(known) = self.files_by_word.borrow().get(&key) {
            return known.clone();
        }
        let Some(mut paths) = search() else { return Vec::new() };
        paths.retain(|path| detect::detect_by_path(path).is_none_or(reads_language));
        let files: Vec<FileIndex> =
            paths.iter().filter_map(|path| self.graph.find_file(path)).collect();
        let mut known = self.files_by_word.borrow_mut();
        let count = known.values().map(Vec::len).sum::<usize>() + files.len();
        if count <= MAX_WORD_FILES && known.len() < MAX_WORDS {
            known.insert(key, files.clone());
        }
        files
    }

    /// Returns true if the tree has the same files as when they were listed.
    pub(super) fn is_current(&self, root: &Root) -> bool {
        root.last_change().is_some() && self.root == *root
    }
}

pub(super) struct FactReader {
    store: Store,
    files: HashMap<String, FileRecord>,
    compiler: Option<SharedScipIndex>,
    state: Mutex<ReaderState>,
}

#[derive(Default)]
struct ReaderState {
    /// Facts that were read and not yet taken.
    ready: HashMap<String, Option<SourceFacts>>,
    /// Bytes of text that may still be read for the current request.
    bytes_left: usize,
    deadline: Option<Instant>,
    /// Bytes of all texts that were read.
    total_bytes: usize,
    /// Files that the compiler's index describes, and that it has in another version.
    recorded: [usize; 2],
    /// Files that were not read, for want of time or because they are being indexed.
    skipped: HashSet<String>,
}

impl FactReader {
    fn has_files(&self, files: &[FileRecord]) -> bool {
        self.files.len() == files.len()
            && files.iter().all(|file| {
                self.files.get(&file.path).is_some_and(|known| known.version == file.version)
            })
    }

    pub(super) fn record(&self, path: &str) -> Option<&FileRecord> {
        self.files.get(path)
    }

    fn begin_request(&self, deadline: Instant) {
        let mut state = lock(&self.state);
        state.bytes_left = MAX_READ_BYTES;
        state.deadline = Some(deadline);
    }

    /// Returns true if the current request has used its time or its bytes.
    pub(super) fn is_spent(&self) -> bool {
        let state = lock(&self.state);
        state.bytes_left == 0 || state.deadline.is_some_and(|deadline| deadline < Instant::now())
    }

    /// Skips a file if the current request has used its time or its bytes. Returns true if so.
    pub(super) fn skip_if_spent(&self, path: &str) -> bool {
        let is_spent = self.is_spent();
        if is_spent {
            lock(&self.state).skipped.insert(path.to_owned());
        }
        is_spent
    }

    /// Returns true if a file was needed and not read.
    pub(super) fn is_incomplete(&self) -> bool {
        !lock(&self.state).skipped.is_empty()
    }

    /// Reads files together that will be needed one by one.
    pub(super) fn read_ahead(&self, paths: &[String]) {
        for batch in paths.chunks(MAX_BATCH) {
            if self.is_spent() {
                break;
            }
            let state = lock(&self.state);
            let is_wanted = |path: &&String| !state.ready.contains_key(*path);
            let wanted = batch.iter().filter(is_wanted).filter_map(|path| self.files.get(path));
            let records: Vec<FileRecord> = wanted.cloned().collect();
            drop(state);
            self.read(records);
        }
    }

    /// Reads the manifests that say how packages of the tree are imported, outermost first.
    fn read_manifests(&self) -> Vec<(String, String)> {
        let manifests = self.files.values().filter(|file| is_manifest(&file.path));
        let mut records: Vec<FileRecord> = manifests.cloned().collect();
        records.sort_by(|one, other| {
            one.path.len().cmp(&other.path.len()).then(one.path.cmp(&other.path))
        });
        records.truncate(MAX_MANIFESTS);
        let loaded = Handle::current().block_on(load_snapshots(&self.store, records));
        let snapshots = loaded.unwrap_or_default().into_iter();
        snapshots.map(|file| (file.record.path.clone(), file.text())).collect()
    }

    fn read(&self, records: Vec<FileRecord>) {
        let mut unread: HashSet<String> = records.iter().map(|file| file.path.clone()).collect();
        // Requests run on blocking threads.
        let loaded = Handle::current().block_on(load_snapshots(&self.store, records));
        for snapshot in loaded.unwrap_or_default() {
            if self.is_spent() {
                break;
            }
            let text = snapshot.text();
            let facts = snapshot.language().and_then(|language| extract_facts(language, &text));
            let record = self.confirm_record(&snapshot.record.path, &text);
            let mut state = lock(&self.state);
            if let Some(count) = record.and_then(|place| state.recorded.get_mut(place)) {
                *count += 1;
            }
            let bytes = if facts.is_some() { text.len() } else { 0 };
            state.bytes_left = state.bytes_left.saturating_sub(bytes);
            state.total_bytes += bytes;
            unread.remove(&snapshot.record.path);
            state.ready.insert(snapshot.record.path, facts);
        }
        lock(&self.state).skipped.extend(unread);
    }

    /// Compares a text with the compiler's index: 0 if that describes it, 1 if it has another
    /// version of the file, `None` if it lacks the file.
    fn confirm_record(&self, path: &str, text: &str) -> Option<usize> {
        let mut compiler = lock(self.compiler.as_ref()?);
        compiler.document(path)?;
        Some(usize::from(!compiler.confirm_document(path, text)))
    }

    pub(super) fn recorded(&self) -> [usize; 2] {
        lock(&self.state).recorded
    }

    fn take_facts(&self, path: &str) -> Option<SourceFacts> {
        let known = lock(&self.state).ready.remove(path);
        if let Some(facts) = known {
            return facts;
        }
        if self.skip_if_spent(path) {
            return None;
        }
        self.read(vec![self.files.get(path)?.clone()]);
        lock(&self.state).ready.remove(path)?
    }
}

fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
