//! The wire contract of `codebase_question`, with the real Codex, a scripted model, and the raw
//! search of the same server.
#![expect(clippy::too_many_lines, reason = "whole replies are in the tests")]

use std::{fmt::Write, time::Duration};

use codeinfo_test_support::{
    qdrant::FakeQdrant,
    wire::{self, RawReply, send_get, send_post, send_rpc, send_rpc_with_headers},
};
use insta::assert_snapshot;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::{
    listeners::InProcessServer,
    support::model::{FakeModel, ModelReply, OutputItem, message_item, search_item, thinking_item},
};

const JSON_ONLY: [(&str, &str); 1] = [("accept", "application/json")];

fn question_request(arguments: &Value) -> String {
    let params = json!({ "name": "codebase_question", "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }).to_string()
}

/// Returns the one text of a result, which must be JSON.
fn read_result(result: &Value) -> Value {
    let content = result["content"].as_array().unwrap();
    assert_eq!((content.len(), &content[0]["type"]), (1, &json!("text")));
    serde_json::from_str(content[0]["text"].as_str().unwrap()).unwrap()
}

/// Shows JSON with the id of its conversation and the folder of the test replaced.
fn render_steady(server: &InProcessServer, value: &Value) -> String {
    let mut shown = serde_json::to_string_pretty(value).unwrap();
    let ids = [&value["conversationId"], &value["data"]["conversationId"]];
    for id in ids.into_iter().filter_map(Value::as_str) {
        assert_eq!(id.len(), 36);
        shown = shown.replace(id, "CONVERSATION");
    }
    let folder = server.folder.path().canonicalize().unwrap().display().to_string();
    shown.replace(&folder, "FOLDER")
}

/// Takes the messages out of a reply of server-sent events.
fn read_messages(reply: &RawReply) -> Vec<Value> {
    assert_eq!(reply.header("content-type"), Some("text/event-stream"), "{reply:?}");
    let events = reply.body.split("\n\n").filter_map(|event| event.strip_prefix("data: "));
    events.map(|data| serde_json::from_str(data).unwrap()).collect()
}

#[tokio::test]
async fn a_question_is_answered_as_ordered_segments_and_followed_up() {
    let model = FakeModel::replay([
        ModelReply::Items(vec![thinking_item("**Looking**"), search_item("parse_config")]),
        ModelReply::Items(vec![
            thinking_item("**Reading**"),
            message_item("It is `parse_config`."),
        ]),
        ModelReply::Items(vec![message_item("As I said.")]),
    ])
    .await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let asked = question_request(&json!({ "question": "  Where is the reader? " }));
    let reply = send_rpc_with_headers(server.mcp, &JSON_ONLY, &asked).await;
    let result = &reply.json()["result"];
    assert_eq!(result.as_object().unwrap().keys().collect::<Vec<_>>(), ["content"]);
    let answer = read_result(result);
    assert_snapshot!(render_steady(&server, &answer), @r#"
    {
      "conversationId": "CONVERSATION",
      "modelId": "mock-model",
      "segments": [
        {
          "type": "thinking",
          "text": "**Looking**"
        },
        {
          "type": "vector_summary",
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
          ]
        },
        {
          "type": "thinking",
          "text": "**Reading**"
        },
        {
          "type": "answer",
          "text": "It is `parse_config`.",
          "checked": {
            "citations": 0,
            "confirmed": 0,
            "unconfirmed": 0,
            "wrong": 0,
            "repaired": 0,
            "dropped": 0,
            "places": [],
            "repositories": []
          }
        }
      ]
    }
    "#);
    let again = json!({ "question": "Sure?", "conversationId": answer["conversationId"] });
    let reply = send_rpc_with_headers(server.mcp, &JSON_ONLY, &question_request(&again)).await;
    let second = read_result(&reply.json()["result"]);
    assert_eq!(second["conversationId"], answer["conversationId"]);
    let unchecked = json!({ "citations": 0, "confirmed": 0, "unconfirmed": 0, "wrong": 0, "repaired": 0, "dropped": 0, "places": [], "repositories": [] });
    let message = json!([{ "type": "answer", "text": "As I said.", "checked": unchecked }]);
    assert_eq!(second["segments"], message);
    assert!(model.latest_request_text().contains("Where is the reader?"), "the thread continues");
}

#[tokio::test]
async fn a_client_that_takes_events_gets_progress_and_one_result() {
    let model = FakeModel::replay([
        ModelReply::Items(vec![thinking_item("**Looking**"), search_item("parse_config")]),
        ModelReply::Items(vec![message_item("It is `parse_config`.")]),
    ])
    .await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let mut asked: Value =
        serde_json::from_str(&question_request(&json!({ "question": "Where?" }))).unwrap();
    asked["params"]["_meta"] = json!({ "progressToken": "p" });
    let mut messages = read_messages(&send_rpc(server.mcp, &asked.to_string()).await);
    let last = messages.pop().unwrap();
    let mut shown = String::new();
    for message in &messages {
        writeln!(shown, "{message}").unwrap();
    }
    assert_snapshot!(shown, @r#"
    {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1,"message":"Looking"}}
    {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":2,"message":"searched parse_config: 1 file"}}
    {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":3,"message":"It is parse_config."}}
    "#);
    assert_eq!(last["id"], 7);
    assert_eq!(read_result(&last["result"])["segments"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn the_tool_is_listed_and_its_schema_is_what_validates() {
    let model = FakeModel::replay([]).await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let listed = send_rpc(server.mcp, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    assert_snapshot!(listed.render_reply(), @r#"
    200 content-type: application/json
    {
      "jsonrpc": "2.0",
      "id": 1,
      "result": {
        "tools": [
          {
            "name": "codebase_question",
            "title": "Ask about the codebase",
            "description": "Answers a question about the indexed repositories (demo): finds the implementation of something, where it is defined, its usages, callers and references; explains architecture, how and why code works, since when and why it is so, what a change affects. Call it to explore or search code, instead of grep or before you read many files; not to look up one known file or name, nor to change code. Ask one whole question in plain words. It takes one to three minutes and returns JSON of at most 16 KB, {conversationId, modelId, segments}: read the last segment of type `answer`, which cites files and lines; its `checked` says which citations are confirmed, unconfirmed or wrong. `vector_summary` names the files that were looked at. For a follow-up pass the conversationId back.",
            "inputSchema": {
              "type": "object",
              "additionalProperties": false,
              "required": [
                "question"
              ],
              "properties": {
                "question": {
                  "type": "string",
                  "minLength": 1,
                  "maxLength": 65536,
                  "description": "The whole question in plain words, with any names you already know."
                },
                "conversationId": {
                  "type": "string",
                  "minLength": 1,
                  "description": "For a follow-up: the conversationId of the former answer. Leave it out to start a new conversation."
                }
              }
            },
            "annotations": {
              "title": "Ask about the codebase",
              "readOnlyHint": true,
              "destructiveHint": false,
              "idempotentHint": false,
              "openWorldHint": false
            },
            "_meta": {
              "anthropic/alwaysLoad": true
            }
          }
        ]
      }
    }
    "#);
    let unknown_id = "00000000-0000-4000-8000-000000000000";
    let mut faults = String::new();
    for arguments in [
        json!({}),
        json!(null),
        json!([]),
        json!({ "question": "" }),
        json!({ "question": " \n\t" }),
        json!({ "question": 1, "limit": 5, "repository": "demo" }),
        json!({ "question": "x\0y", "conversationId": "nonsense" }),
        json!({ "question": "x", "conversationId": "" }),
        json!({ "question": "x", "conversationId": null }),
        json!({ "question": "x".repeat(70_000) }),
    ] {
        let reply = send_rpc(server.mcp, &question_request(&arguments)).await;
        writeln!(faults, "{}", reply.json()["error"]).unwrap();
    }
    assert_snapshot!(faults, @r#"
    {"code":-32602,"message":"Invalid params","data":{"faults":["`question` is missing"]}}
    {"code":-32602,"message":"Invalid params","data":{"faults":["the value must be an object"]}}
    {"code":-32602,"message":"Invalid params","data":{"faults":["the value must be an object"]}}
    {"code":-32602,"message":"Invalid params","data":{"faults":["`question` is empty"]}}
    {"code":-32602,"message":"Invalid params","data":{"faults":["`question` is blank"]}}
    {"code":-32602,"message":"Invalid params","data":{"faults":["`question` must be a string","`limit` is not known here","`repository` is not known here"]}}
    {"code":-32602,"message":"Invalid params","data":{"faults":["`question` holds a NUL character","`conversationId`: `nonsense` is not an id: expected a UUID such as `0190a5d2-3f4b-7c11-9a6e-2b8d5c0e4f17`"]}}
    {"code":-32602,"message":"Invalid params","data":{"faults":["`conversationId` is empty"]}}
    {"code":-32602,"message":"Invalid params","data":{"faults":["`conversationId` must be a string"]}}
    {"code":-32602,"message":"Invalid params","data":{"faults":["`question` has more than 65536 characters"]}}
    "#);
    let unknown = json!({ "question": "x", "conversationId": unknown_id });
    let reply = send_rpc_with_headers(server.mcp, &JSON_ONLY, &question_request(&unknown)).await;
    assert_snapshot!(reply.render_reply(), @r#"
    200 content-type: application/json
    {
      "jsonrpc": "2.0",
      "id": 7,
      "error": {
        "code": -32602,
        "message": "Invalid params",
        "data": {
          "faults": [
            "there is no conversation `00000000-0000-4000-8000-000000000000`"
          ]
        }
      }
    }
    "#);
    let named = question_request(&json!({})).replace("codebase_question", "codebase_answer");
    assert_snapshot!(send_rpc(server.mcp, &named).await.json()["error"], @r#"{"code":-32602,"message":"Invalid params","data":{"faults":["there is no tool `codebase_answer`; there is codebase_question"]}}"#);
}

#[tokio::test]
async fn the_modern_era_reports_faulty_arguments_to_the_model() {
    let model = FakeModel::replay([ModelReply::Items(vec![message_item("Here.")])]).await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let ask = async |arguments: Value| {
        let mut body: Value = serde_json::from_str(&question_request(&arguments)).unwrap();
        body["params"]["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let headers = [
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "codebase_question"),
        ];
        send_rpc_with_headers(server.mcp, &headers, &body.to_string()).await
    };
    let faulty = ask(json!({ "limit": 1 })).await;
    assert_snapshot!(faulty.render_reply().replace(env!("CARGO_PKG_VERSION"), "VERSION"), @r#"
    200 content-type: application/json
    {
      "jsonrpc": "2.0",
      "id": 7,
      "result": {
        "resultType": "complete",
        "content": [
          {
            "type": "text",
            "text": "Invalid params: `limit` is not known here; `question` is missing"
          }
        ],
        "isError": true,
        "_meta": {
          "io.modelcontextprotocol/serverInfo": {
            "name": "codeinfo",
            "version": "VERSION"
          }
        }
      }
    }
    "#);
    let answered = read_messages(&ask(json!({ "question": "Where?" })).await).pop().unwrap();
    assert_eq!(answered["result"]["resultType"], "complete");
    assert_eq!(read_result(&answered["result"])["segments"][0]["text"], "Here.");
}

#[tokio::test]
async fn a_failed_turn_is_an_error_result_with_the_partial_answer() {
    let model = FakeModel::replay([
        ModelReply::Items(vec![thinking_item("**Looking**"), search_item("")]),
        ModelReply::Status(
            400,
            json!({ "error": { "message": "bad request", "code": "invalid" } }),
        ),
    ])
    .await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let reply = send_rpc_with_headers(
        server.mcp,
        &JSON_ONLY,
        &question_request(&json!({ "question": "Where?" })),
    )
    .await;
    let result = &reply.json()["result"];
    assert_eq!(result["isError"], true, "{reply:?}");
    assert_snapshot!(render_steady(&server, &read_result(result)), @r#"
    {
      "conversationId": "CONVERSATION",
      "modelId": "mock-model",
      "segments": [
        {
          "type": "thinking",
          "text": "**Looking**"
        }
      ],
      "error": {
        "code": "TURN_FAILED",
        "message": "Codex gave up: {\"error\":{\"message\":\"bad request\",\"code\":\"invalid\"}}"
      }
    }
    "#);
}

#[tokio::test]
async fn while_nothing_is_indexed_every_edge_says_what_to_type_and_no_model_is_asked() {
    let model = FakeModel::replay([ModelReply::Items(vec![message_item("Here.")])]).await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    let asked = question_request(&json!({ "question": "Where?" }));
    let reply = send_rpc_with_headers(server.mcp, &JSON_ONLY, &asked).await;
    let result = &reply.json()["result"];
    assert_eq!(result["isError"], true, "{reply:?}");
    assert_snapshot!(read_result(result), @r#"{"conversationId":null,"modelId":null,"segments":[],"error":{"code":"INGEST_REQUIRED","message":"nothing is indexed yet; index a repository with `codeinfo ingest PATH`"}}"#);
    assert_snapshot!(send_get(server.main, "/ready").await.render_reply(), @r#"
    503 content-type: application/json
    {
      "error": "INGEST_REQUIRED",
      "message": "nothing is indexed yet; index a repository with `codeinfo ingest PATH`"
    }
    "#);
    assert_snapshot!(send_post(server.main, "/chat", r#"{"question":"Where?"}"#).await.render_reply(), @r#"
    409 content-type: application/json
    {
      "error": "INGEST_REQUIRED",
      "message": "nothing is indexed yet; index a repository with `codeinfo ingest PATH`"
    }
    "#);
    server.ingest_empty_folder("empty").await;
    assert_eq!(send_get(server.main, "/ready").await.json()["error"], "INGEST_REQUIRED");
    assert_eq!(model.requests().len(), 0);
    server.ingest_demo().await;
    assert_eq!(send_get(server.main, "/ready").await.status, 200);
    let answer =
        read_result(&send_rpc_with_headers(server.mcp, &JSON_ONLY, &asked).await.json()["result"]);
    assert_eq!(answer["segments"][0]["text"], "Here.");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_store_is_not_taken_for_an_empty_one() {
    let fake_qdrant = FakeQdrant::start();
    let model = FakeModel::replay([]).await;
    let urls = fake_qdrant.urls().concat();
    let server = InProcessServer::start_with_codex(&model, &[("QDRANT_URL", &urls)]).await;
    server.ingest_demo().await;
    fake_qdrant.close_node(0);
    let ready = send_get(server.main, "/ready").await;
    assert_eq!((ready.status, &ready.json()["error"]), (503, &json!("STORE_UNAVAILABLE")));
    let asked = question_request(&json!({ "question": "Where?" }));
    let answer =
        read_result(&send_rpc_with_headers(server.mcp, &JSON_ONLY, &asked).await.json()["result"]);
    assert_eq!(answer["error"]["code"], "STORE_UNAVAILABLE", "{answer}");
}

/// A model that tries to search beyond any bound, then answers.
async fn start_curious_model() -> FakeModel {
    FakeModel::answer_with(|request| {
        let last = request["input"].as_array().unwrap().last().unwrap();
        if last["type"] == "function_call_output" {
            return ModelReply::Items(vec![message_item("Done.")]);
        }
        let tool = "ListIngestedRepositories".to_owned();
        ModelReply::Items(vec![
            search_item("parse_config"),
            OutputItem::Searches(json!({ "query": "parse_config", "repository": "other" })),
            OutputItem::Searches(json!({ "query": "parse_config", "repository": "demo" })),
            OutputItem::Calls("mcp__codeinfo_search".to_owned(), tool, json!({})),
        ])
    })
    .await
}

/// Returns the repositories in what a turn found, and what the model was last given.
fn read_found_and_given(model: &FakeModel, answer: &Value) -> (Vec<String>, String) {
    let segments = answer["segments"].as_array().unwrap();
    let files = segments.iter().filter_map(|segment| segment["files"].as_array()).flatten();
    let mut repos: Vec<String> =
        files.map(|file| file["repo"].as_str().unwrap().to_owned()).collect();
    repos.sort();
    repos.dedup();
    let conversation = answer["conversationId"].as_str().unwrap();
    let requests = model.requests();
    let of_it = |request: &&Value| request["prompt_cache_key"] == conversation;
    (repos, requests.iter().rfind(of_it).unwrap()["input"].to_string())
}

#[tokio::test]
async fn a_confined_question_finds_nothing_outside_whatever_the_model_asks_for() {
    let model = start_curious_model().await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    server.ingest_other().await;
    let ask = async |arguments: Value, repository: Option<&str>| {
        let mut body: Value = serde_json::from_str(&question_request(&arguments)).unwrap();
        if let Some(repository) = repository {
            body["params"]["_meta"] = json!({ "codeinfo/repository": repository });
        }
        read_result(
            &send_rpc_with_headers(server.mcp, &JSON_ONLY, &body.to_string()).await.json()["result"],
        )
    };
    let where_is = json!({ "question": "Where is it?" });
    // At the same time, each finds its own.
    let path = server.folder.path().join("other").canonicalize().unwrap();
    let (demo, other, all) = tokio::join!(
        ask(where_is.clone(), Some("demo")),
        ask(where_is.clone(), path.to_str()),
        ask(where_is, None),
    );
    let (repos, given) = read_found_and_given(&model, &demo);
    assert_eq!(repos, ["demo"]);
    assert!(given.contains("about the repository `demo` (at "), "{given}");
    assert!(given.contains("no repository `other` is indexed; known are `demo`"), "{given}");
    assert!(!given.contains("src/read.rs") && !given.contains("another reader"), "{given}");
    let (repos, given) = read_found_and_given(&model, &other);
    assert_eq!(repos, ["other"]);
    assert!(!given.contains("src/parse.rs") && !given.contains("a small reader"), "{given}");
    let (repos, given) = read_found_and_given(&model, &all);
    assert_eq!(repos, ["demo", "other"]);
    assert!(given.contains("another reader") && given.contains("a small reader"), "{given}");

    // A follow-up has a separate bound.
    let again = json!({ "question": "And now?", "conversationId": demo["conversationId"] });
    assert_eq!(read_found_and_given(&model, &ask(again.clone(), None).await).0, ["demo", "other"]);
    assert_eq!(read_found_and_given(&model, &ask(again.clone(), Some("other")).await).0, ["other"]);
    assert_eq!(read_found_and_given(&model, &ask(again, Some("demo")).await).0, ["demo"]);
}

#[tokio::test]
async fn a_repository_that_is_not_indexed_is_a_faulty_argument() {
    let model = FakeModel::replay([]).await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let mut asked: Value =
        serde_json::from_str(&question_request(&json!({ "question": "Where?" }))).unwrap();
    let mut faults = String::new();
    for repository in [json!("none"), json!(" "), json!(1), json!(null)] {
        asked["params"]["_meta"] = json!({ "codeinfo/repository": repository });
        let reply = send_rpc_with_headers(server.mcp, &JSON_ONLY, &asked.to_string()).await;
        writeln!(faults, "{}", reply.json()["error"]).unwrap();
    }
    assert_snapshot!(faults, @r#"
    {"code":-32602,"message":"Invalid params","data":{"faults":["no repository `none` is indexed; known are `demo`"]}}
    {"code":-32602,"message":"Invalid params","data":{"faults":["`_meta.codeinfo/repository` must be a name, an id or a path"]}}
    {"code":-32602,"message":"Invalid params","data":{"faults":["`_meta.codeinfo/repository` must be a name, an id or a path"]}}
    {"code":-32602,"message":"Invalid params","data":{"faults":["`_meta.codeinfo/repository` must be a name, an id or a path"]}}
    "#);
    asked["params"]["_meta"] = json!({
        "codeinfo/repository": "none",
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let headers = [
        ("accept", "application/json"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "codebase_question"),
    ];
    let modern =
        send_rpc_with_headers(server.mcp, &headers, &asked.to_string()).await.json()["result"]
            .clone();
    assert_eq!(modern["isError"], true, "{modern}");
    let message = "Invalid params: no repository `none` is indexed; known are `demo`";
    assert_eq!(modern["content"][0]["text"], message);
    let asked = r#"{"question":"Where?","repository":"none"}"#;
    assert_snapshot!(send_post(server.main, "/chat", asked).await.render_reply(), @r#"
    404 content-type: application/json
    {
      "error": "REPO_NOT_FOUND",
      "message": "no repository `none` is indexed; known are `demo`"
    }
    "#);
    assert_eq!(model.requests().len(), 0);
}

#[tokio::test]
async fn losing_the_model_service_in_a_turn_is_unavailability() {
    let model = FakeModel::answer_with(|_| ModelReply::Cut(Vec::new())).await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let reply = send_rpc_with_headers(
        server.mcp,
        &JSON_ONLY,
        &question_request(&json!({ "question": "Where?" })),
    )
    .await;
    assert_snapshot!(render_steady(&server, &reply.json()["error"]), @r#"
    {
      "code": -32001,
      "message": "CODE_INFO_LLM_UNAVAILABLE",
      "data": {
        "reason": "the model service broke off its answer and did so again when retried",
        "hint": "ask again in a while",
        "conversationId": "CONVERSATION"
      }
    }
    "#);
}

#[tokio::test]
async fn a_long_call_shows_signs_of_life_and_ends_with_its_client() {
    let model =
        FakeModel::answer_with(|_| ModelReply::Silent(vec![thinking_item("Looking for it.")]))
            .await;
    let server = InProcessServer::start_with_codex(&model, &[("KEEP_ALIVE_MS", "50")]).await;
    server.ingest_demo().await;
    let asked = question_request(&json!({ "question": "Where?" }));
    let asked = asked.replace(r#""name""#, r#""_meta":{"progressToken":9},"name""#);
    // The latest news is repeated with the time.
    let events =
        [": keep-alive\n\n", r#""progress":2,"message":"working (0 s)"#, "Looking for it. ("];
    for (turn, accept, signs) in [
        (1, "application/json", &["content-type: application/json", "\r\n1\r\n \r\n"][..]),
        (2, "application/json, text/event-stream", &events),
    ] {
        let headers = [("content-type", "application/json"), ("accept", accept)];
        let mut client = TcpStream::connect(server.mcp).await.unwrap();
        let request = wire::render_head("POST", "/mcp", &headers, asked.len()) + &asked;
        client.write_all(request.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        let seen = async {
            while !signs.iter().all(|sign| String::from_utf8_lossy(&bytes).contains(sign)) {
                assert_ne!(client.read_buf(&mut bytes).await.unwrap(), 0);
            }
        };
        timeout(Duration::from_mins(1), seen).await.unwrap();
        model.wait_for_requests(turn).await;
        drop(client);
        model.wait_for_abandoned_streams(turn).await;
    }
}
