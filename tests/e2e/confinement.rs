//! Reports of the real program about the sandbox of the model's shell: that it works, that it cannot work
//! here, or that there is none.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Output};

use serde_json::{Value, json};

use crate::support::{
    codex,
    model::{FakeModel, ModelReply, message_item},
    process::{
        ProgramEnvironment, RunningServer, create_scratch_folder, run_command,
        run_without_namespaces,
    },
};

async fn prepare_setup() -> (tempfile::TempDir, FakeModel, ProgramEnvironment) {
    let folder = create_scratch_folder();
    let model = FakeModel::answer_with(|_| ModelReply::Items(vec![message_item("Done.")])).await;
    let environment = codex::codex_environment(folder.path(), &model.url);
    (folder, model, environment)
}

/// Returns the exit code of `doctor`, and its line about the sandbox.
fn read_doctor_report(output: &Output) -> (Option<i32>, String) {
    let output_text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = output_text.lines().find(|line| line.contains("sandbox"));
    (output.status.code(), line.unwrap_or(&output_text).to_owned())
}

/// Returns the sandbox part of `/health`, once Codex was started.
async fn read_health(data: &Path, environment: &ProgramEnvironment) -> Value {
    let program = RunningServer::serve(data, &[], environment).await;
    program.get_api("/ready").await;
    program.get_api("/health").await["codex"]["sandbox"].clone()
}

#[tokio::test]
async fn doctor_and_health_try_the_sandbox() {
    let (folder, _model, mut environment) = prepare_setup().await;
    let data = folder.path().join("data");
    let expected = json!({ "mode": "workspace-write", "network": "proxied", "ok": true });
    assert_eq!(read_health(&data, &environment).await, expected);
    let ok = "ok    sandbox: workspace-write, network proxied".to_owned();
    assert_eq!(
        read_doctor_report(&run_command(&data, &environment, &["doctor"]).await),
        (Some(0), ok)
    );
    environment.push(("CODEX_PRIVATE".to_owned(), "true".to_owned()));
    environment.push(("CODEX_SANDBOX".to_owned(), "read-only".to_owned()));
    let expected = json!({ "mode": "read-only", "network": "off", "ok": true });
    assert_eq!(read_health(&data, &environment).await, expected);
}

#[tokio::test]
async fn a_missing_sandbox_is_reported() {
    let (folder, _model, mut environment) = prepare_setup().await;
    environment.push(("CODEX_SANDBOX".to_owned(), "danger-full-access".to_owned()));
    let data = folder.path().join("data");
    let expected = json!({ "mode": "danger-full-access", "network": "open", "ok": true });
    assert_eq!(read_health(&data, &environment).await, expected);
    environment.push(("LOG_LEVEL".to_owned(), "warn".to_owned()));
    environment.push(("CODEX_NETWORK".to_owned(), "off".to_owned()));
    let output = run_command(&data, &environment, &["doctor"]).await;
    let note = "note  sandbox: off (danger-full-access): the model's shell reads and writes all";
    assert_eq!(read_doctor_report(&output), (Some(0), note.to_owned()));
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(log.contains("the model's shell is not confined"), "{log}");
    assert!(log.contains("CODEX_NETWORK=off has no effect"), "{log}");
}

#[tokio::test]
async fn doctor_says_what_to_do_where_namespaces_are_forbidden() {
    let (folder, _model, environment) = prepare_setup().await;
    let data = folder.path().join("data");
    let output = run_without_namespaces(&data, &environment, &["doctor"]).await;
    let (code, output_text) = read_doctor_report(&output);
    assert_eq!(code, Some(1), "{output_text}");
    assert!(
        output_text.starts_with("FAIL  sandbox: the sandbox of the model's shell does not"),
        "{output_text}"
    );
    assert!(
        output_text.contains("namespace") && output_text.contains("`codeinfo docs containers`"),
        "{output_text}"
    );
}

#[tokio::test]
async fn a_repository_with_too_many_secrets_is_reported_as_unread() {
    let (folder, _model, environment) = prepare_setup().await;
    let (data, repository) = (folder.path().join("data"), folder.path().join("careless"));
    fs::create_dir(&repository).unwrap();
    fs::write(repository.join("main.rs"), "fn main() {}\n").unwrap();
    for number in 0..120 {
        fs::write(repository.join(format!("{number}.p12")), "").unwrap();
    }
    let program = RunningServer::serve(&data, &[&repository], &environment).await;
    program.get_api("/ready").await;
    let sandbox = program.get_api("/health").await["codex"]["sandbox"].clone();
    let reason = "its secrets lie in too many places; index folders of it instead, or put them into \
                  fewer folders";
    let unread = json!([{ "repo": "careless", "reason": reason }]);
    let expected =
        json!({ "mode": "workspace-write", "network": "proxied", "ok": true, "unread": unread });
    assert_eq!(sandbox, expected);
    let output = run_command(&data, &environment, &["doctor"]).await;
    let note =
        "note  sandbox: the model's shell does not read careless, which search still finds: ";
    assert_eq!(read_doctor_report(&output), (Some(0), format!("{note}{reason}")));
    program.terminate().await;
}

#[tokio::test]
async fn the_sandbox_is_tried_with_the_network_that_turns_have() {
    let (folder, _model, environment) = prepare_setup().await;
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let real = codex::codex_binary().ancestors().nth(2).unwrap().join("codex-resources/bwrap");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    // Only the form with the proxy, or only that without a network, works here.
    for (broken, network, code) in
        [("-n", "on", 1), ("-n", "off", 0), ("-z", "on", 0), ("-z", "off", 1)]
    {
        let script = format!(
            "#!/bin/sh\n[ \"$1\" != --help ] && [ {broken} \"$HTTP_PROXY\" ] && exit 1\nexec {} \"$@\"\n",
            real.display()
        );
        fs::write(bin.join("bwrap"), script).unwrap();
        fs::set_permissions(bin.join("bwrap"), fs::Permissions::from_mode(0o755)).unwrap();
        let mut environment = environment.clone();
        environment.push(("PATH".to_owned(), path.clone()));
        environment.push(("CODEX_NETWORK".to_owned(), network.to_owned()));
        let output = run_command(&folder.path().join("data"), &environment, &["doctor"]).await;
        assert_eq!(read_doctor_report(&output).0, Some(code), "{broken} {network}: {output:?}");
    }
}
