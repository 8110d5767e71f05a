//! How fast the store writes, finds, and reads on, through the trait that every engine has:
//! `cargo bench --bench store`.
#![expect(clippy::unwrap_used, reason = "a measurement that cannot run should stop")]

use std::hint::black_box;

use codeinfo::{
    config,
    domain::Sparse,
    store::{Collection, Embedded, Field, Filter, OnMismatch, Point, VectorStore, Vectors},
    task::Tasks,
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
    fn sparse(&mut self, terms: usize) -> Sparse {
        let mut indices: Vec<u32> = (0..terms)
            .map(|_| {
                let most = self.next() % TERMS.1 + 1;
                u32::try_from(self.next() % most).unwrap()
            })
            .collect();
        indices.sort_unstable();
        indices.dedup();
        let values = indices.iter().map(|_| 0.5 + self.share()).collect();
        Sparse { indices, values }
    }
}

fn point(number: u64) -> Point {
    let mut numbers = Numbers(number);
    let payload = json!({
        "root": (number % REPOSITORIES).to_string(),
        "path": format!("src/part{}/file{}.rs", number / 100, number / 10),
        "version": "3-",
        "text": "let valve = boiler.valve();\n".repeat(30),
    });
    let vectors = Vectors { dense: numbers.dense(), sparse: numbers.sparse(TERMS.0) };
    Point {
        id: Uuid::from_u64_pair(numbers.next(), numbers.next()),
        payload: payload.as_object().unwrap().clone(),
        vectors: Some(vectors),
    }
}

async fn open(folder: &TempDir) -> Embedded {
    let config = config::from_pairs(std::iter::empty(), std::ffi::OsString::new()).unwrap();
    let tasks = Tasks::default();
    let at = folder.path();
    Embedded::open(at, "bench", DIMENSIONS, OnMismatch::Refuse, &config.store, tasks).await.unwrap()
}

fn measure(criterion: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let folder = TempDir::new().unwrap();
    let store = runtime.block_on(async {
        let store = open(&folder).await;
        for batch in 0..CHUNKS.div_ceil(BATCH) {
            let points = (batch * BATCH..(batch + 1) * BATCH).map(point).collect();
            store.upsert(Collection::Chunks, points).await.unwrap();
        }
        store.flush().await.unwrap();
        store
    });
    let mut group = criterion.benchmark_group("store");
    group.sample_size(20);
    let mut numbers = Numbers(u64::MAX);
    let one = || Filter::default().with(Field::Root, ["3".to_owned()]);
    for (name, filter) in [("all", Filter::default()), ("one repository", one())] {
        group.bench_function(format!("nearest 50 in {name}"), |bencher| {
            bencher.iter_batched(
                || (numbers.dense(), filter.clone()),
                |(to, filter)| runtime.block_on(store.nearest(to, filter, 50)).unwrap(),
                BatchSize::SmallInput,
            );
        });
        group.bench_function(format!("lexical 50 in {name}"), |bencher| {
            bencher.iter_batched(
                || (numbers.sparse(8), filter.clone()),
                |(terms, filter)| runtime.block_on(store.lexical(terms, filter, 50)).unwrap(),
                BatchSize::SmallInput,
            );
        });
        group.bench_function(format!("scroll 500 of {name}"), |bencher| {
            bencher.iter(|| {
                let page = store.scroll(Collection::Chunks, black_box(filter.clone()), None, 500);
                runtime.block_on(page).unwrap()
            });
        });
    }
    // Last, because it adds to what the others read.
    let mut next = CHUNKS * 2;
    group.throughput(Throughput::Elements(BATCH));
    group.bench_function(format!("upsert {BATCH}"), |bencher| {
        bencher.iter_batched(
            || {
                next += BATCH;
                (next..next + BATCH).map(point).collect()
            },
            |points| runtime.block_on(store.upsert(Collection::Chunks, points)).unwrap(),
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, measure);
criterion_main!(benches);
