//! Code-aware terms and their BM25 weights.
//!
//! A document's weights are the part of BM25 that depends on the document alone. The engine multiplies each by the
//! term's inverse document frequency, which also reduces very common words.
//!
//! The weighting is BM25 with fields, where counts are summed over fields before they saturate: Robertson and
//! Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, sections 3.4 and 3.6. The average
//! length is a constant, because weights are stored.
//!
//! Stored and query weights must agree: any change here requires embedding every repository again.

mod terms;

use std::{ffi::OsStr, path::Path, sync::LazyLock};

use codeinfo_core::TermVector;
use codeinfo_lang::{
    comment::is_description,
    detect,
    words::{STOP_WORDS, stem_word},
};

use self::terms::TermCounts;
use super::EmbeddingDocument;

/// Saturation of repeated occurrences, `k1` of BM25.
const K1: f32 = 1.2;
/// Penalty for longer documents, `b` of BM25.
const B: f32 = 0.75;
/// Number of terms in the text of an average chunk.
const AVERAGE_TERMS: f32 = 160.0;
/// Weight of an occurrence in the name of the enclosing definition, relative to one in the text.
const SYMBOL_WEIGHT: f32 = 3.0;
/// Weight of an occurrence in the file's name. Excludes the extension, which most files share.
const FILE_WEIGHT: f32 = 3.0;
/// Weight of an occurrence in the folders above the file.
const FOLDER_WEIGHT: f32 = 1.0;
/// Number of folders that count, from the file upwards; those further up contain nearly everything.
const MAX_FOLDERS: usize = 2;
/// Weight of an occurrence in a comment or heading, because these describe code.
const DESCRIPTION_WEIGHT: f32 = 1.5;

/// Returns the BM25 weight of each term of a chunk.
pub fn weigh_document(document: &EmbeddingDocument<&str>) -> TermVector {
    let mut terms = TermCounts::with_text_capacity(document.text.len());
    for line in document.text.lines() {
        terms.add_text(line, if is_description(line) { DESCRIPTION_WEIGHT } else { 1.0 });
    }
    let length = terms.len();
    terms.add_operators(document.text);
    terms.add_text(document.symbol, SYMBOL_WEIGHT);
    let (folders, file) = document.path.rsplit_once('/').unwrap_or(("", document.path));
    for folder in folders.rsplit('/').take(MAX_FOLDERS) {
        terms.add_text(folder, FOLDER_WEIGHT);
    }
    terms.add_text(without_extension(file), FILE_WEIGHT);
    terms.add_file(file);

    #[expect(clippy::cast_precision_loss, reason = "a length only needs to be about right")]
    let relative_length = length as f32 / AVERAGE_TERMS;
    terms.into_sparse(saturate_counts(relative_length))
}

/// Returns the function from a term's count to its BM25 weight, for a text length relative to the average.
pub fn saturate_counts(relative_length: f32) -> impl Fn(f32) -> f32 {
    let saturation = K1 * (1.0 - B + B * relative_length);
    move |count| count * (K1 + 1.0) / (count + saturation)
}

/// Counts each term, weighted by its text's weight, for small collections with known lengths and frequencies.
pub fn count_terms<'a>(texts: impl IntoIterator<Item = (&'a str, f32)>) -> TermVector {
    let mut terms = TermCounts::default();
    for (text, weight) in texts {
        terms.add_text(text, weight);
    }
    terms.into_sparse(|count| count)
}

/// Returns the terms of a query: each distinct term once, with weight 1.
pub fn extract_query_terms(text: &str) -> TermVector {
    query_with_files(text, [])
}

/// Returns the terms of a query that names files. `paths` are paths or endings of paths.
pub fn query_with_files<'a>(text: &str, paths: impl IntoIterator<Item = &'a str>) -> TermVector {
    let mut terms = TermCounts::default();
    terms.add_text(text, 1.0);
    terms.add_operators(text);
    for path in paths {
        terms.add_file(path.rsplit('/').next().unwrap_or(path));
    }
    terms.into_sparse(|_| 1.0)
}

/// Sets the weight of the stop words among the terms of a query.
pub fn weigh_stop_words(query: &mut TermVector, stop_word_weight: f32) {
    static STOP_TERMS: LazyLock<TermVector> =
        LazyLock::new(|| extract_query_terms(&STOP_WORDS.join(" ")));
    for (term, weight) in query.indices.iter().zip(&mut query.values) {
        if STOP_TERMS.indices.binary_search(term).is_ok() {
            *weight = stop_word_weight;
        }
    }
}

/// Returns the terms that show if a file of this name exists, or a text with the name without extension; `None` if
/// the last part of `path` is not the name of a file.
pub fn extract_file_terms(path: &str) -> Option<TermVector> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if !detect::is_file_name(name) {
        return None;
    }
    let mut terms = TermCounts::default();
    terms.add_file(name);
    terms.add_whole_name(without_extension(name));
    Some(terms.into_sparse(|_| 1.0))
}

/// Returns the terms of a whole name, which show if any text contains it; empty if it is not one identifier.
pub fn extract_name_terms(name: &str) -> TermVector {
    let mut terms = TermCounts::default();
    terms.add_whole_name(name);
    terms.into_sparse(|_| 1.0)
}

/// Returns the terms of a word and of words with the same root, as `migration` and `migrator` for `migrate`.
pub fn word_forms(word: &str) -> TermVector {
    const ENDINGS: [&str; 10] =
        ["ation", "ition", "ment", "able", "ness", "ion", "ive", "or", "er", "ly"];
    const MIN_ROOT: usize = 4;
    let stem = String::from_utf8_lossy(stem_word(word.as_bytes())).into_owned();
    let shorter = ENDINGS.iter().filter_map(|ending| word.strip_suffix(ending));
    let mut roots: Vec<&str> = shorter.filter(|root| root.len() >= MIN_ROOT).collect();
    roots.push(&stem);
    let mut terms = TermCounts::default();
    terms.add_text(word, 1.0);
    for root in roots {
        for ending in ENDINGS.iter().chain(&["", "e"]) {
            terms.add_text(&format!("{root}{ending}"), 1.0);
        }
    }
    terms.into_sparse(|_| 1.0)
}

/// Returns terms that every text with `name` as a separate word contains, those of longer parts first; empty if a
/// text may contain the name without any of them.
pub fn list_required_terms(name: &str) -> Vec<TermVector> {
    let term = |term| TermVector { indices: vec![term], values: vec![1.0] };
    terms::required_terms(name).into_iter().map(term).collect()
}

fn without_extension(file: &str) -> &str {
    Path::new(file).file_stem().and_then(OsStr::to_str).unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> TermVector {
        weigh_document(&EmbeddingDocument { path: "", symbol: "", text })
    }

    /// Returns the score that an engine would compute, without inverse document frequencies.
    fn score(query: &str, document: &TermVector) -> f32 {
        let asked = extract_query_terms(query);
        let weight = |term| {
            let place = document.indices.binary_search(term).ok()?;
            document.values.get(place)
        };
        asked.indices.iter().filter_map(weight).sum()
    }

    #[test]
    fn terms_are_ascending_and_unique_and_weights_positive() {
        let sparse = text("fn read_file(path) { readFile(path); READ_FILE; files } 日本語 naïve");
        assert!(sparse.indices.is_sorted_by(|a, b| a < b));
        assert_eq!(sparse.indices.len(), sparse.values.len());
        assert!(sparse.values.iter().all(|weight| 0.0 < *weight));
    }

    #[test]
    fn the_hash_of_a_term_never_changes() {
        // These hashes are in stores on disk. The values are the published ones of FNV-1a.
        assert_eq!(extract_query_terms("a").indices, [0xE40C_292C]);
        assert_eq!(extract_query_terms("foobar").indices, [0xBF9C_F968]);
    }

    #[test]
    fn a_name_is_found_in_every_spelling_and_by_its_parts() {
        let document = text("let store = open_vector_stores(folder);");
        for asked in ["openVectorStores", "OPEN_VECTOR_STORES", "vector", "store", "Folders"] {
            assert!(0.0 < score(asked, &document), "{asked}");
        }
        assert!(score("vector", &document) < score("openVectorStores", &document));
        assert!(score("missing", &document) <= 0.0);
    }

    #[test]
    fn symbols_and_file_names_count_more_than_folders_and_text() {
        let fields = EmbeddingDocument { path: "alpha/beta.rs", symbol: "gamma", text: "delta" };
        let document = weigh_document(&fields);
        let [folder, file, symbol, text] =
            ["alpha", "beta", "gamma", "delta"].map(|asked| score(asked, &document));
        assert!(text <= folder && folder < file && file <= symbol);
    }

    #[test]
    fn of_a_path_the_name_and_the_nearest_folders_count() {
        let path = "outer/alpha/beta/gamma.test.rs";
        let document = weigh_document(&EmbeddingDocument { path, symbol: "", text: "" });
        for (asked, counts) in [
            ("alpha", true),
            ("beta", true),
            ("gamma", true),
            ("test", true),
            ("outer", false),
            ("rs", false),
        ] {
            assert_eq!(0.0 < score(asked, &document), counts, "{asked}");
        }
        let hidden =
            weigh_document(&EmbeddingDocument { path: ".gitignore", symbol: "", text: "" });
        assert!(0.0 < score("gitignore", &hidden));
    }

    #[test]
    fn a_file_is_found_by_its_whole_name() {
        let document =
            weigh_document(&EmbeddingDocument { path: "alpha/beta.rs", symbol: "", text: "" });
        let has_file_term = |path| {
            let term = query_with_files("", [path]);
            document.indices.binary_search(&term.indices[0]).is_ok()
        };
        assert!(has_file_term("beta.rs") && has_file_term("Beta.rs"));
        assert!(has_file_term("/repos/demo/alpha/beta.rs"));
        assert!(!has_file_term("beta.py") && !has_file_term("beta") && !has_file_term("alpha"));
    }

    #[test]
    fn comments_count_more_than_code() {
        let document = text("// alpha\nbeta\n    # gamma\n#define delta");
        let [comment, code, note, macros] =
            ["alpha", "beta", "gamma", "delta"].map(|asked| score(asked, &document));
        assert!(code < comment && (code - macros).abs() < 1e-6 && (comment - note).abs() < 1e-6);
    }

    #[test]
    fn words_are_found_in_other_forms_and_whole_names_as_they_are() {
        let document = text("fn parse_queries() { retrying }");
        for asked in ["parsing", "query", "retries", "retry"] {
            assert!(0.0 < score(asked, &document), "{asked}");
        }
        assert!(score("parse_query", &document) < score("parse_queries", &document));
    }

    #[test]
    fn forms_of_a_word_are_those_of_one_root() {
        let has_form = |word: &str, other: &str| {
            let forms = word_forms(word);
            let text = text(other);
            text.indices.iter().any(|term| forms.indices.binary_search(term).is_ok())
        };
        for (word, other) in [
            ("migrate", "migrations"),
            ("migration", "migrating"),
            ("compiler", "compile"),
            ("quickly", "quick"),
            ("broadcasts", "broadcaster"),
        ] {
            assert!(has_form(word, other), "{word}, {other}");
        }
        assert!(!has_form("migrate", "migraine") && !has_form("broadcast", "broad cast"));
    }

    #[test]
    fn operators_are_found_without_words() {
        let document = text("if a <=> b { c?.d }");
        assert!(0.0 < score("<=>", &document) && 0.0 < score("?.", &document));
        assert!(score("!==", &document) <= 0.0);
    }

    #[test]
    fn repetition_saturates_and_length_counts_against() {
        let once = score("word", &text("word"));
        let often = score("word", &text(&"word ".repeat(10)));
        let diluted = score("word", &text(&format!("word {}", "other ".repeat(500))));
        assert!(once < often && often < 3.0 * once);
        assert!(diluted < once);
    }

    #[test]
    fn words_beyond_ascii_are_found() {
        let document = text("// Größe des Puffers; 接続を再試行する");
        for asked in ["größe", "gro\u{308}ße", "GRÖSSE größe", "再試行", "接続"] {
            assert!(0.0 < score(asked, &document), "{asked}");
        }
        assert!(score("切断", &document) <= 0.0);
    }

    #[test]
    fn numbers_are_found_however_their_digits_are_grouped() {
        for (asked, grouped) in
            [("86400000", "T = 86_400_000"), ("0xffff", "0xFF'FF"), ("1000.5", "1_000.5")]
        {
            assert!(0.0 < score(asked, &text(grouped)), "{asked}");
            assert!(0.0 < score(grouped, &text(asked)), "{grouped}");
        }
    }

    #[test]
    fn data_and_empty_texts_have_no_terms() {
        assert_eq!(text(&"a1".repeat(99)), TermVector::default());
        assert_eq!(extract_query_terms("¿ … ? ;"), TermVector::default());
    }
}
