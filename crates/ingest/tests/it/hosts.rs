//! Hosts that share a store: each has its own roots, and common content of their repositories is stored once.

use std::{collections::BTreeSet, fs, sync::Arc};

use codeinfo_core::{LastRun, PathMap, Root, RootFilter, RootId, task::Tasks};
use codeinfo_embed::BuiltinEmbedder;
use codeinfo_evidence::{Evidence, IndexedFileState as LinesState, RequestedLines};
use codeinfo_ingest::RunState;
use codeinfo_search::{ResultFreshness, Search, SearchQuery, render_excerpt};
use codeinfo_store::{OnMismatch, StoreError};
use codeinfo_test_support::{
    git::{commit_all, run_git},
    ingest::{TestRepository, list_tree_chunks},
    qdrant::{fixture::QdrantFixture, process::IngestProcess},
    store::{EngineStorage, MODEL},
};
use tempfile::TempDir;

const PUMP: &str = "/// Fills the tank.\nfn fill() {\n    open_valve();\n}\n";

/// A server for hosts that have other files at a path.
fn fixture_for_separate_hosts() -> QdrantFixture {
    let mut fixture = QdrantFixture::new();
    fixture.settings.shared_paths = false;
    fixture
}

fn create_repository(base: &TempDir, name: &str) -> TestRepository {
    let repository = TestRepository(base.path().canonicalize().unwrap().join(name));
    repository.write("pump.rs", PUMP);
    repository.write("drain.rs", "fn drain() {}\n");
    commit_all(&repository.0, "Begin");
    repository
}

/// Clones the committed files, optionally with the address of a remote that does not exist.
fn clone_repository(of: &TestRepository, name: &str, remote: Option<&str>) -> TestRepository {
    let folder = of.0.with_file_name(name);
    run_git(&of.0, &["clone", "--quiet", ".", folder.to_str().unwrap()]);
    match remote {
        Some(remote) => run_git(&folder, &["remote", "set-url", "origin", remote]),
        None => run_git(&folder, &["remote", "remove", "origin"]),
    };
    TestRepository(folder)
}

async fn find_own_root(process: &IngestProcess) -> Root {
    let roots = process.store.roots().await.unwrap();
    roots.into_iter().find(|root| root.host.is_none()).unwrap()
}

async fn count_chunks(process: &IngestProcess) -> u64 {
    process.store.count(None).await.unwrap()
}

async fn list_paths(process: &IngestProcess, root: &Root) -> BTreeSet<String> {
    list_tree_chunks(&process.store, root.id).await.into_iter().map(|(path, ..)| path).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_with_other_files_at_a_path_do_not_overwrite_each_others() {
    let fixture = fixture_for_separate_hosts();
    let (a, b) = (IngestProcess::new(&fixture, "a").await, IngestProcess::new(&fixture, "b").await);
    let base = tempfile::tempdir().unwrap();
    let folder = base.path().canonicalize().unwrap().join("app");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("pump.rs"), PUMP).unwrap();
    assert_eq!(a.ingest(&folder).await.root, "app");
    fs::remove_file(folder.join("pump.rs")).unwrap();
    fs::write(folder.join("mill.rs"), "fn grind() {}\n").unwrap();
    assert_eq!(b.ingest(&folder).await.root, "app-host-b");

    let (of_a, of_b) = (find_own_root(&a).await, find_own_root(&b).await);
    assert_ne!(of_a.id, of_b.id);
    assert_eq!(list_paths(&b, &of_a).await, BTreeSet::from(["pump.rs".to_owned()]));
    assert_eq!(list_paths(&a, &of_b).await, BTreeSet::from(["mill.rs".to_owned()]));
    let hosts = |roots: Vec<Root>| -> Vec<Option<String>> {
        roots.into_iter().map(|root| root.host.map(|host| host.name)).collect()
    };
    let host = |name: &str| Some(name.to_owned());
    assert_eq!(hosts(a.store.roots().await.unwrap()), [None, host("host-b")]);
    assert_eq!(hosts(b.store.roots().await.unwrap()), [host("host-a"), None]);
    // The path means the folder of this host.
    assert_eq!(b.ingest(&folder).await.state, RunState::Skipped);
    let refused = b.ingest.reembed_root("app").await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`app` is on host-a; run this there, or `codeinfo remove app` to forget it"
    );
    let removed = b.ingest.remove_root(folder.to_str().unwrap()).await.unwrap();
    assert_eq!((removed.name.as_str(), count_chunks(&a).await), ("app-host-b", 1));
    // Other hosts can remove the roots of a host that is gone.
    b.ingest.remove_root("app").await.unwrap();
    assert_eq!((a.store.roots().await.unwrap().len(), count_chunks(&a).await), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_on_another_host_is_found_and_read_as_it_was_indexed() {
    let fixture = fixture_for_separate_hosts();
    let (a, b) = (IngestProcess::new(&fixture, "a").await, IngestProcess::new(&fixture, "b").await);
    let base = tempfile::tempdir().unwrap();
    let app = create_repository(&base, "app");
    a.ingest(&app.0).await;
    // Another repository is at that path here.
    app.write("pump.rs", "fn other() {}\n");
    let embedder = Arc::new(BuiltinEmbedder::load(Tasks::default()).unwrap());
    let search = Search::new(b.store.clone(), embedder, PathMap::default());
    let query = SearchQuery::new("fill the tank", None, Some(5)).unwrap();
    let found = search.find_chunks(&query).await.unwrap();
    let best = &found.hits[0];
    assert_eq!((best.rel_path.as_str(), best.host.as_deref()), ("pump.rs", Some("host-a")));
    let freshness = search.check_freshness(&found).await.unwrap();
    let text = render_excerpt(&found, "tank", &freshness, &BTreeSet::new(), 4000).text;
    let header = format!("{}:1-4 `fill` (on host-a)\n", app.join("pump.rs").display());
    assert!(text.contains(&header), "{text}");
    assert_ne!(freshness, ResultFreshness::default());

    let evidence = Evidence::new(b.store.clone(), PathMap::default());
    for path in [app.join("pump.rs").to_str().unwrap(), "app/pump.rs"] {
        let read = evidence
            .read_lines(path, RequestedLines::default(), RootFilter::Everything)
            .await
            .unwrap();
        assert_eq!(read.state, LinesState::OnOtherHost("host-a".to_owned()));
        assert_eq!(read.lines[2], (3, "    open_valve();".to_owned()));
    }
    let evidence = Evidence::new(a.store.clone(), PathMap::default());
    let read = evidence
        .read_lines("app/pump.rs", RequestedLines::default(), RootFilter::Everything)
        .await
        .unwrap();
    assert_eq!(read.lines[0].1, "fn other() {}");
}

#[tokio::test(flavor = "multi_thread")]
async fn clones_of_a_repository_on_several_hosts_are_kept_once() {
    let base = tempfile::tempdir().unwrap();
    let main = create_repository(&base, "main");
    let remote = Some("git@github.com:tanks/pumps.git");
    let shallow = main.0.with_file_name("shallow");
    let from = format!("file://{}", main.0.display());
    main.write("drain.rs", "fn drain() {}\n\nfn leak() {}\n");
    commit_all(&main.0, "Leak");
    run_git(&main.0, &["clone", "--quiet", "--depth=1", &from, shallow.to_str().unwrap()]);
    run_git(&shallow, &["remote", "set-url", "origin", "https://me:key@github.com/Tanks/pumps"]);
    for (one, other) in [
        // The same first commit.
        (
            clone_repository(&main, "a", None),
            clone_repository(&main, "b", Some("https://git.example/fork")),
        ),
        // The same remote, of which one has no first commit.
        (clone_repository(&main, "c", remote), TestRepository(shallow.clone())),
        (TestRepository(shallow.clone()), clone_repository(&main, "d", remote)),
    ] {
        let fixture = fixture_for_separate_hosts();
        let (a, b) =
            (IngestProcess::new(&fixture, "a").await, IngestProcess::new(&fixture, "b").await);
        let first = a.ingest(&one.0).await;
        assert_eq!((first.counts.embedded, first.counts.chunks), (2, 2));
        let second = b.ingest(&other.0).await;
        assert_eq!((second.counts.embedded, second.counts.chunks), (0, 2));
        assert_eq!(count_chunks(&a).await, 2);
        let (of_a, of_b) = (find_own_root(&a).await, find_own_root(&b).await);
        assert_eq!(of_a.repository, of_b.repository);
        assert!(!format!("{of_b:?}").contains("key"), "{of_b:?}");
        // Each has what it has.
        other.write("pump.rs", "fn other() {}\n");
        assert_eq!(b.ingest(&other.0).await.counts.embedded, 1);
        assert_eq!(
            list_tree_chunks(&a.store, of_a.id).await,
            list_tree_chunks(&b.store, of_a.id).await
        );
        let text = |held: BTreeSet<(String, u32, String)>| {
            held.into_iter().find(|(path, ..)| path == "pump.rs").unwrap().2
        };
        assert!(text(list_tree_chunks(&a.store, of_a.id).await).contains("open_valve"));
        assert!(text(list_tree_chunks(&a.store, of_b.id).await).contains("other"));
        run_git(&other.0, &["checkout", "--quiet", "pump.rs"]);
        a.ingest.remove_root(&of_a.name).await.unwrap();
        assert_eq!(b.ingest(&other.0).await.counts.embedded, 0);
        b.ingest.remove_root(&of_b.name).await.unwrap();
        assert_eq!(count_chunks(&a).await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn worktrees_share_on_one_host_and_other_repositories_nowhere() {
    let fixture = fixture_for_separate_hosts();
    let (a, b) = (IngestProcess::new(&fixture, "a").await, IngestProcess::new(&fixture, "b").await);
    let base = tempfile::tempdir().unwrap();
    let main = create_repository(&base, "main");
    run_git(&main.0, &["worktree", "add", "--quiet", "--orphan", "-b", "pages", "../pages"]);
    let pages = TestRepository(main.0.with_file_name("pages"));
    pages.write("pump.rs", PUMP);
    commit_all(&pages.0, "Begin otherwise");
    a.ingest(&main.0).await;
    // Its history begins elsewhere, and yet it is of the same folder of git.
    assert_eq!(a.ingest(&pages.0).await.counts.embedded, 0);
    let other = create_repository(&base, "other");
    // Made in the same second, it had the same commit.
    run_git(&other.0, &["commit", "--quiet", "--amend", "--message", "Begin another one"]);
    assert_eq!(b.ingest(&other.0).await.counts.embedded, 2);
    assert_eq!(count_chunks(&a).await, 4);
    // A repository without a commit is shared with no other host.
    let empty = TestRepository(main.0.with_file_name("empty"));
    empty.write("pump.rs", PUMP);
    run_git(&empty.0, &["init", "--quiet"]);
    assert_eq!(b.ingest(&empty.0).await.counts.embedded, 1);
    let roots = b.store.roots().await.unwrap();
    let of_empty = roots.iter().find(|root| root.name == "empty").unwrap();
    let origin = of_empty.origin.clone().unwrap();
    assert_eq!((origin.remote, origin.first_commit), (None, None));
    assert_eq!(
        of_empty.repository,
        Some(RootId::from_host_path(b.store.host().as_ref(), &empty.0))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_two_hosts_over_one_repository_come_one_after_the_other() {
    let fixture = fixture_for_separate_hosts();
    let (a, b) = (IngestProcess::new(&fixture, "a").await, IngestProcess::new(&fixture, "b").await);
    let base = tempfile::tempdir().unwrap();
    let main = create_repository(&base, "main");
    let other = clone_repository(&main, "other", None);
    let (first, second) = tokio::join!(a.ingest(&main.0), b.ingest(&other.0));
    for status in [&first, &second] {
        assert_eq!(status.state, RunState::Completed, "{status:?}");
    }
    assert_eq!((first.counts.embedded + second.counts.embedded, count_chunks(&a).await), (2, 2));
}

#[tokio::test]
async fn an_index_of_shared_paths_is_refused_until_it_is_rebuilt() {
    let mut fixture = QdrantFixture::new();
    let shared = fixture.open_for_model(MODEL, OnMismatch::Refuse).await.unwrap();
    shared.put_root(Root::from_folder("/somewhere/app".into())).await.unwrap();
    let refused = async |fixture: &QdrantFixture| {
        let opened = fixture.open_for_model(MODEL, OnMismatch::Refuse).await;
        match opened.err() {
            Some(error @ StoreError::PathsMismatch { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    fixture.settings.shared_paths = false;
    let output_text = refused(&fixture).await;
    assert!(output_text.contains("set `QDRANT_SHARED_PATHS=true` if that is so"), "{output_text}");
    assert!(output_text.contains("`--reembed`"), "{output_text}");
    let apart = fixture.open_for_model(MODEL, OnMismatch::Discard).await.unwrap();
    // Nothing shows which host it belongs to.
    let [root] = &apart.roots().await.unwrap()[..] else { panic!() };
    assert!(root.host.as_ref().unwrap().is_unknown());
    apart.put_root(root.clone()).await.unwrap();
    assert_eq!(apart.roots().await.unwrap(), std::slice::from_ref(root));
    fixture.settings.shared_paths = true;
    let output_text = refused(&fixture).await;
    assert!(output_text.contains("leave out `QDRANT_SHARED_PATHS`"), "{output_text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_completes_and_watches_only_its_own_repositories() {
    let fixture = fixture_for_separate_hosts();
    let (a, b) = (IngestProcess::new(&fixture, "a").await, IngestProcess::new(&fixture, "b").await);
    let base = tempfile::tempdir().unwrap();
    let main = create_repository(&base, "main");
    a.ingest(&main.0).await;
    let interrupted = Root { last_run: LastRun::Interrupted, ..find_own_root(&a).await };
    a.store.put_root(interrupted).await.unwrap();
    b.ingest.repair_damaged_roots().await.unwrap();
    assert_eq!(b.store.roots().await.unwrap()[0].last_run, LastRun::Interrupted);
    a.ingest.repair_damaged_roots().await.unwrap();
    assert_eq!(find_own_root(&a).await.last_run, LastRun::Completed);
    // The same repository answers for a tree that is not indexed here, unless nothing shows that it is the same.
    assert_eq!(b.ingest.find_client_tree(&main.0).await, None);
    run_git(&main.0, &["remote", "add", "origin", "https://git.example/pumps"]);
    a.ingest(&main.0).await;
    let standing = b.ingest.find_client_tree(&main.0).await.unwrap();
    assert_eq!((standing.tree.name.as_str(), standing.worktree), ("main", Some(main.0.clone())));
}
