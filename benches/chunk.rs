//! How fast files are cut into chunks, by language: `cargo bench --bench chunk`.
//!
//! Each text is a fixture of the tests, repeated to the size of an ordinary file. With
//! `CHUNK_CORPUS=FOLDER`, every file below that folder is cut instead, by language.
#![expect(clippy::unwrap_used, reason = "a measurement that cannot run should stop")]

use std::{
    collections::BTreeMap,
    env, fs,
    hint::black_box,
    path::{Path, PathBuf},
};

use codeinfo_lang::detect::{self, detect_language};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// Size of an ordinary source file.
const FILE_BYTES: usize = 16 * 1024;
/// Most bytes of one language in a corpus.
const CORPUS_BYTES: usize = 4 * 1024 * 1024;

type Texts = BTreeMap<&'static str, Vec<String>>;

fn by_language(criterion: &mut Criterion) {
    let mut texts = Texts::new();
    if let Some(folder) = env::var_os("CHUNK_CORPUS") {
        read(Path::new(&folder), &mut texts, 1);
    } else {
        let fixtures =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("crates/chunk/tests/fixtures");
        read(&fixtures, &mut texts, FILE_BYTES);
    }
    let mut group = criterion.benchmark_group("chunk");
    group.sample_size(10);
    for (language, texts) in &texts {
        let bytes: usize = texts.iter().map(String::len).sum();
        group.throughput(Throughput::Bytes(bytes as u64));
        let known = detect::find_language(language);
        group.bench_function(*language, |bencher| {
            bencher.iter(|| {
                for text in texts {
                    black_box(codeinfo_chunk::chunk_text(known, black_box(text)));
                }
            });
        });
    }
    group.finish();
}

/// Reads the texts below a folder, each repeated to at least `least` bytes.
fn read(folder: &Path, texts: &mut Texts, least: usize) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, texts, least);
            continue;
        }
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let Some(language) = detect_language(&path.to_string_lossy(), &text) else { continue };
        let known = texts.entry(language.name).or_default();
        let room = CORPUS_BYTES.saturating_sub(known.iter().map(String::len).sum());
        if !text.is_empty() && text.len() <= room {
            known.push(text.repeat(least.div_ceil(text.len())));
        }
    }
}

criterion_group!(benches, by_language);
criterion_main!(benches);
