//! What is no file, or far too large, in place of each file of the data folder; and an index that lost
//! its list of repositories or its checksums.

use std::{
    env,
    fs::{self, File},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use codeinfo::{
    embed::Builtin,
    store::{Catalog, Collection, Filter},
    task::Tasks,
};
use nix::{sys::stat::Mode, unistd::mkfifo};
use tempfile::TempDir;
use tokio::time::timeout;

use crate::{
    store_damage::{ALL, Harness, Seen, aside, build, copy, files, next, seed},
    support::process::{Environment, run},
};

/// How long a start or a command may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Chunks of a segment that is sealed.
const SEAL: usize = 32;

#[derive(Debug, Clone, Copy)]
enum Kind {
    Pipe,
    Folder,
    Endless,
    Large,
}

const KINDS: [Kind; 4] = [Kind::Pipe, Kind::Folder, Kind::Endless, Kind::Large];

impl Kind {
    fn put(self, path: &Path) {
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

/// An index whose files are at rest.
struct Index {
    folder: TempDir,
    embedder: Arc<Builtin>,
    before: Seen,
}

impl Index {
    async fn new() -> Self {
        let embedder = Arc::new(Builtin::load(Tasks::default()).unwrap());
        let folder = TempDir::new().unwrap();
        let before = build(folder.path(), &embedder, SEAL).await;
        Self { folder, embedder, before }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    async fn open(&self, data: &Path) -> Harness {
        let opening = Harness::open(data, &self.embedder, SEAL);
        timeout(PATIENCE, opening).await.expect("the start hangs")
    }

    /// Opens a data folder, has it repaired, and compares what is seen.
    async fn heals(&self, data: &Path, what: &str) {
        let harness = self.open(data).await;
        harness.ingest.repair().await.unwrap();
        assert_eq!(harness.store.damage(), None, "{what}");
        assert_eq!(harness.look().await, self.before, "{what}");
        harness.close().await;
    }
}

/// Finds a file below a folder by how its path ends.
fn find(folder: &Path, end: &str) -> PathBuf {
    let mut all = Vec::new();
    files(folder, &mut all);
    all.into_iter().find(|path| path.ends_with(end)).unwrap()
}

/// Has a store look as if its process had been killed: files that change prove nothing.
pub(crate) fn disturb(store: &Path) {
    let path = store.join("checksums");
    let text = fs::read_to_string(&path).unwrap();
    let (_, body) = text.split_once('\n').unwrap();
    let body = body.replacen("\"atRest\":true", "\"atRest\":false", 1);
    fs::write(&path, format!("{:08x}\n{body}", crc32fast::hash(body.as_bytes()))).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_file_hangs_no_start_and_is_healed() {
    let index = Index::new().await;
    let below = |path: PathBuf| path.strip_prefix(index.data()).unwrap().to_owned();
    let store = index.data().join("store");
    let places = [
        "roots.json".into(),
        "roots.tmp".into(),
        "store/roots.json".into(),
        "store/manifest.json".into(),
        "store/manifest.tmp".into(),
        "store/checksums".into(),
        "store/checksums.tmp".into(),
        "store/journal".into(),
        "store/optimizing".into(),
        "store/chunks/edge_config.json".into(),
        below(find(&store.join("chunks/segments"), "segment.json")),
        below(find(&store.join("roots/segments"), "mutable_id_tracker.mappings")),
    ];
    let mut state = seed();
    for place in &places {
        let chosen = [KINDS[usize::try_from(next(&mut state) % 4).unwrap()]];
        for kind in if env::var_os(ALL).is_some() { &KINDS[..] } else { &chosen } {
            // Where nothing else would notice it, a pipe would be waited for.
            let is_engine =
                ["segment.json", "edge_config.json"].iter().any(|it| place.ends_with(it));
            let kind = if is_engine && env::var_os(ALL).is_none() { &Kind::Pipe } else { kind };
            let is_disturbed = is_engine || next(&mut state).is_multiple_of(2);
            let what = format!("{kind:?} {}, at rest: {}", place.display(), !is_disturbed);
            let work = TempDir::new().unwrap();
            let data = work.path().join("data");
            copy(&index.data(), &data).await;
            if is_disturbed {
                disturb(&data.join("store"));
            }
            kind.put(&data.join(place));
            // Whoever reads a pipe all the same waits only until this is dropped.
            let mut options = File::options();
            let options = options.read(true).write(true);
            let _held = matches!(kind, Kind::Pipe).then(|| options.open(data.join(place)));
            index.heals(&data, &what).await;
            assert!(aside(&data).len() <= 1, "{what}");
        }
    }
}

#[tokio::test]
async fn a_lock_that_is_no_file_is_refused_with_its_name() {
    let environment: Environment = vec![("CODEX_BIN".to_owned(), "/nonexistent/codex".to_owned())];
    for name in ["lock", "lock.alive"] {
        for kind in KINDS {
            let data = TempDir::new().unwrap();
            let path = data.path().join(name);
            kind.put(&path);
            let running = run(data.path(), &environment, &["repos"]);
            let output = timeout(PATIENCE, running).await.expect("it hangs");
            // A large file can be locked like any other.
            assert_eq!(output.status.success(), matches!(kind, Kind::Large), "{kind:?} {name}");
            let said = String::from_utf8_lossy(&output.stderr);
            let is_named = said.contains(path.to_str().unwrap())
                && said.contains("is not a regular file; move it away");
            assert!(output.status.success() || is_named, "{said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_repositories_is_found_in_its_copy() {
    let index = Index::new().await;
    let data = index.data();
    fs::remove_file(data.join("roots.json")).unwrap();
    fs::write(data.join("store/manifest.json"), "{").unwrap();
    index.heals(&data, "no list beside the store").await;
    assert_eq!(
        fs::read(data.join("roots.json")).unwrap(),
        fs::read(data.join("store/roots.json")).unwrap()
    );
    fs::write(data.join("roots.json"), "{").unwrap();
    fs::remove_dir_all(data.join("store/roots/segments")).unwrap();
    index.heals(&data, "a damaged list, and no roots in the store").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_without_its_list_of_repositories_is_not_well() {
    let index = Index::new().await;
    for lost in ["manifest.json", "roots/segments"] {
        let work = TempDir::new().unwrap();
        let data = work.path().join("data");
        copy(&index.data(), &data).await;
        for list in ["roots.json", "store/roots.json"] {
            fs::remove_file(data.join(list)).unwrap();
        }
        if lost == "manifest.json" {
            fs::write(data.join("store").join(lost), "{").unwrap();
        } else {
            // After a kill no checksum says that they were there.
            disturb(&data.join("store"));
            fs::remove_dir_all(data.join("store").join(lost)).unwrap();
        }
        // It says so until something is indexed, also after another start.
        for _ in 0..2 {
            let harness = index.open(&data).await;
            harness.ingest.repair().await.unwrap();
            let said = harness.store.damage().unwrap();
            assert!(said.contains("the list of repositories is lost"), "{lost}: {said}");
            let roots = Catalog::new(Arc::clone(&harness.store)).roots().await.unwrap();
            assert_eq!(roots, []);
            let count = harness.store.count(Collection::Chunks, Filter::default()).await;
            assert_eq!(count.unwrap(), 0, "{lost}");
            harness.close().await;
        }
        let harness = index.open(&data).await;
        for name in ["valves", "pumps"] {
            harness.ingest(&index.folder.path().join("repos").join(name), name).await;
        }
        assert_eq!(harness.store.damage(), None);
        assert_eq!(harness.look().await, index.before);
        harness.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_checksums_are_reported_unless_a_former_version_wrote_none() {
    let index = Index::new().await;
    let data = index.data();
    let checksums = data.join("store/checksums");
    fs::remove_file(&checksums).unwrap();
    let harness = index.open(&data).await;
    let said = harness.store.damage().unwrap();
    assert!(said.contains("`checksums` is missing"), "{said}");
    harness.ingest.repair().await.unwrap();
    assert_eq!(harness.store.damage(), None);
    assert_eq!(harness.look().await, index.before);
    harness.close().await;

    fs::remove_file(&checksums).unwrap();
    let manifest = data.join("store/manifest.json");
    let mut former: serde_json::Value =
        serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    for key in ["sum", "hasChecksums"] {
        former.as_object_mut().unwrap().remove(key).unwrap();
    }
    fs::write(&manifest, former.to_string()).unwrap();
    let harness = index.open(&data).await;
    assert_eq!(harness.store.damage(), None);
    harness.close().await;
    assert!(checksums.try_exists().unwrap());
}
