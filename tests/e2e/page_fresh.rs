//! What stands beside an answer when files and answers change under it, in a real browser.

use std::{fs, sync::Arc};

use codeinfo_test_support::{
    git::{commit_all, git},
    ingest::Repo,
    wire::post,
};
use serde_json::json;
use tokio::sync::Notify;

use crate::{
    listeners::Listeners,
    page_ask::{ask, ended},
    page_browser::{looks_right, looks_right_after, open},
    support::{
        browser::{Browser, Page},
        model::{Model, Reply as Said, says, searches},
    },
};

/// What can be done with the file that is open.
async fn actions(page: &Page) -> Vec<String> {
    page.texts("#source .actions > *").await
}

/// A server whose repository `demo` is on a forge, and a page that shows an answer which cites it.
async fn answered(model: &Model) -> (Listeners, Browser, Page) {
    let server = Listeners::with_codex(model, &[]).await;
    server.write("demo/.git/HEAD", "0123456789abcdef0123456789abcdef01234567\n");
    server.write("demo/.git/config", "[remote \"origin\"]\n\turl = https://git.example/o/r.git\n");
    server.ingest_demo().await;
    let (browser, page) = open(&server).await;
    ask(&page, "Where is it?").await;
    ended(&page, 1).await;
    (server, browser, page)
}

#[tokio::test]
async fn a_file_that_is_written_while_it_is_open_is_read_again_at_the_next_click() {
    let model = Model::replay([Said::Items(vec![says("See src/parse.rs:1-4.")])]).await;
    let (server, _browser, page) = answered(&model).await;
    page.click("a.cite").await;
    page.wait("document.querySelector('.line[data-line=\"1\"]')", "the lines").await;
    page.sees("Permalink").await;
    assert_eq!(
        actions(&page).await,
        ["Open in VS Code", "What uses this", "Copy path", "Permalink"]
    );
    let file = server.folder.path().join("demo/src/parse.rs");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("lines()", "split('\\n')")).unwrap();
    // What the arrows choose is read from what is there; a citation is looked up.
    page.click("a.cite").await;
    page.sees("The file changed since it was indexed").await;
    page.wait("document.querySelector('.line.changed')?.innerText.includes('split')", "a mark")
        .await;
    // A link to the commit would lead to lines that may be others.
    page.sees("No permalink: the commit may have other lines.").await;
    looks_right(&page, "written").await;
    assert_eq!(page.texts("#source .actions a").await, ["Open in VS Code", "What uses this"]);
    fs::remove_file(&file).unwrap();
    page.click("a.cite").await;
    page.sees("The file is gone.").await;
    let has_no_editor = "![...document.querySelectorAll('#source .actions a')].some((link) => link.innerText.includes('VS Code'))";
    page.wait(has_no_editor, "no editor").await;
    page.is_faultless().await;
}

#[tokio::test]
async fn a_commit_that_is_not_checked_out_has_no_file_to_open() {
    let model = Model::replay([]).await;
    let server = Listeners::with_codex(&model, &[]).await;
    server.write("app/src/retry.rs", "/// Tries again.\nfn retry() {}\n");
    let app = Repo(server.folder.path().canonicalize().unwrap().join("app"));
    commit_all(&app.0, "Begin");
    git(&app.0, &["tag", "v1"]);
    git(&app.0, &["remote", "add", "origin", "https://git.example/o/r.git"]);
    let commit = format!("{}@v1", app.0.display());
    let started = post(server.main, "/ingest/start", &json!({ "path": commit }).to_string()).await;
    server.ended(started.json()["runId"].as_str().unwrap()).await;
    let (_browser, page) = open(&server).await;
    page.goto(&format!("http://{}/#/search?q=retry&at={commit}/src/retry.rs:1-2", server.main))
        .await;
    page.wait("document.querySelector('#source .line')", "the lines").await;
    page.sees("Permalink").await;
    assert_eq!(actions(&page).await, ["What uses this", "Permalink"]);
    looks_right(&page, "commit").await;
    page.is_faultless().await;
}

#[tokio::test]
async fn connections_that_are_open_during_a_turn_are_drawn_again_at_its_end() {
    let finish = Arc::new(Notify::new());
    let model = Model::replay([
        Said::Items(vec![searches("parse_config")]),
        Said::Held(Arc::clone(&finish), vec![says("It is in src/parse.rs:1-4 and README.md:1-3.")]),
    ])
    .await;
    let server = Listeners::with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (_browser, page) = open(&server).await;
    ask(&page, "Where is it?").await;
    page.click(".connections summary").await;
    page.wait("document.querySelector('.connections svg.graph')", "the drawing").await;
    assert_eq!(page.eval::<usize>("document.querySelectorAll('.graph .cited').length").await, 0);
    finish.notify_one();
    ended(&page, 1).await;
    page.wait("document.querySelectorAll('.graph .cited').length === 2", "what is cited").await;
    page.is_faultless().await;
}

#[tokio::test]
async fn a_preview_shows_all_lines_of_a_citation_and_describes_it() {
    let answer = "See src/parse.rs:1,3-4.";
    let model = Model::replay([Said::Items(vec![says(answer)])]).await;
    let (_server, _browser, page) = answered(&model).await;
    let seen = async || {
        page.eval::<()>("document.activeElement.blur()").await;
        page.press("j").await;
        page.wait("document.querySelector('#preview').checkVisibility()", "the preview").await;
    };
    seen().await;
    let text = page.text("#preview").await;
    assert!(text.contains("src/parse.rs:1,3-4 · confirmed"), "{text}");
    assert!(text.contains("/// Reads") && text.contains("text.lines()"), "{text}");
    assert!(!text.contains("pub fn"), "line 2 is not cited: {text}");
    assert_eq!(
        page.eval::<String>("document.activeElement.getAttribute('aria-describedby')").await,
        "preview"
    );
    looks_right_after(&page, "preview-keys", seen).await;
    page.press("Escape").await;
    page.wait("!document.querySelector('#preview').checkVisibility()", "no preview").await;
    assert!(
        !page
            .eval::<bool>("document.querySelector('a.cite').hasAttribute('aria-describedby')")
            .await
    );
    page.is_faultless().await;
}
