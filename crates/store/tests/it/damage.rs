//! Each rule by which the embedded store notices damage, quickly and alone: comparisons, trusted files,
//! and files that stay unchanged where repairs are forbidden.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use codeinfo_core::{FileRecord, LastRun};
use codeinfo_store::{OnMismatch, StoreError};
use codeinfo_test_support::{
    embedded::{
        StoreFolder, damage_file, list_damaged_stores, list_failed_roots, list_names_with_suffix,
        open_store, open_store_with_options,
    },
    sources::list_files,
    store::{
        MODEL, Store, load_all_chunks, make_chunk, make_chunk_id, make_file_record, make_root,
        make_vector, put_chunks,
    },
};

/// Options of a store: merging of segments, and repairs.
const SERVER: [bool; 2] = [true, true];
const SERVER_WITHOUT_REPAIR: [bool; 2] = [true, false];
const COMMAND: [bool; 2] = [false, false];

/// Opens a store; returns the reason of a refusal, or a blank text.
async fn read_refusal(folder: &Path, to: [bool; 2]) -> String {
    let opened = open_store_with_options(folder, MODEL, OnMismatch::Refuse, to).await;
    opened.err().map(|error| error.to_string()).unwrap_or_default()
}

/// Creates a closed store with one root of this number of chunks, one of them deleted again.
async fn create_index(chunks: u64) -> StoreFolder {
    let folder = StoreFolder::new();
    let store = open_store(folder.path()).await.unwrap();
    let mut one = make_root("one");
    one.counts.chunks = chunks;
    put_chunks(
        &store,
        (0..=chunks).map(|n| make_chunk(n, "one", "x", make_vector(n), &[(1, 1.0)])),
    )
    .await;
    let file =
        FileRecord { chunks: chunks.try_into().unwrap(), ..make_file_record(one.id, 1, "1") };
    store.put_files(vec![file]).await.unwrap();
    store.flush().await.unwrap();
    store.remove_chunks(vec![make_chunk_id(0)]).await.unwrap();
    store.put_root(one).await.unwrap();
    folder
}

/// Returns the content of a folder without locks, to see whether anything changed.
fn read_contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = list_files(folder);
    all.retain(|path| !path.ends_with("lock"));
    all.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

fn flip_byte(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    match bytes.last_mut() {
        Some(last) => *last ^= 1,
        None => bytes.push(1),
    }
    fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn one_bit_of_any_file_is_noticed() {
    let folder = create_index(5).await;
    let all = [
        list_names_with_suffix(folder.path(), ".segment"),
        list_names_with_suffix(folder.path(), ".deleted"),
    ]
    .concat();
    assert_eq!(all.len(), 2, "{all:?}");
    for file in all {
        let path = folder.path().join(&file);
        let before = fs::read(&path).unwrap();
        for at in [0, before.len() / 2, before.len() - 1] {
            let mut flipped = before.clone();
            flipped[at] ^= 1;
            fs::write(&path, flipped).unwrap();
            let reason = read_refusal(folder.path(), SERVER_WITHOUT_REPAIR).await;
            assert!(reason.contains(&format!("`{file}` is not what was written")), "{reason}");
        }
        for length in [0, before.len() - 1, before.len() + 1] {
            let mut other = before.clone();
            other.resize(length, 0x5a);
            fs::write(&path, other).unwrap();
            for to in [SERVER_WITHOUT_REPAIR, COMMAND] {
                let reason = read_refusal(folder.path(), to).await;
                assert!(reason.contains(&format!("`{file}` is not what was written")), "{reason}");
            }
        }
        fs::write(&path, before).unwrap();
    }
    assert_eq!(read_refusal(folder.path(), SERVER_WITHOUT_REPAIR).await, "");
}

#[tokio::test]
async fn one_bit_of_the_manifest_that_changed_is_damage() {
    let folder = StoreFolder::new();
    let store = open_store(folder.path()).await.unwrap();
    put_chunks(&store, [make_chunk(1, "a", "x", make_vector(1), &[])]).await;
    drop(store);
    let manifest = folder.path().join("manifest.json");
    let whole = fs::read(&manifest).unwrap();
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        fs::write(&manifest, changed).unwrap();
        let reason = read_refusal(folder.path(), SERVER_WITHOUT_REPAIR).await;
        assert!(reason.contains("`manifest.json` is"), "byte {at}: {reason}");
    }
    fs::write(&manifest, whole).unwrap();
    assert_eq!(read_refusal(folder.path(), SERVER_WITHOUT_REPAIR).await, "");
}

#[tokio::test]
async fn a_damaged_segment_of_only_chunks_or_only_files_damages_their_root() {
    for is_of_chunks in [true, false] {
        let folder = StoreFolder::new();
        let store = open_store(folder.path()).await.unwrap();
        let mut one = make_root("one");
        one.counts.chunks = 0;
        store.put_root(one.clone()).await.unwrap();
        if is_of_chunks {
            put_chunks(&store, [make_chunk(1, "one", "x", make_vector(1), &[])]).await;
            one.counts.chunks = 1;
        } else {
            store.put_files(vec![make_file_record(one.id, 1, "1")]).await.unwrap();
        }
        store.put_root(one).await.unwrap();
        drop(store);
        damage_file(folder.path(), ".segment", b"other");
        let store = open_store(folder.path()).await.unwrap();
        assert!(store.damage().unwrap().contains("is not what was written"), "{is_of_chunks}");
        assert_eq!(list_failed_roots(&store).await, ["one"]);
    }
}

#[tokio::test]
async fn a_damaged_segment_of_roots_that_are_not_listed_is_noticed_once() {
    let folder = StoreFolder::new();
    let store = open_store(folder.path()).await.unwrap();
    put_chunks(&store, [make_chunk(1, "unlisted", "x", make_vector(1), &[])]).await;
    drop(store);
    damage_file(folder.path(), ".segment", b"other");
    drop(open_store(folder.path()).await.unwrap());
    assert_eq!(read_refusal(folder.path(), SERVER_WITHOUT_REPAIR).await, "");
}

#[tokio::test]
async fn a_chunk_too_large_to_be_read_again_is_refused() {
    let folder = StoreFolder::new();
    let store = open_store(folder.path()).await.unwrap();
    let mut large = make_chunk(1, "a", "x", make_vector(1), &[]);
    large.record.text = "x".repeat(17 << 20);
    let error =
        store.put_chunks(vec![large.clone(), make_chunk(2, "a", "x", make_vector(2), &[])]).await;
    assert!(error.is_err());
    assert_eq!(load_all_chunks(&store).await, []);
    large.record.text = "x".repeat(15 << 20);
    store.put_chunks(vec![large]).await.unwrap();
    assert_eq!(load_all_chunks(&store).await[0].record.text.len(), 15 << 20);
}

#[tokio::test]
async fn a_command_compares_what_it_reads_and_a_server_all() {
    let folder = create_index(100).await;
    let path = folder.path().join(&list_names_with_suffix(folder.path(), ".segment")[0]);
    let whole = fs::read(&path).unwrap();
    // Vectors come first, and are read only for what a search finds.
    for (at, is_read) in [(0, false), (whole.len() - 40, true)] {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        fs::write(&path, flipped).unwrap();
        for (to, is_well) in [(COMMAND, !is_read), (SERVER_WITHOUT_REPAIR, false)] {
            let reason = read_refusal(folder.path(), to).await;
            assert_eq!(reason.is_empty(), is_well, "{reason}");
        }
    }
    fs::write(&path, whole).unwrap();
    assert_eq!(read_refusal(folder.path(), SERVER_WITHOUT_REPAIR).await, "");
}

#[tokio::test]
async fn the_last_two_damaged_stores_are_kept() {
    let folder = create_index(3).await;
    let (store, data) = (folder.path(), folder.path().parent().unwrap());
    let kept = |at: usize, name: &str| {
        let mut all = list_damaged_stores(data);
        all.sort();
        fs::read_to_string(data.join(&all[at]).join(name)).unwrap()
    };
    fs::write(data.join("roots.json"), "no list").unwrap();
    drop(open_store(store).await.unwrap());
    assert_eq!(kept(0, "roots.json"), "no list");
    for manifest in ["first", "second", "third"] {
        fs::write(store.join("manifest.json"), manifest).unwrap();
        drop(open_store(store).await.unwrap());
    }
    assert_eq!(list_damaged_stores(data).len(), 2);
    assert_eq!([0, 1].map(|at| kept(at, "manifest.json")), ["second", "third"]);
}

#[tokio::test]
async fn a_record_that_is_damaged_while_a_store_is_open_fails_its_reads() {
    let folder = create_index(5).await;
    let store = open_store(folder.path()).await.unwrap();
    let path = folder.path().join(&list_names_with_suffix(folder.path(), ".segment")[0]);
    let length = usize::try_from(fs::metadata(&path).unwrap().len()).unwrap();
    fs::write(&path, vec![0xff; length]).unwrap();
    let error = store.chunks(None, None, 10).await.unwrap_err();
    assert!(error.to_string().contains("cannot read the index"), "{error}");
}

#[tokio::test]
async fn a_store_that_may_not_be_repaired_is_not_changed() {
    for damage in ["no folder", "a flipped bit", "a list that is none", "too few chunks"] {
        let folder = create_index(3).await;
        let (store, data) = (folder.path(), folder.path().parent().unwrap());
        let reason = match damage {
            "no folder" => {
                fs::remove_dir_all(store).unwrap();
                "its folder is missing"
            }
            "a flipped bit" => {
                flip_byte(&store.join(&list_names_with_suffix(store, ".segment")[0]));
                "is not what was written"
            }
            "a list that is none" => {
                fs::write(data.join("roots.json"), "{").unwrap();
                "`roots.json` cannot be read"
            }
            _ => {
                let store = open_store(store).await.unwrap();
                store.remove_chunks((1..=3).map(make_chunk_id).collect()).await.unwrap();
                "`one` has 0 chunks where 3 belong"
            }
        };
        let before = read_contents(data);
        for to in [SERVER_WITHOUT_REPAIR, COMMAND, SERVER_WITHOUT_REPAIR] {
            let refused = read_refusal(store, to).await;
            assert!(refused.contains(reason), "{damage}: {refused}");
        }
        assert_eq!(list_damaged_stores(data), [""; 0], "{damage}");
        assert_eq!(before, read_contents(data), "{damage}");
        // The next server still sees it all.
        let store =
            open_store_with_options(store, MODEL, OnMismatch::Refuse, SERVER).await.unwrap();
        let output_text = store.damage().unwrap_or_default();
        // A list has a copy.
        let is_said = output_text.contains(reason) && output_text.contains("repairing: one");
        assert!(is_said || damage == "a list that is none", "{damage}: {output_text}");
    }
}

#[tokio::test]
async fn a_root_that_is_still_to_be_repaired_refuses_nothing_and_is_named() {
    let folder = create_index(3).await;
    fs::remove_dir_all(folder.path()).unwrap();
    for to in [SERVER, SERVER_WITHOUT_REPAIR, COMMAND, SERVER] {
        let store =
            open_store_with_options(folder.path(), MODEL, OnMismatch::Refuse, to).await.unwrap();
        let output_text = store.damage().unwrap_or_default();
        assert!(output_text.ends_with("repairing: one"), "{to:?}: {output_text}");
        // The reason of a failed repair stays until the next attempt.
        let mut roots = store.roots().await.unwrap();
        let away = LastRun::Failed { reason: "it is away".to_owned(), resumes: false };
        let expected = if to == SERVER { &LastRun::Damaged } else { &away };
        assert_eq!(&roots[0].last_run, expected, "{to:?}");
        roots[0].last_run = away;
        store.put_root(roots.remove(0)).await.unwrap();
    }
}

/// Checks the state of the store's one root, and that the store reports no damage.
async fn assert_discarded(store: Store, what: &str) {
    let damage = store.damage();
    let roots = store.roots().await.unwrap();
    let last_runs: Vec<_> = roots.iter().map(|root| &root.last_run).collect();
    assert_eq!(last_runs, [&LastRun::Discarded], "{what}");
    assert_eq!(damage, None, "{what}");
}

/// Opens the folder for another model, once the opener before, which may still be merging, let go of it.
async fn open_once_released(folder: &Path, on_mismatch: OnMismatch) -> Store {
    loop {
        match open_store_with_options(folder, "other@1", on_mismatch, SERVER).await {
            Err(StoreError::Held { .. }) => tokio::time::sleep(Duration::from_millis(20)).await,
            opened => return opened.unwrap(),
        }
    }
}

#[tokio::test]
async fn an_index_that_is_dropped_for_another_model_is_no_damage() {
    for what in ["whole", "damaged", "its roots to be repaired"] {
        let folder = create_index(200).await;
        let store = folder.path();
        match what {
            "whole" => {}
            "damaged" => flip_byte(&store.join(&list_names_with_suffix(store, ".segment")[0])),
            _ => fs::remove_dir_all(store).unwrap(),
        }
        for on_mismatch in [OnMismatch::Discard, OnMismatch::Refuse] {
            let opened = open_once_released(store, on_mismatch).await;
            if what == "its roots to be repaired" {
                let damage = opened.damage().unwrap();
                assert!(damage.ends_with("repairing: one"), "{damage}");
            } else {
                assert_discarded(opened, what).await;
            }
        }
    }
}
