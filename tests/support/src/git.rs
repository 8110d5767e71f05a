//! Repositories of git with the settings of no user.

use std::{path::Path, process::Command};

use tokio::task::JoinHandle;

use crate::ingest::TestRepository;

/// Runs git in a folder, without the settings of the user who runs the test.
pub fn run_git(folder: &Path, arguments: &[&str]) -> String {
    let run = Command::new("git")
        .args(["-c", "user.name=Somebody", "-c", "user.email=somebody@example.com"])
        .args([
            "-c",
            "init.defaultBranch=main",
            "-c",
            "core.autocrlf=false",
            "-c",
            "protocol.file.allow=always",
        ])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("XDG_CONFIG_HOME", "/nonexistent")
        // Set where a hook runs the tests.
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .current_dir(folder)
        .output();
    let run = run.expect("git is needed: install it, with `apt-get install git` on Debian");
    assert!(run.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap()
}

/// Makes a repository of a folder, with one commit.
pub fn commit_all(folder: &Path, message: &str) {
    if folder.join(".git").symlink_metadata().is_err() {
        run_git(folder, &["init", "--quiet"]);
    }
    run_git(folder, &["add", "--all"]);
    run_git(folder, &["commit", "--quiet", "--allow-empty", "--message", message]);
}

/// Adds a worktree beside a repository.
pub fn add_worktree(of: &TestRepository, name: &str, arguments: &[&str]) -> TestRepository {
    let folder = of.0.with_file_name(name);
    let path = folder.to_str().unwrap();
    run_git(&of.0, &[&["worktree", "add", "--quiet"], arguments, &[path]].concat());
    TestRepository(folder.canonicalize().unwrap())
}

/// Starts to pack the objects of a repository again and again. Each window makes another pack, and git removes the one
/// that readers have open.
pub fn start_packing(folder: &Path) -> JoinHandle<()> {
    let folder = folder.to_owned();
    tokio::task::spawn_blocking(move || {
        run_git(&folder, &["gc", "--quiet", "--prune=now"]);
        for window in 1..16 {
            run_git(&folder, &["repack", "-adfq", &format!("--window={window}")]);
        }
    })
}
