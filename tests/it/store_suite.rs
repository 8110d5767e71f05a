//! What every vector store must do. An engine runs it with `store_suite!(Place)`, where `Place` says how
//! to open its stores; what wraps an engine runs `store_suite!(wrapper Place)`.

use std::{path::Path, sync::Arc, time::UNIX_EPOCH};

use codeinfo::{
    config::PathMap,
    domain::{Counts, FileRecord, LastRun, Root, RootId, Sparse},
    error::Code,
    store::{
        Catalog, Collection, Field, Filter, OnMismatch, Point, Scored, StoreError, Stored,
        VectorStore, Vectors,
    },
};
use serde_json::{Map, Value, json};
use uuid::Uuid;

pub(crate) const DIMENSIONS: usize = 4;
/// The model of stores that are opened without naming one.
pub(crate) const MODEL: &str = "test@1";

pub(crate) type Store = Arc<dyn VectorStore>;

/// Where an engine keeps one store of vectors of [`DIMENSIONS`]: opened again, it has what was written.
/// No store may be open in it when it is opened.
pub(crate) trait Place: Sized {
    /// Returns an empty one.
    async fn fresh() -> Self;
    async fn open_as(&self, model: &str, on_mismatch: OnMismatch) -> Result<Store, StoreError>;

    async fn open(&self) -> Store {
        self.open_as(MODEL, OnMismatch::Refuse).await.unwrap()
    }
}

macro_rules! store_suite {
    ($place:ty) => {
        $crate::store_suite::store_suite!(wrapper $place);
        $crate::store_suite::store_suite!(@place $place:
            reopening_keeps_everything,
            another_model_is_refused_and_both_are_named,
            discarding_a_model_keeps_the_roots_only,
        );
    };
    (wrapper $place:ty) => {
        $crate::store_suite::store_suite!(@store $place:
            a_point_comes_back_and_the_same_id_replaces_it,
            payloads_come_back_whole,
            filters_keep_and_exclude,
            a_filter_without_values_selects_nothing,
            delete_takes_what_the_filter_selects_and_no_more,
            nearest_is_ordered_by_cosine_similarity,
            nearest_obeys_the_filter,
            lexical_weighs_rare_terms_higher,
            lexical_obeys_the_filter_and_replaced_terms_are_gone,
            ties_are_ordered_by_id,
            ties_at_the_limit_keep_the_lowest_ids,
            empty_queries_find_nothing,
            an_empty_store_answers,
            scroll_pages_in_order_of_id,
            collections_do_not_mix,
            a_point_that_does_not_fit_is_refused,
            readers_see_whole_points_while_others_write,
            changes_keep_their_order_also_when_nobody_waits,
            a_large_write_is_counted_exactly,
            flush_changes_nothing,
            a_lease_is_granted_again_after_it_was_given_back,
            the_catalog_keeps_roots_and_files,
            removing_a_root_leaves_the_others,
        );
    };
    (@store $place:ty: $($name:ident,)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                let place = <$place as $crate::store_suite::Place>::fresh().await;
                let store = $crate::store_suite::Place::open(&place).await;
                $crate::store_suite::$name(store).await;
            }
        )*
    };
    (@place $place:ty: $($name:ident,)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                let place = <$place as $crate::store_suite::Place>::fresh().await;
                $crate::store_suite::$name(place).await;
            }
        )*
    };
}
pub(crate) use store_suite;

pub(crate) async fn a_point_comes_back_and_the_same_id_replaces_it(store: Store) {
    put(&store, [chunk(1, "a", "x", [1.0, 0.0, 0.0, 0.0], &[(1, 1.0)])]).await;
    put(&store, [chunk(1, "b", "y", [0.0, 1.0, 0.0, 0.0], &[(2, 1.0)])]).await;
    let stored = all(&store).await;
    assert_eq!(stored, [Stored { id: id(1), payload: payload("b", "y") }]);
    assert_eq!(store.count(Collection::Chunks, Filter::default()).await.unwrap(), 1);
    let found = store.nearest(vec![0.0, 1.0, 0.0, 0.0], Filter::default(), 5).await.unwrap();
    assert_eq!(scores(&found), [(1, 1.0)]);
}

pub(crate) async fn payloads_come_back_whole(store: Store) {
    let object = json!({
        "root": "a", "path": "ä/日本.rs", "version": "", "text": "line\n\t\u{0}\"\\ \u{1f980}",
        "large": 9_223_372_036_854_775_807_i64, "small": -1, "float": 0.1, "whole": 2.0,
        "yes": true, "nothing": null, "list": [1, [], {}, "x", null], "nested": {"a": {"b": [0.5]}},
    });
    let payload = object.as_object().unwrap().clone();
    let point = Point { id: Uuid::max(), payload: payload.clone(), vectors: None };
    store.upsert(Collection::Files, vec![point]).await.unwrap();
    let stored = store.scroll(Collection::Files, Filter::default(), None, 5).await.unwrap();
    assert_eq!(stored, [Stored { id: Uuid::max(), payload }]);
}

pub(crate) async fn filters_keep_and_exclude(store: Store) {
    seed(&store).await;
    let ids = async |filter| numbers(&page(&store, filter, None, 100).await);
    assert_eq!(ids(Filter::default()).await, [1, 2, 3, 4, 5, 6]);
    assert_eq!(ids(root(["a"])).await, [1, 2, 3]);
    assert_eq!(ids(root(["a", "c"])).await, [1, 2, 3, 6]);
    assert_eq!(ids(root(["none"])).await, [0; 0]);
    assert_eq!(ids(root(["a"]).with(Field::Path, ["y".to_owned()])).await, [2]);
    assert_eq!(ids(root(["a"]).without(Field::Path, ["y".to_owned()])).await, [1, 3]);
    assert_eq!(ids(Filter::default().without(Field::Root, ["a".into(), "b".into()])).await, [6]);
    assert_eq!(ids(root(["a"]).with(Field::Version, ["v1".to_owned()])).await, [1, 2, 3]);
    assert_eq!(store.count(Collection::Chunks, root(["a"])).await.unwrap(), 3);
}

pub(crate) async fn a_filter_without_values_selects_nothing(store: Store) {
    seed(&store).await;
    let nothing = || Filter::default().with(Field::Root, []);
    assert_eq!(page(&store, nothing(), None, 100).await, []);
    assert_eq!(store.count(Collection::Chunks, nothing()).await.unwrap(), 0);
    assert_eq!(store.nearest(vec![1.0; 4], nothing(), 5).await.unwrap(), []);
    store.delete(Collection::Chunks, nothing()).await.unwrap();
    assert_eq!(page(&store, Filter::of([]), None, 100).await, []);
    store.delete(Collection::Chunks, Filter::of([])).await.unwrap();
    let everything = Filter::default().without(Field::Root, []);
    assert_eq!(store.count(Collection::Chunks, everything).await.unwrap(), 6);
}

pub(crate) async fn delete_takes_what_the_filter_selects_and_no_more(store: Store) {
    seed(&store).await;
    let filter = root(["a"]).without(Field::Path, ["y".to_owned()]);
    store.delete(Collection::Chunks, filter).await.unwrap();
    assert_eq!(numbers(&all(&store).await), [2, 4, 5, 6]);
    let found = store.nearest(vec![1.0, 0.0, 0.0, 0.0], Filter::default(), 10).await.unwrap();
    assert!(found.iter().all(|hit| hit.id != id(1) && hit.id != id(3)), "{found:?}");
    put(&store, [chunk(1, "a", "x", [1.0, 0.0, 0.0, 0.0], &[])]).await;
    assert_eq!(numbers(&all(&store).await), [1, 2, 4, 5, 6]);
    let named = || Filter::of([id(2), id(5), id(99)]);
    assert_eq!(numbers(&page(&store, named(), None, 100).await), [2, 5]);
    let of_b = named().with(Field::Root, ["b".to_owned()]);
    assert_eq!(store.count(Collection::Chunks, of_b).await.unwrap(), 1);
    store.delete(Collection::Chunks, named()).await.unwrap();
    assert_eq!(numbers(&all(&store).await), [1, 4, 6]);
    store.delete(Collection::Chunks, Filter::default()).await.unwrap();
    assert_eq!(all(&store).await, []);
}

pub(crate) async fn nearest_is_ordered_by_cosine_similarity(store: Store) {
    let points = [
        chunk(1, "a", "x", [0.0, 1.0, 0.0, 0.0], &[]),
        chunk(2, "a", "x", [0.6, 0.8, 0.0, 0.0], &[]),
        chunk(3, "a", "x", [1.0, 0.0, 0.0, 0.0], &[]),
        chunk(4, "a", "x", [-1.0, 0.0, 0.0, 0.0], &[]),
    ];
    put(&store, points).await;
    let found = store.nearest(vec![2.0, 0.0, 0.0, 0.0], Filter::default(), 10).await.unwrap();
    assert_eq!(scores(&found), [(3, 1.0), (2, 0.6), (1, 0.0), (4, -1.0)]);
    assert_eq!(found[0].payload, payload("a", "x"));
    let found = store.nearest(vec![2.0, 0.0, 0.0, 0.0], Filter::default(), 2).await.unwrap();
    assert_eq!(scores(&found), [(3, 1.0), (2, 0.6)]);
}

pub(crate) async fn nearest_obeys_the_filter(store: Store) {
    seed(&store).await;
    let to = vec![1.0, 0.0, 0.0, 0.0];
    let found = store.nearest(to.clone(), root(["b"]), 10).await.unwrap();
    assert_eq!(scores(&found), [(5, 0.8), (4, 0.0)]);
    let without = Filter::default().without(Field::Root, ["a".to_owned()]);
    let found = store.nearest(to, without, 1).await.unwrap();
    assert_eq!(scores(&found), [(6, 0.96)]);
}

pub(crate) async fn lexical_weighs_rare_terms_higher(store: Store) {
    let common = 10;
    let rare = 20;
    let vector = [1.0, 0.0, 0.0, 0.0];
    let mut points: Vec<Point> =
        (1..=9).map(|n| chunk(n, "a", "x", vector, &[(common, 1.0)])).collect();
    points.push(chunk(10, "a", "x", vector, &[(common, 0.5), (rare, 1.0)]));
    put(&store, points).await;
    let query = Sparse { indices: vec![common, rare], values: vec![1.0, 1.0] };
    let found = store.lexical(query, Filter::default(), 3).await.unwrap();
    assert_eq!(numbers_of(&found), [10, 1, 2]);
    // idf = ln(1 + (points - holders + 0.5) / (holders + 0.5))
    let idf = |holders: f32| (1.0 + (10.0 - holders + 0.5) / (holders + 0.5)).ln();
    assert!((found[0].score - (0.5 * idf(10.0) + idf(1.0))).abs() < 1e-4, "{found:?}");
    assert!((found[1].score - idf(10.0)).abs() < 1e-4, "{found:?}");
}

pub(crate) async fn lexical_obeys_the_filter_and_replaced_terms_are_gone(store: Store) {
    let vector = [1.0, 0.0, 0.0, 0.0];
    put(&store, [chunk(1, "a", "x", vector, &[(7, 1.0)]), chunk(2, "b", "x", vector, &[(7, 2.0)])])
        .await;
    let query = || Sparse { indices: vec![7], values: vec![1.0] };
    let found = store.lexical(query(), root(["a"]), 5).await.unwrap();
    assert_eq!(numbers_of(&found), [1]);
    put(&store, [chunk(1, "a", "x", vector, &[]), chunk(2, "b", "x", vector, &[(8, 1.0)])]).await;
    assert_eq!(store.lexical(query(), Filter::default(), 5).await.unwrap(), []);
}

pub(crate) async fn ties_are_ordered_by_id(store: Store) {
    let points = [5, 2, 9, 1].map(|n| chunk(n, "a", "x", [0.0, 1.0, 0.0, 0.0], &[(3, 1.0)]));
    put(&store, points).await;
    put(&store, [chunk(7, "a", "x", [0.6, 0.8, 0.0, 0.0], &[(3, 2.0)])]).await;
    let found = store.nearest(vec![0.0, 1.0, 0.0, 0.0], Filter::default(), 10).await.unwrap();
    assert_eq!(numbers_of(&found), [1, 2, 5, 9, 7]);
    let query = Sparse { indices: vec![3], values: vec![1.0] };
    let found = store.lexical(query, Filter::default(), 10).await.unwrap();
    assert_eq!(numbers_of(&found), [7, 1, 2, 5, 9]);
}

pub(crate) async fn ties_at_the_limit_keep_the_lowest_ids(store: Store) {
    let numbers: Vec<u64> = (1..=300).rev().collect();
    let point = |n: &u64| chunk(*n, "a", "x", [0.0, 1.0, 0.0, 0.0], &[(3, 1.0)]);
    put(&store, numbers.iter().map(point)).await;
    let found = store.nearest(vec![0.0, 1.0, 0.0, 0.0], Filter::default(), 4).await.unwrap();
    assert_eq!(numbers_of(&found), [1, 2, 3, 4]);
    let query = Sparse { indices: vec![3], values: vec![1.0] };
    let found = store.lexical(query, root(["a"]), 4).await.unwrap();
    assert_eq!(numbers_of(&found), [1, 2, 3, 4]);
}

pub(crate) async fn empty_queries_find_nothing(store: Store) {
    seed(&store).await;
    put(&store, [chunk(9, "a", "x", [0.0; 4], &[])]).await;
    assert_eq!(store.nearest(vec![0.0; 4], Filter::default(), 5).await.unwrap(), []);
    assert_eq!(store.nearest(vec![1.0; 4], Filter::default(), 0).await.unwrap(), []);
    assert_eq!(store.lexical(Sparse::default(), Filter::default(), 5).await.unwrap(), []);
    let unknown = Sparse { indices: vec![4_000_000_000], values: vec![1.0] };
    assert_eq!(store.lexical(unknown, Filter::default(), 5).await.unwrap(), []);
    let found = store.nearest(vec![1.0; 4], Filter::default(), 100).await.unwrap();
    assert!(found.iter().all(|hit| hit.score.is_finite()), "{found:?}");
    assert_eq!(page(&store, Filter::default(), None, 0).await, []);
}

pub(crate) async fn an_empty_store_answers(store: Store) {
    assert_eq!(all(&store).await, []);
    assert_eq!(store.count(Collection::Roots, Filter::default()).await.unwrap(), 0);
    assert_eq!(store.nearest(vec![1.0; 4], Filter::default(), 5).await.unwrap(), []);
    let query = Sparse { indices: vec![3], values: vec![1.0] };
    assert_eq!(store.lexical(query, root(["a"]), 5).await.unwrap(), []);
    store.delete(Collection::Chunks, Filter::default()).await.unwrap();
    store.upsert(Collection::Chunks, Vec::new()).await.unwrap();
    store.flush().await.unwrap();
}

pub(crate) async fn scroll_pages_in_order_of_id(store: Store) {
    seed(&store).await;
    assert_eq!(numbers(&page(&store, Filter::default(), None, 4).await), [1, 2, 3, 4]);
    assert_eq!(numbers(&page(&store, Filter::default(), Some(id(4)), 4).await), [5, 6]);
    assert_eq!(page(&store, Filter::default(), Some(id(6)), 4).await, []);
    assert_eq!(page(&store, Filter::default(), Some(Uuid::max()), 4).await, []);
    // The position need not be a point's.
    store.delete(Collection::Chunks, root(["b"])).await.unwrap();
    assert_eq!(numbers(&page(&store, Filter::default(), Some(id(3)), 4).await), [6]);
    assert_eq!(numbers(&page(&store, root(["a"]), Some(id(1)), 1).await), [2]);
}

pub(crate) async fn collections_do_not_mix(store: Store) {
    let point = |root: &str| Point { id: id(1), payload: payload(root, "x"), vectors: None };
    store.upsert(Collection::Files, vec![point("f")]).await.unwrap();
    store.upsert(Collection::Roots, vec![point("r")]).await.unwrap();
    put(&store, [chunk(1, "c", "x", [1.0, 0.0, 0.0, 0.0], &[])]).await;
    store.delete(Collection::Files, root(["c", "r"])).await.unwrap();
    for (collection, root) in
        [(Collection::Chunks, "c"), (Collection::Files, "f"), (Collection::Roots, "r")]
    {
        let stored = store.scroll(collection, Filter::default(), None, 9).await.unwrap();
        assert_eq!(stored, [Stored { id: id(1), payload: payload(root, "x") }]);
    }
}

pub(crate) async fn a_point_that_does_not_fit_is_refused(store: Store) {
    let good = chunk(1, "a", "x", [1.0, 0.0, 0.0, 0.0], &[(1, 1.0)]);
    let spoil = |change: fn(&mut Point)| {
        let mut point = good.clone();
        point.id = id(2);
        change(&mut point);
        point
    };
    let bad = [
        spoil(|point| point.vectors = None),
        spoil(|point| point.vectors.as_mut().unwrap().dense.push(0.0)),
        spoil(|point| point.vectors.as_mut().unwrap().dense[0] = f32::NAN),
        spoil(|point| point.vectors.as_mut().unwrap().sparse.values.clear()),
        spoil(|point| point.vectors.as_mut().unwrap().sparse.indices = vec![1, 1]),
    ];
    for point in bad {
        let points = vec![good.clone(), point];
        store.upsert(Collection::Chunks, points).await.unwrap_err();
    }
    store.upsert(Collection::Files, vec![good]).await.unwrap_err();
    assert_eq!(all(&store).await, []);
}

pub(crate) async fn readers_see_whole_points_while_others_write(store: Store) {
    let write = async |root: &str, vector: [f32; 4]| {
        for round in 0..5_u64 {
            let range = (1 + round * 20)..(21 + round * 20);
            put(&store, range.map(|n| chunk(n, root, root, vector, &[(1, 1.0)]))).await;
        }
    };
    let read = async || {
        for _ in 0..40 {
            for stored in all(&store).await {
                assert_eq!(stored.payload["root"], stored.payload["path"]);
            }
            let found = store.nearest(vec![1.0, 0.0, 0.0, 0.0], Filter::default(), 20).await;
            assert!(found.unwrap().is_sorted_by(|a, b| b.score <= a.score));
            store.count(Collection::Chunks, root(["a"])).await.unwrap();
        }
    };
    tokio::join!(
        write("a", [1.0, 0.0, 0.0, 0.0]),
        write("b", [0.0, 1.0, 0.0, 0.0]),
        read(),
        read()
    );
    assert_eq!(numbers(&all(&store).await), (1..=100).collect::<Vec<_>>());
}

pub(crate) async fn changes_keep_their_order_also_when_nobody_waits(store: Store) {
    let named = |root: &str| vec![chunk(1, root, "x", [1.0, 0.0, 0.0, 0.0], &[])];
    for _ in 0..20 {
        let mut first = store.upsert(Collection::Chunks, named("first"));
        // Begun, perhaps made, and left alone.
        drop(futures_util::poll!(&mut first));
        drop(first);
        store.upsert(Collection::Chunks, named("second")).await.unwrap();
        let stored = all(&store).await;
        assert_eq!(stored, [Stored { id: id(1), payload: payload("second", "x") }]);
        store.delete(Collection::Chunks, Filter::default()).await.unwrap();
        assert_eq!(all(&store).await, []);
    }
}

pub(crate) async fn a_large_write_is_counted_exactly(store: Store) {
    let points = |n| chunk(n, if n % 3 == 0 { "a" } else { "b" }, "x", [1.0; 4], &[(1, 1.0)]);
    put(&store, (1..=1500).map(points)).await;
    assert_eq!(numbers(&all(&store).await), (1..=1500).collect::<Vec<_>>());
    assert_eq!(store.health().await.unwrap().chunks, 1500);
    assert_eq!(store.count(Collection::Chunks, Filter::default()).await.unwrap(), 1500);
    assert_eq!(store.count(Collection::Chunks, root(["a"])).await.unwrap(), 500);
    store.delete(Collection::Chunks, root(["b"])).await.unwrap();
    assert_eq!(store.count(Collection::Chunks, Filter::default()).await.unwrap(), 500);
}

pub(crate) async fn flush_changes_nothing(store: Store) {
    seed(&store).await;
    let before = all(&store).await;
    store.flush().await.unwrap();
    assert_eq!(all(&store).await, before);
    put(&store, [chunk(7, "c", "z", [1.0, 0.0, 0.0, 0.0], &[])]).await;
    store.flush().await.unwrap();
    store.delete(Collection::Chunks, root(["c"])).await.unwrap();
    store.flush().await.unwrap();
    assert_eq!(numbers(&all(&store).await), [1, 2, 3, 4, 5]);
}

pub(crate) async fn a_lease_is_granted_again_after_it_was_given_back(store: Store) {
    let (one, two) = (a_root("one"), a_root("two"));
    for _ in 0..3 {
        let lease = store.lease(one.id).await.unwrap();
        lease.check().unwrap();
        let other = store.lease(two.id).await.unwrap();
        other.release().await;
        lease.release().await;
    }
    // Leases are no roots.
    assert_eq!(Catalog::new(store).roots().await.unwrap(), []);
}

pub(crate) async fn reopening_keeps_everything(place: impl Place) {
    let store = place.open().await;
    put(&store, (1..=200).map(|n| chunk(n, "a", "x", [1.0, 0.0, 0.0, 0.0], &[(1, 1.0)]))).await;
    store.delete(Collection::Chunks, root(["b"])).await.unwrap();
    put(&store, [chunk(5, "b", "y", [0.0, 1.0, 0.0, 0.0], &[(9, 1.0)])]).await;
    let before = all(&store).await;
    drop(store);
    for _ in 0..2 {
        let store = place.open().await;
        assert_eq!(all(&store).await, before);
        let found = store.nearest(vec![0.0, 1.0, 0.0, 0.0], root(["b"]), 5).await.unwrap();
        assert_eq!(numbers_of(&found), [5]);
        // A change after reopening must not look older than what it changes.
        put(&store, [chunk(6, "c", "z", [0.0, 0.0, 1.0, 0.0], &[])]).await;
        store.delete(Collection::Chunks, root(["c"])).await.unwrap();
        put(&store, [chunk(6, "a", "x", [1.0, 0.0, 0.0, 0.0], &[(1, 1.0)])]).await;
    }
}

pub(crate) async fn another_model_is_refused_and_both_are_named(place: impl Place) {
    let store = place.open().await;
    put(&store, [chunk(1, "a", "x", vector(1), &[])]).await;
    drop(store);
    let error = place.open_as("other@2", OnMismatch::Refuse).await.err().unwrap();
    assert_eq!(error.code(), Code::EmbedModelMismatch);
    assert_eq!(
        error.to_string(),
        "the store holds vectors of `test@1`, but the embedder is `other@2`; start with \
         `--reembed` to embed every repository again, or use the former model"
    );
    assert_eq!(numbers(&all(&place.open().await).await), [1]);
}

pub(crate) async fn discarding_a_model_keeps_the_roots_only(place: impl Place) {
    let store = place.open().await;
    let one = a_root("one");
    let catalog = Catalog::new(Arc::clone(&store));
    catalog.put_root(&one).await.unwrap();
    catalog.put_files(&[a_file(one.id, 1, "v1")]).await.unwrap();
    put(&store, [chunk(1, "a", "x", vector(1), &[])]).await;
    drop((catalog, store));
    for on_mismatch in [OnMismatch::Discard, OnMismatch::Refuse] {
        let store = place.open_as("other@2", on_mismatch).await.unwrap();
        assert_eq!(all(&store).await, []);
        let catalog = Catalog::new(Arc::clone(&store));
        assert_eq!(catalog.files(one.id).await.unwrap(), []);
        // An engine may say by now that the index is not whole.
        assert_eq!(without_errors(&catalog).await, std::slice::from_ref(&one));
    }
    // And back again: what the first model embedded is gone.
    let error = place.open_as(MODEL, OnMismatch::Refuse).await.err().unwrap();
    assert_eq!(error.code(), Code::EmbedModelMismatch);
    let store = place.open_as(MODEL, OnMismatch::Discard).await.unwrap();
    assert_eq!(all(&store).await, []);
    assert_eq!(without_errors(&Catalog::new(store)).await, [one]);
}

/// The roots, whatever is said of their indexes.
async fn without_errors(catalog: &Catalog) -> Vec<Root> {
    let known = catalog.roots().await.unwrap().into_iter();
    known.map(|root| Root { last_run: LastRun::Completed, ..root }).collect()
}

pub(crate) async fn the_catalog_keeps_roots_and_files(store: Store) {
    let catalog = Catalog::new(store);
    let (one, two) = (
        a_root("one"),
        Root { last_run: LastRun::Failed { reason: "gone".into() }, ..a_root("two") },
    );
    catalog.put_root(&two).await.unwrap();
    catalog.put_root(&Root { name: "first name".to_owned(), ..one.clone() }).await.unwrap();
    catalog.put_root(&one).await.unwrap();
    let known = catalog.roots().await.unwrap();
    assert_eq!(known, [one.clone(), two.clone()]);
    let paths = PathMap::default();
    assert_eq!(paths.root(&known, "two"), Some(&two));
    assert_eq!(paths.root(&known, &one.id.to_string()), Some(&one));
    assert_eq!(paths.root(&known, "/repositories/two"), Some(&two));
    assert_eq!(paths.root(&known, "three"), None);

    let files: Vec<FileRecord> = (0..1001).map(|n| a_file(one.id, n, "v1")).collect();
    catalog.put_files(&files).await.unwrap();
    catalog.put_files(&[a_file(one.id, 0, "v2")]).await.unwrap();
    let mut found = catalog.files(one.id).await.unwrap();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert_eq!(found.len(), 1001);
    assert_eq!(found[..2], [a_file(one.id, 0, "v2"), a_file(one.id, 1, "v1")]);
    assert_eq!(catalog.files(a_root("two").id).await.unwrap(), []);
}

pub(crate) async fn removing_a_root_leaves_the_others(store: Store) {
    let catalog = Catalog::new(Arc::clone(&store));
    let (one, two) = (a_root("one"), a_root("two"));
    for root in [&one, &two] {
        catalog.put_root(root).await.unwrap();
        catalog.put_files(&[a_file(root.id, 1, "v1")]).await.unwrap();
    }
    let (first, second) = (one.id.to_string(), two.id.to_string());
    put(&store, [chunk(1, &first, "x", [1.0; 4], &[]), chunk(2, &second, "x", [1.0; 4], &[])])
        .await;
    catalog.remove_root(one.id).await.unwrap();
    catalog.remove_root(one.id).await.unwrap();
    assert_eq!(catalog.roots().await.unwrap(), std::slice::from_ref(&two));
    assert_eq!(catalog.files(one.id).await.unwrap(), []);
    assert_eq!(catalog.files(two.id).await.unwrap(), [a_file(two.id, 1, "v1")]);
    assert_eq!(numbers(&all(&store).await), [2]);
}

/// Three roots: `a` with chunks 1 to 3, `b` with 4 and 5, `c` with 6.
async fn seed(store: &Store) {
    let points = [
        chunk(1, "a", "x", [1.0, 0.0, 0.0, 0.0], &[(1, 1.0)]),
        chunk(2, "a", "y", [0.0, 1.0, 0.0, 0.0], &[(1, 1.0), (2, 1.0)]),
        chunk(3, "a", "z", [0.0, 0.0, 1.0, 0.0], &[(3, 1.0)]),
        chunk(4, "b", "x", [0.0, 0.0, 0.0, 1.0], &[(1, 2.0)]),
        chunk(5, "b", "y", [0.8, 0.6, 0.0, 0.0], &[(2, 1.0)]),
        chunk(6, "c", "x", [0.96, 0.28, 0.0, 0.0], &[]),
    ];
    put(store, points).await;
}

pub(crate) async fn put(store: &Store, points: impl IntoIterator<Item = Point>) {
    store.upsert(Collection::Chunks, points.into_iter().collect()).await.unwrap();
}

pub(crate) async fn all(store: &Store) -> Vec<Stored> {
    page(store, Filter::default(), None, 10_000).await
}

async fn page(store: &Store, filter: Filter, after: Option<Uuid>, limit: usize) -> Vec<Stored> {
    store.scroll(Collection::Chunks, filter, after, limit).await.unwrap()
}

pub(crate) fn root<const N: usize>(roots: [&str; N]) -> Filter {
    Filter::default().with(Field::Root, roots.map(str::to_owned))
}

pub(crate) fn chunk(
    number: u64,
    root: &str,
    path: &str,
    dense: [f32; DIMENSIONS],
    terms: &[(u32, f32)],
) -> Point {
    let (indices, values) = terms.iter().copied().unzip();
    let vectors = Some(Vectors { dense: dense.to_vec(), sparse: Sparse { indices, values } });
    Point { id: id(number), payload: payload(root, path), vectors }
}

/// A vector that no other seed shares.
pub(crate) fn vector(seed: u64) -> [f32; DIMENSIONS] {
    let angle = f32::from(u16::try_from(seed % 10_000).unwrap());
    [angle.cos(), angle.sin(), (angle * 1.7).cos(), (angle * 1.7).sin()]
}

fn payload(root: &str, path: &str) -> Map<String, Value> {
    json!({"root": root, "path": path, "version": "v1"}).as_object().unwrap().clone()
}

pub(crate) fn id(number: u64) -> Uuid {
    Uuid::from_u128(number.into())
}

pub(crate) fn numbers(stored: &[Stored]) -> Vec<u64> {
    stored.iter().map(|stored| u64::try_from(stored.id.as_u128()).unwrap()).collect()
}

pub(crate) fn numbers_of(found: &[Scored]) -> Vec<u64> {
    found.iter().map(|hit| u64::try_from(hit.id.as_u128()).unwrap()).collect()
}

/// Ids with their scores, rounded to four digits.
fn scores(found: &[Scored]) -> Vec<(u64, f32)> {
    // Stored vectors are of half precision.
    let score = |hit: &Scored| (hit.score * 1000.0).round() / 1000.0;
    numbers_of(found).into_iter().zip(found.iter().map(score)).collect()
}

pub(crate) fn a_root(name: &str) -> Root {
    let path = Path::new("/repositories").join(name);
    Root {
        id: RootId::of(&path),
        name: name.to_owned(),
        description: Some(format!("all of {name}")),
        path,
        model_id: MODEL.to_owned(),
        last_ingest_at: Some(UNIX_EPOCH.into()),
        counts: Counts { files: 1, chunks: 2, embedded: 2 },
        last_run: LastRun::Completed,
        private_files: None,
    }
}

pub(crate) fn a_file(root: RootId, number: u32, version: &str) -> FileRecord {
    FileRecord {
        root,
        path: format!("src/{number:04}.rs"),
        version: version.to_owned(),
        size: 10,
        modified_ns: 1_700_000_000_123_456_789,
        chunks: 2,
    }
}
