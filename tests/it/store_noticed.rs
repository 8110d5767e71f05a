//! Each rule by which the embedded store notices damage, quickly and alone: what is compared, what is
//! trusted, and what is left as it is where nothing may be repaired.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use codeinfo::{
    domain::{FileRecord, LastRun},
    store::{Catalog, Collection, OnMismatch, StoreError, VectorStore},
};

use crate::{
    store_damage::{aside, copy, files},
    store_embedded::{Folder, open, open_to, unsigned, until_optimized},
    store_strange::disturb,
    store_suite::{MODEL, a_file, a_root, chunk, put, root, vector},
};

/// Whether it settles segments, and whether it repairs.
const SERVER: [bool; 2] = [true, true];
const SERVER_WITHOUT_REPAIR: [bool; 2] = [true, false];
const COMMAND: [bool; 2] = [false, false];

/// Opens a store; returns why it is refused, or nothing.
async fn refusal(folder: &Path, to: [bool; 2]) -> String {
    let opened = open_to(folder, MODEL, OnMismatch::Refuse, to).await;
    opened.err().map(|error| error.to_string()).unwrap_or_default()
}

/// A closed store with one root of so many chunks.
async fn index(chunks: u64) -> Folder {
    let folder = Folder::new();
    let store = open(folder.path()).await.unwrap();
    let mut one = a_root("one");
    one.counts.chunks = chunks;
    let id = one.id.to_string();
    put(&store, (1..=chunks).map(|n| chunk(n, &id, "x", vector(n), &[(1, 1.0)]))).await;
    let file = FileRecord { chunks: chunks.try_into().unwrap(), ..a_file(one.id, 1, "1") };
    let catalog = Catalog::new(Arc::clone(&store));
    catalog.put_files(&[file]).await.unwrap();
    catalog.put_root(&one).await.unwrap();
    store.flush().await.unwrap();
    until_optimized(&store, folder.path()).await;
    folder
}

/// The files of all segments, by their paths below the store.
fn of_segments(store: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for shard in ["chunks", "files", "roots"] {
        files(&store.join(shard).join("segments"), &mut all);
    }
    let below = |path: PathBuf| path.strip_prefix(store).unwrap().to_str().unwrap().to_owned();
    all.into_iter().map(below).collect()
}

/// All that is in a folder, to see whether anything changed.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = Vec::new();
    files(folder, &mut all);
    all.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    match bytes.last_mut() {
        Some(last) => *last ^= 1,
        None => bytes.push(1),
    }
    fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn one_bit_of_any_file_is_noticed_at_rest() {
    let folder = index(3).await;
    let all = of_segments(folder.path());
    assert!(20 < all.len(), "{all:?}");
    for file in all {
        let path = folder.path().join(&file);
        let before = fs::read(&path).unwrap();
        flip(&path);
        let reason = refusal(folder.path(), SERVER_WITHOUT_REPAIR).await;
        assert!(reason.contains(&format!("`{file}` is not what was written")), "{reason}");
        fs::write(&path, before).unwrap();
    }
    assert_eq!(refusal(folder.path(), SERVER_WITHOUT_REPAIR).await, "");
}

/// Has the checksums say something else of a file than what it holds, so that reading it is noticed.
fn misstate(store: &Path, file: &str) {
    let path = store.join("checksums");
    let text = fs::read_to_string(&path).unwrap();
    let (_, body) = text.split_once('\n').unwrap();
    let mut body: serde_json::Value = serde_json::from_str(body).unwrap();
    let sum = &mut body["files"][file]["sum"];
    *sum = (sum.as_u64().unwrap() ^ 1).into();
    let body = body.to_string();
    fs::write(&path, format!("{:08x}\n{body}", crc32fast::hash(body.as_bytes()))).unwrap();
}

#[tokio::test]
async fn a_command_reads_no_file_that_never_changes_and_a_server_reads_all() {
    let folder = index(600).await;
    let all = of_segments(folder.path());
    let sealed = all.iter().find(|file| file.ends_with("id_tracker.mappings")).unwrap();
    let changing = all.iter().find(|file| file.ends_with("segment.json")).unwrap();
    assert_eq!(refusal(folder.path(), COMMAND).await, "");
    let copied = Folder::new();
    let copied = copied.path().with_file_name("copied");
    for file in [sealed, changing] {
        misstate(folder.path(), file);
        let is_trusted = file == sealed;
        // A copy has been written since.
        copy(folder.path(), &copied).await;
        for (store, to, is_well) in [
            (folder.path(), COMMAND, is_trusted),
            (folder.path(), COMMAND, is_trusted),
            (&*copied, COMMAND, false),
            (folder.path(), SERVER_WITHOUT_REPAIR, false),
        ] {
            let reason = refusal(store, to).await;
            assert_eq!(reason.is_empty(), is_well, "{reason}");
            assert!(is_well || reason.contains(&format!("`{file}` is not what")), "{reason}");
        }
        fs::remove_dir_all(&copied).unwrap();
        misstate(folder.path(), file);
    }
    flip(&folder.path().join(sealed));
    assert!(refusal(folder.path(), COMMAND).await.contains("is not what was written"));
    // Read again, what was written meanwhile is trusted as before.
    flip(&folder.path().join(sealed));
    assert_eq!(refusal(folder.path(), COMMAND).await, "");
    misstate(folder.path(), sealed);
    assert_eq!(refusal(folder.path(), COMMAND).await, "");
}

#[tokio::test]
async fn marks_of_deleted_points_are_as_long_as_their_list_after_a_kill() {
    let folder = index(600).await;
    let all = of_segments(folder.path());
    for name in ["id_tracker.deleted", "id_tracker.versions", "id_tracker.mappings"] {
        let file = all.iter().find(|file| file.ends_with(name)).unwrap();
        let path = folder.path().join(file);
        let before = fs::read(&path).unwrap();
        for length in [before.len() / 2, 0, before.len() + 100] {
            let mut bytes = before.clone();
            bytes.resize(length, 0x5a);
            fs::write(&path, bytes).unwrap();
            disturb(folder.path());
            let reason = refusal(folder.path(), SERVER_WITHOUT_REPAIR).await;
            assert!(reason.contains(&format!("`{file}` is not what was written")), "{reason}");
        }
        fs::write(&path, before).unwrap();
    }
    assert_eq!(refusal(folder.path(), SERVER_WITHOUT_REPAIR).await, "");
}

#[tokio::test]
async fn a_length_without_end_in_a_file_that_changes_is_damage_after_a_kill() {
    let folder = index(600).await;
    let all = of_segments(folder.path());
    let lengths: Vec<_> = all.iter().filter(|file| file.ends_with("/status.dat")).collect();
    assert!(4 < lengths.len(), "{all:?}");
    for file in lengths {
        let above = tempfile::TempDir::new().unwrap();
        let store = above.path().join("store");
        copy(folder.path(), &store).await;
        disturb(&store);
        let path = store.join(file);
        let mut bytes = fs::read(&path).unwrap();
        for byte in &mut bytes[..8] {
            *byte ^= 0xa5;
        }
        fs::write(&path, bytes).unwrap();
        // What the engine makes of it, it may say or live with, but never for want of memory or disk.
        assert_eq!(refusal(&store, SERVER).await, "", "{file}");
        assert_eq!(refusal(&store, SERVER_WITHOUT_REPAIR).await, "", "{file}");
    }
}

#[tokio::test]
async fn where_nothing_may_be_repaired_nothing_is_changed() {
    let chunks = "chunks/segments";
    for damage in ["no folder", "a flipped bit", "a list that is none", "too few chunks"] {
        let folder = index(3).await;
        let (store, data) = (folder.path(), folder.path().parent().unwrap());
        let reason = match damage {
            "no folder" => {
                fs::remove_dir_all(store).unwrap();
                "its folder is missing"
            }
            "a flipped bit" => {
                let all = of_segments(store);
                flip(&store.join(all.iter().find(|file| file.starts_with(chunks)).unwrap()));
                "is not what was written"
            }
            "a list that is none" => {
                fs::write(data.join("roots.json"), "{").unwrap();
                "`roots.json` cannot be read"
            }
            _ => {
                let store = open(store).await.unwrap();
                let of_one = root([&*a_root("one").id.to_string()]);
                store.delete(Collection::Chunks, of_one).await.unwrap();
                "`one` has 0 chunks where 3 belong"
            }
        };
        let before = contents(data);
        for to in [SERVER_WITHOUT_REPAIR, COMMAND, SERVER_WITHOUT_REPAIR] {
            let refused = refusal(store, to).await;
            assert!(refused.contains(reason), "{damage}: {refused}");
        }
        assert_eq!(aside(data), [""; 0], "{damage}");
        let after = contents(data);
        let lists = |contents: &BTreeMap<PathBuf, Vec<u8>>| {
            let is_kept = |path: &Path| {
                path.ends_with("roots.json") || path.strip_prefix(store.join(chunks)).is_ok()
            };
            let kept = contents.iter().filter(|(path, _)| is_kept(path));
            kept.map(|(path, bytes)| (path.clone(), bytes.clone())).collect::<Vec<_>>()
        };
        if damage == "too few chunks" {
            // Only the engine can count, and it numbers what it opens.
            let path = data.join("roots.json");
            assert_eq!(before[&path], after[&path]);
        } else {
            assert_eq!(lists(&before), lists(&after), "{damage}");
        }
        // The next server still sees it all.
        let store = open_to(store, MODEL, OnMismatch::Refuse, SERVER).await.unwrap();
        let said = store.damage().unwrap_or_default();
        // A list has a copy.
        let is_said = said.contains(reason) && said.contains("repairing: one");
        assert!(is_said || damage == "a list that is none", "{damage}: {said}");
    }
}

#[tokio::test]
async fn a_root_that_is_still_to_be_repaired_refuses_nothing_and_is_named() {
    let folder = index(3).await;
    fs::remove_dir_all(folder.path()).unwrap();
    for to in [SERVER, SERVER_WITHOUT_REPAIR, COMMAND, SERVER] {
        let store = open_to(folder.path(), MODEL, OnMismatch::Refuse, to).await.unwrap();
        let said = store.damage().unwrap_or_default();
        assert!(said.ends_with("repairing: one"), "{to:?}: {said}");
        // Why it could not be repaired stays, until somebody tries again.
        let catalog = Catalog::new(store);
        let mut roots = catalog.roots().await.unwrap();
        let away = LastRun::Failed { reason: "it is away".to_owned() };
        let expected = if to == SERVER { &LastRun::Damaged } else { &away };
        assert_eq!(&roots[0].last_run, expected, "{to:?}");
        roots[0].last_run = away;
        catalog.put_root(&roots[0]).await.unwrap();
    }
}

/// What a store says of its one root, and that nothing is taken for damage.
async fn is_discarded(store: Arc<dyn VectorStore>, what: &str) {
    let damage = store.damage();
    let roots = Catalog::new(store).roots().await.unwrap();
    let last_runs: Vec<_> = roots.iter().map(|root| &root.last_run).collect();
    assert_eq!(last_runs, [&LastRun::Discarded], "{what}");
    assert_eq!(damage, None, "{what}");
}

/// Opens the folder for another model, once the opener before, which may still be merging, let go of it.
async fn once_let_go(folder: &Path, on_mismatch: OnMismatch) -> Arc<dyn VectorStore> {
    loop {
        match open_to(folder, "other@1", on_mismatch, SERVER).await {
            Err(StoreError::Held { .. }) => tokio::time::sleep(Duration::from_millis(20)).await,
            opened => return opened.unwrap(),
        }
    }
}

#[tokio::test]
async fn an_index_that_is_dropped_for_another_model_is_no_damage() {
    for what in ["whole", "damaged", "stopped midway", "its roots to be repaired"] {
        let folder = index(600).await;
        let store = folder.path();
        match what {
            "whole" => {}
            "damaged" => {
                let all = of_segments(store);
                flip(&store.join(all.iter().find(|file| file.starts_with("files/")).unwrap()));
            }
            "stopped midway" => {
                let manifest = store.join("manifest.json");
                let text = unsigned(&fs::read_to_string(&manifest).unwrap());
                let text = text.replace("\"discarding\": false", "\"discarding\": true");
                fs::write(&manifest, text.replace(MODEL, "other@1")).unwrap();
                fs::remove_dir_all(store.join("chunks")).unwrap();
            }
            _ => fs::remove_dir_all(store.join("roots")).unwrap(),
        }
        for on_mismatch in [OnMismatch::Discard, OnMismatch::Refuse] {
            let opened = once_let_go(store, on_mismatch).await;
            if what == "its roots to be repaired" {
                let damage = opened.damage().unwrap();
                assert!(damage.ends_with("repairing: one"), "{damage}");
            } else {
                is_discarded(opened, what).await;
            }
        }
    }
}
