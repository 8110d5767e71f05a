//! Sessions of the page: opened by the owner with `codeinfo open`, and useless to any other client.

use std::time::Duration;

use codeinfo_test_support::wire::{RawReply, send_get, send_request};
use serde_json::{Value, json};

use crate::{
    accounts::SystemAccount,
    listeners::InProcessServer,
    support::{
        browser::TestBrowser,
        process::{RunningServer, create_scratch_folder, http_client, run_command},
    },
};

const JSON: (&str, &str) = ("content-type", "application/json");

async fn request_page(
    server: &InProcessServer,
    route: (&str, &str),
    headers: &[(&str, &str)],
    body: Value,
) -> RawReply {
    let mut all = vec![JSON];
    all.extend(headers);
    send_request(server.main, route.0, route.1, &all, &body.to_string()).await
}

/// Has the owner make a code.
async fn make_code(server: &InProcessServer) -> String {
    let owner = server.owner_header();
    let made =
        request_page(server, ("POST", "/auth/page-codes"), &[("authorization", &owner)], json!({}))
            .await;
    assert_eq!((made.status, made.header("cache-control")), (201, Some("no-store")), "{made:?}");
    made.json()["code"].as_str().unwrap().to_owned()
}

/// Opens a session as the page does, and returns its cookie and its key.
async fn open_session(server: &InProcessServer) -> (String, String) {
    let code = make_code(server).await;
    let to = ("POST", "/auth/page-sessions");
    let host = ("host", "localhost:5010");
    let opened = request_page(server, to, &[host], json!({ "code": code })).await;
    assert_eq!((opened.status, opened.header("cache-control")), (201, Some("no-store")));
    let set = opened.header("set-cookie").unwrap();
    let (cookie, attributes) = set.split_once("; ").unwrap();
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Strict");
    assert!(cookie.starts_with("codeinfo-5010=") && !opened.body.contains(cookie), "{cookie}");
    let again = request_page(server, to, &[], json!({ "code": code })).await;
    assert_eq!(again.status, 401, "{again:?}");
    assert!(again.body.contains("codeinfo open"), "{again:?}");
    (cookie.to_owned(), opened.json()["key"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_session_is_the_owners_and_needs_the_cookie_and_the_key_of_the_page() {
    let server = InProcessServer::start_with(&[("AUTH", "required")]).await;
    let (cookie, key) = open_session(&server).await;
    let status = async |headers: &[(&str, &str)]| {
        let all = [&[("host", "localhost:5010")], headers].concat();
        request_page(&server, ("GET", "/settings"), &all, json!(null)).await.status
    };
    let (both, other) = (format!("a=b; {cookie}"), cookie.replace("5010", "5012"));
    let session = ("x-codeinfo-session", key.as_str());
    assert_eq!(status(&[("cookie", &both), session]).await, 200);
    assert_eq!(status(&[("cookie", &cookie)]).await, 401, "as another port of the machine gets it");
    assert_eq!(status(&[session]).await, 401);
    assert_eq!(status(&[("cookie", &other), session]).await, 401, "of another server");
    assert_eq!(status(&[("cookie", &cookie), ("x-codeinfo-session", "x")]).await, 401);
    let page = ("origin", "http://localhost:3000");
    assert_eq!(status(&[("cookie", &cookie), session, page]).await, 403);
    let site = ("sec-fetch-site", "same-site");
    assert_eq!(status(&[("cookie", &cookie), session, site]).await, 403);
    let rebound = [("host", "evil.example:5010"), ("cookie", &cookie), session];
    assert_eq!(
        request_page(&server, ("GET", "/settings"), &rebound, json!(null)).await.status,
        403
    );
    let owner = server.owner_header();
    let all = [("authorization", owner.as_str())];
    assert_eq!(
        request_page(&server, ("POST", "/auth/logout-all"), &all, json!({})).await.status,
        200
    );
    assert_eq!(status(&[("cookie", &cookie), session]).await, 401, "over");
}

#[tokio::test]
async fn only_the_owner_opens_a_session() {
    let server = InProcessServer::start_with(&[("AUTH", "required")]).await;
    for body in [json!({ "name": "ci" }), json!({ "name": "admin", "admin": true })] {
        let token = server.create_token(body).await;
        let headers = [("authorization", token.as_str())];
        let refused =
            request_page(&server, ("POST", "/auth/page-codes"), &headers, json!({})).await;
        assert_eq!(refused.status, 403, "{refused:?}");
    }
    let to = ("POST", "/auth/page-sessions");
    let code = make_code(&server).await;
    let page = [("origin", "http://evil.example")];
    assert_eq!(request_page(&server, to, &page, json!({ "code": code })).await.status, 403);
    assert_eq!(request_page(&server, to, &[], json!({ "code": "x" })).await.status, 401);
    let Some(account) = SystemAccount::create() else { return };
    let body = json!({ "code": code }).to_string();
    let refused = account.send_request(server.main, to, &[JSON], &body).await;
    assert_eq!(refused.status, 401, "{refused:?}");
    assert_eq!(
        request_page(&server, to, &[], json!({ "code": code })).await.status,
        201,
        "not used up"
    );
}

#[tokio::test]
async fn codeinfo_open_opens_the_page_of_a_server_that_demands_tokens() {
    let folder = create_scratch_folder();
    let data = folder.path().join("data");
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let environment = vec![pair("AUTH", "required"), pair("CODEX_BIN", "/nonexistent/codex")];
    let alone = run_command(&data, &environment, &["open", "--print"]).await;
    assert_eq!(alone.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&alone.stderr).contains("codeinfo serve"));
    let server = RunningServer::serve(&data, &[], &environment).await;
    let opened = run_command(&data, &environment, &["open", "--print"]).await;
    let address = String::from_utf8(opened.stdout).unwrap().trim().to_owned();
    assert!(address.starts_with(&format!("{}/#/session/", server.main)), "{address}");
    let browser = TestBrowser::start().await;
    let page = browser.open_page(&address).await;
    page.wait_for_text("None yet. Ask a question.").await;
    assert_eq!(page.url().await, format!("{}/#/", server.main), "the code is gone");
    assert_eq!(page.eval::<String>("document.cookie").await, "");
    assert_eq!(page.list_names_of_role("dialog").await, <[&str; 0]>::default());
    page.reload().await;
    page.wait_for_text("None yet. Ask a question.").await;
    page.eval::<()>("void (location.hash = '#/status')").await;
    page.wait_for_text("FOLDER_ROOTS").await;
    // Nobody else is let in by that.
    let roots =
        http_client().get(format!("{}/ingest/roots", server.main)).timeout(Duration::from_secs(20));
    assert_eq!(roots.send().await.unwrap().status(), 401);
    assert!(server.terminate().await.success());
}

#[tokio::test]
async fn without_a_session_the_page_says_what_to_type() {
    let server = InProcessServer::start_with(&[("AUTH", "required")]).await;
    let token = server.create_token(json!({ "name": "ci" })).await;
    let browser = TestBrowser::start().await;
    let page = browser.open_page(&format!("http://{}/", server.main)).await;
    page.wait_for_text("codeinfo open").await;
    page.click("#token").await;
    page.type_text(token.strip_prefix("Bearer ").unwrap()).await;
    page.press_key("Enter").await;
    page.wait_for_text("None yet. Ask a question.").await;
    page.eval::<()>("void (location.hash = '#/status')").await;
    page.wait_for_text("codeinfo open").await;
    assert_eq!(send_get(server.main, "/settings").await.status, 401);
}
