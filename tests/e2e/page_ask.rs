//! Asking on the page, in a real browser: a question of a real index through the real Codex.

use std::sync::Arc;

use codeinfo_test_support::wire::get;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::{
    listeners::Listeners,
    page_browser::{looks_right, note, open},
    support::{
        browser::Page,
        model::{Model, Reply as Said, says, searches, thinks},
        process::fresh,
    },
};

/// Types a question into the box of the page, and sends it.
pub(crate) async fn ask(page: &Page, question: &str) {
    page.fill("#question", question).await;
    page.press("Enter").await;
}

/// Waits until so many turns have ended.
pub(crate) async fn ended(page: &Page, count: usize) {
    let ended = "[...document.querySelectorAll('.turn')].filter(one => !one.matches('.running'))";
    page.wait(&format!("{ended}.length === {count}"), "the end of the turn").await;
}

/// A model that thinks and searches, and answers when the test says so.
async fn held(finish: &Arc<Notify>) -> Model {
    Model::replay([
        Said::Items(vec![thinks("**Looking** for it"), searches("parse_config")]),
        Said::Held(
            Arc::clone(finish),
            vec![says("It is `parse_config` (src/parse.rs:1-4), *not* another.")],
        ),
        Said::Items(vec![says("Because nobody asked.")]),
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
    let model = held(&finish).await;
    let server = Listeners::with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open(&server).await;
    page.sees("Ask about your code").await;
    looks_right(&page, "ask").await;
    page.eval::<()>(WATCH).await;
    ask(&page, "Where is it?").await;
    // The model has not answered yet.
    page.wait(&format!("document.querySelectorAll('{STEPS}').length === 2"), "two steps").await;
    page.wait(
        "document.querySelector('.step.tool .outcome').innerText.includes('1 file')",
        "files",
    )
    .await;
    let steps = page.texts(STEPS).await;
    assert!(steps[0].starts_with("Thought: Looking for it"), "{steps:?}");
    assert!(steps[1].starts_with("Searched “parse_config”"), "{steps:?}");
    assert!(steps[1].contains("local"), "{steps:?}");
    assert!(page.eval::<bool>("document.querySelector('.answer').hidden").await);
    assert!(page.url().await.contains("#/c/"), "{}", page.url().await);
    page.sees("What the last search found").await;
    assert_eq!(page.texts("#files .path").await, ["src/parse.rs"]);
    looks_right(&page, "running").await;
    // Steps are spoken as they come, and the end; nothing of it is spoken once more.
    let log = "document.querySelector('.steps [role=log]').getAttribute('aria-live')";
    assert_eq!(page.eval::<String>(log).await, "polite");
    let spoken = "document.querySelector('#announcement[role=status][aria-live=polite]').innerText";
    finish.notify_one();
    ended(&page, 1).await;
    page.wait(&format!("{spoken} === 'The answer is ready'"), "what is spoken").await;
    assert_eq!(page.eval::<String>(log).await, "off");
    assert_eq!(page.names("complementary").await, ["Evidence"]);
    assert_eq!(
        page.text(".answer").await.trim(),
        "It is parse_config (src/parse.rs:1-4), not another."
    );
    assert_eq!(page.text(".answer em").await, "not");
    assert_eq!(page.text(".answer code").await, "parse_config");
    assert_eq!(page.text("a.cite[data-state=confirmed]").await, "src/parse.rs:1-4");
    let facts = page.text(".facts").await;
    assert!(facts.contains("1 of 1 citation confirmed"), "{facts}");
    assert!(facts.contains("tokens"), "{facts}");
    let waits = page.eval::<Vec<f64>>("waits").await;
    assert!(!waits.is_empty(), "nothing was measured");
    note("from an event to the screen, in ms", &json!(waits));
    // The steps are folded now, and open again.
    assert!(page.eval::<bool>("!document.querySelector('.steps').open").await);
    page.click(".steps > summary").await;
    page.click(".step.tool summary").await;
    page.sees("\"query\": \"parse_config\"").await;
    page.wait("document.querySelector('.step.tool pre .m-f')", "marked arguments").await;
    page.sees("pub fn parse_config").await;
    looks_right(&page, "answer").await;
    page.is_faultless().await;
}

#[tokio::test]
async fn a_turn_that_is_stopped_ends_for_the_model_too() {
    let model = Model::replay([
        Said::Items(vec![thinks("Looking"), searches("parse_config")]),
        Said::Silent(vec![]),
        Said::Items(vec![says("Here.")]),
    ])
    .await;
    let server = Listeners::with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open(&server).await;
    ask(&page, "Where?").await;
    model.wait_for_requests(2).await;
    page.click_text("button", "Stop").await;
    model.left(1).await;
    page.sees("Stopped").await;
    assert_eq!(page.names("button").await.iter().filter(|name| *name == "Stop").count(), 0);
    looks_right(&page, "stopped").await;
    ask(&page, "Then now?").await;
    ended(&page, 2).await;
    assert_eq!(page.texts(".answer").await.last().unwrap().trim(), "Here.");
    page.is_faultless().await;
}

#[tokio::test]
async fn a_turn_survives_a_reload_and_a_closed_tab_and_nothing_is_asked_twice() {
    let finish = Arc::new(Notify::new());
    let model = held(&finish).await;
    let server = Listeners::with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open(&server).await;
    ask(&page, "Where is it?").await;
    model.wait_for_requests(2).await;
    page.wait(&format!("document.querySelectorAll('{STEPS}').length === 2"), "two steps").await;
    page.reload().await;
    page.wait(&format!("document.querySelectorAll('{STEPS}').length === 2"), "two steps").await;
    assert!(page.eval::<bool>("document.querySelector('.turn').matches('.running')").await);
    // Another tab sees the same.
    let other = page.another(&page.url().await).await;
    other.wait(&format!("document.querySelectorAll('{STEPS}').length === 2"), "two steps").await;
    finish.notify_one();
    for one in [&page, &other] {
        ended(one, 1).await;
        assert!(one.text(".answer").await.starts_with("It is parse_config"));
        assert_eq!(one.texts(STEPS).await.len(), 2);
        one.is_faultless().await;
    }
    let is_question = |url: &str| url.ends_with("/turns");
    let all = page.requests().into_iter().chain(other.requests());
    assert_eq!(all.filter(|request| is_question(&request.url)).count(), 1);
    assert_eq!(model.requests().len(), 2);
    // Once it has ended, too.
    page.reload().await;
    ended(&page, 1).await;
    assert_eq!(page.text("a.cite").await, "src/parse.rs:1-4");
    page.is_faultless().await;
}

#[tokio::test]
async fn what_follows_is_confined_as_the_conversation_is() {
    let script = ["One.", "Two."].map(|text| Said::Items(vec![says(text)]));
    let model = Model::replay(script).await;
    let server = Listeners::with_codex(&model, &[]).await;
    server.ingest_demo().await;
    server.ingest_other().await;
    let (_browser, page) = open(&server).await;
    page.wait("document.querySelectorAll('#question-repository option').length === 3", "both")
        .await;
    let choice = "document.querySelector('#question-repository')";
    page.eval::<()>(&format!(
        "void ({choice}.value = 'demo', {choice}.dispatchEvent(new Event('change')))"
    ))
    .await;
    ask(&page, "One?").await;
    ended(&page, 1).await;
    ask(&page, "Two?").await;
    ended(&page, 2).await;
    let id = page.eval::<String>("location.hash.split('/')[2]").await;
    for _ in 0..2 {
        assert_eq!(page.texts(".turn .about:has(time)").await.len(), 2);
        for about in page.texts(".turn .about:has(time)").await {
            assert!(about.contains("demo only"), "{about}");
        }
        page.reload().await;
        ended(&page, 2).await;
    }
    let whole = get(server.main, &format!("/conversations/{id}")).await.json();
    for turn in whole["turns"].as_array().unwrap() {
        assert_eq!(turn["frames"][0]["data"]["repository"], "demo", "{turn}");
    }
    assert_eq!(whole["turns"][0]["modelId"], whole["turns"][1]["modelId"]);
    page.is_faultless().await;
}

#[tokio::test]
async fn a_tab_that_is_hidden_holds_no_stream_and_takes_up_the_turn_when_it_is_seen() {
    let finish = Arc::new(Notify::new());
    let model = held(&finish).await;
    let server = Listeners::with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open(&server).await;
    ask(&page, "Where is it?").await;
    page.wait(&format!("document.querySelectorAll('{STEPS}').length === 2"), "two steps").await;
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
    page.until("the end", async || {
        let whole = get(server.main, &format!("/conversations/{id}")).await.json();
        if whole["turns"][0]["state"] == "running" { Err(whole.to_string()) } else { Ok(()) }
    })
    .await;
    assert!(page.eval::<bool>("document.querySelector('.turn').matches('.running')").await);
    hide(false).await;
    ended(&page, 1).await;
    assert!(page.text(".answer").await.starts_with("It is parse_config"));
    page.is_faultless().await;
}

#[tokio::test]
async fn a_question_that_waits_for_another_one_says_so() {
    let finish = Arc::new(Notify::new());
    let model = held(&finish).await;
    let server = Listeners::with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open(&server).await;
    ask(&page, "Where is it?").await;
    model.wait_for_requests(2).await;
    ask(&page, "And why?").await;
    page.sees("Waits until another question has ended.").await;
    looks_right(&page, "waits").await;
    finish.notify_one();
    ended(&page, 2).await;
    assert_eq!(page.texts(".question").await, ["Where is it?", "And why?"]);
    let is_blank = "document.querySelector('#question').value === ''
        && !document.querySelector('.composer').innerText.includes('Waits until')";
    page.wait(is_blank, "a box for the next question").await;
    page.is_faultless().await;
}

#[tokio::test]
async fn what_is_asked_in_another_tab_appears_in_this_one() {
    let script = ["One.", "Two."].map(|text| Said::Items(vec![says(text)]));
    let model = Model::replay(script).await;
    let server = Listeners::with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open(&server).await;
    ask(&page, "One?").await;
    ended(&page, 1).await;
    let other = page.another(&page.url().await).await;
    ended(&other, 1).await;
    ask(&other, "Two?").await;
    ended(&other, 2).await;
    // The reader comes back to this tab.
    page.eval::<bool>("document.dispatchEvent(new Event('visibilitychange'))").await;
    ended(&page, 2).await;
    assert_eq!(page.texts(".question").await, ["One?", "Two?"]);
    page.is_faultless().await;
}

#[tokio::test]
async fn a_question_may_follow_and_the_whole_is_copied_linked_and_exported() {
    let finish = Arc::new(Notify::new());
    let model = held(&finish).await;
    let server = Listeners::with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open(&server).await;
    ask(&page, "Where is it?").await;
    finish.notify_one();
    ended(&page, 1).await;
    let first = page.url().await;
    ask(&page, "And why?").await;
    ended(&page, 2).await;
    assert_eq!(page.url().await, first);
    assert!(model.latest().contains("Where is it?"), "{}", model.latest());
    assert_eq!(page.texts(".question").await, ["Where is it?", "And why?"]);
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
        page.wait(&is_shown, "that it is copied").await;
        page.wait(&format!("!{is_shown}"), "the button as it was").await;
        page.clipboard().await
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
    let folder = fresh();
    page.downloads(folder.path()).await;
    page.click_text("button", "Export Markdown").await;
    page.until("a file", async || {
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
    let linked = page.another(&link).await;
    ended(&linked, 2).await;
    let seen = "document.querySelectorAll('.turn')[1].getBoundingClientRect().top < innerHeight";
    linked.wait(seen, "the turn of the link").await;
    page.is_faultless().await;
    linked.is_faultless().await;
}

#[tokio::test]
async fn what_stands_in_the_way_of_an_answer_is_said_with_the_next_step() {
    let server = Listeners::start().await;
    let (_browser, page) = open(&server).await;
    page.sees("Nothing is indexed yet.").await;
    page.sees("Questions cannot be answered").await;
    assert!(page.names("link").await.contains(&"Add a folder".to_owned()));
    looks_right(&page, "nothing-yet").await;
    ask(&page, "Where?").await;
    page.wait("document.querySelector('.composer [role=alert]')", "what is wrong").await;
    assert_eq!(
        page.eval::<String>("document.querySelector('#question').value").await,
        "Where?",
        "the question is kept"
    );
    looks_right(&page, "refused").await;
    page.reload().await;
    page.wait("document.querySelector('#question')?.value === 'Where?'", "the question").await;
    let faults = page.faults().await;
    assert!(faults.iter().all(|fault| fault.contains("status of 503")), "{faults:?}");
}
