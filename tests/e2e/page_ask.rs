//! Asking on the page, in a real browser: a question of a real index through the real Codex.

use std::sync::Arc;

use codeinfo_test_support::wire::send_get;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::{
    listeners::InProcessServer,
    page_browser::{check_appearance, open_page, write_figure},
    support::{
        browser::BrowserPage,
        model::{FakeModel, ModelReply, message_item, search_item, thinking_item},
        process::create_scratch_folder,
    },
};

/// Types a question into the box of the page, and sends it.
pub(crate) async fn ask_question(page: &BrowserPage, question: &str) {
    page.fill_field("#question", question).await;
    page.press_key("Enter").await;
}

/// Waits until this number of turns have ended.
pub(crate) async fn wait_for_turns(page: &BrowserPage, count: usize) {
    let ended = "[...document.querySelectorAll('.turn')].filter(one => !one.matches('.running'))";
    page.wait_for(&format!("{ended}.length === {count}"), "the end of the turn").await;
}

/// Starts a model that thinks and searches, and answers at a signal of the test.
async fn start_held_model(finish: &Arc<Notify>) -> FakeModel {
    FakeModel::replay([
        ModelReply::Items(vec![thinking_item("**Looking** for it"), search_item("parse_config")]),
        ModelReply::Held(
            Arc::clone(finish),
            vec![message_item("It is `parse_config` (src/parse.rs:1-4), *not* another.")],
        ),
        ModelReply::Items(vec![message_item("Because nobody asked.")]),
    ])
    .await
}

/// Notes when parts of a stream come, and how long after each the page shows something new.
const WATCH: &str = "(() => {
    const read = ReadableStreamDefaultReader.prototype.read;
    let came = null;
    globalThis.waits = [];
    ReadableStreamDefaultReader.prototype.read = async function () {
        const part = await read.call(this);
        if (typeof part.value === 'string') came = performance.now();
        return part;
    };
    new MutationObserver(changes => {
        if (came === null || !changes.some(one => one.target.closest?.('.turn'))) return;
        const since = came;
        came = null;
        requestAnimationFrame(() => setTimeout(() => waits.push(performance.now() - since)));
    }).observe(document.body, { subtree: true, childList: true });
})()";

const STEPS: &str = ".steps-list > li > details > summary";

#[tokio::test]
async fn a_question_shows_each_step_as_it_happens_and_then_the_answer() {
    let finish = Arc::new(Notify::new());
    let model = start_held_model(&finish).await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open_page(&server).await;
    page.wait_for_text("Ask about your code").await;
    check_appearance(&page, "ask").await;
    page.eval::<()>(WATCH).await;
    ask_question(&page, "Where is it?").await;
    // The model has not answered yet.
    page.wait_for(&format!("document.querySelectorAll('{STEPS}').length === 2"), "two steps").await;
    page.wait_for(
        "document.querySelector('.step.tool .outcome').innerText.includes('1 file')",
        "files",
    )
    .await;
    let steps = page.read_texts(STEPS).await;
    assert!(steps[0].starts_with("Thought: Looking for it"), "{steps:?}");
    assert!(steps[1].starts_with("Searched “parse_config”"), "{steps:?}");
    assert!(steps[1].contains("local"), "{steps:?}");
    assert!(page.eval::<bool>("document.querySelector('.answer').hidden").await);
    assert!(page.url().await.contains("#/c/"), "{}", page.url().await);
    page.wait_for_text("What the last search found").await;
    assert_eq!(page.read_texts("#files .path").await, ["src/parse.rs"]);
    check_appearance(&page, "running").await;
    // Steps and the end are announced as they come, and nothing is announced twice.
    let log = "document.querySelector('.steps [role=log]').getAttribute('aria-live')";
    assert_eq!(page.eval::<String>(log).await, "polite");
    let spoken = "document.querySelector('#announcement[role=status][aria-live=polite]').innerText";
    finish.notify_one();
    wait_for_turns(&page, 1).await;
    page.wait_for(&format!("{spoken} === 'The answer is ready'"), "what is spoken").await;
    assert_eq!(page.eval::<String>(log).await, "off");
    assert_eq!(page.list_names_of_role("complementary").await, ["Evidence"]);
    assert_eq!(
        page.read_text(".answer").await.trim(),
        "It is parse_config (src/parse.rs:1-4), not another."
    );
    assert_eq!(page.read_text(".answer em").await, "not");
    assert_eq!(page.read_text(".answer code").await, "parse_config");
    assert_eq!(page.read_text("a.cite[data-state=confirmed]").await, "src/parse.rs:1-4");
    let facts = page.read_text(".facts").await;
    assert!(facts.contains("1 of 1 citation confirmed"), "{facts}");
    assert!(facts.contains("tokens"), "{facts}");
    let waits = page.eval::<Vec<f64>>("waits").await;
    assert!(!waits.is_empty(), "nothing was measured");
    write_figure("from an event to the screen, in ms", &json!(waits));
    // The steps are folded now, and open again.
    assert!(page.eval::<bool>("!document.querySelector('.steps').open").await);
    page.click(".steps > summary").await;
    page.click(".step.tool summary").await;
    page.wait_for_text("\"query\": \"parse_config\"").await;
    page.wait_for("document.querySelector('.step.tool pre .m-f')", "marked arguments").await;
    page.wait_for_text("pub fn parse_config").await;
    check_appearance(&page, "answer").await;
    page.assert_faultless().await;
}

#[tokio::test]
async fn a_stopped_turn_stops_the_model() {
    let model = FakeModel::replay([
        ModelReply::Items(vec![thinking_item("Looking"), search_item("parse_config")]),
        ModelReply::Silent(vec![]),
        ModelReply::Items(vec![message_item("Here.")]),
    ])
    .await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open_page(&server).await;
    ask_question(&page, "Where?").await;
    model.wait_for_requests(2).await;
    page.click_text("button", "Stop").await;
    model.wait_for_abandoned_streams(1).await;
    page.wait_for_text("Stopped").await;
    assert_eq!(
        page.list_names_of_role("button").await.iter().filter(|name| *name == "Stop").count(),
        0
    );
    check_appearance(&page, "stopped").await;
    ask_question(&page, "Then now?").await;
    wait_for_turns(&page, 2).await;
    assert_eq!(page.read_texts(".answer").await.last().unwrap().trim(), "Here.");
    page.assert_faultless().await;
}

#[tokio::test]
async fn a_turn_survives_a_reload_and_a_closed_tab_and_nothing_is_asked_twice() {
    let finish = Arc::new(Notify::new());
    let model = start_held_model(&finish).await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open_page(&server).await;
    ask_question(&page, "Where is it?").await;
    model.wait_for_requests(2).await;
    page.wait_for(&format!("document.querySelectorAll('{STEPS}').length === 2"), "two steps").await;
    page.reload().await;
    page.wait_for(&format!("document.querySelectorAll('{STEPS}').length === 2"), "two steps").await;
    assert!(page.eval::<bool>("document.querySelector('.turn').matches('.running')").await);
    // Another tab sees the same.
    let other = page.open_another(&page.url().await).await;
    other
        .wait_for(&format!("document.querySelectorAll('{STEPS}').length === 2"), "two steps")
        .await;
    finish.notify_one();
    for one in [&page, &other] {
        wait_for_turns(one, 1).await;
        assert!(one.read_text(".answer").await.starts_with("It is parse_config"));
        assert_eq!(one.read_texts(STEPS).await.len(), 2);
        one.assert_faultless().await;
    }
    let is_question = |url: &str| url.ends_with("/turns");
    let all = page.requests().into_iter().chain(other.requests());
    assert_eq!(all.filter(|request| is_question(&request.url)).count(), 1);
    assert_eq!(model.requests().len(), 2);
    // Also once it has ended.
    page.reload().await;
    wait_for_turns(&page, 1).await;
    assert_eq!(page.read_text("a.cite").await, "src/parse.rs:1-4");
    page.assert_faultless().await;
}

#[tokio::test]
async fn follow_ups_are_confined_like_the_conversation() {
    let script = ["One.", "Two."].map(|text| ModelReply::Items(vec![message_item(text)]));
    let model = FakeModel::replay(script).await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    server.ingest_other().await;
    let (_browser, page) = open_page(&server).await;
    page.wait_for("document.querySelectorAll('#question-repository option').length === 3", "both")
        .await;
    let choice = "document.querySelector('#question-repository')";
    page.eval::<()>(&format!(
        "void ({choice}.value = 'demo', {choice}.dispatchEvent(new Event('change')))"
    ))
    .await;
    ask_question(&page, "One?").await;
    wait_for_turns(&page, 1).await;
    ask_question(&page, "Two?").await;
    wait_for_turns(&page, 2).await;
    let id = page.eval::<String>("location.hash.split('/')[2]").await;
    for _ in 0..2 {
        assert_eq!(page.read_texts(".turn .about:has(time)").await.len(), 2);
        for about in page.read_texts(".turn .about:has(time)").await {
            assert!(about.contains("demo only"), "{about}");
        }
        page.reload().await;
        wait_for_turns(&page, 2).await;
    }
    let whole = send_get(server.main, &format!("/conversations/{id}")).await.json();
    for turn in whole["turns"].as_array().unwrap() {
        assert_eq!(turn["frames"][0]["data"]["repository"], "demo", "{turn}");
    }
    assert_eq!(whole["turns"][0]["modelId"], whole["turns"][1]["modelId"]);
    page.assert_faultless().await;
}

#[tokio::test]
async fn a_tab_that_is_hidden_holds_no_stream_and_takes_up_the_turn_when_it_is_seen() {
    let finish = Arc::new(Notify::new());
    let model = start_held_model(&finish).await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open_page(&server).await;
    ask_question(&page, "Where is it?").await;
    page.wait_for(&format!("document.querySelectorAll('{STEPS}').length === 2"), "two steps").await;
    let hide = async |is: bool| {
        let change = format!(
            "void (Object.defineProperty(document, 'hidden', {{ value: {is}, configurable: true }}),
                document.dispatchEvent(new Event('visibilitychange')))"
        );
        page.eval::<()>(&change).await;
    };
    hide(true).await;
    finish.notify_one();
    let id = page.eval::<String>("location.hash.split('/')[2]").await;
    page.retry_until("the end", async || {
        let whole = send_get(server.main, &format!("/conversations/{id}")).await.json();
        if whole["turns"][0]["state"] == "running" { Err(whole.to_string()) } else { Ok(()) }
    })
    .await;
    assert!(page.eval::<bool>("document.querySelector('.turn').matches('.running')").await);
    hide(false).await;
    wait_for_turns(&page, 1).await;
    assert!(page.read_text(".answer").await.starts_with("It is parse_config"));
    page.assert_faultless().await;
}

#[tokio::test]
async fn a_question_that_waits_for_another_one_says_so() {
    let finish = Arc::new(Notify::new());
    let model = start_held_model(&finish).await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open_page(&server).await;
    ask_question(&page, "Where is it?").await;
    model.wait_for_requests(2).await;
    ask_question(&page, "And why?").await;
    page.wait_for_text("Waits until another question has ended.").await;
    check_appearance(&page, "waits").await;
    finish.notify_one();
    wait_for_turns(&page, 2).await;
    assert_eq!(page.read_texts(".question").await, ["Where is it?", "And why?"]);
    let is_blank = "document.querySelector('#question').value === ''
        && !document.querySelector('.composer').innerText.includes('Waits until')";
    page.wait_for(is_blank, "a box for the next question").await;
    page.assert_faultless().await;
}

#[tokio::test]
async fn questions_of_another_tab_appear_in_this_one() {
    let script = ["One.", "Two."].map(|text| ModelReply::Items(vec![message_item(text)]));
    let model = FakeModel::replay(script).await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open_page(&server).await;
    ask_question(&page, "One?").await;
    wait_for_turns(&page, 1).await;
    let other = page.open_another(&page.url().await).await;
    wait_for_turns(&other, 1).await;
    ask_question(&other, "Two?").await;
    wait_for_turns(&other, 2).await;
    // The reader comes back to this tab.
    page.eval::<bool>("document.dispatchEvent(new Event('visibilitychange'))").await;
    wait_for_turns(&page, 2).await;
    assert_eq!(page.read_texts(".question").await, ["One?", "Two?"]);
    page.assert_faultless().await;
}

#[tokio::test]
async fn a_question_may_follow_and_the_whole_is_copied_linked_and_exported() {
    let finish = Arc::new(Notify::new());
    let model = start_held_model(&finish).await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open_page(&server).await;
    ask_question(&page, "Where is it?").await;
    finish.notify_one();
    wait_for_turns(&page, 1).await;
    let first = page.url().await;
    ask_question(&page, "And why?").await;
    wait_for_turns(&page, 2).await;
    assert_eq!(page.url().await, first);
    assert!(
        model.latest_request_text().contains("Where is it?"),
        "{}",
        model.latest_request_text()
    );
    assert_eq!(page.read_texts(".question").await, ["Where is it?", "And why?"]);
    page.allow_clipboard().await;
    // Those of the latest turn are the last of their names.
    let copied = async |label: &str| {
        let click = format!(
            "[...document.querySelectorAll('.turn')].at(-1).querySelector('.actions')
                .querySelectorAll('button').forEach(one => one.textContent === '{label}' && one.click())"
        );
        page.eval::<()>(&format!("void ({click})")).await;
        let buttons = "[...document.querySelectorAll('button')]";
        let is_shown = format!("{buttons}.some(one => one.textContent === 'Copied')");
        page.wait_for(&is_shown, "that it is copied").await;
        page.wait_for(&format!("!{is_shown}"), "the button as it was").await;
        page.read_clipboard().await
    };
    let markdown = copied("Copy as Markdown").await;
    assert!(
        markdown.contains("And why?") && markdown.contains("Because nobody asked."),
        "{markdown}"
    );
    assert!(!markdown.contains("## Where is it?"), "one turn alone: {markdown}");
    let json: Value = serde_json::from_str(&copied("Copy as JSON").await).unwrap();
    assert_eq!(json["turns"][0]["question"], "And why?");
    let link = copied("Copy link").await;
    assert!(link.starts_with(&first) && link.contains("?turn="), "{link}");
    let folder = create_scratch_folder();
    page.save_downloads(folder.path()).await;
    page.click_text("button", "Export Markdown").await;
    page.retry_until("a file", async || {
        let file = std::fs::read_dir(folder.path()).unwrap().next().ok_or("none")?;
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let is_whole = text.contains("Where is it?") && text.contains("Because nobody asked.");
        if is_whole && path.extension().is_some_and(|extension| extension == "md") {
            Ok(())
        } else {
            Err(format!("{}: {text}", path.display()))
        }
    })
    .await;
    let linked = page.open_another(&link).await;
    wait_for_turns(&linked, 2).await;
    let seen = "document.querySelectorAll('.turn')[1].getBoundingClientRect().top < innerHeight";
    linked.wait_for(seen, "the turn of the link").await;
    page.assert_faultless().await;
    linked.assert_faultless().await;
}

#[tokio::test]
async fn obstacles_to_an_answer_are_shown_with_the_next_step() {
    let server = InProcessServer::start().await;
    let (_browser, page) = open_page(&server).await;
    page.wait_for_text("Nothing is indexed yet.").await;
    page.wait_for_text("Questions cannot be answered").await;
    assert!(page.list_names_of_role("link").await.contains(&"Add a folder".to_owned()));
    check_appearance(&page, "nothing-yet").await;
    ask_question(&page, "Where?").await;
    page.wait_for("document.querySelector('.composer [role=alert]')", "what is wrong").await;
    assert_eq!(
        page.eval::<String>("document.querySelector('#question').value").await,
        "Where?",
        "the question is kept"
    );
    check_appearance(&page, "refused").await;
    page.reload().await;
    page.wait_for("document.querySelector('#question')?.value === 'Where?'", "the question").await;
    let faults = page.take_faults().await;
    assert!(faults.iter().all(|fault| fault.contains("status of 503")), "{faults:?}");
}
