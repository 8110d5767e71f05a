//! The page by the keyboard alone, in a real browser.

use crate::{
    listeners::Listeners,
    page_ask::ended,
    page_browser::{looks_right, open},
    support::{
        browser::Page,
        model::{Model, Reply as Said, says, searches},
    },
};

/// What has the focus: its id, else its text.
async fn focused(page: &Page) -> String {
    page.eval("document.activeElement.id || document.activeElement.innerText").await
}

async fn focuses(page: &Page, what: &str) {
    page.wait(
        &format!(
            "(document.activeElement.id || document.activeElement.innerText).startsWith('{what}')"
        ),
        what,
    )
    .await;
}

/// Goes on to the next item, which has a ring around it.
async fn next(page: &Page, what: &str) {
    page.press("j").await;
    focuses(page, what).await;
    let ring = "(style => `${style.outlineStyle} ${style.outlineWidth}`)(getComputedStyle(document.activeElement))";
    assert_eq!(page.eval::<String>(ring).await, "solid 2px", "{what}");
}

#[tokio::test]
async fn a_question_is_asked_and_its_evidence_walked_by_the_keyboard_alone() {
    let model = Model::replay([
        Said::Items(vec![searches("parse_config")]),
        Said::Items(vec![says("It is here (src/parse.rs:1-4) and there (README.md:1-3).")]),
    ])
    .await;
    let server = Listeners::with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open(&server).await;
    focuses(&page, "question").await;
    // A key that does something elsewhere is a letter in a field.
    page.type_text("j/?o").await;
    assert_eq!(page.eval::<String>("document.querySelector('#question').value").await, "j/?o");
    page.press("Escape").await;
    assert_ne!(focused(&page).await, "question");
    page.press("/").await;
    focuses(&page, "question").await;
    page.type_text("Where is it").await;
    page.press("Shift+Enter").await;
    page.type_text("?").await;
    page.press("Enter").await;
    ended(&page, 1).await;
    assert_eq!(page.text(".question").await, "Where is it\n?");
    page.press("Escape").await;
    next(&page, "src/parse.rs:1-4").await;
    next(&page, "README.md:1-3").await;
    page.press("k").await;
    focuses(&page, "src/parse.rs:1-4").await;
    page.press("j").await;
    next(&page, "1 step").await;
    page.press("o").await;
    page.wait("document.querySelector('.steps').open", "the steps").await;
    next(&page, "Searched").await;
    page.press("o").await;
    page.wait("document.querySelector('.step details').open", "the step").await;
    page.is_faultless().await;
}

#[tokio::test]
async fn the_keys_are_listed_and_the_start_of_the_page_can_be_skipped() {
    let server = Listeners::start().await;
    let (_browser, page) = open(&server).await;
    page.sees("Nothing is indexed yet.").await;
    page.press("Escape").await;
    page.press("?").await;
    page.sees("Next and previous result").await;
    assert_eq!(page.names("dialog").await, ["Keys"]);
    looks_right(&page, "keys").await;
    // Keys mean nothing behind a dialog.
    page.press("/").await;
    assert_eq!(page.names("dialog").await, ["Keys"]);
    page.press("Escape").await;
    page.wait("!document.querySelector('dialog[open]')", "no dialog").await;
    page.click("header .name").await;
    page.press("Shift+Tab").await;
    focuses(&page, "skip").await;
    page.press("Enter").await;
    focuses(&page, "main").await;
    // Each view is reached through its link, and back.
    for name in ["Search", "Repositories", "Map", "Status", "Ask"] {
        page.click_text("link", name).await;
        page.wait(&format!("document.title.startsWith('{name}')"), name).await;
        let marked = "document.querySelector('#pages [aria-current=page]').innerText";
        assert_eq!(page.eval::<String>(marked).await, name);
    }
    page.back().await;
    page.wait("document.title.startsWith('Status')", "the earlier view").await;
    for landmark in ["banner", "main"] {
        assert_eq!(page.names(landmark).await.len(), 1, "{landmark}");
    }
    let named = ["Pages", "Conversations and repositories"];
    assert_eq!(page.names("navigation").await, named);
    page.is_faultless().await;
}

#[tokio::test]
async fn on_a_phone_the_left_column_folds_into_a_menu() {
    let server = Listeners::start().await;
    server.ingest_demo().await;
    let (_browser, page) = open(&server).await;
    page.size(360, 800).await;
    let is_seen = "document.querySelector('#side').checkVisibility()";
    page.wait(&format!("!{is_seen}"), "no left column").await;
    page.click_text("button", "Menu").await;
    page.wait(is_seen, "the left column").await;
    assert_eq!(page.sticks_out().await, <[&str; 0]>::default());
    assert_eq!(page.axe().await, <[&str; 0]>::default());
    page.screenshot("menu-narrow").await;
    page.click_text("link", "demo").await;
    page.wait(&format!("!{is_seen}"), "no left column").await;
    page.sees("Languages").await;
    page.click_text("button", "Menu").await;
    page.wait(is_seen, "the left column").await;
    page.press("Escape").await;
    page.wait(&format!("!{is_seen}"), "no left column").await;
    focuses(&page, "menu").await;
    page.is_faultless().await;
}

#[tokio::test]
async fn a_slash_leads_from_every_view_to_the_question_or_to_the_search() {
    let model = Model::replay([Said::Items(vec![says("It is here (src/parse.rs:1-4).")])]).await;
    let server = Listeners::with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open(&server).await;
    for view in ["repositories", "repositories/demo", "map", "status", "source?path=src/parse.rs"] {
        page.eval::<()>(&format!("void (location.hash = '#/{view}')")).await;
        page.wait("!document.title.startsWith('Search')", view).await;
        page.wait("document.activeElement.matches('h1')", view).await;
        page.press("/").await;
        page.wait("document.title.startsWith('Search')", view).await;
        focuses(&page, "search").await;
    }
    page.click_text("link", "Ask").await;
    focuses(&page, "question").await;
    page.type_text("Where?").await;
    page.press("Enter").await;
    ended(&page, 1).await;
    // The source covers the box of the question where the window is not wide.
    page.size(1000, 800).await;
    page.press("Escape").await;
    page.press("j").await;
    page.press("o").await;
    page.wait("document.querySelector('#source .line')", "the lines").await;
    page.wait("!document.querySelector('#question').checkVisibility()", "the source alone").await;
    page.press("/").await;
    page.wait("document.querySelector('#question').checkVisibility()", "the box").await;
    focuses(&page, "question").await;
    page.is_faultless().await;
}

#[tokio::test]
async fn a_key_leads_from_a_citation_into_its_lines_and_another_back() {
    let model = Model::replay([Said::Items(vec![says("It is here (src/parse.rs:2-3).")])]).await;
    let server = Listeners::with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open(&server).await;
    focuses(&page, "question").await;
    page.type_text("Where?").await;
    page.press("Enter").await;
    ended(&page, 1).await;
    page.press("Escape").await;
    next(&page, "src/parse.rs:2-3").await;
    page.press("o").await;
    page.wait("document.querySelector('#source .line[aria-current=true]')", "the lines").await;
    focuses(&page, "src/parse.rs:2-3").await;
    page.press("s").await;
    page.wait("document.activeElement.matches('#source .lines')", "the focus").await;
    page.press("ArrowDown").await;
    page.wait("location.hash.endsWith('parse.rs:4')", "the next line").await;
    page.press("Escape").await;
    page.wait("!document.querySelector('#source').checkVisibility()", "no source").await;
    focuses(&page, "src/parse.rs:2-3").await;
    page.is_faultless().await;
}

#[tokio::test]
async fn a_dialog_closes_with_the_view_that_it_is_about() {
    let server = Listeners::start().await;
    let (_browser, page) = open(&server).await;
    page.click_text("link", "Status").await;
    page.sees("Embedder").await;
    page.press("?").await;
    page.wait("document.querySelector('dialog[open]')", "the keys").await;
    page.back().await;
    page.wait("!document.querySelector('dialog')", "no dialog").await;
    page.sees("Ask about your code").await;
    page.is_faultless().await;
}
