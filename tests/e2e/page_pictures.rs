//! The page with the code of this repository: what the pictures of README show.

use std::{fs, path::Path};

use crate::{
    listeners::InProcessServer,
    page_ask::{ask_question, wait_for_turns},
    page_browser::open_page,
    support::{
        browser::ColorTheme,
        model::{FakeModel, ModelReply, message_item, search_item, thinking_item},
    },
};

/// Copies a folder of this repository below that of a test.
fn copy_from_repository(server: &InProcessServer, folder: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for entry in fs::read_dir(root.join(folder)).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().to_str().unwrap();
        if path.is_dir() {
            copy_from_repository(server, name);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            server.write(&format!("codeinfo/{name}"), &fs::read_to_string(&path).unwrap());
        }
    }
}

/// Returns the lines of the function that begins like this, as a citation has them.
fn find_function_lines(path: &str, head: &str) -> String {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let first = text.lines().position(|line| line.starts_with(head)).unwrap();
    let length = text.lines().skip(first).position(|line| line == "}").unwrap();
    format!("{path}:{}-{}", first + 1, first + length + 1)
}

#[tokio::test]
async fn an_answer_about_this_repository_rests_on_its_code() {
    let page_rs = "crates/server/src/api/page.rs";
    let accepted = find_function_lines(page_rs, "fn takes_gzip");
    let answer = format!(
        "`takes_gzip` reads the header `Accept-Encoding`: the coding `gzip` counts by its own weight, and \
         `*` stands for it where it is not named ({accepted}). `reply_asset` asks it and sends the packed form with \
         a tag of its own ({}).\n\n\
         * A file is packed at its first use, by `compress_gzip`, with the best compression ({}).\n\
         * A browser that has the file already gets an empty reply: `is_among` compares the tags of \
         `If-None-Match` ({}).\n",
        find_function_lines(page_rs, "pub(super) async fn reply_asset"),
        find_function_lines(page_rs, "fn compress_gzip"),
        find_function_lines(page_rs, "fn is_among"),
    );
    let model = FakeModel::replay([
        ModelReply::Items(vec![
            thinking_item("**Finding who compresses the files of the page**"),
            search_item("gzip Accept-Encoding files of the page"),
        ]),
        ModelReply::Items(vec![search_item("compare tags of If-None-Match")]),
        ModelReply::Items(vec![message_item(&answer)]),
    ])
    .await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    copy_from_repository(&server, "src");
    copy_from_repository(&server, "crates");
    server.ingest("codeinfo", "answers questions about code").await;
    let (_browser, page) = open_page(&server).await;
    page.set_size(1360, 765).await;
    ask_question(&page, "When does a browser get a file of the page compressed?").await;
    wait_for_turns(&page, 1).await;
    page.wait_for_text("4 of 4 citations confirmed").await;
    let begins = accepted.rsplit_once(':').unwrap().1;
    page.click_text("link", &accepted).await;
    let first = begins.split('-').next().unwrap();
    page.wait_for(
        &format!("document.querySelector('.line[data-line=\"{first}\"][aria-current=true] .m-k')"),
        "the lines that are cited",
    )
    .await;
    page.save_screenshot("readme-answer").await;
    page.set_theme(ColorTheme::Dark).await;
    page.goto(&format!("http://{}/#/map?repository=codeinfo", server.main)).await;
    page.wait_for_text("Map of codeinfo").await;
    page.wait_for("document.querySelectorAll('svg.treemap .inner').length > 10", "the folders")
        .await;
    page.save_screenshot("readme-map").await;
    page.assert_faultless().await;
}
