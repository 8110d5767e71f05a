//! The built-in model `code-static-1`: a static table of sub-word vectors, trained for code search.
//!
//! A text is the normalised sum of the vectors of its distinct sub-words, each weighted by
//! 1 + ln(count); in a query each sub-word has one more weight, which was learned. What a document
//! is named counts once more beside the whole of it, however long it is. No network runs, so that
//! embedding costs little more than reading the text. `training/` makes the table.

mod table;
mod vocabulary;

use std::sync::Arc;

use codeinfo_core::task::Tasks;
use futures_util::{FutureExt, future::BoxFuture};

pub use self::table::DIMENSIONS;
use self::table::{EmbeddingSide, SubwordTable};
use super::{EmbedError, Embedder, EmbeddingDocument, EmbeddingModel, SimilarWord};

/// How much text one blocking job embeds: a few milliseconds of work, so that stopping is quick.
const SLICE_BYTES: usize = 256 * 1024;
/// What the vector of the path counts beside that of the whole document, and that of the symbol.
const PATH_WEIGHT: f32 = 0.2;
const SYMBOL_WEIGHT: f32 = 0.25;

/// The table alone, for texts so few and short that they need no task of their own. Clones share it.
#[derive(Clone)]
pub struct StaticModel(Arc<SubwordTable>);

impl StaticModel {
    /// Reads the model from the binary; it takes about one megabyte beside the table itself.
    pub fn load() -> Result<Self, EmbedError> {
        Ok(Self(Arc::new(SubwordTable::load()?)))
    }

    /// Returns the vector of a text to be found.
    pub fn embed_document(&self, one: &EmbeddingDocument<&str>) -> Vec<f32> {
        embed_document(&self.0, one)
    }

    /// Returns the vector of a text to search with.
    pub fn embed_query(&self, text: &str) -> Vec<f32> {
        embed_query(&self.0, text)
    }

    /// Adds the vectors of a text's sub-words to `sum`, each as often as it occurs, as documents have them.
    pub fn add_text(&self, text: &str, sum: &mut [f32; DIMENSIONS]) {
        self.add_subwords(text, EmbeddingSide::Document, 1.0, sum);
    }

    /// Adds `weight` times the vectors of a word's sub-words to `sum`, as queries have them.
    pub fn add_query_word(&self, word: &str, weight: f32, sum: &mut [f32; DIMENSIONS]) {
        self.add_subwords(word, EmbeddingSide::Query, weight, sum);
    }

    fn add_subwords(
        &self,
        text: &str,
        side: EmbeddingSide,
        weight: f32,
        sum: &mut [f32; DIMENSIONS],
    ) {
        let mut ids = Vec::new();
        self.0.vocabulary.append_ids(text, &mut ids);
        for id in ids {
            self.0.add_vector(id, side, weight, sum);
        }
    }

    /// Returns words that mean about what `word` does, nearest first.
    pub fn similar_words(&self, word: &str) -> Vec<SimilarWord> {
        find_similar_words(&self.0, word)
    }
}

fn find_similar_words(table: &SubwordTable, word: &str) -> Vec<SimilarWord> {
    let id = table.vocabulary.find_id(word.as_bytes());
    let near = id.into_iter().flat_map(|id| table.similar_words(id));
    near.map(|(word, share)| SimilarWord { word, share }).collect()
}

/// The model in the binary. It holds about one megabyte beside the table itself.
pub struct BuiltinEmbedder {
    model: EmbeddingModel,
    table: Arc<SubwordTable>,
    tasks: Tasks,
}

impl BuiltinEmbedder {
    /// Reads the model from the binary. Work runs as jobs of `tasks`.
    pub fn load(tasks: Tasks) -> Result<Self, EmbedError> {
        let model = EmbeddingModel { name: "code-static-1".to_owned(), version: "1".to_owned() };
        Ok(Self { model, table: Arc::new(SubwordTable::load()?), tasks })
    }

    async fn embed_all(
        &self,
        documents: Vec<EmbeddingDocument>,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(documents.len());
        let mut documents = documents.into_iter().peekable();
        while documents.peek().is_some() {
            if self.tasks.stop_token().is_cancelled() {
                return Err(EmbedError::Stopped);
            }
            let slice = next_slice(&mut documents);
            let table = Arc::clone(&self.table);
            let work =
                move || slice.iter().map(|one| embed_document(&table, one)).collect::<Vec<_>>();
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

impl Embedder for BuiltinEmbedder {
    fn model(&self) -> &EmbeddingModel {
        &self.model
    }

    fn dimensions(&self) -> Option<usize> {
        Some(DIMENSIONS)
    }

    fn embed_documents(
        &self,
        documents: Vec<EmbeddingDocument>,
    ) -> BoxFuture<'_, Result<Vec<Vec<f32>>, EmbedError>> {
        self.embed_all(documents).boxed()
    }

    /// Runs on the caller's thread: a query takes microseconds.
    fn embed_query(&self, text: String) -> BoxFuture<'_, Result<Vec<f32>, EmbedError>> {
        futures_util::future::ready(Ok(embed_query(&self.table, &text))).boxed()
    }

    fn similar_words(&self, word: &str) -> Vec<SimilarWord> {
        find_similar_words(&self.table, word)
    }

    /// The table was checked when it was loaded.
    fn check_health(&self) -> BoxFuture<'_, Result<(), EmbedError>> {
        futures_util::future::ready(Ok(())).boxed()
    }

    /// One call keeps a processor busy, and the others read and write meanwhile.
    fn concurrency(&self) -> usize {
        1
    }
}

/// Takes documents until they have [`SLICE_BYTES`]; at least one.
fn next_slice(documents: &mut impl Iterator<Item = EmbeddingDocument>) -> Vec<EmbeddingDocument> {
    let mut bytes = 0;
    let mut slice = Vec::new();
    while bytes < SLICE_BYTES
        && let Some(document) = documents.next()
    {
        bytes += document.path.len() + document.symbol.len() + document.text.len();
        slice.push(document);
    }
    slice
}

type ModelVector = [f32; DIMENSIONS];

/// Returns the vector of a document: of unit length, or all zeros where no sub-word is known.
fn embed_document<S: AsRef<str>>(
    table: &SubwordTable,
    document: &EmbeddingDocument<S>,
) -> Vec<f32> {
    let [path, symbol, text] =
        [&document.path, &document.symbol, &document.text].map(AsRef::as_ref);
    let mut ids = Vec::with_capacity(text.len() / 4);
    let mut sum = [0.0; DIMENSIONS];
    for (name, weight) in [(path, PATH_WEIGHT), (symbol, SYMBOL_WEIGHT)] {
        let mut of_name = Vec::new();
        table.vocabulary.append_ids(name, &mut of_name);
        ids.extend_from_slice(&of_name);
        add_weighted(&mut sum, weight, &sum_of(table, EmbeddingSide::Document, of_name));
    }
    table.vocabulary.append_ids(text, &mut ids);
    add_weighted(&mut sum, 1.0, &sum_of(table, EmbeddingSide::Document, ids));
    scale_to_unit(&mut sum);
    sum.to_vec()
}

/// Returns the vector of a query, likewise.
fn embed_query(table: &SubwordTable, text: &str) -> Vec<f32> {
    let mut ids = Vec::new();
    table.vocabulary.append_ids(text, &mut ids);
    sum_of(table, EmbeddingSide::Query, ids).to_vec()
}

fn add_weighted(sum: &mut ModelVector, weight: f32, vector: &ModelVector) {
    for (total, value) in sum.iter_mut().zip(vector) {
        *total += weight * value;
    }
}

/// Returns the weighted sum of the vectors that sub-words have on a side, scaled to unit length.
fn sum_of(table: &SubwordTable, side: EmbeddingSide, mut ids: Vec<u32>) -> ModelVector {
    ids.sort_unstable();
    let mut sum = [0.0; DIMENSIONS];
    for same in ids.chunk_by(|a, b| a == b) {
        let Some(&id) = same.first() else { continue };
        #[expect(clippy::cast_precision_loss, reason = "a count only needs to be about right")]
        let weight = 1.0 + (same.len() as f32).ln();
        table.add_vector(id, side, weight, &mut sum);
    }
    scale_to_unit(&mut sum);
    sum
}

/// Scales a vector to unit length, unless it is all zeros.
fn scale_to_unit(vector: &mut ModelVector) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if 0.0 < length {
        for value in vector {
            *value /= length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_agree_with_the_reference() {
        let table = SubwordTable::load().unwrap();
        let file = include_str!("../tests/fixtures/reference_vectors.jsonl");
        for line in file.lines() {
            let reference: serde_json::Value = serde_json::from_str(line).unwrap();
            let mut ids = Vec::new();
            table.vocabulary.append_ids(reference["text"].as_str().unwrap(), &mut ids);
            assert_eq!(serde_json::json!(ids), reference["ids"], "{}", reference["text"]);
        }
    }

    #[test]
    fn words_that_mean_about_the_same_are_near_and_other_forms_are_not() {
        let model = BuiltinEmbedder::load(Tasks::default()).unwrap();
        let near = model.similar_words("Password");
        let words: Vec<&str> = near.iter().map(|near| near.word).collect();
        assert!(words.contains(&"passwd") && !words.contains(&"passwords"), "{words:?}");
        assert!(near.is_sorted_by(|a, b| a.share >= b.share), "{near:?}");
        assert!(near.iter().all(|near| 0.3 < near.share && near.share < 1.0), "{near:?}");
        assert!(
            model.similar_words("nosuchwordatall").is_empty() && model.similar_words("").is_empty()
        );
    }
}
