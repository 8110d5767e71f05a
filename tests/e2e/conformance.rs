//! The official conformance suite of the Model Context Protocol, in two versions, against both
//! endpoints of the running program. Failures that are intended are listed, with the reason, in
//! `tests/conformance/`.

use std::{collections::HashMap, path::Path, process::Stdio, time::Duration};

use tokio::process::Command;

use crate::support::{
    codex,
    install::{self, PackageParts},
    model::FakeModel,
    process::{RunningServer, create_scratch_folder},
};

/// One run of the suite.
struct SuiteRun {
    version: &'static str,
    /// Chooses the scenarios.
    choice: [&'static str; 2],
    expected_failures: &'static str,
    /// Scenarios that must be among them, with the least number of checks to pass. Some only
    /// inform, and pass none.
    must_pass: &'static [(&'static str, u32)],
}

const RUNS: [SuiteRun; 3] = [
    SuiteRun {
        version: "0.1.16",
        choice: ["--suite", "all"],
        expected_failures: "0.1.16-all.yml",
        must_pass: &[
            ("server-initialize", 1),
            ("ping", 1),
            ("tools-list", 1),
            ("resources-list", 1),
            ("prompts-list", 1),
            ("dns-rebinding-protection", 2),
        ],
    },
    SuiteRun {
        version: "0.2.0-alpha.12",
        choice: ["--requirements", "2025-11-25"],
        expected_failures: "0.2.0-2025-11-25.yml",
        must_pass: &[
            ("server-initialize", 2),
            ("ping", 2),
            ("tools-list", 3),
            ("resources-list", 2),
            ("prompts-list", 2),
            ("dns-rebinding-protection", 2),
            ("server-session-lifecycle", 0),
        ],
    },
    SuiteRun {
        version: "0.2.0-alpha.12",
        choice: ["--requirements", "2026-07-28"],
        expected_failures: "0.2.0-2026-07-28.yml",
        must_pass: &[
            ("tools-list", 3),
            ("resources-list", 2),
            ("prompts-list", 2),
            ("sep-2164-resource-not-found", 4),
            ("dns-rebinding-protection", 2),
            ("server-sse-multiple-streams", 1),
            ("input-required-result-unsupported-methods", 2),
            ("input-required-result-validate-input", 3),
            // Four more checks need fixture tools.
            ("server-stateless", 21),
            ("caching", 7),
            ("http-header-validation", 14),
        ],
    },
];

#[tokio::test]
async fn the_question_server_conforms() {
    // With a usable Codex, so that the tool is listed; no scenario reaches a question.
    let model = FakeModel::replay([]).await;
    let folder = create_scratch_folder();
    let environment = codex::codex_environment(folder.path(), &model.url);
    let server = RunningServer::serve(&folder.path().join("data"), &[], &environment).await;
    assert_conforms(&server.mcp).await;
    server.terminate().await;
}

#[tokio::test]
async fn raw_search_conforms() {
    let folder = create_scratch_folder();
    let environment = vec![("CODEX_BIN".to_owned(), "/nonexistent/codex".to_owned())];
    let server = RunningServer::serve(&folder.path().join("data"), &[], &environment).await;
    assert_conforms(&format!("{}/mcp", server.main)).await;
    server.terminate().await;
}

async fn assert_conforms(url: &str) {
    let [first, second, third] = &RUNS;
    let all = tokio::join!(run_suite(url, first), run_suite(url, second), run_suite(url, third));
    let faults = [all.0, all.1, all.2].concat();
    assert!(faults.is_empty(), "{url}: {}", faults.join("\n\n"));
}

/// Runs the suite once and returns its failures.
async fn run_suite(url: &str, run: &SuiteRun) -> Vec<String> {
    let SuiteRun { version, choice, expected_failures, must_pass } = run;
    let package = format!("@modelcontextprotocol/conformance@{version}");
    let folder = install::install_npm_package(
        &format!("conformance-{version}"),
        &package,
        PackageParts::Needed,
    );
    let expected = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    let output = create_scratch_folder();
    let suite = Command::new(install::find_node())
        .arg(folder.join("node_modules/.bin/conformance"))
        .args(["server", "--url", url])
        .args(choice)
        .arg("--expected-failures")
        .arg(expected.join(expected_failures))
        .arg("-o")
        .arg(output.path())
        .env_clear()
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let ended = tokio::time::timeout(Duration::from_mins(5), suite).await.unwrap().unwrap();
    let output_text = String::from_utf8_lossy(&ended.stdout);
    let passed = parse_summary(&output_text);
    let mut faults: Vec<String> = must_pass
        .iter()
        .filter(|(name, least)| passed.get(name).is_none_or(|passed| passed < least))
        .map(|(name, least)| {
            format!("`{name}` must pass {least} checks, passed {:?}", passed.get(name))
        })
        .collect();
    if !ended.status.success() {
        faults.push(format!("{}\n{}", ended.status, String::from_utf8_lossy(&ended.stderr)));
    }
    if !faults.is_empty() {
        faults.insert(0, format!("{version} {choice:?} said:\n{output_text}"));
    }
    faults
}

/// Reads the summary: how many checks of each scenario passed, from `✓ ping: 1 passed, 0 failed`.
fn parse_summary(output_text: &str) -> HashMap<&str, u32> {
    let lines = output_text.lines().filter_map(|line| line.trim().split_once(' '));
    let scenarios = lines.filter(|(mark, _)| ["✓", "✗", "~"].contains(mark));
    scenarios
        .filter_map(|(_, line)| {
            let (name, counts) = line.split_once(": ")?;
            Some((name, counts.split_once(" passed")?.0.parse().ok()?))
        })
        .collect()
}
