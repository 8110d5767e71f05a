//! Which indexes are completed by themselves, and what becomes of those that cannot be.

use std::{fs, time::Duration};

use codeinfo_core::{LastRun, Root};
use codeinfo_test_support::ingest::{Bench, Repo};

/// Longer than a repair that failed waits to be tried again.
const TIMEOUT: Duration = Duration::from_mins(5);

/// Indexes a folder, has the store say something else of it, and adds a file.
async fn changed(bench: &Bench, name: &str, change: impl Fn(Root) -> Root) -> Repo {
    let repo = bench.repo(name, &[("a.rs", "fn a() {}\n")]);
    bench.ingest(&repo).await;
    let root = root(bench, name).await;
    bench.store.put_root(change(root)).await.unwrap();
    repo.write("b.rs", "fn b() {}\n");
    repo
}

fn saying(last_run: LastRun) -> impl Fn(Root) -> Root {
    move |root| Root { last_run: last_run.clone(), ..root }
}

async fn root(bench: &Bench, name: &str) -> Root {
    let roots = bench.store.roots().await.unwrap();
    roots.into_iter().find(|root| root.name == name).unwrap()
}

/// Waits for the end of all repairs.
async fn repaired(bench: &Bench) {
    tokio::time::timeout(TIMEOUT, bench.ingest.repair_damaged_roots()).await.unwrap().unwrap();
}

#[tokio::test]
async fn what_is_not_whole_is_completed_by_itself_and_nothing_else() {
    let bench = Bench::new().await;
    changed(&bench, "killed", saying(LastRun::Interrupted)).await;
    changed(&bench, "damaged", saying(LastRun::Damaged)).await;
    changed(&bench, "former", |root| Root { private_files: None, ..root }).await;
    changed(
        &bench,
        "unreadable",
        saying(LastRun::Failed { reason: "it is not readable".to_owned(), resumes: false }),
    )
    .await;
    let lost = LastRun::Failed { reason: "it was away".to_owned(), resumes: true };
    changed(&bench, "lost", saying(lost)).await;
    changed(&bench, "well", |root| root).await;
    repaired(&bench).await;
    for name in ["killed", "damaged", "former", "lost"] {
        let root = root(&bench, name).await;
        assert_eq!((root.counts.files, &root.last_run), (2, &LastRun::Completed), "{name}");
        assert_eq!(root.private_files, Some(Vec::new()), "{name}");
    }
    for name in ["unreadable", "well"] {
        assert_eq!(root(&bench, name).await.counts.files, 1, "{name}");
    }
}

#[tokio::test]
async fn what_could_not_be_completed_is_tried_again() {
    let bench = Bench::new().await;
    changed(&bench, "leased", saying(LastRun::Interrupted)).await;
    let away = changed(&bench, "away", saying(LastRun::Interrupted)).await;
    let elsewhere = away.0.with_extension("elsewhere");
    fs::rename(&away.0, &elsewhere).unwrap();
    bench.faults.lease_once(root(&bench, "leased").await.id);
    let mending = repaired(&bench);
    let coming_back = async {
        while root(&bench, "away").await.last_run == LastRun::Interrupted {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        fs::rename(&elsewhere, &away.0).unwrap();
    };
    tokio::join!(mending, coming_back);
    assert!(!bench.faults.is_leased(root(&bench, "leased").await.id), "nobody asked");
    for name in ["leased", "away"] {
        let root = root(&bench, name).await;
        assert_eq!((root.counts.files, &root.last_run), (2, &LastRun::Completed), "{name}");
    }
}

#[tokio::test]
async fn a_run_that_lost_the_store_and_then_fails_otherwise_is_left_to_people() {
    let bench = Bench::new().await;
    let lost = LastRun::Failed { reason: "it was away".to_owned(), resumes: true };
    let gone = changed(&bench, "gone", saying(lost)).await;
    fs::remove_dir_all(&gone.0).unwrap();
    repaired(&bench).await;
    let last_run = root(&bench, "gone").await.last_run;
    assert!(matches!(&last_run, LastRun::Failed { resumes: false, .. }), "{last_run:?}");
}

#[tokio::test]
async fn a_repair_that_is_cancelled_is_not_begun_again() {
    let bench = Bench::new().await;
    changed(&bench, "killed", saying(LastRun::Interrupted)).await;
    bench.faults.hold();
    let cancelling = async {
        bench.faults.held().await;
        let roots = bench.ingest.list_roots().await.unwrap();
        let run = roots[0].run_id.expect("a run is at work");
        bench.ingest.cancel_run(run).unwrap();
        bench.faults.release();
    };
    let soon = tokio::time::timeout(Duration::from_secs(30), repaired(&bench));
    tokio::join!(soon, cancelling).0.unwrap();
}
