//! Questions that are on their way to the server while one looks at something else, in a real browser.

use codeinfo_test_support::wire::send_get;

use crate::{
    listeners::InProcessServer,
    page_ask::{ask_question, wait_for_turns},
    page_browser::open_page,
    support::{
        browser::BrowserPage,
        model::{FakeModel, ModelReply, message_item},
    },
};

/// Delays questions until `send()`, and counts them and the running timers.
const HOLD: &str = "void (() => {
    const { fetch, setInterval, clearInterval } = globalThis;
    globalThis.posts = 0;
    globalThis.clocks = new Set();
    globalThis.fetch = async (path, options) => {
        if (path === '/turns') {
            posts += 1;
            await new Promise(done => { globalThis.send = done; });
        }
        return fetch(path, options);
    };
    globalThis.setInterval = (...all) => {
        const clock = setInterval(...all);
        clocks.add(clock);
        return clock;
    };
    globalThis.clearInterval = clock => {
        clocks.delete(clock);
        clearInterval(clock);
    };
})()";

/// Goes to the search and waits until it is open.
async fn go_to_search(page: &BrowserPage) {
    page.click_text("link", "Search").await;
    page.wait_for("document.title.startsWith('Search')", "the search").await;
}

/// Waits until the left column shows these numbers of questions for its conversations.
async fn wait_for_counts(page: &BrowserPage, wanted: &[&str]) {
    page.retry_until("the list", async || {
        let all = page.read_texts("ul[aria-label=Conversations] .about").await;
        let is_same = all.len() == wanted.len()
            && all.iter().zip(wanted).all(|(one, wanted)| one.contains(wanted));
        if is_same { Ok(()) } else { Err(format!("{all:?}")) }
    })
    .await;
}

#[tokio::test]
async fn a_pending_question_is_not_asked_twice_and_changes_no_view() {
    let script = ["One.", "Two.", "Three."].map(|text| ModelReply::Items(vec![message_item(text)]));
    let model = FakeModel::replay(script).await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open_page(&server).await;
    page.wait_for_text("Ask about your code").await;
    page.eval::<()>(HOLD).await;
    // A reader who comes back finds the pending question, and is led to its answer.
    ask_question(&page, "One?").await;
    page.wait_for("posts === 1", "the question").await;
    go_to_search(&page).await;
    page.click_text("link", "New question").await;
    let button = "document.querySelector('.composer button[type=submit]')";
    page.wait_for(&format!("{button}?.disabled"), "a button that waits").await;
    assert_eq!(page.eval::<String>("document.querySelector('#question').value").await, "One?");
    page.click("#question").await;
    page.press_key("Enter").await;
    page.eval::<()>("send()").await;
    wait_for_turns(&page, 1).await;
    assert_eq!(page.eval::<u32>("posts").await, 1);
    // A reader who is elsewhere stays there.
    page.click_text("link", "New question").await;
    ask_question(&page, "Two?").await;
    page.wait_for("posts === 2", "the question").await;
    go_to_search(&page).await;
    page.eval::<()>("send()").await;
    wait_for_counts(&page, &["1 question", "1 question"]).await;
    assert!(page.url().await.contains("#/search"), "{}", page.url().await);
    page.click_text("link", "New question").await;
    page.wait_for("document.querySelector('#question')?.value === ''", "an empty box").await;
    // A follow-up leaves no timer running.
    page.click("ul[aria-label=Conversations] a").await;
    wait_for_turns(&page, 1).await;
    page.wait_for_text("1 question · begun").await;
    page.eval::<()>("clocks.clear()").await;
    ask_question(&page, "Three?").await;
    page.wait_for("posts === 3", "the question").await;
    go_to_search(&page).await;
    page.eval::<()>("send()").await;
    wait_for_counts(&page, &["2 questions", "1 question"]).await;
    assert_eq!(page.eval::<usize>("clocks.size").await, 0);
    page.go_back().await;
    wait_for_turns(&page, 2).await;
    let kept = send_get(server.main, "/conversations").await.json();
    assert_eq!(kept["conversations"].as_array().unwrap().len(), 2, "{kept}");
    page.assert_faultless().await;
}

#[tokio::test]
async fn text_that_is_typed_while_a_question_is_pending_stays() {
    let script = ["One.", "Two."].map(|text| ModelReply::Items(vec![message_item(text)]));
    let model = FakeModel::replay(script).await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open_page(&server).await;
    ask_question(&page, "One?").await;
    wait_for_turns(&page, 1).await;
    page.eval::<()>(HOLD).await;
    ask_question(&page, "Two?").await;
    page.wait_for("posts === 1", "the question").await;
    page.fill_field("#question", "Three?").await;
    page.eval::<()>("send()").await;
    wait_for_turns(&page, 2).await;
    // Their number appears at once.
    page.wait_for_text("2 questions · begun").await;
    for _ in 0..2 {
        page.wait_for("document.querySelector('#question')?.value === 'Three?'", "the draft").await;
        page.reload().await;
    }
    page.assert_faultless().await;
}
