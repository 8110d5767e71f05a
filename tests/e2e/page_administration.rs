//! Administration on the page: folders to choose from, repositories, settings, failures.

mod folders;
mod repository;
mod status;

use std::fs;

use codeinfo_test_support::wire::{RawReply, send_request};

use crate::listeners::{InProcessServer, get_json};

/// Every route that is for the page alone.
const ROUTES: [&str; 5] =
    ["/folders", "/page/config", "/repositories/demo", "/settings", "/failures"];

/// Checks the code of an error and a part of its message.
fn assert_refused(reply: &RawReply, code: (u16, &str), message: &str) {
    let body = reply.json();
    assert_eq!((reply.status, body["error"].as_str().unwrap()), code, "{reply:?}");
    assert!(body["message"].as_str().unwrap().contains(message), "{reply:?}");
}

#[tokio::test]
async fn the_routes_of_the_page_have_the_guards_of_all_others() {
    let server = InProcessServer::start_with(&[("AUTH", "required")]).await;
    let key = fs::read_to_string(server.folder.path().join("data/owner.key")).unwrap();
    let bearer = format!("Bearer {}", key.trim());
    let bearer = ("authorization", bearer.as_str());
    for path in ROUTES {
        let asked = async |method, headers: &[(&str, &str)]| {
            send_request(server.main, method, path, headers, "").await.status
        };
        assert_eq!(asked("GET", &[]).await, 401, "{path}");
        assert_eq!(asked("GET", &[("authorization", "Bearer x")]).await, 401, "{path}");
        assert_ne!(asked("GET", &[bearer]).await, 401, "{path}");
        assert_eq!(asked("GET", &[bearer, ("host", "codeinfo.example")]).await, 403, "{path}");
        let origin = ("origin", "https://elsewhere.example");
        assert_eq!(asked("GET", &[bearer, origin]).await, 403, "{path}");
        let site = ("sec-fetch-site", "cross-site");
        assert_eq!(asked("GET", &[bearer, site]).await, 403, "{path}");
        assert_eq!(asked("POST", &[bearer, ("content-type", "application/json")]).await, 405);
    }
}
