//! Repositories on the page, in a real browser: added with their progress, cancelled, embedded again, removed.

use std::{fmt::Write, fs, path::Path, time::Duration};

use codeinfo_test_support::{
    embeddings::{Embeddings, Reply},
    wire::get,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    listeners::Listeners,
    page_browser::{looks_right, open},
    support::{
        browser::{Browser, Page},
        process::{Program, fresh},
    },
};

/// Writes so many files that indexing them is seen.
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

/// A service that embeds so slowly that its progress is seen.
async fn slow() -> Embeddings {
    Embeddings::answer(|_| Reply::Late(Duration::from_secs(1))).await
}

/// A server whose page lists the folders below one of its own, and which embeds as the service does.
async fn start(embeddings: &Embeddings) -> (Listeners, TempDir) {
    let roots = fresh();
    let path = roots.path().canonicalize().unwrap().display().to_string();
    let settings = [
        ("FOLDER_ROOTS", path.as_str()),
        ("EMBEDDING_URL", embeddings.url.as_str()),
        ("EMBEDDING_MODEL", "stand-in"),
    ];
    (Listeners::start_with(&settings).await, roots)
}

/// Waits until the progress of a run says what somebody who waits wants to know.
async fn progress(page: &Page) {
    let bar = "document.querySelector('.run progress')";
    page.wait(&format!("{bar}?.value > 0 && {bar}.value < 100"), "the progress").await;
    for words in ["Embeds", "files", "/s", "left"] {
        page.wait(&format!("document.querySelector('.run').innerText.includes('{words}')"), words)
            .await;
    }
}

async fn roots(server: &Listeners) -> Vec<Value> {
    let roots = get(server.main, "/ingest/roots").await.json();
    roots["roots"].as_array().unwrap().clone()
}

async fn card(page: &Page, words: &str) {
    let condition =
        format!("document.querySelector('.card')?.innerText.includes({})", json!(words));
    page.wait(&condition, words).await;
}

#[tokio::test]
async fn a_folder_is_chosen_and_indexed_with_its_progress_and_removed() {
    let embeddings = slow().await;
    let (server, folder) = start(&embeddings).await;
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
    let (_browser, page) = open(&server).await;
    page.click_text("link", "Repositories").await;
    page.sees("Nothing is indexed yet.").await;
    looks_right(&page, "no-repositories").await;
    page.click("main button.primary").await;
    page.sees("Add a folder").await;
    let name = folder.path().file_name().unwrap().to_str().unwrap();
    page.click_text("button", name).await;
    page.click_text("button", "atelier").await;
    page.click_text("button", "shop").await;
    page.wait("document.querySelector('#folder-path').value.endsWith('/atelier/shop')", "the path")
        .await;
    page.click_text("button", "Up").await;
    page.sees("git").await;
    looks_right(&page, "folders").await;
    page.click_text("button", "shop").await;
    page.wait("document.querySelector('#folder-path').value.endsWith('/atelier/shop')", "the path")
        .await;
    page.fill("#folder-description", "where things are sold").await;
    page.click("dialog button[type=submit]").await;
    page.wait("!document.querySelector('dialog[open]')", "no dialog").await;
    progress(&page).await;
    looks_right(&page, "progress").await;
    embeddings.now(|_| Reply::Vectors);
    card(&page, "Completed").await;
    card(&page, "402 files · 1,").await;
    looks_right(&page, "repositories").await;
    assert_eq!(roots(&server).await[0]["description"], "where things are sold");
    is_looked_after(&server, &page).await;
    assert!(folder.path().join("atelier/shop/src/lib.rs").is_file(), "files are left alone");
    page.is_faultless().await;
}

/// Looks at the one repository, embeds it again, and removes it.
async fn is_looked_after(server: &Listeners, page: &Page) {
    page.click(".card h2 a").await;
    page.sees("Languages").await;
    page.sees("rust").await;
    page.sees("Last run").await;
    page.sees("1 file skipped").await;
    page.sees("huge.rs").await;
    page.sees("where things are sold").await;
    looks_right(page, "repository").await;
    page.click_text("button", "Embed again").await;
    page.sees("Embed shop again?").await;
    looks_right(page, "embed-again").await;
    page.click("dialog .danger").await;
    page.wait(
        "document.querySelector('.run')?.innerText.includes('Completed')",
        "the end of the run",
    )
    .await;
    page.click_text("button", "Remove").await;
    page.sees("Remove shop?").await;
    looks_right(page, "remove").await;
    page.press("Escape").await;
    page.wait("!document.querySelector('dialog[open]')", "no dialog").await;
    assert_eq!(roots(server).await.len(), 1);
    page.click_text("button", "Remove").await;
    page.wait("document.querySelector('dialog[open]')", "the dialog").await;
    page.click("dialog .danger").await;
    page.sees("Nothing is indexed yet.").await;
    assert!(roots(server).await.is_empty());
}

#[tokio::test]
async fn a_run_is_watched_from_a_page_that_comes_later_and_cancelled_there() {
    let embeddings = slow().await;
    let (server, folder) = start(&embeddings).await;
    let path = folder.path().join("large");
    write_many(&path);
    let body = json!({ "path": path, "name": "large" }).to_string();
    let started =
        codeinfo_test_support::wire::post(server.main, "/ingest/start", &body).await.json();
    let (_browser, page) = open(&server).await;
    page.goto(&format!("http://{}/#/repositories", server.main)).await;
    progress(&page).await;
    // The server is away for a while, and then another process.
    let answers = async |reply: &str| {
        let change = format!(
            "void (globalThis.fetched ??= fetch, globalThis.fetch = (path, ...rest) =>
                String(path).includes('/ingest/status/') ? {reply} : fetched(path, ...rest))"
        );
        page.eval::<()>(&change).await;
    };
    answers("Promise.reject(new TypeError())").await;
    card(&page, "The progress is unknown").await;
    card(&page, "The server does not answer").await;
    answers("fetched(path, ...rest)").await;
    page.click_text("button", "Try again").await;
    progress(&page).await;
    assert!(!page.text(".card").await.contains("does not answer"));
    answers("new Response('{}', { status: 404 })").await;
    card(&page, "The server was restarted").await;
    assert!(page.eval::<bool>("!document.querySelector('.run progress').checkVisibility()").await);
    page.reload().await;
    progress(&page).await;
    page.click_text("button", "Cancel").await;
    card(&page, "Cancelled").await;
    // What is read by the clock leaves the focus where it is, once the list knows of the end, too.
    let state = "document.querySelector('.card h2 + span')?.textContent === 'Cancelled'";
    page.wait(state, "the state in the list").await;
    page.eval::<()>("void (globalThis.at = document.querySelector('.card h2 a')).focus()").await;
    let read = "performance.getEntriesByType('resource').filter(one => one.name.endsWith('/ingest/roots')).length";
    for _ in 0..2 {
        let before = page.eval::<usize>(read).await;
        page.eval::<()>("void document.dispatchEvent(new Event('visibilitychange'))").await;
        page.wait(&format!("{read} > {before}"), "the repositories once more").await;
    }
    assert!(page.eval::<bool>("document.activeElement === at").await);
    let run = started["runId"].as_str().unwrap();
    let status = get(server.main, &format!("/ingest/status/{run}")).await.json();
    assert_eq!(status["state"], "cancelled", "{status}");
    page.is_faultless().await;
}

#[tokio::test]
async fn a_folder_that_cannot_be_indexed_is_refused_with_the_reason() {
    let embeddings = Embeddings::well().await;
    let (server, folder) = start(&embeddings).await;
    let (_browser, page) = open(&server).await;
    page.goto(&format!("http://{}/#/repositories?add=1", server.main)).await;
    page.sees("Folder").await;
    page.wait("document.querySelector('dialog .folder')", "the folders").await;
    // Beyond what is listed.
    page.fill("#folder-path", "/proc").await;
    page.click("dialog button[type=submit]").await;
    page.wait("document.querySelector('dialog .problem')", "what is wrong").await;
    page.fill("#folder-path", &folder.path().join("none").display().to_string()).await;
    page.click("dialog button[type=submit]").await;
    page.wait("document.querySelector('dialog .problem')", "what is wrong").await;
    looks_right(&page, "folder-refused").await;
    let faults = page.faults().await;
    assert!(faults.iter().all(|fault| fault.contains("the server responded with")), "{faults:?}");
    assert!(roots(&server).await.is_empty());
}

#[tokio::test]
async fn a_repository_says_whether_it_is_watched_and_how_large_it_is() {
    let (data, place) = (fresh(), fresh());
    let demo = place.path().canonicalize().unwrap().join("demo");
    fs::create_dir(&demo).unwrap();
    fs::write(demo.join("a.rs"), "pub fn a() {}\n").unwrap();
    let settings = [("CODEX_BIN", "/nonexistent/codex"), ("WATCH", "true")];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let program = Program::serve(data.path(), &[&demo], &settings).await;
    let browser = Browser::start().await;
    let page = browser.page(&program.main).await;
    let fact = |name: &str| {
        format!(
            "[...document.querySelectorAll('.facts-list dt')].find(one => one.innerText === '{name}')?.nextSibling.innerText"
        )
    };
    page.until("that it is watched", async || {
        page.goto(&format!("{}/#/status", program.main)).await;
        page.goto(&format!("{}/#/repositories/demo", program.main)).await;
        page.wait("document.querySelector('.facts-list')", "the facts").await;
        let watching = page.eval::<String>(&fact("Watching")).await;
        if watching == "Changes are indexed as they happen" { Ok(()) } else { Err(watching) }
    })
    .await;
    let size = page.eval::<String>(&fact("Size on disk")).await;
    assert!(size.ends_with("KB") || size.ends_with("bytes") || size.ends_with("MB"), "{size}");
    looks_right(&page, "watched").await;
    page.is_faultless().await;
    assert!(program.terminate().await.success());
}
