//! The page in a real browser: its appearance in every view, its restrictions, and how the browser reports faults.

use std::{
    collections::HashMap,
    fs,
    io::Write,
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

use codeinfo_core::task::Tasks;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::{
    listeners::InProcessServer,
    support::{
        browser::{BrowserPage, ColorTheme, TestBrowser},
        process::create_scratch_folder,
    },
};

/// Looks at a place of the page in every way that it must work: light, dark, and as narrow as a phone.
pub(crate) async fn check_appearance(page: &BrowserPage, name: &str) {
    check_appearance_after(page, name, async || ()).await;
}

/// Checks a view in every way, each time after it was prepared: the pointer or the focus may move
/// when the window changes.
pub(crate) async fn check_appearance_after(
    page: &BrowserPage,
    name: &str,
    prepare: impl AsyncFn(),
) {
    for (theme, width, kind) in [
        (ColorTheme::Light, 1280, "light"),
        (ColorTheme::Dark, 1280, "dark"),
        (ColorTheme::Light, 360, "narrow"),
        (ColorTheme::Dark, 360, "narrow-dark"),
    ] {
        page.set_theme(theme).await;
        page.set_size(width, 800).await;
        prepare().await;
        page.save_screenshot(&format!("{name}-{kind}")).await;
        let what = format!("{name} {kind}");
        assert_eq!(page.find_overflow().await, <[&str; 0]>::default(), "{what}");
        assert_eq!(page.find_accessibility_faults().await, <[&str; 0]>::default(), "{what}");
    }
    page.set_theme(ColorTheme::Light).await;
    page.set_size(1280, 800).await;
}

/// Notes a figure for who reads it, in `target/screenshots/figures.txt`: no test depends on it.
pub(crate) fn write_figure(what: &str, figure: &Value) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("screenshots");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("figures.txt");
    let mut file = fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
    writeln!(file, "{what}: {figure}").unwrap();
}

/// Opens the page of a server.
pub(crate) async fn open_page(server: &InProcessServer) -> (TestBrowser, BrowserPage) {
    let browser = TestBrowser::start().await;
    let page = browser.open_page(&format!("http://{}/", server.main)).await;
    (browser, page)
}

#[tokio::test]
async fn the_page_opens_without_a_fault_in_light_and_dark_and_on_a_phone() {
    let server = InProcessServer::start().await;
    let (_browser, page) = open_page(&server).await;
    page.wait_for("document.title.includes('CodeInfo')", "the title").await;
    check_appearance(&page, "start").await;
    page.assert_faultless().await;
}

const BAD: &str = r#"<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Bad</title><link rel="icon" href="data:,"></head>
<body>
<script>window.inline = true</script>
<img src="http://elsewhere.example/x.png">
<button style="width: 20px"></button>
<p id="wide">wide</p>
<a href="./#further">Further</a>
<a href="/bad.js" download>The script</a>
<input id="field">
<script src="/bad.js"></script>
</body>
</html>"#;

const BAD_SCRIPT: &str = r"
console.error('an error', 7);
document.querySelector('#wide').style.width = '5000px';
Promise.reject(new Error('forgotten'));
setTimeout(() => { throw new TypeError('thrown'); }, 0);
fetch('/none');
window.keys = [];
addEventListener('keydown', event => window.keys.push(event.key));
document.querySelector('button').addEventListener('click', () => { window.sure = confirm('Sure?'); });
";

/// Serves files, each with its path and type, under a content security policy.
pub(crate) async fn serve_files(
    tasks: &Tasks,
    files: &[(&str, &str, &str)],
    policy: &str,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let reply = |status: &str, kind: &str, body: &str| {
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\
             content-security-policy: {policy}\r\n\r\n{body}",
            body.len()
        )
    };
    let all: HashMap<String, String> = files
        .iter()
        .map(|(path, kind, body)| ((*path).to_owned(), reply("200 OK", kind, body)))
        .collect();
    let none = reply("404 Not Found", "text/plain", "");
    tasks.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let length = stream.read(&mut request).await.unwrap_or_default();
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            let path = request.split(' ').nth(1).unwrap_or_default();
            stream.write_all(all.get(path).unwrap_or(&none).as_bytes()).await.ok();
        }
    });
    address
}

/// Serves a page that does what it should not.
async fn serve_bad_page(tasks: &Tasks) -> SocketAddr {
    let files = [("/", "text/html", BAD), ("/bad.js", "text/javascript", BAD_SCRIPT)];
    serve_files(tasks, &files, "default-src 'self'").await
}

#[tokio::test]
async fn faults_of_a_page_are_detected() {
    let (tasks, browser) = (Tasks::default(), TestBrowser::start().await);
    let page = browser.open_page(&format!("http://{}/", serve_bad_page(&tasks).await)).await;
    page.wait_for("window.keys", "the script").await;
    let wanted = [
        "Executing inline script violates",
        "Applying inline style violates",
        "ContentSecurityPolicyIssue",
        "console error: an error 7",
        "thrown: Error: forgotten",
        "thrown: TypeError: thrown",
        "a request to http://elsewhere.example/x.png",
        "status of 404 (Not Found) http://127.0.0.1:",
    ];
    // The last of them come after the script.
    let mut faults = String::new();
    let began = Instant::now();
    while !wanted.iter().all(|wanted| faults.contains(wanted)) {
        assert!(began.elapsed() < Duration::from_secs(30), "{wanted:?}: {faults}");
        faults += &page.take_faults().await.join("\n");
        tokio::task::yield_now().await;
    }
    page.assert_faultless().await;
    assert!(page.eval::<bool>("window.inline === undefined").await);
    let sticks_out = page.find_overflow().await.join("\n");
    assert!(sticks_out.contains("5000") || sticks_out.contains("id=\"wide\""), "{sticks_out}");
    let findings = page.find_accessibility_faults().await.join("\n");
    for wanted in ["critical button-name: ", "critical image-alt: ", "critical label: "] {
        assert!(findings.contains(wanted), "no {wanted}: {findings}");
    }
    let slow = async || {
        let busy = "const end = performance.now() + 200; while (performance.now() < end);";
        page.eval::<()>(&format!("new Promise(requestAnimationFrame).then(() => {{ {busy} }})"))
            .await;
    };
    assert!(!page.measure_slow_frames(150.0, slow()).await.is_empty());
    // On a busy machine the browser may begin to trace after the task.
    let began = Instant::now();
    while page.measure_slow_tasks(2, slow()).await.is_empty() {
        assert!(began.elapsed() < Duration::from_secs(30), "no task of 200 ms is seen");
    }
    tasks.stop_token().cancel();
}

#[tokio::test]
async fn input_arrives_as_real_events() {
    let (tasks, browser) = (Tasks::default(), TestBrowser::start().await);
    let url = format!("http://{}/", serve_bad_page(&tasks).await);
    let page = browser.open_page(&url).await;
    page.wait_for("window.keys", "the script").await;
    page.take_faults().await;
    page.fill_field("#field", "Ask: a/b? ä").await;
    assert_eq!(page.eval::<String>("document.querySelector('#field').value").await, "Ask: a/b? ä");
    for key in ["Escape", "Shift+Tab", "Shift+Tab", "Shift+Tab", "Enter"] {
        page.press_key(key).await;
    }
    page.wait_for("window.sure === false", "the answer to a dialog").await;
    let keys = page.eval::<Vec<String>>("keys.slice(-5)").await;
    assert_eq!(keys, ["Escape", "Tab", "Tab", "Tab", "Enter"]);
    assert_eq!(page.take_faults().await, ["a dialog: Sure?"]);
    page.hover("#wide").await;
    page.wait_for("document.querySelector('#wide:hover')", "the pointer").await;
    // By the names that screen readers have.
    assert_eq!(page.list_names_of_role("link").await, ["Further", "The script"]);
    page.click_text("link", "Further").await;
    page.wait_for("location.hash === '#further'", "another place").await;
    assert_eq!(page.url().await, format!("{url}#further"));
    page.go_back().await;
    assert_eq!(page.url().await, url);
    let folder = create_scratch_folder();
    page.save_downloads(folder.path()).await;
    page.click_text("link", "script").await;
    let file = folder.path().join("bad.js");
    page.retry_until("a file", async || {
        let text = fs::read_to_string(&file).unwrap_or_default();
        if text == BAD_SCRIPT { Ok(()) } else { Err(text) }
    })
    .await;
    page.eval::<()>("void localStorage.setItem('kept', 'yes')").await;
    page.reload().await;
    page.wait_for("keys.length === 0", "the script once more").await;
    let kept = "localStorage.getItem('kept')";
    let (same, other) = (page.open_another(&url).await, browser.open_page(&url).await);
    assert_eq!(same.eval::<Option<String>>(kept).await.as_deref(), Some("yes"));
    assert_eq!(other.eval::<Option<String>>(kept).await, None);
    page.allow_clipboard().await;
    page.eval::<()>("navigator.clipboard.writeText('copied')").await;
    assert_eq!(page.read_clipboard().await, "copied");
    page.wait_for_text("wide").await;
    assert_eq!(page.read_text("#wide").await, "wide");
    assert_eq!(page.read_texts("a").await, ["Further", "The script"]);
    let script = page.requests().into_iter().find(|request| request.url.ends_with("/bad.js"));
    let script = script.unwrap();
    assert_eq!(script.status, 200);
    assert!(script.bytes >= BAD_SCRIPT.len() as u64, "{script:?}");
    tasks.stop_token().cancel();
}

/// The cost of the page: written down for readers, and bounded where it does not depend on the machine.
#[tokio::test]
async fn the_page_loads_from_this_server_alone_and_is_small() {
    let server = InProcessServer::start().await;
    server.ingest_demo().await;
    let (_browser, page) = open_page(&server).await;
    page.wait_for_text("Ask about your code").await;
    let files = |page: &BrowserPage| -> Vec<_> {
        let of_page = |url: &str| {
            url.contains("/page/") && !url.ends_with("/page/config") || url.ends_with('/')
        };
        page.requests().into_iter().filter(|one| of_page(&one.url)).collect()
    };
    let bytes = |page: &BrowserPage| files(page).iter().map(|one| one.bytes).sum::<u64>();
    let paint: f64 = page
        .eval("performance.getEntriesByType('paint').find(one => one.name === 'first-contentful-paint').startTime")
        .await;
    write_figure("first contentful paint, in ms", &json!(paint));
    write_figure("requests of the first view, files alone", &json!(files(&page).len()));
    write_figure("bytes of the first view, files alone, with headers", &json!(bytes(&page)));
    for name in ["Search", "Repositories", "Map", "Status"] {
        page.click_text("link", name).await;
        page.wait_for(&format!("document.title.startsWith('{name}')"), name).await;
        check_appearance(&page, &format!("view-{}", name.to_lowercase())).await;
    }
    write_figure("bytes of all views, files alone, with headers", &json!(bytes(&page)));
    assert!(bytes(&page) < 150_000, "{} bytes", bytes(&page));
    page.assert_faultless().await;
}
