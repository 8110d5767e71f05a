//! All languages, by family.

pub mod beam;
pub mod builds;
pub mod c;
pub mod dart;
pub mod data;
pub mod dotnet;
pub mod functional;
pub mod go;
pub mod hardware;
pub mod infrastructure;
pub mod javascript;
pub mod jvm;
pub mod lisp;
pub mod native;
pub mod pages;
pub mod php;
pub mod prose;
pub mod python;
pub mod ruby;
pub mod rust;
pub mod schemas;
pub mod scripts;
pub mod shaders;
pub mod shells;
pub mod sql;
pub mod styles;
pub mod swift;

use crate::Language;

const FAMILIES: &[&[&Language]] = &[
    beam::ALL,
    builds::ALL,
    c::ALL,
    dart::ALL,
    data::ALL,
    dotnet::ALL,
    functional::ALL,
    go::ALL,
    hardware::ALL,
    infrastructure::ALL,
    javascript::ALL,
    jvm::ALL,
    lisp::ALL,
    native::ALL,
    pages::ALL,
    php::ALL,
    prose::ALL,
    python::ALL,
    ruby::ALL,
    rust::ALL,
    schemas::ALL,
    scripts::ALL,
    shaders::ALL,
    shells::ALL,
    sql::ALL,
    styles::ALL,
    swift::ALL,
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
