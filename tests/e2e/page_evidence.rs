//! The evidence of an answer on the page, in a real browser: lines that are cited, maps, and long files.

use std::{fmt::Write, fs};

use serde_json::{Value, json};

use crate::{
    listeners::InProcessServer,
    page_ask::{ask_question, wait_for_turns},
    page_browser::{check_appearance, open_page, write_figure},
    support::{
        browser::BrowserPage,
        model::{FakeModel, ModelReply, message_item, search_item},
    },
};

const PARSER: &str = "\
/// Reads a configuration file line by line.
pub fn parse_config(text: &str) -> Vec<(String, String)> {
    text.lines().filter_map(|line| line.split_once('=')).map(pair).collect()
}
";

/// A repository with a file in which only the lines 61 to 64 matter, another one that uses it, and a forge.
async fn start_indexed(model: &FakeModel, settings: &[(&str, &str)]) -> InProcessServer {
    let server = InProcessServer::start_with_codex(model, settings).await;
    let mut text = String::new();
    for number in 0..15 {
        write!(text, "/// Part {number}.\npub fn part_{number}() -> u32 {{\n    {number}\n}}\n")
            .unwrap();
    }
    text.push_str(PARSER);
    for number in 15..40 {
        write!(text, "/// Part {number}.\npub fn part_{number}() -> u32 {{\n    {number}\n}}\n")
            .unwrap();
    }
    server.write("demo/src/parse.rs", &text);
    server.write(
        "demo/src/main.rs",
        "mod parse;\n\nuse crate::parse::parse_config;\n\nfn main() {\n    parse_config(\"a=b\");\n}\n",
    );
    server.write("demo/.git/HEAD", "0123456789abcdef0123456789abcdef01234567\n");
    server.write("demo/.git/config", "[remote \"origin\"]\n\turl = https://git.example/o/r.git\n");
    server.ingest("demo", "a small reader").await;
    server
}

fn search_and_answer(answer: &str) -> [ModelReply; 2] {
    [
        ModelReply::Items(vec![search_item("parse_config")]),
        ModelReply::Items(vec![message_item(answer)]),
    ]
}

/// Returns the numbers of the lines that are marked as cited; the first ones must be seen.
async fn read_cited_lines(page: &BrowserPage) -> Vec<u32> {
    page.wait_for(
        "document.querySelector('.line[aria-current=true] code')",
        "lines that are chosen",
    )
    .await;
    page.eval(
        "(() => {
            const box = document.querySelector('.lines').getBoundingClientRect();
            return [...document.querySelectorAll('.line[aria-current=true]')].map((line, index) => {
                const at = line.getBoundingClientRect();
                const isSeen = at.top >= box.top && at.bottom <= box.bottom && at.height > 0;
                if (!isSeen && index < 5) throw new Error(`line ${line.dataset.line} is not seen`);
                return Number(line.dataset.line);
            });
        })()",
    )
    .await
}

const CODE: &str =
    "[...document.querySelectorAll('.line[aria-current=true] code')].map(one => one.innerText)";

#[tokio::test]
async fn a_citation_opens_the_lines_beside_the_answer() {
    let answer = "It is `parse_config` (src/parse.rs:61-64), which src/main.rs:5-7 uses.";
    let model = FakeModel::replay(search_and_answer(answer)).await;
    let server = start_indexed(&model, &[]).await;
    let (_browser, page) = open_page(&server).await;
    ask_question(&page, "Where is it?").await;
    wait_for_turns(&page, 1).await;
    let conversation = page.url().await;
    page.click_text("link", "src/parse.rs:61-64").await;
    assert_eq!(read_cited_lines(&page).await, [61, 62, 63, 64]);
    let code = page.eval::<Vec<String>>(CODE).await;
    assert_eq!(code.join("\n") + "\n", PARSER);
    page.wait_for(
        "document.querySelector('.line[data-line=\"62\"] .m-k')?.innerText === 'pub'",
        "marks",
    )
    .await;
    page.wait_for_text("Confirmed: the words").await;
    assert_eq!(page.read_text("#source h2").await, "src/parse.rs");
    assert!(page.url().await.contains("parse.rs:61-64"), "{}", page.url().await);
    check_appearance(&page, "source").await;
    // Links that open it elsewhere.
    let folder = server.folder.path().canonicalize().unwrap().join("demo/src/parse.rs");
    let href =
        "[...document.querySelectorAll('#source .actions a')].map(one => one.getAttribute('href'))";
    let path = folder.display().to_string();
    assert_eq!(
        page.eval::<Vec<String>>(href).await,
        [
            format!("vscode://file{path}:61"),
            format!("{}&of={path}:61&uses=callers", page.eval::<String>("location.hash").await),
            format!(
                "{}&of=src/parse.rs:61-64&of-in=demo&uses=history",
                page.eval::<String>("location.hash").await
            ),
            "https://git.example/o/r/blob/0123456789abcdef0123456789abcdef01234567/src/parse.rs#L61-L64".to_owned(),
        ]
    );
    page.allow_clipboard().await;
    page.click_text("button", "Copy path").await;
    page.wait_for_text("Copied").await;
    assert_eq!(page.read_clipboard().await, format!("{path}:61-64"));
    // The address describes the whole view.
    page.reload().await;
    assert_eq!(read_cited_lines(&page).await, [61, 62, 63, 64]);
    page.click("a.cite[data-first='5']").await;
    page.wait_for(
        "document.querySelector('#source h2')?.innerText === 'src/main.rs'",
        "the other file",
    )
    .await;
    assert_eq!(read_cited_lines(&page).await, [5, 6, 7]);
    page.go_back().await;
    page.wait_for(
        "document.querySelector('#source h2')?.innerText === 'src/parse.rs'",
        "the first file",
    )
    .await;
    assert_eq!(read_cited_lines(&page).await, [61, 62, 63, 64]);
    page.press_key("Escape").await;
    page.wait_for("!document.querySelector('#source').checkVisibility()", "no source").await;
    assert_eq!(page.url().await, conversation);
    // Results of the search open in the same way, and by the keyboard.
    page.click("#files a.place").await;
    read_cited_lines(&page).await;
    page.click_text("button", "Close").await;
    page.wait_for("!document.querySelector('#source').checkVisibility()", "no source").await;
    // Pointing at a citation shows its lines.
    page.hover("a.cite[data-first='5']").await;
    page.wait_for("document.querySelector('#preview').checkVisibility()", "the preview").await;
    assert!(page.read_text("#preview").await.contains("parse_config(\"a=b\");"));
    page.save_screenshot("preview").await;
    page.hover("h1").await;
    page.wait_for("!document.querySelector('#preview').checkVisibility()", "no preview").await;
    page.assert_faultless().await;
}

#[tokio::test]
async fn wrong_moved_and_changed_citations_are_marked() {
    // The second citation names lines with other code.
    let answer = "See src/parse.rs:61-64, `parse_config` in src/parse.rs:100-104, src/parse.rs:900-905, src/none.rs:1.";
    let model = FakeModel::replay(search_and_answer(answer)).await;
    let server = start_indexed(&model, &[]).await;
    let (_browser, page) = open_page(&server).await;
    ask_question(&page, "Where is it?").await;
    wait_for_turns(&page, 1).await;
    let states = "[...document.querySelectorAll('.cite')].map(one => `${one.innerText} ${one.dataset.state}`)";
    let states: Vec<String> = page.eval(states).await;
    assert!(states[0].ends_with("confirmed"), "{states:?}");
    assert!(states[1].ends_with("100-104 wrong"), "{states:?}");
    let missing: Vec<_> = states.iter().filter(|state| state.ends_with("wrong")).collect();
    assert!(!missing.is_empty(), "{states:?}");
    let facts = page.read_text(".facts").await;
    assert!(facts.contains("wrong") || facts.contains("repaired"), "{facts}");
    // The colour is not the only mark.
    let output_text = "[...document.querySelectorAll('.cite')].map(one => one.getAttribute('aria-description') ?? one.title)";
    assert!(page.eval::<Vec<String>>(output_text).await.iter().all(|one| !one.is_empty()));
    check_appearance(&page, "citations").await;
    page.click("a.cite[data-state=wrong]").await;
    assert_eq!(read_cited_lines(&page).await, [62, 63, 64]);
    page.wait_for_text("Wrong: these lines do not contain").await;
    page.press_key("Escape").await;
    // A line above is changed, after indexing.
    let file = server.folder.path().join("demo/src/parse.rs");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("    3\n", "    3 + 0\n")).unwrap();
    page.click("a.cite:not([data-state=wrong])").await;
    read_cited_lines(&page).await;
    page.wait_for_text("The file changed since it was indexed").await;
    page.click("#source .lines").await;
    page.eval::<()>("void (document.querySelector('.lines').scrollTop = 0)").await;
    page.wait_for("document.querySelector('.line.changed')", "a line that is marked").await;
    let changed =
        "[...document.querySelectorAll('.line.changed')].map(one => one.innerText.trim())";
    let changed: Vec<String> = page.eval(changed).await;
    assert!(changed.len() == 1 && changed[0].contains("3 + 0"), "{changed:?}");
    check_appearance(&page, "changed").await;
    fs::remove_file(&file).unwrap();
    page.reload().await;
    page.wait_for_text("The file is gone. It is shown as it was indexed.").await;
    page.save_screenshot("gone").await;
    page.assert_faultless().await;
}

#[tokio::test]
async fn each_place_of_a_citation_is_shown_with_its_verdict_and_lines_are_chosen_by_the_arrows() {
    let model = FakeModel::replay([
        ModelReply::Items(vec![message_item("See src/parse.rs:2-3,9-10.")]),
        ModelReply::Items(vec![message_item("And src/main.rs:5-7.")]),
    ])
    .await;
    let server = start_indexed(&model, &[]).await;
    let (_browser, page) = open_page(&server).await;
    ask_question(&page, "Where is it?").await;
    wait_for_turns(&page, 1).await;
    ask_question(&page, "And then?").await;
    wait_for_turns(&page, 2).await;
    // The first answer keeps its verdicts when another one came.
    page.click("a.cite[data-ranges]").await;
    assert_eq!(read_cited_lines(&page).await, [2, 3, 9, 10]);
    page.wait_for_text("onfirmed: ").await;
    assert!(page.url().await.contains("parse.rs:2-3%2C9-10"), "{}", page.url().await);
    page.reload().await;
    assert_eq!(read_cited_lines(&page).await, [2, 3, 9, 10]);
    page.wait_for_text("onfirmed: ").await;
    let alone = page.eval::<String>("document.querySelector('a.cite[data-ranges]').href").await;
    let alone = page.open_another(&alone).await;
    assert_eq!(read_cited_lines(&alone).await, [2, 3, 9, 10]);
    page.eval::<()>("document.querySelector('.lines').focus()").await;
    for (key, lines) in [
        ("ArrowDown", "4"),
        ("Shift+ArrowDown", "4-5"),
        ("Shift+ArrowDown", "4-6"),
        ("Shift+ArrowUp", "4-5"),
        ("ArrowUp", "4"),
        ("ArrowUp", "3"),
    ] {
        page.press_key(key).await;
        page.wait_for(&format!("location.hash.endsWith('parse.rs:{lines}')"), lines).await;
    }
    assert_eq!(read_cited_lines(&page).await, [3]);
    page.assert_faultless().await;
}

#[tokio::test]
async fn a_map_shows_the_folders_and_the_files_of_an_answer() {
    let answer = "It is `parse_config` (src/parse.rs:61-64), which src/main.rs:5-7 uses.";
    let model = FakeModel::replay(search_and_answer(answer)).await;
    let server = start_indexed(&model, &[]).await;
    server.write("demo/docs/read.md", "# Reading\n\nHow files are read.\n");
    server.ingest("demo", "a small reader").await;
    let (_browser, page) = open_page(&server).await;
    ask_question(&page, "Where is it?").await;
    wait_for_turns(&page, 1).await;
    page.click(".connections summary").await;
    page.wait_for("document.querySelector('.connections svg.graph')", "the drawing").await;
    page.click(".turn .actions a").await;
    page.wait_for("document.querySelector('main svg.graph')", "the drawing").await;
    // Drawn files open by the keyboard as well.
    page.eval::<()>("document.querySelector('main svg.graph a').focus()").await;
    page.press_key("o").await;
    page.wait_for("document.querySelector('#source h2')", "the source").await;
    page.press_key("Escape").await;
    page.wait_for("!document.querySelector('#source').checkVisibility()", "no source").await;
    let drawn = page.read_text("main").await;
    assert!(drawn.contains("src/parse.rs") && drawn.contains("src/main.rs"), "{drawn}");
    page.click("main figure summary").await;
    let drawn = page.read_text("main").await;
    assert!(drawn.contains("parse_config"), "{drawn}");
    check_appearance(&page, "map-turn").await;
    page.click_text("link", "Map").await;
    page.wait_for("document.querySelector('svg.treemap a')", "the folders").await;
    let areas = "[...document.querySelectorAll('svg.treemap a')].map(one => one.getAttribute('aria-label'))";
    let areas: Vec<String> = page.eval(areas).await;
    assert!(areas[0].starts_with("src, 2 files") && areas[0].contains("cited"), "{areas:?}");
    let figures = "getComputedStyle(document.querySelector('svg.treemap text')).fontVariantNumeric";
    assert_eq!(page.eval::<String>(figures).await, "tabular-nums");
    check_appearance(&page, "map").await;
    page.click("svg.treemap a").await;
    page.wait_for("location.hash.includes('folder=src')", "the folder").await;
    page.wait_for_text("files in this folder").await;
    page.go_back().await;
    page.wait_for("document.querySelectorAll('svg.treemap a').length > 1", "all folders").await;
    page.assert_faultless().await;
}

#[tokio::test]
async fn a_file_of_ten_thousand_lines_scrolls() {
    let server = InProcessServer::start().await;
    let mut text = String::new();
    for number in 1..=2500 {
        write!(text, "/// Part {number}.\npub fn part_{number}(a: u32) -> u32 {{\n    a + {number} // more\n}}\n").unwrap();
    }
    server.write("demo/src/long.rs", &text);
    server.ingest("demo", "one long file").await;
    let (_browser, page) = open_page(&server).await;
    let path = server.folder.path().canonicalize().unwrap().join("demo/src/long.rs");
    let place =
        format!("http://{}/#/source?path={}&first=6001&last=6004", server.main, path.display());
    page.goto(&place).await;
    assert_eq!(read_cited_lines(&page).await, [6001, 6002, 6003, 6004]);
    assert_eq!(page.eval::<Vec<String>>(CODE).await[1], "pub fn part_1501(a: u32) -> u32 {");
    check_appearance(&page, "long").await;
    let scrolled = "new Promise(done => {
        const lines = document.querySelector('.lines');
        let top = 0;
        requestAnimationFrame(function next() {
            lines.scrollTop = top;
            top += 900;
            top < lines.scrollHeight ? requestAnimationFrame(next) : done(null);
        });
    })";
    let scroll = async || {
        page.eval::<Value>(scrolled).await;
    };
    let tasks = page.measure_slow_tasks(50, scroll()).await;
    write_figure("10,000 lines are scrolled: tasks over 50 ms of the processor", &json!(tasks));
    let frames = page.measure_slow_frames(50.0, scroll()).await;
    write_figure("10,000 lines are scrolled: frames over 50 ms", &json!(frames));
    page.wait_for("document.querySelector('.line[data-line=\"10000\"] code')", "the last line")
        .await;
    let lines = page.eval::<usize>("document.querySelectorAll('.line').length").await;
    assert!(lines < 200, "{lines} lines in the document");
    // Numbers of lines lead to them.
    page.click(".line[data-line='9990'] .number").await;
    assert_eq!(read_cited_lines(&page).await, [9990]);
    assert!(page.url().await.contains("first=9990"), "{}", page.url().await);
    page.assert_faultless().await;
}
