//! Questions that are on their way to the server while one looks at something else, in a real browser.

use codeinfo_test_support::wire::get;

use crate::{
    listeners::Listeners,
    page_ask::{ask, ended},
    page_browser::open,
    support::{
        browser::Page,
        model::{Model, Reply as Said, says},
    },
};

/// Holds back what is asked until `send()`, and counts it and the clocks that run.
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

/// Goes to the search and waits until it is there.
async fn leave(page: &Page) {
    page.click_text("link", "Search").await;
    page.wait("document.title.startsWith('Search')", "the search").await;
}

/// Waits until the left column says how many questions its conversations have.
async fn listed(page: &Page, wanted: &[&str]) {
    page.until("the list", async || {
        let all = page.texts("ul[aria-label=Conversations] .about").await;
        let is_same = all.len() == wanted.len()
            && all.iter().zip(wanted).all(|(one, wanted)| one.contains(wanted));
        if is_same { Ok(()) } else { Err(format!("{all:?}")) }
    })
    .await;
}

#[tokio::test]
async fn a_question_on_its_way_is_not_asked_twice_and_calls_nobody_back() {
    let script = ["One.", "Two.", "Three."].map(|text| Said::Items(vec![says(text)]));
    let model = Model::replay(script).await;
    let server = Listeners::with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open(&server).await;
    page.sees("Ask about your code").await;
    page.eval::<()>(HOLD).await;
    // Who comes back finds the question on its way, and is led to its answer.
    ask(&page, "One?").await;
    page.wait("posts === 1", "the question").await;
    leave(&page).await;
    page.click_text("link", "New question").await;
    let button = "document.querySelector('.composer button[type=submit]')";
    page.wait(&format!("{button}?.disabled"), "a button that waits").await;
    assert_eq!(page.eval::<String>("document.querySelector('#question').value").await, "One?");
    page.click("#question").await;
    page.press("Enter").await;
    page.eval::<()>("send()").await;
    ended(&page, 1).await;
    assert_eq!(page.eval::<u32>("posts").await, 1);
    // Who is elsewhere stays there.
    page.click_text("link", "New question").await;
    ask(&page, "Two?").await;
    page.wait("posts === 2", "the question").await;
    leave(&page).await;
    page.eval::<()>("send()").await;
    listed(&page, &["1 question", "1 question"]).await;
    assert!(page.url().await.contains("#/search"), "{}", page.url().await);
    page.click_text("link", "New question").await;
    page.wait("document.querySelector('#question')?.value === ''", "an empty box").await;
    // What follows in a conversation leaves nothing behind that goes on.
    page.click("ul[aria-label=Conversations] a").await;
    ended(&page, 1).await;
    page.sees("1 question · begun").await;
    page.eval::<()>("clocks.clear()").await;
    ask(&page, "Three?").await;
    page.wait("posts === 3", "the question").await;
    leave(&page).await;
    page.eval::<()>("send()").await;
    listed(&page, &["2 questions", "1 question"]).await;
    assert_eq!(page.eval::<usize>("clocks.size").await, 0);
    page.back().await;
    ended(&page, 2).await;
    let kept = get(server.main, "/conversations").await.json();
    assert_eq!(kept["conversations"].as_array().unwrap().len(), 2, "{kept}");
    page.is_faultless().await;
}

#[tokio::test]
async fn what_is_written_while_a_question_is_on_its_way_stays() {
    let script = ["One.", "Two."].map(|text| Said::Items(vec![says(text)]));
    let model = Model::replay(script).await;
    let server = Listeners::with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open(&server).await;
    ask(&page, "One?").await;
    ended(&page, 1).await;
    page.eval::<()>(HOLD).await;
    ask(&page, "Two?").await;
    page.wait("posts === 1", "the question").await;
    page.fill("#question", "Three?").await;
    page.eval::<()>("send()").await;
    ended(&page, 2).await;
    // How many there are is said at once.
    page.sees("2 questions · begun").await;
    for _ in 0..2 {
        page.wait("document.querySelector('#question')?.value === 'Three?'", "the draft").await;
        page.reload().await;
    }
    page.is_faultless().await;
}
