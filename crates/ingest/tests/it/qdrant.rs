//! Ingest into a store that a Qdrant server keeps: connections and leases are lost in the middle of a run,
//! and several processes work side by side.

use codeinfo_test_support::ingest::write_large_repository;
use std::{fs, path::PathBuf, time::Duration};

use codeinfo_core::LastRun;
use codeinfo_ingest::{IngestRequest, RunState};
use codeinfo_test_support::qdrant::{
    FakeQdrant, FaultKind, FaultRule, fixture::QdrantFixture, process::IngestProcess,
};
use tempfile::TempDir;

/// Far more than any wait here takes.
const LIMIT: Duration = Duration::from_mins(3);

/// Creates a repository with enough files for several writes of a run.
fn create_repository(version: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write_large_repository(folder.path(), version);
    folder
}

fn make_fixture(fake_qdrant: &FakeQdrant) -> QdrantFixture {
    let mut fixture = QdrantFixture::for_server(fake_qdrant);
    fixture.settings.retry = Duration::from_secs(5);
    fixture
}

fn cut_after_writes(writes: usize) -> FaultRule {
    FaultRule { call: "upsert", of: "_chunks_", after: writes, times: 1, kind: FaultKind::Cut }
}

/// Waits until the fake server has closed its nodes.
async fn wait_until_cut(fake_qdrant: &FakeQdrant) {
    while fake_qdrant.is_node_open(0) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_continues_when_the_connection_comes_back() {
    let fake_qdrant = FakeQdrant::start();
    let fixture = make_fixture(&fake_qdrant);
    let process = IngestProcess::new(&fixture, "a").await;
    let repository = create_repository("one");
    fake_qdrant.add_fault(cut_after_writes(3));
    let back = async {
        wait_until_cut(&fake_qdrant).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        fake_qdrant.open_node(0);
    };
    let (status, ()) = tokio::join!(process.ingest(repository.path()), back);
    assert_eq!((status.state, status.last_error), (RunState::Completed, None));
    let chunks = process.list_chunk_ids().await;
    assert_eq!(chunks.len() as u64, status.counts.chunks);
    // Chunks that were written twice are stored once: a store without a loss has the same.
    let other = QdrantFixture::for_server(&fake_qdrant);
    let undisturbed = IngestProcess::new(&other, "b").await;
    undisturbed.ingest(repository.path()).await;
    assert_eq!(undisturbed.list_chunk_ids().await, chunks);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_for_its_store_says_so() {
    let fake_qdrant = FakeQdrant::start();
    let fixture = make_fixture(&fake_qdrant);
    let process = IngestProcess::new(&fixture, "a").await;
    let repository = create_repository("one");
    fake_qdrant.add_fault(cut_after_writes(3));
    let request = IngestRequest { path: repository.path().to_owned(), ..IngestRequest::default() };
    let run = process.ingest.start_run(request).await.unwrap();
    let told = loop {
        let status = process.ingest.run_status(run).unwrap();
        assert!(!status.state.is_final(), "{status:?}");
        match status.message {
            Some(message) => break message,
            None => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    };
    let waiting = "trying again: cannot use the index: Qdrant at `http://127.0.0.1:";
    assert!(told.starts_with(waiting) && told.contains("cannot be reached"), "{told}");
    fake_qdrant.open_node(0);
    let mut status = process.ingest.watch_run(run).unwrap();
    let ended = status.wait_for(|status| status.state.is_final()).await.unwrap().clone();
    assert_eq!((ended.state, ended.message), (RunState::Completed, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_store_is_gone_fails_clearly_and_restarts_when_it_is_back() {
    let fake_qdrant = FakeQdrant::start();
    let mut fixture = make_fixture(&fake_qdrant);
    fixture.settings.retry = Duration::from_millis(300);
    let process = IngestProcess::new(&fixture, "a").await;
    let repository = create_repository("one");
    let first = process.ingest(repository.path()).await;
    assert_eq!(first.state, RunState::Completed, "{first:?}");
    let before = process.list_chunk_ids().await;

    write_large_repository(repository.path(), "two");
    fake_qdrant.add_fault(cut_after_writes(4));
    let failed = process.ingest(repository.path()).await;
    assert_eq!(failed.state, RunState::Error);
    let error = failed.last_error.unwrap();
    assert!(error.starts_with("cannot write the index: Qdrant at `http://127.0.0.1:"), "{error}");
    assert!(error.contains("cannot be reached"), "{error}");
    assert!(error.ends_with("the run begins again when the index can be used"), "{error}");

    fake_qdrant.open_node(0);
    process.wait_for_last_run(LastRun::is_completed).await;
    assert_ne!(process.list_chunk_ids().await, before);
    let other = QdrantFixture::for_server(&fake_qdrant);
    let undisturbed = IngestProcess::new(&other, "b").await;
    undisturbed.ingest(repository.path()).await;
    assert_eq!(process.list_chunk_ids().await, undisturbed.list_chunk_ids().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_run_that_wrote_nothing_restarts() {
    let fake_qdrant = FakeQdrant::start();
    let mut fixture = make_fixture(&fake_qdrant);
    fixture.settings.retry = Duration::from_millis(300);
    let process = IngestProcess::new(&fixture, "a").await;
    let repository = create_repository("one");
    // After the calls that accept the run.
    let problem = FaultKind::Refuse(tonic::Code::Unavailable);
    fake_qdrant.add_fault(FaultRule {
        call: "scroll",
        of: "_roots_",
        after: 1,
        times: usize::MAX,
        kind: problem,
    });
    let failed = process.ingest(repository.path()).await;
    assert_eq!(failed.state, RunState::Error, "{failed:?}");
    fake_qdrant.clear_faults();
    process.wait_for_last_run(LastRun::is_completed).await;
    assert_eq!(process.list_roots().await[0].counts.files, 120);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cause_of_a_failure_decides_whether_a_run_restarts() {
    let fake_qdrant = FakeQdrant::start();
    let mut fixture = make_fixture(&fake_qdrant);
    fixture.settings.retry = Duration::from_millis(300);
    let process = IngestProcess::new(&fixture, "a").await;
    let repository = create_repository("one");
    let fail_with = |code| {
        let problem = FaultKind::Refuse(code);
        fake_qdrant.add_fault(FaultRule {
            call: "upsert",
            of: "_chunks_",
            after: 1,
            times: usize::MAX,
            kind: problem,
        });
    };
    // The next process continues it, and this one tries again.
    fail_with(tonic::Code::Unavailable);
    process.ingest(repository.path()).await;
    let resumes = |last_run: &LastRun| matches!(last_run, LastRun::Failed { resumes: true, .. });
    process.wait_for_last_run(resumes).await;
    let tried = fake_qdrant.count_calls("upsert", "_chunks_");
    while fake_qdrant.count_calls("upsert", "_chunks_") == tried {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // One that the server refuses would be refused again.
    fake_qdrant.clear_faults();
    fail_with(tonic::Code::InvalidArgument);
    let is_final = |last_run: &LastRun| matches!(last_run, LastRun::Failed { resumes: false, .. });
    process.wait_for_last_run(is_final).await;
    let tried = fake_qdrant.count_calls("upsert", "_chunks_");
    IngestProcess::new(&fixture, "a").await.ingest.repair_damaged_roots().await.unwrap();
    assert_eq!(fake_qdrant.count_calls("upsert", "_chunks_"), tried);
    assert!(is_final(&process.list_roots().await[0].last_run));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_loses_its_lease_ends_and_writes_no_more() {
    let fake_qdrant = FakeQdrant::start_nodes(2);
    let mut fixture = make_fixture(&fake_qdrant);
    let [a_url, b_url] = <[String; 2]>::try_from(fake_qdrant.urls()).unwrap();
    fixture.settings.urls = vec![a_url];
    fixture.settings.lease = Duration::from_secs(6);
    // Longer than the lease, so that it is the lease that ends the run.
    fixture.settings.retry = Duration::from_secs(20);
    let a = IngestProcess::new(&fixture, "a").await;
    let repository = create_repository("one");
    fake_qdrant.add_fault(cut_after_writes(2));
    let failed = a.ingest(repository.path()).await;
    assert_eq!(failed.state, RunState::Error);
    let error = failed.last_error.unwrap();
    assert!(error.starts_with("the lease of the repository was lost"), "{error}");
    // For the other process only: this one would begin again.
    fake_qdrant.open_node(1);
    fixture.settings.urls = vec![b_url];
    fixture.settings.lease = Duration::from_mins(1);
    // Started again on the same data folder, so that it need not wait for its own former lease.
    let b = IngestProcess::new(&fixture, "a").await;
    let writes = fake_qdrant.count_calls("upsert", "_files_");
    let status = b.ingest(repository.path()).await;
    assert_eq!((status.state, &status.last_error), (RunState::Completed, &None));
    assert!(writes < fake_qdrant.count_calls("upsert", "_files_"));
    let chunks = b.list_chunk_ids().await;
    assert_eq!(chunks.len() as u64, status.counts.chunks);
    // The first one knows what the second one wrote, and begins again to find nothing to do.
    fake_qdrant.open_node(0);
    let skipping = async {
        while a.ingest.list_roots().await.unwrap()[0].state != RunState::Skipped {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LIMIT, skipping).await.unwrap();
    assert_eq!((a.list_roots().await, a.list_chunk_ids().await), (b.list_roots().await, chunks));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_that_are_asked_for_a_root_at_once_index_it_once() {
    let fixture = QdrantFixture::new();
    let (a, b) = (IngestProcess::new(&fixture, "a").await, IngestProcess::new(&fixture, "b").await);
    let repository = create_repository("one");
    let (first, second) = tokio::join!(a.ingest(repository.path()), b.ingest(repository.path()));
    let mut states = [first.state, second.state];
    states.sort_by_key(|state| *state != RunState::Completed);
    assert_eq!(states, [RunState::Completed, RunState::Skipped], "{first:?} {second:?}");
    let embedded = first.counts.embedded + second.counts.embedded;
    assert_eq!(embedded, a.list_chunk_ids().await.len() as u64);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_root_that_another_process_indexes_is_reported_as_busy() {
    let fake_qdrant = FakeQdrant::start();
    let mut fixture = make_fixture(&fake_qdrant);
    fixture.settings.lease = Duration::from_secs(8);
    let (a, b) = (IngestProcess::new(&fixture, "a").await, IngestProcess::new(&fixture, "b").await);
    let repository = create_repository("one");
    let slow = FaultKind::Delay(Duration::from_millis(1600));
    fake_qdrant.add_fault(FaultRule {
        call: "upsert",
        of: "_chunks_",
        after: 0,
        times: 48,
        kind: slow,
    });
    let later = async {
        while fake_qdrant.count_calls("upsert", "_chunks_") == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let refused = b.ingest(repository.path()).await;
        let shown = b.ingest.list_roots().await.unwrap();
        (refused, shown, b.ingest.remove_root(repository.path().to_str().unwrap()).await)
    };
    let (done, (refused, shown, removed)) = tokio::join!(a.ingest(repository.path()), later);
    assert_eq!((done.state, refused.state), (RunState::Completed, RunState::Error));
    let told = "the repository is being changed by process a; try again when that has ended";
    assert_eq!(refused.last_error.unwrap(), told);
    assert_eq!(
        (shown[0].state, &shown[0].root.last_run),
        (RunState::Embedding, &LastRun::Completed)
    );
    assert_eq!(removed.err().unwrap().to_string(), told);
    // The reply to one process differs from the view of the other.
    let shown = a.ingest.list_roots().await.unwrap();
    assert!(shown.iter().all(|status| status.root.last_run.is_completed()), "{shown:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_root_that_another_process_removed_keeps_neither_name_nor_state() {
    let fixture = QdrantFixture::new();
    let (a, b) = (IngestProcess::new(&fixture, "a").await, IngestProcess::new(&fixture, "b").await);
    let folders = tempfile::tempdir().unwrap();
    let folder = |name: &str| -> PathBuf {
        let folder = folders.path().join(name).join("pumps");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("pump.rs"), format!("fn pump_{name}() {{}}\n")).unwrap();
        folder
    };
    let (one, two) = (folder("one"), folder("two"));
    assert_eq!(a.ingest(&one).await.root, "pumps");
    let seen: Vec<String> = b.list_roots().await.into_iter().map(|root| root.name).collect();
    assert_eq!(seen, ["pumps"]);
    b.ingest.remove_root("pumps").await.unwrap();
    assert_eq!(a.ingest.list_roots().await.unwrap(), []);
    // The name is free again, also for the process that used it first.
    assert_eq!(a.ingest(&two).await.root, "pumps");
    assert_eq!(b.ingest(&one).await.root, "pumps-2");
}
