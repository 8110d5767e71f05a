//! The embedded store: the suite, and what only it promises (lock, layouts, damage, reopening).

use std::fs;

use codeinfo_core::{LastRun, Root, TermVector, error::ErrorCode, task::Tasks};
use codeinfo_store::{
    ChunkQuery, DataDirLock, EmbeddedEngine, LockHolder, OnMismatch, StorageSize, StoreError,
    find_lock_holder,
};
use codeinfo_test_support::{
    embedded::{
        SEAL_CHUNKS, StoreFolder, damage_file, list_failed_roots, list_names_with_suffix,
        open_store, open_store_for_model, open_store_with_options, open_store_with_repairs,
    },
    store::{
        DIMENSIONS, MODEL, Store, load_all_chunks, make_chunk, make_chunk_id, make_file_record,
        make_root, make_root_id, make_vector, put_chunks, read_chunk_numbers, read_hit_numbers,
    },
};
use serde_json::json;

use crate::suite::store_suite;

store_suite!(StoreFolder);

#[tokio::test]
async fn merging_segments_loses_and_duplicates_nothing() {
    let folder = StoreFolder::new();
    let store = open_store(folder.path()).await.unwrap();
    let of = |n: u64| if n.is_multiple_of(2) { "a" } else { "b" };
    let made = |n: u64| make_chunk(n, of(n), "x", make_vector(n), &[(1, 1.0), (2, 0.5)]);
    // Each change is written to disk separately, and changes continue while segments are merged.
    for first in (1..=3200).step_by(200) {
        put_chunks(&store, (first..first + 200).map(made)).await;
        store
            .remove_chunks((first..first + 100).step_by(2).map(make_chunk_id).collect())
            .await
            .unwrap();
        store
            .put_files(vec![make_file_record(make_root_id("a"), first.try_into().unwrap(), "v")])
            .await
            .unwrap();
    }
    store.flush().await.unwrap();
    put_chunks(
        &store,
        (1..=21).step_by(2).map(|n| make_chunk(n, "c", "y", make_vector(n), &[(3, 1.0)])),
    )
    .await;
    let expected: Vec<u64> =
        (1..=3200).filter(|n| (n - 1) % 200 >= 100 || n % 2 == 0 || *n <= 21).collect();
    for is_open in [true, false] {
        if !is_open {
            store.flush().await.unwrap();
        }
        assert_eq!(read_chunk_numbers(&load_all_chunks(&store).await), expected);
        assert_eq!(store.count(None).await.unwrap(), expected.len() as u64);
        assert_eq!(store.count(Some(make_root_id("c"))).await.unwrap(), 11);
        assert_eq!(store.files(make_root_id("a")).await.unwrap().len(), 16);
        for number in [777, 778, 3, 3200] {
            let wanted: Vec<u64> = expected.iter().copied().filter(|n| *n == number).collect();
            let found = store
                .search(ChunkQuery::nearest(make_vector(number).to_vec(), None, 3))
                .await
                .unwrap();
            assert_eq!(read_hit_numbers(&found).contains(&number), !wanted.is_empty(), "{found:?}");
            assert!((found[0].score - 1.0).abs() < 1e-3, "{found:?}");
        }
        let replaced = TermVector { indices: vec![3], values: vec![1.0] };
        let found = store.search(ChunkQuery::lexical(replaced, None, 100)).await.unwrap();
        assert_eq!(read_hit_numbers(&found), (1..=21).step_by(2).collect::<Vec<_>>());
    }
    drop(store);
    let segments = list_names_with_suffix(folder.path(), ".segment");
    assert!(segments.len() < 12, "{segments:?}");
    let store = open_store(folder.path()).await.unwrap();
    assert_eq!(read_chunk_numbers(&load_all_chunks(&store).await), expected);
    assert_eq!(store.files(make_root_id("a")).await.unwrap().len(), 16);
    let terms = TermVector { indices: vec![2], values: vec![1.0] };
    let found =
        store.search(ChunkQuery::lexical(terms, Some(make_root_id("b")), 10_000)).await.unwrap();
    let of_b = expected.iter().filter(|n| **n % 2 == 1 && 21 < **n).count();
    assert_eq!(found.len(), of_b);
}

#[tokio::test]
async fn many_small_changes_leave_few_files() {
    let folder = StoreFolder::new();
    // A command, which merges nothing in the background.
    let store = open_store_with_options(folder.path(), MODEL, OnMismatch::Refuse, [false, true])
        .await
        .unwrap();
    for n in 1..=100 {
        put_chunks(&store, [make_chunk(n % 40, "a", "x", make_vector(n), &[(1, 1.0)])]).await;
        store
            .put_files(vec![make_file_record(make_root_id("a"), 1, &n.to_string())])
            .await
            .unwrap();
        store.flush().await.unwrap();
        assert!(
            list_names_with_suffix(folder.path(), "").len() < 24,
            "{:?}",
            list_names_with_suffix(folder.path(), "")
        );
    }
    assert_eq!(read_chunk_numbers(&load_all_chunks(&store).await), (0..40).collect::<Vec<_>>());
    assert_eq!(store.files(make_root_id("a")).await.unwrap()[0].version, "100");
}

#[tokio::test]
async fn the_size_of_a_root_is_its_share_of_the_files() {
    let folder = StoreFolder::new();
    let store = open_store_with_options(folder.path(), MODEL, OnMismatch::Refuse, [false, true])
        .await
        .unwrap();
    let nothing = StorageSize { bytes: 0, is_estimate: false };
    assert_eq!(store.size(make_root_id("a")), Some(nothing));
    let made = |n: u64, of: &str| make_chunk(n, of, "x", make_vector(n), &[(1, 1.0)]);
    put_chunks(&store, (1..=SEAL_CHUNKS).map(|n| made(n, "a"))).await;
    let on_disk = || {
        let of = |name: &String| fs::metadata(folder.path().join(name)).unwrap().len();
        list_names_with_suffix(folder.path(), ".segment").iter().map(of).sum::<u64>()
    };
    let alone = store.size(make_root_id("a")).unwrap();
    assert_eq!(alone, StorageSize { bytes: on_disk(), is_estimate: false });
    assert_eq!(store.size(make_root_id("b")), Some(nothing));
    let of = |n: u64| if n.is_multiple_of(4) { "a" } else { "b" };
    put_chunks(&store, (SEAL_CHUNKS + 1..=2 * SEAL_CHUNKS).map(|n| made(n, of(n)))).await;
    let [a, b] = ["a", "b"].map(|name| store.size(make_root_id(name)).unwrap());
    assert!(a.is_estimate && b.is_estimate);
    let all = on_disk();
    assert!(all - 2 <= a.bytes + b.bytes && a.bytes + b.bytes <= all, "{a:?} {b:?} {all}");
    assert_eq!(b.bytes, (all - alone.bytes) * 3 / 4);
}

#[tokio::test]
async fn a_segment_of_which_much_was_deleted_is_written_again() {
    let folder = StoreFolder::new();
    let store = open_store(folder.path()).await.unwrap();
    put_chunks(
        &store,
        (1..=SEAL_CHUNKS).map(|n| make_chunk(n, "a", "x", make_vector(n), &[(1, 1.0)])),
    )
    .await;
    let size = || {
        let of = |name: &String| fs::metadata(folder.path().join(name)).unwrap().len();
        list_names_with_suffix(folder.path(), ".segment").iter().map(of).sum::<u64>()
    };
    let before = size();
    store.remove_chunks((1..=SEAL_CHUNKS / 2).map(make_chunk_id).collect()).await.unwrap();
    store.flush().await.unwrap();
    drop(store);
    assert!(size() * 10 < before * 6, "{} of {before}", size());
    assert_eq!(list_names_with_suffix(folder.path(), ".deleted"), [""; 0]);
    let store = open_store(folder.path()).await.unwrap();
    store.remove_root(make_root_id("a")).await.unwrap();
    assert_eq!(list_names_with_suffix(folder.path(), ".segment"), [""; 0]);
}

#[tokio::test]
async fn removed_and_replaced_file_records_do_not_come_back() {
    let folder = StoreFolder::new();
    let store = open_store(folder.path()).await.unwrap();
    store
        .put_files((1..=9).map(|n| make_file_record(make_root_id("a"), n, "1")).collect())
        .await
        .unwrap();
    store.flush().await.unwrap();
    store
        .remove_files(make_root_id("a"), vec![make_file_record(make_root_id("a"), 1, "1").path])
        .await
        .unwrap();
    store.put_files(vec![make_file_record(make_root_id("a"), 2, "2")]).await.unwrap();
    drop(store);
    let before = list_names_with_suffix(folder.path(), ".deleted");
    assert_eq!(before.len(), 1);
    for _ in 0..2 {
        let store = open_store(folder.path()).await.unwrap();
        let mut files = store.files(make_root_id("a")).await.unwrap();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let expected =
            (2..=9).map(|n| make_file_record(make_root_id("a"), n, if n == 2 { "2" } else { "1" }));
        assert_eq!(files, expected.collect::<Vec<_>>());
        store.put_root(make_root("b")).await.unwrap();
        store.remove_root(make_root_id("b")).await.unwrap();
    }
    // Deleted chunks are not written again where only deletions happened.
    assert_eq!(list_names_with_suffix(folder.path(), ".deleted"), before);
}

#[tokio::test]
async fn what_a_command_leaves_is_merged_by_the_next_server() {
    let folder = StoreFolder::new();
    let store = open_store_with_options(folder.path(), MODEL, OnMismatch::Refuse, [false, true])
        .await
        .unwrap();
    put_chunks(&store, (1..=SEAL_CHUNKS).map(|n| make_chunk(n, "a", "x", make_vector(n), &[])))
        .await;
    store.remove_chunks((1..=SEAL_CHUNKS / 2).map(make_chunk_id).collect()).await.unwrap();
    drop(store);
    assert_eq!(list_names_with_suffix(folder.path(), ".deleted").len(), 1);
    drop(open_store(folder.path()).await.unwrap());
    assert_eq!(list_names_with_suffix(folder.path(), ".deleted"), [""; 0]);
}

#[tokio::test]
async fn vectors_of_another_length_count_as_those_of_another_model() {
    let folder = StoreFolder::new();
    drop(open_store(folder.path()).await.unwrap());
    let settings = codeinfo_store::EmbeddedStoreSettings {
        seal_chunks: 9,
        background_merge: true,
        repairs: true,
    };
    let (refuse, tasks) = (OnMismatch::Refuse, Tasks::default());
    let wider = DIMENSIONS + 1;
    let opened = EmbeddedEngine::open(folder.path(), MODEL, wider, refuse, &settings, tasks).await;
    let error = opened.err().unwrap();
    assert_eq!(error.code(), ErrorCode::EmbedModelMismatch);
    let message = error.to_string();
    assert!(message.contains("with 4 dimensions") && message.contains("with 5"), "{message}");
}

#[tokio::test]
async fn what_a_killed_process_left_is_removed() {
    let folder = StoreFolder::new();
    let store = open_store(folder.path()).await.unwrap();
    put_chunks(&store, (1..=3).map(|n| make_chunk(n, "a", "x", make_vector(n), &[(2, 1.0)]))).await;
    drop(store);
    let kept = list_names_with_suffix(folder.path(), "");
    for name in ["99.segment", "98.deleted", "manifest.tmp", "97.tmp"] {
        fs::write(folder.path().join(name), "anything").unwrap();
    }
    fs::create_dir(folder.path().join("96.segment")).unwrap();
    // Files of other programs stay.
    fs::write(folder.path().join("notes"), "mine").unwrap();
    let store = open_store(folder.path()).await.unwrap();
    assert_eq!(read_chunk_numbers(&load_all_chunks(&store).await), [1, 2, 3]);
    drop(store);
    fs::remove_file(folder.path().join("notes")).unwrap();
    assert_eq!(list_names_with_suffix(folder.path(), ""), kept);
}

#[tokio::test]
async fn a_layout_of_the_future_is_refused() {
    let folder = StoreFolder::new();
    drop(open_store(folder.path()).await.unwrap());
    fs::write(folder.path().join("manifest.json"), r#"{"layout":9,"all":"else"}"#).unwrap();
    let error = open_store(folder.path()).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::StoreUnavailable);
    let message = error.to_string();
    assert!(message.contains("has layout 9, but this version reads up to 4"), "{message}");
    assert!(message.contains(folder.path().to_str().unwrap()), "{message}");
}

#[tokio::test]
async fn a_layout_of_the_past_is_refused_and_can_be_discarded() {
    let folder = StoreFolder::new();
    let store = open_store(folder.path()).await.unwrap();
    store.put_root(make_root("one")).await.unwrap();
    drop(store);
    // As former versions left it.
    for name in list_names_with_suffix(folder.path(), "") {
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    let former = json!({ "layout": 2, "model": MODEL, "dimensions": DIMENSIONS });
    fs::write(folder.path().join("manifest.json"), former.to_string()).unwrap();
    for name in ["chunks", "files", "roots"] {
        fs::create_dir_all(folder.path().join(name).join("segments")).unwrap();
        fs::write(folder.path().join(name).join("edge_config.json"), "{}").unwrap();
    }
    for name in ["journal", "checksums"] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    let before = list_names_with_suffix(folder.path(), "");
    let error = open_store(folder.path()).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::StoreUnavailable);
    let message = error.to_string();
    assert!(message.contains("has layout 2, and this version needs 4"), "{message}");
    assert!(message.contains("`--reembed`"), "{message}");
    assert!(before.iter().all(|name| list_names_with_suffix(folder.path(), "").contains(name)));
    for on_mismatch in [OnMismatch::Discard, OnMismatch::Refuse] {
        let store = open_store_for_model(folder.path(), "test@1", on_mismatch).await.unwrap();
        assert_eq!(load_all_chunks(&store).await, []);
        let (damage, roots) = (store.damage(), store.roots().await.unwrap());
        assert_eq!(roots[0].name, "one");
        // Until it is embedded again; that is no damage.
        assert_eq!(roots[0].last_run, LastRun::Discarded);
        assert_eq!(damage, None);
    }
    assert_eq!(list_names_with_suffix(folder.path(), ""), ["lock", "manifest.json", "roots.json"]);
}

#[tokio::test]
async fn damage_without_repair_is_refused_with_the_folder_and_what_to_do() {
    let damages: [(&str, &[u8]); 4] = [
        ("manifest.json", b"{"),
        (".segment", b"\xff\xff"),
        (".segment/", b""),
        (".deleted", b"nothing"),
    ];
    for (file, content) in damages {
        let folder = StoreFolder::new();
        let store = open_store(folder.path()).await.unwrap();
        put_chunks(&store, (1..=100).map(|n| make_chunk(n, "a", "x", make_vector(n), &[(1, 1.0)])))
            .await;
        store.flush().await.unwrap();
        store.remove_chunks(vec![make_chunk_id(1)]).await.unwrap();
        drop(store);
        damage_file(folder.path(), file, content);
        for _ in 0..2 {
            let refused =
                open_store_with_repairs(folder.path(), MODEL, OnMismatch::Refuse, false).await;
            let error = refused.err().unwrap_or_else(|| panic!("{file} was not noticed"));
            assert_eq!(error.code(), ErrorCode::StoreUnavailable);
            let message = error.to_string();
            assert!(message.contains(folder.path().to_str().unwrap()), "{message}");
            assert!(message.contains("is damaged: ") && message.contains("`codeinfo serve`"));
        }
        let store = open_store(folder.path()).await.unwrap();
        assert_eq!(load_all_chunks(&store).await, []);
        let beside = list_names_with_suffix(folder.path().parent().unwrap(), "");
        let aside = beside.iter().filter(|name| name.starts_with("store.damaged-")).count();
        assert_eq!(aside, 1);
    }
}

/// A root of three chunks and a file, on disk.
async fn write_root(store: &Store, name: &str, first: u64) {
    let mut whole = make_root(name);
    whole.counts.chunks = 3;
    put_chunks(store, (first..first + 3).map(|n| make_chunk(n, name, "x", make_vector(n), &[])))
        .await;
    store.put_files(vec![make_file_record(whole.id, 1, "1")]).await.unwrap();
    store.put_root(whole).await.unwrap();
}

#[tokio::test]
async fn chunks_that_are_not_those_of_the_last_run_are_damage_of_their_root_alone() {
    let folder = StoreFolder::new();
    let store = open_store(folder.path()).await.unwrap();
    write_root(&store, "one", 1).await;
    write_root(&store, "two", 11).await;
    drop(store);
    let store = open_store(folder.path()).await.unwrap();
    assert_eq!(store.damage(), None);
    store.remove_chunks((11..14).map(make_chunk_id).collect()).await.unwrap();
    drop(store);
    let store = open_store(folder.path()).await.unwrap();
    let damage = store.damage().unwrap();
    assert_eq!(damage, "damaged: `two` has 0 chunks where 3 belong; repairing: two");
    assert_eq!(list_failed_roots(&store).await, ["two"]);
}

#[tokio::test]
async fn a_damaged_segment_hurts_only_the_roots_that_it_has_something_of() {
    let folder = StoreFolder::new();
    let store = open_store(folder.path()).await.unwrap();
    write_root(&store, "one", 1).await;
    let of_one = list_names_with_suffix(folder.path(), ".segment");
    write_root(&store, "two", 11).await;
    drop(store);
    fs::write(folder.path().join(&of_one[0]), "other").unwrap();
    let store = open_store(folder.path()).await.unwrap();
    let damage = store.damage().unwrap();
    let expected = format!("damaged: `{}` is not what was written; repairing: one", of_one[0]);
    assert_eq!(damage, expected);
    assert_eq!(list_failed_roots(&store).await, ["one"]);
    assert_eq!(read_chunk_numbers(&load_all_chunks(&store).await), [11, 12, 13]);
}

#[tokio::test]
async fn a_lost_store_comes_back_with_the_roots_it_had_last() {
    let folder = StoreFolder::new();
    let store = open_store(folder.path()).await.unwrap();
    for name in ["kept", "removed"] {
        store.put_root(make_root(name)).await.unwrap();
    }
    let described = Root { description: Some("said later".to_owned()), ..make_root("kept") };
    store.put_root(described.clone()).await.unwrap();
    store.remove_root(make_root_id("removed")).await.unwrap();
    drop(store);
    fs::remove_dir_all(folder.path()).unwrap();
    let roots = open_store(folder.path()).await.unwrap().roots().await.unwrap();
    let [kept] = roots.as_slice() else { panic!("{roots:?}") };
    assert_eq!((&kept.name, &kept.description), (&described.name, &described.description));
    assert!(!kept.last_run.is_completed());
}

#[tokio::test]
async fn a_folder_without_its_manifest_is_damaged() {
    let folder = StoreFolder::new();
    let store = open_store(folder.path()).await.unwrap();
    put_chunks(&store, [make_chunk(1, "a", "x", make_vector(1), &[])]).await;
    drop(store);
    fs::remove_file(folder.path().join("manifest.json")).unwrap();
    let refused = open_store_with_repairs(folder.path(), MODEL, OnMismatch::Refuse, false).await;
    let error = refused.err().unwrap();
    assert!(error.to_string().contains("`manifest.json` is missing"), "{error}");
}

#[tokio::test]
async fn one_folder_has_one_open_store() {
    let folder = StoreFolder::new();
    let store = open_store(folder.path()).await.unwrap();
    let error = open_store(folder.path()).await.err().unwrap();
    assert!(matches!(error, StoreError::Held { .. }), "{error}");
    drop(store);
    open_store(folder.path()).await.unwrap();
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_named() {
    let folder = StoreFolder::new();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = open_store(&file.join("store")).await.err().unwrap();
    assert!(error.to_string().contains(file.to_str().unwrap()), "{error}");
}

#[test]
fn a_second_holder_learns_who_has_the_lock() {
    let folder = StoreFolder::new();
    let data_dir = folder.path().join("data");
    assert_eq!(find_lock_holder(&data_dir).unwrap(), None);
    let mut lock = DataDirLock::acquire(&data_dir).unwrap();
    let unannounced = LockHolder::this_process();
    assert_eq!(find_lock_holder(&data_dir).unwrap(), Some(unannounced));
    let announced = LockHolder {
        pid: 4711,
        main_url: Some("http://127.0.0.1:5010".to_owned()),
        mcp_url: Some("http://127.0.0.1:5011".to_owned()),
        ..LockHolder::this_process()
    };
    lock.announce(&announced).unwrap();
    assert_eq!(find_lock_holder(&data_dir).unwrap(), Some(announced));
    let error = DataDirLock::acquire(&data_dir).unwrap_err();
    assert_eq!(error.code(), ErrorCode::StoreUnavailable);
    assert_eq!(
        error.to_string(),
        format!(
            "the store in `{}` is in use by process 4711 at http://127.0.0.1:5010; `codeinfo ingest PATH` and other \
             commands use that server, or set `DATA_DIR` to another folder",
            data_dir.display()
        )
    );
    drop(lock);
    assert_eq!(find_lock_holder(&data_dir).unwrap(), None);
    drop(DataDirLock::acquire(&data_dir).unwrap());
}

#[test]
fn a_released_folder_can_be_opened_at_once() {
    let folder = StoreFolder::new();
    drop(DataDirLock::acquire(folder.path()).unwrap());
    for _ in 0..200 {
        let lock = DataDirLock::acquire(folder.path()).unwrap();
        let ending = std::thread::spawn(move || drop(lock));
        while find_lock_holder(folder.path()).unwrap().is_some() {}
        drop(DataDirLock::acquire(folder.path()).unwrap());
        ending.join().unwrap();
    }
}

#[test]
fn asking_for_the_holder_never_hinders_a_start() {
    let folder = StoreFolder::new();
    drop(DataDirLock::acquire(folder.path()).unwrap());
    std::thread::scope(|scope| {
        let ask = || (0..2000).for_each(|_| drop(find_lock_holder(folder.path()).unwrap()));
        let asking = [scope.spawn(ask), scope.spawn(ask)];
        for _ in 0..20 {
            drop(DataDirLock::acquire(folder.path()).unwrap());
        }
        for thread in asking {
            thread.join().unwrap();
        }
    });
}
