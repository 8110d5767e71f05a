//! Repositories on the page, in a real browser: added with their progress, cancelled, embedded again, removed.

use std::{fmt::Write, fs, path::Path, time::Duration};

use codeinfo_test_support::{
    embeddings::{EmbeddingAnswer, FakeEmbeddingServer},
    wire::send_get,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    listeners::InProcessServer,
    page_browser::{check_appearance, open_page},
    support::{
        browser::{BrowserPage, TestBrowser},
        process::{RunningServer, create_scratch_folder},
    },
};

/// Writes enough files that the progress of indexing is visible.
fn write_many(folder: &Path) {
    fs::create_dir_all(folder.join("src")).unwrap();
    for file in 0..400 {
        let mut text = String::new();
        for part in 0..20 {
            writeln!(text, "/// Counts what part {part} of file {file} has.").unwrap();
            writeln!(text, "pub fn count_{file}_{part}(words: &[&str]) -> usize {{").unwrap();
            writeln!(text, "    words.iter().filter(|word| word.len() > {part}).count()\n}}\n")
                .unwrap();
        }
        fs::write(folder.join(format!("src/file_{file}.rs")), text).unwrap();
    }
}

/// Starts a service that embeds slowly enough that progress is visible.
async fn start_slow_embeddings() -> FakeEmbeddingServer {
    FakeEmbeddingServer::start_with_script(|_| EmbeddingAnswer::Late(Duration::from_secs(1))).await
}

/// Starts a server whose page lists the folders below one of its own, and which embeds with the service.
async fn start_server(embeddings: &FakeEmbeddingServer) -> (InProcessServer, TempDir) {
    let roots = create_scratch_folder();
    let path = roots.path().canonicalize().unwrap().display().to_string();
    let settings = [
        ("FOLDER_ROOTS", path.as_str()),
        ("EMBEDDING_URL", embeddings.url.as_str()),
        ("EMBEDDING_MODEL", "stand-in"),
    ];
    (InProcessServer::start_with(&settings).await, roots)
}

/// Waits until the progress of a run shows files, chunks and the remaining time.
async fn wait_for_progress(page: &BrowserPage) {
    let bar = "document.querySelector('.run progress')";
    page.wait_for(&format!("{bar}?.value > 0 && {bar}.value < 100"), "the progress").await;
    for words in ["Embeds", "files", "/s", "left"] {
        page.wait_for(
            &format!("document.querySelector('.run').innerText.includes('{words}')"),
            words,
        )
        .await;
    }
}

async fn list_roots(server: &InProcessServer) -> Vec<Value> {
    let roots = send_get(server.main, "/ingest/roots").await.json();
    roots["roots"].as_array().unwrap().clone()
}

async fn wait_for_card(page: &BrowserPage, words: &str) {
    let condition =
        format!("document.querySelector('.card')?.innerText.includes({})", json!(words));
    page.wait_for(&condition, words).await;
}

#[tokio::test]
async fn a_folder_is_chosen_and_indexed_with_its_progress_and_removed() {
    let embeddings = start_slow_embeddings().await;
    let (server, folder) = start_server(&embeddings).await;
    let write = |path: &str, text: &str| {
        let file = folder.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    write("atelier/shop/.git/HEAD", "ref: refs/heads/main\n");
    write("atelier/shop/src/lib.rs", "pub fn sell() {}\n");
    write("atelier/shop/notes.md", "# Shop\n\nSells.\n");
    write("atelier/shop/huge.rs", &"x".repeat(3 << 20));
    write("atelier/empty/.keep", "");
    write_many(&folder.path().join("atelier/shop"));
    let (_browser, page) = open_page(&server).await;
    page.click_text("link", "Repositories").await;
    page.wait_for_text("Nothing is indexed yet.").await;
    check_appearance(&page, "no-repositories").await;
    page.click("main button.primary").await;
    page.wait_for_text("Add a folder").await;
    let name = folder.path().file_name().unwrap().to_str().unwrap();
    page.click_text("button", name).await;
    page.click_text("button", "atelier").await;
    page.click_text("button", "shop").await;
    page.wait_for(
        "document.querySelector('#folder-path').value.endsWith('/atelier/shop')",
        "the path",
    )
    .await;
    page.click_text("button", "Up").await;
    page.wait_for_text("git").await;
    check_appearance(&page, "folders").await;
    page.click_text("button", "shop").await;
    page.wait_for(
        "document.querySelector('#folder-path').value.endsWith('/atelier/shop')",
        "the path",
    )
    .await;
    page.fill_field("#folder-description", "where things are sold").await;
    page.click("dialog button[type=submit]").await;
    page.wait_for("!document.querySelector('dialog[open]')", "no dialog").await;
    wait_for_progress(&page).await;
    check_appearance(&page, "progress").await;
    embeddings.replace_script(|_| EmbeddingAnswer::Vectors);
    wait_for_card(&page, "Completed").await;
    wait_for_card(&page, "402 files · 1,").await;
    check_appearance(&page, "repositories").await;
    assert_eq!(list_roots(&server).await[0]["description"], "where things are sold");
    check_repository_actions(&server, &page).await;
    assert!(folder.path().join("atelier/shop/src/lib.rs").is_file(), "files are left alone");
    page.assert_faultless().await;
}

/// Looks at the one repository, embeds it again, and removes it.
async fn check_repository_actions(server: &InProcessServer, page: &BrowserPage) {
    page.click(".card h2 a").await;
    page.wait_for_text("Languages").await;
    page.wait_for_text("rust").await;
    page.wait_for_text("Last run").await;
    page.wait_for_text("1 file skipped").await;
    page.wait_for_text("huge.rs").await;
    page.wait_for_text("where things are sold").await;
    check_appearance(page, "repository").await;
    page.click_text("button", "Embed again").await;
    page.wait_for_text("Embed shop again?").await;
    check_appearance(page, "embed-again").await;
    page.click("dialog .danger").await;
    page.wait_for(
        "document.querySelector('.run')?.innerText.includes('Completed')",
        "the end of the run",
    )
    .await;
    page.click_text("button", "Remove").await;
    page.wait_for_text("Remove shop?").await;
    check_appearance(page, "remove").await;
    page.press_key("Escape").await;
    page.wait_for("!document.querySelector('dialog[open]')", "no dialog").await;
    assert_eq!(list_roots(server).await.len(), 1);
    page.click_text("button", "Remove").await;
    page.wait_for("document.querySelector('dialog[open]')", "the dialog").await;
    page.click("dialog .danger").await;
    page.wait_for_text("Nothing is indexed yet.").await;
    assert!(list_roots(server).await.is_empty());
}

#[tokio::test]
async fn a_run_is_watched_from_a_page_that_comes_later_and_cancelled_there() {
    let embeddings = start_slow_embeddings().await;
    let (server, folder) = start_server(&embeddings).await;
    let path = folder.path().join("large");
    write_many(&path);
    let body = json!({ "path": path, "name": "large" }).to_string();
    let started =
        codeinfo_test_support::wire::send_post(server.main, "/ingest/start", &body).await.json();
    let (_browser, page) = open_page(&server).await;
    page.goto(&format!("http://{}/#/repositories", server.main)).await;
    wait_for_progress(&page).await;
    // The server is unreachable for a while, and then another process.
    let answers = async |reply: &str| {
        let change = format!(
            "void (globalThis.fetched ??= fetch, globalThis.fetch = (path, ...rest) =>
                String(path).includes('/ingest/status/') ? {reply} : fetched(path, ...rest))"
        );
        page.eval::<()>(&change).await;
    };
    answers("Promise.reject(new TypeError())").await;
    wait_for_card(&page, "The progress is unknown").await;
    wait_for_card(&page, "The server does not answer").await;
    answers("fetched(path, ...rest)").await;
    page.click_text("button", "Try again").await;
    wait_for_progress(&page).await;
    assert!(!page.read_text(".card").await.contains("does not answer"));
    answers("new Response('{}', { status: 404 })").await;
    wait_for_card(&page, "The server was restarted").await;
    assert!(page.eval::<bool>("!document.querySelector('.run progress').checkVisibility()").await);
    page.reload().await;
    wait_for_progress(&page).await;
    page.click_text("button", "Cancel").await;
    wait_for_card(&page, "Cancelled").await;
    // The periodic refresh does not move the focus, also once the list contains the end of the run.
    let state = "document.querySelector('.card h2 + span')?.textContent === 'Cancelled'";
    page.wait_for(state, "the state in the list").await;
    page.eval::<()>("void (globalThis.at = document.querySelector('.card h2 a')).focus()").await;
    let read = "performance.getEntriesByType('resource').filter(one => one.name.endsWith('/ingest/roots')).length";
    for _ in 0..2 {
        let before = page.eval::<usize>(read).await;
        page.eval::<()>("void document.dispatchEvent(new Event('visibilitychange'))").await;
        page.wait_for(&format!("{read} > {before}"), "the repositories once more").await;
    }
    assert!(page.eval::<bool>("document.activeElement === at").await);
    let run = started["runId"].as_str().unwrap();
    let status = send_get(server.main, &format!("/ingest/status/{run}")).await.json();
    assert_eq!(status["state"], "cancelled", "{status}");
    page.assert_faultless().await;
}

#[tokio::test]
async fn a_folder_that_cannot_be_indexed_is_refused_with_the_reason() {
    let embeddings = FakeEmbeddingServer::start().await;
    let (server, folder) = start_server(&embeddings).await;
    let (_browser, page) = open_page(&server).await;
    page.goto(&format!("http://{}/#/repositories?add=1", server.main)).await;
    page.wait_for_text("Folder").await;
    page.wait_for("document.querySelector('dialog .folder')", "the folders").await;
    // A folder beyond the listed ones.
    page.fill_field("#folder-path", "/proc").await;
    page.click("dialog button[type=submit]").await;
    page.wait_for("document.querySelector('dialog .problem')", "what is wrong").await;
    page.fill_field("#folder-path", &folder.path().join("none").display().to_string()).await;
    page.click("dialog button[type=submit]").await;
    page.wait_for("document.querySelector('dialog .problem')", "what is wrong").await;
    check_appearance(&page, "folder-refused").await;
    let faults = page.take_faults().await;
    assert!(faults.iter().all(|fault| fault.contains("the server responded with")), "{faults:?}");
    assert!(list_roots(&server).await.is_empty());
}

#[tokio::test]
async fn a_repository_says_whether_it_is_watched_and_how_large_it_is() {
    let (data, place) = (create_scratch_folder(), create_scratch_folder());
    let demo = place.path().canonicalize().unwrap().join("demo");
    fs::create_dir(&demo).unwrap();
    fs::write(demo.join("a.rs"), "pub fn a() {}\n").unwrap();
    let settings = [("CODEX_BIN", "/nonexistent/codex"), ("WATCH", "true")];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let program = RunningServer::serve(data.path(), &[&demo], &settings).await;
    let browser = TestBrowser::start().await;
    let page = browser.open_page(&program.main).await;
    let fact = |name: &str| {
        format!(
            "[...document.querySelectorAll('.facts-list dt')].find(one => one.innerText === '{name}')?.nextSibling.innerText"
        )
    };
    page.retry_until("that it is watched", async || {
        page.goto(&format!("{}/#/status", program.main)).await;
        page.goto(&format!("{}/#/repositories/demo", program.main)).await;
        page.wait_for("document.querySelector('.facts-list')", "the facts").await;
        let watching = page.eval::<String>(&fact("Watching")).await;
        if watching == "Changes are indexed as they happen" { Ok(()) } else { Err(watching) }
    })
    .await;
    let size = page.eval::<String>(&fact("Size on disk")).await;
    assert!(size.ends_with("KB") || size.ends_with("bytes") || size.ends_with("MB"), "{size}");
    check_appearance(&page, "watched").await;
    page.assert_faultless().await;
    assert!(program.terminate().await.success());
}
