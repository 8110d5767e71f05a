//! The contract of every embedder, and the promises of the built-in model alone.

use std::{fs, path::Path};

use codeinfo_core::{error::ErrorCode, task::Tasks};
use codeinfo_embed::{BuiltinEmbedder, EmbedError, Embedder, EmbeddingDocument};
use serde::Deserialize;

fn builtin_embedder() -> BuiltinEmbedder {
    BuiltinEmbedder::load(Tasks::default()).unwrap()
}

/// Returns documents without names.
pub(crate) fn unnamed_documents<T: ToString>(texts: &[T]) -> Vec<EmbeddingDocument> {
    texts.iter().map(|text| EmbeddingDocument::from(text.to_string())).collect()
}

/// The contract of [`Embedder`]; call it with each embedder.
pub(crate) async fn check_contract(embedder: &dyn Embedder) {
    let texts =
        ["fn read_config(path: &Path)", "", "open the socket", "fn read_config(path: &Path)"];
    let texts: Vec<String> = texts.map(str::to_owned).to_vec();
    let vectors = embedder.embed_documents(unnamed_documents(&texts)).await.unwrap();
    assert_eq!(vectors.len(), texts.len(), "one vector each");
    for (text, vector) in texts.iter().zip(&vectors) {
        assert_eq!(Some(vector.len()), embedder.dimensions());
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        let wanted = if text.is_empty() { 0.0 } else { 1.0 };
        assert!((length - wanted).abs() < 1e-4, "`{text}` has length {length}");
    }
    assert_eq!(vectors[0], vectors[3], "the same text has the same vector");

    let query = embedder.embed_query("read the config".to_owned()).await.unwrap();
    assert!(
        cosine_similarity(&query, &vectors[2]) < cosine_similarity(&query, &vectors[0]),
        "in order, by meaning"
    );
    assert_eq!(embedder.embed_documents(Vec::new()).await.unwrap(), Vec::<Vec<f32>>::new());
    let blank = embedder.embed_query(" \n".to_owned()).await.unwrap();
    assert_eq!(blank, vec![0.0; embedder.dimensions().unwrap()], "it points nowhere");
    embedder.check_health().await.unwrap();
    assert!(embedder.concurrency() > 0);
}

fn cosine_similarity(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[tokio::test]
async fn the_built_in_model_keeps_the_contract() {
    check_contract(&builtin_embedder()).await;
}

#[derive(Deserialize)]
struct ReferenceVector {
    text: String,
    document: Vec<f32>,
    query: Vec<f32>,
}

#[tokio::test]
async fn the_built_in_model_agrees_with_the_reference() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/reference_vectors.jsonl");
    let references: Vec<ReferenceVector> = fs::read_to_string(file)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let model = builtin_embedder();
    let texts: Vec<String> = references.iter().map(|reference| reference.text.clone()).collect();
    let documents = model.embed_documents(unnamed_documents(&texts)).await.unwrap();
    assert!(references.len() > 5);
    for (reference, document) in references.iter().zip(&documents) {
        let query = model.embed_query(reference.text.clone()).await.unwrap();
        for (side, wanted, got) in
            [("document", &reference.document, document), ("query", &reference.query, &query)]
        {
            assert_eq!(wanted.len(), got.len());
            for (wanted, got) in wanted.iter().zip(got) {
                let text = &reference.text;
                assert!((wanted - got).abs() < 1e-4, "{side} `{text}`: {wanted} is {got}");
            }
        }
    }
}

#[tokio::test]
async fn the_name_of_a_document_counts_at_any_length() {
    let model = builtin_embedder();
    let of = |path: &str, symbol: &str, text: &str| EmbeddingDocument {
        path: path.to_owned(),
        symbol: symbol.to_owned(),
        text: text.to_owned(),
    };
    let text = "let total = values.iter().sum(); ".repeat(50);
    let plain = of("", "", &format!("src/cookie.rs expire {text}"));
    let named = of("src/cookie.rs", "", &format!("expire {text}"));
    let both = of("src/cookie.rs", "expire", &text);
    let query = model.embed_query("expiry of a cookie".to_owned()).await.unwrap();
    let vectors = model.embed_documents(vec![plain, named, both]).await.unwrap();
    let [plain, named, both] =
        [0, 1, 2].map(|place: usize| cosine_similarity(&query, &vectors[place]));
    assert!(plain < named && named < both, "{plain} {named} {both}");
}

#[tokio::test]
async fn many_texts_come_back_in_order() {
    let model = builtin_embedder();
    // More than one slice of work.
    let texts: Vec<String> = (0..300).map(|n| format!("{n} {}", "window ".repeat(200))).collect();
    let vectors = model.embed_documents(unnamed_documents(&texts)).await.unwrap();
    for place in [0, 150, 299] {
        let alone = model.embed_documents(unnamed_documents(&texts[place..=place])).await.unwrap();
        assert_eq!(vectors[place], alone[0]);
    }
}

#[tokio::test]
async fn a_stopping_process_embeds_no_more() {
    let tasks = Tasks::default();
    let model = BuiltinEmbedder::load(tasks.clone()).unwrap();
    tasks.stop_token().cancel();
    let failure = model.embed_documents(unnamed_documents(&["text"])).await.unwrap_err();
    assert!(matches!(failure, EmbedError::Stopped));
    assert_eq!(failure.code(), ErrorCode::Cancelled);
}
