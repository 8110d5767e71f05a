//! Detection of files to omit by name: media, archives, programs, lock files, and generated or
//! minified code.

use crate::languages;

/// Extensions of binary files. Other extensions of possibly binary files, such as `.dat`, `.lib`
/// and `.pkl`, are excluded; the first bytes decide for those.
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

/// Complete names of lock files without one of the [`LOCK_ENDS`].
const LOCKS: &[&str] = &[
    "bun.lockb",
    "cabal.project.freeze",
    "go.sum",
    "go.work.sum",
    "npm-shrinkwrap.json",
    "package.resolved",
    "packages.lock.json",
];

/// Endings of the names of lock files.
const LOCK_ENDS: &[&str] =
    &[".lock", ".lockfile", "-lock.json", "-lock.yaml", "-lock.yml", ".lock.json", ".lock.hcl"];

/// Start of the names that a Kubernetes generator uses.
const MADE_START: &str = "zz_generated.";

/// Kind of a file for machines, judged by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MachineFile {
    /// Not text, or text that no person reads.
    Binary,
    /// File that records the chosen versions of packages.
    LockFile,
    /// Output of a generator or a minifier.
    Generated,
}

/// Returns the kind of machine file that a name implies, or `None` for other files.
pub fn detect_machine_file(name: &str) -> Option<MachineFile> {
    let lower = name.to_lowercase();
    let extension = lower.rsplit_once('.').map(|(_, extension)| extension);
    if extension.is_some_and(|extension| BINARY.contains(&extension)) {
        return Some(MachineFile::Binary);
    }
    if is_lock(&lower) {
        return Some(MachineFile::LockFile);
    }
    let is_generated = is_made(&lower) || lower.starts_with(MADE_START);
    is_generated.then_some(MachineFile::Generated)
}

/// Returns whether a lower-case file name belongs to a record of chosen package versions.
pub(crate) fn is_lock(name: &str) -> bool {
    LOCKS.contains(&name) || LOCK_ENDS.iter().any(|end| name.ends_with(end))
}

/// Returns whether only generators and minifiers use the lower-case name.
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
