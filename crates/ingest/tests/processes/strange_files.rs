//! Special or far too large files in place of each file of the data folder; and an index that lost
//! its list of repositories.

use std::{
    env,
    fs::{self, File},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use codeinfo_core::task::Tasks;
use codeinfo_embed::BuiltinEmbedder;
use codeinfo_test_support::{
    embedded::list_damaged_stores,
    random::next_random,
    searchable::{IndexSnapshot, SearchableStore, build_changed_store, copy_store},
    sources::list_files,
};
use nix::{sys::stat::Mode, unistd::mkfifo};
use tempfile::TempDir;
use tokio::time::timeout;

use crate::damage::{ALL, read_seed};

/// Time limit of a start or a command.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Chunks of a segment that is sealed.
const SEAL: usize = 32;

#[derive(Debug, Clone, Copy)]
enum StrangeFile {
    Pipe,
    Folder,
    Endless,
    Large,
}

const KINDS: [StrangeFile; 4] =
    [StrangeFile::Pipe, StrangeFile::Folder, StrangeFile::Endless, StrangeFile::Large];

impl StrangeFile {
    fn create_at(self, path: &Path) {
        drop(fs::remove_file(path));
        match self {
            Self::Pipe => mkfifo(path, Mode::S_IRWXU).unwrap(),
            Self::Folder => {
                fs::create_dir(path).unwrap();
                fs::write(path.join("file"), "").unwrap();
            }
            Self::Endless => symlink("/dev/zero", path).unwrap(),
            Self::Large => File::create(path).unwrap().set_len(64 << 30).unwrap(),
        }
    }
}

/// An index that no process has open.
struct ClosedIndex {
    folder: TempDir,
    embedder: Arc<BuiltinEmbedder>,
    before: IndexSnapshot,
}

impl ClosedIndex {
    async fn new() -> Self {
        let embedder = Arc::new(BuiltinEmbedder::load(Tasks::default()).unwrap());
        let folder = TempDir::new().unwrap();
        let before = build_changed_store(folder.path(), &embedder, SEAL).await;
        Self { folder, embedder, before }
    }

    fn data_folder(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    async fn open(&self, data: &Path) -> SearchableStore {
        let opening = SearchableStore::open(data, &self.embedder, SEAL);
        timeout(TIMEOUT, opening).await.expect("the start hangs")
    }

    /// Opens a data folder, repairs it, and compares its searches.
    async fn assert_repaired(&self, data: &Path, what: &str) {
        let harness = self.open(data).await;
        harness.ingest.repair_damaged_roots().await.unwrap();
        assert_eq!(harness.store.damage(), None, "{what}");
        assert_eq!(harness.take_snapshot().await, self.before, "{what}");
        harness.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn special_files_in_the_data_folder_are_replaced_and_block_no_start() {
    let index = ClosedIndex::new().await;
    let mut places: Vec<PathBuf> =
        ["roots.tmp", "store/manifest.tmp", "store/99.segment"].map(PathBuf::from).into();
    let all = list_files(&index.data_folder());
    places
        .extend(all.iter().map(|path| path.strip_prefix(index.data_folder()).unwrap().to_owned()));
    let is_named = |end: &str| places.iter().any(|place| place.ends_with(end));
    assert!(is_named("store/roots.json") && is_named("manifest.json") && is_named("store/lock"));
    let mut state = read_seed();
    for place in &places {
        let chosen = [KINDS[usize::try_from(next_random(&mut state) % 4).unwrap()]];
        for kind in if env::var_os(ALL).is_some() { &KINDS[..] } else { &chosen } {
            let what = format!("{kind:?} {}", place.display());
            let work = TempDir::new().unwrap();
            let data = work.path().join("data");
            copy_store(&index.data_folder(), &data).await;
            kind.create_at(&data.join(place));
            // A reader of a pipe waits only until this is dropped.
            let mut options = File::options();
            let options = options.read(true).write(true);
            let _held = matches!(kind, StrangeFile::Pipe).then(|| options.open(data.join(place)));
            index.assert_repaired(&data, &what).await;
            assert!(list_damaged_stores(&data).len() <= 1, "{what}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_repositories_is_found_in_its_copy() {
    let index = ClosedIndex::new().await;
    let data = index.data_folder();
    fs::remove_file(data.join("roots.json")).unwrap();
    fs::write(data.join("store/manifest.json"), "{").unwrap();
    index.assert_repaired(&data, "no list beside the store").await;
    assert_eq!(
        fs::read(data.join("roots.json")).unwrap(),
        fs::read(data.join("store/roots.json")).unwrap()
    );
    fs::write(data.join("roots.json"), "{").unwrap();
    fs::remove_file(data.join("store/manifest.json")).unwrap();
    index.assert_repaired(&data, "a damaged list, and no manifest").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_without_its_list_of_repositories_is_unhealthy() {
    let index = ClosedIndex::new().await;
    for is_there in [true, false] {
        let work = TempDir::new().unwrap();
        let data = work.path().join("data");
        copy_store(&index.data_folder(), &data).await;
        for list in ["roots.json", "store/roots.json", "store/manifest.json"] {
            fs::remove_file(data.join(list)).unwrap();
        }
        if is_there {
            fs::write(data.join("store/manifest.json"), "{").unwrap();
        }
        // The warning stays until a folder is indexed, also after another start.
        for _ in 0..2 {
            let harness = index.open(&data).await;
            harness.ingest.repair_damaged_roots().await.unwrap();
            let output_text = harness.store.damage().unwrap();
            assert!(output_text.contains("the list of repositories is lost"), "{output_text}");
            let roots = harness.store.roots().await.unwrap();
            assert_eq!(roots, []);
            assert_eq!(harness.store.count(None).await.unwrap(), 0);
            harness.close().await;
        }
        let harness = index.open(&data).await;
        for name in ["valves", "pumps"] {
            harness.ingest(&index.folder.path().join("repos").join(name), name).await;
        }
        assert_eq!(harness.store.damage(), None);
        assert_eq!(harness.take_snapshot().await, index.before);
        harness.close().await;
    }
}
