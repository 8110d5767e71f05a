//! The history of open lines, a commit, and files as they were, in a real browser.

use codeinfo_test_support::git::{commit_all, run_git};
use serde_json::json;

use crate::{
    listeners::InProcessServer,
    page_browser::{check_appearance, open_page},
    page_hostile::assert_inert,
    page_symbols::wait_for_open_lines,
    support::browser::{BrowserPage, TestBrowser},
};

const PUMP: &str = "def start():\n    return 1\n\n\ndef pump():\n    rate = 10\n    return rate\n";
const IMAGE: &str = "<img src=x onerror='window.ran = 1'>";

/// Starts with a repository whose file was changed, renamed and merged, and opens a view of the page.
async fn open_plant(view: &str) -> (InProcessServer, TestBrowser, BrowserPage) {
    let server = InProcessServer::start().await;
    let folder = server.folder.path().join("plant");
    server.write("plant/pipe.py", PUMP);
    commit_all(&folder, "Add the pump");
    server.write("plant/pipe.py", &PUMP.replace("10", "20"));
    commit_all(&folder, "Pump faster\n\nThe boiler needs it: see\nhttps://elsewhere.example/7.");
    run_git(&folder, &["mv", "pipe.py", "pump.py"]);
    commit_all(&folder, "Call the file what it is");
    run_git(&folder, &["revert", "--no-edit", "HEAD~1"]);
    run_git(&folder, &["checkout", "--quiet", "-b", "side", "HEAD~2"]);
    server.write("plant/side.py", "def side():\n    return 3\n");
    commit_all(&folder, "Add a side");
    run_git(&folder, &["checkout", "--quiet", "-"]);
    run_git(&folder, &["merge", "--quiet", "--no-edit", "side"]);
    server.ingest("plant", "a plant").await;
    let (browser, page) = open_page(&server).await;
    page.goto(&format!("http://{}/#/{view}", server.main)).await;
    (server, browser, page)
}

/// Waits until the texts of elements are these.
async fn wait_for_texts(page: &BrowserPage, selector: &str, wanted: &[&str]) {
    page.retry_until(selector, async || {
        let found = page.read_texts(selector).await;
        let found: Vec<String> = found
            .iter()
            .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        if found == wanted { Ok(()) } else { Err(format!("{found:#?}")) }
    })
    .await;
}

const FILES: &str = ".changes summary";
const SUBJECTS: &str = ".use > p:first-child";

#[tokio::test]
async fn open_lines_lead_to_their_commits_and_back() {
    let (_server, _browser, page) = open_plant("search?at=pump.py:6&in=plant").await;
    wait_for_open_lines(&page, "pump.py:6").await;
    page.click_text("link", "History of these lines").await;
    let subjects = [
        "Revert \"Pump faster\" present form of 6 says that it reverts",
        "Pump faster",
        "Add the pump the lines appeared here",
    ];
    page.retry_until("the commits", async || {
        let found = page.read_texts(SUBJECTS).await;
        let is_found = found.len() == 3
            && found.iter().zip(subjects).all(|(text, wanted)| text.trim().starts_with(wanted));
        if is_found { Ok(()) } else { Err(format!("{found:#?}")) }
    })
    .await;
    assert_eq!(page.read_text(".uses h3").await, "History of pump.py:6");
    let lines = [
        "6 removed - rate = 20", "6 added + rate = 10", "6 removed - rate = 10",
        "6 added + rate = 20", "6 added + rate = 10",
    ];
    wait_for_texts(&page, ".use .code-line", &lines).await;
    check_appearance(&page, "history-lines").await;
    let source = page.url().await;
    // The commit, with its message, its file, and what it is.
    page.click_text("link", "Pump faster").await;
    page.wait_for_text("The boiler needs it: see").await;
    assert_eq!(page.read_text("h1").await, "Pump faster");
    wait_for_texts(&page, FILES, &["modified pipe.py +1 −1"]).await;
    wait_for_texts(&page, "#main .diff [data-sign='+']", &["6 added + rate = 20"]).await;
    assert!(page.eval("document.querySelector('#main .diff .m-n') !== null").await);
    assert!(page.eval("document.querySelector('.commit-message a') === null").await);
    check_appearance(&page, "history-commit").await;
    let commit = page.url().await;
    // The file as it was in it.
    page.click_text("link", "As it was in this commit").await;
    page.wait_for_text("The file is shown as it was in the commit").await;
    page.wait_for(
        "document.querySelector('.line[data-line=\"6\"]')?.innerText.includes('20')",
        "20",
    )
    .await;
    check_appearance(&page, "history-file").await;
    page.reload().await;
    page.wait_for_text("The file is shown as it was in the commit").await;
    page.go_back().await;
    page.wait_for("!document.querySelector('#source').checkVisibility()", "no source").await;
    assert_eq!(page.url().await, commit);
    page.go_back().await;
    wait_for_open_lines(&page, "pump.py:6").await;
    assert_eq!(page.url().await, source);
    page.wait_for("document.querySelector('.use .diff')", "the history").await;
    page.assert_faultless().await;
}

#[tokio::test]
async fn a_file_has_a_history_and_commits_lead_to_others() {
    let (_server, _browser, page) = open_plant("source?path=pump.py&repository=plant").await;
    page.click_text("link", "History").await;
    page.wait_for_text("4 commits changed the file.").await;
    page.click(".use:nth-child(2) summary").await;
    page.wait_for_text("No line differs.").await;
    page.click(".use:nth-child(1) summary").await;
    page.wait_for(
        "document.querySelectorAll('.use:nth-child(1) .code-line').length === 6",
        "lines",
    )
    .await;
    check_appearance(&page, "history-of-file").await;
    page.click(".use:nth-child(1) > p a").await;
    page.wait_for_text("as the message says").await;
    page.click_text("link", "The file as it is").await;
    page.wait_for("document.querySelector('.source-head h2')?.innerText === 'pump.py'", "the file")
        .await;
    let address = page.url().await;
    assert!(!address.contains("commit="), "{address}");
    let base = address.split("/commit/").next().unwrap().to_owned();
    // The address names lines, as that of a cited commit does.
    page.goto(&format!("{base}/commit/plant/HEAD~1?path=pump.py&first=6&last=6")).await;
    wait_for_texts(&page, ".diff [aria-current=true]", &["6 added + rate = 10"]).await;
    page.click_text("link", "As it was in this commit").await;
    wait_for_open_lines(&page, "pump.py:6").await;
    // From a revert to its parent, and to the merge by its name.
    page.goto(&format!("{base}/commit/plant/HEAD")).await;
    page.wait_for_text("merge of 2 commits").await;
    wait_for_texts(&page, FILES, &["added side.py +2 −0"]).await;
    wait_for_texts(
        &page,
        "#main .diff .code-line",
        &["1 added +def side():", "2 added + return 3"],
    )
    .await;
    page.click(".facts-list dd a[href*='/commit/']").await;
    page.wait_for_text("Revert \"Pump faster\"").await;
    page.goto(&format!("{base}/commit/plant/gone")).await;
    page.wait_for_text("is no branch, tag or commit of it").await;
    page.take_faults().await;
    page.goto(&format!("{base}/commit/plant")).await;
    page.wait_for_text("No commit is named.").await;
    page.assert_faultless().await;
}

#[tokio::test]
async fn the_history_is_reached_by_the_keyboard_alone() {
    let (_server, _browser, page) = open_plant("repositories?at=pump.py:6&in=plant").await;
    wait_for_open_lines(&page, "pump.py:6").await;
    page.wait_for("document.activeElement.matches('h1')", "the view").await;
    page.press_key("c").await;
    page.wait_for("document.activeElement.matches('.use a')", "the first commit").await;
    page.press_key("j").await;
    page.wait_for("document.activeElement.innerText === 'Pump faster'", "the second").await;
    page.press_key("Escape").await;
    page.wait_for("document.activeElement.matches('.lines')", "the lines again").await;
    assert!(page.eval("!document.querySelector('.use')?.checkVisibility()").await);
    page.press_key("c").await;
    page.wait_for("document.activeElement.matches('.use a')", "the first commit").await;
    page.press_key("j").await;
    page.press_key("o").await;
    page.wait_for("document.activeElement.matches('h1.commit-subject')", "the commit").await;
    page.press_key("j").await;
    page.wait_for("document.activeElement.matches('.changes summary')", "its file").await;
    page.press_key("o").await;
    page.wait_for("!document.querySelector('.changes details').open", "a closed file").await;
    page.press_key("o").await;
    page.wait_for("document.querySelector('.changes details').open", "an open file").await;
    page.assert_faultless().await;
}

#[tokio::test]
async fn hostile_commits_stay_text_and_large_ones_are_cut() {
    let server = InProcessServer::start().await;
    let folder = server.folder.path().join("plant");
    let name = format!("{}.py", IMAGE.replace('/', ""));
    server.write(&format!("plant/{name}"), &format!("x = \"{IMAGE}\"\n"));
    for number in 0..30 {
        server.write(&format!("plant/many/file{number}.py"), "y = 1\n");
    }
    server.write("plant/huge.py", &"z = 1\n".repeat(60_000));
    commit_all(
        &folder,
        &format!("{IMAGE} \u{202e}subject\n\n{IMAGE}\n</p><script>window.ran = 2</script>"),
    );
    run_git(&folder, &["config", "user.name", IMAGE]);
    server.ingest("plant", "a plant").await;
    let (_browser, page) = open_page(&server).await;
    let address =
        format!("'#/commit/plant/HEAD?' + new URLSearchParams({{ path: {} }})", json!(name));
    page.eval::<()>(&format!("void (location.hash = {address})")).await;
    page.wait_for("document.querySelector('.changes .diff')", "the difference").await;
    assert_inert(&page, &[IMAGE, &name, "<script>window.ran = 2</script>", "32 files changed"])
        .await;
    // Of many files, only those that are opened are read.
    let asked = page.requests().into_iter().filter(|one| one.url.contains("/symbols/history"));
    assert_eq!(asked.count(), 2);
    check_appearance(&page, "history-hostile").await;
    page.click(".changes li:nth-child(2) summary").await;
    page.wait_for_text("More lines differ than the 2,000 lines shown here.").await;
    let of = format!(
        "'#/search?' + new URLSearchParams({{ at: {0}, in: 'plant', of: {0}, 'of-in': 'plant', uses: 'history' }})",
        json!(name)
    );
    page.eval::<()>(&format!("void (location.hash = {of})")).await;
    page.wait_for("document.querySelector('.use')", "a commit").await;
    assert_inert(&page, &[IMAGE, &name]).await;
}

#[tokio::test]
async fn commits_are_found_by_their_messages() {
    let (_server, _browser, page) = open_plant("search?q=boiler%20needs&what=commits").await;
    page.wait_for("document.querySelector('.results .use a')", "a commit").await;
    let found = page.read_text(".results .use").await;
    for part in ["Pump faster", "The boiler needs it: see", "Somebody", "pipe.py"] {
        assert!(found.contains(part), "{found}");
    }
    check_appearance(&page, "history-search").await;
    page.press_key("/").await;
    page.press_key("Enter").await;
    page.wait_for("document.activeElement.matches('.results .use a')", "the first").await;
    page.press_key("Enter").await;
    page.wait_for("document.querySelector('h1.commit-subject')", "the commit").await;
    page.go_back().await;
    page.wait_for("document.querySelector('.results .use a')", "the commits again").await;
    let what = "document.getElementById('search-what')";
    page.eval::<()>(&format!(
        "void ({what}.value = '', {what}.dispatchEvent(new Event('change')))"
    ))
    .await;
    page.wait_for("document.querySelector('.results .result')", "code").await;
    assert!(!page.url().await.contains("what="), "{}", page.url().await);
    page.assert_faultless().await;
}
