//! Indexes that are completed automatically, and the fate of those that cannot be.

use std::{fs, time::Duration};

use codeinfo_core::{LastRun, Root};
use codeinfo_test_support::ingest::{TestIndex, TestRepository};

/// Longer than a repair that failed waits to be tried again.
const TIMEOUT: Duration = Duration::from_mins(5);

/// Indexes a folder, changes its record in the store, and adds a file.
async fn index_and_change(
    index: &TestIndex,
    name: &str,
    change: impl Fn(Root) -> Root,
) -> TestRepository {
    let repository = index.create_repository(name, &[("a.rs", "fn a() {}\n")]);
    index.ingest(&repository).await;
    let root = find_root(index, name).await;
    index.store.put_root(change(root)).await.unwrap();
    repository.write("b.rs", "fn b() {}\n");
    repository
}

fn with_last_run(last_run: LastRun) -> impl Fn(Root) -> Root {
    move |root| Root { last_run: last_run.clone(), ..root }
}

async fn find_root(index: &TestIndex, name: &str) -> Root {
    let roots = index.store.roots().await.unwrap();
    roots.into_iter().find(|root| root.name == name).unwrap()
}

/// Waits for the end of all repairs.
async fn wait_for_repairs(index: &TestIndex) {
    tokio::time::timeout(TIMEOUT, index.ingest.repair_damaged_roots()).await.unwrap().unwrap();
}

#[tokio::test]
async fn only_incomplete_indexes_are_completed_automatically() {
    let index = TestIndex::new().await;
    index_and_change(&index, "killed", with_last_run(LastRun::Interrupted)).await;
    index_and_change(&index, "damaged", with_last_run(LastRun::Damaged)).await;
    index_and_change(&index, "former", |root| Root { private_files: None, ..root }).await;
    index_and_change(
        &index,
        "unreadable",
        with_last_run(LastRun::Failed { reason: "it is not readable".to_owned(), resumes: false }),
    )
    .await;
    let lost = LastRun::Failed { reason: "it was away".to_owned(), resumes: true };
    index_and_change(&index, "lost", with_last_run(lost)).await;
    index_and_change(&index, "well", |root| root).await;
    wait_for_repairs(&index).await;
    for name in ["killed", "damaged", "former", "lost"] {
        let root = find_root(&index, name).await;
        assert_eq!((root.counts.files, &root.last_run), (2, &LastRun::Completed), "{name}");
        assert_eq!(root.private_files, Some(Vec::new()), "{name}");
    }
    for name in ["unreadable", "well"] {
        assert_eq!(find_root(&index, name).await.counts.files, 1, "{name}");
    }
}

#[tokio::test]
async fn failed_repairs_are_retried() {
    let index = TestIndex::new().await;
    index_and_change(&index, "leased", with_last_run(LastRun::Interrupted)).await;
    let away = index_and_change(&index, "away", with_last_run(LastRun::Interrupted)).await;
    let elsewhere = away.0.with_extension("elsewhere");
    fs::rename(&away.0, &elsewhere).unwrap();
    index.faults.lease_to_other_process(find_root(&index, "leased").await.id);
    let mending = wait_for_repairs(&index);
    let coming_back = async {
        while find_root(&index, "away").await.last_run == LastRun::Interrupted {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        fs::rename(&elsewhere, &away.0).unwrap();
    };
    tokio::join!(mending, coming_back);
    assert!(
        !index.faults.end_foreign_lease(find_root(&index, "leased").await.id),
        "no lease was requested"
    );
    for name in ["leased", "away"] {
        let root = find_root(&index, name).await;
        assert_eq!((root.counts.files, &root.last_run), (2, &LastRun::Completed), "{name}");
    }
}

#[tokio::test]
async fn a_run_that_lost_the_store_and_then_fails_otherwise_is_not_restarted() {
    let index = TestIndex::new().await;
    let lost = LastRun::Failed { reason: "it was away".to_owned(), resumes: true };
    let gone = index_and_change(&index, "gone", with_last_run(lost)).await;
    fs::remove_dir_all(&gone.0).unwrap();
    wait_for_repairs(&index).await;
    let last_run = find_root(&index, "gone").await.last_run;
    assert!(matches!(&last_run, LastRun::Failed { resumes: false, .. }), "{last_run:?}");
}

#[tokio::test]
async fn a_cancelled_repair_is_not_restarted() {
    let index = TestIndex::new().await;
    index_and_change(&index, "killed", with_last_run(LastRun::Interrupted)).await;
    index.faults.hold_writes();
    let cancelling = async {
        index.faults.wait_for_held_write().await;
        let roots = index.ingest.list_roots().await.unwrap();
        let run = roots[0].run_id.expect("a run is at work");
        index.ingest.cancel_run(run).unwrap();
        index.faults.release_writes();
    };
    let soon = tokio::time::timeout(Duration::from_secs(30), wait_for_repairs(&index));
    tokio::join!(soon, cancelling).0.unwrap();
}
