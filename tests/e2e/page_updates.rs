//! The parts beside an answer when files and answers change, in a real browser.

use std::{fs, sync::Arc};

use codeinfo_test_support::{
    git::{commit_all, run_git},
    ingest::TestRepository,
    wire::send_post,
};
use serde_json::json;
use tokio::sync::Notify;

use crate::{
    listeners::InProcessServer,
    page_ask::{ask_question, wait_for_turns},
    page_browser::{check_appearance, check_appearance_after, open_page},
    support::{
        browser::{BrowserPage, TestBrowser},
        model::{FakeModel, ModelReply, message_item, search_item},
    },
};

/// Returns the actions for the open file.
async fn list_actions(page: &BrowserPage) -> Vec<String> {
    page.read_texts("#source .actions > *").await
}

/// Starts a server whose repository `demo` is on a forge, and a page with an answer that cites it.
async fn open_answer(model: &FakeModel) -> (InProcessServer, TestBrowser, BrowserPage) {
    let server = InProcessServer::start_with_codex(model, &[]).await;
    server.write("demo/.git/HEAD", "0123456789abcdef0123456789abcdef01234567\n");
    server.write("demo/.git/config", "[remote \"origin\"]\n\turl = https://git.example/o/r.git\n");
    server.ingest_demo().await;
    let (browser, page) = open_page(&server).await;
    ask_question(&page, "Where is it?").await;
    wait_for_turns(&page, 1).await;
    (server, browser, page)
}

#[tokio::test]
async fn a_file_that_is_written_while_it_is_open_is_read_again_at_the_next_click() {
    let model =
        FakeModel::replay([ModelReply::Items(vec![message_item("See src/parse.rs:1-4.")])]).await;
    let (server, _browser, page) = open_answer(&model).await;
    page.click("a.cite").await;
    page.wait_for("document.querySelector('.line[data-line=\"1\"]')", "the lines").await;
    page.wait_for_text("Permalink").await;
    assert_eq!(
        list_actions(&page).await,
        ["Open in VS Code", "What uses this", "History of these lines", "Copy path", "Permalink"]
    );
    let file = server.folder.path().join("demo/src/parse.rs");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("lines()", "split('\\n')")).unwrap();
    // Lines that the arrows select are read from the loaded text; a citation is looked up.
    page.click("a.cite").await;
    page.wait_for_text("The file changed since it was indexed").await;
    page.wait_for("document.querySelector('.line.changed')?.innerText.includes('split')", "a mark")
        .await;
    // A link to the commit would lead to lines that may be others.
    page.wait_for_text("No permalink: the commit may have other lines.").await;
    check_appearance(&page, "written").await;
    assert_eq!(
        page.read_texts("#source .actions a").await,
        ["Open in VS Code", "What uses this", "History of these lines"]
    );
    fs::remove_file(&file).unwrap();
    page.click("a.cite").await;
    page.wait_for_text("The file is gone.").await;
    let has_no_editor = "![...document.querySelectorAll('#source .actions a')].some((link) => link.innerText.includes('VS Code'))";
    page.wait_for(has_no_editor, "no editor").await;
    page.assert_faultless().await;
}

#[tokio::test]
async fn a_commit_that_is_not_checked_out_has_no_file_to_open() {
    let model = FakeModel::replay([]).await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.write("app/src/retry.rs", "/// Tries again.\nfn retry() {}\n");
    let app = TestRepository(server.folder.path().canonicalize().unwrap().join("app"));
    commit_all(&app.0, "Begin");
    run_git(&app.0, &["tag", "v1"]);
    run_git(&app.0, &["remote", "add", "origin", "https://git.example/o/r.git"]);
    let commit = format!("{}@v1", app.0.display());
    let started =
        send_post(server.main, "/ingest/start", &json!({ "path": commit }).to_string()).await;
    server.wait_for_run(started.json()["runId"].as_str().unwrap()).await;
    let (_browser, page) = open_page(&server).await;
    page.goto(&format!("http://{}/#/search?q=retry&at={commit}/src/retry.rs:1-2", server.main))
        .await;
    page.wait_for("document.querySelector('#source .line')", "the lines").await;
    page.wait_for_text("Permalink").await;
    assert_eq!(
        list_actions(&page).await,
        ["What uses this", "History of these lines", "Permalink"]
    );
    check_appearance(&page, "commit").await;
    page.assert_faultless().await;
}

#[tokio::test]
async fn connections_that_are_open_during_a_turn_are_drawn_again_at_its_end() {
    let finish = Arc::new(Notify::new());
    let model = FakeModel::replay([
        ModelReply::Items(vec![search_item("parse_config")]),
        ModelReply::Held(
            Arc::clone(&finish),
            vec![message_item("It is in src/parse.rs:1-4 and README.md:1-3.")],
        ),
    ])
    .await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open_page(&server).await;
    ask_question(&page, "Where is it?").await;
    page.click(".connections summary").await;
    page.wait_for("document.querySelector('.connections svg.graph')", "the drawing").await;
    assert_eq!(page.eval::<usize>("document.querySelectorAll('.graph .cited').length").await, 0);
    finish.notify_one();
    wait_for_turns(&page, 1).await;
    page.wait_for("document.querySelectorAll('.graph .cited').length === 2", "what is cited").await;
    page.assert_faultless().await;
}

#[tokio::test]
async fn a_preview_shows_all_lines_of_a_citation_and_describes_it() {
    let answer = "See src/parse.rs:1,3-4.";
    let model = FakeModel::replay([ModelReply::Items(vec![message_item(answer)])]).await;
    let (_server, _browser, page) = open_answer(&model).await;
    let seen = async || {
        page.eval::<()>("document.activeElement.blur()").await;
        page.press_key("j").await;
        page.wait_for("document.querySelector('#preview').checkVisibility()", "the preview").await;
    };
    seen().await;
    let text = page.read_text("#preview").await;
    assert!(text.contains("src/parse.rs:1,3-4 · confirmed"), "{text}");
    assert!(text.contains("/// Reads") && text.contains("text.lines()"), "{text}");
    assert!(!text.contains("pub fn"), "line 2 is not cited: {text}");
    assert_eq!(
        page.eval::<String>("document.activeElement.getAttribute('aria-describedby')").await,
        "preview"
    );
    check_appearance_after(&page, "preview-keys", seen).await;
    page.press_key("Escape").await;
    page.wait_for("!document.querySelector('#preview').checkVisibility()", "no preview").await;
    assert!(
        !page
            .eval::<bool>("document.querySelector('a.cite').hasAttribute('aria-describedby')")
            .await
    );
    page.assert_faultless().await;
}
