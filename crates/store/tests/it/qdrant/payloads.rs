//! Payloads of the product's records on a server, which processes of several versions may share.

use codeinfo_core::{LastRun, error::ErrorCode};
use codeinfo_test_support::{
    qdrant::{FakeQdrant, FaultKind, FaultRule, fixture::QdrantFixture},
    store::{
        EngineStorage, make_chunk, make_chunk_id, make_file_record, make_root, make_root_id,
        make_vector, put_chunks,
    },
};
use insta::assert_snapshot;
use serde_json::{Value, json};

#[tokio::test]
async fn payloads_have_the_form_that_other_versions_read() {
    let fixture = QdrantFixture::new();
    let store = fixture.open().await;
    store.put_root(make_root("one")).await.unwrap();
    store.put_files(vec![make_file_record(make_root_id("one"), 1, "v1")]).await.unwrap();
    put_chunks(&store, [make_chunk(1, "one", "src/x.rs", make_vector(1), &[(1, 1.0)])]).await;
    let mut shown = Vec::new();
    for kind in ["chunks", "files", "roots"] {
        for (id, mut payload) in fixture.list_points(kind).await {
            // Another one each time the store is emptied.
            if let Some(generation) = payload.get_mut("generation") {
                assert_eq!(generation.as_str().unwrap().len(), 8, "{generation}");
                *generation = "some".into();
            }
            shown.push(format!("{kind} {id} {payload}"));
        }
    }
    assert_snapshot!(shown.join("\n"), @r#"
    chunks 00000000-0000-0000-0000-000000000001 {"end_line":1,"indexed_at_ms":1,"kind":"glue","path":"src/x.rs","root":"d33a7dbf-d8d2-5776-bdf2-e227154b5cf9","start_line":1,"text":"","version":"v1"}
    files cab0c51a-7d17-52e5-ac22-ea3eb990644a {"chunks":2,"modified_ns":1700000000123456789,"path":"src/0001.rs","root":"d33a7dbf-d8d2-5776-bdf2-e227154b5cf9","size":10,"version":"v1"}
    roots d33a7dbf-d8d2-5776-bdf2-e227154b5cf9 {"counts":{"chunks":2,"embedded":2,"files":1},"description":"all of one","generation":"some","id":"d33a7dbf-d8d2-5776-bdf2-e227154b5cf9","lastIngestAtMs":0,"lastRun":{"state":"completed"},"modelId":"test@1","name":"one","path":"/repositories/one","root":"d33a7dbf-d8d2-5776-bdf2-e227154b5cf9"}
    "#);
}

#[tokio::test]
async fn a_payload_of_another_form_is_reported() {
    let fixture = QdrantFixture::new();
    let store = fixture.open().await;
    store.put_root(make_root("one")).await.unwrap();
    let payload = json!({"root": make_root_id("one"), "path": "src/x.rs"});
    fixture.write_point("chunks", make_chunk_id(1), &payload).await;
    fixture.write_point("files", make_chunk_id(2), &payload).await;
    let failures =
        [store.chunks(None, None, 9).await.err(), store.files(make_root_id("one")).await.err()];
    for error in failures {
        let error = error.unwrap();
        assert_eq!(error.code(), ErrorCode::StoreUnavailable);
        let message = error.to_string();
        assert!(message.contains("holds a malformed record: missing field `version`"), "{message}");
    }
}

#[tokio::test]
async fn a_root_goes_last_so_that_its_removal_can_be_repeated() {
    let fake_qdrant = FakeQdrant::start();
    let fixture = QdrantFixture::for_server(&fake_qdrant);
    let store = fixture.open().await;
    let one = make_root("one");
    store.put_root(one.clone()).await.unwrap();
    store.put_files(vec![make_file_record(one.id, 1, "v1")]).await.unwrap();
    put_chunks(&store, [make_chunk(1, "one", "x", make_vector(1), &[])]).await;
    let problem = FaultKind::Refuse(tonic::Code::InvalidArgument);
    for (of, chunks, files) in [("_chunks_", 1, 1), ("_files_", 0, 1), ("_roots_", 0, 0)] {
        fake_qdrant.add_fault(FaultRule { call: "delete", of, after: 0, times: 1, kind: problem });
        store.remove_root(one.id).await.unwrap_err();
        assert_eq!(store.count(None).await.unwrap(), chunks, "{of}");
        assert_eq!(store.files(one.id).await.unwrap().len(), files, "{of}");
        assert_eq!(store.roots().await.unwrap(), std::slice::from_ref(&one), "{of}");
    }
    store.remove_root(one.id).await.unwrap();
    assert_eq!(store.roots().await.unwrap(), []);
}

#[tokio::test]
async fn a_root_that_names_no_or_another_generation_has_no_index() {
    let fixture = QdrantFixture::new();
    let store = fixture.open().await;
    let one = make_root("one");
    store.put_root(one.clone()).await.unwrap();
    let [(_, stored)] = &fixture.list_points("roots").await[..] else { panic!() };
    let last_run = async |change: &dyn Fn(&mut Value)| {
        let mut stored = stored.clone();
        change(&mut stored);
        fixture.write_point("roots", one.id.0, &stored).await;
        let [root] = &store.roots().await.unwrap()[..] else { panic!() };
        (root.last_run.clone(), root.counts.chunks)
    };
    assert_eq!(last_run(&|_| ()).await, (LastRun::Completed, 2));
    let discarded = (LastRun::Discarded, 0);
    assert_eq!(last_run(&|root| root["generation"] = "ffffffff".into()).await, discarded);
    // A process of a former version wrote it: its next run here reports the present state.
    let unmarked = |root: &mut Value| drop(root.as_object_mut().unwrap().remove("generation"));
    assert_eq!(last_run(&unmarked).await, discarded);
}
