//! The wire contract of the main API (port 5010): whole replies of every route.
#![expect(clippy::too_many_lines, reason = "whole replies stand in the tests")]

use codeinfo_test_support::wire::{send_get, send_post, send_request};
use insta::assert_snapshot;

use crate::listeners::{InProcessServer, start_with_demo};

#[tokio::test]
async fn health_says_which_part_fails_and_stays_200() {
    let server = InProcessServer::start().await;
    assert_snapshot!(server.render_reply(&send_get(server.main, "/health").await), @r#"
    200 content-type: application/json
    {
      "status": "degraded",
      "version": "…",
      "uptimeSeconds": "…",
      "codex": {
        "available": false,
        "reason": "the Codex command line is not found: CODEX_BIN does not name a program"
      },
      "store": {
        "backend": "embedded",
        "ok": true,
        "chunks": 0
      },
      "embedder": {
        "name": "code-static-1",
        "dimensions": 256,
        "ok": true
      },
      "mcp": {
        "port": "…"
      },
      "toolkits": {
        "ready": 0,
        "failing": 0
      }
    }
    "#);
    assert_snapshot!(server.render_reply(&send_get(server.main, "/ready").await), @r#"
    503 content-type: application/json
    {
      "error": "CODE_INFO_LLM_UNAVAILABLE",
      "message": "the Codex command line is not found: CODEX_BIN does not name a program",
      "details": [
        "install it with `npm install -g @openai/codex` and sign in with `codex login`, or set CODEX_BIN to the path of the binary"
      ]
    }
    "#);
    assert_snapshot!(server.render_reply(&send_get(server.main, "/version").await), @r#"
    200 content-type: application/json
    {
      "app": "codeinfo",
      "version": "…"
    }
    "#);
    let head = send_request(server.main, "HEAD", "/health", &[], "").await;
    assert_eq!((head.status, head.body.as_str()), (200, ""));
}

#[tokio::test]
async fn metrics_count_what_happened_and_what_is_there() {
    let server = start_with_demo().await;
    let search = r#"{"query":"parse_config"}"#;
    assert_eq!(send_post(server.main, "/tools/vector-search", search).await.status, 200);
    let unknown = r#"{"query":"x","repository":"nope"}"#;
    assert_eq!(send_post(server.main, "/tools/vector-search", unknown).await.status, 404);
    let metrics = send_get(server.main, "/metrics").await;
    // Durations differ from run to run, and so do the requests that wait for the ingest run.
    let is_steady = |line: &&str| {
        ![
            "_bucket",
            "_seconds_sum",
            "uptime_seconds ",
            "status=\"200\"",
            "http_request_seconds_count",
        ]
        .iter()
        .any(|part| line.contains(part))
    };
    let mut steady: Vec<&str> = metrics.body.lines().filter(is_steady).collect();
    steady.retain(|line| !line.starts_with('#'));
    steady.sort_unstable();
    assert_snapshot!(steady.join("\n"), @r#"
    codeinfo_chunks 2
    codeinfo_codex_available 0
    codeinfo_codex_malformed_lines_total 0
    codeinfo_codex_refused_requests_total 0
    codeinfo_codex_starts_total 0
    codeinfo_codex_unknown_notifications_total 0
    codeinfo_files 2
    codeinfo_http_requests_total{listener="main",status="202"} 1
    codeinfo_http_requests_total{listener="main",status="404"} 1
    codeinfo_http_requests_total{listener="main",status="503"} 1
    codeinfo_ingest_runs_active 0
    codeinfo_repositories 1
    codeinfo_search_seconds_count 2
    codeinfo_searches_total{outcome="REPO_NOT_FOUND"} 1
    codeinfo_searches_total{outcome="ok"} 1
    codeinfo_tool_call_seconds_count 0
    codeinfo_turn_seconds_count 0
    "#);
    assert!(
        metrics.body.contains(r#"codeinfo_http_requests_total{listener="main",status="200"} "#)
    );
}

#[tokio::test]
async fn unknown_routes_and_wrong_methods_are_told_apart() {
    let server = InProcessServer::start().await;
    assert_snapshot!(send_get(server.main, "/nowhere").await.render_reply(), @r#"
    404 content-type: application/json
    {
      "error": "ROUTE_NOT_FOUND",
      "message": "there is nothing at this path"
    }
    "#);
    assert_snapshot!(send_post(server.main, "/health", "{}").await.render_reply(), @r#"
    405 content-type: application/json allow: GET, HEAD
    {
      "error": "METHOD_NOT_ALLOWED",
      "message": "this path answers GET, HEAD only"
    }
    "#);
    assert_snapshot!(send_get(server.main, "/ingest/start").await.render_reply(), @r#"
    405 content-type: application/json allow: POST
    {
      "error": "METHOD_NOT_ALLOWED",
      "message": "this path answers POST only"
    }
    "#);
    let delete = send_request(server.main, "DELETE", "/mcp", &[], "").await;
    assert_eq!((delete.status, delete.header("allow")), (405, Some("POST")));
}

#[tokio::test]
async fn a_repository_is_ingested_found_and_removed() {
    let server = start_with_demo().await;
    assert_snapshot!(server.render_reply(&send_get(server.main, "/ingest/roots").await), @r#"
    200 content-type: application/json
    {
      "roots": [
        {
          "id": "…",
          "name": "demo",
          "description": "a small reader",
          "path": "FOLDER/demo",
          "modelId": "code-static-1@1",
          "lastIngestAt": "…",
          "counts": {
            "files": 2,
            "chunks": 2,
            "embedded": 2
          },
          "lastError": null,
          "state": "completed"
        }
      ]
    }
    "#);
    assert_snapshot!(server.render_reply(&send_get(server.main, "/tools/ingested-repos").await), @r#"
    200 content-type: application/json
    {
      "repos": [
        {
          "id": "…",
          "name": "demo",
          "description": "a small reader",
          "path": "FOLDER/demo",
          "lastIngestAt": "…",
          "modelId": "code-static-1@1",
          "counts": {
            "files": 2,
            "chunks": 2,
            "embedded": 2
          },
          "lastError": null
        }
      ],
      "lockedModelId": "code-static-1@1"
    }
    "#);
    let query = r#"{"query":"parse_config","repository":"demo","limit":1}"#;
    let found = send_post(server.main, "/tools/vector-search", query).await;
    assert_snapshot!(server.render_reply(&found), @r#"
    200 content-type: application/json
    {
      "results": [
        {
          "repo": "demo",
          "relPath": "src/parse.rs",
          "path": "FOLDER/demo/src/parse.rs",
          "startLine": 1,
          "endLine": 4,
          "symbol": "parse_config",
          "language": "rust",
          "score": 0.8056,
          "chunk": "/// Reads a configuration file line by line.\npub fn parse_config(text: &str) -> Vec<(String, String)> {\n    text.lines().filter_map(|line| line.split_once('=')).map(pair).collect()\n}",
          "chunkId": "…",
          "modelId": "code-static-1@1",
          "lineCount": 4
        }
      ],
      "files": [
        {
          "path": "FOLDER/demo/src/parse.rs",
          "relPath": "src/parse.rs",
          "repo": "demo",
          "match": 0.8056,
          "chunks": 1,
          "lines": 4,
          "ranges": [
            "1-4"
          ]
        }
      ],
      "modelId": "code-static-1@1"
    }
    "#);
    let again = send_post(server.main, "/ingest/reembed/demo", "").await;
    assert_eq!(again.status, 202);
    let run = again.json()["runId"].as_str().unwrap().to_owned();
    server.wait_for_run(&run).await;
    let status = send_get(server.main, &format!("/ingest/status/{run}")).await;
    assert_snapshot!(server.render_reply(&status), @r#"
    200 content-type: application/json
    {
      "runId": "…",
      "state": "completed",
      "root": "demo",
      "counts": {
        "files": 2,
        "chunks": 2,
        "embedded": 2,
        "skipped": 0,
        "deleted": 0
      },
      "fileIndex": 2,
      "fileTotal": 2,
      "percent": 100
    }
    "#);
    let cancelled = send_post(server.main, &format!("/ingest/cancel/{run}"), "").await;
    assert_eq!(
        server.render_reply(&cancelled),
        server.render_reply(&status),
        "an ended run stays as it is"
    );
    let folder = server.folder.path().canonicalize().unwrap().join("demo").display().to_string();
    let by_path = format!("/ingest/remove/{}", folder.replace('/', "%2F"));
    let removed = send_post(server.main, &by_path, "").await;
    assert_snapshot!(server.render_reply(&removed), @r#"
    200 content-type: application/json
    {
      "removed": {
        "id": "…",
        "name": "demo",
        "path": "FOLDER/demo"
      }
    }
    "#);
    let gone = send_post(server.main, &by_path, "").await;
    assert_snapshot!(server.render_reply(&gone), @r#"
    404 content-type: application/json
    {
      "error": "REPO_NOT_FOUND",
      "message": "no indexed repository is called `FOLDER/demo`"
    }
    "#);
    assert_snapshot!(send_get(server.main, "/tools/ingested-repos").await.render_reply(), @r#"
    200 content-type: application/json
    {
      "repos": [],
      "lockedModelId": null
    }
    "#);
}

#[tokio::test]
async fn faulty_ingest_requests_name_every_fault() {
    let server = InProcessServer::start().await;
    let start = async |body: &str| {
        server.render_reply(&send_post(server.main, "/ingest/start", body).await)
    };
    assert_snapshot!(start(r#"{"name":1,"paths":[]}"#).await, @r#"
    400 content-type: application/json
    {
      "error": "VALIDATION_FAILED",
      "message": "`name` must be a string; `paths` is not known here; `path` is missing",
      "details": [
        "`name` must be a string",
        "`paths` is not known here",
        "`path` is missing"
      ]
    }
    "#);
    assert_snapshot!(start(r#"{"path":"/nonexistent/folder"}"#).await, @r#"
    400 content-type: application/json
    {
      "error": "VALIDATION_FAILED",
      "message": "`path` `/nonexistent/folder` does not exist"
    }
    "#);
    assert_snapshot!(start(r#"{"path":"src/../.."}"#).await, @r#"
    400 content-type: application/json
    {
      "error": "VALIDATION_FAILED",
      "message": "`path` must be absolute, such as `/srv/app`; `src/../..` is not",
      "details": [
        "`path` must be absolute, such as `/srv/app`; `src/../..` is not"
      ]
    }
    "#);
    assert_snapshot!(start("{").await, @r#"
    400 content-type: application/json
    {
      "error": "INVALID_JSON",
      "message": "the body is not JSON: EOF while parsing an object at line 1 column 1"
    }
    "#);
    let run = "/ingest/status/00000000-0000-0000-0000-000000000000";
    assert_snapshot!(server.render_reply(&send_get(server.main, run).await), @r#"
    404 content-type: application/json
    {
      "error": "RUN_NOT_FOUND",
      "message": "no ingest run has the id `00000000-0000-0000-0000-000000000000`"
    }
    "#);
    let reembed = send_post(server.main, "/ingest/reembed/no%2Fsuch'name", "").await;
    assert_snapshot!(server.render_reply(&reembed), @r#"
    404 content-type: application/json
    {
      "error": "REPO_NOT_FOUND",
      "message": "no indexed repository is called `no/such'name`"
    }
    "#);
}

#[tokio::test]
async fn searches_that_cannot_work_say_why() {
    let empty = InProcessServer::start().await;
    let query = r#"{"query":"main"}"#;
    let unfilled = send_post(empty.main, "/tools/vector-search", query).await;
    assert_snapshot!(empty.render_reply(&unfilled), @r#"
    409 content-type: application/json
    {
      "error": "INGEST_REQUIRED",
      "message": "nothing is indexed yet; index a repository with `codeinfo ingest PATH`"
    }
    "#);
    let server = start_with_demo().await;
    let search = async |body: &str| {
        server.render_reply(&send_post(server.main, "/tools/vector-search", body).await)
    };
    assert_snapshot!(search(r#"{"query":"main","repository":"nope"}"#).await, @r#"
    404 content-type: application/json
    {
      "error": "REPO_NOT_FOUND",
      "message": "no repository `nope` is indexed; known are `demo`"
    }
    "#);
    assert_snapshot!(search(r#"{"query":"main","limit":21}"#).await, @r#"
    400 content-type: application/json
    {
      "error": "VALIDATION_FAILED",
      "message": "`limit` must be at most 20",
      "details": [
        "`limit` must be at most 20"
      ]
    }
    "#);
}

#[tokio::test]
async fn stopping_ends_everything_within_the_grace_period() {
    assert!(start_with_demo().await.stop().await);
}

#[tokio::test]
async fn folders_of_codeinfo_and_of_codex_are_not_indexed() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("codex-home");
    std::fs::create_dir_all(home.join("sessions")).unwrap();
    let server = InProcessServer::start_with(&[("CODEX_HOME", home.to_str().unwrap())]).await;
    let data = server.folder.path().join("data");
    for path in [data.clone(), data.join("store"), home.clone(), home.join("sessions")] {
        let body = serde_json::json!({ "path": path }).to_string();
        let refused = send_post(server.main, "/ingest/start", &body).await;
        assert_eq!(refused.status, 400, "{refused:?}");
        assert!(
            refused.render_reply().contains("`DATA_DIR` or `CODEX_HOME`"),
            "{}",
            refused.render_reply()
        );
    }
    // The folder around them is a repository like any other.
    let body = serde_json::json!({ "path": folder.path() }).to_string();
    assert_eq!(send_post(server.main, "/ingest/start", &body).await.status, 202);
}
