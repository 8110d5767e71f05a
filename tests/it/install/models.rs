//! What the models of real clients are given after `install`, and whether their call reaches the tool.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};

use super::{clients::installed, *};

/// A model of any of the three interfaces, on a port of its own. It calls the tool if it is given it.
struct ScriptedModel {
    url: String,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl ScriptedModel {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::default());
        let seen = Arc::clone(&requests);
        // It ends with the process of the tests.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let seen = Arc::clone(&seen);
                thread::spawn(move || answer(&mut stream.unwrap(), &seen));
            }
        });
        Self { url, requests }
    }

    /// Returns the requests that offer tools.
    fn requests(&self) -> Vec<Value> {
        let requests = self.requests.lock().unwrap().clone();
        requests.into_iter().filter(|request| request["tools"].is_array()).collect()
    }
}

/// Answers one request; a client that asks for something else than a turn hears of nothing.
fn answer(stream: &mut TcpStream, seen: &Mutex<Vec<Value>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut path, mut length, mut line) = (String::new(), 0, String::new());
    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
        if path.is_empty() {
            path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let events: Vec<String> = reply(&path, &request).iter().map(format_event).collect();
    let (status, text) =
        if events.is_empty() { (404, String::new()) } else { (200, events.concat()) };
    seen.lock().unwrap().push(request);
    let head = format!(
        "content-type: text/event-stream\r\ncontent-length: {}\r\nconnection: close",
        text.len()
    );
    // A client that is at its end may not wait for it.
    drop(write!(stream, "HTTP/1.1 {status} -\r\n{head}\r\n\r\n{text}"));
}

fn format_event(event: &Value) -> String {
    let name = event["type"].as_str().map(|name| format!("event: {name}\n"));
    format!("{}data: {event}\n\n", name.unwrap_or_default())
}

/// Returns the events of a turn: a call of the tool, and after its result, or without the tool, a word.
fn reply(path: &str, request: &Value) -> Vec<Value> {
    let call = tool_name(request).filter(|_| tool_results(request).is_empty());
    let arguments = json!({ "question": "How does it work?" });
    if path.contains("/messages") && !path.contains("count_tokens") {
        let (block, delta) = match &call {
            Some(name) => (
                json!({ "type": "tool_use", "id": "call", "name": name, "input": {} }),
                json!({ "type": "input_json_delta", "partial_json": arguments.to_string() }),
            ),
            None => (
                json!({ "type": "text", "text": "" }),
                json!({ "type": "text_delta", "text": "done" }),
            ),
        };
        let reason = if call.is_some() { "tool_use" } else { "end_turn" };
        let usage = json!({ "input_tokens": 1, "output_tokens": 1 });
        let message = json!({ "id": "m", "type": "message", "role": "assistant", "model": "m",
                              "content": [], "usage": usage });
        return vec![
            json!({ "type": "message_start", "message": message }),
            json!({ "type": "content_block_start", "index": 0, "content_block": block }),
            json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": usage }),
            json!({ "type": "message_stop" }),
        ];
    }
    if path.contains("/chat/completions") {
        let function = json!({ "name": call, "arguments": arguments.to_string() });
        let calls = json!([{ "index": 0, "id": "call", "type": "function", "function": function }]);
        let (delta, reason) = if call.is_some() {
            (json!({ "role": "assistant", "tool_calls": calls }), "tool_calls")
        } else {
            (json!({ "role": "assistant", "content": "done" }), "stop")
        };
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        return vec![json!({ "id": "m", "object": "chat.completion.chunk", "choices": [choice] })];
    }
    if path.contains("streamGenerateContent") {
        let part = match &call {
            Some(name) => json!({ "functionCall": { "name": name, "args": arguments } }),
            None => json!({ "text": "done" }),
        };
        let content = json!({ "role": "model", "parts": [part] });
        return vec![json!({ "candidates": [{ "content": content, "finishReason": "STOP" }] })];
    }
    Vec::new()
}

/// Returns the name under which a request offers the tool.
fn tool_name(request: &Value) -> Option<String> {
    let tools = request["tools"].as_array()?.iter();
    let tools = tools.flat_map(|tool| match tool["functionDeclarations"].as_array() {
        Some(declared) => declared.iter().collect(),
        None => vec![tool.get("function").unwrap_or(tool)],
    });
    let mut names = tools.filter_map(|tool| tool["name"].as_str());
    names.find(|name| name.ends_with("codebase_question")).map(str::to_owned)
}

/// Returns what came of calls, as a model is shown it.
fn tool_results(request: &Value) -> String {
    let messages = request["messages"].as_array().or(request["contents"].as_array());
    let is_result =
        |part: &&Value| part["type"] == "tool_result" || part["functionResponse"].is_object();
    let results = messages.into_iter().flatten().flat_map(|message| {
        let parts = message["content"].as_array().or(message["parts"].as_array());
        let whole = (message["role"] == "tool").then_some(message);
        whole.into_iter().chain(parts.into_iter().flatten().filter(is_result))
    });
    results.map(Value::to_string).collect()
}

/// Runs a client without a terminal, as it was installed, and returns the requests of its model.
fn ask(id: &str, switches: &[&str]) -> Vec<Value> {
    let home = Home::with_program();
    let model = ScriptedModel::start();
    home.write(
        ".gemini/settings.json",
        r#"{"security": {"auth": {"selectedType": "gemini-api-key"}}}"#,
    );
    home.well(&[&["install", id, "--yes"], switches].concat());
    let mut command = installed(id, &home);
    command.env("GEMINI_CLI_TRUST_WORKSPACE", "true").env("IDLE_EXIT_SECS", "1");
    command.env("PORT", "0").env("MCP_PORT", "0").env("CODEX_BIN", "/nonexistent/codex");
    command.env("ANTHROPIC_BASE_URL", &model.url).env("ANTHROPIC_API_KEY", "key");
    command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1").env("DISABLE_TELEMETRY", "1");
    command.env("GOOGLE_GEMINI_BASE_URL", &model.url).env("GEMINI_API_KEY", "key");
    command.env("OPENAI_BASE_URL", format!("{}/v1", model.url));
    command.env("OPENAI_API_KEY", "key").env("OPENAI_MODEL", "m");
    match id {
        "gemini" => command.args(["-m", "gemini-2.5-flash"]),
        "qwen" => command.args(["--auth-type", "openai"]),
        _ => &mut command,
    };
    fs::create_dir(home.path("work")).unwrap();
    command.current_dir(home.path("work")).args(["-p", "How does it work?"]);
    let ended = home.end(&mut command);
    assert_eq!(ended.code, Some(0), "{id}: {ended:?}");
    model.requests()
}

/// With `CLIENTS=all`, as all clients from npm.
#[test]
fn models_of_clients_are_given_the_tool_and_their_calls_reach_it() {
    if std::env::var_os("CLIENTS").is_none_or(|clients| clients != "all") {
        return;
    }
    for (id, given_without_permission) in [("claude-code", true), ("gemini", false), ("qwen", true)]
    {
        let requests = ask(id, &[]);
        let first = requests.first().unwrap();
        assert!(tool_name(first).is_some(), "{id}: not given: {}", first["tools"]);
        let text = first.to_string();
        for shown in ["Before grep or reading files to learn how code works", "code-investigator"] {
            assert!(text.contains(shown), "{id}: lacks {shown}: {text}");
        }
        let results = tool_results(requests.last().unwrap());
        // There is no Codex here, which only the tool itself says.
        assert!(results.contains("CODE_INFO_LLM_UNAVAILABLE"), "{id}: {results}");

        let requests = ask(id, &["--no-permissions", "--no-instructions"]);
        let first = requests.first().unwrap();
        assert_eq!(tool_name(first).is_some(), given_without_permission, "{id}");
        assert!(!first.to_string().contains("code-investigator"), "{id}");
        let results = tool_results(requests.last().unwrap());
        assert!(!results.contains("CODE_INFO_LLM_UNAVAILABLE"), "{id}: {results}");
    }
}
