//! Detection of a file's language by name, extension, first line and, for C headers, content.

use crate::{
    Language,
    languages::{self, c, prose},
};

/// Returns the language of a file, or `None` for text in no known language.
pub fn detect_language(path: &str, text: &str) -> Option<&'static Language> {
    match by_path(path).or_else(|| by_first_line(text)) {
        Some(known) if *known == c::C && path.ends_with(['h', 'H']) && c::looks_like_cpp(text) => {
            Some(&c::CPP)
        }
        known => known,
    }
}

/// Returns the language that a file's name implies.
pub fn by_path(path: &str) -> Option<&'static Language> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if prose::is_manual(path) {
        return Some(&prose::ROFF);
    }
    by_file_name(name).or_else(|| by_extension(name))
}

/// Returns the language with this lower-case name.
pub fn find_language(name: &str) -> Option<&'static Language> {
    languages::iter_all().find(|language| language.name == name)
}

/// Returns whether a word of a question has an extension that hardly anything but file names has.
pub fn is_file_name(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(stem, extension)| {
        let is_asked = |language: &Language| language.asked_extensions.contains(&extension);
        !stem.is_empty() && languages::iter_all().any(is_asked)
    })
}

fn by_file_name(name: &str) -> Option<&'static Language> {
    languages::iter_all().find(|language| {
        language.file_names.contains(&name)
            || language.file_name_starts.iter().any(|start| name.starts_with(start))
    })
}

fn by_extension(name: &str) -> Option<&'static Language> {
    let (stem, extension) = name.rsplit_once('.')?;
    if stem.is_empty() {
        return None;
    }
    let lower = extension.to_ascii_lowercase();
    languages::iter_all().find(|language| language.extensions.contains(&lower.as_str()))
}

fn by_first_line(text: &str) -> Option<&'static Language> {
    let mut words = text.lines().next()?.strip_prefix("#!")?.split_whitespace();
    let first = words.next()?.rsplit('/').next()?;
    let program = match first {
        "env" => words.find(|word| !word.starts_with('-') && !word.contains('='))?,
        program => program,
    };
    let unversioned = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    languages::iter_all().find(|language| language.shebangs.contains(&unversioned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_extensions_and_first_lines_tell_the_language() {
        let language = |path, text| detect_language(path, text).map(|language| language.name);
        assert_eq!(language("src/main.rs", ""), Some("rust"));
        assert_eq!(language("a/B.TSX", ""), Some("tsx"));
        assert_eq!(language("CMakeLists.txt", ""), Some("cmake"));
        assert_eq!(language("Dockerfile.dev", ""), Some("dockerfile"));
        assert_eq!(language("bin/run", "#!/usr/bin/env -S python3.12 -u\n"), Some("python"));
        assert_eq!(language("bin/run", "#!/bin/sh -e\n"), Some("bash"));
        assert_eq!(language("man/man1/run.1", ""), Some("roff"));
        assert_eq!(language("man/run.8", ""), Some("roff"));
        assert_eq!(language("man/run.1.ronn", ""), Some("markdown"));
        assert_eq!(language("lib/run.so.1", ""), None);
        assert_eq!(language("man/run.9", ""), None);
        assert_eq!(language("man/.1", ""), None);
        assert_eq!(language("bin/run", "plain"), None);
        assert_eq!(language(".profile", ""), None);
    }

    #[test]
    fn every_key_leads_to_its_language() {
        for language in languages::iter_all() {
            let files = language.file_names.iter().map(|name| format!("a/{name}"));
            let starts = language.file_name_starts.iter().map(|start| format!("{start}old"));
            let extensions = language.extensions.iter().map(|extension| format!("a.b.{extension}"));
            for path in files.chain(starts).chain(extensions) {
                assert_eq!(by_path(&path), Some(language), "{path}");
            }
            for program in language.shebangs {
                assert_eq!(
                    detect_language("a", &format!("#!/bin/{program}\n")),
                    Some(language),
                    "{program}"
                );
            }
            assert_eq!(find_language(language.name), Some(language));
        }
        assert_eq!(find_language("Rust"), None);
    }

    #[test]
    fn a_word_is_a_file_by_an_extension_that_is_nothing_else() {
        for word in ["main.rs", "a/b.test.tsx", "x.yml"] {
            assert!(is_file_name(word), "{word}");
        }
        for word in ["this.props", "response.text", "self.conf", ".rs", "rs", "a.RS"] {
            assert!(!is_file_name(word), "{word}");
        }
    }

    #[test]
    fn headers_are_cpp_when_they_use_its_words() {
        let language = |path, text| detect_language(path, text).map(|language| language.name);
        assert_eq!(language("a.h", "int f(void);\n"), Some("c"));
        assert_eq!(language("a.h", "namespace a {\nint f();\n}\n"), Some("cpp"));
        assert_eq!(language("a.h", "// not std::string\nint f(void);\n"), Some("c"));
    }
}
