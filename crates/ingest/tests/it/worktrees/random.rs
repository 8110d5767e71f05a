//! Any sequence of commits, switches, edits, runs, removals and failures over three worktrees and a branch that is not
//! checked out: each tree has, and finds, the content of an index of it alone, no content is stored twice, and nothing
//! remains when all trees are removed.

use std::{
    collections::{BTreeSet, HashSet},
    fs,
    sync::Arc,
};

use codeinfo_core::{Root, RootId};
use codeinfo_embed::{BuiltinEmbedder, Embedder, lexical};
use codeinfo_ingest::{Ingest, RunState};
use codeinfo_store::{ChunkQuery, MAX_PAGE, Store};
use codeinfo_test_support::{
    git::{add_worktree, commit_all, run_git},
    ingest::{TestIndex, TestRepository, WriteFaults, build_request, list_tree_chunks},
    qdrant::{fixture::QdrantFixture, process::IngestProcess},
    random::next_random,
};

const FILES: [&str; 5] = ["a.rs", "b.rs", "sub/c.rs", "sub/d.md", "e.txt"];
const STEPS: usize = 40;
/// The place of the tree that is not checked out.
const BRANCH: usize = 3;

/// An index of trees.
struct TreeIndex {
    store: Store,
    ingest: Ingest,
    /// Writes that fail.
    faults: Arc<WriteFaults>,
    embedder: BuiltinEmbedder,
}

impl TreeIndex {
    async fn run_tree(&self, tree: &TestRepository) -> RunState {
        let run = self.ingest.start_run(build_request(&tree.0)).await.unwrap();
        let mut status = self.ingest.watch_run(run).unwrap();
        let ended = status.wait_for(|status| status.state.is_final()).await.unwrap();
        ended.state
    }

    async fn find_root(&self, tree: &TestRepository) -> Option<Root> {
        let roots = self.store.roots().await.unwrap();
        roots.into_iter().find(|root| root.path == tree.0)
    }

    /// Whatever happens to one tree.
    async fn take_step(&self, seed: &mut u64, trees: &[TestRepository; 4]) -> String {
        let mut any = |of: usize| usize::try_from(next_random(seed)).unwrap_or_default() % of;
        let (at, file, content, action) = (any(4), FILES[any(5)], any(4), any(12));
        let writes = any(7);
        let tree = &trees[at];
        match action {
            0..7 if at == BRANCH => {
                let to = ["one", "two", "three"][content % 3];
                commit_all(&trees[content % 3].0, "Keep");
                let commit = run_git(&trees[content % 3].0, &["rev-parse", "HEAD"]);
                run_git(&trees[0].0, &["branch", "--force", to, commit.trim()]);
                format!("{to} moves to where {} is", content % 3)
            }
            0..4 => {
                // Some contents are longer than a chunk.
                let text = format!("fn f{content}() {{ g{content}() }}\n\n");
                tree.write(file, &text.repeat(1 + content * 60));
                format!("{at}: write {content} to {file}")
            }
            4 => {
                fs::remove_file(tree.join(file)).ok();
                format!("{at}: remove {file}")
            }
            5 => {
                commit_all(&tree.0, "Change");
                format!("{at}: commit")
            }
            6 => {
                let to = ["one", "two", "three"][content % 3];
                commit_all(&tree.0, "Keep");
                run_git(&tree.0, &["switch", "--quiet", "--detach", to]);
                format!("{at}: switch to {to}")
            }
            7 => {
                if let Some(root) = self.find_root(tree).await {
                    self.ingest.remove_root(&root.name).await.unwrap();
                }
                format!("{at}: forget")
            }
            8 => {
                self.faults.fail_after_writes(writes);
                let state = match self.ingest.start_run(build_request(&tree.0)).await {
                    Ok(_) => self.run_tree(tree).await,
                    Err(_) => RunState::Error,
                };
                self.faults.stop_failing();
                format!("{at}: run of {writes} writes, {state:?}")
            }
            9 => {
                let Some(root) = self.find_root(tree).await else { return String::new() };
                self.faults.fail_after_writes(writes);
                let removed = self.ingest.remove_root(&root.name).await.is_ok();
                self.faults.stop_failing();
                format!("{at}: forget with {writes} writes, {removed}")
            }
            _ => format!("{at}: run, {:?}", self.run_tree(tree).await),
        }
    }

    /// Compares a tree with an index of it alone.
    async fn compare_tree(&self, tree: &TestRepository, steps: &[String]) {
        let state = self.run_tree(tree).await;
        let root = self.find_root(tree).await;
        assert!(
            matches!(state, RunState::Completed | RunState::Skipped),
            "{state:?} {root:?} {steps:#?}"
        );
        let id = root.unwrap().id;
        let fresh = TestIndex::new().await;
        fresh.ingest(tree).await;
        let expected = list_tree_chunks(&fresh.store, id).await;
        assert_eq!(
            list_tree_chunks(&self.store, id).await,
            expected,
            "{} {steps:#?}",
            tree.0.display()
        );
        for text in ["f2 g3", "fn f1() { g1() }"] {
            let to = self.embedder.embed_query(text.to_owned()).await.unwrap();
            for limit in [3, 100] {
                let nearest = async |store: &Store| {
                    let found = store
                        .search(ChunkQuery::nearest(to.clone(), Some(id), limit))
                        .await
                        .unwrap();
                    found.into_iter().map(|one| (one.id, one.record.path)).collect::<Vec<_>>()
                };
                assert_eq!(nearest(&self.store).await, nearest(&fresh.store).await, "{steps:#?}");
            }
            // Term weights depend on the whole store.
            let lexical = async |store: &Store| {
                let found = store
                    .search(ChunkQuery::lexical(
                        lexical::extract_query_terms(text),
                        Some(id),
                        MAX_PAGE,
                    ))
                    .await
                    .unwrap();
                found.into_iter().map(|one| one.id).collect::<BTreeSet<_>>()
            };
            assert_eq!(lexical(&self.store).await, lexical(&fresh.store).await, "{steps:#?}");
        }
        let counts = fresh.load_root().await.counts;
        let root = self.find_root(tree).await.unwrap();
        assert_eq!(
            (root.counts.files, root.counts.chunks),
            (counts.files, counts.chunks),
            "{steps:#?}"
        );
    }
}

/// Takes some steps and compares after each tenth.
async fn check_random_steps(index: TreeIndex, scene: &TestIndex, mut seed: u64) {
    let main = scene.create_repository(&format!("main{seed}"), &[("a.rs", "fn a() {}\n")]);
    commit_all(&main.0, "Begin");
    for branch in ["one", "two", "three"] {
        run_git(&main.0, &["branch", branch]);
    }
    let name = |number: u32| format!("tree{seed}-{number}");
    let others = [1, 2].map(|number| add_worktree(&main, &name(number), &["--detach"]));
    let [one, two] = others;
    let mut branch = main.0.clone().into_os_string();
    branch.push("@two");
    let trees = [main, one, two, TestRepository(branch.into())];
    let owner = RootId::from_path(&trees[0].0);
    let mut steps = Vec::new();
    for step in 0..STEPS {
        steps.push(index.take_step(&mut seed, &trees).await);
        if step % 10 == 9 {
            for tree in &trees {
                if index.find_root(tree).await.is_some() {
                    index.compare_tree(tree, &steps).await;
                }
            }
            let kept = index.store.chunks_of_owner(owner, None, MAX_PAGE).await.unwrap();
            let mut places = HashSet::new();
            for stored in kept {
                let record = stored.record;
                let place = (record.path, record.version, record.start_line);
                assert!(places.insert(place.clone()), "{place:?} {steps:#?}");
            }
        }
    }
    for tree in &trees {
        if let Some(root) = index.find_root(tree).await {
            index.ingest.remove_root(&root.name).await.unwrap();
        }
    }
    let left = index.store.chunks_of_owner(owner, None, MAX_PAGE).await.unwrap();
    assert!(left.is_empty(), "{left:?} {steps:#?}");
    for root in [owner].into_iter().chain(RootId::former_record_ids(owner)) {
        assert!(index.store.files(root).await.unwrap().is_empty(), "{steps:#?}");
    }
    assert_eq!(index.store.count(None).await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_tree_equals_an_index_of_it_alone_in_the_embedded_store() {
    for seed in 1..7 {
        let index = TestIndex::new().await;
        let tree_index = TreeIndex {
            store: index.store.clone(),
            ingest: index.ingest.clone(),
            faults: Arc::clone(&index.faults),
            embedder: BuiltinEmbedder::load(index.tasks.clone()).unwrap(),
        };
        check_random_steps(tree_index, &index, seed).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_tree_equals_an_index_of_it_alone_on_a_server() {
    for seed in 11..13 {
        let (fixture, scene) = (QdrantFixture::new(), TestIndex::new().await);
        let faults = Arc::default();
        let IngestProcess { store, ingest } =
            IngestProcess::with_faults(&fixture, "one", &faults).await;
        let embedder = BuiltinEmbedder::load(scene.tasks.clone()).unwrap();
        check_random_steps(TreeIndex { store, ingest, faults, embedder }, &scene, seed).await;
    }
}
