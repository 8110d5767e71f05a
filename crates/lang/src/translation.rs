//! Finds out of which document another is a translation, by its path.

/// Codes of the languages into which documents are translated most (ISO 639-1).
const LANGUAGE_CODES: &[&str] = &[
    "ar", "az", "bg", "bn", "cs", "da", "de", "el", "en", "es", "fa", "fi", "fr", "he", "hi", "hu",
    "id", "it", "ja", "ko", "nl", "pl", "pt", "ro", "ru", "sv", "ta", "th", "tr", "uk", "ur", "vi",
    "zh",
];
/// Maximum letters of a region or script after the code of a language.
const MAX_REGION: usize = 4;

/// Returns a path without codes of languages: `docs/zh-CN/use.md` becomes `docs/use.md`.
pub fn find_original_path(path: &str) -> String {
    let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
    let (stem, extension) = file.rsplit_once('.').unwrap_or((file, ""));
    let ends = ['.', '_', '-'].map(|mark| stem.split_once(mark));
    let translated = ends.into_iter().flatten().find(|(_, tag)| is_language_tag(tag));
    let name = translated.map_or(stem, |(name, _)| name);
    let kept = folders.split('/').filter(|folder| !folder.is_empty() && !is_language_tag(folder));
    let mut original: String = kept.flat_map(|folder| [folder, "/"]).collect();
    original.push_str(name);
    if !extension.is_empty() {
        original.push('.');
        original.push_str(extension);
    }
    original
}

fn is_language_tag(text: &str) -> bool {
    let (code, region) = text.split_once(['-', '_']).unwrap_or((text, ""));
    LANGUAGE_CODES.contains(&code.to_ascii_lowercase().as_str())
        && region.len() <= MAX_REGION
        && region.chars().all(|c| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_languages_are_left_out() {
        for (path, original) in [
            ("docs/zh-CN/use.md", "docs/use.md"),
            ("docs/use.ja.md", "docs/use.md"),
            ("README.pt_BR.md", "README.md"),
            ("README-de.md", "README.md"),
            ("ES/README", "README"),
            ("docs/use.md", "docs/use.md"),
            ("docs/item/use-item.md", "docs/item/use-item.md"),
            ("docs/en-internal/use.md", "docs/en-internal/use.md"),
            ("Makefile", "Makefile"),
            ("", ""),
        ] {
            assert_eq!(find_original_path(path), original, "{path}");
        }
    }
}
