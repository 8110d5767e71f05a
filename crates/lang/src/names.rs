//! Files that are left out for what they are called: media, archives and programs, lock files, generated and
//! minified code.

use crate::languages;

/// Extensions of files that are text in no format that uses them. What else may be no text, such as `.dat`, `.lib`
/// and `.pkl`, is decided by its first bytes.
const BINARY: &[&str] = &[
    "7z",
    "aac",
    "aiff",
    "apk",
    "avi",
    "avif",
    "avro",
    "blend",
    "bmp",
    "bz2",
    "cab",
    "deb",
    "dll",
    "dmg",
    "docx",
    "dylib",
    "eot",
    "exe",
    "feather",
    "flac",
    "flv",
    "gguf",
    "gif",
    "glb",
    "gz",
    "h5",
    "heic",
    "icns",
    "ico",
    "iso",
    "jar",
    "jpeg",
    "jpg",
    "lz4",
    "lzma",
    "m4a",
    "m4v",
    "mkv",
    "mov",
    "mp3",
    "mp4",
    "mpeg",
    "mpg",
    "msi",
    "npy",
    "npz",
    "nupkg",
    "odp",
    "ods",
    "odt",
    "ogg",
    "onnx",
    "opus",
    "otf",
    "parquet",
    "pdf",
    "png",
    "pptx",
    "psd",
    "pyc",
    "pyd",
    "pyo",
    "rar",
    "rlib",
    "rmeta",
    "rpm",
    "safetensors",
    "sqlite",
    "sqlite3",
    "swf",
    "tar",
    "tflite",
    "tgz",
    "tif",
    "tiff",
    "ttc",
    "ttf",
    "vsix",
    "war",
    "wasm",
    "wav",
    "webm",
    "webp",
    "whl",
    "wma",
    "wmv",
    "woff",
    "woff2",
    "xlsx",
    "xz",
    "zip",
    "zst",
];

/// Whole names of lock files that no rule below catches.
const LOCKS: &[&str] = &[
    "bun.lockb",
    "cabal.project.freeze",
    "go.sum",
    "go.work.sum",
    "npm-shrinkwrap.json",
    "package.resolved",
    "packages.lock.json",
];

/// Ends of lock file names.
const LOCK_ENDS: &[&str] =
    &[".lock", ".lockfile", "-lock.json", "-lock.yaml", "-lock.yml", ".lock.json", ".lock.hcl"];

/// The start of names that a generator of Kubernetes gives.
const MADE_START: &str = "zz_generated.";

/// File that its name shows to be made for machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MachineFile {
    /// No text, or text that no person reads.
    Binary,
    /// Records which versions were chosen.
    LockFile,
    /// Made by a generator or a minifier.
    Generated,
}

/// Returns why a file of this name is left out.
pub fn detect_machine_file(name: &str) -> Option<MachineFile> {
    let name = name.to_lowercase();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    if extension.is_some_and(|extension| BINARY.contains(&extension)) {
        return Some(MachineFile::Binary);
    }
    if is_lock(&name) {
        return Some(MachineFile::LockFile);
    }
    let is_generated = is_made(&name) || name.starts_with(MADE_START);
    is_generated.then_some(MachineFile::Generated)
}

/// Whether a file of this name, lower-case, records which versions were chosen.
pub(crate) fn is_lock(name: &str) -> bool {
    LOCKS.contains(&name) || LOCK_ENDS.iter().any(|end| name.ends_with(end))
}

/// Whether only generators and minifiers give such a name, lower-case.
pub(crate) fn is_made(name: &str) -> bool {
    languages::iter_all().flat_map(|language| language.generated).any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            "lock.rs",
            "Makefile",
            "admin.js",
            "block.go",
            "pb.go",
            "generated.rs",
            "png",
            "config.pkl",
            "stations.dat",
            "gates.lib",
        ] {
            assert_eq!(detect_machine_file(name), None, "{name}");
        }
    }
}
