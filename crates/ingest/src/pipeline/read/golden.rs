//! Hash of the index of fixtures, which may only change with the revision.

use std::{fmt::Write as _, fs, path::Path};

use codeinfo_core::task::Tasks;
use codeinfo_embed::{BuiltinEmbedder, Embedder};
use sha2::{Digest, Sha256};

use super::*;

/// Revision, and the hash of the chunks, terms and vectors of the fixtures.
const GOLDEN: (&str, &str) =
    ("17-", "04226d1b62c69c75fdf6b279a92e9dc128106fe701d409cb531563c6474048bd");
/// File with values that are replaced.
const SECRETS: (&str, &str) = (
    "settings.yaml",
    "database:\n  password: hunter2-and-more\n  host: db.example.com\nretries: 3\n",
);

/// Rounding step of vector components, so that the order of additions does not matter.
const STEP: f32 = 0.01;

#[tokio::test]
async fn the_index_of_a_text_changes_only_with_the_revision() {
    let folder = tempfile::tempdir().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../chunk/tests/fixtures");
    for entry in fs::read_dir(fixtures).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    fs::write(folder.path().join(SECRETS.0), SECRETS.1).unwrap();
    let names = fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();

    let beneath = RootDir::open(folder.path()).unwrap();
    let embedder = BuiltinEmbedder::load(Tasks::default()).unwrap();
    let mut hasher = Sha256::new();
    for path in names {
        let chunks = read_chunks(&beneath, &path);
        assert!(!chunks.is_empty(), "{path}");
        let documents =
            chunks.iter().map(|chunk| EmbeddingDocument::from(&chunk.record).to_owned());
        let vectors = embedder.embed_documents(documents.collect()).await.unwrap();
        for (UnembeddedChunk { record: chunk, sparse }, vector) in chunks.iter().zip(vectors) {
            let place = (path.as_str(), chunk.start_line, chunk.end_line, &chunk.text);
            let facts = (&chunk.symbol, chunk.kind, &chunk.defines, &chunk.bases, &chunk.roles);
            hasher.update(format!("{place:?}{facts:?}{:?}{:?}", chunk.language, chunk.signature));
            let weights: Vec<i32> =
                sparse.values.iter().map(|weight| round_to_step(*weight)).collect();
            hasher.update(format!("{:?}{weights:?}", sparse.indices));
            let numbers: Vec<i32> = vector.iter().map(|number| round_to_step(*number)).collect();
            hasher.update(format!("{numbers:?}"));
        }
    }
    let mut hash = String::new();
    for byte in hasher.finalize() {
        write!(hash, "{byte:02x}").unwrap();
    }
    assert_eq!(
        (hash::REVISION, hash.as_str()),
        GOLDEN,
        "chunks, terms or vectors are not as they were: raise `REVISION` in `crates/core/src/hash.rs`, so that \
         files are read again, and write both here"
    );
}

fn read_chunks(folder: &RootDir, path: &str) -> Vec<UnembeddedChunk> {
    let (root, pulse) = (RootId::from_path(Path::new("/demo")), IoHeartbeat::default());
    let (mode, other_versions) = (RunMode::Everything, &OtherTreeVersions::default());
    let reader = RunFileReader {
        root,
        folder,
        pulse: &pulse,
        max_file_bytes: 1 << 20,
        mode,
        other_versions,
    };
    let found =
        DiscoveredFile { path: path.to_owned(), size: 1, modified_ns: 1, is_requested: false };
    match reader.read_file(&found, None) {
        ReadOutcome::Changed(_, chunks, _) => chunks,
        other => panic!("{path}: {other:?}"),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "weights and numbers are small")]
fn round_to_step(number: f32) -> i32 {
    (number / STEP).round() as i32
}
