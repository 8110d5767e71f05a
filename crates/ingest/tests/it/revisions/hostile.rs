//! Objects that no git makes: what they cost is bounded, and what they lead to is not read.

use std::{fmt::Write as _, fs::File, process::Command};

use super::*;

/// Writes an object of any content; returns its id.
fn write_object(repository: &TestRepository, kind: &str, bytes: &[u8]) -> String {
    let file = repository.0.with_file_name("object");
    fs::write(&file, bytes).unwrap();
    let arguments = ["hash-object", "-t", kind, "--literally", "-w", file.to_str().unwrap()];
    run_git(&repository.0, &arguments).trim().to_owned()
}

/// An entry of a tree.
fn encode_tree_entry(mode: &str, name: &str, id: &str) -> Vec<u8> {
    let pair = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    let id = id.as_bytes().chunks(2).map(pair);
    format!("{mode} {name}\0").into_bytes().into_iter().chain(id).collect()
}

fn write_commit(repository: &TestRepository, tree: &str) -> String {
    run_git(&repository.0, &["commit-tree", "-m", "x", tree]).trim().to_owned()
}

#[tokio::test]
async fn folders_that_are_too_large_are_named_and_not_read() {
    let (index, app) = index_tagged_repository().await;
    let blob = write_object(&app, "blob", b"fn found() {}\n");
    let file = encode_tree_entry("100644", "a.rs", &blob);
    // A few hundred bytes each, as they are stored.
    let most = write_object(&app, "tree", &file.repeat(250_000));
    let many = write_object(&app, "tree", &file.repeat(250_001));
    let long =
        write_object(&app, "tree", &encode_tree_entry("100644", &"x".repeat(8 << 20), &blob));
    let folders = [("long", &long), ("many", &many), ("most", &most)];
    let folders = folders.map(|(name, id)| encode_tree_entry("40000", name, id)).concat();
    let commit = write_commit(&app, &write_object(&app, "tree", &folders));
    let status = run_revision(&index, &app, &commit).await;
    let output_text = "skipped 2 files: long (too large), many (too large)";
    assert_eq!(status.message.as_deref(), Some(output_text));
    assert_eq!(list_files(&index, &format!("app@{commit}")).await, ["most/a.rs"]);
}

#[tokio::test]
async fn chains_of_changes_are_as_long_as_git_makes_them_and_no_longer() {
    let (index, app) = index_tagged_repository().await;
    let body = "fn f() {\n    g();\n}\n".repeat(20);
    let mut input = String::new();
    // Each is stored as a change of the previous one.
    for number in 1..=4097 {
        let text = format!("// {number:05}\n{body}");
        write!(input, "blob\nmark :{number}\ndata {}\n{text}\n", text.len()).unwrap();
    }
    input += "commit refs/heads/chains\ncommitter A <a@example.com> 0 +0000\ndata 1\nx\n";
    for (name, mark) in [("first", 1), ("last", 4096), ("more", 4097)] {
        writeln!(input, "M 100644 :{mark} {name}.rs").unwrap();
    }
    let file = app.0.with_file_name("input");
    fs::write(&file, input).unwrap();
    let import = Command::new("git")
        .args(["fast-import", "--quiet", "--depth=8000"])
        .current_dir(&app.0)
        .env_remove("GIT_DIR")
        .stdin(File::open(file).unwrap())
        .status();
    assert!(import.unwrap().success());
    let status = run_revision(&index, &app, "chains").await;
    let output_text = "skipped 1 file: more.rs (unreadable)";
    assert_eq!(status.message.as_deref(), Some(output_text));
    assert_eq!(list_files(&index, "app@chains").await, ["first.rs", "last.rs"]);
    assert_eq!(read_text(&index, "app@chains/last.rs").await, format!("// 04096\n{body}"));
}

#[cfg(unix)]
#[tokio::test]
async fn objects_behind_links_are_not_read() {
    use std::os::unix::fs::symlink;
    let (index, app) = index_tagged_repository().await;
    let other = index.create_repository("other", &[]);
    run_git(&other.0, &["init", "--quiet"]);
    let at = |repository: &TestRepository, id: &str| {
        let (folder, name) = id.split_at(2);
        repository.join(".git/objects").join(folder).join(name)
    };
    // An object whose folder does not exist yet.
    let blob = (0..1000).map(|number| format!("fn other{number}() {{}}\n"));
    let mut ids = blob.map(|text| write_object(&other, "blob", text.as_bytes()));
    let id = ids.find(|id| !at(&app, id).parent().unwrap().is_dir()).unwrap();
    let tree = write_object(&app, "tree", &encode_tree_entry("100644", "a.rs", &id));
    let commit = write_commit(&app, &tree);
    let (own, others) = (at(&app, &id), at(&other, &id));
    let (folder, others_folder) = (own.parent().unwrap(), others.parent().unwrap());
    fs::create_dir_all(folder).unwrap();
    symlink(&others, &own).unwrap();
    let status = run_revision(&index, &app, &commit).await;
    assert!(status.message.unwrap().ends_with("skipped 1 file: a.rs (unreadable)"));
    assert_eq!(list_files(&index, &format!("app@{commit}")).await, [""; 0]);

    fs::remove_dir_all(folder).unwrap();
    symlink(others_folder, folder).unwrap();
    assert!(read_refusal(&index, &app, "v1").await.contains("git fsck"));
}

#[tokio::test]
async fn an_id_names_its_commit_whatever_a_tag_is_called() {
    let (index, app) = index_tagged_repository().await;
    let new = run_git(&app.0, &["rev-parse", "HEAD"]).trim().to_owned();
    let old = run_git(&app.0, &["rev-parse", "v1^{commit}"]).trim().to_owned();
    fs::write(app.join(".git/refs/tags").join(&new), format!("{old}\n")).unwrap();
    run_revision(&index, &app, &new).await;
    let root = find_root(&index, &format!("app@{new}")).await;
    assert_eq!(root.revision.unwrap().commit, new);
    assert_eq!(read_text(&index, &format!("app@{new}/src/retry.rs")).await, NEW);
}

#[tokio::test]
async fn too_many_packed_references_are_reported() {
    let (index, app) = index_tagged_repository().await;
    run_git(&app.0, &["branch", "packed"]);
    run_git(&app.0, &["pack-refs", "--all"]);
    let id = run_git(&app.0, &["rev-parse", "HEAD"]);
    let packed = File::options().write(true).open(app.join(".git/packed-refs")).unwrap();
    packed.set_len(33 << 20).unwrap();
    let refusal = read_refusal(&index, &app, "packed").await;
    assert!(refusal.contains("`packed-refs` of the repository has more than 32 MiB"), "{refusal}");
    run_revision(&index, &app, id.trim()).await;
}
