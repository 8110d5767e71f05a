//! The contract of every vector store. An engine runs it with `store_suite!(Storage)`, where `Storage` opens
//! its stores; a wrapper of an engine runs `store_suite!(wrapper Storage)`.

mod records;
mod reopening;

use codeinfo_core::{TermVector, error::ErrorCode};
use codeinfo_store::{ChunkQuery, ChunkVectors, NewChunk, ScoredChunk, StoreError, StoredChunk};
use codeinfo_test_support::store::{
    Store, load_all_chunks, make_chunk, make_chunk_id, make_chunk_record, make_root, make_root_id,
    make_vector, put_chunks, read_chunk_numbers, read_hit_numbers,
};
use uuid::Uuid;

pub(crate) use self::{
    records::{
        chunks_files_and_roots_do_not_mix, files_are_replaced_and_found_by_path,
        records_come_back_whole, removed_files_are_gone_and_no_others,
        removing_a_root_leaves_the_others, roots_are_replaced_and_ordered_by_name,
    },
    reopening::{
        another_model_is_refused_and_both_are_named, discarding_a_model_keeps_the_roots_only,
        reopening_keeps_everything,
    },
};

macro_rules! store_suite {
    ($place:ty) => {
        $crate::suite::store_suite!(wrapper $place);
        $crate::suite::store_suite!(@place $place:
            reopening_keeps_everything,
            another_model_is_refused_and_both_are_named,
            discarding_a_model_keeps_the_roots_only,
        );
    };
    (wrapper $place:ty) => {
        $crate::suite::store_suite!(@store $place:
            a_chunk_comes_back_and_the_same_id_replaces_it,
            reads_keep_to_one_root,
            chunks_are_read_by_their_ids,
            removing_chunks_takes_the_named_ones_and_no_more,
            nearest_is_ordered_by_cosine_similarity,
            nearest_keeps_to_one_root,
            lexical_weighs_rare_terms_higher,
            lexical_keeps_to_one_root_and_replaced_terms_are_gone,
            ties_are_ordered_by_id,
            ties_at_the_limit_keep_the_lowest_ids,
            empty_queries_find_nothing,
            an_empty_store_answers,
            chunks_come_by_page_in_order_of_id,
            a_chunk_that_does_not_fit_is_refused_with_all_others,
            readers_see_whole_chunks_while_others_write,
            changes_keep_their_order_when_no_caller_waits,
            a_large_write_is_counted_exactly,
            flush_changes_nothing,
            a_lease_is_granted_again_after_it_was_given_back,
            chunks_files_and_roots_do_not_mix,
            records_come_back_whole,
            roots_are_replaced_and_ordered_by_name,
            files_are_replaced_and_found_by_path,
            removed_files_are_gone_and_no_others,
            removing_a_root_leaves_the_others,
        );
    };
    (@store $place:ty: $($name:ident,)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                let place = <$place as codeinfo_test_support::store::EngineStorage>::create().await;
                let store = codeinfo_test_support::store::EngineStorage::open(&place).await;
                $crate::suite::$name(store).await;
            }
        )*
    };
    (@place $place:ty: $($name:ident,)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                let place = <$place as codeinfo_test_support::store::EngineStorage>::create().await;
                $crate::suite::$name(place).await;
            }
        )*
    };
}
pub(crate) use store_suite;

pub(crate) async fn a_chunk_comes_back_and_the_same_id_replaces_it(store: Store) {
    put_chunks(&store, [make_chunk(1, "a", "x", [1.0, 0.0, 0.0, 0.0], &[(1, 1.0)])]).await;
    put_chunks(&store, [make_chunk(1, "b", "y", [0.0, 1.0, 0.0, 0.0], &[(2, 1.0)])]).await;
    assert_eq!(load_all_chunks(&store).await, [make_stored_chunk(1, "b", "y")]);
    assert_eq!(store.count(None).await.unwrap(), 1);
    assert_eq!(store.count(Some(make_root_id("a"))).await.unwrap(), 0);
    let found = store.search(ChunkQuery::nearest(vec![0.0, 1.0, 0.0, 0.0], None, 5)).await.unwrap();
    assert_eq!(round_scores(&found), [(1, 1.0)]);
    // The last of two in one write counts.
    let twice = ["first", "last"].map(|path| make_chunk(2, "a", path, make_vector(2), &[]));
    put_chunks(&store, twice).await;
    assert_eq!(
        load_all_chunks(&store).await,
        [make_stored_chunk(1, "b", "y"), make_stored_chunk(2, "a", "last")]
    );
}

pub(crate) async fn reads_keep_to_one_root(store: Store) {
    write_roots(&store).await;
    for (of, expected) in [
        (None, vec![1, 2, 3, 4, 5, 6]),
        (Some(make_root_id("a")), vec![1, 2, 3]),
        (Some(make_root_id("c")), vec![6]),
        (Some(make_root_id("none")), vec![]),
    ] {
        assert_eq!(read_chunk_numbers(&store.chunks(of, None, 100).await.unwrap()), expected);
        assert_eq!(store.count(of).await.unwrap(), expected.len() as u64);
    }
}

pub(crate) async fn chunks_are_read_by_their_ids(store: Store) {
    write_roots(&store).await;
    store.remove_chunks(vec![make_chunk_id(3)]).await.unwrap();
    let mut found = store
        .chunks_by_id(vec![make_chunk_id(5), make_chunk_id(1), make_chunk_id(3), make_chunk_id(99)])
        .await
        .unwrap();
    found.sort_by_key(|stored| stored.id);
    assert_eq!(found, [make_stored_chunk(1, "a", "x"), make_stored_chunk(5, "b", "y")]);
    assert_eq!(store.chunks_by_id(Vec::new()).await.unwrap(), []);
}

pub(crate) async fn removing_chunks_takes_the_named_ones_and_no_more(store: Store) {
    write_roots(&store).await;
    store.remove_chunks(vec![]).await.unwrap();
    assert_eq!(read_chunk_numbers(&load_all_chunks(&store).await), [1, 2, 3, 4, 5, 6]);
    store.remove_chunks([1, 3, 99].map(make_chunk_id).into()).await.unwrap();
    assert_eq!(read_chunk_numbers(&load_all_chunks(&store).await), [2, 4, 5, 6]);
    let found =
        store.search(ChunkQuery::nearest(vec![1.0, 0.0, 0.0, 0.0], None, 10)).await.unwrap();
    assert_eq!(read_hit_numbers(&found), [6, 5, 2, 4]);
    let query = TermVector { indices: vec![1, 3], values: vec![1.0, 1.0] };
    let found =
        store.search(ChunkQuery::lexical(query, Some(make_root_id("a")), 10)).await.unwrap();
    assert_eq!(read_hit_numbers(&found), [2]);
    put_chunks(&store, [make_chunk(1, "a", "x", [1.0, 0.0, 0.0, 0.0], &[])]).await;
    assert_eq!(read_chunk_numbers(&load_all_chunks(&store).await), [1, 2, 4, 5, 6]);
}

pub(crate) async fn nearest_is_ordered_by_cosine_similarity(store: Store) {
    let chunks = [
        make_chunk(1, "a", "x", [0.0, 1.0, 0.0, 0.0], &[]),
        make_chunk(2, "a", "x", [0.6, 0.8, 0.0, 0.0], &[]),
        make_chunk(3, "a", "x", [1.0, 0.0, 0.0, 0.0], &[]),
        make_chunk(4, "a", "x", [-1.0, 0.0, 0.0, 0.0], &[]),
    ];
    put_chunks(&store, chunks).await;
    let found =
        store.search(ChunkQuery::nearest(vec![2.0, 0.0, 0.0, 0.0], None, 10)).await.unwrap();
    assert_eq!(round_scores(&found), [(3, 1.0), (2, 0.6), (1, 0.0), (4, -1.0)]);
    assert_eq!(found[0].record, make_chunk_record("a", "x"));
    let found = store.search(ChunkQuery::nearest(vec![2.0, 0.0, 0.0, 0.0], None, 2)).await.unwrap();
    assert_eq!(round_scores(&found), [(3, 1.0), (2, 0.6)]);
}

pub(crate) async fn nearest_keeps_to_one_root(store: Store) {
    write_roots(&store).await;
    let to = || vec![1.0, 0.0, 0.0, 0.0];
    let found = store.search(ChunkQuery::nearest(to(), Some(make_root_id("b")), 10)).await.unwrap();
    assert_eq!(round_scores(&found), [(5, 0.8), (4, 0.0)]);
    let found = store.search(ChunkQuery::nearest(to(), Some(make_root_id("b")), 1)).await.unwrap();
    assert_eq!(round_scores(&found), [(5, 0.8)]);
    assert_eq!(
        store.search(ChunkQuery::nearest(to(), Some(make_root_id("none")), 5)).await.unwrap(),
        []
    );
}

pub(crate) async fn lexical_weighs_rare_terms_higher(store: Store) {
    let common = 10;
    let rare = 20;
    let vector = [1.0, 0.0, 0.0, 0.0];
    let mut chunks: Vec<NewChunk> =
        (1..=9).map(|n| make_chunk(n, "a", "x", vector, &[(common, 1.0)])).collect();
    chunks.push(make_chunk(10, "b", "x", vector, &[(common, 0.5), (rare, 1.0)]));
    put_chunks(&store, chunks).await;
    let query = TermVector { indices: vec![common, rare], values: vec![1.0, 1.0] };
    let found = store.search(ChunkQuery::lexical(query.clone(), None, 3)).await.unwrap();
    assert_eq!(read_hit_numbers(&found), [10, 1, 2]);
    assert_eq!(found[0].record, make_chunk_record("b", "x"));
    // idf = ln(1 + (chunks - holders + 0.5) / (holders + 0.5))
    let idf = |holders: f32| (1.0 + (10.0 - holders + 0.5) / (holders + 0.5)).ln();
    assert!((found[0].score - (0.5 * idf(10.0) + idf(1.0))).abs() < 1e-4, "{found:?}");
    assert!((found[1].score - idf(10.0)).abs() < 1e-4, "{found:?}");
    // The chunks of other roots count as well.
    let found = store.search(ChunkQuery::lexical(query, Some(make_root_id("b")), 3)).await.unwrap();
    assert!((found[0].score - (0.5 * idf(10.0) + idf(1.0))).abs() < 1e-4, "{found:?}");
}

pub(crate) async fn lexical_keeps_to_one_root_and_replaced_terms_are_gone(store: Store) {
    let vector = [1.0, 0.0, 0.0, 0.0];
    put_chunks(
        &store,
        [
            make_chunk(1, "a", "x", vector, &[(7, 1.0)]),
            make_chunk(2, "b", "x", vector, &[(7, 2.0)]),
        ],
    )
    .await;
    let query = || TermVector { indices: vec![7], values: vec![1.0] };
    let found =
        store.search(ChunkQuery::lexical(query(), Some(make_root_id("a")), 5)).await.unwrap();
    assert_eq!(read_hit_numbers(&found), [1]);
    put_chunks(
        &store,
        [make_chunk(1, "a", "x", vector, &[]), make_chunk(2, "b", "x", vector, &[(8, 1.0)])],
    )
    .await;
    assert_eq!(store.search(ChunkQuery::lexical(query(), None, 5)).await.unwrap(), []);
}

pub(crate) async fn ties_are_ordered_by_id(store: Store) {
    let chunks = [5, 2, 9, 1].map(|n| make_chunk(n, "a", "x", [0.0, 1.0, 0.0, 0.0], &[(3, 1.0)]));
    put_chunks(&store, chunks).await;
    put_chunks(&store, [make_chunk(7, "a", "x", [0.6, 0.8, 0.0, 0.0], &[(3, 2.0)])]).await;
    let found =
        store.search(ChunkQuery::nearest(vec![0.0, 1.0, 0.0, 0.0], None, 10)).await.unwrap();
    assert_eq!(read_hit_numbers(&found), [1, 2, 5, 9, 7]);
    let query = TermVector { indices: vec![3], values: vec![1.0] };
    let found = store.search(ChunkQuery::lexical(query, None, 10)).await.unwrap();
    assert_eq!(read_hit_numbers(&found), [7, 1, 2, 5, 9]);
}

pub(crate) async fn ties_at_the_limit_keep_the_lowest_ids(store: Store) {
    let numbers: Vec<u64> = (1..=300).rev().collect();
    let tied = |n: &u64| make_chunk(*n, "a", "x", [0.0, 1.0, 0.0, 0.0], &[(3, 1.0)]);
    put_chunks(&store, numbers.iter().map(tied)).await;
    let found = store.search(ChunkQuery::nearest(vec![0.0, 1.0, 0.0, 0.0], None, 4)).await.unwrap();
    assert_eq!(read_hit_numbers(&found), [1, 2, 3, 4]);
    let query = TermVector { indices: vec![3], values: vec![1.0] };
    let found = store.search(ChunkQuery::lexical(query, Some(make_root_id("a")), 4)).await.unwrap();
    assert_eq!(read_hit_numbers(&found), [1, 2, 3, 4]);
}

pub(crate) async fn empty_queries_find_nothing(store: Store) {
    write_roots(&store).await;
    put_chunks(&store, [make_chunk(9, "a", "x", [0.0; 4], &[])]).await;
    assert_eq!(store.search(ChunkQuery::nearest(vec![0.0; 4], None, 5)).await.unwrap(), []);
    assert_eq!(store.search(ChunkQuery::nearest(vec![1.0; 4], None, 0)).await.unwrap(), []);
    assert_eq!(
        store.search(ChunkQuery::lexical(TermVector::default(), None, 5)).await.unwrap(),
        []
    );
    let unknown = TermVector { indices: vec![4_000_000_000], values: vec![1.0] };
    assert_eq!(store.search(ChunkQuery::lexical(unknown, None, 5)).await.unwrap(), []);
    let known = TermVector { indices: vec![1], values: vec![1.0] };
    assert_eq!(store.search(ChunkQuery::lexical(known, None, 0)).await.unwrap(), []);
    let found = store.search(ChunkQuery::nearest(vec![1.0; 4], None, 100)).await.unwrap();
    assert!(found.iter().all(|hit| hit.score.is_finite()), "{found:?}");
    assert_eq!(store.chunks(None, None, 0).await.unwrap(), []);
}

pub(crate) async fn an_empty_store_answers(store: Store) {
    assert_eq!(load_all_chunks(&store).await, []);
    assert_eq!(store.roots().await.unwrap(), []);
    assert_eq!(store.files(make_root_id("a")).await.unwrap(), []);
    assert_eq!(store.files_at(make_root_id("a"), vec!["x".to_owned()]).await.unwrap(), []);
    assert_eq!(store.search(ChunkQuery::nearest(vec![1.0; 4], None, 5)).await.unwrap(), []);
    let query = TermVector { indices: vec![3], values: vec![1.0] };
    assert_eq!(
        store.search(ChunkQuery::lexical(query, Some(make_root_id("a")), 5)).await.unwrap(),
        []
    );
    store.remove_root(make_root_id("a")).await.unwrap();
    store.remove_chunks(vec![make_chunk_id(1)]).await.unwrap();
    store.remove_files(make_root_id("a"), vec!["x".to_owned()]).await.unwrap();
    store.put_chunks(vec![]).await.unwrap();
    store.put_files(vec![]).await.unwrap();
    store.flush().await.unwrap();
    assert_eq!(store.health().await.unwrap().chunks, 0);
}

pub(crate) async fn chunks_come_by_page_in_order_of_id(store: Store) {
    write_roots(&store).await;
    let page =
        async |of, after, limit| read_chunk_numbers(&store.chunks(of, after, limit).await.unwrap());
    assert_eq!(page(None, None, 4).await, [1, 2, 3, 4]);
    assert_eq!(page(None, Some(make_chunk_id(4)), 4).await, [5, 6]);
    assert_eq!(page(None, Some(make_chunk_id(6)), 4).await, [0; 0]);
    assert_eq!(page(None, Some(Uuid::max()), 4).await, [0; 0]);
    // The position need not be a chunk's.
    store.remove_chunks(vec![make_chunk_id(4), make_chunk_id(5)]).await.unwrap();
    assert_eq!(page(None, Some(make_chunk_id(3)), 4).await, [6]);
    assert_eq!(page(None, Some(make_chunk_id(4)), 4).await, [6]);
    assert_eq!(page(Some(make_root_id("a")), Some(make_chunk_id(1)), 1).await, [2]);
}

pub(crate) async fn a_chunk_that_does_not_fit_is_refused_with_all_others(store: Store) {
    let good = make_chunk(1, "a", "x", [1.0, 0.0, 0.0, 0.0], &[(1, 1.0), (2, 1.0)]);
    let spoil = |change: fn(&mut ChunkVectors)| {
        let mut chunk = NewChunk { id: make_chunk_id(2), ..good.clone() };
        change(&mut chunk.vectors);
        chunk
    };
    let bad = [
        spoil(|vectors| vectors.dense.push(0.0)),
        spoil(|vectors| vectors.dense.clear()),
        spoil(|vectors| vectors.dense[0] = f32::NAN),
        spoil(|vectors| vectors.sparse.values[1] = f32::INFINITY),
        spoil(|vectors| vectors.sparse.values.clear()),
        spoil(|vectors| vectors.sparse.indices = vec![1, 1]),
        spoil(|vectors| vectors.sparse.indices = vec![2, 1]),
    ];
    for chunk in bad {
        let error = store.put_chunks(vec![good.clone(), chunk]).await.unwrap_err();
        assert!(
            matches!(error, StoreError::InvalidChunk { id: of, .. } if of == make_chunk_id(2)),
            "{error}"
        );
        assert_eq!(error.code(), ErrorCode::Internal);
    }
    assert_eq!(load_all_chunks(&store).await, []);
}

pub(crate) async fn readers_see_whole_chunks_while_others_write(store: Store) {
    let write = async |root: &str, vector: [f32; 4]| {
        for round in 0..5_u64 {
            let range = (1 + round * 20)..(21 + round * 20);
            put_chunks(&store, range.map(|n| make_chunk(n, root, root, vector, &[(1, 1.0)]))).await;
        }
    };
    let read = async || {
        for _ in 0..40 {
            for StoredChunk { record, .. } in load_all_chunks(&store).await {
                assert_eq!(record.root, make_root_id(&record.path));
            }
            let found = store.search(ChunkQuery::nearest(vec![1.0, 0.0, 0.0, 0.0], None, 20)).await;
            assert!(found.unwrap().is_sorted_by(|a, b| b.score <= a.score));
            store.count(Some(make_root_id("a"))).await.unwrap();
        }
    };
    tokio::join!(
        write("a", [1.0, 0.0, 0.0, 0.0]),
        write("b", [0.0, 1.0, 0.0, 0.0]),
        read(),
        read()
    );
    assert_eq!(read_chunk_numbers(&load_all_chunks(&store).await), (1..=100).collect::<Vec<_>>());
}

pub(crate) async fn changes_keep_their_order_when_no_caller_waits(store: Store) {
    let of = |root: &str| vec![make_chunk(1, root, "x", [1.0, 0.0, 0.0, 0.0], &[])];
    for _ in 0..20 {
        let mut first = store.put_chunks(of("first"));
        // Begun, perhaps made, and left alone.
        drop(futures_util::poll!(&mut first));
        drop(first);
        store.put_chunks(of("second")).await.unwrap();
        assert_eq!(load_all_chunks(&store).await, [make_stored_chunk(1, "second", "x")]);
        store.remove_root(make_root_id("second")).await.unwrap();
        assert_eq!(load_all_chunks(&store).await, []);
    }
}

pub(crate) async fn a_large_write_is_counted_exactly(store: Store) {
    let one = |n| make_chunk(n, if n % 3 == 0 { "a" } else { "b" }, "x", [1.0; 4], &[(1, 1.0)]);
    put_chunks(&store, (1..=1500).map(one)).await;
    let everything: Vec<u64> = (1..=1500).collect();
    assert_eq!(read_chunk_numbers(&load_all_chunks(&store).await), everything);
    // Limits are cut to what one read returns.
    assert_eq!(
        read_chunk_numbers(&store.chunks(None, None, usize::MAX).await.unwrap()),
        everything
    );
    let found = store.search(ChunkQuery::nearest(vec![1.0; 4], None, usize::MAX)).await.unwrap();
    assert_eq!(read_hit_numbers(&found), everything);
    assert_eq!(store.health().await.unwrap().chunks, 1500);
    assert_eq!(store.count(None).await.unwrap(), 1500);
    assert_eq!(store.count(Some(make_root_id("a"))).await.unwrap(), 500);
    store.remove_root(make_root_id("b")).await.unwrap();
    assert_eq!(store.count(None).await.unwrap(), 500);
}

pub(crate) async fn flush_changes_nothing(store: Store) {
    write_roots(&store).await;
    let before = load_all_chunks(&store).await;
    store.flush().await.unwrap();
    assert_eq!(load_all_chunks(&store).await, before);
    put_chunks(&store, [make_chunk(7, "c", "z", [1.0, 0.0, 0.0, 0.0], &[])]).await;
    store.flush().await.unwrap();
    store.remove_root(make_root_id("c")).await.unwrap();
    store.flush().await.unwrap();
    assert_eq!(read_chunk_numbers(&load_all_chunks(&store).await), [1, 2, 3, 4, 5]);
}

pub(crate) async fn a_lease_is_granted_again_after_it_was_given_back(store: Store) {
    let (one, two) = (make_root("one"), make_root("two"));
    for _ in 0..3 {
        let lease = store.lease(one.id).await.unwrap();
        lease.check().unwrap();
        let other = store.lease(two.id).await.unwrap();
        other.release().await;
        lease.release().await;
    }
    // Leases are no roots.
    assert_eq!(store.roots().await.unwrap(), []);
}

/// Three roots: `a` with chunks 1 to 3, `b` with 4 and 5, `c` with 6.
async fn write_roots(store: &Store) {
    let chunks = [
        make_chunk(1, "a", "x", [1.0, 0.0, 0.0, 0.0], &[(1, 1.0)]),
        make_chunk(2, "a", "y", [0.0, 1.0, 0.0, 0.0], &[(1, 1.0), (2, 1.0)]),
        make_chunk(3, "a", "z", [0.0, 0.0, 1.0, 0.0], &[(3, 1.0)]),
        make_chunk(4, "b", "x", [0.0, 0.0, 0.0, 1.0], &[(1, 2.0)]),
        make_chunk(5, "b", "y", [0.8, 0.6, 0.0, 0.0], &[(2, 1.0)]),
        make_chunk(6, "c", "x", [0.96, 0.28, 0.0, 0.0], &[]),
    ];
    put_chunks(store, chunks).await;
}

fn make_stored_chunk(number: u64, root: &str, path: &str) -> StoredChunk {
    StoredChunk { id: make_chunk_id(number), record: make_chunk_record(root, path) }
}

/// Ids with their scores, rounded to four digits.
fn round_scores(found: &[ScoredChunk]) -> Vec<(u64, f32)> {
    // Stored vectors may be rounded.
    let score = |hit: &ScoredChunk| (hit.score * 1000.0).round() / 1000.0;
    read_hit_numbers(found).into_iter().zip(found.iter().map(score)).collect()
}
