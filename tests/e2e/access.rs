//! Each route and method of both listeners, and what each kind of caller gets there.

use std::{collections::BTreeSet, fs, net::SocketAddr, path::Path};

use codeinfo_test_support::wire::{RawReply, send_get, send_post, send_request};
use serde_json::json;

use crate::{accounts::SystemAccount, listeners::InProcessServer};

const JSON: (&str, &str) = ("content-type", "application/json");

/// Callers that are authenticated and have the right; the others are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AllowedCallers {
    /// Everybody.
    All,
    /// Everybody but other accounts.
    Local,
    /// Callers with a token or the owner's key, and the server's account where none is required.
    Asking,
    /// The same without plain tokens.
    Administering,
    /// Callers with a token or the owner's key.
    Named,
    /// Callers with the owner's key.
    Owner,
    /// The turns of Codex alone.
    Turns,
}

use AllowedCallers::{Administering, All, Asking, Local, Named, Owner, Turns};

/// Methods, route, address and body of a request without consequences, and its allowed callers.
type RouteCase = (&'static str, &'static str, &'static str, &'static str, AllowedCallers);

const MAIN: &[RouteCase] = &[
    ("GET HEAD", "", "/", "", All),
    ("GET HEAD", "page {}", "/page/api.js", "", All),
    ("GET HEAD", "health", "/health", "", All),
    ("GET HEAD", "ready", "/ready", "", All),
    ("GET HEAD", "version", "/version", "", All),
    ("GET HEAD", "metrics", "/metrics", "", Asking),
    ("POST", "ingest start", "/ingest/start", r#"{"path":"/etc/none"}"#, Administering),
    ("GET HEAD", "ingest status {}", "/ingest/status/none", "", Asking),
    ("POST", "ingest cancel {}", "/ingest/cancel/none", "", Administering),
    ("POST", "ingest reembed {}", "/ingest/reembed/none", "", Administering),
    ("POST", "ingest remove {}", "/ingest/remove/none", "", Administering),
    ("PUT", "ingest scip {}", "/ingest/scip/none", "", Administering),
    ("DELETE", "ingest scip {}", "/ingest/scip/none", "", Administering),
    ("GET HEAD", "ingest roots", "/ingest/roots", "", Asking),
    ("GET HEAD", "tools ingested-repos", "/tools/ingested-repos", "", Asking),
    ("POST", "tools vector-search", "/tools/vector-search", "{}", Asking),
    ("POST", "chat", "/chat", "{}", Asking),
    ("GET HEAD", "chat providers", "/chat/providers", "", Asking),
    ("GET HEAD", "chat models", "/chat/models", "", Asking),
    ("GET", "ws", "/ws", "", Asking),
    ("POST", "mcp", "/mcp", "{}", Asking),
    ("GET", "mcp relay", "/mcp/relay", "", Asking),
    ("POST", "mcp toolkits", "/mcp/toolkits", "{}", Turns),
    ("POST", "mcp toolkits {}", "/mcp/toolkits/none", "{}", Turns),
    ("GET HEAD", "tools", "/tools", "", Asking),
    ("POST", "toolkits allow", "/toolkits/allow", r#"{"path":"/none"}"#, Owner),
    ("POST", "toolkits {} call", "/toolkits/none/call", r#"{"tool":"x"}"#, Named),
    ("POST", "toolkits {} {}", "/toolkits/none/start", "", Named),
    ("POST", "auth mcp-tokens", "/auth/mcp-tokens", r#"{"name":"new"}"#, Owner),
    ("GET HEAD", "auth mcp-tokens", "/auth/mcp-tokens", "", Named),
    ("DELETE", "auth mcp-tokens {}", "/auth/mcp-tokens/none", "", Owner),
    ("POST", "auth page-codes", "/auth/page-codes", "", Owner),
    ("POST", "auth page-sessions", "/auth/page-sessions", "{}", Local),
    ("POST", "mcp config", "/mcp/config", "{}", Named),
    ("GET HEAD", "mcp config", "/mcp/config", "", Named),
    ("POST", "turns", "/turns", "{}", Asking),
    ("GET", "turns {}", "/turns/none", "", Asking),
    ("POST", "turns {} stop", "/turns/none/stop", "", Asking),
    ("GET HEAD", "conversations", "/conversations", "", Asking),
    ("DELETE", "conversations", "/conversations", "", Asking),
    ("GET HEAD", "conversations {}", "/conversations/none", "", Asking),
    ("DELETE", "conversations {}", "/conversations/none", "", Asking),
    ("GET HEAD", "conversations {} export", "/conversations/none/export", "", Asking),
    ("GET HEAD", "page config", "/page/config", "", Asking),
    ("GET HEAD", "folders", "/folders", "", Asking),
    ("GET HEAD", "repositories {}", "/repositories/none", "", Asking),
    ("GET HEAD", "settings", "/settings", "", Administering),
    ("GET HEAD", "failures", "/failures", "", Administering),
    ("POST", "search", "/search", "{}", Asking),
    ("GET HEAD", "source", "/source", "", Asking),
    ("GET HEAD", "map", "/map", "", Asking),
    ("GET HEAD", "symbols", "/symbols", "", Asking),
    ("GET HEAD", "symbols trace", "/symbols/trace", "", Asking),
    ("GET HEAD", "symbols at", "/symbols/at", "", Asking),
    ("GET HEAD", "symbols impact", "/symbols/impact", "", Asking),
    ("GET HEAD", "symbols history", "/symbols/history", "", Asking),
    // The last one: tokens are gone then.
    ("POST", "auth logout-all", "/auth/logout-all", "", Owner),
];

const MCP: &[RouteCase] = &[
    ("POST", "", "/", "{}", Asking),
    ("POST", "mcp", "/mcp", "{}", Asking),
    ("GET", "mcp", "/mcp", "", Asking),
    ("GET", "mcp relay", "/mcp/relay", "", Asking),
];

/// Kinds of callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallerKind {
    /// Without a bearer, where one is required.
    Unnamed,
    /// Without one, where none is required, from another account.
    OtherAccount,
    /// The same, from the account of the server.
    OwnAccount,
    Token,
    AdminToken,
    Owner,
}

impl AllowedCallers {
    fn expects_status(self, caller: CallerKind, status: u16) -> bool {
        let is_allowed = match self {
            All => true,
            Local => caller != CallerKind::OtherAccount,
            Turns => false,
            Asking => !matches!(caller, CallerKind::Unnamed | CallerKind::OtherAccount),
            Administering => {
                matches!(
                    caller,
                    CallerKind::OwnAccount | CallerKind::AdminToken | CallerKind::Owner
                )
            }
            Named => {
                matches!(caller, CallerKind::Token | CallerKind::AdminToken | CallerKind::Owner)
            }
            Owner => caller == CallerKind::Owner,
        };
        let has_name =
            matches!(caller, CallerKind::Token | CallerKind::AdminToken | CallerKind::Owner);
        match (is_allowed, has_name && self != Turns) {
            (true, _) => !matches!(status, 401 | 403),
            (false, true) => status == 403,
            (false, false) => status == 401,
        }
    }
}

/// Sends a request; the reply to a `HEAD` has no body.
async fn request_as(
    to: SocketAddr,
    route: (&str, &str),
    bearer: Option<&str>,
    body: &str,
) -> RawReply {
    let mut headers = vec![JSON];
    headers.extend(bearer.map(|bearer| ("authorization", bearer)));
    send_request(to, route.0, route.1, &headers, body).await
}

async fn check_routes(
    caller: CallerKind,
    server: &InProcessServer,
    bearer: Option<&str>,
    lines: &[RouteCase],
) {
    let mut wrong = Vec::new();
    for (methods, route, path, body, allowed) in lines {
        let to = if std::ptr::eq(lines, MCP) { server.mcp } else { server.main };
        for method in methods.split(' ') {
            let status = request_as(to, (method, path), bearer, body).await.status;
            if !allowed.expects_status(caller, status) {
                wrong.push(format!("{method} {route}: {status}, but it is for {allowed:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{caller:?}\n{}", wrong.join("\n"));
}

#[tokio::test]
async fn each_kind_of_caller_gets_its_routes_and_no_others() {
    let open = InProcessServer::start().await;
    let closed = InProcessServer::start_with(&[("AUTH", "required")]).await;
    let token = closed.create_token(json!({ "name": "plain" })).await;
    let admin = closed.create_token(json!({ "name": "admin", "admin": true })).await;
    let owner = closed.owner_header();
    for lines in [MCP, MAIN] {
        check_routes(CallerKind::Unnamed, &closed, None, lines).await;
        check_routes(CallerKind::OwnAccount, &open, None, lines).await;
        check_routes(CallerKind::Token, &closed, Some(&token), lines).await;
        check_routes(CallerKind::AdminToken, &closed, Some(&admin), lines).await;
        check_routes(CallerKind::Owner, &closed, Some(&owner), lines).await;
    }
}

#[tokio::test]
async fn another_account_gets_only_the_public_routes() {
    let Some(account) = SystemAccount::create() else { return };
    let server = InProcessServer::start().await;
    for (to, lines) in [(server.main, MAIN), (server.mcp, MCP)] {
        for (methods, route, path, body, allowed) in lines {
            let method = methods.split(' ').next().unwrap();
            let status = account.send_request(to, (method, path), &[JSON], body).await.status;
            let is_right = allowed.expects_status(CallerKind::OtherAccount, status);
            assert!(is_right, "{method} {route}: {status}");
        }
    }
}

/// Reads the routes of a file: methods, and the parts of a path, where a variable counts as `{}`.
fn read_routes(file: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut routes = BTreeSet::new();
    for arm in text.split("(&Method::").skip(1) {
        let Some((head, _)) = arm.split_once(") ") else { continue };
        let Some((methods, path)) = head.split_once(", [") else { continue };
        let methods = methods.replace(" | &Method::", " ");
        let Some(path) = path.strip_suffix(']') else { continue };
        let part = |part: &str| match part.trim_matches('"') {
            "PAGE_CONFIG" => "config".to_owned(),
            literal if part.starts_with('"') => literal.to_owned(),
            _ => "{}".to_owned(),
        };
        let parts: Vec<String> =
            path.split(", ").filter(|part| !part.is_empty()).map(part).collect();
        routes.insert(format!("{methods}: {}", parts.join(" ")));
    }
    routes
}

#[test]
fn every_route_has_a_line() {
    let routes = read_routes("crates/server/src/api/route.rs");
    let lines: BTreeSet<String> =
        MAIN.iter().map(|(methods, route, ..)| format!("{methods}: {route}")).collect();
    assert!(routes.len() > 40, "{routes:?}");
    let missing: Vec<_> = routes.difference(&lines).collect();
    assert!(missing.is_empty(), "add the allowed callers of these to MAIN: {missing:?}");
    let gone: Vec<_> = lines.difference(&routes).collect();
    assert!(gone.is_empty(), "{gone:?}");
}

#[tokio::test]
async fn a_token_has_folders_indexed_below_what_is_indexed_or_may_be_chosen_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let chosen = folder.path().canonicalize().unwrap();
    let server = InProcessServer::start_with(&[("FOLDER_ROOTS", chosen.to_str().unwrap())]).await;
    server.ingest_demo().await;
    let token = server.create_token(json!({ "name": "ci" })).await;
    let start = async |path: &Path| {
        let body = json!({ "path": path }).to_string();
        request_as(server.main, ("POST", "/ingest/start"), Some(&token), &body).await
    };
    for below in ["open", "open/deeper"] {
        fs::create_dir_all(chosen.join(below)).unwrap();
        assert_eq!(start(&chosen.join(below)).await.status, 202, "{below}");
    }
    let demo = server.folder.path().join("demo");
    assert_eq!(start(&demo.join("src")).await.status, 202);
    server.write("private/plan.md", "# The plan\n");
    let private = server.folder.path().join("private");
    std::os::unix::fs::symlink(&private, chosen.join("link")).unwrap();
    for outside in [
        private.clone(),
        "/etc".into(),
        "/nonexistent".into(),
        demo.join("../private"),
        chosen.join("link"),
        server.folder.path().join("demo-private"),
    ] {
        let refused = start(&outside).await;
        assert_eq!(refused.status, 403, "{}: {refused:?}", outside.display());
        assert!(refused.body.contains("codeinfo ingest PATH"), "{refused:?}");
    }
    let admin = server.create_token(json!({ "name": "admin", "admin": true })).await;
    let body = json!({ "path": private }).to_string();
    let started = request_as(server.main, ("POST", "/ingest/start"), Some(&admin), &body).await;
    assert_eq!(started.status, 202, "{started:?}");
    let roots = send_get(server.main, "/ingest/roots").await;
    assert!(roots.body.contains("/private\""), "{roots:?}");
}

#[tokio::test]
async fn only_the_owner_makes_a_token_that_administers() {
    let server = InProcessServer::start().await;
    let plain = server.create_token(json!({ "name": "ci" })).await;
    let admin = server.create_token(json!({ "name": "admin", "admin": true })).await;
    let make = async |bearer: &str, body: serde_json::Value| {
        let to = ("POST", "/auth/mcp-tokens");
        request_as(server.main, to, Some(bearer), &body.to_string()).await.status
    };
    assert_eq!(make(&plain, json!({ "name": "ci", "overwrite": true, "admin": true })).await, 403);
    assert_eq!(make(&admin, json!({ "name": "ci", "overwrite": true })).await, 403);
    let listed =
        request_as(server.main, ("GET", "/auth/mcp-tokens"), Some(&server.owner_header()), "")
            .await;
    let listed = listed.json();
    assert_eq!(
        (&listed["tokens"][0]["admin"], &listed["tokens"][1]["admin"]),
        (&json!(true), &json!(null))
    );
    assert_eq!(
        make(&admin, json!({ "name": "admin", "overwrite": true, "admin": true })).await,
        201
    );
    // Without a bearer no token is made.
    assert_eq!(send_post(server.main, "/auth/mcp-tokens", r#"{"name":"x"}"#).await.status, 401);
}
