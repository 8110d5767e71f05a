//! The embedded store: the suite, and what only it promises (lock, models, damage, reopening).

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use codeinfo::{
    config,
    domain::{FileRecord, LastRun, Root},
    error::Code,
    store::{
        Catalog, Collection, Embedded, Field, Filter, Holder, Lock, OnMismatch, StoreError, holder,
    },
    task::Tasks,
};
use qdrant_edge::{
    CreateIndex, EdgeShard, FieldIndexOperations, KeywordIndexParams, PayloadFieldSchema,
    PayloadSchemaParams, UpdateOperation,
};
use tempfile::TempDir;

use crate::{
    store_damage,
    store_strange::disturb,
    store_suite::{
        DIMENSIONS, MODEL, Place, Store, a_file, a_root, all, chunk, numbers, put, root,
        store_suite, vector,
    },
};

store_suite!(Folder);

#[tokio::test]
async fn what_was_rebuilt_is_there_after_reopening() {
    let folder = Folder::new();
    let store = open(folder.path()).await.unwrap();
    put(&store, (1..=200).map(|n| chunk(n, "a", "x", [1.0, 0.0, 0.0, 0.0], &[(1, 1.0)]))).await;
    store.delete(Collection::Chunks, root(["b"])).await.unwrap();
    put(&store, [chunk(5, "b", "y", [0.0, 1.0, 0.0, 0.0], &[(9, 1.0)])]).await;
    let before = all(&store).await;
    drop(store);
    for flush in [true, false] {
        let store = open(folder.path()).await.unwrap();
        assert_eq!(all(&store).await, before);
        let found = store.nearest(vec![0.0, 1.0, 0.0, 0.0], root(["b"]), 5).await.unwrap();
        assert_eq!(found.len(), 1);
        // A change after reopening must not look older than what it changes.
        put(&store, [chunk(6, "c", "z", [0.0, 0.0, 1.0, 0.0], &[])]).await;
        store.delete(Collection::Chunks, root(["c"])).await.unwrap();
        put(&store, [chunk(6, "a", "x", [1.0, 0.0, 0.0, 0.0], &[(1, 1.0)])]).await;
        if flush {
            store.flush().await.unwrap();
            until_optimized(&store, folder.path()).await;
        }
    }
}

#[tokio::test]
async fn rebuilding_segments_loses_and_doubles_nothing() {
    let folder = Folder::new();
    let store = open(folder.path()).await.unwrap();
    let point =
        |n: u64| chunk(n, if n.is_multiple_of(2) { "a" } else { "b" }, "x", vector(n), &[(1, 1.0)]);
    put(&store, (1..=1500).map(point)).await;
    store.delete(Collection::Chunks, root(["a"])).await.unwrap();
    store.flush().await.unwrap();
    // Changes go on while segments are rebuilt.
    put(&store, (1501..=1600).map(point)).await;
    put(&store, (1..=21).step_by(2).map(|n| chunk(n, "c", "y", vector(n), &[]))).await;
    until_optimized(&store, folder.path()).await;
    let expected: Vec<u64> = (1..=1600).filter(|n| n % 2 == 1 || 1500 < *n).collect();
    assert_eq!(numbers(&all(&store).await), expected);
    let count = store.count(Collection::Chunks, Filter::default()).await.unwrap();
    assert_eq!(count, expected.len() as u64);
    assert_eq!(store.count(Collection::Chunks, root(["c"])).await.unwrap(), 11);
    // There are enough chunks for the approximate index, which must find the same.
    store.flush().await.unwrap();
    until_optimized(&store, folder.path()).await;
    let found = store.nearest(vector(777).to_vec(), Filter::default(), 1).await.unwrap();
    assert_eq!(found[0].id, crate::store_suite::id(777));
    drop(store);
    let segments = fs::read_dir(folder.path().join("chunks/segments")).unwrap();
    let indexed = |path: &Path| path.join("vector_index-dense/graph.bin").try_exists().unwrap();
    let indexed: Vec<bool> = segments.map(|entry| indexed(&entry.unwrap().path())).collect();
    assert!(indexed.contains(&true) && indexed.len() <= 3, "{indexed:?}");
    let store = open(folder.path()).await.unwrap();
    assert_eq!(numbers(&all(&store).await), expected);
    assert_eq!(store.count(Collection::Chunks, root(["c"])).await.unwrap(), 11);
}

#[tokio::test]
async fn copies_left_by_a_kill_while_rebuilding_are_removed() {
    let folder = Folder::new();
    let store = open(folder.path()).await.unwrap();
    put(&store, (1..=600).map(|n| chunk(n, "a", "x", vector(n), &[(2, 1.0)]))).await;
    Catalog::new(Arc::clone(&store)).put_root(&a_root("one")).await.unwrap();
    let before = all(&store).await;
    drop(store);
    let segments = folder.path().join("chunks/segments");
    let segment = fs::read_dir(&segments).unwrap().next().unwrap().unwrap().path();
    copy(&segment, &segments.join("0190a5d2-3f4b-7c11-9a6e-2b8d5c0e4f17"));
    fs::write(folder.path().join("optimizing"), "").unwrap();
    for _ in 0..2 {
        let store = open(folder.path()).await.unwrap();
        assert_eq!(store.count(Collection::Chunks, Filter::default()).await.unwrap(), 600);
        assert_eq!(all(&store).await, before);
        let query = codeinfo::domain::Sparse { indices: vec![2], values: vec![1.0] };
        assert_eq!(store.lexical(query, root(["a"]), 1000).await.unwrap().len(), 600);
    }
    assert!(!folder.path().join("optimizing").try_exists().unwrap());
}

#[tokio::test]
async fn a_layout_of_the_future_is_refused() {
    let folder = Folder::new();
    drop(open(folder.path()).await.unwrap());
    fs::write(folder.path().join("manifest.json"), r#"{"layout":9,"all":"else"}"#).unwrap();
    let error = open(folder.path()).await.err().unwrap();
    assert_eq!(error.code(), Code::StoreUnavailable);
    let message = error.to_string();
    assert!(message.contains("has layout 9, but this version reads up to 2"), "{message}");
    assert!(message.contains(folder.path().to_str().unwrap()), "{message}");
}

#[tokio::test]
async fn a_layout_of_the_past_is_refused_and_can_be_discarded() {
    let folder = Folder::new();
    let store = open(folder.path()).await.unwrap();
    Catalog::new(Arc::clone(&store)).put_root(&a_root("one")).await.unwrap();
    put(&store, [chunk(1, "a", "x", vector(1), &[])]).await;
    drop(store);
    let manifest = folder.path().join("manifest.json");
    let written = fs::read_to_string(&manifest).unwrap();
    let older = unsigned(&written).replace("\"layout\": 2", "\"layout\": 1");
    assert!(older.contains("\"layout\": 1"), "{older}");
    fs::write(&manifest, older).unwrap();
    let error = open(folder.path()).await.err().unwrap();
    assert_eq!(error.code(), Code::StoreUnavailable);
    let message = error.to_string();
    assert!(message.contains("has layout 1, and this version needs 2"), "{message}");
    assert!(message.contains("`--reembed`"), "{message}");
    for on_mismatch in [OnMismatch::Discard, OnMismatch::Refuse] {
        let store = open_as(folder.path(), "test@1", on_mismatch).await.unwrap();
        assert_eq!(all(&store).await, []);
        let damage = store.damage();
        let roots = Catalog::new(store).roots().await.unwrap();
        assert_eq!(roots[0].name, "one");
        // Until it is embedded again; that is no damage.
        assert_eq!(roots[0].last_run, LastRun::Discarded);
        assert_eq!(damage, None);
    }
}

#[tokio::test]
async fn an_index_of_former_versions_goes_when_the_store_is_opened() {
    let folder = Folder::new();
    let store = open(folder.path()).await.unwrap();
    put(&store, [chunk(1, "a", "x", vector(1), &[(1, 1.0)])]).await;
    drop(store);
    let chunks = folder.path().join("chunks");
    let shard = EdgeShard::load(&chunks, None).unwrap();
    let params = PayloadSchemaParams::Keyword(KeywordIndexParams::default());
    let field_schema = Some(PayloadFieldSchema::FieldParams(params));
    let index = CreateIndex { field_name: "path".parse().unwrap(), field_schema };
    let index = FieldIndexOperations::CreateIndex(index);
    shard.update(UpdateOperation::FieldIndexOperation(index)).unwrap();
    drop(shard);
    // Former versions kept none.
    disturb(folder.path());
    let indexed = || -> Vec<String> {
        let shard = EdgeShard::load(&chunks, None).unwrap();
        shard.info().payload_schema.into_keys().map(|key| key.to_string()).collect()
    };
    assert_eq!(indexed().len(), 2);
    let store = open(folder.path()).await.unwrap();
    put(&store, [chunk(2, "a", "y", vector(2), &[(2, 1.0)])]).await;
    let of_path = || root(["a"]).with(Field::Path, ["x".to_owned()]);
    assert_eq!(store.count(Collection::Chunks, of_path()).await.unwrap(), 1);
    store.delete(Collection::Chunks, of_path()).await.unwrap();
    assert_eq!(numbers(&all(&store).await), [2]);
    drop(store);
    assert_eq!(indexed(), ["root"]);
}

#[tokio::test]
async fn damage_is_refused_with_the_folder_and_what_to_do_where_nothing_is_to_be_repaired() {
    let damages: [(&str, &[u8]); 4] = [
        ("manifest.json", b"{"),
        ("chunks/segments/*/segment.json", b"\xff\xff"),
        ("files/edge_config.json/", b""),
        ("chunks/segments/*/payload_index/config.json", b"nothing"),
    ];
    for (file, content) in damages {
        let folder = Folder::new();
        let store = open(folder.path()).await.unwrap();
        put(&store, [chunk(1, "a", "x", vector(1), &[(1, 1.0)])]).await;
        drop(store);
        damage(folder.path(), file, content);
        for _ in 0..2 {
            let refused = open_with(folder.path(), MODEL, OnMismatch::Refuse, false).await;
            let error = refused.err().unwrap_or_else(|| panic!("{file} was not noticed"));
            assert_eq!(error.code(), Code::StoreUnavailable);
            let message = error.to_string();
            assert!(message.contains(folder.path().to_str().unwrap()), "{message}");
            assert!(message.contains("is damaged: ") && message.contains("`codeinfo serve`"));
        }
        let store = open(folder.path()).await.unwrap();
        assert_eq!(all(&store).await, []);
        let beside = fs::read_dir(folder.path().parent().unwrap()).unwrap();
        let names = beside.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let aside = names.filter(|name| name.starts_with("store.damaged-")).count();
        assert_eq!(aside, 1);
    }
}

#[tokio::test]
async fn a_digit_of_the_manifest_that_changed_is_damage() {
    let folder = Folder::new();
    drop(open(folder.path()).await.unwrap());
    let manifest = folder.path().join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let (before, number) = text.split_once("\"nextOperation\": ").unwrap();
    let lower = format!("{before}\"nextOperation\": {}", number.get(1..).unwrap());
    fs::write(&manifest, lower).unwrap();
    let refused = open_with(folder.path(), MODEL, OnMismatch::Refuse, false).await;
    let error = refused.err().unwrap().to_string();
    assert!(error.contains("`manifest.json` is not what was written"), "{error}");
}

/// Opens a store that nothing may be repaired of; returns why it is refused.
async fn refusal(folder: &Path) -> String {
    let refused = open_with(folder, MODEL, OnMismatch::Refuse, false).await;
    refused.err().map(|error| error.to_string()).unwrap_or_default()
}

#[tokio::test]
async fn a_list_of_points_without_a_checksum_is_not_believed() {
    let folder = Folder::new();
    let store = open(folder.path()).await.unwrap();
    put(&store, [chunk(1, "a", "x", vector(1), &[])]).await;
    drop(store);
    disturb(folder.path());
    assert_eq!(refusal(folder.path()).await, "");
    disturb(folder.path());
    let segments = fs::read_dir(folder.path().join("chunks/segments")).unwrap();
    let list = segments.map(|entry| entry.unwrap().path().join("mutable_id_tracker.mappings"));
    let list = list.into_iter().find(|path| fs::metadata(path).is_ok_and(|it| 0 < it.len()));
    let mut entry = vec![2];
    entry.extend([7; 16]);
    entry.extend(1_000_000_u32.to_le_bytes());
    let (list, mut bytes) = list.map(|path| (path.clone(), fs::read(path).unwrap())).unwrap();
    bytes.extend(entry);
    fs::write(list, bytes).unwrap();
    let reason = refusal(folder.path()).await;
    assert!(reason.contains("mutable_id_tracker.mappings` is not what was written"), "{reason}");
}

#[tokio::test]
async fn what_never_changes_is_compared_after_a_kill_too() {
    let (folder, killed) = (Folder::new(), Folder::new());
    let store = open(folder.path()).await.unwrap();
    put(&store, (1..=600).map(|n| chunk(n, "a", "x", vector(n), &[]))).await;
    store.flush().await.unwrap();
    until_optimized(&store, folder.path()).await;
    drop(store);
    let store = open(folder.path()).await.unwrap();
    put(&store, [chunk(601, "a", "x", vector(601), &[])]).await;
    // As it is when the process is killed now.
    let (whole, flipped) = (killed.path().join("whole/store"), killed.path().join("flipped/store"));
    for to in [&whole, &flipped] {
        fs::create_dir(to.parent().unwrap()).unwrap();
        store_damage::copy(folder.path(), to).await;
    }
    drop(store);
    assert_eq!(refusal(&whole).await, "");
    let mut segments = fs::read_dir(flipped.join("chunks/segments")).unwrap();
    let list = segments.find_map(|entry| {
        let list = entry.unwrap().path().join("id_tracker.mappings");
        list.is_file().then_some(list)
    });
    let list = list.unwrap();
    let mut bytes = fs::read(&list).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&list, bytes).unwrap();
    let reason = refusal(&flipped).await;
    assert!(reason.contains("id_tracker.mappings` is not what was written"), "{reason}");
}

#[tokio::test]
async fn chunks_that_are_not_those_of_the_records_are_damage_of_their_root_alone() {
    let folder = Folder::new();
    let store = open(folder.path()).await.unwrap();
    let catalog = Catalog::new(Arc::clone(&store));
    for (first, name) in [(1, "one"), (11, "two")] {
        let mut whole = a_root(name);
        whole.counts.chunks = 3;
        let id = whole.id.to_string();
        put(&store, (first..first + 3).map(|n| chunk(n, &id, "x", vector(n), &[]))).await;
        let file = FileRecord { chunks: 3, ..a_file(whole.id, 1, "1") };
        catalog.put_files(&[file]).await.unwrap();
        catalog.put_root(&whole).await.unwrap();
    }
    drop((catalog, store));
    let store = open(folder.path()).await.unwrap();
    assert_eq!(store.damage(), None);
    let all_of_two = root([&*a_root("two").id.to_string()]);
    store.delete(Collection::Chunks, all_of_two).await.unwrap();
    drop(store);
    let store = open(folder.path()).await.unwrap();
    let damage = store.damage().unwrap();
    assert_eq!(damage, "damaged: `two` has 0 chunks where 3 belong; repairing: two");
    let roots = Catalog::new(store).roots().await.unwrap();
    let hurt: Vec<&str> =
        roots.iter().filter(|root| !root.last_run.is_completed()).map(|root| &*root.name).collect();
    assert_eq!(hurt, ["two"]);
}

#[tokio::test]
async fn a_lost_store_comes_back_with_the_roots_it_had_last() {
    let folder = Folder::new();
    let store = open(folder.path()).await.unwrap();
    let catalog = Catalog::new(Arc::clone(&store));
    for name in ["kept", "removed"] {
        catalog.put_root(&a_root(name)).await.unwrap();
    }
    catalog.remove_root(a_root("removed").id).await.unwrap();
    let described = Root { description: Some("said later".to_owned()), ..a_root("kept") };
    catalog.put_root(&described).await.unwrap();
    drop((catalog, store));
    fs::remove_dir_all(folder.path()).unwrap();
    let roots = Catalog::new(open(folder.path()).await.unwrap()).roots().await.unwrap();
    let [kept] = roots.as_slice() else { panic!("{roots:?}") };
    assert_eq!((&kept.name, &kept.description), (&described.name, &described.description));
    assert!(!kept.last_run.is_completed());
}

#[tokio::test]
async fn a_folder_without_its_manifest_is_damaged() {
    let folder = Folder::new();
    drop(open(folder.path()).await.unwrap());
    fs::remove_file(folder.path().join("manifest.json")).unwrap();
    let refused = open_with(folder.path(), MODEL, OnMismatch::Refuse, false).await;
    let error = refused.err().unwrap();
    assert!(error.to_string().contains("`manifest.json` is missing"), "{error}");
}

#[tokio::test]
async fn logs_do_not_grow_with_what_is_written() {
    let folder = Folder::new();
    let store = open(folder.path()).await.unwrap();
    let text = "x".repeat(1 << 20);
    let points = |_| {
        let mut point = chunk(1, "a", "x", vector(1), &[]);
        point.payload.insert("text".to_owned(), text.clone().into());
        point
    };
    for _ in 0..40 {
        put(&store, (0..1).map(points)).await;
    }
    store.flush().await.unwrap();
    assert_eq!(bytes(&folder.path().join("journal")), 0);
    // Of 40 MiB: the file being written, the next one, and the last one closed.
    let logs = bytes(&folder.path().join("chunks/wal"));
    assert!(logs <= 25 << 20, "{logs} bytes");
    assert_eq!(numbers(&all(&store).await), [1]);
}

#[tokio::test]
async fn one_folder_has_one_open_store() {
    let folder = Folder::new();
    let store = open(folder.path()).await.unwrap();
    let error = open(folder.path()).await.err().unwrap();
    assert!(matches!(error, StoreError::Held { .. }), "{error}");
    drop(store);
    open(folder.path()).await.unwrap();
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_named() {
    let folder = Folder::new();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = open(&file.join("store")).await.err().unwrap();
    assert!(error.to_string().contains(file.to_str().unwrap()), "{error}");
}

#[test]
fn a_second_holder_is_told_who_has_the_lock() {
    let folder = Folder::new();
    let data_dir = folder.path().join("data");
    assert_eq!(holder(&data_dir).unwrap(), None);
    let mut lock = Lock::acquire(&data_dir).unwrap();
    let unannounced = Holder { pid: std::process::id(), main_url: None, mcp_url: None };
    assert_eq!(holder(&data_dir).unwrap(), Some(unannounced));
    let announced = Holder {
        pid: 4711,
        main_url: Some("http://127.0.0.1:5010".to_owned()),
        mcp_url: Some("http://127.0.0.1:5011".to_owned()),
    };
    lock.announce(&announced).unwrap();
    assert_eq!(holder(&data_dir).unwrap(), Some(announced));
    let error = Lock::acquire(&data_dir).unwrap_err();
    assert_eq!(error.code(), Code::StoreUnavailable);
    assert_eq!(
        error.to_string(),
        format!(
            "the store in `{}` is in use by process 4711 at http://127.0.0.1:5010",
            data_dir.display()
        )
    );
    drop(lock);
    assert_eq!(holder(&data_dir).unwrap(), None);
    drop(Lock::acquire(&data_dir).unwrap());
}

#[test]
fn asking_for_the_holder_never_hinders_a_start() {
    let folder = Folder::new();
    drop(Lock::acquire(folder.path()).unwrap());
    std::thread::scope(|scope| {
        let ask = || (0..2000).for_each(|_| drop(holder(folder.path()).unwrap()));
        let asking = [scope.spawn(ask), scope.spawn(ask)];
        for _ in 0..20 {
            drop(Lock::acquire(folder.path()).unwrap());
        }
        for thread in asking {
            thread.join().unwrap();
        }
    });
}

/// A folder of its own.
pub(crate) struct Folder {
    path: PathBuf,
    _above: TempDir,
}

impl Folder {
    pub(crate) fn new() -> Self {
        let above = TempDir::new().unwrap();
        // The list of roots lies beside the store.
        let path = above.path().join("store");
        fs::create_dir(&path).unwrap();
        Self { path, _above: above }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Place for Folder {
    async fn fresh() -> Self {
        Self::new()
    }

    async fn open_as(&self, model: &str, on_mismatch: OnMismatch) -> Result<Store, StoreError> {
        open_as(self.path(), model, on_mismatch).await
    }
}

pub(crate) async fn open(folder: &Path) -> Result<Store, StoreError> {
    open_as(folder, MODEL, OnMismatch::Refuse).await
}

async fn open_as(folder: &Path, model: &str, on_mismatch: OnMismatch) -> Result<Store, StoreError> {
    open_with(folder, model, on_mismatch, true).await
}

async fn open_with(
    folder: &Path,
    model: &str,
    on_mismatch: OnMismatch,
    repairs: bool,
) -> Result<Store, StoreError> {
    open_to(folder, model, on_mismatch, [true, repairs]).await
}

/// Opens a store that merges its segments or not, and repairs itself or not.
pub(crate) async fn open_to(
    folder: &Path,
    model: &str,
    on_mismatch: OnMismatch,
    [background_merge, repairs]: [bool; 2],
) -> Result<Store, StoreError> {
    // Low, so that the tests that rebuild segments also build the approximate index.
    let settings =
        config::Store { hnsw_min_chunks: 300, seal_chunks: 128, background_merge, repairs };
    let tasks = Tasks::default();
    let store = Embedded::open(folder, model, DIMENSIONS, on_mismatch, &settings, tasks).await?;
    Ok(Arc::new(store))
}

/// A manifest as former versions wrote it, without a checksum.
pub(crate) fn unsigned(manifest: &str) -> String {
    manifest.lines().filter(|line| !line.contains("\"sum\"")).collect::<Vec<_>>().join("\n")
}

/// Waits until no segment is being rebuilt, reading meanwhile.
pub(crate) async fn until_optimized(store: &Store, folder: &Path) {
    while folder.join("optimizing").try_exists().unwrap() {
        assert!(store.nearest(vector(3).to_vec(), Filter::default(), 1).await.unwrap().len() == 1);
    }
}

/// Replaces a file; `*` is the first entry of its folder, a final `/` makes it a folder.
fn damage(folder: &Path, file: &str, content: &[u8]) {
    let mut path = folder.to_owned();
    for part in file.trim_end_matches('/').split('/') {
        path = match part {
            "*" => fs::read_dir(&path).unwrap().next().unwrap().unwrap().path(),
            part => path.join(part),
        };
    }
    if file.ends_with('/') {
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
    } else {
        fs::write(&path, content).unwrap();
    }
}

/// Size of a file, or of the files of a folder.
fn bytes(path: &Path) -> u64 {
    if path.is_file() {
        return fs::metadata(path).unwrap().len();
    }
    fs::read_dir(path).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
