//! Access to the page's server from a browser: with a token where one is needed, and not from pages of other sites.

use std::fs;

use codeinfo_core::task::Tasks;
use codeinfo_test_support::wire::send_get;
use serde_json::{Value, json};

use crate::{
    listeners::InProcessServer,
    page_ask::{ask_question, wait_for_turns},
    page_browser::{check_appearance, open_page, serve_files},
    support::{
        browser::{BrowserPage, TestBrowser},
        model::{FakeModel, ModelReply, message_item},
    },
};

/// Gives the page the key of the owner, once it asks for a token.
pub(crate) async fn enter_key(page: &BrowserPage, server: &InProcessServer) {
    let key = fs::read_to_string(server.folder.path().join("data/owner.key")).unwrap();
    page.click("#token").await;
    page.type_text(key.trim()).await;
    page.press_key("Enter").await;
    page.wait_for("!document.querySelector('dialog[open]')", "no dialog").await;
}

#[tokio::test]
async fn the_page_asks_for_a_needed_token_and_keeps_it_in_one_tab() {
    let model = FakeModel::replay([ModelReply::Items(vec![message_item("Here.")])]).await;
    let server = InProcessServer::start_with_codex(&model, &[("AUTH", "required")]).await;
    let (browser, page) = open_page(&server).await;
    page.wait_for_text("A token is needed").await;
    assert_eq!(
        page.list_names_of_role("dialog").await,
        ["A token is needed"],
        "one for all requests"
    );
    check_appearance(&page, "token").await;
    page.click("#token").await;
    page.type_text("wrong").await;
    page.press_key("Enter").await;
    page.wait_for("document.querySelector('#token')?.value === ''", "the next question for it")
        .await;
    enter_key(&page, &server).await;
    page.wait_for_text("None yet. Ask a question.").await;
    page.take_faults().await;
    page.reload().await;
    page.wait_for_text("None yet. Ask a question.").await;
    assert_eq!(page.list_names_of_role("dialog").await, <[&str; 0]>::default());
    // The stream of a turn has it as well. Nothing is indexed, and so the model gets no request.
    page.assert_faultless().await;
    let other = browser.open_page(&page.url().await).await;
    other.wait_for_text("A token is needed").await;
}

#[tokio::test]
async fn a_turn_streams_to_a_client_with_a_token() {
    let model = FakeModel::replay([ModelReply::Items(vec![message_item("Here.")])]).await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open_page(&server).await;
    let key = fs::read_to_string(server.folder.path().join("data/owner.key")).unwrap();
    let keep = format!("void sessionStorage.setItem('codeinfo.token', {})", json!(key.trim()));
    page.eval::<()>(&keep).await;
    page.reload().await;
    ask_question(&page, "Where?").await;
    wait_for_turns(&page, 1).await;
    assert_eq!(page.read_text(".answer").await.trim(), "Here.");
    page.assert_faultless().await;
}

const FOREIGN: &str = r#"<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Foreign</title></head>
<body>
<iframe id="frame" src="TARGET/"></iframe>
<iframe name="sink"></iframe>
<form id="form" method="post" enctype="text/plain" target="sink" action="TARGET/turns">
<input name='{"question":"From elsewhere?","x":"' value='"}'></form>
<img id="image" src="TARGET/page/icon.svg">
<script src="TARGET/page/h.js" type="module"></script>
<script src="TARGET/conversations"></script>
</body>
</html>"#;

/// Requests that a page can try without permission.
const TRIES: &str = r"(async () => {
    const to = 'TARGET', all = {};
    const json = { 'content-type': 'application/json' };
    const question = JSON.stringify({ question: 'From elsewhere?' });
    const tries = {
        read: () => fetch(to + '/conversations'),
        plain: () => fetch(to + '/turns', { method: 'POST', body: question }),
        json: () => fetch(to + '/turns', { method: 'POST', headers: json, body: question }),
        remove: () => fetch(to + '/conversations', { method: 'DELETE', headers: json }),
        secret: () => fetch(to + '/settings', { credentials: 'include' }),
    };
    for (const [name, one] of Object.entries(tries)) {
        all[name] = await one().then(reply => `read ${reply.status}`, () => 'nothing');
    }
    const blind = { mode: 'no-cors', method: 'POST', body: question };
    await fetch(to + '/turns', blind).catch(() => {});
    navigator.sendBeacon(to + '/turns', new Blob([question], { type: 'text/plain' }));
    document.querySelector('#form').submit();
    await new Promise(done => setTimeout(done, 300));
    all.image = document.querySelector('#image').naturalWidth;
    let frame = 'blank';
    try { frame = document.querySelector('#frame').contentDocument.body.innerText; } catch { frame = 'closed'; }
    all.frame = frame;
    return all;
})()";

#[tokio::test]
async fn a_page_of_another_site_reads_nothing_and_causes_nothing() {
    let model = FakeModel::replay([ModelReply::Items(vec![message_item("Here.")])]).await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let target = format!("http://{}", server.main);
    let tasks = Tasks::default();
    let foreign = FOREIGN.replace("TARGET", &target);
    let foreign = serve_files(&tasks, &[("/", "text/html", foreign.as_str())], "").await;
    let browser = TestBrowser::start().await;
    let page = browser.open_page(&format!("http://{foreign}/")).await;
    let seen: Value = page.eval(&TRIES.replace("TARGET", &target)).await;
    assert_eq!(
        seen,
        json!({
            "read": "nothing", "plain": "nothing", "json": "nothing", "remove": "nothing",
            "secret": "nothing", "image": 0, "frame": "closed",
        })
    );
    page.take_faults().await;
    let requests = page.requests().into_iter().filter(|one| one.url.starts_with(&target));
    let answers: Vec<_> = requests.map(|one| (one.status, one.url)).collect();
    assert!(answers.len() > 8, "{answers:?}");
    // 0: refused by the browser itself, which asked for leave first or does not wait.
    assert!(answers.iter().all(|(status, _)| matches!(status, 0 | 403)), "{answers:?}");
    let conversations = send_get(server.main, "/conversations").await.json();
    assert_eq!(conversations["conversations"], json!([]), "nothing was asked");
    assert!(model.requests().is_empty());
    tasks.stop_token().cancel();
}
