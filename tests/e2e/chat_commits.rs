//! Answers that cite commits, with the real Codex: checked, corrected, linked and printed.

use std::{fs, path::Path};

use codeinfo_test_support::git::{commit_all, run_git};
use serde_json::Value;

use crate::support::{
    codex,
    model::{FakeModel, answer_replies},
    process::{RunningServer, create_scratch_folder, read_output, run_command},
};

const PUMP: &str = "def wait_for_boiler():\n    timeout = 10\n    return poll(timeout)\n";

#[tokio::test]
async fn commits_of_an_answer_are_checked_linked_and_printed() {
    let folder = create_scratch_folder();
    let boiler = folder.path().join("boiler");
    let id = create_boiler(&boiler);
    let worktree = folder.path().join("boiler-side");
    run_git(&boiler, &["worktree", "add", "--quiet", worktree.to_str().unwrap()]);
    run_git(&boiler, &["tag", "v1", "HEAD~1"]);
    let written = "\
The `timeout` was raised from 10 to 30 (`boiler@ID`), where `wait_for_boiler` polls (`boiler@ID:src/pump.py:1-3`).

Its worktree has it too: `timeout` is 30 (boiler-side@ID:src/pump.py:2). The first `timeout` was 10 (boiler@v1/src/pump.py:2).

The invoices came later (boiler@ID), and the parser before (`boiler@deadbeef12`).";
    let short = id.get(..10).unwrap();
    let answer = written.replace("ID", short);
    let model = FakeModel::replay(answer_replies(&[&answer, &answer])).await;
    let environment = codex::codex_environment(folder.path(), &model.url);
    let data = folder.path().join("data");
    let tagged = folder.path().join("boiler@v1");
    let paths = [&*boiler, &worktree, &tagged];
    let server = RunningServer::serve(&data, &paths, &environment).await;
    let question = ["ask", "--claim-check", "off", "Since when does it wait 30 seconds?"];
    let (code, printed, notes) = read_output(&run_command(&data, &environment, &question).await);
    assert_eq!(code, Some(0), "{notes}");
    assert!(printed.contains("(~~`boiler@deadbeef12`~~ (not found))"), "{printed}");
    let expected = format!(
        "citations: 4 of 6 confirmed; 1 unconfirmed, 1 wrong\n  boiler@{short}: unconfirmed (neither its message \
         nor its changes say this)\n  boiler@deadbeef12: wrong (`boiler` has no commit with this id)\n"
    );
    assert!(notes.contains(&expected), "{notes}");
    let asked = model.latest_request_text();
    let fault = "- `boiler@deadbeef12`: `boiler` has no commit with this id";
    assert!(asked.contains(fault), "{asked}");
    let listed = server.get_api("/conversations").await;
    let conversation = listed["conversations"][0]["id"].as_str().unwrap();
    let kept = server.get_api(&format!("/conversations/{conversation}")).await;
    let frames = kept["turns"][0]["frames"].as_array().unwrap();
    let last = &frames.iter().find(|frame| frame["name"] == "final").unwrap()["data"];
    let states: Vec<(&Value, &Value)> = last["citations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|citation| (&citation["state"], &citation["commit"]["shownBy"]))
        .collect();
    let state = |name: &str, evidence: Value| (Value::from(name), evidence);
    let expected = [
        state("confirmed", "diff".into()),
        state("confirmed", "lines".into()),
        state("confirmed", "lines".into()),
        state("confirmed", Value::Null),
        state("unconfirmed", Value::Null),
        state("wrong", Value::Null),
    ];
    assert_eq!(states, expected.iter().map(|(state, by)| (state, by)).collect::<Vec<_>>());
    let url = format!("https://github.com/acme/boiler/commit/{id}");
    assert_eq!(last["citations"][0]["commit"]["url"], url.as_str());
    assert_eq!(last["citations"][3]["repo"], "boiler@v1");
    let reason = &last["segments"].as_array().unwrap().last().unwrap()["checked"]["places"][1];
    assert_eq!(reason["reason"], "`boiler` has no commit with this id");
    check_links(last["html"].as_str().unwrap(), &id);
}

/// Makes a repository of two commits. Returns the id of the second one.
fn create_boiler(boiler: &Path) -> String {
    fs::create_dir_all(boiler.join("src")).unwrap();
    fs::write(boiler.join("src/pump.py"), PUMP).unwrap();
    commit_all(boiler, "Add the pump");
    run_git(boiler, &["remote", "add", "origin", "git@github.com:acme/boiler.git"]);
    fs::write(boiler.join("src/pump.py"), PUMP.replace("10", "30")).unwrap();
    commit_all(boiler, "Be patient with cold water");
    run_git(boiler, &["rev-parse", "HEAD"]).trim().to_owned()
}

/// Checks the links of the answer to a commit.
fn check_links(html: &str, id: &str) {
    let short = id.get(..10).unwrap();
    for link in [
        format!(
            "<a class=\"cite\" data-state=\"confirmed\" data-commit=\"{id}\" data-repo=\"boiler\" \
             href=\"#/commit/boiler/{id}\"><code>boiler@{short}</code></a>"
        ),
        format!(
            "<a class=\"cite\" data-state=\"confirmed\" data-commit=\"{id}\" data-path=\"src/pump.py\" \
             data-first=\"2\" data-last=\"2\" data-repo=\"boiler-side\" \
             href=\"#/commit/boiler-side/{id}?path=src%2Fpump.py&amp;first=2&amp;last=2\">"
        ),
        "<a class=\"cite\" data-state=\"wrong\" data-commit=\"deadbeef12\"><code>".to_owned(),
    ] {
        assert!(html.contains(&link), "{link}\n{html}");
    }
}
