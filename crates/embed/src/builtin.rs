//! The built-in model `code-static-1`: a static table of sub-word vectors, trained for code search.
//!
//! The vector of a text is the normalised sum of the vectors of its distinct sub-words, each
//! weighted by 1 + ln(count). In a query each sub-word has a further, learned weight. The names of
//! a document are added once more to the vector of the whole, independent of its length. No network
//! runs, so embedding costs little more than reading the text. `training/` creates the table.

mod table;
mod vocabulary;

use std::{collections::HashMap, slice, sync::Arc};

use codeinfo_core::task::Tasks;
use codeinfo_lang::words::{find_identifiers, split_identifier};
use futures_util::{FutureExt, future::BoxFuture};

pub use self::table::DIMENSIONS;
use self::table::{EmbeddingSide, SubwordTable, WideRow, multiply_rows};
use crate::{EmbedError, Embedder, EmbeddingDocument, EmbeddingModel, SimilarWord};

/// Bytes of text per blocking job: a few milliseconds of work, so that stopping is quick.
const SLICE_BYTES: usize = 256 * 1024;
/// Weight of the path's vector, relative to the vector of the whole document.
const PATH_WEIGHT: f32 = 0.2;
/// Weight of the symbol's vector, relative to the vector of the whole document.
const SYMBOL_WEIGHT: f32 = 0.25;

/// The model without tasks, for texts that are few and short. Clones share the table.
#[derive(Clone)]
pub struct StaticModel(Arc<SubwordTable>);

impl StaticModel {
    /// Loads the model from the binary. Takes about one megabyte of memory in addition to the table.
    pub fn load() -> Result<Self, EmbedError> {
        Ok(Self(Arc::new(SubwordTable::load()?)))
    }

    /// Returns the vector of a document. It has unit length, or is all zeros if no sub-word is known.
    pub fn embed_document<S: AsRef<str>>(&self, document: &EmbeddingDocument<S>) -> Vec<f32> {
        let table = &*self.0;
        let [path, symbol, text] =
            [&document.path, &document.symbol, &document.text].map(AsRef::as_ref);
        let mut ids = Vec::with_capacity(text.len() / 4);
        let mut sum = [0.0; DIMENSIONS];
        for (name, weight) in [(path, PATH_WEIGHT), (symbol, SYMBOL_WEIGHT)] {
            let mut name_ids = Vec::new();
            table.vocabulary.append_ids(name, &mut name_ids);
            ids.extend_from_slice(&name_ids);
            add_weighted(&mut sum, weight, &sum_vectors(table, EmbeddingSide::Document, name_ids));
        }
        table.vocabulary.append_ids(text, &mut ids);
        add_weighted(&mut sum, 1.0, &sum_vectors(table, EmbeddingSide::Document, ids));
        scale_to_unit(&mut sum);
        sum.to_vec()
    }

    /// Returns the vector of a query. It has unit length, or is all zeros if no sub-word is known.
    pub fn embed_query(&self, text: &str) -> Vec<f32> {
        let mut ids = Vec::new();
        self.0.vocabulary.append_ids(text, &mut ids);
        sum_vectors(&self.0, EmbeddingSide::Query, ids).to_vec()
    }

    /// Adds the document vectors of a text's sub-words to `sum`, once per occurrence.
    pub fn add_text(&self, text: &str, sum: &mut [f32; DIMENSIONS]) {
        self.add_subwords(text, EmbeddingSide::Document, 1.0, sum);
    }

    /// Adds `weight` times the query vectors of a word's sub-words to `sum`.
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

    /// Returns for each of `names`, those of a file and a symbol, its share of a question's meaning, 0…1.
    pub fn compare_names(&self, question: &str, names: &[[&str; 2]]) -> Vec<f32> {
        let mut words = self.read_question(question, |_| 1.0);
        let mut known: HashMap<&str, Vec<f32>> = HashMap::new();
        for name in names.iter().flatten() {
            known.entry(name).or_insert_with(|| words.compare_text(name));
        }
        let share = |[file, symbol]: &[&str; 2]| {
            let both = known.get(file).zip(known.get(symbol)).into_iter();
            let nearest = both.flat_map(|(file, symbol)| file.iter().zip(symbol));
            words.sum_shares(nearest.map(|(file, symbol)| file.max(*symbol)))
        };
        names.iter().map(share).collect()
    }

    /// Reads the words of a question, each with a weight.
    pub fn read_question(&self, question: &str, weigh: impl Fn(&str) -> f32) -> QuestionWords<'_> {
        let table = &*self.0;
        let mut asked: Vec<(u32, f32)> = Vec::new();
        let words = find_identifiers(question).flat_map(split_identifier);
        for word in words.filter_map(|word| str::from_utf8(word).ok()) {
            let mut ids = Vec::new();
            table.vocabulary.append_ids(word, &mut ids);
            let weight = weigh(word);
            asked.extend(ids.into_iter().map(|id| (id, weight)));
        }
        asked.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        asked.dedup_by_key(|(id, _)| *id);
        let rows: Vec<WideRow> = asked.iter().map(|(id, _)| table.widen_row(*id)).collect();
        let measure = |((id, weight), row): (&(u32, f32), &WideRow)| {
            let length = measure_row(row);
            QuestionWord { length, weight: weight * table.query_scale(*id) * length }
        };
        let words = asked.iter().zip(&rows).map(measure).collect();
        QuestionWords { table, words, rows, known: HashMap::new() }
    }

    /// Returns words with a similar meaning, nearest first.
    pub fn similar_words(&self, word: &str) -> Vec<SimilarWord> {
        let id = self.0.vocabulary.find_id(word.as_bytes());
        let similar = id.into_iter().flat_map(|id| self.0.similar_words(id));
        similar.map(|(word, share)| SimilarWord { word, share }).collect()
    }
}

/// Words of a question, whose meaning is looked for in texts.
pub struct QuestionWords<'a> {
    table: &'a SubwordTable,
    words: Vec<QuestionWord>,
    rows: Vec<WideRow>,
    /// Cosines of a sub-word of a text with each of the question.
    known: HashMap<u32, Vec<f32>>,
}

struct QuestionWord {
    length: f32,
    weight: f32,
}

impl QuestionWords<'_> {
    /// Returns the share of the question's meaning that texts have, 0…1; a text with all of it has its given
    /// share. Each sub-word of the question counts by its cosine with the nearest one of the texts, and by the
    /// length of its vector in a query (`MaxSim` of late interaction: Khattab and Zaharia, "`ColBERT`", 2020).
    pub fn find_share<'t>(&mut self, texts: impl IntoIterator<Item = (&'t str, f32)>) -> f32 {
        let mut nearest = vec![0.0_f32; self.words.len()];
        for (text, share) in texts {
            for (best, cosine) in nearest.iter_mut().zip(self.compare_text(text)) {
                *best = best.max(share * cosine);
            }
        }
        self.sum_shares(nearest.into_iter())
    }

    /// Returns the cosine of each sub-word of the question with the nearest one of a text, at least 0.
    fn compare_text(&mut self, text: &str) -> Vec<f32> {
        let Self { table, words, rows, known } = self;
        let mut nearest = vec![0.0_f32; words.len()];
        let mut ids = Vec::new();
        table.vocabulary.append_ids(text, &mut ids);
        for id in ids {
            let cosines = known.entry(id).or_insert_with(|| {
                let row = table.widen_row(id);
                let length = measure_row(&row);
                let products = multiply_rows(&row, rows).into_iter().zip(&*words);
                products.map(|(product, word)| product / (length * word.length)).collect()
            });
            for (best, cosine) in nearest.iter_mut().zip(cosines) {
                *best = best.max(*cosine);
            }
        }
        nearest
    }

    fn sum_shares(&self, nearest: impl Iterator<Item = f32>) -> f32 {
        let total = self.words.iter().map(|word| word.weight).sum::<f32>().max(f32::MIN_POSITIVE);
        nearest.zip(&self.words).map(|(best, word)| best * word.weight).sum::<f32>() / total
    }
}

/// Returns the length of a row, at least 1.
fn measure_row(row: &WideRow) -> f32 {
    multiply_rows(row, slice::from_ref(row)).iter().sum::<f32>().sqrt().max(1.0)
}

/// The built-in model. Takes about one megabyte of memory in addition to the table.
pub struct BuiltinEmbedder {
    model: EmbeddingModel,
    table: StaticModel,
    tasks: Tasks,
}

impl BuiltinEmbedder {
    /// Loads the model from the binary. Work runs as jobs of `tasks`.
    pub fn load(tasks: Tasks) -> Result<Self, EmbedError> {
        let model = EmbeddingModel { name: "code-static-1".to_owned(), version: "1".to_owned() };
        Ok(Self { model, table: StaticModel::load()?, tasks })
    }

    async fn embed_all(
        &self,
        documents: Vec<EmbeddingDocument>,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(documents.len());
        let mut remaining = documents.into_iter().peekable();
        while remaining.peek().is_some() {
            if self.tasks.stop_token().is_cancelled() {
                return Err(EmbedError::Stopped);
            }
            let slice = next_slice(&mut remaining);
            let table = self.table.clone();
            let work = move || {
                slice.iter().map(|document| table.embed_document(document)).collect::<Vec<_>>()
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

    /// Runs on the caller's thread, because a query takes microseconds.
    fn embed_query(&self, text: String) -> BoxFuture<'_, Result<Vec<f32>, EmbedError>> {
        futures_util::future::ready(Ok(self.table.embed_query(&text))).boxed()
    }

    fn similar_words(&self, word: &str) -> Vec<SimilarWord> {
        self.table.similar_words(word)
    }

    fn compare_names(&self, question: &str, names: &[[&str; 2]]) -> Vec<f32> {
        self.table.compare_names(question, names)
    }

    /// Always succeeds, because the table was checked when it was loaded.
    fn check_health(&self) -> BoxFuture<'_, Result<(), EmbedError>> {
        futures_util::future::ready(Ok(())).boxed()
    }

    /// One call keeps a processor busy, while other calls read and write.
    fn concurrency(&self) -> usize {
        1
    }
}

/// Takes documents until they have [`SLICE_BYTES`], at least one.
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

fn add_weighted(sum: &mut ModelVector, weight: f32, vector: &ModelVector) {
    for (total, value) in sum.iter_mut().zip(vector) {
        *total += weight * value;
    }
}

/// Returns the weighted sum of the sub-words' vectors for a side, scaled to unit length.
fn sum_vectors(table: &SubwordTable, side: EmbeddingSide, mut ids: Vec<u32>) -> ModelVector {
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
    if length > 0.0 {
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
    fn a_name_has_the_share_of_the_meaning_of_its_nearest_words() {
        let model = StaticModel::load().unwrap();
        let question = "delete the expired password";
        let names = [
            ["expire_password.rs", "delete"],
            ["expire_password.rs", ""],
            ["remove_passwd.rs", ""],
            ["parse_header.rs", ""],
            ["", ""],
            ["日本", ""],
        ];
        let [all, file, near, other, none, unknown] = model.compare_names(question, &names)[..]
        else {
            panic!()
        };
        assert!(
            2.0 * other < near && near < file && file < all && all < 1.0,
            "{other} {near} {file} {all}"
        );
        assert!([none, unknown] == [0.0, 0.0]);
        assert_eq!(model.compare_names("日本", &[["a.rs", ""]]), [0.0]);
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
