//! Markup of repositories, models and tools stays text on the page, in a real browser.

use std::fs;

use codeinfo_test_support::toolkit::stdio_spec;
use serde_json::json;
use url::Url;

use crate::{
    listeners::InProcessServer,
    page_ask::{ask_question, wait_for_turns},
    page_browser::{check_appearance, open_page},
    support::{
        browser::BrowserPage,
        model::{FakeModel, ModelReply, message_item, search_item, thinking_item},
        process::create_scratch_folder,
        toolkit::npm_toolkit_spec,
    },
    toolkit_turns::{render_document, tool_call_item},
};

/// Marks what ran, in whichever way it came in.
const SCRIPT: &str = "<script>window.ran = 1</script>";
const IMAGE: &str = "<img src=x onerror='window.ran = 2'>";
const ANSWER: &str = r#"Hello <script>window.ran = 3</script> there <img src=x onerror="window.ran = 4">.

<div onclick="window.ran = 5" style="position:fixed;inset:0"><b>block</b></div>

<iframe src="https://elsewhere.example/"></iframe><form action="https://elsewhere.example/"><input></form>

[one](javascript:window.ran=6) [two](data:text/html,<script>parent.ran=7</script>)
[three](JaVaScRiPt:window.ran=8) <javascript:window.ran=9> [four](vbscript:x) ![five](https://elsewhere.example/5.png)
[six](//elsewhere.example/6 "a\" onmouseover=\"window.ran=10") `<script>window.ran = 11</script>`

```"onclick="window.ran=12"><script>window.ran = 13</script>
<script>window.ran = 14</script>
```

| <svg onload="window.ran = 15"> | b |
|---|---|
| </td><script>window.ran = 16</script> | d |

See src/<img src=x onerror='window.ran = 2'>.rs:1-2."#;

/// Fails where a script ran, or where text of others became an element.
pub(crate) async fn assert_inert(page: &BrowserPage, texts: &[&str]) {
    for text in texts {
        page.wait_for_text(text).await;
    }
    assert_eq!(page.eval::<Option<u32>>("window.ran ?? null").await, None);
    let foreign = "main script, main img, main iframe, main form:not(.composer, .search-form), main svg[onload], \
                   #side script, #side img, #evidence script, #evidence img, dialog script, dialog img, \
                   [onerror], [onclick], [onload], [onmouseover], [style*=fixed]";
    let found =
        format!("[...document.querySelectorAll({})].map(one => one.outerHTML)", json!(foreign));
    assert_eq!(page.eval::<Vec<String>>(&found).await, <[&str; 0]>::default());
    let links = "[...document.querySelectorAll('a[href]')].map(one => new URL(one.getAttribute('href'), location.href).href).filter(href =>
        !href.startsWith(location.origin) && !/^(https?|vscode):/.test(href))";
    assert_eq!(page.eval::<Vec<String>>(links).await, <[&str; 0]>::default());
    page.assert_faultless().await;
}

/// Indexes a repository that has markup wherever it can.
async fn ingest_markup(server: &InProcessServer) {
    server.write(&format!("demo/src/{}.rs", IMAGE.replace('/', "")), &markup_source());
    server.write(
        "demo/src/plain.rs",
        &format!("/// {SCRIPT} {IMAGE} of plain\npub fn plain() {{}}\n"),
    );
    server.ingest("demo", &format!("{SCRIPT}{IMAGE} a description")).await;
}

fn markup_source() -> String {
    format!(
        "/// {SCRIPT} {IMAGE}\npub fn parse_config() -> &'static str {{ \"</code></pre>{SCRIPT}\" }}\n"
    )
}

#[tokio::test]
async fn markup_of_questions_models_files_and_code_stays_text() {
    let model = FakeModel::replay([
        ModelReply::Items(vec![
            thinking_item(&format!("{SCRIPT} {IMAGE} **bold**")),
            search_item(&format!("parse_config {SCRIPT}")),
        ]),
        ModelReply::Items(vec![message_item(ANSWER)]),
    ])
    .await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    ingest_markup(&server).await;
    let (_browser, page) = open_page(&server).await;
    let question = format!("What is {SCRIPT}{IMAGE}?");
    ask_question(&page, &question).await;
    wait_for_turns(&page, 1).await;
    page.click(".steps > summary").await;
    for step in [".step.thinking summary", ".step.tool summary"] {
        page.click(step).await;
    }
    page.save_screenshot("hostile").await;
    let file = format!("{IMAGE}.rs");
    let wanted = [
        question.as_str(),
        file.as_str(),
        "Hello <script>window.ran = 3</script> there",
        "<script>window.ran = 11</script>",
        "<script>window.ran = 14</script>",
        "<iframe src=\"https://elsewhere.example/\"></iframe>",
        "pub fn parse_config()",
        "parse_config <script>window.ran = 1</script>",
    ];
    assert_inert(&page, &wanted).await;
    // The same again, from disk.
    page.reload().await;
    wait_for_turns(&page, 1).await;
    assert_inert(&page, &wanted[..5]).await;
    page.fill_field("#find-conversation", "iframe").await;
    page.wait_for("document.querySelector('.entry .excerpt')", "an excerpt").await;
    assert_inert(&page, &[]).await;
}

#[tokio::test]
async fn markup_of_repositories_stays_text_in_every_view() {
    let server = InProcessServer::start().await;
    server.write(&format!("demo/{IMAGE}/a.rs"), "pub fn a() {}\n");
    ingest_markup(&server).await;
    let (_browser, page) = open_page(&server).await;
    let file = format!("{IMAGE}.rs");
    let path = server.folder.path().canonicalize().unwrap().join("demo/src").join(&file);
    let mut source = Url::parse("http://localhost/source").unwrap();
    source.query_pairs_mut().append_pair("path", path.to_str().unwrap());
    let source = format!("/source?{}&first=1&last=2", source.query().unwrap());
    let described = format!("{SCRIPT}{IMAGE} a description");
    for (view, seen, texts) in [
        ("/search?q=parse_config", ".result-code .code-line", vec![file.as_str(), SCRIPT]),
        (source.as_str(), ".line[aria-current=true]", vec![file.as_str(), SCRIPT]),
        ("/repositories", ".card", vec![described.as_str()]),
        ("/repositories/demo", ".facts-list", vec![described.as_str()]),
        ("/map?repository=demo", "svg.treemap", vec![IMAGE]),
        ("/c/<img src=x onerror='window.ran = 1'>", ".problem", vec![]),
        ("/<img src=x onerror='window.ran = 1'>", ".empty", vec![]),
    ] {
        page.goto(&format!("http://{}/#{view}", server.main)).await;
        page.wait_for(&format!("document.querySelector('main {seen}')"), view).await;
        if seen == ".problem" {
            let faults = page.take_faults().await;
            let is_expected =
                |fault: &String| fault.contains("status of 40") || fault.contains("ApiError");
            assert!(faults.iter().all(is_expected), "{faults:?}");
        }
        assert_inert(&page, &texts).await;
    }
}

#[tokio::test]
async fn markup_of_tools_and_their_faults_stays_text() {
    let message = format!("{SCRIPT}{IMAGE} echoed");
    let model = FakeModel::replay([
        ModelReply::Items(vec![
            tool_call_item("everything", "echo", json!({ "message": message })),
            tool_call_item("everything", "echo", json!({ SCRIPT: message })),
        ]),
        ModelReply::Items(vec![message_item("Done.")]),
    ])
    .await;
    let folder = create_scratch_folder();
    let file = folder.path().join("toolkits.json");
    let (everything, missing) =
        (npm_toolkit_spec("server-everything", &[]), stdio_spec(IMAGE, Vec::new()));
    let toolkits = render_document(&[("everything", &everything), ("missing", &missing)]);
    fs::write(&file, toolkits.to_string()).unwrap();
    let file = file.display().to_string();
    let settings = [("TOOLKITS_FILE", file.as_str()), ("TOOLKITS_DIRECT_MAX", "100")];
    let server = InProcessServer::start_with_codex(&model, &settings).await;
    ingest_markup(&server).await;
    let (_browser, page) = open_page(&server).await;
    ask_question(&page, "Echo?").await;
    wait_for_turns(&page, 1).await;
    page.click(".steps > summary").await;
    let steps = page.read_texts(".step > details > summary").await;
    assert!(steps[0].starts_with("Warning: ") && steps[0].contains(IMAGE), "{steps:?}");
    for step in &steps[1..] {
        assert!(step.starts_with("echo\nmcp\neverything"), "{steps:?}");
    }
    // Either of the two calls may begin first.
    assert!(steps[1..].iter().any(|step| step.contains("failed")), "{steps:?}");
    for number in 1..=steps.len() {
        page.click(&format!(".step:nth-child({number}) summary")).await;
    }
    page.save_screenshot("hostile-tools").await;
    let echoed = format!("Echo: {message}");
    assert_inert(&page, &[echoed.as_str(), SCRIPT, IMAGE]).await;
}

#[tokio::test]
async fn long_names_stay_within_the_page() {
    let long = "long_name_without_any_place_to_break_it".repeat(5);
    let name = "RepositoryWithoutAnyPlaceToBreakItsName".repeat(4);
    let answer = format!(
        "It is `{long}` in src/{long}.rs:1-2, **{long}**.\n\n| {long} | b |\n|---|---|\n| c | {long} |"
    );
    let model = FakeModel::replay([
        ModelReply::Items(vec![thinking_item(&format!("{long} {IMAGE}")), search_item(&long)]),
        ModelReply::Items(vec![message_item(&answer)]),
    ])
    .await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    let code = format!("/// {SCRIPT} {long}\npub fn {long}() {{}}\n");
    server.write(&format!("{name}/src/{long}.rs"), &code);
    server.write(&format!("{name}/{}/{long}.rs", IMAGE.replace('/', "")), &code);
    server.ingest(&name, &format!("{SCRIPT}{long}")).await;
    let (_browser, page) = open_page(&server).await;
    ask_question(&page, &format!("{long} {IMAGE}?")).await;
    wait_for_turns(&page, 1).await;
    page.click(".steps > summary").await;
    page.click(".step.tool summary").await;
    check_appearance(&page, "long-answer").await;
    page.hover("a.cite").await;
    page.wait_for("document.querySelector('#preview').checkVisibility()", "the preview").await;
    page.save_screenshot("long-preview").await;
    page.click("a.cite").await;
    page.wait_for("document.querySelector('#source .line')", "the lines").await;
    check_appearance(&page, "long-source").await;
    for (view, seen) in [
        (format!("search?q={long}"), ".result-code .code-line"),
        ("repositories".to_owned(), ".card"),
        (format!("repositories/{name}"), ".facts-list"),
        (format!("map?repository={name}"), "svg.treemap"),
    ] {
        page.goto(&format!("http://{}/#/{view}", server.main)).await;
        page.wait_for(&format!("document.querySelector('main {seen}')"), &view).await;
        let kind: String = view.chars().take_while(char::is_ascii_lowercase).collect();
        check_appearance(&page, &format!("long-{kind}-{}", seen.len())).await;
    }
    // The choice of a repository leaves room for the words.
    for view in ["#/search", "#/"] {
        page.goto(&format!("http://{}/{view}", server.main)).await;
        let has_room = "document.querySelectorAll('select')[0]?.options.length === 2
            && document.querySelector('[data-field]')?.getBoundingClientRect().width > 400
            && document.querySelector('select').offsetWidth <= 192";
        page.wait_for(has_room, "room for the words").await;
    }
    page.assert_faultless().await;
}
