//! What the real program says of the fence around the model's shell: that it holds, that it cannot work
//! here, or that there is none.

use std::{path::Path, process::Output};

use serde_json::{Value, json};

use crate::support::{
    codex,
    model::{Model, Reply, says},
    process::{Environment, Program, fresh, run, run_without_namespaces},
};

async fn world() -> (tempfile::TempDir, Model, Environment) {
    let folder = fresh();
    let model = Model::answer(|_| Reply::Items(vec![says("Done.")])).await;
    let environment = codex::environment(folder.path(), &model.url);
    (folder, model, environment)
}

/// Returns the exit code of `doctor`, and what it says of the sandbox.
fn doctor(output: &Output) -> (Option<i32>, String) {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = said.lines().find(|line| line.contains("sandbox"));
    (output.status.code(), line.unwrap_or(&said).to_owned())
}

/// What `/health` says of the sandbox, once Codex was asked.
async fn health(data: &Path, environment: &Environment) -> Value {
    let program = Program::serve(data, &[], environment).await;
    program.read("/ready").await;
    program.read("/health").await["codex"]["sandbox"].clone()
}

#[tokio::test]
async fn doctor_and_health_try_the_sandbox() {
    let (folder, _model, mut environment) = world().await;
    let data = folder.path().join("data");
    let expected = json!({ "mode": "workspace-write", "network": "proxied", "ok": true });
    assert_eq!(health(&data, &environment).await, expected);
    let ok = "ok    sandbox: workspace-write, network proxied".to_owned();
    assert_eq!(doctor(&run(&data, &environment, &["doctor"]).await), (Some(0), ok));
    environment.push(("CODEX_PRIVATE".to_owned(), "true".to_owned()));
    environment.push(("CODEX_SANDBOX".to_owned(), "read-only".to_owned()));
    let expected = json!({ "mode": "read-only", "network": "off", "ok": true });
    assert_eq!(health(&data, &environment).await, expected);
}

#[tokio::test]
async fn no_fence_is_said_to_be_none() {
    let (folder, _model, mut environment) = world().await;
    environment.push(("CODEX_SANDBOX".to_owned(), "danger-full-access".to_owned()));
    let data = folder.path().join("data");
    let expected = json!({ "mode": "danger-full-access", "network": "open", "ok": true });
    assert_eq!(health(&data, &environment).await, expected);
    environment.push(("LOG_LEVEL".to_owned(), "warn".to_owned()));
    environment.push(("CODEX_NETWORK".to_owned(), "off".to_owned()));
    let output = run(&data, &environment, &["doctor"]).await;
    let note = "note  sandbox: off (danger-full-access): the model's shell reads and writes all";
    assert_eq!(doctor(&output), (Some(0), note.to_owned()));
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(log.contains("the model's shell is not confined"), "{log}");
    assert!(log.contains("CODEX_NETWORK=off has no effect"), "{log}");
}

#[tokio::test]
async fn where_namespaces_are_forbidden_doctor_says_so_and_what_to_do() {
    let (folder, _model, environment) = world().await;
    let data = folder.path().join("data");
    let output = run_without_namespaces(&data, &environment, &["doctor"]).await;
    let (code, said) = doctor(&output);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.starts_with("FAIL  sandbox: the sandbox of the model's shell does not"), "{said}");
    assert!(said.contains("namespace") && said.contains("Containers in README.md"), "{said}");
}
