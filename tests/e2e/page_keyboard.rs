//! The page by the keyboard alone, in a real browser.

use crate::{
    listeners::InProcessServer,
    page_ask::wait_for_turns,
    page_browser::{check_appearance, open_page},
    support::{
        browser::BrowserPage,
        model::{FakeModel, ModelReply, message_item, search_item},
    },
};

/// Returns the id of the element with the focus, else its text.
async fn read_focus(page: &BrowserPage) -> String {
    page.eval("document.activeElement.id || document.activeElement.innerText").await
}

async fn wait_for_focus(page: &BrowserPage, what: &str) {
    page.wait_for(
        &format!(
            "(document.activeElement.id || document.activeElement.innerText).startsWith('{what}')"
        ),
        what,
    )
    .await;
}

/// Goes on to the next item, which has a ring around it.
async fn focus_next(page: &BrowserPage, what: &str) {
    page.press_key("j").await;
    wait_for_focus(page, what).await;
    let ring = "(style => `${style.outlineStyle} ${style.outlineWidth}`)(getComputedStyle(document.activeElement))";
    assert_eq!(page.eval::<String>(ring).await, "solid 2px", "{what}");
}

#[tokio::test]
async fn a_question_is_asked_and_its_evidence_walked_by_the_keyboard_alone() {
    let model = FakeModel::replay([
        ModelReply::Items(vec![search_item("parse_config")]),
        ModelReply::Items(vec![message_item(
            "It is here (src/parse.rs:1-4) and there (README.md:1-3).",
        )]),
    ])
    .await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open_page(&server).await;
    wait_for_focus(&page, "question").await;
    // A key that does something elsewhere is a letter in a field.
    page.type_text("j/?o").await;
    assert_eq!(page.eval::<String>("document.querySelector('#question').value").await, "j/?o");
    page.press_key("Escape").await;
    assert_ne!(read_focus(&page).await, "question");
    page.press_key("/").await;
    wait_for_focus(&page, "question").await;
    page.type_text("Where is it").await;
    page.press_key("Shift+Enter").await;
    page.type_text("?").await;
    page.press_key("Enter").await;
    wait_for_turns(&page, 1).await;
    assert_eq!(page.read_text(".question").await, "Where is it\n?");
    page.press_key("Escape").await;
    focus_next(&page, "src/parse.rs:1-4").await;
    focus_next(&page, "README.md:1-3").await;
    page.press_key("k").await;
    wait_for_focus(&page, "src/parse.rs:1-4").await;
    page.press_key("j").await;
    focus_next(&page, "1 step").await;
    page.press_key("o").await;
    page.wait_for("document.querySelector('.steps').open", "the steps").await;
    focus_next(&page, "Searched").await;
    page.press_key("o").await;
    page.wait_for("document.querySelector('.step details').open", "the step").await;
    page.assert_faultless().await;
}

#[tokio::test]
async fn the_keys_are_listed_and_the_start_of_the_page_can_be_skipped() {
    let server = InProcessServer::start().await;
    let (_browser, page) = open_page(&server).await;
    page.wait_for_text("Nothing is indexed yet.").await;
    page.press_key("Escape").await;
    page.press_key("?").await;
    page.wait_for_text("Next and previous result").await;
    assert_eq!(page.list_names_of_role("dialog").await, ["Keys"]);
    check_appearance(&page, "keys").await;
    // Keys do nothing behind a dialog.
    page.press_key("/").await;
    assert_eq!(page.list_names_of_role("dialog").await, ["Keys"]);
    page.press_key("Escape").await;
    page.wait_for("!document.querySelector('dialog[open]')", "no dialog").await;
    page.click("header .name").await;
    page.press_key("Shift+Tab").await;
    wait_for_focus(&page, "skip").await;
    page.press_key("Enter").await;
    wait_for_focus(&page, "main").await;
    // Each view is reached through its link, and back.
    for name in ["Search", "Repositories", "Map", "Status", "Ask"] {
        page.click_text("link", name).await;
        page.wait_for(&format!("document.title.startsWith('{name}')"), name).await;
        let marked = "document.querySelector('#pages [aria-current=page]').innerText";
        assert_eq!(page.eval::<String>(marked).await, name);
    }
    page.go_back().await;
    page.wait_for("document.title.startsWith('Status')", "the earlier view").await;
    for landmark in ["banner", "main"] {
        assert_eq!(page.list_names_of_role(landmark).await.len(), 1, "{landmark}");
    }
    let named = ["Pages", "Conversations and repositories"];
    assert_eq!(page.list_names_of_role("navigation").await, named);
    page.assert_faultless().await;
}

#[tokio::test]
async fn on_a_phone_the_left_column_folds_into_a_menu() {
    let server = InProcessServer::start().await;
    server.ingest_demo().await;
    let (_browser, page) = open_page(&server).await;
    page.set_size(360, 800).await;
    let is_seen = "document.querySelector('#side').checkVisibility()";
    page.wait_for(&format!("!{is_seen}"), "no left column").await;
    page.click_text("button", "Menu").await;
    page.wait_for(is_seen, "the left column").await;
    assert_eq!(page.find_overflow().await, <[&str; 0]>::default());
    assert_eq!(page.find_accessibility_faults().await, <[&str; 0]>::default());
    page.save_screenshot("menu-narrow").await;
    page.click_text("link", "demo").await;
    page.wait_for(&format!("!{is_seen}"), "no left column").await;
    page.wait_for_text("Languages").await;
    page.click_text("button", "Menu").await;
    page.wait_for(is_seen, "the left column").await;
    page.press_key("Escape").await;
    page.wait_for(&format!("!{is_seen}"), "no left column").await;
    wait_for_focus(&page, "menu").await;
    page.assert_faultless().await;
}

#[tokio::test]
async fn a_slash_leads_from_every_view_to_the_question_or_to_the_search() {
    let model = FakeModel::replay([ModelReply::Items(vec![message_item(
        "It is here (src/parse.rs:1-4).",
    )])])
    .await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open_page(&server).await;
    for view in ["repositories", "repositories/demo", "map", "status", "source?path=src/parse.rs"] {
        page.eval::<()>(&format!("void (location.hash = '#/{view}')")).await;
        page.wait_for("!document.title.startsWith('Search')", view).await;
        page.wait_for("document.activeElement.matches('h1')", view).await;
        page.press_key("/").await;
        page.wait_for("document.title.startsWith('Search')", view).await;
        wait_for_focus(&page, "search").await;
    }
    page.click_text("link", "Ask").await;
    wait_for_focus(&page, "question").await;
    page.type_text("Where?").await;
    page.press_key("Enter").await;
    wait_for_turns(&page, 1).await;
    // The source covers the box of the question where the window is not wide.
    page.set_size(1000, 800).await;
    page.press_key("Escape").await;
    page.press_key("j").await;
    page.press_key("o").await;
    page.wait_for("document.querySelector('#source .line')", "the lines").await;
    page.wait_for("!document.querySelector('#question').checkVisibility()", "the source alone")
        .await;
    page.press_key("/").await;
    page.wait_for("document.querySelector('#question').checkVisibility()", "the box").await;
    wait_for_focus(&page, "question").await;
    page.assert_faultless().await;
}

#[tokio::test]
async fn a_key_leads_from_a_citation_into_its_lines_and_another_back() {
    let model = FakeModel::replay([ModelReply::Items(vec![message_item(
        "It is here (src/parse.rs:2-3).",
    )])])
    .await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open_page(&server).await;
    wait_for_focus(&page, "question").await;
    page.type_text("Where?").await;
    page.press_key("Enter").await;
    wait_for_turns(&page, 1).await;
    page.press_key("Escape").await;
    focus_next(&page, "src/parse.rs:2-3").await;
    page.press_key("o").await;
    page.wait_for("document.querySelector('#source .line[aria-current=true]')", "the lines").await;
    wait_for_focus(&page, "src/parse.rs:2-3").await;
    page.press_key("s").await;
    page.wait_for("document.activeElement.matches('#source .lines')", "the focus").await;
    page.press_key("ArrowDown").await;
    page.wait_for("location.hash.endsWith('parse.rs:4')", "the next line").await;
    page.press_key("Escape").await;
    page.wait_for("!document.querySelector('#source').checkVisibility()", "no source").await;
    wait_for_focus(&page, "src/parse.rs:2-3").await;
    page.assert_faultless().await;
}

#[tokio::test]
async fn a_dialog_closes_with_the_view_that_it_is_about() {
    let server = InProcessServer::start().await;
    let (_browser, page) = open_page(&server).await;
    page.click_text("link", "Status").await;
    page.wait_for_text("Embedder").await;
    page.press_key("?").await;
    page.wait_for("document.querySelector('dialog[open]')", "the keys").await;
    page.go_back().await;
    page.wait_for("!document.querySelector('dialog')", "no dialog").await;
    page.wait_for_text("Ask about your code").await;
    page.assert_faultless().await;
}
