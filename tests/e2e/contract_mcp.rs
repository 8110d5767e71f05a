//! The wire contract of the MCP server (port 5011) while Codex is unavailable: whole replies.
#![expect(clippy::too_many_lines, reason = "whole replies stand in the tests")]

use std::fmt::Write;

use codeinfo_test_support::wire::{self, send_rpc, send_rpc_with_headers};
use insta::assert_snapshot;

use crate::listeners::InProcessServer;

/// Removes what changes with each release.
fn hide_versions(text: &str) -> String {
    text.replace(env!("CARGO_PKG_VERSION"), "VERSION")
}

async fn send_and_render(server: &InProcessServer, headers: &[(&str, &str)], body: &str) -> String {
    hide_versions(&send_rpc_with_headers(server.mcp, headers, body).await.render_reply())
}

/// Starts a server that knows by now that Codex is unavailable.
async fn start_without_codex() -> InProcessServer {
    let server = InProcessServer::start().await;
    send_rpc(server.mcp, r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#).await;
    server
}

#[tokio::test]
async fn initialize_introduces_the_server() {
    let server = start_without_codex().await;
    let body = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"test","version":"1"}}}"#;
    assert_snapshot!(send_and_render(&server, &[], body).await, @r#"
    200 content-type: application/json
    {
      "jsonrpc": "2.0",
      "id": 0,
      "result": {
        "protocolVersion": "2025-06-18",
        "capabilities": {
          "tools": {
            "listChanged": true
          },
          "resources": {},
          "prompts": {}
        },
        "serverInfo": {
          "name": "codeinfo",
          "title": "CodeInfo",
          "version": "VERSION"
        },
        "instructions": "Before grep or reading files, ask codebase_question how this code works, where something is, what uses it or what a change affects: it answers from the whole index with path:lines.\nAn answer takes one to three minutes. It cites files and lines, and `checked` says which citations are confirmed. For a follow-up pass the conversationId of the former answer. Error CODE_INFO_LLM_UNAVAILABLE means that Codex cannot be used at the moment; it says why and what to do.\nAt the moment codebase_question cannot answer, because Codex cannot be used: the Codex command line is not found: CODEX_BIN does not name a program. Tell the user what to do: install it with `npm install -g @openai/codex` and sign in with `codex login`, or set CODEX_BIN to the path of the binary. `codeinfo doctor` checks every part."
      }
    }
    "#);
}

#[tokio::test]
async fn both_paths_answer_alike_and_no_other_does() {
    let server = InProcessServer::start().await;
    let ping = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
    let root = wire::send_post(server.mcp, "/", ping).await;
    assert_snapshot!(root.render_reply(), @r#"
    200 content-type: application/json
    {
      "jsonrpc": "2.0",
      "id": "p",
      "result": {}
    }
    "#);
    assert_eq!(wire::send_post(server.mcp, "/mcp", ping).await.body, root.body);
    assert_eq!(wire::send_post(server.mcp, "/mcp/", ping).await.body, root.body);
    assert_eq!(wire::send_post(server.main, "/mcp/", ping).await.body, root.body);
    assert_snapshot!(wire::send_post(server.mcp, "/mcp/mcp", ping).await.render_reply(), @r#"
    404 content-type: application/json
    {
      "error": "ROUTE_NOT_FOUND",
      "message": "there is nothing at this path"
    }
    "#);
    assert_snapshot!(wire::send_get(server.mcp, "/mcp").await.render_reply(), @r#"
    405 content-type: application/json allow: POST
    {
      "error": "METHOD_NOT_ALLOWED",
      "message": "this path answers POST only"
    }
    "#);
    let delete = wire::send_request(server.mcp, "DELETE", "/", &[], "").await;
    assert_snapshot!(delete.render_reply(), @r#"
    405 content-type: application/json allow: POST
    {
      "error": "METHOD_NOT_ALLOWED",
      "message": "this path answers POST only"
    }
    "#);
    assert_eq!(
        wire::send_get(server.mcp, "/.well-known/oauth-authorization-server").await.status,
        404
    );
}

#[tokio::test]
async fn notifications_and_responses_are_accepted_in_silence() {
    let server = InProcessServer::start().await;
    for body in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#,
        r#"{"jsonrpc":"2.0","method":"no/such/thing"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]"#,
    ] {
        let reply = send_rpc(server.mcp, body).await;
        assert_eq!(
            (reply.render_reply().as_str(), reply.header("content-type")),
            ("202", None),
            "{body}"
        );
    }
}

#[tokio::test]
async fn the_gate_comes_before_arguments_and_never_hides_the_rest() {
    let server = InProcessServer::start().await;
    let call = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
    };
    let listed = send_rpc(server.mcp, &call("tools/list", "{}")).await;
    assert_snapshot!(listed.render_reply(), @r#"
    200 content-type: application/json
    {
      "jsonrpc": "2.0",
      "id": 1,
      "error": {
        "code": -32001,
        "message": "CODE_INFO_LLM_UNAVAILABLE",
        "data": {
          "reason": "the Codex command line is not found: CODEX_BIN does not name a program",
          "hint": "install it with `npm install -g @openai/codex` and sign in with `codex login`, or set CODEX_BIN to the path of the binary"
        }
      }
    }
    "#);
    for params in [
        r#"{"name":"codebase_question","arguments":{"question":"where is main?"}}"#,
        r#"{"name":"codebase_question","arguments":{"limit":3}}"#,
        r#"{"name":"no_such_tool"}"#,
        "{}",
    ] {
        let called = send_rpc(server.mcp, &call("tools/call", params)).await;
        assert_eq!(called.json()["error"], listed.json()["error"], "{params}");
    }
}

#[tokio::test]
async fn resources_and_prompts_are_empty() {
    let server = InProcessServer::start().await;
    let mut replies = String::new();
    for method in
        ["resources/list", "resources/templates/list", "resources/listTemplates", "prompts/list"]
    {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
        replies.push_str(&send_rpc(server.mcp, &body).await.body);
        replies.push('\n');
    }
    for (method, params) in [
        ("resources/read", r#"{"uri":"file:///etc/passwd"}"#),
        ("prompts/get", r#"{"name":"x"}"#),
        ("resources/list", r#"{"cursor":"x"}"#),
        ("completion/complete", "{}"),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        replies.push_str(&send_rpc(server.mcp, &body).await.body);
        replies.push('\n');
    }
    assert_snapshot!(replies, @r#"
    {"jsonrpc":"2.0","id":1,"result":{"resources":[]}}
    {"jsonrpc":"2.0","id":1,"result":{"resourceTemplates":[]}}
    {"jsonrpc":"2.0","id":1,"result":{"resourceTemplates":[],"resource_templates":[]}}
    {"jsonrpc":"2.0","id":1,"result":{"prompts":[]}}
    {"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"Resource not found","data":{"uri":"file:///etc/passwd"}}}
    {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params","data":{"faults":["there are no prompts"]}}}
    {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params","data":{"faults":["`cursor` is unknown: lists have one page"]}}}
    {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found: `completion/complete`"}}
    "#);
}

#[tokio::test]
async fn messages_of_the_wrong_shape_are_refused_with_a_reason() {
    let server = InProcessServer::start().await;
    let mut replies = String::new();
    for body in [
        "",
        "{",
        "null",
        "1",
        r#""text""#,
        "{}",
        "[]",
        "[1]",
        r#"{"id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\u{1}\"}",
    ] {
        let reply = send_rpc(server.mcp, body).await;
        writeln!(replies, "{body}\n  {} {}", reply.status, reply.body).unwrap();
    }
    assert_snapshot!(replies, @r#"
      400 {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: EOF while parsing a value at line 1 column 0"}}
    {
      400 {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: EOF while parsing an object at line 1 column 1"}}
    null
      400 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: a message must be an object"}}
    1
      400 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: a message must be an object"}}
    "text"
      400 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: a message must be an object"}}
    {}
      400 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: `jsonrpc` must be \"2.0\""}}
    []
      400 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: the batch is empty"}}
    [1]
      200 [{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: a message must be an object"}}]
    {"id":1,"method":"ping"}
      400 {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: `jsonrpc` must be \"2.0\""}}
    {"jsonrpc":"1.0","id":1,"method":"ping"}
      400 {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: `jsonrpc` must be \"2.0\""}}
    {"jsonrpc":2.0,"id":1,"method":"ping"}
      400 {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: `jsonrpc` must be \"2.0\""}}
    {"jsonrpc":"2.0","id":1}
      400 {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: `method` is missing"}}
    {"jsonrpc":"2.0","id":1,"method":1}
      400 {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: `method` must be a string"}}
    {"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}
      400 {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: `params` must be an object"}}
    {"jsonrpc":"2.0","id":1,"method":"ping","params":[]}
      200 {"jsonrpc":"2.0","id":1,"result":{}}
    {"jsonrpc":"2.0","id":1,"method":"ping","params":null}
      200 {"jsonrpc":"2.0","id":1,"result":{}}
    {"jsonrpc":"2.0","id":null,"method":"ping"}
      400 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: `id` must be a string or a whole number of 64 bits"}}
    {"jsonrpc":"2.0","id":1.5,"method":"ping"}
      400 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: `id` must be a string or a whole number of 64 bits"}}
    {"jsonrpc":"2.0","id":{},"method":"ping"}
      400 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: `id` must be a string or a whole number of 64 bits"}}
    {"jsonrpc":"2.0","id":1,"method":""}
      400 {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: control character (\\u0000-\\u001F) found while parsing a string at line 1 column 35"}}
    "#);
}

#[tokio::test]
async fn batches_depend_on_the_version() {
    let server = InProcessServer::start().await;
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},1,{"jsonrpc":"2.0","id":"2","method":"nope"},{"jsonrpc":"2.0","id":3,"method":"initialize","params":{}}]"#;
    assert_snapshot!(send_rpc(server.mcp, batch).await.render_reply(), @r#"
    200 content-type: application/json
    [
      {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {}
      },
      {
        "jsonrpc": "2.0",
        "id": null,
        "error": {
          "code": -32600,
          "message": "Invalid Request: a message must be an object"
        }
      },
      {
        "jsonrpc": "2.0",
        "id": "2",
        "error": {
          "code": -32601,
          "message": "Method not found: `nope`"
        }
      },
      {
        "jsonrpc": "2.0",
        "id": 3,
        "error": {
          "code": -32600,
          "message": "Invalid Request: this request cannot be part of a batch"
        }
      }
    ]
    "#);
    let with = async |version| {
        send_rpc_with_headers(server.mcp, &[("mcp-protocol-version", version)], batch).await
    };
    assert_eq!(with("2025-03-26").await.status, 200);
    assert_snapshot!(with("2025-06-18").await.render_reply(), @r#"
    400 content-type: application/json
    {
      "jsonrpc": "2.0",
      "id": null,
      "error": {
        "code": -32600,
        "message": "Invalid Request: this protocol version has no batches"
      }
    }
    "#);
    let one = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let many = format!("[{}]", vec![one; 65].join(","));
    assert_snapshot!(send_rpc(server.mcp, &many).await.render_reply(), @r#"
    400 content-type: application/json
    {
      "jsonrpc": "2.0",
      "id": null,
      "error": {
        "code": -32600,
        "message": "Invalid Request: the batch has more than 64 messages"
      }
    }
    "#);
}

#[tokio::test]
async fn headers_are_checked_as_the_protocol_says() {
    let server = InProcessServer::start().await;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let version = |version| [("mcp-protocol-version", version)];
    for known in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        assert!(
            send_and_render(&server, &version(known), ping).await.starts_with("200"),
            "{known}"
        );
    }
    assert_snapshot!(send_and_render(&server, &version("1999-01-01"), ping).await, @r#"
    400 content-type: application/json
    {
      "jsonrpc": "2.0",
      "id": 1,
      "error": {
        "code": -32022,
        "message": "Unsupported protocol version",
        "data": {
          "supported": [
            "2026-07-28",
            "2025-11-25",
            "2025-06-18",
            "2025-03-26",
            "2024-11-05"
          ],
          "requested": "1999-01-01"
        }
      }
    }
    "#);
    assert_snapshot!(send_and_render(&server, &[("accept", "text/html")], ping).await, @r#"
    406 content-type: application/json
    {
      "jsonrpc": "2.0",
      "id": null,
      "error": {
        "code": -32600,
        "message": "Invalid Request: `Accept` must allow application/json or text/event-stream"
      }
    }
    "#);
    assert_snapshot!(send_and_render(&server, &[("accept", "text/event-stream")], ping).await, @r#"
    200 content-type: text/event-stream
    data: {"jsonrpc":"2.0","id":1,"result":{}}
    "#);
    let plain = [("content-type", "text/plain")];
    let reply = wire::send_request(server.mcp, "POST", "/mcp", &plain, ping).await;
    assert_snapshot!(reply.render_reply(), @r#"
    415 content-type: application/json
    {
      "error": "UNSUPPORTED_MEDIA_TYPE",
      "message": "the request must be sent with `content-type: application/json`"
    }
    "#);
    let untyped = wire::send_request(server.mcp, "POST", "/mcp", &[], ping).await;
    assert_eq!(untyped.status, 415);
}

/// A request of 2026-07-28 with `change` made to its metadata.
fn modern_request(method: &str, params: &str, change: (&str, &str)) -> String {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let params = match params {
        "" => format!("{{{meta}}}"),
        members => format!("{{{members},{meta}}}"),
    };
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    body.replace(change.0, change.1)
}

const SAME: (&str, &str) = ("\u{0}", "");

#[tokio::test]
async fn per_request_metadata_selects_the_modern_era() {
    let server = start_without_codex().await;
    let headers = |method| [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
    let discovered = send_and_render(
        &server,
        &headers("server/discover"),
        &modern_request("server/discover", "", SAME),
    )
    .await;
    assert_snapshot!(discovered, @r#"
    200 content-type: application/json
    {
      "jsonrpc": "2.0",
      "id": 1,
      "result": {
        "resultType": "complete",
        "supportedVersions": [
          "2026-07-28",
          "2025-11-25",
          "2025-06-18",
          "2025-03-26",
          "2024-11-05"
        ],
        "capabilities": {
          "tools": {
            "listChanged": true
          },
          "resources": {},
          "prompts": {}
        },
        "instructions": "Before grep or reading files, ask codebase_question how this code works, where something is, what uses it or what a change affects: it answers from the whole index with path:lines.\nAn answer takes one to three minutes. It cites files and lines, and `checked` says which citations are confirmed. For a follow-up pass the conversationId of the former answer. Error CODE_INFO_LLM_UNAVAILABLE means that Codex cannot be used at the moment; it says why and what to do.\nAt the moment codebase_question cannot answer, because Codex cannot be used: the Codex command line is not found: CODEX_BIN does not name a program. Tell the user what to do: install it with `npm install -g @openai/codex` and sign in with `codex login`, or set CODEX_BIN to the path of the binary. `codeinfo doctor` checks every part.",
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {
          "io.modelcontextprotocol/serverInfo": {
            "name": "codeinfo",
            "version": "VERSION"
          }
        }
      }
    }
    "#);
    let listed = send_and_render(
        &server,
        &headers("resources/list"),
        &modern_request("resources/list", "", SAME),
    )
    .await;
    assert_snapshot!(listed, @r#"
    200 content-type: application/json
    {
      "jsonrpc": "2.0",
      "id": 1,
      "result": {
        "resultType": "complete",
        "resources": [],
        "ttlMs": 300000,
        "cacheScope": "public",
        "_meta": {
          "io.modelcontextprotocol/serverInfo": {
            "name": "codeinfo",
            "version": "VERSION"
          }
        }
      }
    }
    "#);
    let gated =
        send_and_render(&server, &headers("tools/list"), &modern_request("tools/list", "", SAME))
            .await;
    assert_snapshot!(gated, @r#"
    200 content-type: application/json
    {
      "jsonrpc": "2.0",
      "id": 1,
      "error": {
        "code": -32001,
        "message": "CODE_INFO_LLM_UNAVAILABLE",
        "data": {
          "reason": "the Codex command line is not found: CODEX_BIN does not name a program",
          "hint": "install it with `npm install -g @openai/codex` and sign in with `codex login`, or set CODEX_BIN to the path of the binary"
        }
      }
    }
    "#);
    for removed in ["initialize", "ping", "logging/setLevel", "resources/listTemplates"] {
        let reply =
            send_and_render(&server, &headers(removed), &modern_request(removed, "", SAME)).await;
        assert!(reply.starts_with("404") && reply.contains("-32601"), "{reply}");
    }
}

#[tokio::test]
async fn modern_requests_are_checked_in_order() {
    let server = InProcessServer::start().await;
    let version = ("mcp-protocol-version", "2026-07-28");
    let method = ("mcp-method", "resources/read");
    let uri = r#""uri":"a:b""#;
    let read = |change| modern_request("resources/read", uri, change);
    let cases = [
        ("no metadata", vec![version], r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_owned()),
        ("version not text", vec![version], read((r#""2026-07-28""#, "1"))),
        ("no version header", vec![method], read(SAME)),
        (
            "other version",
            vec![("mcp-protocol-version", "2030-01-01")],
            read(("2026-07-28", "2030-01-01")),
        ),
        ("no capabilities", vec![version, method], read(("clientCapabilities\":{}", "x\":{}"))),
        ("no method header", vec![version], read(SAME)),
        ("other method header", vec![version, ("mcp-method", "Resources/Read")], read(SAME)),
        ("no name header", vec![version, method], read(SAME)),
        ("encoded name", vec![version, method, ("mcp-name", "=?base64?YTpi?=")], read(SAME)),
    ];
    let mut replies = String::new();
    for (case, headers, body) in cases {
        let reply = send_rpc_with_headers(server.mcp, &headers, &body).await;
        writeln!(replies, "{case}: {} {}", reply.status, reply.json()["error"]).unwrap();
    }
    assert_snapshot!(replies, @r#"
    no metadata: 400 {"code":-32602,"message":"Invalid params","data":{"faults":["`_meta.io.modelcontextprotocol/protocolVersion` must be there and a JSON string"]}}
    version not text: 400 {"code":-32602,"message":"Invalid params","data":{"faults":["`_meta.io.modelcontextprotocol/protocolVersion` must be there and a JSON string"]}}
    no version header: 400 {"code":-32020,"message":"Header mismatch: `MCP-Protocol-Version` must be there and equal `io.modelcontextprotocol/protocolVersion`"}
    other version: 400 {"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"2030-01-01"}}
    no capabilities: 400 {"code":-32602,"message":"Invalid params","data":{"faults":["`_meta.io.modelcontextprotocol/clientCapabilities` must be there and a JSON object"]}}
    no method header: 400 {"code":-32020,"message":"Header mismatch: `Mcp-Method` must be there and equal `method`"}
    other method header: 400 {"code":-32020,"message":"Header mismatch: `Mcp-Method` must be there and equal `method`"}
    no name header: 400 {"code":-32020,"message":"Header mismatch: `Mcp-Name` must be there and equal `uri`"}
    encoded name: 200 {"code":-32602,"message":"Resource not found","data":{"uri":"a:b"}}
    "#);
}
