//! The contract of every vector store that is opened again, by the same model or by another.

use codeinfo_core::error::ErrorCode;
use codeinfo_store::{ChunkQuery, OnMismatch};
use codeinfo_test_support::store::{
    EngineStorage, MODEL, load_all_chunks, make_chunk, make_chunk_id, make_file_record, make_root,
    make_root_id, make_vector, put_chunks, read_chunk_numbers, read_hit_numbers,
};

pub(crate) async fn reopening_keeps_everything(place: impl EngineStorage) {
    let (mut one, file) = (make_root("one"), make_file_record(make_root_id("one"), 1, "v1"));
    one.counts.chunks = 0;
    let store = place.open().await;
    store.put_root(one.clone()).await.unwrap();
    store
        .put_files(vec![file.clone(), make_file_record(make_root_id("one"), 2, "v1")])
        .await
        .unwrap();
    store.remove_files(make_root_id("one"), vec!["src/0002.rs".to_owned()]).await.unwrap();
    put_chunks(
        &store,
        (1..=200).map(|n| make_chunk(n, "a", "x", [1.0, 0.0, 0.0, 0.0], &[(1, 1.0)])),
    )
    .await;
    store.remove_chunks(vec![make_chunk_id(7)]).await.unwrap();
    put_chunks(&store, [make_chunk(5, "b", "y", [0.0, 1.0, 0.0, 0.0], &[(9, 1.0)])]).await;
    let before = load_all_chunks(&store).await;
    assert_eq!(before.len(), 199);
    drop(store);
    for _ in 0..2 {
        let store = place.open().await;
        assert_eq!(load_all_chunks(&store).await, before);
        assert_eq!(store.count(Some(make_root_id("a"))).await.unwrap(), 198);
        assert_eq!(store.roots().await.unwrap(), std::slice::from_ref(&one));
        assert_eq!(store.files(one.id).await.unwrap(), std::slice::from_ref(&file));
        let found = store
            .search(ChunkQuery::nearest(vec![0.0, 1.0, 0.0, 0.0], Some(make_root_id("b")), 5))
            .await
            .unwrap();
        assert_eq!(read_hit_numbers(&found), [5]);
        // A change after reopening must not look older than what it changes.
        put_chunks(&store, [make_chunk(6, "c", "z", [0.0, 0.0, 1.0, 0.0], &[])]).await;
        store.remove_root(make_root_id("c")).await.unwrap();
        put_chunks(&store, [make_chunk(6, "a", "x", [1.0, 0.0, 0.0, 0.0], &[(1, 1.0)])]).await;
    }
}

pub(crate) async fn another_model_is_refused_and_both_are_named(place: impl EngineStorage) {
    let store = place.open().await;
    put_chunks(&store, [make_chunk(1, "a", "x", make_vector(1), &[])]).await;
    drop(store);
    let error = place.open_for_model("other@2", OnMismatch::Refuse).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::EmbedModelMismatch);
    assert_eq!(
        error.to_string(),
        "the store holds vectors of `test@1`, but the embedder is `other@2`; start with \
         `--reembed` to embed every repository again, or use the former model"
    );
    assert_eq!(read_chunk_numbers(&load_all_chunks(&place.open().await).await), [1]);
}

pub(crate) async fn discarding_a_model_keeps_the_roots_only(place: impl EngineStorage) {
    let store = place.open().await;
    let one = make_root("one");
    store.put_root(one.clone()).await.unwrap();
    store.put_files(vec![make_file_record(one.id, 1, "v1")]).await.unwrap();
    put_chunks(&store, [make_chunk(1, "a", "x", make_vector(1), &[])]).await;
    drop(store);
    for on_mismatch in [OnMismatch::Discard, OnMismatch::Refuse] {
        let store = place.open_for_model("other@2", on_mismatch).await.unwrap();
        assert_eq!(load_all_chunks(&store).await, []);
        assert_eq!(store.files(one.id).await.unwrap(), []);
        assert_eq!(store.roots().await.unwrap(), [one.clone().without_index()]);
    }
    // And back again: what the first model embedded is gone.
    let error = place.open_for_model(MODEL, OnMismatch::Refuse).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::EmbedModelMismatch);
    let store = place.open_for_model(MODEL, OnMismatch::Discard).await.unwrap();
    assert_eq!(load_all_chunks(&store).await, []);
    assert_eq!(store.roots().await.unwrap(), [one.without_index()]);
}
