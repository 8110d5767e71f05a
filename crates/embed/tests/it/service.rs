//! Embedding by a service: a real client, and a fake server on loopback that can be made to misbehave.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant, SystemTime},
};

use codeinfo_core::{Secret, error::ErrorCode, task::Tasks};
use codeinfo_embed::{
    EmbedError, Embedder, EmbeddingDocument, EmbeddingService, EmbeddingSettings,
};
use codeinfo_ingest::RunState;
use codeinfo_test_support::{
    embeddings::{
        DIMENSIONS, EmbeddingAnswer, FakeEmbeddingServer, default_settings, embed_words,
        read_inputs,
    },
    ingest::{TestIndex, TestRepository, build_request},
};
use futures_util::future::join_all;
use serde_json::Value;

use crate::suite::{check_contract, unnamed_documents};

/// The reply of llama.cpp's server to a text that its physical batch cannot hold.
const TOO_LARGE: &str = "input (900 tokens) is too large to process. increase the physical batch size \
    (current batch size: 512)";

/// Changes that one test makes to the settings.
type SettingsChange<'a> = &'a dyn Fn(&mut EmbeddingSettings);

/// Leaves the settings as they are.
const UNCHANGED: SettingsChange = &|_| ();

fn build_settings(url: &str, change: SettingsChange) -> EmbeddingSettings {
    let mut settings = default_settings(url);
    change(&mut settings);
    settings
}

fn build_service(url: &str, change: SettingsChange) -> EmbeddingService {
    EmbeddingService::new(build_settings(url, change), Tasks::default()).unwrap()
}

fn make_texts(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("fn number_{number}() {{}}")).collect()
}

/// The vector of the fake server for a text, at unit length.
fn embed_unit_vector(text: &str) -> Vec<f32> {
    let vector = embed_words(text, DIMENSIONS);
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.iter().map(|value| value / length).collect()
}

#[track_caller]
fn assert_vectors(texts: &[String], vectors: &[Vec<f32>]) {
    assert_eq!(texts.len(), vectors.len());
    for (text, vector) in texts.iter().zip(vectors) {
        let product: f32 = embed_unit_vector(text).iter().zip(vector).map(|(a, b)| a * b).sum();
        assert!((product - 1.0).abs() < 1e-4, "`{text}` has another's vector");
    }
}

#[tokio::test]
async fn a_service_keeps_the_contract_of_embedders() {
    let embeddings = FakeEmbeddingServer::start().await;
    check_contract(&build_service(&embeddings.url, UNCHANGED)).await;
    let prefixed = |settings: &mut EmbeddingSettings| {
        settings.query_prefix = "Instruct: find\nQuery: ".to_owned();
    };
    check_contract(&build_service(&embeddings.url, &prefixed)).await;
}

#[tokio::test]
async fn a_request_says_what_is_set_and_nothing_else() {
    let embeddings = FakeEmbeddingServer::start().await;
    let plain = build_service(&embeddings.url, UNCHANGED);
    assert_eq!((plain.model().id(), plain.dimensions()), ("stand-in@service".to_owned(), None));
    let named = EmbeddingDocument { path: "a.rs".into(), symbol: "b".into(), text: "c".into() };
    let untitled = EmbeddingDocument { symbol: String::new(), ..named.clone() };
    let blank = EmbeddingDocument::from(" \n".to_owned());
    drop(plain.embed_documents(vec![named, blank, untitled]).await.unwrap());
    assert_eq!(plain.dimensions(), Some(DIMENSIONS));
    let full = build_service(&embeddings.url, &|settings| {
        settings.key = Some(Secret::new("sk-test".to_owned()));
        settings.dimensions = Some(16);
        settings.document_prefix = "search_document: ".to_owned();
        settings.query_prefix = "search_query: ".to_owned();
        settings.max_tokens = 20;
    });
    assert_eq!(full.dimensions(), Some(16));
    let long = "one line\nanother line that is too long".to_owned();
    drop(full.embed_documents(unnamed_documents(&[long])).await.unwrap());
    assert_eq!(full.embed_query("where is it".to_owned()).await.unwrap().len(), 16);
    let requests: Vec<String> = embeddings.requests().iter().map(Value::to_string).collect();
    insta::assert_snapshot!(requests.join("\n"), @r#"
    {"model":"stand-in","input":["a.rs\nb\nc","a.rs\nc"],"encoding_format":"float"}
    {"model":"stand-in","input":["search_document: one line\nanother line t"],"encoding_format":"float","dimensions":16}
    {"model":"stand-in","input":["search_query: where is it"],"encoding_format":"float","dimensions":16}
    "#);
    assert_eq!(
        embeddings.authorization_headers(),
        [None, Some("Bearer sk-test".into()), Some("Bearer sk-test".into())]
    );
}

#[test]
fn a_model_that_makes_other_vectors_of_the_same_text_has_another_id() {
    let id = |change: SettingsChange| build_service("http://127.0.0.1:9", change).model().id();
    let ids = [
        id(UNCHANGED),
        id(&|settings| settings.dimensions = Some(512)),
        id(&|settings| settings.document_prefix = "search_document: ".to_owned()),
        id(&|settings| {
            settings.document_prefix = "passage: ".to_owned();
            settings.dimensions = Some(512);
        }),
        // Queries are not kept, so that their prefix may be tried out without embedding again.
        id(&|settings| settings.query_prefix = "query: ".to_owned()),
    ];
    insta::assert_snapshot!(ids.join("\n"), @r"
    stand-in@service
    stand-in@service-512
    stand-in@service-22a337d2
    stand-in@service-512-707ad539
    stand-in@service
    ");
}

#[tokio::test]
async fn texts_go_in_batches_several_at_a_time_and_come_back_in_order() {
    let wait = Duration::from_millis(20);
    let embeddings =
        FakeEmbeddingServer::start_with_script(move |_| EmbeddingAnswer::Late(wait)).await;
    let bounds = |settings: &mut EmbeddingSettings| {
        settings.batch = 8;
        settings.concurrency = 3;
    };
    let embedder = Arc::new(build_service(&embeddings.url, &bounds));
    let texts = make_texts(100);
    // Two calls share the bound.
    let (first, second) = tokio::join!(
        embedder.embed_documents(unnamed_documents(&texts)),
        embedder.embed_documents(unnamed_documents(&texts))
    );
    assert_vectors(&texts, &first.unwrap());
    assert_vectors(&texts, &second.unwrap());
    assert_eq!(
        (embeddings.batch_sizes().iter().sum::<usize>(), embeddings.batch_sizes().iter().max()),
        (200, Some(&8))
    );
    assert_eq!(embeddings.max_concurrent_requests(), 3);

    // By tokens: each text counts for eight or nine.
    let embeddings = FakeEmbeddingServer::start().await;
    let embedder = build_service(&embeddings.url, &|settings| settings.batch_tokens = 30);
    assert_vectors(&texts, &embedder.embed_documents(unnamed_documents(&texts)).await.unwrap());
    assert_eq!(embeddings.batch_sizes().iter().max(), Some(&3));
}

#[tokio::test]
async fn every_form_of_a_right_reply_is_understood() {
    for reply in [EmbeddingAnswer::Vectors, EmbeddingAnswer::Shuffled, EmbeddingAnswer::Base64] {
        let embeddings = FakeEmbeddingServer::start_with_script(move |_| reply.clone()).await;
        let texts = make_texts(5);
        let vectors = build_service(&embeddings.url, UNCHANGED)
            .embed_documents(unnamed_documents(&texts))
            .await
            .unwrap();
        assert_vectors(&texts, &vectors);
    }
}

/// Lets a batch of documents fail, and describes the failure and the number of requests.
async fn fail_with(change: SettingsChange<'_>, reply: EmbeddingAnswer) -> String {
    let embeddings = FakeEmbeddingServer::start_with_script(move |_| reply.clone()).await;
    let failure = build_service(&embeddings.url, change)
        .embed_documents(unnamed_documents(&make_texts(2)))
        .await
        .unwrap_err();
    assert_eq!(failure.code(), ErrorCode::EmbedModelMissing);
    let output_text = failure.to_string().replace(&embeddings.address.to_string(), "HOST");
    format!("{} requests: {output_text}", embeddings.requests().len())
}

#[tokio::test]
async fn a_failure_says_what_to_set() {
    let key =
        |settings: &mut EmbeddingSettings| settings.key = Some(Secret::new("sk-secret".to_owned()));
    let error = |status, message: &str| {
        EmbeddingAnswer::Text(status, format!(r#"{{"error":{{"message":"{message}"}}}}"#))
    };
    let quota = r#"{"error":{"message":"You exceeded your quota","code":"insufficient_quota"}}"#;
    let mut faults = join_all([
        fail_with(UNCHANGED, error(401, "no key")),
        fail_with(&key, error(401, "wrong key: sk-secret")),
        fail_with(&key, error(403, "not yours")),
        fail_with(UNCHANGED, error(404, "model 'stand-in' not found, try pulling it first")),
        fail_with(UNCHANGED, error(413, "Payload too large")),
        fail_with(UNCHANGED, error(400, "the input length exceeds the context length")),
        fail_with(UNCHANGED, error(422, "dimensions are not supported")),
        fail_with(UNCHANGED, error(429, "slow down")),
        fail_with(UNCHANGED, EmbeddingAnswer::Text(429, quota.to_owned())),
        fail_with(UNCHANGED, error(500, "out of memory")),
        fail_with(UNCHANGED, error(500, "context deadline exceeded")),
        fail_with(UNCHANGED, error(500, TOO_LARGE)),
        fail_with(
            UNCHANGED,
            EmbeddingAnswer::Header(307, "location", "https://elsewhere.example/v1".into()),
        ),
        fail_with(UNCHANGED, EmbeddingAnswer::Text(200, "<html>welcome</html>".to_owned())),
        fail_with(
            UNCHANGED,
            EmbeddingAnswer::Text(200, r#"{"error":"Unexpected endpoint"}"#.to_owned()),
        ),
        fail_with(UNCHANGED, EmbeddingAnswer::Text(200, "x".repeat(600_000))),
        fail_with(UNCHANGED, EmbeddingAnswer::OneLess),
        fail_with(UNCHANGED, EmbeddingAnswer::Zeros),
        fail_with(UNCHANGED, EmbeddingAnswer::Cut),
    ])
    .await;
    // No server listens; and no server speaks TLS.
    let embeddings = FakeEmbeddingServer::start().await;
    let secure = embeddings.url.replace("http://", "https://");
    let embed_by = async |url: &str| {
        let service = build_service(url, UNCHANGED);
        service.embed_documents(unnamed_documents(&make_texts(1))).await.unwrap_err().to_string()
    };
    let failure = embed_by(&secure).await;
    faults.push(failure.replace(&embeddings.address.to_string(), "HOST"));
    let url = embeddings.url.clone();
    let address = embeddings.stop().await;
    let failure = embed_by(&url).await;
    faults.push(failure.replace(&address.to_string(), "HOST"));
    insta::assert_snapshot!(faults.join("\n"), @r"
    1 requests: the embedding service at `http://HOST/v1/embeddings` asks for a key (401: no key); set `EMBEDDING_API_KEY`
    1 requests: the embedding service at `http://HOST/v1/embeddings` refuses the key (401: wrong key: …); correct `EMBEDDING_API_KEY`
    1 requests: the embedding service at `http://HOST/v1/embeddings` refuses the key (403: not yours); correct `EMBEDDING_API_KEY`
    1 requests: the embedding service at `http://HOST/v1/embeddings` knows no model `stand-in`, or no such path (404: model 'stand-in' not found, try pulling it first); install the model there, or correct `EMBEDDING_MODEL` or `EMBEDDING_URL`
    5 requests: the embedding service at `http://HOST/v1/embeddings` finds a single text too long (413: Payload too large); lower `EMBEDDING_MAX_TOKENS`
    5 requests: the embedding service at `http://HOST/v1/embeddings` finds a single text too long (400: the input length exceeds the context length); lower `EMBEDDING_MAX_TOKENS`
    1 requests: the embedding service at `http://HOST/v1/embeddings` refuses the request (422: dimensions are not supported); check `EMBEDDING_MODEL` and `EMBEDDING_DIMENSIONS`
    10 requests: the embedding service at `http://HOST/v1/embeddings` accepts no more requests for now (429: slow down); lower `EMBEDDING_CONCURRENCY`, or try later
    1 requests: the embedding service at `http://HOST/v1/embeddings` has no quota left for this key (429: You exceeded your quota); see to its plan and billing
    10 requests: the embedding service at `http://HOST/v1/embeddings` failed (500: out of memory)
    10 requests: the embedding service at `http://HOST/v1/embeddings` failed (500: context deadline exceeded)
    5 requests: the embedding service at `http://HOST/v1/embeddings` finds a single text too long (500: input (900 tokens) is too large to process. increase the physical batch size (current batch size: 512)); lower `EMBEDDING_MAX_TOKENS`
    1 requests: the embedding service at `http://HOST/v1/embeddings` points to another place (307: https://elsewhere.example/v1); set `EMBEDDING_URL` to that
    1 requests: the embedding service at `http://HOST/v1/embeddings` answers no list of embeddings: expected value at line 1 column 1; check `EMBEDDING_URL`
    1 requests: the embedding service at `http://HOST/v1/embeddings` answers no list of embeddings: missing field `data` at line 1 column 31: Unexpected endpoint; check `EMBEDDING_URL`
    1 requests: the embedding service at `http://HOST/v1/embeddings` answers more than 524288 bytes; check `EMBEDDING_URL`
    1 requests: the embedding service at `http://HOST/v1/embeddings` returned 1 vectors for 2 texts
    1 requests: the embedding service at `http://HOST/v1/embeddings` returned a vector that is all zeros; `EMBEDDING_MODEL` may not be an embedding model
    10 requests: the embedding service at `http://HOST/v1/embeddings` broke off: connection closed before message completed
    the embedding service at `https://HOST/v1/embeddings` has no connection to be trusted: received corrupt message of type InvalidContentType; correct the scheme or host of `EMBEDDING_URL`, or add its CA to the system's certificates
    the embedding service at `http://HOST/v1/embeddings` cannot be reached: Connection refused (os error 111); start it, or correct `EMBEDDING_URL`
    ");
}

#[tokio::test]
async fn requests_to_a_silent_service_time_out() {
    let embeddings = FakeEmbeddingServer::start_with_script(|_| EmbeddingAnswer::Silent).await;
    let mut settings = build_settings(&embeddings.url, UNCHANGED);
    settings.timeout = Duration::from_millis(50);
    let embedder = EmbeddingService::new(settings, Tasks::default()).unwrap();
    let failure =
        embedder.embed_documents(unnamed_documents(&make_texts(1))).await.unwrap_err().to_string();
    assert!(failure.contains("EMBEDDING_TIMEOUT_SECS"), "{failure}");
    assert_eq!(embeddings.requests().len(), 3, "each costs the whole time");
    let started = Instant::now();
    assert!(embedder.embed_query("q".to_owned()).await.is_err());
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn vectors_of_another_length_are_refused() {
    let embeddings = FakeEmbeddingServer::start().await;
    let embedder = build_service(&embeddings.url, UNCHANGED);
    drop(embedder.embed_documents(unnamed_documents(&make_texts(1))).await.unwrap());
    embeddings.replace_script(|_| EmbeddingAnswer::Dimensions(32));
    let failure = embedder.embed_documents(unnamed_documents(&make_texts(1))).await.unwrap_err();
    assert_eq!(failure.code(), ErrorCode::EmbedModelMismatch);
    let output_text = failure.to_string();
    assert!(output_text.contains("32 numbers where 64 are expected"), "{output_text}");
    // Dimensions stored earlier count as much as a first reply.
    let embedder = build_service(&embeddings.url, UNCHANGED);
    embedder.expect_dimensions(48);
    assert_eq!(embedder.dimensions(), Some(48));
    assert!(embedder.embed_query("q".to_owned()).await.is_err());
}

/// Answers the first requests by `replies`, and then well.
async fn start_with_replies(replies: Vec<EmbeddingAnswer>) -> FakeEmbeddingServer {
    let mut replies = replies.into_iter();
    FakeEmbeddingServer::start_with_script(move |_| {
        replies.next().unwrap_or(EmbeddingAnswer::Vectors)
    })
    .await
}

#[tokio::test]
async fn temporary_failures_are_retried() {
    let failed = || EmbeddingAnswer::Text(500, "starting".to_owned());
    let embeddings = start_with_replies(vec![
        failed(),
        EmbeddingAnswer::Cut,
        EmbeddingAnswer::Text(503, String::new()),
    ])
    .await;
    let embedder = build_service(&embeddings.url, UNCHANGED);
    assert_vectors(
        &make_texts(3),
        &embedder.embed_documents(unnamed_documents(&make_texts(3))).await.unwrap(),
    );
    assert_eq!(embeddings.requests().len(), 4);

    // Somebody waits for a query, so that less is tried.
    let embeddings = start_with_replies(vec![failed(), failed()]).await;
    assert!(build_service(&embeddings.url, UNCHANGED).embed_query("q".to_owned()).await.is_ok());
    let embeddings = start_with_replies(vec![failed(), failed(), failed()]).await;
    assert!(build_service(&embeddings.url, UNCHANGED).embed_query("q".to_owned()).await.is_err());
}

#[tokio::test]
async fn all_requests_wait_as_long_as_the_service_asks() {
    let times = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&times);
    let embeddings = FakeEmbeddingServer::start_with_script(move |_| {
        let mut seen = seen.lock().unwrap();
        seen.push(Instant::now());
        match seen.len() {
            1 => EmbeddingAnswer::Header(429, "retry-after", "0.3".to_owned()),
            _ => EmbeddingAnswer::Vectors,
        }
    })
    .await;
    let embedder = build_service(&embeddings.url, &|settings| settings.concurrency = 1);
    // All but one wait until the time that the service names.
    let answers =
        join_all((0..3).map(|_| embedder.embed_documents(unnamed_documents(&make_texts(1))))).await;
    assert!(answers.iter().all(Result::is_ok));
    let times = times.lock().unwrap().clone();
    assert_eq!(times.len(), 4);
    for later in &times[1..] {
        let waited = later.duration_since(times[0]);
        assert!(Duration::from_millis(295) <= waited, "{waited:?}");
    }

    let soon = SystemTime::now() + Duration::from_secs(2);
    let date = httpdate::fmt_http_date(soon);
    let embeddings =
        start_with_replies(vec![EmbeddingAnswer::Header(503, "retry-after", date)]).await;
    let started = Instant::now();
    assert!(
        build_service(&embeddings.url, UNCHANGED)
            .embed_documents(unnamed_documents(&make_texts(1)))
            .await
            .is_ok()
    );
    // Dates have whole seconds.
    assert!(Duration::from_millis(500) <= started.elapsed());

    // A search does not wait long.
    let embeddings =
        start_with_replies(vec![EmbeddingAnswer::Header(429, "retry-after", "50".to_owned())])
            .await;
    let failure =
        build_service(&embeddings.url, UNCHANGED).embed_query("q".to_owned()).await.unwrap_err();
    assert!(failure.to_string().contains("EMBEDDING_CONCURRENCY"), "{failure}");
}

#[tokio::test]
async fn a_batch_that_is_too_large_is_halved_and_the_size_remembered() {
    let too_many = |status: u16, message: &'static str| {
        move |request: &Value| match read_inputs(request).len() {
            9.. => EmbeddingAnswer::Text(status, format!(r#"{{"error":"{message}"}}"#)),
            _ => EmbeddingAnswer::Vectors,
        }
    };
    let texts = make_texts(32);
    let sizes = [
        (413, ""),
        (422, "batch size 32 > maximum allowed batch size 8"),
        (400, "too many inputs"),
        (500, TOO_LARGE),
    ];
    for (status, message) in sizes {
        let embeddings = FakeEmbeddingServer::start_with_script(too_many(status, message)).await;
        let embedder = build_service(&embeddings.url, UNCHANGED);
        assert_vectors(&texts, &embedder.embed_documents(unnamed_documents(&texts)).await.unwrap());
        assert_eq!(embeddings.batch_sizes(), [32, 16, 8, 8, 8, 8]);
        assert_vectors(&texts, &embedder.embed_documents(unnamed_documents(&texts)).await.unwrap());
        assert_eq!(embeddings.batch_sizes()[6..], [8, 8, 8, 8]);
    }
}

#[tokio::test]
async fn one_text_that_is_too_long_is_cut_and_takes_no_other_with_it() {
    for (status, message) in [(413, "must have less than 100 tokens"), (500, TOO_LARGE)] {
        let embeddings = FakeEmbeddingServer::start_with_script(move |request| {
            if read_inputs(request).iter().any(|input| 300 < input.len()) {
                EmbeddingAnswer::Text(status, format!(r#"{{"error":{{"message":"{message}"}}}}"#))
            } else {
                EmbeddingAnswer::Vectors
            }
        })
        .await;
        let embedder = build_service(&embeddings.url, UNCHANGED);
        let mut mixed = make_texts(16);
        mixed[5] = "long line\n".repeat(100);
        let vectors = embedder.embed_documents(unnamed_documents(&mixed)).await.unwrap();
        // A quarter of it is short enough.
        mixed[5] = "long line\n".repeat(24);
        assert_vectors(&mixed, &vectors);
        let before = embeddings.requests().len();
        drop(embedder.embed_documents(unnamed_documents(&make_texts(16))).await.unwrap());
        assert_eq!(embeddings.batch_sizes()[before..], [16], "batches stay as large as they were");
    }
}

#[tokio::test]
async fn stopping_and_dropping_end_requests_at_once() {
    let embeddings = FakeEmbeddingServer::start_with_script(|_| EmbeddingAnswer::Silent).await;
    let tasks = Tasks::default();
    let embedder =
        EmbeddingService::new(build_settings(&embeddings.url, UNCHANGED), tasks.clone()).unwrap();
    let embedding = embedder.embed_documents(unnamed_documents(&make_texts(1)));
    let stopping = async {
        embeddings.wait_for_requests(1).await;
        tasks.stop_token().cancel();
    };
    let (ended, ()) = tokio::join!(embedding, stopping);
    assert_eq!(ended.unwrap_err(), EmbedError::Stopped);
    assert_eq!(
        embedder.embed_query("q".to_owned()).await.unwrap_err().code(),
        ErrorCode::Cancelled
    );
    assert_eq!(embedder.check_health().await.unwrap_err(), EmbedError::Stopped);
}

#[tokio::test]
async fn health_checks_cost_few_requests() {
    let embeddings = FakeEmbeddingServer::start_with_script(|_| {
        EmbeddingAnswer::Late(Duration::from_millis(50))
    })
    .await;
    let embedder = build_service(&embeddings.url, UNCHANGED);
    let checks = (0..8).map(|_| embedder.check_health());
    assert!(join_all(checks).await.iter().all(Result::is_ok));
    assert_eq!(embeddings.requests().len(), 1, "all wait for the same one");
    // Replies to requests count as checks.
    embeddings.replace_script(|_| EmbeddingAnswer::Text(401, String::new()));
    assert!(embedder.embed_documents(unnamed_documents(&make_texts(1))).await.is_err());
    assert!(embedder.check_health().await.is_err());
    assert_eq!(embeddings.requests().len(), 2);
    embeddings.replace_script(|_| EmbeddingAnswer::Vectors);
    assert!(embedder.embed_query("q".to_owned()).await.is_ok());
    assert!(embedder.check_health().await.is_ok());
    // A caller that leaves does not end the check; the next one gets its result.
    let embeddings = FakeEmbeddingServer::start_with_script(|_| {
        EmbeddingAnswer::Late(Duration::from_millis(50))
    })
    .await;
    let embedder = build_service(&embeddings.url, UNCHANGED);
    assert!(tokio::time::timeout(Duration::from_millis(1), embedder.check_health()).await.is_err());
    assert!(embedder.check_health().await.is_ok());
    assert_eq!(embeddings.requests().len(), 1);
}

/// A repository of forty files, each of some chunks.
fn make_files() -> Vec<(String, String)> {
    let body = "    let total = first + second;\n".repeat(30);
    let text = |file| {
        let functions = (0..20).map(|number| {
            format!("fn item_{file}_{number}(first: u32, second: u32) {{\n{body}}}\n\n")
        });
        functions.collect::<String>()
    };
    (0..40).map(|file| (format!("src/file_{file}.rs"), text(file))).collect()
}

/// Returns an index whose vectors a service makes.
async fn index_by_service(
    embeddings: &FakeEmbeddingServer,
    change: SettingsChange<'_>,
) -> TestIndex {
    let tasks = Tasks::default();
    let embedder =
        EmbeddingService::new(build_settings(&embeddings.url, change), tasks.clone()).unwrap();
    embedder.expect_dimensions(DIMENSIONS);
    TestIndex::with_embedder(Arc::new(embedder), tasks).await
}

/// A repository of forty files, several batches.
fn create_shop(index: &TestIndex) -> TestRepository {
    let files = make_files();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    index.create_repository("shop", &files)
}

#[tokio::test]
async fn a_run_that_loses_the_service_says_so_and_the_next_one_completes_it() {
    // Two batches of the run are embedded at a time, each with nine requests at most: when the third is
    // under way, the first is on its way to the store.
    let mut left = 20;
    let embeddings = FakeEmbeddingServer::start_with_script(move |_| {
        left -= 1;
        if left < 0 { EmbeddingAnswer::Cut } else { EmbeddingAnswer::Vectors }
    })
    .await;
    let index = index_by_service(&embeddings, UNCHANGED).await;
    let repository = create_shop(&index);

    let broken = index.ingest(&repository).await;
    assert_eq!(broken.state, RunState::Error);
    let output_text = broken.last_error.unwrap();
    assert!(
        output_text.starts_with("the embedding service at `http://127.0.0.1:"),
        "{output_text}"
    );
    assert!(broken.counts.embedded > 0, "what was embedded before is kept");

    let address = embeddings.stop().await;
    let away = index.ingest(&repository).await;
    assert_eq!(away.state, RunState::Error);
    assert!(away.last_error.unwrap().contains("EMBEDDING_URL"));

    let embeddings = FakeEmbeddingServer::start_at(address, |_| EmbeddingAnswer::Vectors).await;
    let whole = index.ingest(&repository).await;
    assert_eq!(whole.state, RunState::Completed);
    assert_eq!(whole.counts.files, 40);
    assert_eq!(whole.counts.chunks, index.list_chunk_ids().await.len() as u64);
    let again = whole.counts.chunks - broken.counts.embedded;
    assert_eq!(whole.counts.embedded, again, "only what was missing is sent");
    assert_eq!(embeddings.received_inputs().len() as u64, again);
    assert_eq!(index.ingest(&repository).await.state, RunState::Skipped);
}

#[tokio::test]
async fn a_run_that_is_cancelled_does_not_wait_for_the_service() {
    let embeddings = FakeEmbeddingServer::start_with_script(|_| EmbeddingAnswer::Silent).await;
    let index = index_by_service(&embeddings, UNCHANGED).await;
    let repository = index.create_repository("shop", &[("src/main.rs", "fn main() {}\n")]);
    let run = index.ingest.start_run(build_request(&repository.0)).await.unwrap();
    embeddings.wait_for_requests(1).await;
    let started = Instant::now();
    index.ingest.cancel_run(run).unwrap();
    assert_eq!(index.wait_for_run(run).await.state, RunState::Cancelled);
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn batches_of_a_run_are_embedded_side_by_side_and_written_in_order() {
    let wait = Duration::from_millis(100);
    let embeddings =
        FakeEmbeddingServer::start_with_script(move |_| EmbeddingAnswer::Late(wait)).await;
    let more = |settings: &mut EmbeddingSettings| {
        settings.concurrency = 16;
        settings.batch = 32;
    };
    let index = index_by_service(&embeddings, &more).await;
    let repository = create_shop(&index);
    let status = index.ingest(&repository).await;
    assert_eq!((status.state, status.percent), (RunState::Completed, 100));
    assert_eq!(status.counts.chunks, index.list_chunk_ids().await.len() as u64);
    // One batch of 256 chunks is eight requests.
    assert!(embeddings.max_concurrent_requests() > 8, "{}", embeddings.max_concurrent_requests());
    assert!(embeddings.max_concurrent_requests() <= 16);
}
