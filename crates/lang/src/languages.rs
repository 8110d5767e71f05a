//! All languages, by family.

pub mod builds;
pub mod c;
pub mod data;
pub mod dotnet;
pub mod functional;
pub mod javascript;
pub mod jvm;
pub mod native;
pub mod pages;
pub mod prose;
pub mod scripts;

use crate::Language;

const FAMILIES: &[&[&Language]] = &[
    builds::ALL,
    c::ALL,
    data::ALL,
    dotnet::ALL,
    functional::ALL,
    javascript::ALL,
    jvm::ALL,
    native::ALL,
    pages::ALL,
    prose::ALL,
    scripts::ALL,
];

/// Iterates over all languages.
pub fn iter_all() -> impl Iterator<Item = &'static Language> {
    FAMILIES.iter().copied().flatten().copied()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_and_extensions_belong_to_one_language() {
        let mut known = HashSet::new();
        for language in iter_all() {
            let keys = [
                ("name", &[language.name][..]),
                ("extension", language.extensions),
                ("file", language.file_names),
                ("start", language.file_name_starts),
                ("program", language.shebangs),
            ];
            for (kind, keys) in keys {
                for key in keys {
                    assert!(
                        known.insert((kind, *key)),
                        "{kind} {key} of {} is known",
                        language.name
                    );
                }
            }
        }
        assert!(known.len() > 300, "{}", known.len());
    }

    #[test]
    fn tables_are_in_lower_case() {
        for language in iter_all() {
            let lower = [language.extensions, language.test_paths, language.generated];
            for text in lower.concat().iter().chain(language.declarations).chain([&language.name]) {
                assert!(!text.is_empty() && *text == text.to_lowercase(), "{text}");
            }
            assert!(
                language.extensions.iter().all(|extension| !extension.contains('.')),
                "{}",
                language.name
            );
            let asked = language.asked_extensions.iter();
            assert!(
                asked.clone().all(|extension| language.extensions.contains(extension)),
                "{}",
                language.name
            );
        }
    }
}
