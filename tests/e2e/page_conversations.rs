//! The conversations on the page, in a real browser: listed, searched, continued, exported and deleted.

use std::{fs, os::unix::fs::PermissionsExt};

use codeinfo_test_support::wire::get;
use serde_json::json;
use uuid::Uuid;

use crate::{
    listeners::Listeners,
    page_ask::{ask, ended},
    page_browser::{looks_right, open},
    support::{
        browser::Page,
        model::{Model, Reply as Said, says},
        process::fresh,
    },
};

fn answers(texts: &[&str]) -> Vec<Said> {
    texts.iter().map(|text| Said::Items(vec![says(text)])).collect()
}

const TITLES: &str = "ul[aria-label=Conversations] .title";

/// Waits until these conversations are listed.
async fn listed(page: &Page, titles: &[&str]) {
    let all = format!("[...document.querySelectorAll('{TITLES}')].map(one => one.innerText)");
    let wanted = json!(titles);
    page.wait(&format!("JSON.stringify({all}) === JSON.stringify({wanted})"), "the list").await;
}

#[tokio::test]
async fn conversations_are_listed_searched_continued_and_deleted() {
    let script = ["Äpfel are sorted by weight.", "Pears are **not** sorted.", "By hand."];
    let model = Model::replay(answers(&script)).await;
    let server = Listeners::with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open(&server).await;
    page.sees("None yet. Ask a question.").await;
    ask(&page, "How are apples sorted?").await;
    ended(&page, 1).await;
    page.click_text("link", "New question").await;
    page.sees("Ask about your code").await;
    ask(&page, "And pears?").await;
    ended(&page, 1).await;
    let both = ["And pears?", "How are apples sorted?"];
    listed(&page, &both).await;
    // The search is that of the server: it finds words of answers, and says where.
    page.fill("#find-conversation", "weight").await;
    listed(&page, &both[1..]).await;
    assert_eq!(page.text(".entry .excerpt").await, "Äpfel are sorted by weight.");
    page.fill("#find-conversation", "plums").await;
    listed(&page, &[]).await;
    page.sees("No conversation has these words.").await;
    page.press("Control+a").await;
    page.press("Delete").await;
    listed(&page, &both).await;
    page.click_text("link", "How are apples sorted?").await;
    page.wait("document.querySelector('.question')?.innerText === 'How are apples sorted?'", "it")
        .await;
    ask(&page, "By whom?").await;
    ended(&page, 2).await;
    assert!(model.latest().contains("Äpfel are sorted"), "{}", model.latest());
    listed(&page, &["How are apples sorted?", "And pears?"]).await;
    looks_right(&page, "conversation").await;
    // Nothing is deleted without a second word.
    page.click_text("button", "Delete").await;
    page.sees("Delete this conversation?").await;
    looks_right(&page, "delete").await;
    page.press("Escape").await;
    page.wait("!document.querySelector('dialog[open]')", "no dialog").await;
    assert_eq!(page.texts(".question").await.len(), 2);
    page.click_text("button", "Delete").await;
    page.wait("document.querySelector('dialog[open]')", "the dialog").await;
    page.click("dialog .danger").await;
    page.sees("Ask about your code").await;
    listed(&page, &["And pears?"]).await;
    let kept = get(server.main, "/conversations").await.json();
    assert_eq!(kept["conversations"].as_array().unwrap().len(), 1, "{kept}");
    page.is_faultless().await;
    // What fails is said where it was asked for.
    page.click_text("link", "And pears?").await;
    page.sees("Export JSON").await;
    page.eval::<()>("void (globalThis.fetched = fetch, globalThis.fetch = () => Promise.reject())")
        .await;
    page.click_text("button", "Export JSON").await;
    page.wait("document.querySelector('#main [role=alert]')", "what is wrong").await;
    page.click_text("button", "Delete all").await;
    page.sees("Delete all conversations?").await;
    looks_right(&page, "delete-all").await;
    page.click("dialog .danger").await;
    page.wait("document.querySelector('#side [role=alert]')", "what is wrong").await;
    page.eval::<()>("void (globalThis.fetch = fetched)").await;
    page.click_text("button", "Delete all").await;
    page.wait("document.querySelector('dialog[open]')", "the dialog").await;
    page.click("dialog .danger").await;
    listed(&page, &[]).await;
    let kept = get(server.main, "/conversations").await.json();
    assert_eq!(kept["conversations"], json!([]));
    page.is_faultless().await;
}

#[tokio::test]
async fn a_conversation_that_is_gone_says_the_next_step() {
    let server = Listeners::start().await;
    let (_browser, page) = open(&server).await;
    let id = "00000000-0000-4000-8000-000000000000";
    page.goto(&format!("http://{}/#/c/{id}", server.main)).await;
    page.sees("This cannot be shown").await;
    page.sees("Ask a question").await;
    looks_right(&page, "no-conversation").await;
    page.goto(&format!("http://{}/#/nowhere", server.main)).await;
    page.sees("The page has no address “/nowhere”.").await;
    // What is typed without the `#` is shown where there is such a view, and else said.
    page.goto(&format!("http://{}/not/here?q=1", server.main)).await;
    page.sees("The page has no address “/not/here?q=1”.").await;
    looks_right(&page, "nowhere").await;
    page.click_text("link", "Ask a question").await;
    page.sees("Ask about your code").await;
    assert_eq!(page.url().await, format!("http://{}/#/", server.main));
    page.goto(&format!("http://{}/search", server.main)).await;
    page.sees("Write what to search for").await;
    assert_eq!(page.url().await, format!("http://{}/#/search", server.main));
    let faults = page.faults().await;
    let is_expected =
        |fault: &String| fault.contains("status of 404") || fault.contains("ApiError");
    assert!(faults.iter().all(is_expected), "{faults:?}");
}

#[tokio::test]
async fn where_none_are_kept_the_page_says_so() {
    let model = Model::replay(answers(&["One."])).await;
    let server = Listeners::with_codex(&model, &[("CONVERSATIONS_KEPT", "0")]).await;
    server.ingest_demo().await;
    let (_browser, page) = open(&server).await;
    page.sees("The server keeps none on disk.").await;
    ask(&page, "One?").await;
    ended(&page, 1).await;
    listed(&page, &["One?"]).await;
    page.is_faultless().await;
}

#[tokio::test]
async fn conversations_beyond_the_first_hundred_are_listed_when_they_are_asked_for() {
    let data = fresh();
    let folder = data.path().join("conversations");
    fs::create_dir(&folder).unwrap();
    for number in 1..=230_u32 {
        let (id, turn) = (Uuid::from_u128(number.into()), Uuid::from_u128((1000 + number).into()));
        let about = json!({
            "id": id, "title": format!("Question {number}"), "createdAt": number, "updatedAt": number, "turns": [turn],
        });
        let turn = json!({
            "id": turn, "question": format!("Question {number}"), "askedAt": number, "endedAt": number,
            "state": "answered", "modelId": "mock-model", "frames": [],
        });
        let file = folder.join(format!("{id}.jsonl"));
        fs::write(&file, format!("{about}\n{turn}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let path = data.path().display().to_string();
    let settings = [("DATA_DIR", path.as_str()), ("CONVERSATIONS_KEPT", "300")];
    let server = Listeners::start_with(&settings).await;
    let (_browser, page) = open(&server).await;
    let listed = format!("document.querySelectorAll('{TITLES}').length");
    page.wait(&format!("{listed} === 100"), "the first").await;
    looks_right(&page, "conversations-more").await;
    page.click_text("button", "Show more").await;
    page.wait(&format!("{listed} === 200"), "more").await;
    page.wait("document.activeElement.innerText.startsWith('Question 130')", "the focus").await;
    // What is read by the clock lists as many.
    page.eval::<()>("void document.dispatchEvent(new Event('visibilitychange'))").await;
    page.click_text("button", "Show more").await;
    page.wait(&format!("{listed} === 230"), "all").await;
    assert!(!page.names("button").await.contains(&"Show more".to_owned()));
    page.fill("#find-conversation", "question").await;
    page.wait(&format!("{listed} === 100"), "the first that were found").await;
    page.sees("Show more").await;
    page.is_faultless().await;
}
