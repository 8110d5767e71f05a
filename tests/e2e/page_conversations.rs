//! The conversations on the page, in a real browser: listed, searched, continued, exported and deleted.

use std::{fs, os::unix::fs::PermissionsExt};

use codeinfo_test_support::wire::send_get;
use serde_json::json;
use uuid::Uuid;

use crate::{
    listeners::InProcessServer,
    page_ask::{ask_question, wait_for_turns},
    page_browser::{check_appearance, open_page},
    support::{
        browser::BrowserPage,
        model::{FakeModel, answer_replies},
        process::create_scratch_folder,
    },
};

const TITLES: &str = "ul[aria-label=Conversations] .title";

/// Waits until these conversations are listed.
async fn wait_for_titles(page: &BrowserPage, titles: &[&str]) {
    let all = format!("[...document.querySelectorAll('{TITLES}')].map(one => one.innerText)");
    let wanted = json!(titles);
    page.wait_for(&format!("JSON.stringify({all}) === JSON.stringify({wanted})"), "the list").await;
}

#[tokio::test]
async fn conversations_are_listed_searched_continued_and_deleted() {
    let script = ["Äpfel are sorted by weight.", "Pears are **not** sorted.", "By hand."];
    let model = FakeModel::replay(answer_replies(&script)).await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open_page(&server).await;
    page.wait_for_text("None yet. Ask a question.").await;
    ask_question(&page, "How are apples sorted?").await;
    wait_for_turns(&page, 1).await;
    page.click_text("link", "New question").await;
    page.wait_for_text("Ask about your code").await;
    ask_question(&page, "And pears?").await;
    wait_for_turns(&page, 1).await;
    let both = ["And pears?", "How are apples sorted?"];
    wait_for_titles(&page, &both).await;
    // The search is that of the server: it finds words of answers, and shows where.
    page.fill_field("#find-conversation", "weight").await;
    wait_for_titles(&page, &both[1..]).await;
    assert_eq!(page.read_text(".entry .excerpt").await, "Äpfel are sorted by weight.");
    page.fill_field("#find-conversation", "plums").await;
    wait_for_titles(&page, &[]).await;
    page.wait_for_text("No conversation has these words.").await;
    page.press_key("Control+a").await;
    page.press_key("Delete").await;
    wait_for_titles(&page, &both).await;
    page.click_text("link", "How are apples sorted?").await;
    page.wait_for(
        "document.querySelector('.question')?.innerText === 'How are apples sorted?'",
        "it",
    )
    .await;
    ask_question(&page, "By whom?").await;
    wait_for_turns(&page, 2).await;
    let latest = model.latest_request_text();
    assert!(latest.contains("Äpfel are sorted"), "{latest}");
    wait_for_titles(&page, &["How are apples sorted?", "And pears?"]).await;
    check_appearance(&page, "conversation").await;
    // Nothing is deleted without a second word.
    page.click_text("button", "Delete").await;
    page.wait_for_text("Delete this conversation?").await;
    check_appearance(&page, "delete").await;
    page.press_key("Escape").await;
    page.wait_for("!document.querySelector('dialog[open]')", "no dialog").await;
    assert_eq!(page.read_texts(".question").await.len(), 2);
    page.click_text("button", "Delete").await;
    page.wait_for("document.querySelector('dialog[open]')", "the dialog").await;
    page.click("dialog .danger").await;
    page.wait_for_text("Ask about your code").await;
    wait_for_titles(&page, &["And pears?"]).await;
    let kept = send_get(server.main, "/conversations").await.json();
    assert_eq!(kept["conversations"].as_array().unwrap().len(), 1, "{kept}");
    page.assert_faultless().await;
    // A failure appears where it was caused.
    page.click_text("link", "And pears?").await;
    page.wait_for_text("Export JSON").await;
    page.eval::<()>("void (globalThis.fetched = fetch, globalThis.fetch = () => Promise.reject())")
        .await;
    page.click_text("button", "Export JSON").await;
    page.wait_for("document.querySelector('#main [role=alert]')", "what is wrong").await;
    page.click_text("button", "Delete all").await;
    page.wait_for_text("Delete all conversations?").await;
    check_appearance(&page, "delete-all").await;
    page.click("dialog .danger").await;
    page.wait_for("document.querySelector('#side [role=alert]')", "what is wrong").await;
    page.eval::<()>("void (globalThis.fetch = fetched)").await;
    page.click_text("button", "Delete all").await;
    page.wait_for("document.querySelector('dialog[open]')", "the dialog").await;
    page.click("dialog .danger").await;
    wait_for_titles(&page, &[]).await;
    let kept = send_get(server.main, "/conversations").await.json();
    assert_eq!(kept["conversations"], json!([]));
    page.assert_faultless().await;
}

#[tokio::test]
async fn a_conversation_that_is_gone_says_the_next_step() {
    let server = InProcessServer::start().await;
    let (_browser, page) = open_page(&server).await;
    let id = "00000000-0000-4000-8000-000000000000";
    page.goto(&format!("http://{}/#/c/{id}", server.main)).await;
    page.wait_for_text("This cannot be shown").await;
    page.wait_for_text("Ask a question").await;
    check_appearance(&page, "no-conversation").await;
    page.goto(&format!("http://{}/#/nowhere", server.main)).await;
    page.wait_for_text("The page has no address “/nowhere”.").await;
    // An address without the `#` opens the view if there is one, and else shows an error.
    page.goto(&format!("http://{}/not/here?q=1", server.main)).await;
    page.wait_for_text("The page has no address “/not/here?q=1”.").await;
    check_appearance(&page, "nowhere").await;
    page.click_text("link", "Ask a question").await;
    page.wait_for_text("Ask about your code").await;
    assert_eq!(page.url().await, format!("http://{}/#/", server.main));
    page.goto(&format!("http://{}/search", server.main)).await;
    page.wait_for_text("Write what to search for").await;
    assert_eq!(page.url().await, format!("http://{}/#/search", server.main));
    let faults = page.take_faults().await;
    let is_expected =
        |fault: &String| fault.contains("status of 404") || fault.contains("ApiError");
    assert!(faults.iter().all(is_expected), "{faults:?}");
}

#[tokio::test]
async fn the_page_says_when_conversations_are_not_stored() {
    let model = FakeModel::replay(answer_replies(&["One."])).await;
    let server = InProcessServer::start_with_codex(&model, &[("CONVERSATIONS_KEPT", "0")]).await;
    server.ingest_demo().await;
    let (_browser, page) = open_page(&server).await;
    page.wait_for_text("The server keeps none on disk.").await;
    ask_question(&page, "One?").await;
    wait_for_turns(&page, 1).await;
    wait_for_titles(&page, &["One?"]).await;
    page.assert_faultless().await;
}

#[tokio::test]
async fn conversations_beyond_the_first_hundred_are_listed_when_they_are_asked_for() {
    let data = create_scratch_folder();
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
    let server = InProcessServer::start_with(&settings).await;
    let (_browser, page) = open_page(&server).await;
    let listed = format!("document.querySelectorAll('{TITLES}').length");
    page.wait_for(&format!("{listed} === 100"), "the first").await;
    check_appearance(&page, "conversations-more").await;
    page.click_text("button", "Show more").await;
    page.wait_for(&format!("{listed} === 200"), "more").await;
    page.wait_for("document.activeElement.innerText.startsWith('Question 130')", "the focus").await;
    // The periodic refresh lists the same number.
    page.eval::<()>("void document.dispatchEvent(new Event('visibilitychange'))").await;
    page.click_text("button", "Show more").await;
    page.wait_for(&format!("{listed} === 230"), "all").await;
    assert!(!page.list_names_of_role("button").await.contains(&"Show more".to_owned()));
    page.fill_field("#find-conversation", "question").await;
    page.wait_for(&format!("{listed} === 100"), "the first that were found").await;
    page.wait_for_text("Show more").await;
    page.assert_faultless().await;
}
