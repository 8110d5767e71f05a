//! Scores the names of files and folders against a query.

use codeinfo_lang::words::split_words;

use super::super::intent::QueryIntent;

/// Returns the share of the file's name that the query contains, 0…1.
pub(super) fn score_file_name(path: &str, intent: &QueryIntent) -> f32 {
    if 0.0 < exact_file(path, intent) { 1.0 } else { score_name_words(file_stem(path), intent) }
}

/// Returns 1 if the file has a name of the query.
pub(super) fn exact_file(path: &str, intent: &QueryIntent) -> f32 {
    if intent.is_name(file_stem(path)) { 1.0 } else { 0.0 }
}

/// Returns the name of a file up to its first dot.
fn file_stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.split('.').find(|part| !part.is_empty()).unwrap_or_default()
}

/// Returns the share of the folder's name that the query contains, 0…1.
pub(super) fn score_folder_name(path: &str, intent: &QueryIntent) -> f32 {
    score_name_words(path.rsplit('/').nth(1).unwrap_or_default(), intent)
}

/// Returns the share of the words of `name` that the query contains, 0…1.
pub(super) fn score_name_words(name: &str, intent: &QueryIntent) -> f32 {
    let mut words: Vec<String> = split_words(name).collect();
    words.sort_unstable();
    words.dedup();
    if words.is_empty() {
        return 0.0;
    }
    let known =
        words.iter().filter(|word| intent.words.iter().any(|asked| are_word_forms(asked, word)));
    #[expect(clippy::cast_precision_loss, reason = "a name has few words")]
    let share = known.count() as f32 / words.len() as f32;
    share
}

/// Returns true if two words are forms of one, such as `route` and `routing`: they have four or
/// more letters in common at the start, and these are at least three quarters of the shorter word.
fn are_word_forms(a: &str, b: &str) -> bool {
    let common = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let shorter = a.len().min(b.len());
    a == b || (4 <= common && shorter * 3 <= common * 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_named_by_the_query_has_its_whole_name() {
        let intent = QueryIntent::parse("where is HeaderMap");
        for (path, whole, exact) in
            [("src/header_map.rs", 1.0, 1.0), ("src/map.rs", 1.0, 0.0), ("a/.b", 0.0, 0.0)]
        {
            assert!((score_file_name(path, &intent) - whole).abs() < 1e-6, "{path}");
            assert!((exact_file(path, &intent) - exact).abs() < 1e-6, "{path}");
        }
    }

    #[test]
    fn forms_of_one_word_are_the_same() {
        for (a, b) in [("route", "routing"), ("valid", "validate"), ("parser", "parse")] {
            assert!(are_word_forms(a, b), "{a} {b}");
        }
        for (a, b) in [("interface", "interceptor"), ("map", "mapper"), ("test", "text")] {
            assert!(!are_word_forms(a, b), "{a} {b}");
        }
    }

    #[test]
    fn a_share_counts_the_words_of_the_name() {
        let intent = QueryIntent::parse("how are HTTP headers parsed");
        for (name, wanted) in [("HeaderParser", 1.0), ("header_map", 0.5), ("x", 0.0), ("", 0.0)] {
            assert!((score_name_words(name, &intent) - wanted).abs() < 1e-6, "{name}");
        }
    }
}
