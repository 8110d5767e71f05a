//! Runs of ingest with the real store and the real embedder.

use std::{fs, sync::Arc, time::Duration};

use codeinfo_core::{IndexCounts, LastRun, Root, error::ErrorCode, task::Tasks};
use codeinfo_embed::{BuiltinEmbedder, lexical};
use codeinfo_ingest::{IngestRequest, RootStatus, RunState};
use codeinfo_test_support::ingest::{LIMITS, TestIndex, TestRepository, build_request};
use insta::assert_snapshot;

#[tokio::test(flavor = "multi_thread")]
async fn a_first_run_indexes_every_file() {
    let index = TestIndex::new().await;
    let repository = index
        .create_repository("demo", &[("src/a.rs", "fn alpha() {}\n"), ("README.md", "# Demo\n")]);
    let status = index.ingest(&repository).await;
    assert_eq!(status.state, RunState::Completed);
    assert_snapshot!(render_json(&status), @r#"
    {
      "runId": "[runId]",
      "state": "completed",
      "root": "demo",
      "counts": {
        "files": 2,
        "chunks": 2,
        "embedded": 2,
        "skipped": 0,
        "deleted": 0
      },
      "fileIndex": 2,
      "fileTotal": 2,
      "percent": 100
    }
    "#);
    assert_eq!(index.describe_chunks().await["src/a.rs"], ["1-1 rust alpha"]);
    let roots = index.ingest.list_roots().await.unwrap();
    let [RootStatus { root, state: RunState::Completed, run_id: None }] = &roots[..] else {
        panic!("{roots:?}")
    };
    assert_eq!((root.name.as_str(), &root.last_run), ("demo", &LastRun::Completed));
    assert_eq!(root.counts, IndexCounts { files: 2, chunks: 2, embedded: 2 });
    assert!(root.last_ingest_at.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_changes_is_skipped() {
    let index = TestIndex::new().await;
    let repository = index.create_repository(
        "demo",
        &[("a.rs", "fn a() {}\n"), ("data.bin2", "\0"), ("empty.rs", "")],
    );
    index.ingest(&repository).await;
    let before = index.list_chunk_ids().await;
    let status = index.ingest(&repository).await;
    assert_eq!((status.state, status.percent), (RunState::Skipped, 100));
    assert_eq!((status.counts.files, status.counts.embedded), (1, 0));
    assert_eq!(index.list_chunk_ids().await, before);
    assert_eq!(index.load_root().await.counts.chunks, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_changed_is_embedded() {
    let index = TestIndex::new().await;
    let repository =
        index.create_repository("demo", &[("a.rs", "fn a() {}\n"), ("b.rs", "fn b() {}\n")]);
    index.ingest(&repository).await;
    // Same length and perhaps the same modification time: the content decides.
    repository.write("b.rs", "fn c() {}\n");
    let status = index.ingest(&repository).await;
    assert_eq!((status.state, status.counts.embedded), (RunState::Completed, 1));
    let chunks = index.describe_chunks().await;
    assert_eq!(chunks["a.rs"], ["1-1 rust a"]);
    assert_eq!(chunks["b.rs"], ["1-1 rust c"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_files_are_taken_out() {
    let index = TestIndex::new().await;
    let repository =
        index.create_repository("demo", &[("a.rs", "fn a() {}\n"), ("b/c.rs", "fn b() {}\n")]);
    index.ingest(&repository).await;
    fs::remove_dir_all(repository.join("b")).unwrap();
    let status = index.ingest(&repository).await;
    assert_eq!((status.state, status.counts.deleted), (RunState::Completed, 1));
    assert_eq!(index.describe_chunks().await.into_keys().collect::<Vec<_>>(), ["a.rs"]);
    assert_eq!(index.list_indexed_files().await, ["a.rs"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_many_chunks_is_written_and_removed_in_parts() {
    let index = TestIndex::new().await;
    let body = "    work();\n".repeat(50);
    let code: Vec<String> = (0..1300).map(|n| format!("fn work_{n}() {{\n{body}}}\n\n")).collect();
    let repository = index.create_repository(
        "demo",
        &[("large.rs", &code.concat()), ("small.rs", "fn small() {}\n")],
    );
    let chunks = index.ingest(&repository).await.counts.chunks;
    assert!(chunks > 1024, "{chunks}");
    fs::remove_file(repository.join("large.rs")).unwrap();
    assert_eq!(index.ingest(&repository).await.counts.chunks, 1);
    // Others write between the parts.
    assert_eq!(index.faults.max_chunks_per_write(), [256, 1024]);
}

#[tokio::test(flavor = "multi_thread")]
async fn moved_and_swapped_files_are_found_where_they_are() {
    let index = TestIndex::new().await;
    let repository = index.create_repository(
        "demo",
        &[("a.rs", "fn a() {}\n"), ("b.rs", "fn b() {}\n"), ("c.rs", "fn c() {}\n")],
    );
    index.ingest(&repository).await;
    fs::rename(repository.join("c.rs"), repository.join("d.rs")).unwrap();
    repository.write("a.rs", "fn b() {}\n");
    repository.write("b.rs", "fn a() {}\n");
    assert_eq!(index.ingest(&repository).await.state, RunState::Completed);
    let chunks = index.describe_chunks().await;
    assert_eq!(chunks["a.rs"], ["1-1 rust b"]);
    assert_eq!(chunks["b.rs"], ["1-1 rust a"]);
    assert_eq!(chunks["d.rs"], ["1-1 rust c"]);
    assert_eq!(chunks.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_finds_nothing_says_so() {
    let index = TestIndex::new().await;
    let repository =
        index.create_repository("demo", &[(".gitignore", "/*\n"), ("a.rs", "fn a() {}\n")]);
    for state in [RunState::Completed, RunState::Skipped] {
        let status = index.ingest(&repository).await;
        assert_eq!(status.state, state);
        let message = status.message.unwrap();
        assert!(message.starts_with("found nothing to index: ") && message.contains(".gitignore"));
    }
    repository.write(".gitignore", "");
    assert_eq!(index.ingest(&repository).await.message, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_cannot_be_indexed_are_counted_and_named() {
    let index = TestIndex::new().await;
    let repository = index.create_repository("demo", &[("a.rs", "fn a() {}\n"), ("large.txt", "")]);
    repository.write("large.txt", &"x\n".repeat(600_000));
    repository.write("key.txt", "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n");
    for state in [RunState::Completed, RunState::Skipped] {
        let status = index.ingest(&repository).await;
        assert_eq!((status.state, status.counts.skipped), (state, 2));
        assert_eq!(
            status.message.unwrap(),
            "skipped 2 files: key.txt (holds secrets), large.txt (too large)"
        );
    }
    assert_eq!(index.describe_chunks().await.into_keys().collect::<Vec<_>>(), ["a.rs"]);
    // A file that is no text any more is removed from the index.
    fs::write(repository.join("a.rs"), b"caf\xe9\0\0\n").unwrap();
    let status = index.ingest(&repository).await;
    assert_eq!((status.state, status.counts.chunks), (RunState::Completed, 0));
    assert!(index.describe_chunks().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn files_in_other_encodings_are_indexed_and_undecodable_ones_are_named() {
    let index = TestIndex::new().await;
    let repository = index
        .create_repository("demo", &[("latin.c", ""), ("cr.py", "a = 1\rb = 2\r"), ("nul.c", "")]);
    fs::write(repository.join("latin.c"), b"/* by J\xfcrgen */\nint add;\n").unwrap();
    fs::write(repository.join("nul.c"), b"int before = 1; /* \0 */ int after = 2;\n").unwrap();
    let status = index.ingest(&repository).await;
    assert_eq!(
        status.message.unwrap(),
        "read 1 file with `\u{fffd}` for what is in no known encoding: nul.c"
    );
    let mut texts: Vec<String> =
        index.load_stored_chunks().await.into_iter().map(|stored| stored.record.text).collect();
    texts.sort();
    assert_eq!(
        texts,
        [
            "/* by Jürgen */\nint add;",
            "a = 1\nb = 2",
            "int before = 1; /* \u{fffd} */ int after = 2;"
        ]
    );
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn unreadable_files_keep_their_indexed_content() {
    use std::os::unix::fs::PermissionsExt;
    let index = TestIndex::new().await;
    let repository =
        index.create_repository("demo", &[("a.rs", "fn a() {}\n"), ("sub/b.rs", "fn b() {}\n")]);
    index.ingest(&repository).await;
    let close = |path: &str, mode| {
        fs::set_permissions(repository.join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    close("sub", 0o000);
    // The superuser reads everything, so that the test cannot work for it.
    let is_superuser = fs::read_dir(repository.join("sub")).is_ok();
    let status = index.ingest(&repository).await;
    close("sub", 0o755);
    let skipped = u64::from(!is_superuser);
    assert_eq!((status.state, status.counts.skipped), (RunState::Skipped, skipped));
    assert_eq!(index.describe_chunks().await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_folder_is_one_root_under_each_of_its_paths() {
    let index = TestIndex::new().await;
    let repository = index.create_repository("demo", &[("a.rs", "fn a() {}\n"), ("sub/b.rs", "")]);
    index.ingest(&repository).await;
    let detour = repository.join("sub").join("..");
    let status = index.run_ingest(build_request(&detour)).await;
    assert_eq!(status.state, RunState::Skipped);
    assert_eq!(index.ingest.list_roots().await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_unique_and_kept() {
    let index = TestIndex::new().await;
    let (first, second) =
        (index.create_repository("x/demo", &[]), index.create_repository("y/demo", &[]));
    assert_eq!(index.ingest(&first).await.root, "demo");
    assert_eq!(index.ingest(&second).await.root, "demo-2");
    let named = |repository: &TestRepository, name: &str| IngestRequest {
        name: Some(name.to_owned()),
        ..build_request(&repository.0)
    };
    let refused = index.ingest.start_run(named(&second, "demo")).await.unwrap_err();
    assert_eq!(
        (refused.code(), refused.to_string().as_str()),
        (ErrorCode::ValidationFailed, "`name` `demo` is the name of another repository")
    );
    assert_eq!(index.run_ingest(named(&second, "other")).await.root, "other");
    assert_eq!(index.ingest(&second).await.root, "other");
    assert_eq!(index.ingest.remove_root("demo").await.unwrap().path, first.0);
    assert_eq!(index.run_ingest(named(&second, "demo")).await.root, "demo");
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_that_are_no_folders_are_refused() {
    let index = TestIndex::new().await;
    let repository = index.create_repository("demo", &[("a.rs", "")]);
    let made = std::process::Command::new("mkfifo").arg(repository.join("pipe")).status().unwrap();
    assert!(made.success());
    let socket = std::os::unix::net::UnixListener::bind(repository.join("socket")).unwrap();
    std::os::unix::fs::symlink("/proc/self", repository.join("system")).unwrap();
    let shown = "the state of the system, not files";
    for (path, fault) in [
        ("gone", "does not exist"),
        ("a.rs", "is not a folder"),
        ("pipe", "is not a folder"),
        ("socket", "is not a folder"),
        ("/", "name the folder of one repository"),
        ("/proc", shown),
        ("/proc/self/fd", shown),
        ("/sys/kernel", shown),
        ("/dev", shown),
        ("/dev/null", shown),
        ("system", shown),
    ] {
        let started = index.ingest.start_run(build_request(&repository.join(path)));
        let started = tokio::time::timeout(Duration::from_secs(10), started).await;
        let error = started.expect("nothing is waited for").unwrap_err();
        assert_eq!(error.code(), ErrorCode::ValidationFailed);
        assert!(error.to_string().ends_with(fault), "{error}");
    }
    drop(socket);
    let error = index.ingest.remove_root("nobody").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::RepoNotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn removing_forgets_a_root_and_nothing_else() {
    let index = TestIndex::new().await;
    let (kept, removed) = (
        index.create_repository("kept", &[("a.rs", "fn a() {}\n")]),
        index.create_repository("removed", &[("b.rs", "fn b() {}\n")]),
    );
    index.ingest(&kept).await;
    index.ingest(&removed).await;
    let root = index.ingest.remove_root(removed.0.to_str().unwrap()).await.unwrap();
    assert_eq!(root.name, "removed");
    assert_eq!(index.describe_chunks().await.into_keys().collect::<Vec<_>>(), ["a.rs"]);
    assert_eq!(index.list_indexed_files().await, ["a.rs"]);
    assert_eq!(index.load_root().await.name, "kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn embedding_again_writes_the_same_points() {
    let index = TestIndex::new().await;
    let repository =
        index.create_repository("demo", &[("a.rs", "fn a() {}\n"), ("b.rs", "fn b() {}\n")]);
    index.ingest(&repository).await;
    let before = index.list_chunk_ids().await;
    let run = index.ingest.reembed_root("demo").await.unwrap();
    let status = index.wait_for_run(run).await;
    assert_eq!((status.state, status.counts.embedded), (RunState::Completed, 2));
    assert_eq!(index.list_chunk_ids().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_keeps_what_was_there() {
    let index = TestIndex::new().await;
    let repository = index.create_repository("demo", &[]);
    // More than one batch.
    let write = |symbol: &str| {
        for file in 0..600 {
            repository.write(&format!("{file:03}.rs"), &format!("fn {symbol}() {{}}\n"));
        }
    };
    write("old");
    index.ingest(&repository).await;
    let (root, files) = (index.load_root().await, index.list_indexed_files().await);
    write("new");
    index.faults.hold_writes();
    let run = index.ingest.start_run(build_request(&repository.0)).await.unwrap();
    index.faults.wait_for_held_write().await;
    // A second request while it works is the same run; other roots wait.
    assert_eq!(index.ingest.start_run(build_request(&repository.0)).await.unwrap(), run);
    let other = index
        .ingest
        .start_run(build_request(&index.create_repository("other", &[]).0))
        .await
        .unwrap();
    assert_eq!(index.ingest.run_status(other).unwrap().state, RunState::Queued);
    assert_eq!(index.ingest.cancel_run(other).unwrap().state, RunState::Cancelled);
    // Nothing was indexed by that name, so that another folder may have it.
    let namesake = IngestRequest {
        name: Some("other".to_owned()),
        ..build_request(&index.create_repository("third", &[]).0)
    };
    let namesake = index.ingest.start_run(namesake).await.unwrap();
    index.ingest.cancel_run(namesake).unwrap();
    index.ingest.cancel_run(run).unwrap();
    index.faults.release_writes();
    assert_eq!(index.wait_for_run(run).await.state, RunState::Cancelled);
    let now = index.load_root().await;
    // The state that others remember of its files is outdated.
    assert!(root.changed_at < now.changed_at);
    assert_eq!(Root { changed_at: root.changed_at, ..now }, root);
    let chunks = index.describe_chunks().await;
    assert_eq!(chunks.keys().cloned().collect::<Vec<_>>(), files);
    assert!(chunks.values().all(|lines| lines.len() == 1));
    assert_eq!(chunks["599.rs"], ["1-1 rust old"]);
    let status = index.ingest(&repository).await;
    assert_eq!(status.state, RunState::Completed);
    assert!(status.counts.embedded < 600);
    assert!(index.describe_chunks().await.values().all(|lines| lines == &["1-1 rust new"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_counts_what_it_added() {
    let index = TestIndex::new().await;
    let repository = index.create_repository("demo", &[("a.rs", "fn a() {}\n")]);
    index.ingest(&repository).await;
    for file in 0..600 {
        repository.write(&format!("{file:03}.rs"), "fn more() {}\n");
    }
    index.faults.hold_writes();
    let run = index.ingest.start_run(build_request(&repository.0)).await.unwrap();
    index.faults.wait_for_held_write().await;
    index.ingest.cancel_run(run).unwrap();
    index.faults.release_writes();
    assert_eq!(index.wait_for_run(run).await.state, RunState::Cancelled);
    let (counts, files) =
        (index.load_root().await.counts, index.list_indexed_files().await.len() as u64);
    assert!((2..601).contains(&files), "{files}");
    assert_eq!((counts.files, counts.chunks, counts.embedded), (files, files, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_removal_is_repaired_by_the_next_run() {
    let index = TestIndex::new().await;
    let repository =
        index.create_repository("demo", &[("a.rs", "fn a() {}\n"), ("b.rs", "fn b() {}\n")]);
    index.ingest(&repository).await;
    // The root is marked, nothing is stored for later use, and only the chunks are deleted.
    index.faults.fail_after_writes(6);
    index.ingest.remove_root("demo").await.unwrap_err();
    index.faults.stop_failing();
    assert!(index.list_chunk_ids().await.is_empty() && index.list_indexed_files().await.len() == 2);
    assert_eq!(index.ingest(&repository).await.state, RunState::Completed);
    assert_eq!(index.describe_chunks().await.into_keys().collect::<Vec<_>>(), ["a.rs", "b.rs"]);
    assert_eq!(index.load_root().await.last_run, LastRun::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn removing_cancels_the_run_first() {
    let index = TestIndex::new().await;
    index.faults.hold_writes();
    let repository = index.create_repository("demo", &[("a.rs", "fn a() {}\n")]);
    let run = index.ingest.start_run(build_request(&repository.0)).await.unwrap();
    index.faults.wait_for_held_write().await;
    let ingest = index.ingest.clone();
    let removing = index.tasks.spawn_handle(async move { ingest.remove_root("demo").await });
    let mut status = index.ingest.watch_run(run).unwrap();
    index.faults.release_writes();
    status.wait_for(|status| status.state.is_final()).await.unwrap();
    assert_eq!(removing.await.unwrap().unwrap().name, "demo");
    assert!(index.list_chunk_ids().await.is_empty());
    assert!(index.ingest.list_roots().await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_waiting_runs_are_refused() {
    let index = TestIndex::new().await;
    index.faults.hold_writes();
    index
        .ingest
        .start_run(build_request(&index.create_repository("working", &[("a", "a")]).0))
        .await
        .unwrap();
    index.faults.wait_for_held_write().await;
    for name in ["one", "two"] {
        index.ingest.start_run(build_request(&index.create_repository(name, &[]).0)).await.unwrap();
    }
    let refused = index
        .ingest
        .start_run(build_request(&index.create_repository("three", &[]).0))
        .await
        .unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Busy);
    index.faults.release_writes();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_run_delays_no_other_repository() {
    let tasks = Tasks::default();
    let limits = codeinfo_ingest::IngestSettings { run_patience: Duration::ZERO, ..LIMITS };
    let embedder = Arc::new(BuiltinEmbedder::load(tasks.clone()).unwrap());
    let index = TestIndex::with_limits(embedder, tasks, limits).await;
    index.faults.hold_writes();
    let first = index.create_repository("first", &[("a", "a")]);
    let working = index.ingest.start_run(build_request(&first.0)).await.unwrap();
    index.faults.wait_for_held_write().await;
    let passing = index.create_repository("second", &[("b", "b")]);
    let passing = index.ingest.start_run(build_request(&passing.0)).await.unwrap();
    let mut status = index.ingest.watch_run(passing).unwrap();
    status.wait_for(|status| status.state != RunState::Queued).await.unwrap();
    // There is one spare worker.
    let waiting = index
        .ingest
        .start_run(build_request(&index.create_repository("third", &[("c", "c")]).0))
        .await
        .unwrap();
    assert_eq!(index.ingest.run_status(waiting).unwrap().state, RunState::Queued);
    index.faults.release_writes();
    for run in [working, passing, waiting] {
        assert_eq!(index.wait_for_run(run).await.state, RunState::Completed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_ends_working_and_waiting_runs() {
    let index = TestIndex::new().await;
    index.faults.hold_writes();
    let working = index
        .ingest
        .start_run(build_request(&index.create_repository("a", &[("a", "a")]).0))
        .await
        .unwrap();
    index.faults.wait_for_held_write().await;
    let waiting =
        index.ingest.start_run(build_request(&index.create_repository("b", &[]).0)).await.unwrap();
    index.tasks.stop_token().cancel();
    index.faults.release_writes();
    assert!(index.tasks.stop(Duration::from_mins(1)).await);
    for run in [working, waiting] {
        assert_eq!(index.ingest.run_status(run).unwrap().state, RunState::Cancelled);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_while_indexing_always_finds_the_repository() {
    let index = TestIndex::new().await;
    let text = |round: usize| format!("fn needle() {{ {round} }}\n");
    let repository = index.create_repository("demo", &[("a.rs", &text(0))]);
    index.ingest(&repository).await;
    for round in 1..6 {
        repository.write("a.rs", &text(round));
        let run = index.ingest.start_run(build_request(&repository.0)).await.unwrap();
        let mut status = index.ingest.watch_run(run).unwrap();
        while !status.borrow_and_update().state.is_final() {
            let terms = lexical::extract_query_terms("needle");
            let found = index
                .store
                .search(codeinfo_store::ChunkQuery::lexical(terms, None, 5))
                .await
                .unwrap();
            assert!(!found.is_empty());
        }
    }
    assert_eq!(index.describe_chunks().await.len(), 1);
}

/// A write that fails at any point acts like a process that was killed there: after a later run the
/// index is that of a run that never failed.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_completes_what_a_broken_run_left() {
    let first = [("a.rs", "fn a() {}\n"), ("b.rs", "fn b() {}\n"), ("gone.rs", "fn gone() {}\n")];
    for writes in 0..8 {
        for is_reverted in [false, true] {
            let index = TestIndex::new().await;
            let repository = index.create_repository("demo", &first);
            index.ingest(&repository).await;
            let before = index.describe_chunks().await;
            repository.write("a.rs", "fn changed() {}\n");
            fs::remove_file(repository.join("gone.rs")).unwrap();
            index.faults.fail_after_writes(writes);
            let broken = index.ingest(&repository).await;
            assert_eq!(broken.state == RunState::Error, writes < 7, "{writes} {broken:?}");
            index.faults.stop_failing();
            let mut expected = before;
            if is_reverted {
                repository.write("a.rs", first[0].1);
                repository.write("gone.rs", first[2].1);
            } else {
                expected.remove("gone.rs");
                expected.insert("a.rs".to_owned(), vec!["1-1 rust changed".to_owned()]);
            }
            let status = index.ingest(&repository).await;
            assert!(matches!(status.state, RunState::Completed | RunState::Skipped), "{status:?}");
            let root = index.load_root().await;
            assert_eq!(
                (root.last_run, root.counts.chunks),
                (LastRun::Completed, expected.len() as u64)
            );
            assert_eq!(index.describe_chunks().await, expected, "{writes} {broken:?}");
            assert_eq!(index.list_indexed_files().await, expected.into_keys().collect::<Vec<_>>());
        }
    }
}

/// Missing chunks, some or all of a file, are noticed after a run that did not end well, and no rest of
/// such a file remains when the file is deleted.
#[tokio::test(flavor = "multi_thread")]
async fn files_with_missing_chunks_are_read_again_and_leave_nothing() {
    let text = |word: &str| -> String {
        let body = format!("    {word}();\n").repeat(60);
        [0, 1, 2].map(|n| format!("fn {word}_{n}() {{\n{body}}}\n\n")).concat()
    };
    let (old, new) = (text("old"), text("new"));
    for missing in [1, 3] {
        for now in [Some(&old), Some(&new), None] {
            let index = TestIndex::new().await;
            let repository = index.create_repository("demo", &[("a.rs", &old)]);
            index.ingest(&repository).await;
            let of_a = index.list_chunk_ids().await;
            assert_eq!(of_a.len(), 3);
            repository.write("b.rs", "fn b() {}\n");
            index.ingest(&repository).await;
            // The root is marked, no more.
            index.faults.fail_after_writes(1);
            index.ingest.remove_root("demo").await.unwrap_err();
            index.faults.stop_failing();
            index.store.remove_chunks(of_a[..missing].to_vec()).await.unwrap();
            match now {
                Some(text) => repository.write("a.rs", text),
                None => fs::remove_file(repository.join("a.rs")).unwrap(),
            }
            let is_all_gone = missing == 3 && now.is_none();
            let state = if is_all_gone { RunState::Skipped } else { RunState::Completed };
            assert_eq!(index.ingest(&repository).await.state, state);
            let (counts, chunks) = (index.load_root().await.counts, index.describe_chunks().await);
            let of_a = now.map_or(0, |_| 3);
            assert_eq!(chunks.get("a.rs").map_or(0, Vec::len), of_a, "{chunks:?}");
            assert_eq!((chunks["b.rs"].len(), counts.chunks), (1, of_a as u64 + 1));
            let files: &[&str] = if now.is_some() { &["a.rs", "b.rs"] } else { &["b.rs"] };
            assert_eq!(index.list_indexed_files().await, files);
            let again = index.ingest(&repository).await;
            assert_eq!((again.state, again.counts.embedded), (RunState::Skipped, 0));
        }
    }
}

/// As clients see it, without what differs from run to run.
fn render_json(value: &impl serde::Serialize) -> String {
    let mut value = serde_json::to_value(value).unwrap();
    for field in ["id", "runId", "path"] {
        if let Some(field_value) = value.get_mut(field) {
            assert!(field_value.is_string());
            *field_value = format!("[{field}]").into();
        }
    }
    serde_json::to_string_pretty(&value).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_for_keys_are_refused() {
    let index = TestIndex::new().await;
    for folder in [".ssh", ".kube/cache", ".GnuPG"] {
        let repository = index.create_repository(folder, &[("config", "Host example\n")]);
        let refused = index.ingest.start_run(build_request(&repository.0)).await.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::ValidationFailed);
        assert!(refused.to_string().contains("keys and passwords"), "{refused}");
    }
}
