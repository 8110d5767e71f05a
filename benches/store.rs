//! How fast the store writes, finds, and reads on, through the trait that every engine has:
//! `cargo bench --bench store`.
#![expect(clippy::unwrap_used, reason = "a measurement that cannot run should stop")]

use std::hint::black_box;

use codeinfo::config;
use codeinfo_core::{RootId, TermVector, task::Tasks};
use codeinfo_store::{
    ChunkQuery, ChunkVectors, EmbeddedEngine, NewChunk, OnMismatch, Store, StoreMode,
};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use uuid::Uuid;

/// Chunks in the store that is read: two sealed segments and some more.
const CHUNKS: u64 = 10_000;
/// Chunks that one write carries, as in a run.
const BATCH: u64 = 256;
const DIMENSIONS: usize = 256;
/// Distinct terms of a chunk, and of all of them.
const TERMS: (usize, u64) = (60, 50_000);
const REPOSITORIES: u64 = 10;

/// The same numbers each time, evenly spread (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Between 0 and 1.
    fn share(&mut self) -> f32 {
        f32::from(u16::try_from(self.next() >> 48).unwrap()) / f32::from(u16::MAX)
    }

    fn dense(&mut self) -> Vec<f32> {
        let vector: Vec<f32> = (0..DIMENSIONS).map(|_| self.share() - 0.5).collect();
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.iter().map(|value| value / length).collect()
    }

    /// Few terms are in most chunks and most in few, as words are.
    fn sparse(&mut self, terms: usize) -> TermVector {
        let mut indices: Vec<u32> = (0..terms)
            .map(|_| {
                let most = self.next() % TERMS.1 + 1;
                u32::try_from(self.next() % most).unwrap()
            })
            .collect();
        indices.sort_unstable();
        indices.dedup();
        let values = indices.iter().map(|_| 0.5 + self.share()).collect();
        TermVector { indices, values }
    }
}

fn root(number: u64) -> RootId {
    RootId(Uuid::from_u64_pair(1, number % REPOSITORIES))
}

fn chunk(number: u64) -> NewChunk {
    let mut numbers = Numbers(number);
    let record = json!({
        "root": root(number),
        "path": format!("src/part{}/file{}.rs", number / 100, number / 10),
        "version": "3-",
        "indexed_at_ms": 1,
        "start_line": 1,
        "end_line": 30,
        "text": "let valve = boiler.valve();\n".repeat(30),
    });
    let vectors = ChunkVectors { dense: numbers.dense(), sparse: numbers.sparse(TERMS.0) };
    NewChunk {
        id: Uuid::from_u64_pair(numbers.next(), numbers.next()),
        record: serde_json::from_value(record).unwrap(),
        vectors,
    }
}

async fn open(folder: &TempDir) -> Store {
    let config = config::from_pairs(std::iter::empty(), std::ffi::OsString::new()).unwrap();
    let tasks = Tasks::default();
    let at = folder.path();
    let (refuse, settings) = (OnMismatch::Refuse, &config.store);
    let engine = EmbeddedEngine::open(at, "bench", DIMENSIONS, refuse, settings, tasks.clone());
    Store::new(engine.await.unwrap(), StoreMode::Flat, tasks)
}

fn measure(criterion: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let folder = TempDir::new().unwrap();
    let store = runtime.block_on(async {
        let store = open(&folder).await;
        for batch in 0..CHUNKS.div_ceil(BATCH) {
            let chunks = (batch * BATCH..(batch + 1) * BATCH).map(chunk).collect();
            store.put_chunks(chunks).await.unwrap();
        }
        store.flush().await.unwrap();
        store
    });
    let mut group = criterion.benchmark_group("store");
    group.sample_size(20);
    let mut numbers = Numbers(u64::MAX);
    for (name, of) in [("all", None), ("one repository", Some(root(3)))] {
        group.bench_function(format!("nearest 50 in {name}"), |bencher| {
            bencher.iter_batched(
                || numbers.dense(),
                |to| runtime.block_on(store.search(ChunkQuery::nearest(to, of, 50))).unwrap(),
                BatchSize::SmallInput,
            );
        });
        group.bench_function(format!("lexical 50 in {name}"), |bencher| {
            bencher.iter_batched(
                || numbers.sparse(8),
                |terms| runtime.block_on(store.search(ChunkQuery::lexical(terms, of, 50))).unwrap(),
                BatchSize::SmallInput,
            );
        });
        group.bench_function(format!("read 500 of {name}"), |bencher| {
            bencher.iter(|| runtime.block_on(store.chunks(black_box(of), None, 500)).unwrap());
        });
    }
    // Last, because it adds to what the others read.
    let mut next = CHUNKS * 2;
    group.throughput(Throughput::Elements(BATCH));
    group.bench_function(format!("write {BATCH}"), |bencher| {
        bencher.iter_batched(
            || {
                next += BATCH;
                (next..next + BATCH).map(chunk).collect()
            },
            |chunks| runtime.block_on(store.put_chunks(chunks)).unwrap(),
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, measure);
criterion_main!(benches);
