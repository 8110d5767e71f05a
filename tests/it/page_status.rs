//! The status of the server on the page, in a real browser: parts, toolkits, failures and settings.

use std::fs;

use crate::{
    listeners::Listeners,
    page_browser::{looks_right, open},
    page_guard::give_key,
    support::{
        model::Model,
        process::fresh,
        toolkit::{published, stdio},
    },
    toolkit_turns::document,
};

#[tokio::test]
async fn what_is_missing_is_said_with_what_to_do() {
    let server = Listeners::start_with(&[("QDRANT_API_KEY", "sk-of-tests-1234567890")]).await;
    let (_browser, page) = open(&server).await;
    page.click_text("link", "Status").await;
    page.sees("Something is missing; see below").await;
    page.sees("What to do:").await;
    page.sees("Search works meanwhile.").await;
    page.sees("None is configured.").await;
    page.sees("None since the server began.").await;
    page.sees("CODEX_BIN").await;
    page.sees("/nonexistent/codex").await;
    page.sees("environment").await;
    looks_right(&page, "status-degraded").await;
    let text = page.text("main").await;
    assert!(!text.contains("sk-of-tests"), "{text}");
    let row = "[...document.querySelectorAll('[aria-label=Settings] tr')]
        .find(row => row.innerText.startsWith('QDRANT_API_KEY')).innerText";
    let row = page.eval::<String>(row).await;
    assert!(row.contains("set, and not shown") && row.contains("environment"), "{row}");
    page.is_faultless().await;
}

#[tokio::test]
async fn toolkits_are_seen_and_stopped_and_started() {
    let model = Model::replay([]).await;
    let folder = fresh();
    let file = folder.path().join("toolkits.json");
    let (everything, missing) =
        (published("server-everything", &[]), stdio("no-such-program", Vec::new()));
    let toolkits = document(&[("everything", &everything), ("missing", &missing)]);
    fs::write(&file, toolkits.to_string()).unwrap();
    let file = file.display().to_string();
    let settings = [("TOOLKITS_FILE", file.as_str())];
    let server = Listeners::with_codex(&model, &settings).await;
    let (_browser, page) = open(&server).await;
    page.goto(&format!("http://{}/#/status", server.main)).await;
    page.sees("everything").await;
    let row = "[...document.querySelectorAll('[aria-label=Toolkits] tr')]
        .find(row => row.innerText.startsWith('everything')).innerText";
    // Processes are the owner's.
    page.click_text("button", "Start everything").await;
    give_key(&page, &server).await;
    page.faults().await;
    for (button, state) in [("Stop", "stopped"), ("Start", "ready")] {
        page.click_text("button", &format!("{button} everything")).await;
        page.wait(&format!("{row}.includes('{state}')"), state).await;
    }
    page.is_faultless().await;
    page.click_text("button", "Start missing").await;
    page.sees("no-such-program").await;
    let faults = page.faults().await;
    assert!(faults.iter().all(|fault| fault.contains("status of 503")), "{faults:?}");
    page.click("#toolkits ~ div details summary").await;
    page.sees("echo").await;
    looks_right(&page, "status").await;
    page.is_faultless().await;
}
