//! Files of a folder that are indexed, and files that never are.

use codeinfo_test_support::git::run_git;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use codeinfo_core::error::ErrorCode;
use codeinfo_ingest::discover::{WalkResult, discover_files};
use insta::assert_snapshot;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

#[test]
fn ignore_files_are_honoured_without_a_git_repository() {
    let folder = WalkedFolder::with_files(&[
        (".gitignore", "*.log\n/made/\n"),
        (".ignore", "notes.txt\n"),
        (".codeinfoignore", "private/\n!kept.log\n"),
        ("a.rs", ""),
        ("b.log", ""),
        ("kept.log", ""),
        ("made/c.rs", ""),
        ("src/made/d.rs", ""),
        ("notes.txt", ""),
        ("private/e.rs", ""),
        ("sub/.gitignore", "f.rs\n"),
        ("sub/f.rs", ""),
        ("sub/g.rs", ""),
    ]);
    assert_snapshot!(folder.list_found_paths(), @r"
    a.rs
    kept.log
    src/made/d.rs
    sub/g.rs
    ");
}

#[test]
fn ignore_files_of_git_do_not_apply_to_what_git_tracks() {
    let tracked = ["generated/api.py", "generated/deep/model.py", "notes.log", "private/plan.md"];
    let folder = WalkedFolder::with_files(&[
        (".gitignore", "generated/\n*.log\n.hidden/\n"),
        (".ignore", "private/\n"),
        (".codeinfoignore", "!generated/asked.py\n"),
        (".hidden/a.rs", ""),
        ("generated/api.py", ""),
        ("generated/asked.py", ""),
        ("generated/deep/model.py", ""),
        ("generated/deep/other.py", ""),
        ("generated/other.py", ""),
        ("notes.log", ""),
        ("other.log", ""),
        ("private/plan.md", ""),
    ]);
    folder.run_git(&["init", "-q"]);
    folder.run_git(&[&["add", "-f", ".hidden/a.rs"][..], &tracked].concat());
    assert_snapshot!(folder.list_found_paths(), @r"
    generated/api.py
    generated/asked.py
    generated/deep/model.py
    notes.log
    ");
    // An index that cannot be read has no effect.
    fs::write(folder.join(".git/index"), "DIRC").unwrap();
    assert_snapshot!(folder.list_found_paths(), @"generated/asked.py");
}

#[test]
fn ignore_files_above_the_root_do_not_count() {
    let folder = WalkedFolder::with_files(&[
        (".git/HEAD", ""),
        (".gitignore", "*\n"),
        (".ignore", "*\n"),
        ("inner/a.rs", ""),
    ]);
    assert_eq!(render_names(&walk_folder(&folder.join("inner"))), "a.rs");
}

#[test]
fn hidden_machine_made_and_vendored_files_are_left_out() {
    let folder = WalkedFolder::with_files(&[
        (".git/config", ""),
        (".github/workflows/ci.yml", ""),
        (".hidden", ""),
        ("Cargo.lock", ""),
        ("Cargo.toml", ""),
        ("api/a.pb.go", ""),
        ("app/dist/a.js", ""),
        ("app/node_modules/b/index.js", ""),
        ("app/node_modules/b/package.json", ""),
        ("app/package.json", ""),
        ("cache/CACHEDIR.TAG", ""),
        ("cache/c.rs", ""),
        ("logo.png", ""),
        ("main.rs", ""),
        ("stations.dat", ""),
        ("target/debug/d.rs", ""),
        ("third_party/e/LICENSE", ""),
        ("third_party/e/src/e.c", ""),
        ("vendor/f/go.mod", ""),
        ("vendor/f/f.go", ""),
    ]);
    assert_snapshot!(folder.list_found_paths(), @r"
    Cargo.toml
    app/package.json
    main.rs
    stations.dat
    ");
}

#[test]
fn attributes_say_which_files_are_generated() {
    let folder = WalkedFolder::with_files(&[
        (
            ".gitattributes",
            "dump/*.sql linguist-generated=true\n*.gen.js linguist-generated\n*.pb.go -linguist-generated\n",
        ),
        ("sub/.gitattributes", "b.gen.js linguist-generated=false\n/c.py linguist-generated\n"),
        ("dump/a.sql", ""),
        ("dump/deep/b.sql", ""),
        ("a.gen.js", ""),
        ("sub/a.gen.js", ""),
        ("sub/b.gen.js", ""),
        ("sub/c.py", ""),
        ("sub/deep/c.py", ""),
        ("hand.pb.go", ""),
        ("Cargo.lock", ""),
    ]);
    assert_snapshot!(folder.list_found_paths(), @r"
    dump/deep/b.sql
    hand.pb.go
    sub/b.gen.js
    sub/deep/c.py
    ");
}

#[test]
fn source_folders_with_the_names_of_outputs_are_kept() {
    let folder = WalkedFolder::with_files(&[
        ("bin/tool.rs", ""),
        ("build/build.py", ""),
        ("dist/writer.rs", ""),
        ("out/printer.go", ""),
        ("package.json", ""),
        ("Cargo.toml", ""),
        ("Makefile", ""),
        ("third_party/adapter.py", ""),
        ("tools/bin/Release/notes.py", ""),
        ("web/dist/regions.py", ""),
        ("web/package.json", ""),
        ("src/target/mod.rs", ""),
        ("src/vendor/model.rb", ""),
    ]);
    assert_snapshot!(folder.list_found_paths(), @r"
    Cargo.toml
    Makefile
    bin/tool.rs
    build/build.py
    dist/writer.rs
    out/printer.go
    package.json
    src/target/mod.rs
    src/vendor/model.rb
    third_party/adapter.py
    tools/bin/Release/notes.py
    web/dist/regions.py
    web/package.json
    ");
}

#[test]
fn a_pattern_includes_a_part_of_what_is_left_out() {
    let folder = WalkedFolder::with_files(&[
        (".codeinfoignore", "!vendor/keep/**\n!.github/workflows/*.yml\n!target/\n"),
        (".github/CODEOWNERS", ""),
        (".github/workflows/ci.yml", ""),
        ("Cargo.toml", ""),
        ("target/debug/a.rs", ""),
        ("vendor/modules.txt", ""),
        ("vendor/keep/deep/b.go", ""),
        ("vendor/other/c.go", ""),
    ]);
    assert_snapshot!(folder.list_found_paths(), @r"
    .github/workflows/ci.yml
    Cargo.toml
    target/debug/a.rs
    vendor/keep/deep/b.go
    ");
}

#[test]
fn outputs_that_git_tracks_are_kept_and_others_are_left_out() {
    let folder = WalkedFolder::with_files(&[
        ("package.json", "{}"),
        ("dist/index.js", ""),
        ("web/package.json", "{}"),
        ("web/dist/index.js", ""),
    ]);
    folder.run_git(&["init", "-q"]);
    folder.run_git(&["add", "package.json", "dist", "web/package.json"]);
    assert_eq!(folder.list_found_paths(), "dist/index.js\npackage.json\nweb/package.json");
}

#[test]
fn secrets_are_never_found_even_when_asked_for() {
    let folder = WalkedFolder::with_files(&[
        (".codeinfoignore", "!*\n!.env\n!.env.example\n!.npmrc\n!.ssh\n!.ssh/config\n"),
        (".env", "KEY=1"),
        (".env.example", "KEY="),
        (".npmrc", "//registry/:_authToken=1"),
        (".ssh/config", ""),
        ("credentials.json", "{}"),
        ("deploy/prod.env", ""),
        ("id_rsa", ""),
        ("main.rs", ""),
        ("server.key", ""),
        ("server.p12", ""),
        ("src/credentials.rs", ""),
        ("terraform.tfstate", "{}"),
    ]);
    let found = folder.list_found_paths();
    let found: Vec<&str> = found.lines().filter(|path| !path.ends_with("ignore")).collect();
    // The content of these decides which is a secret.
    assert_eq!(found, [".env.example", "main.rs", "server.key", "src/credentials.rs"]);
}

#[cfg(unix)]
#[test]
fn links_are_not_followed_and_nothing_is_found_twice() {
    use std::os::unix::fs::symlink;
    let outside = WalkedFolder::with_files(&[("secret.rs", ""), ("deep/more.rs", "")]);
    let folder = WalkedFolder::with_files(&[("a.rs", ""), ("inner/b.rs", "")]);
    symlink(outside.join("secret.rs"), folder.join("file.rs")).unwrap();
    symlink(outside.join("deep"), folder.join("folder")).unwrap();
    symlink(folder.join("a.rs"), folder.join("again.rs")).unwrap();
    symlink(folder.join("."), folder.join("inner/loop")).unwrap();
    symlink(folder.join("nowhere"), folder.join("broken.rs")).unwrap();
    let discovered = walk_folder(&folder.join("."));
    assert_eq!(render_names(&discovered), "a.rs\ninner/b.rs");
    assert_eq!(discovered.skipped, []);
}

#[cfg(unix)]
#[test]
fn pipes_are_not_read() {
    let folder = WalkedFolder::with_files(&[("a.rs", "")]);
    let made = Command::new("mkfifo").arg(folder.join("pipe.rs")).status().unwrap();
    assert!(made.success());
    assert_eq!(folder.list_found_paths(), "a.rs");
}

#[test]
fn large_files_are_counted_and_named_unless_they_are_no_text() {
    let folder = WalkedFolder::with_files(&[
        ("a.rs", "12345"),
        ("b.rs", "123456"),
        ("c.dat", "\0\x01\0\x02\0\x03"),
    ]);
    let discovered = discover_files(&folder.join("."), 5, &CancellationToken::new()).unwrap();
    assert_eq!(render_names(&discovered), "a.rs");
    let skipped: Vec<String> =
        discovered.skipped.iter().map(|file| format!("{}: {}", file.path, file.reason)).collect();
    assert_eq!(skipped, ["b.rs: too large"]);
}

#[test]
fn folders_of_other_repositories_are_named_and_left_out() {
    let folder = WalkedFolder::with_files(&[
        (".git", "gitdir: elsewhere\n"),
        ("a.rs", ""),
        ("module/.git", "gitdir: elsewhere\n"),
        ("module/.env", ""),
        ("module/b.rs", ""),
        ("module/deep/id_rsa", ""),
        ("nested/.git/config", ""),
        ("nested/c.rs", ""),
        (".hidden/.git", "gitdir: elsewhere\n"),
    ]);
    let discovered = walk_folder(&folder.join("."));
    assert_eq!(render_names(&discovered), "a.rs\nnested/c.rs");
    let skipped: Vec<&str> = discovered.skipped.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(skipped, ["module"]);
    let private: Vec<String> = discovered.private.into_iter().collect();
    assert_eq!(private, ["module/.env", "module/deep/id_rsa", "nested/.git"]);
}

#[test]
fn a_root_that_is_gone_is_an_error() {
    let folder = WalkedFolder::with_files(&[]);
    let error = discover_files(&folder.join("gone"), 5, &CancellationToken::new()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ValidationFailed);
}

#[test]
fn a_cancelled_walk_ends() {
    let folder = WalkedFolder::with_files(&[("a.rs", "")]);
    let cancel = CancellationToken::new();
    cancel.cancel();
    assert_eq!(
        discover_files(&folder.join("."), 5, &cancel).unwrap_err().code(),
        ErrorCode::Cancelled
    );
}

struct WalkedFolder(TempDir);

impl WalkedFolder {
    fn with_files(files: &[(&str, &str)]) -> Self {
        let folder = Self(TempDir::new().unwrap());
        for (path, text) in files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn join(&self, path: &str) -> PathBuf {
        let root = self.0.path().canonicalize().unwrap();
        if path == "." { root } else { root.join(path) }
    }

    fn run_git(&self, arguments: &[&str]) {
        run_git(&self.join("."), arguments);
    }

    fn list_found_paths(&self) -> String {
        let discovered = walk_folder(&self.join("."));
        assert_eq!(discovered.skipped, []);
        render_names(&discovered)
    }
}

fn walk_folder(root: &Path) -> WalkResult {
    discover_files(root, 1024, &CancellationToken::new()).unwrap()
}

fn render_names(discovered: &WalkResult) -> String {
    let paths: Vec<&str> = discovered.files.iter().map(|file| file.path.as_str()).collect();
    paths.join("\n")
}
