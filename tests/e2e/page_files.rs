//! The files of the page: how they are sent, to whom, and which requests of other sites are refused.

use std::{
    collections::BTreeSet,
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use codeinfo_test_support::wire::{RawReply, send_get, send_request};
use flate2::read::GzDecoder;
use insta::assert_snapshot;
use serde_json::json;

use crate::{
    listeners::InProcessServer, page_browser::write_figure, support::process::http_client,
};

const HEADERS: [&str; 11] = [
    "cache-control",
    "content-encoding",
    "content-length",
    "content-security-policy",
    "content-type",
    "cross-origin-opener-policy",
    "cross-origin-resource-policy",
    "referrer-policy",
    "vary",
    "www-authenticate",
    "x-content-type-options",
];

fn render_headers(reply: &RawReply) -> String {
    let lines = HEADERS.iter().filter_map(|name| Some(format!("{name}: {}", reply.header(name)?)));
    let length = |line: &String| !line.starts_with("content-length: ") || line.ends_with(": 0");
    lines.filter(length).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_file_of_the_page_may_be_kept_and_loads_nothing_from_elsewhere() {
    let server = InProcessServer::start().await;
    let index = send_get(server.main, "/").await;
    assert_snapshot!(render_headers(&index), @r"
    cache-control: no-cache
    content-security-policy: default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'
    content-type: text/html; charset=utf-8
    cross-origin-opener-policy: same-origin
    cross-origin-resource-policy: same-origin
    referrer-policy: no-referrer
    vary: accept-encoding
    x-content-type-options: nosniff
    ");
    let page = include_str!("../../crates/server/assets/page/index.html");
    assert_eq!((index.status, index.body.as_str()), (200, page));
    let tag = index.header("etag").unwrap();
    assert!(tag.len() == 45 && tag.starts_with('"'), "a strong one: {tag}");
    for (path, content_type) in [
        ("/page/index.html", "text/html; charset=utf-8"),
        ("/page/page.css", "text/css; charset=utf-8"),
        ("/page/icon.svg", "image/svg+xml; charset=utf-8"),
    ] {
        let file = send_get(server.main, path).await;
        assert_eq!((file.status, file.header("content-type")), (200, Some(content_type)), "{path}");
        assert_eq!(
            render_headers(&file).lines().count(),
            render_headers(&index).lines().count(),
            "{path}"
        );
    }
    let head = send_request(server.main, "HEAD", "/", &[], "").await;
    assert_eq!((head.status, head.body.as_str(), head.header("etag")), (200, "", Some(tag)));
    for path in ["/page", "/page/", "/page/none.js", "/page/..%2findex.html", "/page/a/b"] {
        assert_eq!(send_get(server.main, path).await.status, 404, "{path}");
    }
    let settings = send_get(server.main, "/page/settings").await;
    assert_eq!(settings.header("content-type"), Some("text/plain; charset=utf-8"));
    assert!(
        settings.body.contains("`DATA_DIR`")
            && render_headers(&settings).contains("frame-ancestors")
    );
    // A browser that opens a wrong address gets the page, a program an error.
    let accept = [("accept", "text/html,application/xhtml+xml,*/*;q=0.8")];
    let nowhere = send_request(server.main, "GET", "/nowhere/at/all", &accept, "").await;
    assert_eq!((nowhere.status, nowhere.body.as_str()), (404, page));
    assert!(render_headers(&nowhere).contains("frame-ancestors"));
    let unlike = send_request(server.main, "GET", "/search", &accept, "").await;
    assert_eq!((unlike.status, unlike.body.as_str()), (404, page));
    for (method, headers) in [("GET", &[("accept", "*/*")]), ("POST", &accept)] {
        let refused = send_request(server.main, method, "/nowhere", headers, "").await;
        assert_eq!(refused.json()["error"], "ROUTE_NOT_FOUND", "{method}");
    }
    let posted = send_request(server.main, "POST", "/", &[], "").await;
    assert_eq!((posted.status, posted.header("allow")), (405, Some("GET, HEAD")));
}

#[tokio::test]
async fn a_file_that_did_not_change_is_not_sent_again() {
    let server = InProcessServer::start().await;
    let asked = async |path, headers: &[(&str, &str)]| {
        send_request(server.main, "GET", path, headers, "").await
    };
    let gzip = ("accept-encoding", "gzip, br");
    let plain = asked("/", &[]).await;
    let packed = asked("/", &[gzip]).await;
    let tag = |reply: &RawReply| reply.header("etag").unwrap().to_owned();
    assert_ne!(tag(&plain), tag(&packed));
    for (known, with, wanted) in [
        (tag(&plain), vec![], 304),
        (tag(&packed), vec![gzip], 304),
        (format!("\"x\", W/{}", tag(&plain)), vec![], 304),
        (tag(&packed), vec![], 200),
        (tag(&plain), vec![gzip], 200),
        ("\"x\"".to_owned(), vec![], 200),
    ] {
        let mut all = with.clone();
        all.push(("if-none-match", known.as_str()));
        let reply = asked("/", &all).await;
        assert_eq!((reply.status, reply.body.is_empty()), (wanted, wanted == 304), "{all:?}");
        assert_eq!(reply.header("etag").unwrap().contains("gzip"), !with.is_empty(), "{all:?}");
    }
    assert_ne!(tag(&plain), tag(&asked("/page/page.css", &[]).await));
}

#[tokio::test]
async fn gzip_sends_the_same_content_in_fewer_bytes() {
    let server = InProcessServer::start().await;
    let url = format!("http://{}/page/index.html", server.main);
    let packed = http_client().get(url).header("accept-encoding", "gzip").send().await.unwrap();
    assert_eq!(packed.headers()["content-encoding"], "gzip");
    assert_eq!(packed.headers()["vary"], "accept-encoding");
    let bytes = packed.bytes().await.unwrap();
    let page = include_str!("../../crates/server/assets/page/index.html");
    assert!(bytes.len() < page.len(), "{} bytes", bytes.len());
    let mut text = String::new();
    GzDecoder::new(&*bytes).read_to_string(&mut text).unwrap();
    assert_eq!(text, page);
}

#[tokio::test]
async fn with_auth_required_the_page_itself_loads_and_nothing_else() {
    let server = InProcessServer::start_with(&[("AUTH", "required")]).await;
    for path in ["/", "/page/index.html", "/page/page.css", "/page/icon.svg"] {
        assert_eq!(send_get(server.main, path).await.status, 200, "{path}");
        // A request with a token has a principal.
        let wrong =
            send_request(server.main, "GET", path, &[("authorization", "Bearer x")], "").await;
        assert_eq!(wrong.status, 401, "{path}");
    }
    for path in [
        "//", "/page", "/page/none.js", "/page/%69ndex.html", "/page/config", "/page/%63onfig",
        "/page//config", "/index.html", "/ingest/roots",
    ] {
        assert_eq!(send_get(server.main, path).await.status, 401, "{path}");
    }
}

/// Headers of browsers for a request that a page of another site caused without an origin.
const FOREIGN: [&[(&str, &str)]; 7] = [
    &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "image")],
    &[
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "no-cors"),
        ("sec-fetch-dest", "script"),
    ],
    // Another program of this machine.
    &[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "empty")],
    // A frame.
    &[
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "iframe"),
    ],
    &[("sec-fetch-site", "cross-site")],
    &[("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")],
    &[("sec-fetch-site", "same-origin, cross-site")],
];

#[tokio::test]
async fn a_page_of_another_site_gets_nothing_with_or_without_an_origin() {
    let server = InProcessServer::start().await;
    for path in ["/", "/page/page.css", "/ingest/roots", "/health", "/chat/models"] {
        for foreign in FOREIGN {
            let reply = send_request(server.main, "GET", path, foreign, "").await;
            assert_eq!(reply.status, 403, "{path} {foreign:?}");
        }
        for named in
            [("origin", "https://evil.example"), ("origin", "null"), ("host", "evil.example")]
        {
            let reply = send_request(server.main, "GET", path, &[named], "").await;
            assert_eq!(reply.status, 403, "{path} {named:?}");
        }
        for site in ["same-origin", "none"] {
            let reply =
                send_request(server.main, "GET", path, &[("sec-fetch-site", site)], "").await;
            assert_ne!(reply.status, 403, "{path} {site}");
        }
    }
    // The one thing that others may do is to link to the page.
    let link: &[_] = &[
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
    ];
    assert_eq!(send_request(server.main, "GET", "/", link, "").await.status, 200);
    for path in ["/page/index.html", "/ingest/roots", "/metrics"] {
        assert_eq!(send_request(server.main, "GET", path, link, "").await.status, 403, "{path}");
    }
    let refused = send_request(server.mcp, "GET", "/mcp", FOREIGN[0], "").await;
    assert_snapshot!(refused.render_reply(), @r#"
    403 content-type: application/json
    {
      "error": "FORBIDDEN",
      "message": "a page of another site asked for this; open the address itself"
    }
    "#);
}

#[tokio::test]
async fn an_origin_that_is_allowed_may_be_of_another_site() {
    let server = InProcessServer::start_with(&[("ALLOWED_ORIGINS", "http://localhost:6274")]).await;
    for (origin, wanted) in [("http://localhost:6274", 200), ("http://localhost:6275", 403)] {
        let named = [("origin", origin), ("sec-fetch-site", "same-site")];
        let reply = send_request(server.main, "GET", "/ingest/roots", &named, "").await;
        assert_eq!(reply.status, wanted, "{origin}");
    }
}

fn assets_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/server/assets/page")
}

#[tokio::test]
async fn all_files_of_the_page_together_are_small() {
    let server = InProcessServer::start().await;
    let (mut files, mut plain, mut packed) = (0, 0, 0);
    for entry in fs::read_dir(assets_folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let url = format!("http://{}/page/{name}", server.main);
        let reply = http_client().get(url).header("accept-encoding", "gzip").send().await.unwrap();
        assert_eq!(reply.status(), 200, "{name}");
        packed += reply.bytes().await.unwrap().len();
        plain += fs::metadata(assets_folder().join(name)).unwrap().len();
        files += 1;
    }
    write_figure(
        "all files: how many, their bytes, and as they are sent",
        &json!([files, plain, packed]),
    );
    assert!(packed < 150_000, "{packed} bytes");
}

/// Returns the files that scripts import before they run, theirs included.
fn list_imports(scripts: &[&str]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut next: Vec<String> = scripts.iter().map(|name| (*name).to_owned()).collect();
    while let Some(name) = next.pop() {
        let text = fs::read_to_string(assets_folder().join(&name)).unwrap();
        let from = text.split("from './").skip(1);
        next.extend(from.map(|rest| rest.split('\'').next().unwrap().to_owned()));
        next.retain(|name| !found.contains(name));
        found.insert(name);
    }
    found
}

#[test]
fn the_first_view_waits_for_no_script_that_another_one_names() {
    let page = fs::read_to_string(assets_folder().join("index.html")).unwrap();
    let preloaded = page.split("modulepreload\" href=\"/page/").skip(1);
    let mut preloaded: BTreeSet<String> =
        preloaded.map(|rest| rest.split('"').next().unwrap().to_owned()).collect();
    assert!(preloaded.insert("main.js".to_owned()), "it is named as the script of the page");
    assert_eq!(preloaded, list_imports(&["main.js", "ask.js"]));
}

#[test]
fn the_page_says_the_next_step_for_every_error_that_it_may_get() {
    let next = fs::read_to_string(assets_folder().join("notice.js")).unwrap();
    let codes = ["crates/core/src/error.rs", "crates/http/src/error.rs"]
        .map(|path| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap());
    let codes = codes.concat();
    let codes = codes.split("=> \"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let codes = codes.filter(|code| code.bytes().all(|c| c.is_ascii_uppercase() || c == b'_'));
    // The page makes no tokens, and opens no WebSocket.
    let is_met = |code: &&str| !code.starts_with("TOKEN_") && *code != "UPGRADE_REQUIRED";
    let mut missing: Vec<&str> = codes.filter(is_met).collect();
    assert!(missing.len() > 30, "{missing:?}");
    missing.retain(|code| !next.contains(&format!("\n  {code}: [")));
    assert_eq!(missing, <[&str; 0]>::default());
}
