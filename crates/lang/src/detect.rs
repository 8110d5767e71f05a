//! Detection of a file's language, and of files for machines (media, archives, lock files, generated
//! code), by name, extension, first line and, for C headers, content.

use crate::{
    Language,
    languages::{self, c, prose},
};

/// Returns the language of a file, or `None` for text in no known language.
pub fn detect_language(path: &str, text: &str) -> Option<&'static Language> {
    match detect_by_path(path).or_else(|| by_first_line(text)) {
        Some(known) if *known == c::C && path.ends_with(['h', 'H']) && c::looks_like_cpp(text) => {
            Some(&c::CPP)
        }
        known => known,
    }
}

/// Returns the language that a file's name implies.
pub fn detect_by_path(path: &str) -> Option<&'static Language> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if prose::is_manual(path) {
        return Some(&prose::ROFF);
    }
    by_file_name(name).or_else(|| by_extension(name))
}

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

/// Kind of a file for machines, judged by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MachineFile {
    Binary,
    LockFile,
    Generated,
}

/// Returns the kind of machine file that a name implies, or `None` for other files.
pub fn detect_machine_file(name: &str) -> Option<MachineFile> {
    let lower = name.to_lowercase();
    let extension = lower.rsplit_once('.').map(|(_, extension)| extension);
    if extension.is_some_and(|extension| BINARY_EXTENSIONS.contains(&extension)) {
        return Some(MachineFile::Binary);
    }
    if is_lock_file(&lower) {
        return Some(MachineFile::LockFile);
    }
    let is_generated = is_generated_name(&lower) || lower.starts_with(GENERATED_START);
    is_generated.then_some(MachineFile::Generated)
}

pub(crate) fn is_lock_file(name: &str) -> bool {
    LOCK_NAMES.contains(&name) || LOCK_ENDS.iter().any(|end| name.ends_with(end))
}

/// Returns whether only generators and minifiers use the lower-case name.
pub(crate) fn is_generated_name(name: &str) -> bool {
    languages::iter_all().flat_map(|language| language.generated).any(|end| name.ends_with(end))
}

/// Extensions of binary files, without possibly binary ones such as `.dat`: there, bytes decide.
const BINARY_EXTENSIONS: &[&str] = &[
    "7z", "aac", "aiff", "apk", "avi", "avif", "avro", "blend", "bmp", "bz2", "cab", "deb", "dll",
    "dmg", "docx", "dylib", "eot", "exe", "feather", "flac", "flv", "gguf", "gif", "glb", "gz",
    "h5", "heic", "icns", "ico", "iso", "jar", "jpeg", "jpg", "lz4", "lzma", "m4a", "m4v", "mkv",
    "mov", "mp3", "mp4", "mpeg", "mpg", "msi", "npy", "npz", "nupkg", "odp", "ods", "odt", "ogg",
    "onnx", "opus", "otf", "parquet", "pdf", "png", "pptx", "psd", "pyc", "pyd", "pyo", "rar",
    "rlib", "rmeta", "rpm", "safetensors", "sqlite", "sqlite3", "swf", "tar", "tflite", "tgz",
    "tif", "tiff", "ttc", "ttf", "vsix", "war", "wasm", "wav", "webm", "webp", "whl", "wma", "wmv",
    "woff", "woff2", "xlsx", "xz", "zip", "zst",
];

/// Complete names of lock files without one of the [`LOCK_ENDS`].
const LOCK_NAMES: &[&str] = &[
    "bun.lockb", "cabal.project.freeze", "go.sum", "go.work.sum", "npm-shrinkwrap.json",
    "package.resolved", "packages.lock.json",
];

const LOCK_ENDS: &[&str] =
    &[".lock", ".lockfile", "-lock.json", "-lock.yaml", "-lock.yml", ".lock.json", ".lock.hcl"];

/// Start of the names that a Kubernetes generator uses.
const GENERATED_START: &str = "zz_generated.";

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
                assert_eq!(detect_by_path(&path), Some(language), "{path}");
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
    fn words_with_extensions_of_files_are_file_names() {
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

    #[test]
    fn machine_made_files_are_left_out() {
        for name in [
            "Cargo.lock",
            "package-lock.json",
            "pnpm-lock.yaml",
            "yarn.lock",
            "go.sum",
            "app.min.js",
            "api.pb.go",
            "api_pb2.py",
            "Form.Designer.cs",
            "logo.PNG",
            "a.wasm",
            "zz_generated.deepcopy.go",
            ".terraform.lock.hcl",
        ] {
            assert!(detect_machine_file(name).is_some(), "{name}");
        }
    }

    #[test]
    fn sources_are_kept() {
        for name in [
            "lock.rs", "Makefile", "admin.js", "block.go", "pb.go", "generated.rs", "png",
            "config.pkl", "stations.dat", "gates.lib",
        ] {
            assert_eq!(detect_machine_file(name), None, "{name}");
        }
    }
}
