//! The wire contract of tokens and of stored configurations: who may do what, and whole replies.

use codeinfo_test_support::wire::{RawReply, send_request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{
    listeners::InProcessServer,
    support::process::{RunningServer, create_scratch_folder},
};

/// A server, and its owner's key.
struct TokenServer {
    listeners: InProcessServer,
    owner: String,
}

impl TokenServer {
    async fn start() -> Self {
        Self::start_with(&[]).await
    }

    async fn start_with(pairs: &[(&str, &str)]) -> Self {
        let listeners = InProcessServer::start_with(pairs).await;
        let owner = std::fs::read_to_string(listeners.folder.path().join("data/owner.key"));
        Self { listeners, owner: owner.unwrap().trim().to_owned() }
    }

    /// Sends a request with this bearer.
    async fn request_as(&self, by: &str, method: &str, path: &str, body: &Value) -> RawReply {
        let bearer = format!("Bearer {by}");
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        send_request(self.listeners.main, method, path, &headers, &body.to_string()).await
    }

    /// Has the owner make a token.
    async fn create_token(&self, name: &str) -> String {
        let body = json!({ "name": name, "overwrite": true });
        let made = self.request_as(&self.owner, "POST", "/auth/mcp-tokens", &body).await;
        assert_eq!(made.status, 201, "{made:?}");
        assert_eq!(made.header("cache-control"), Some("no-store"));
        made.json()["token"].as_str().unwrap().to_owned()
    }

    async fn get_as(&self, by: &str, path: &str) -> RawReply {
        self.request_as(by, "GET", path, &Value::Null).await
    }

    async fn accepts_token(&self, token: &str) -> bool {
        match self.get_as(token, "/version").await.status {
            200 => true,
            401 | 429 => false,
            other => panic!("{other}"),
        }
    }
}

/// Shows a reply without what differs from run to run.
fn render_reply(reply: &RawReply) -> String {
    let mut body = reply.json();
    hide_variable_fields(&mut body);
    RawReply { body: body.to_string(), headers: reply.headers.clone(), ..*reply }.render_reply()
}

fn hide_variable_fields(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if ["token", "createdAt", "lastUsedAt", "id"].contains(&name.as_str())
                    && member.is_string()
                {
                    *member = json!("…");
                } else {
                    hide_variable_fields(member);
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(hide_variable_fields),
        _ => {}
    }
}

#[tokio::test]
async fn a_token_is_made_shown_once_listed_used_and_revoked() {
    let server = TokenServer::start().await;
    let (owner, tokens) = (&server.owner, "/auth/mcp-tokens");
    let made = server.request_as(owner, "POST", tokens, &json!({ "name": "ci" })).await;
    assert_eq!(made.header("cache-control"), Some("no-store"));
    assert_snapshot!(render_reply(&made), @r#"
    201 content-type: application/json
    {
      "name": "ci",
      "token": "…",
      "createdAt": "…"
    }
    "#);
    let token = made.json()["token"].as_str().unwrap().to_owned();
    let random = token.strip_prefix("codeinfo_pat_").unwrap();
    assert_eq!(random.len(), 43, "256 bits in base64");
    assert_snapshot!(render_reply(&server.get_as(owner, tokens).await), @r#"
    200 content-type: application/json
    {
      "tokens": [
        {
          "name": "ci",
          "createdAt": "…",
          "lastUsedAt": null
        }
      ]
    }
    "#);
    assert!(server.accepts_token(&token).await);
    let listed = server.get_as(&token, tokens).await;
    assert!(listed.json()["tokens"][0]["lastUsedAt"].is_string(), "{listed:?}");
    assert!(!listed.body.contains(random));
    assert_snapshot!(render_reply(&server.request_as(owner, "DELETE", "/auth/mcp-tokens/ci", &Value::Null).await), @r#"
    200 content-type: application/json
    {
      "revoked": [
        "ci"
      ]
    }
    "#);
    assert!(!server.accepts_token(&token).await);
    assert_snapshot!(render_reply(&server.request_as(owner, "DELETE", "/auth/mcp-tokens/ci", &Value::Null).await), @r#"
    404 content-type: application/json
    {
      "error": "TOKEN_NOT_FOUND",
      "message": "there is no token `ci`"
    }
    "#);
    let again = server.request_as(owner, "POST", tokens, &json!({ "name": "ci" })).await;
    assert_eq!(again.status, 201, "a revoked name is free: {again:?}");
}

#[tokio::test]
async fn a_living_token_is_replaced_only_when_that_is_asked_for() {
    let server = TokenServer::start().await;
    let first = server.create_token("ci").await;
    let ask = async |body: Value| {
        server.request_as(&server.owner, "POST", "/auth/mcp-tokens", &body).await
    };
    assert_snapshot!(render_reply(&ask(json!({ "name": "ci" })).await), @r#"
    409 content-type: application/json
    {
      "error": "TOKEN_EXISTS",
      "message": "there is a token `ci`; `--overwrite`, or `overwrite` over HTTP, revokes it and makes it again"
    }
    "#);
    assert!(server.accepts_token(&first).await);
    let second = server.create_token("ci").await;
    assert!(!server.accepts_token(&first).await && server.accepts_token(&second).await);
    assert_snapshot!(render_reply(&ask(json!({ "name": "a b", "overwrite": "yes", "x": 1 })).await), @r#"
    400 content-type: application/json
    {
      "error": "VALIDATION_FAILED",
      "message": "`overwrite` must be a boolean; `x` is not known here",
      "details": [
        "`overwrite` must be a boolean",
        "`x` is not known here"
      ]
    }
    "#);
    for name in ["owner", "a b", "..", "é", ""] {
        let refused = ask(json!({ "name": name })).await;
        assert_eq!((refused.status, &refused.json()["error"]), (400, &json!("VALIDATION_FAILED")));
    }
}

#[tokio::test]
async fn fifty_overwrites_at_once_leave_exactly_one_token() {
    let server = TokenServer::start().await;
    let making = (0..50).map(|_| server.create_token("ci"));
    let made = futures_util::future::join_all(making).await;
    let mut good = 0;
    for token in &made {
        good += usize::from(server.accepts_token(token).await);
    }
    assert_eq!((made.len(), good), (50, 1));
    let listed = server.get_as(&server.owner, "/auth/mcp-tokens").await.json();
    assert_eq!(listed["tokens"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_token_concerns_its_own_name_only() {
    let server = TokenServer::start().await;
    let (ann, bob) = (server.create_token("ann").await, server.create_token("bob").await);
    let forbidden = [
        ("POST", "/auth/mcp-tokens", json!({ "name": "bob", "overwrite": true })),
        ("POST", "/auth/mcp-tokens", json!({ "name": "new" })),
        ("DELETE", "/auth/mcp-tokens/bob", Value::Null),
        ("DELETE", "/auth/mcp-tokens/nobody", Value::Null),
        ("POST", "/auth/logout-all", Value::Null),
    ];
    for (method, path, body) in forbidden {
        let refused = server.request_as(&ann, method, path, &body).await;
        let message = "the token `ann` may list, replace and revoke itself only; the rest is for the \
                       owner's key";
        let wanted = json!({ "error": "FORBIDDEN", "message": message });
        assert_eq!((refused.status, refused.json()), (403, wanted));
    }
    let listed = server.get_as(&ann, "/auth/mcp-tokens").await.json();
    assert_eq!(listed["tokens"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed["tokens"][0]["name"], "ann");
    assert!(server.accepts_token(&bob).await);

    let body = json!({ "name": "ann", "overwrite": true });
    let replaced = server.request_as(&ann, "POST", "/auth/mcp-tokens", &body).await;
    let second = replaced.json()["token"].as_str().unwrap().to_owned();
    assert!(!server.accepts_token(&ann).await && server.accepts_token(&second).await);
    let gone = server.request_as(&second, "DELETE", "/auth/mcp-tokens/ann", &Value::Null).await;
    assert_eq!(gone.status, 200, "{gone:?}");
    assert!(!server.accepts_token(&second).await);

    let all = server.request_as(&server.owner, "POST", "/auth/logout-all", &json!({})).await;
    assert_eq!((all.status, all.json()), (200, json!({ "revoked": ["bob"] })));
    assert!(!server.accepts_token(&bob).await);
}

#[tokio::test]
async fn private_routes_refuse_a_missing_and_a_wrong_bearer() {
    let server = TokenServer::start().await;
    let token = server.create_token("ann").await;
    let main = server.listeners.main;
    let json = ("content-type", "application/json");
    for (method, path) in [
        ("POST", "/auth/mcp-tokens"),
        ("GET", "/auth/mcp-tokens"),
        ("DELETE", "/auth/mcp-tokens/ann"),
        ("POST", "/auth/logout-all"),
        ("GET", "/mcp/config"),
        ("POST", "/mcp/config"),
    ] {
        let nobody = send_request(main, method, path, &[json], "{}").await;
        assert_eq!((nobody.status, nobody.header("www-authenticate")), (401, Some("Bearer")));
        let message = "this needs a token or the owner's key: send `Authorization: Bearer …`";
        assert_eq!(nobody.json(), json!({ "error": "UNAUTHORIZED", "message": message }));
    }
    // Also where no token is required, and on both listeners.
    let cut = token.split_at(token.len() - 1).0;
    for to in [main, server.listeners.mcp] {
        for wrong in [cut, "", "x", &format!("{token}x"), &token.to_uppercase()] {
            let bearer = format!("Bearer {wrong}");
            let headers = [json, ("authorization", bearer.as_str())];
            let refused = send_request(to, "POST", "/mcp", &headers, "{}").await;
            assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")));
            let message = "the token is not known; it may have been revoked";
            assert_eq!(refused.json(), json!({ "error": "UNAUTHORIZED", "message": message }));
        }
    }
    let bearer = format!("Bearer {token}");
    let twice = [json, ("authorization", bearer.as_str()), ("authorization", bearer.as_str())];
    assert_eq!(send_request(main, "GET", "/version", &twice, "").await.status, 401);
    // A password for a proxy is no bearer.
    let basic = [("authorization", "Basic YTpi")];
    assert_eq!(send_request(main, "GET", "/version", &basic, "").await.status, 200);
}

#[tokio::test]
async fn many_wrong_tokens_are_refused_with_a_wait_and_few_lines_and_a_right_one_is_answered() {
    let folder = create_scratch_folder();
    let log = folder.path().join("log");
    let environment = vec![("LOG_LEVEL".to_owned(), "info".to_owned())];
    let server =
        RunningServer::serve_logging_to(&log, &folder.path().join("data"), &environment).await;
    let (key, to) = (
        std::fs::read_to_string(folder.path().join("data/owner.key")).unwrap(),
        server.main.strip_prefix("http://").unwrap().parse().unwrap(),
    );
    let right = format!("Bearer {}", key.trim());
    let logged = || std::fs::read_to_string(&log).unwrap().lines().count();
    let before = logged();
    let mut statuses = std::collections::BTreeMap::<u16, usize>::new();
    for number in 0..200 {
        let wrong = format!("Bearer codeinfo_pat_{number}");
        let refused = send_request(to, "GET", "/health", &[("authorization", &wrong)], "").await;
        *statuses.entry(refused.status).or_default() += 1;
        if refused.status == 429 {
            let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
            assert!((1..=60).contains(&wait), "{wait}");
            assert_eq!(refused.json()["error"], "BUSY");
        }
        if number % 50 == 49 {
            let answered =
                send_request(to, "GET", "/health", &[("authorization", &right)], "").await;
            assert!(answered.json()["version"].is_string(), "{answered:?}");
        }
    }
    assert_eq!(statuses, [(401, 20), (429, 180)].into());
    let lines = logged() - before;
    assert!(lines < 30, "{lines} lines");
    let text = std::fs::read_to_string(&log).unwrap();
    assert_eq!(text.matches("wrong tokens are refused").count(), 1, "{text}");
}

#[tokio::test]
async fn no_web_page_can_have_tokens_or_configurations_changed() {
    let server = TokenServer::start().await;
    server.create_token("ann").await;
    let bearer = format!("Bearer {}", server.owner);
    let bearer = ("authorization", bearer.as_str());
    for (method, path) in [
        ("POST", "/auth/mcp-tokens"),
        ("DELETE", "/auth/mcp-tokens/ann"),
        ("POST", "/auth/logout-all"),
        ("POST", "/mcp/config"),
    ] {
        let bare = send_request(server.listeners.main, method, path, &[bearer], "").await;
        assert_eq!(bare.status, 415, "{method} {path}");
        let page =
            [bearer, ("content-type", "application/json"), ("origin", "http://evil.example")];
        let foreign = send_request(server.listeners.main, method, path, &page, "{}").await;
        assert_eq!(foreign.status, 403, "{method} {path}");
        assert!(foreign.body.contains("origin"), "{foreign:?}");
    }
    for (path, allow) in [
        ("/auth/mcp-tokens", "GET, HEAD, POST"),
        ("/mcp/config", "GET, HEAD, POST"),
        ("/auth/mcp-tokens/ann", "DELETE"),
        ("/auth/logout-all", "POST"),
    ] {
        let wrong = server.request_as(&server.owner, "PUT", path, &Value::Null).await;
        assert_eq!((wrong.status, wrong.header("allow")), (405, Some(allow)));
    }
}

#[tokio::test]
async fn a_configuration_is_kept_for_its_principal_alone() {
    let server = TokenServer::start().await;
    let (ann, bob) = (server.create_token("ann").await, server.create_token("bob").await);
    let none = server.get_as(&ann, "/mcp/config").await;
    assert_eq!(none.header("cache-control"), Some("no-store"));
    assert_snapshot!(none.render_reply(), @r#"
    200 content-type: application/json
    {
      "mcpServers": {}
    }
    "#);
    let config = json!({
        "mcpServers": { "git": { "command": "git-mcp", "env": { "PAT": "hunter2" } } },
        "agent": { "tools": { "enabled": true, "maxSteps": 5, "systemPrompt": "Be brief." } },
    });
    let stored = server.request_as(&ann, "POST", "/mcp/config", &config).await;
    assert_snapshot!(render_reply(&stored), @r#"
    200 content-type: application/json
    {
      "success": true,
      "id": "…",
      "version": 1,
      "createdAt": "…"
    }
    "#);
    assert_eq!(server.get_as(&ann, "/mcp/config").await.json(), config);
    for other in [&bob, &server.owner] {
        assert_eq!(server.get_as(other, "/mcp/config").await.json(), json!({ "mcpServers": {} }));
    }
    let second = server.request_as(&ann, "POST", "/mcp/config", &json!({ "mcpServers": {} })).await;
    assert_eq!(second.json()["version"], 2);
    assert_eq!(second.json()["id"], stored.json()["id"]);
    assert_eq!(server.get_as(&ann, "/mcp/config").await.json(), json!({ "mcpServers": {} }));
    let listed = server.get_as(&ann, "/auth/mcp-tokens").await.json();
    assert!(listed["tokens"][0]["lastUsedAt"].is_string(), "{listed}");
    // A token that is replaced is the same principal.
    server.request_as(&ann, "POST", "/mcp/config", &config).await;
    let ann = server.create_token("ann").await;
    assert_eq!(server.get_as(&ann, "/mcp/config").await.json(), config);
}

#[tokio::test]
async fn a_faulty_configuration_is_refused_and_changes_nothing() {
    let server = TokenServer::start().await;
    let ann = server.create_token("ann").await;
    let config = json!({ "mcpServers": { "git": { "command": "git-mcp" } } });
    assert_eq!(server.request_as(&ann, "POST", "/mcp/config", &config).await.status, 200);
    let large = "x".repeat(64 * 1024);
    for faulty in [
        json!([]),
        json!({ "mcpServers": [] }),
        json!({ "mcpServers": {}, "other": 1 }),
        json!({ "mcpServers": {}, "agent": { "tools": { "maxSteps": 0 } } }),
        json!({ "mcpServers": {}, "agent": { "tools": { "enabled": "yes" } } }),
        json!({ "mcpServers": {}, "agent": { "other": {} } }),
        json!({ "mcpServers": { "Bad Name": { "command": "x" } } }),
        json!({ "mcpServers": { "both": { "command": "x", "url": "http://x.example" } } }),
        json!({ "mcpServers": { "git": { "command": "x", "env": { "A": ["hunter2"] } } } }),
        json!({ "mcpServers": { "git": { "command": "x", "args": vec![large.split_at(9000).0; 10] } } }),
    ] {
        let refused = server.request_as(&ann, "POST", "/mcp/config", &faulty).await;
        assert_eq!(refused.status, 400, "{refused:?}");
        assert_eq!(refused.json()["error"], "VALIDATION_FAILED", "{refused:?}");
        assert!(!refused.body.contains("hunter2") && !refused.body.contains(&large));
    }
    assert_eq!(server.get_as(&ann, "/mcp/config").await.json(), config);
}

#[tokio::test]
async fn an_unreadable_configuration_names_its_file_and_the_rest_works() {
    let server = TokenServer::start().await;
    let ann = server.create_token("ann").await;
    let config = json!({ "mcpServers": { "git": { "command": "git-mcp" } } });
    assert_eq!(server.request_as(&ann, "POST", "/mcp/config", &config).await.status, 200);
    let key = server.listeners.folder.path().join("data/secret.key");
    let good = std::fs::read(&key).unwrap();
    std::fs::write(&key, "A".repeat(43)).unwrap();
    let refused = server.get_as(&ann, "/mcp/config").await;
    assert_eq!((refused.status, &refused.json()["error"]), (503, &json!("VAULT_UNAVAILABLE")));
    let message = refused.json()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("1.sealed") && message.contains("secret.key"), "{message}");
    assert!(server.accepts_token(&ann).await);
    std::fs::write(&key, good).unwrap();
    assert_eq!(server.get_as(&ann, "/mcp/config").await.json(), config);
}
