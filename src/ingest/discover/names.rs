//! Files that are left out for what they are called: binaries, lock files, generated and minified
//! code.

/// Extensions of files that are no text, or text made for machines.
const BINARY: &[&str] = &[
    "7z",
    "a",
    "aac",
    "aiff",
    "apk",
    "ar",
    "arrow",
    "avi",
    "avif",
    "avro",
    "bin",
    "blend",
    "bmp",
    "br",
    "bz2",
    "cab",
    "class",
    "dat",
    "db",
    "deb",
    "dll",
    "dmg",
    "doc",
    "docx",
    "ds_store",
    "dylib",
    "eot",
    "exe",
    "feather",
    "fla",
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
    "idx",
    "img",
    "iso",
    "jar",
    "jpeg",
    "jpg",
    "lib",
    "lz4",
    "lzma",
    "m4a",
    "m4v",
    "map",
    "mdb",
    "mkv",
    "mo",
    "mov",
    "mp3",
    "mp4",
    "mpeg",
    "mpg",
    "msi",
    "node",
    "npy",
    "npz",
    "nupkg",
    "o",
    "obj",
    "odp",
    "ods",
    "odt",
    "ogg",
    "onnx",
    "opus",
    "orc",
    "otf",
    "pack",
    "parquet",
    "pb",
    "pdb",
    "pdf",
    "pickle",
    "pkl",
    "png",
    "ppt",
    "pptx",
    "psd",
    "pt",
    "pth",
    "pyc",
    "pyd",
    "pyo",
    "rar",
    "rlib",
    "rmeta",
    "rpm",
    "safetensors",
    "snap",
    "so",
    "sqlite",
    "sqlite3",
    "svg",
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
    "xls",
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

/// Ends of names that only generators and minifiers give.
const MADE_ENDS: &[&str] = &[
    ".bundle.css",
    ".bundle.js",
    ".chunk.css",
    ".chunk.js",
    ".designer.cs",
    ".freezed.dart",
    ".g.cs",
    ".g.dart",
    ".g.i.cs",
    ".gen.go",
    ".generated.cs",
    ".generated.go",
    ".generated.java",
    ".generated.js",
    ".generated.rs",
    ".generated.ts",
    ".generated.tsx",
    ".min.css",
    ".min.js",
    ".min.mjs",
    ".pb.cc",
    ".pb.go",
    ".pb.gw.go",
    ".pb.h",
    ".pb.swift",
    ".pbobjc.h",
    ".pbobjc.m",
    "_generated.go",
    "_generated.rs",
    "_pb.js",
    "_pb.rb",
    "_pb.ts",
    "_pb2.py",
    "_pb2.pyi",
    "_pb2_grpc.py",
];

/// Whether a file of this name is left out.
pub(super) fn is_left_out(name: &str) -> bool {
    let name = name.to_lowercase();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let ends = |table: &[&str]| table.iter().any(|end| name.ends_with(end));
    extension.is_some_and(|extension| BINARY.contains(&extension))
        || LOCKS.contains(&name.as_str())
        || ends(LOCK_ENDS)
        || ends(MADE_ENDS)
        || name.starts_with("zz_generated.")
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
            "main.js.map",
        ] {
            assert!(is_left_out(name), "{name}");
        }
    }

    #[test]
    fn sources_are_kept() {
        for name in ["lock.rs", "Makefile", "admin.js", "block.go", "pb.go", "generated.rs", "png"]
        {
            assert!(!is_left_out(name), "{name}");
        }
    }
}
