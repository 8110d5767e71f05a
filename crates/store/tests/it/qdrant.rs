//! The store that a Qdrant server keeps: the suite, and what only it promises: what happens while the
//! server is away, and when several processes share it.

mod payloads;

use std::time::{Duration, Instant};

use codeinfo_core::{RootId, Secret, TermVector, error::ErrorCode, task::Tasks};
use codeinfo_store::{
    ChunkQuery, EmbeddedEngine, NewChunk, OnMismatch, ScoredChunk, StoreError, StoreMode,
};
use codeinfo_test_support::{
    qdrant::{FakeQdrant, FaultKind, FaultRule, VERSION, fixture::QdrantFixture},
    store::{
        EngineStorage, MODEL, Store, load_all_chunks, make_chunk, make_chunk_id, make_root,
        make_root_id, make_vector, put_chunks, read_chunk_numbers, read_hit_numbers,
    },
};
use futures_util::future::join_all;
use uuid::Uuid;

use crate::suite::store_suite;

store_suite!(QdrantFixture);

/// By how much a score may differ between engines: each rounds vectors in its own way.
const TOLERANCE: f32 = 2e-4;
/// Length of the vectors by which engines are compared.
const WIDE: usize = 64;

#[tokio::test]
async fn both_engines_find_the_same_in_the_same_order() {
    let folder = tempfile::TempDir::new().unwrap();
    let fixture = QdrantFixture::new();
    let (refuse, tasks) = (OnMismatch::Refuse, Tasks::default());
    let exact = codeinfo_store::EmbeddedStoreSettings {
        seal_chunks: 4096,
        background_merge: true,
        repairs: true,
    };
    let at = folder.path().join("store");
    let embedded = EmbeddedEngine::open(&at, MODEL, WIDE, refuse, &exact, tasks.clone());
    let embedded = Store::new(embedded.await.unwrap(), StoreMode::Flat, tasks.clone());
    let server = fixture.open_with_model(MODEL, WIDE, "one", &tasks).await.unwrap();
    for store in [&embedded, &server] {
        put_chunks(store, (1..=400).map(make_varied_chunk)).await;
    }
    let scopes = [None, Some(make_root_id("r1")), Some(make_root_id("r2"))];
    for (of, n) in scopes.into_iter().zip(1..) {
        let (a, b) = (search_nearest(&embedded, of, n).await, search_nearest(&server, of, n).await);
        assert_same_hits(&a, &b);
        let terms =
            TermVector { indices: vec![1, 2, 3, 5, 90], values: vec![1.0, 0.5, 2.0, 1.0, 1.0] };
        let a = embedded.search(ChunkQuery::lexical(terms.clone(), of, 25)).await.unwrap();
        let b = server.search(ChunkQuery::lexical(terms, of, 25)).await.unwrap();
        assert_same_hits(&a, &b);
    }
    for store in [&embedded, &server] {
        store.remove_root(make_root_id("r3")).await.unwrap();
        put_chunks(store, (1..=20).map(|n| make_varied_chunk(n * 7 % 400 + 1))).await;
    }
    // Deleted chunks count in the weights of their terms until the engine cleans up, so that these
    // weights may differ for a while.
    for (of, n) in scopes.into_iter().zip(1..) {
        let (a, b) = (search_nearest(&embedded, of, n).await, search_nearest(&server, of, n).await);
        assert_same_hits(&a, &b);
    }
    assert_eq!(load_all_chunks(&embedded).await, load_all_chunks(&server).await);
}

async fn search_nearest(store: &Store, of: Option<RootId>, n: u64) -> Vec<ScoredChunk> {
    store.search(ChunkQuery::nearest(make_wide_vector(n * 13), of, 25)).await.unwrap()
}

/// A chunk whose root, vector and terms follow from its number.
fn make_varied_chunk(n: u64) -> NewChunk {
    let terms: Vec<(u32, f32)> = (1..=6_u32)
        .filter(|term| n.is_multiple_of(u64::from(*term)))
        .map(|term| (term, 1.0 / f32::from(u16::try_from(n % 7 + 1).unwrap())))
        .collect();
    let mut chunk = make_chunk(n, &format!("r{}", n % 4), "x", make_vector(n), &terms);
    chunk.vectors.dense = make_wide_vector(n);
    chunk
}

fn make_wide_vector(n: u64) -> Vec<f32> {
    (1..=WIDE as u64 / 4).flat_map(|part| make_vector(n * 31 * part + part)).collect()
}

fn assert_same_hits(a: &[ScoredChunk], b: &[ScoredChunk]) {
    assert_eq!(a.len(), b.len());
    for (place, (a_hit, b_hit)) in a.iter().zip(b).enumerate() {
        assert!((a_hit.score - b_hit.score).abs() <= TOLERANCE, "{place}: {a_hit:?} {b_hit:?}");
        // Another order only where scores are that close.
        let is_close = |hit: &ScoredChunk| (hit.score - a_hit.score).abs() <= TOLERANCE;
        let twins: Vec<_> = b.iter().filter(|hit| is_close(hit)).map(|hit| hit.id).collect();
        let is_cut = b.last().is_some_and(is_close);
        assert!(twins.contains(&a_hit.id) || is_cut, "{place}: {a_hit:?} is not among {twins:?}");
    }
}

#[tokio::test]
async fn the_server_builds_a_graph_once_there_are_many_chunks() {
    let mut fixture = QdrantFixture::new();
    fixture.settings.hnsw_min_chunks = 60;
    let store = fixture.open().await;
    let m_with = async |numbers: std::ops::RangeInclusive<u64>| {
        put_chunks(&store, numbers.map(|n| make_chunk(n, "r", "x", make_vector(n), &[]))).await;
        store.flush().await.unwrap();
        fixture.read_max_links().await
    };
    assert_eq!(m_with(1..=40).await, 0);
    assert_eq!(m_with(41..=80).await, 16);
    // They stay, and another process has nothing to change.
    store.remove_root(make_root_id("r")).await.unwrap();
    let other = fixture.open_as_owner("two", &Tasks::default()).await;
    other.flush().await.unwrap();
    assert_eq!(fixture.read_max_links().await, 16);
}

#[tokio::test]
async fn an_unreachable_server_is_named_with_what_to_do() {
    let fake_qdrant = FakeQdrant::start();
    let mut fixture = QdrantFixture::for_server(&fake_qdrant);
    fixture.settings.retry = Duration::from_millis(300);
    fake_qdrant.close_node(0);
    // Opening continues without it.
    let store = fixture.open().await;
    let url = &fixture.settings.urls[0];
    let failures = [
        store.health().await.err().unwrap(),
        store.count(None).await.err().unwrap(),
        store.remove_root(make_root_id("a")).await.err().unwrap(),
        store.lease(make_root("one").id).await.err().unwrap(),
    ];
    for error in failures {
        assert_eq!(error.code(), ErrorCode::StoreUnavailable);
        let message = error.to_string();
        assert!(message.contains(&format!("Qdrant at `{url}` cannot be reached")), "{message}");
        assert!(message.contains("`QDRANT_URL` names its gRPC port, 6334"), "{message}");
    }
    // It is found without a restart. Until a change succeeds, the last one counts as failed.
    fake_qdrant.open_node(0);
    let error = store.health().await.unwrap_err();
    assert!(error.to_string().starts_with("cannot make the last change: "), "{error}");
    store.flush().await.unwrap();
    let health = store.health().await.unwrap();
    assert_eq!(
        (health.version.as_deref(), health.chunks, health.copies),
        (Some(VERSION), 0, vec![])
    );
    put_chunks(&store, [make_chunk(1, "a", "x", make_vector(1), &[])]).await;
    assert_eq!(store.health().await.unwrap().chunks, 1);
}

#[tokio::test]
async fn removing_nothing_sends_no_deletion() {
    let fake_qdrant = FakeQdrant::start();
    let fixture = QdrantFixture::for_server(&fake_qdrant);
    let store = fixture.open().await;
    // A server may read an empty selection as one of everything.
    store.remove_chunks(Vec::new()).await.unwrap();
    store.remove_files(make_root_id("a"), Vec::new()).await.unwrap();
    assert_eq!(fake_qdrant.count_calls("delete", ""), 0);
    store.remove_chunks(vec![make_chunk_id(1)]).await.unwrap();
    assert_eq!(fake_qdrant.count_calls("delete", ""), 1);
}

#[tokio::test]
async fn a_short_absence_is_not_noticed() {
    let fake_qdrant = FakeQdrant::start();
    let fixture = QdrantFixture::for_server(&fake_qdrant);
    let store = fixture.open().await;
    put_chunks(&store, [make_chunk(1, "a", "x", make_vector(1), &[])]).await;
    fake_qdrant.close_node(0);
    let back = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        fake_qdrant.open_node(0);
    };
    let write = put_chunks(&store, [make_chunk(2, "a", "x", make_vector(2), &[])]);
    let read = store.search(ChunkQuery::nearest(make_vector(1).to_vec(), None, 1));
    let ((), (), found) = tokio::join!(back, write, read);
    assert_eq!(read_hit_numbers(&found.unwrap()), [1]);
    assert_eq!(read_chunk_numbers(&load_all_chunks(&store).await), [1, 2]);
}

#[tokio::test]
async fn most_of_the_time_for_retries_is_used() {
    let fake_qdrant = FakeQdrant::start();
    let mut fixture = QdrantFixture::for_server(&fake_qdrant);
    fixture.settings.retry = Duration::from_secs(4);
    let store = fixture.open().await;
    put_chunks(&store, [make_chunk(1, "a", "x", make_vector(1), &[])]).await;
    fake_qdrant.close_node(0);
    let back = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        fake_qdrant.open_node(0);
    };
    let read = store.search(ChunkQuery::nearest(make_vector(1).to_vec(), None, 1));
    let ((), found) = tokio::join!(back, read);
    assert_eq!(read_hit_numbers(&found.unwrap()), [1]);
}

#[tokio::test]
async fn another_node_serves_when_one_is_lost() {
    let fake_qdrant = FakeQdrant::start_nodes(3);
    let fixture = QdrantFixture::for_server(&fake_qdrant);
    let store = fixture.open().await;
    put_chunks(&store, (1..=9).map(|n| make_chunk(n, "a", "x", make_vector(n), &[]))).await;
    for door in [0, 1] {
        fake_qdrant.close_node(door);
        let started = Instant::now();
        let found =
            store.search(ChunkQuery::nearest(make_vector(3).to_vec(), None, 1)).await.unwrap();
        assert_eq!(read_hit_numbers(&found), [3]);
        put_chunks(&store, [make_chunk(10, "b", "x", make_vector(10), &[])]).await;
        assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    }
    assert!(fake_qdrant.is_node_open(2));
}

#[tokio::test]
async fn another_node_serves_when_one_has_lost_its_peers() {
    let fake_qdrant = FakeQdrant::start_nodes(2);
    let fixture = QdrantFixture::for_server(&fake_qdrant);
    fake_qdrant.isolate_node(0);
    let store = fixture.open().await;
    put_chunks(&store, (1..=9).map(|n| make_chunk(n, "a", "x", make_vector(n), &[]))).await;
    let found = store.search(ChunkQuery::nearest(make_vector(3).to_vec(), None, 1)).await.unwrap();
    assert_eq!(read_hit_numbers(&found), [3]);
    store.lease(make_root("one").id).await.unwrap().release().await;
    store.remove_root(make_root_id("a")).await.unwrap();
    assert_eq!(load_all_chunks(&store).await, []);
    // Without any node the failure is reported, after some attempts at each.
    fake_qdrant.isolate_node(1);
    let started = Instant::now();
    let error = store.count(None).await.unwrap_err();
    assert!(error.to_string().contains("1 of 1 read operations failed"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(6), "{:?}", started.elapsed());
}

#[tokio::test]
async fn unreachable_nodes_are_named_whichever_was_asked_last() {
    let fake_qdrant = FakeQdrant::start_nodes(3);
    let mut fixture = QdrantFixture::for_server(&fake_qdrant);
    fixture.settings.retry = Duration::from_millis(300);
    let store = fixture.open().await;
    let urls: Vec<String> = fake_qdrant.urls().iter().map(|url| format!("`{url}`")).collect();
    let failures = async || {
        [
            store.count(None).await.err().unwrap(),
            store
                .put_chunks(vec![make_chunk(1, "a", "x", make_vector(1), &[])])
                .await
                .err()
                .unwrap(),
            store.health().await.err().unwrap(),
        ]
        .map(|error| error.to_string())
    };
    fake_qdrant.close_node(0);
    // Without its peer a node may report an internal error, or that it is unavailable.
    let unavailable = FaultKind::Refuse(tonic::Code::Unavailable);
    fake_qdrant.add_fault(FaultRule {
        call: "",
        of: "",
        after: 0,
        times: usize::MAX,
        kind: unavailable,
    });
    for message in failures().await {
        assert!(
            message.contains(&format!("Qdrant at {} cannot be reached (", urls[0])),
            "{message}"
        );
        assert!(message.contains("another node: told to answer Unavailable"), "{message}");
    }
    fake_qdrant.clear_faults();
    fake_qdrant.isolate_node(1);
    fake_qdrant.isolate_node(2);
    for message in failures().await {
        assert!(
            message.contains(&format!("Qdrant at {} cannot be reached (", urls[0])),
            "{message}"
        );
        assert!(message.contains("another node: 1 of 1 read operations failed"), "{message}");
    }
    fake_qdrant.close_node(2);
    let both = format!("Qdrant at {} and {} cannot be reached (", urls[0], urls[2]);
    for message in failures().await {
        assert!(message.contains(&both), "{message}");
    }
    // One that is back is no longer blamed.
    fake_qdrant.isolate_node(0);
    fake_qdrant.open_node(0);
    for message in failures().await {
        assert!(
            message.contains(&format!("Qdrant at {} cannot be reached (", urls[2])),
            "{message}"
        );
    }
}

#[tokio::test]
async fn a_refused_connection_is_reported_without_details() {
    let fake_qdrant = FakeQdrant::start();
    let mut fixture = QdrantFixture::for_server(&fake_qdrant);
    fixture.settings.retry = Duration::from_millis(300);
    fake_qdrant.close_node(0);
    let address = fixture.settings.urls[0].strip_prefix("http://").unwrap();
    while tokio::net::TcpStream::connect(address).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let error = fixture.open().await.count(None).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "cannot count the chunks: Qdrant at `http://{address}` cannot be reached (connection refused); see \
             that it runs and that `QDRANT_URL` names its gRPC port, 6334 unless it was changed"
        )
    );
}

#[tokio::test]
async fn failures_name_the_failed_action_in_common_words() {
    let fake_qdrant = FakeQdrant::start();
    let fixture = QdrantFixture::for_server(&fake_qdrant);
    let store = fixture.open().await;
    let problem = FaultKind::Refuse(tonic::Code::InvalidArgument);
    fake_qdrant.add_fault(FaultRule {
        call: "",
        of: "",
        after: 0,
        times: usize::MAX,
        kind: problem,
    });
    let term = || TermVector { indices: vec![1], values: vec![1.0] };
    let failures = [
        ("search", store.search(ChunkQuery::nearest(make_vector(1).to_vec(), None, 1)).await.err()),
        ("search", store.search(ChunkQuery::lexical(term(), None, 1)).await.err()),
        ("read the list of repositories", store.roots().await.err()),
        ("read the index", store.files(make_root_id("a")).await.err()),
        ("read the index", store.chunks_by_id(vec![make_chunk_id(1)]).await.err()),
        ("count the chunks", store.count(None).await.err()),
        ("write the list of repositories", store.put_root(make_root("one")).await.err()),
        (
            "write the index",
            store.put_chunks(vec![make_chunk(1, "a", "x", make_vector(1), &[])]).await.err(),
        ),
        ("write the index", store.remove_chunks(vec![make_chunk_id(1)]).await.err()),
        ("see who changes the repository", store.lease(make_root_id("a")).await.err()),
        ("use the index", store.health().await.err()),
    ];
    for (action, error) in failures {
        let error = error.unwrap();
        assert_eq!(error.to_string(), format!("cannot {action}: told to answer InvalidArgument"));
    }
}

#[tokio::test]
async fn copies_in_a_cluster_are_counted_by_the_shard_with_the_fewest() {
    let fake_qdrant = FakeQdrant::start_nodes(3);
    let mut fixture = QdrantFixture::for_server(&fake_qdrant);
    fixture.settings.shards = Some(2);
    fixture.settings.replication = 2;
    let store = fixture.open().await;
    let copies = async || {
        let copies = store.health().await.unwrap().copies;
        copies.into_iter().map(|part| (part.copies, part.wanted)).collect::<Vec<_>>()
    };
    // Chunks, files, roots, and the records of leases.
    assert_eq!(copies().await, [(2, 2), (2, 2), (2, 2), (3, 2)]);
    fake_qdrant.set_copies("_chunks_", 1);
    assert_eq!(copies().await, [(1, 2), (2, 2), (2, 2), (3, 2)]);
}

#[tokio::test]
async fn temporary_failures_are_retried_and_others_reported_at_once() {
    let fake_qdrant = FakeQdrant::start();
    let mut fixture = QdrantFixture::for_server(&fake_qdrant);
    fixture.settings.timeout = Duration::from_millis(400);
    let store = fixture.open().await;
    let one = || vec![make_chunk(1, "a", "x", make_vector(1), &[(1, 1.0)])];
    let rule = |times, problem| {
        fake_qdrant.add_fault(FaultRule {
            call: "upsert",
            of: "_chunks_",
            after: 0,
            times,
            kind: problem,
        });
    };
    let upserts = || fake_qdrant.count_calls("upsert", "_chunks_");
    let passing = [
        FaultKind::Refuse(tonic::Code::Unavailable),
        FaultKind::Refuse(tonic::Code::DeadlineExceeded),
        FaultKind::Refuse(tonic::Code::ResourceExhausted),
        FaultKind::Refuse(tonic::Code::Internal),
        FaultKind::Delay(Duration::from_secs(30)),
        FaultKind::Lose,
    ];
    for problem in passing {
        let before = upserts();
        rule(2, problem);
        store.put_chunks(one()).await.unwrap();
        assert_eq!(upserts() - before, 3, "{problem:?}");
    }
    assert_eq!(read_chunk_numbers(&load_all_chunks(&store).await), [1]);
    for code in [tonic::Code::InvalidArgument, tonic::Code::FailedPrecondition] {
        let before = upserts();
        rule(1, FaultKind::Refuse(code));
        let error = store.put_chunks(one()).await.unwrap_err();
        let expected = format!("cannot write the index: told to answer {code:?}");
        assert_eq!((error.to_string(), upserts() - before), (expected, 1));
    }
    // A server that keeps failing is not asked for ever.
    rule(100, FaultKind::Refuse(tonic::Code::Internal));
    let before = upserts();
    store.put_chunks(one()).await.unwrap_err();
    assert_eq!(upserts() - before, 4);
}

#[tokio::test]
async fn a_change_that_keeps_failing_is_abandoned_in_time() {
    let fake_qdrant = FakeQdrant::start();
    let mut fixture = QdrantFixture::for_server(&fake_qdrant);
    fixture.settings.retry = Duration::from_secs(3);
    let store = fixture.open().await;
    let problem = FaultKind::Refuse(tonic::Code::Unavailable);
    fake_qdrant.add_fault(FaultRule {
        call: "delete",
        of: "_files_",
        after: 0,
        times: 1000,
        kind: problem,
    });
    let started = Instant::now();
    let error = store.remove_files(make_root_id("a"), vec!["x".to_owned()]).await.unwrap_err();
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    assert!(started.elapsed() < Duration::from_secs(6), "{:?}", started.elapsed());
    // Pauses grow: a server that recovers is not flooded.
    let tries = fake_qdrant.count_calls("delete", "_files_");
    assert!(tries <= 20, "{tries}");
}

#[tokio::test]
async fn a_wrong_key_stops_the_start_and_is_not_shown() {
    let fake_qdrant = FakeQdrant::start();
    fake_qdrant.require_key("right");
    let mut fixture = QdrantFixture::for_server(&fake_qdrant);
    fixture.settings.api_key = Some(Secret::new("wrong-key".to_owned()));
    let error = fixture.open_for_model(MODEL, OnMismatch::Refuse).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::StoreUnavailable);
    let message = error.to_string();
    assert!(message.ends_with("set `QDRANT_API_KEY` to a key that may write"), "{message}");
    assert!(!message.contains("wrong-key"), "{message}");
    assert!(!format!("{:?}", fixture.settings).contains("wrong-key"));
    fixture.settings.api_key = Some(Secret::new("right".to_owned()));
    put_chunks(&fixture.open().await, [make_chunk(1, "a", "x", make_vector(1), &[])]).await;
}

#[tokio::test]
async fn several_processes_make_the_collections_at_once() {
    let fixture = QdrantFixture::new();
    let opened = (0..6).map(|_| fixture.open());
    let stores: Vec<Store> = join_all(opened).await;
    for (store, n) in stores.iter().zip(1..) {
        put_chunks(store, [make_chunk(n, "a", "x", make_vector(n), &[])]).await;
    }
    for store in &stores {
        assert_eq!(read_chunk_numbers(&load_all_chunks(store).await), [1, 2, 3, 4, 5, 6]);
    }
}

#[tokio::test]
async fn one_of_two_models_at_once_is_kept() {
    let fixture = QdrantFixture::new();
    let models = ["one@1", "two@1", "three@1"];
    let opened = models.map(|model| fixture.open_for_model(model, OnMismatch::Refuse));
    let opened = join_all(opened).await;
    assert_eq!(opened.iter().filter(|opened| opened.is_ok()).count(), 1);
    let refused = opened.into_iter().filter_map(Result::err);
    assert!(refused.map(|error| error.code()).all(|code| code == ErrorCode::EmbedModelMismatch));
}

#[tokio::test]
async fn a_process_notices_that_another_one_changed_the_model() {
    let fixture = QdrantFixture::new();
    let old = fixture.open().await;
    put_chunks(&old, [make_chunk(1, "a", "x", make_vector(1), &[])]).await;
    let new = fixture.open_for_model("other@2", OnMismatch::Discard).await.unwrap();
    let failures = [
        old.put_chunks(vec![make_chunk(2, "a", "x", make_vector(2), &[])]).await.err(),
        old.count(None).await.err(),
        old.health().await.err(),
    ];
    for error in failures {
        assert_eq!(error.unwrap().code(), ErrorCode::EmbedModelMismatch);
    }
    assert_eq!(load_all_chunks(&new).await, []);
    // The first model again: a process of its first time must not mix into that.
    fixture.open_for_model(MODEL, OnMismatch::Discard).await.unwrap();
    let error = old.count(None).await.err().unwrap();
    assert!(error.to_string().ends_with("restart this one"), "{error}");
}

#[tokio::test]
async fn two_processes_that_may_discard_discard_once_each() {
    let fixture = QdrantFixture::new();
    let old = fixture.open_for_model(MODEL, OnMismatch::Discard).await.unwrap();
    let new = fixture.open_for_model("other@2", OnMismatch::Discard).await.unwrap();
    put_chunks(&new, [make_chunk(1, "a", "x", make_vector(1), &[])]).await;
    let error = old.count(None).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::EmbedModelMismatch);
    assert_eq!(load_all_chunks(&new).await.len(), 1);
}

#[tokio::test]
async fn a_deleted_collection_is_reported_and_created_again_on_request() {
    let fake_qdrant = FakeQdrant::start();
    let fixture = QdrantFixture::for_server(&fake_qdrant);
    let store = fixture.open().await;
    store.put_root(make_root("one")).await.unwrap();
    let chunks =
        fake_qdrant.list_collections().into_iter().find(|name| name.contains("_chunks_")).unwrap();
    fake_qdrant.delete_collection(&chunks);
    let error = fixture.open_for_model(MODEL, OnMismatch::Refuse).await.err().unwrap();
    let message = error.to_string();
    assert!(message.contains(&format!("its collection `{chunks}` is gone")), "{message}");
    assert!(message.contains("`--reembed`"), "{message}");
    let store = fixture.open_for_model(MODEL, OnMismatch::Discard).await.unwrap();
    assert_eq!(store.roots().await.unwrap(), [make_root("one").without_index()]);
    fixture.open().await;
    // No former content remains.
    let left = fake_qdrant.list_collections().len();
    assert_eq!(left, 4, "{:?}", fake_qdrant.list_collections());
}

#[tokio::test]
async fn the_lease_of_a_root_is_of_one_process_at_a_time() {
    let fixture = QdrantFixture::new();
    let tasks = Tasks::default();
    let stores: Vec<Store> =
        join_all(["a", "b", "c", "d"].map(|owner| fixture.open_as_owner(owner, &tasks))).await;
    let (one, two) = (make_root("one").id, make_root("two").id);
    let asked = stores.iter().map(|store| async {
        tokio::time::timeout(Duration::from_millis(500), store.lease(one)).await
    });
    // A process that does not get it waits to see whether the holder lives.
    let granted: Vec<_> = join_all(asked).await.into_iter().flatten().flatten().collect();
    assert_eq!(granted.len(), 1);
    granted[0].check().unwrap();
    stores[0].lease(two).await.unwrap().release().await;
    for lease in granted {
        lease.release().await;
    }
    stores[3].lease(one).await.unwrap().release().await;
}

#[tokio::test]
async fn asking_for_the_lease_of_a_living_process_names_it() {
    let mut fixture = QdrantFixture::new();
    fixture.settings.lease = Duration::from_secs(2);
    let tasks = Tasks::default();
    let (a, b) =
        (fixture.open_as_owner("a", &tasks).await, fixture.open_as_owner("b", &tasks).await);
    let root = make_root("one").id;
    let lease = a.lease(root).await.unwrap();
    let error = b.lease(root).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::Busy);
    assert_eq!(
        error.to_string(),
        "the repository is being changed by process a; try again when that has ended"
    );
    lease.check().unwrap();
    // The same process, started again, need not wait for itself.
    let again = fixture.open_as_owner("a", &tasks).await.lease(root).await.unwrap();
    // And the one before it learns that it is no longer the holder.
    let lost = lease.wait_until_lost().await;
    assert!(matches!(lost, StoreError::LeaseLost { .. }), "{lost}");
    lease.release().await;
    again.check().unwrap();
    again.release().await;
}

#[test]
fn the_lease_of_a_dead_process_expires() {
    let mut fixture = QdrantFixture::new();
    fixture.settings.lease = Duration::from_millis(900);
    let root = make_root("one").id;
    let runtime = || tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let dying = runtime();
    let tasks = Tasks::default();
    let lease = dying.block_on(async {
        let store = fixture.open_as_owner("a", &tasks).await;
        store.lease(root).await.unwrap()
    });
    dying.shutdown_background();
    runtime().block_on(async {
        let store = fixture.open_as_owner("b", &tasks).await;
        let started = Instant::now();
        let taken = store.lease(root).await.unwrap();
        assert!(fixture.settings.lease <= started.elapsed(), "{:?}", started.elapsed());
        // The dead one would have known before.
        lease.check().unwrap_err();
        taken.check().unwrap();
        taken.release().await;
    });
}

#[tokio::test]
async fn a_lease_that_cannot_be_renewed_is_lost_before_another_one_may_have_it() {
    let fake_qdrant = FakeQdrant::start();
    let mut fixture = QdrantFixture::for_server(&fake_qdrant);
    fixture.settings.lease = Duration::from_millis(2400);
    let tasks = Tasks::default();
    let store = fixture.open_as_owner("a", &tasks).await;
    let started = Instant::now();
    let lease = store.lease(make_root("one").id).await.unwrap();
    // Some renewals go well.
    let lasted = tokio::time::timeout(Duration::from_secs(2), lease.wait_until_lost()).await;
    assert!(lasted.is_err(), "lost after {:?}", started.elapsed());
    lease.check().unwrap();
    fake_qdrant.close_node(0);
    let shut = Instant::now();
    let error = lease.wait_until_lost().await;
    assert_eq!(error.code(), ErrorCode::StoreUnavailable);
    assert!(shut.elapsed() < fixture.settings.lease, "{:?}", shut.elapsed());
    lease.check().unwrap_err();
    lease.release().await;
    fake_qdrant.open_node(0);
}

#[tokio::test]
async fn a_lost_answer_leaves_the_lease_with_the_requester() {
    let fake_qdrant = FakeQdrant::start();
    let mut fixture = QdrantFixture::for_server(&fake_qdrant);
    fixture.settings.lease = Duration::from_millis(2400);
    let tasks = Tasks::default();
    let store = fixture.open_as_owner("a", &tasks).await;
    let lose = |after| FaultRule {
        call: "upsert",
        of: "_control_",
        after,
        times: 1,
        kind: FaultKind::Lose,
    };
    fake_qdrant.add_fault(lose(0));
    let lease = store.lease(make_root("one").id).await.unwrap();
    // And so does that of a renewal.
    fake_qdrant.add_fault(lose(0));
    let lasted = tokio::time::timeout(Duration::from_secs(2), lease.wait_until_lost()).await;
    assert!(lasted.is_err());
    lease.check().unwrap();
    lease.release().await;
    // It was released under the valid token.
    let other = fixture.open_as_owner("b", &tasks).await;
    let started = Instant::now();
    other.lease(make_root("one").id).await.unwrap().release().await;
    assert!(started.elapsed() < fixture.settings.lease, "{:?}", started.elapsed());
}

#[tokio::test]
async fn ids_are_stored_unchanged() {
    let fixture = QdrantFixture::new();
    let store = fixture.open().await;
    let ids: Vec<u128> = vec![0, 1, 1 << 64, u128::MAX];
    put_chunks(
        &store,
        ids.iter().map(|number| NewChunk {
            id: Uuid::from_u128(*number),
            ..make_chunk(1, "a", "x", make_vector(1), &[])
        }),
    )
    .await;
    let stored: Vec<u128> =
        load_all_chunks(&store).await.iter().map(|chunk| chunk.id.as_u128()).collect();
    assert_eq!(stored, ids);
}

#[tokio::test]
async fn hits_come_with_their_records_unless_very_many_are_tied() {
    let fake_qdrant = FakeQdrant::start();
    let fixture = QdrantFixture::for_server(&fake_qdrant);
    let store = fixture.open().await;
    put_chunks(
        &store,
        (1..=30).map(|n| {
            let weight = f32::from(u8::try_from(n).unwrap());
            make_chunk(n, "a", &format!("{n}.rs"), make_vector(n), &[(1, weight)])
        }),
    )
    .await;
    put_chunks(&store, (31..=90).map(|n| make_chunk(n, "b", "x", make_vector(1), &[(2, 1.0)])))
        .await;
    let reads = || fake_qdrant.count_calls("get", "_chunks_");
    let term = |term| TermVector { indices: vec![term], values: vec![1.0] };
    let found = store
        .search(ChunkQuery::nearest(make_vector(7).to_vec(), Some(make_root_id("a")), 5))
        .await
        .unwrap();
    assert_eq!(
        (found.len(), found[0].id, found[0].record.path.as_str()),
        (5, make_chunk_id(7), "7.rs")
    );
    let found = store.search(ChunkQuery::lexical(term(1), None, 5)).await.unwrap();
    assert_eq!((found[0].id, reads()), (make_chunk_id(30), 0));
    let tied = store.search(ChunkQuery::lexical(term(2), None, 5)).await.unwrap();
    let ids: Vec<Uuid> = tied.iter().map(|found| found.id).collect();
    assert_eq!((ids, reads()), ((31..=35).map(make_chunk_id).collect(), 1));
}
