//! The built-in model `code-static-1`: a static table of sub-word vectors, trained for code search.
//!
//! A text is the normalised sum of the vectors of its distinct sub-words, each weighted by
//! 1 + ln(count); in a query each sub-word has one more weight, which was learned. No network runs,
//! so that embedding costs little more than reading the text. `training/` makes the table.

mod table;
mod vocabulary;

use std::sync::Arc;

use futures_util::{FutureExt, future::BoxFuture};

use self::table::{DIMENSIONS, Side, Table};
use super::{EmbedError, Embedder, Model};
use crate::task::Tasks;

/// How much text one blocking job embeds: a few milliseconds of work, so that stopping is quick.
const SLICE_BYTES: usize = 256 * 1024;

/// The model in the binary. It holds about one megabyte beside the table itself.
pub struct Builtin {
    model: Model,
    table: Arc<Table>,
    tasks: Tasks,
}

impl Builtin {
    /// Reads the model from the binary. Work runs as jobs of `tasks`.
    pub fn load(tasks: Tasks) -> Result<Self, EmbedError> {
        let model = Model { name: "code-static-1".to_owned(), version: "1".to_owned() };
        Ok(Self { model, table: Arc::new(Table::load()?), tasks })
    }

    async fn embed_all(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        let mut texts = texts.into_iter().peekable();
        while texts.peek().is_some() {
            if self.tasks.stopping().is_cancelled() {
                return Err(EmbedError::Stopped);
            }
            let slice = next_slice(&mut texts);
            let table = Arc::clone(&self.table);
            let work = move || {
                slice.iter().map(|text| embed(&table, Side::Document, text)).collect::<Vec<_>>()
            };
            match self.tasks.spawn_blocking(work).await {
                Ok(embedded) => vectors.extend(embedded),
                Err(failure) if failure.is_panic() => {
                    std::panic::resume_unwind(failure.into_panic())
                }
                Err(_) => return Err(EmbedError::Stopped),
            }
        }
        Ok(vectors)
    }
}

impl Embedder for Builtin {
    fn model(&self) -> &Model {
        &self.model
    }

    fn dimensions(&self) -> Option<usize> {
        Some(DIMENSIONS)
    }

    fn documents(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>, EmbedError>> {
        self.embed_all(texts).boxed()
    }

    /// Runs on the caller's thread: a query takes microseconds.
    fn query(&self, text: String) -> BoxFuture<'_, Result<Vec<f32>, EmbedError>> {
        futures_util::future::ready(Ok(embed(&self.table, Side::Query, &text))).boxed()
    }

    /// The table was checked when it was loaded.
    fn check(&self) -> BoxFuture<'_, Result<(), EmbedError>> {
        futures_util::future::ready(Ok(())).boxed()
    }

    /// One call keeps a processor busy, and the others read and write meanwhile.
    fn lanes(&self) -> usize {
        1
    }
}

/// Takes texts until they have [`SLICE_BYTES`]; at least one.
fn next_slice(texts: &mut impl Iterator<Item = String>) -> Vec<String> {
    let mut bytes = 0;
    let mut slice = Vec::new();
    while bytes < SLICE_BYTES
        && let Some(text) = texts.next()
    {
        bytes += text.len();
        slice.push(text);
    }
    slice
}

/// Returns the vector of a text on a side: of unit length, or all zeros where no sub-word is known.
fn embed(table: &Table, side: Side, text: &str) -> Vec<f32> {
    let mut ids = Vec::with_capacity(text.len() / 4);
    table.vocabulary.ids(text, &mut ids);
    ids.sort_unstable();
    let mut sum = [0.0; DIMENSIONS];
    for same in ids.chunk_by(|a, b| a == b) {
        let Some(&id) = same.first() else { continue };
        #[expect(clippy::cast_precision_loss, reason = "a count only needs to be about right")]
        let weight = 1.0 + (same.len() as f32).ln();
        table.add(id, side, weight, &mut sum);
    }
    let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length == 0.0 {
        return sum.to_vec();
    }
    sum.iter().map(|value| value / length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_agree_with_the_reference() {
        let table = Table::load().unwrap();
        let file = include_str!("../../tests/fixtures/reference_vectors.jsonl");
        for line in file.lines() {
            let reference: serde_json::Value = serde_json::from_str(line).unwrap();
            let mut ids = Vec::new();
            table.vocabulary.ids(reference["text"].as_str().unwrap(), &mut ids);
            assert_eq!(serde_json::json!(ids), reference["ids"], "{}", reference["text"]);
        }
    }
}
