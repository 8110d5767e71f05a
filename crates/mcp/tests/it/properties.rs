//! Property tests of the JSON-RPC layer: any input yields a well-formed answer or nothing.
//!
//! `PROPTEST_CASES=1000000 cargo test properties` searches longer; `fuzz/` searches guided by
//! coverage.

use proptest::{
    prelude::*,
    sample::{Index, select},
};
use serde_json::json;

use crate::judge::{EndpointJudge, PostHeaders};

const METHODS: [&str; 16] = [
    "initialize",
    "server/discover",
    "notifications/initialized",
    "notifications/cancelled",
    "ping",
    "tools/list",
    "tools/call",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/listTemplates",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "subscriptions/listen",
    "Tools/Call",
];
const VERSIONS: [&str; 8] = [
    "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "2026-07-29", "", "draft",
];
const ACCEPTS: [&str; 6] = [
    "application/json, text/event-stream",
    "application/json, text/event-stream",
    "text/event-stream",
    "application/json",
    "*/*;q=0.1",
    "text/html",
];
/// Meaningful keys, so that duplicates and wrong kinds of them are frequent.
const KEYS: [&str; 12] = [
    "jsonrpc",
    "id",
    "method",
    "params",
    "result",
    "error",
    "name",
    "arguments",
    "_meta",
    "cursor",
    "question",
    "io.modelcontextprotocol/protocolVersion",
];
const NUMBERS: [&str; 12] = [
    "0",
    "-0",
    "1.0",
    "1.5",
    "-1e-400",
    "1e400",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "-9223372036854775809",
    "9007199254740993",
    "123456789012345678901234567890123456789012345678901234567890",
];

const PIECES: [&[u8]; 9] = [b"\"", b"{", b"}", b"[", b"]", b",", b":", b"\\u0000", b"\xff"];

#[derive(Debug, Clone)]
struct SentRequest {
    headers: PostHeaders,
    body: String,
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[a-z/ \\\\\"]{0,8}"].prop_map(|text| json!(text).to_string())
}

/// Generates JSON as text, which can express what no parsed value can.
fn any_value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        select(&["null", "true", "false", "{}", "[]", r#""\ud800""#][..]).prop_map(str::to_owned),
        select(&NUMBERS[..]).prop_map(str::to_owned),
        any::<i64>().prop_map(|number| number.to_string()),
        any_text(),
        (100_usize..200).prop_map(|depth| "[".repeat(depth) + &"]".repeat(depth)),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|elements| format!("[{}]", elements.join(","))),
            prop::collection::vec((any_key(), inner), 0..4)
                .prop_map(|members| render_object(&members)),
        ]
    })
}

fn any_key() -> impl Strategy<Value = String> {
    prop_oneof![4 => select(&KEYS[..]).prop_map(|key| json!(key).to_string()), 1 => any_text()]
}

fn render_object(members: &[(String, String)]) -> String {
    let members: Vec<String> =
        members.iter().map(|(key, value)| format!("{key}:{value}")).collect();
    format!("{{{}}}", members.join(","))
}

/// Generates mostly `usual`; sometimes nothing, sometimes anything.
fn mostly_usual(usual: impl Strategy<Value = String> + 'static) -> BoxedStrategy<Option<String>> {
    prop_oneof![8 => usual.prop_map(Some), 1 => Just(None), 1 => any_value().prop_map(Some)].boxed()
}

fn any_quoted(texts: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(texts).prop_map(|text| json!(text).to_string())
}

fn join_members(members: Vec<(&str, Option<String>)>, extra: Vec<(String, String)>) -> String {
    let named =
        members.into_iter().filter_map(|(key, value)| Some((json!(key).to_string(), value?)));
    render_object(&named.chain(extra).collect::<Vec<_>>())
}

fn any_extra_members() -> impl Strategy<Value = Vec<(String, String)>> {
    prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec((any_key(), any_value()), 1..3)]
}

fn any_meta() -> impl Strategy<Value = String> {
    let version = prop_oneof![3 => Just(r#""2026-07-28""#.to_owned()), 1 => any_quoted(&VERSIONS)];
    (
        mostly_usual(version),
        mostly_usual(Just("{}".to_owned())),
        mostly_usual(any_value()),
        any_extra_members(),
    )
        .prop_map(|(version, capabilities, token, extra)| {
            let members = vec![
                ("io.modelcontextprotocol/protocolVersion", version),
                ("io.modelcontextprotocol/clientCapabilities", capabilities),
                ("progressToken", token),
            ];
            join_members(members, extra)
        })
}

fn any_params() -> impl Strategy<Value = String> {
    let name = mostly_usual(any_quoted(&["now", "later", "later", "lost", "refused", "nobody"]));
    let arguments = mostly_usual(Just(r#"{"question":"why?"}"#.to_owned()));
    let meta = prop_oneof![1 => Just(None), 2 => mostly_usual(any_meta())];
    (name, arguments, meta, any_extra_members()).prop_map(|(name, arguments, meta, extra)| {
        join_members(vec![("name", name), ("arguments", arguments), ("_meta", meta)], extra)
    })
}

fn any_message() -> impl Strategy<Value = String> {
    let version =
        prop_oneof![12 => Just(Some(r#""2.0""#.to_owned())), 1 => mostly_usual(any_value())];
    let id = mostly_usual(prop_oneof![
        any::<u64>().prop_map(|number| number.to_string()),
        select(&NUMBERS[..]).prop_map(str::to_owned),
        any_text(),
    ]);
    (
        version,
        id,
        mostly_usual(any_quoted(&METHODS)),
        mostly_usual(any_params()),
        any_extra_members(),
    )
        .prop_map(|(version, id, method, params, extra)| {
            let members =
                vec![("jsonrpc", version), ("id", id), ("method", method), ("params", params)];
            join_members(members, extra)
        })
}

fn any_batch() -> impl Strategy<Value = String> {
    prop::collection::vec(prop_oneof![4 => any_message(), 1 => any_value()], 0..10)
        .prop_map(|messages| format!("[{}]", messages.join(",")))
}

/// Generates requests with headers that may or may not fit the body.
fn any_request(body: impl Strategy<Value = String>) -> impl Strategy<Value = SentRequest> {
    let accept =
        prop_oneof![6 => select(&ACCEPTS[..]).prop_map(str::to_owned), 1 => any::<String>()];
    let version =
        prop_oneof![6 => select(&VERSIONS[..]).prop_map(str::to_owned), 1 => any::<String>()];
    let other = prop_oneof![any::<String>(), "=\\?base64\\?[a-zA-Z0-9+/=]{0,9}\\?=", "tools/call"];
    let headers =
        (prop::option::of(accept), prop::option::of(version), prop::option::of(other), 0..4);
    (body, headers).prop_map(|(body, (accept, version, other, fits))| {
        let parsed: serde_json::Value = serde_json::from_str(&body).unwrap_or_default();
        let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
        let meta = &parsed["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        let headers = match (fits, text(meta)) {
            (0, _) => PostHeaders { accept, version, method: other.clone(), name: other },
            (1, _) => PostHeaders { accept, version, method: text(&parsed["method"]), name: other },
            (_, meta) => PostHeaders {
                accept,
                version: meta,
                method: text(&parsed["method"]),
                name: text(&parsed["params"]["name"]),
            },
        };
        SentRequest { headers, body }
    })
}

fn any_edits() -> impl Strategy<Value = Vec<(Index, Index, Vec<u8>)>> {
    let bytes = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..4),
        select(&PIECES[..]).prop_map(<[u8]>::to_vec),
    ];
    prop::collection::vec((any::<Index>(), any::<Index>(), bytes), 1..4)
}

fn apply_edits(body: &str, edits: &[(Index, Index, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = body.as_bytes().to_vec();
    for (from, length, instead) in edits {
        let start = from.index(bytes.len() + 1);
        let end = (start + length.index(8)).min(bytes.len());
        bytes.splice(start..end, instead.iter().copied());
    }
    bytes
}

/// Disables the files of failures, which people turn into tests instead.
fn property_config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

#[test]
fn a_huge_progress_token_is_not_repeated() {
    let headers =
        PostHeaders { accept: Some("text/event-stream".to_owned()), ..PostHeaders::default() };
    for token in ["short", &"x".repeat(100_000)] {
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {
                "name": "later",
                "arguments": { "question": "why?" },
                "_meta": { "progressToken": token },
            },
        });
        check_post(&headers, body.to_string().as_bytes());
    }
}

thread_local! {
    static JUDGE: EndpointJudge = EndpointJudge::new();
}

fn check_post(headers: &PostHeaders, body: &[u8]) {
    JUDGE.with(|judge| judge.check_post(headers, body));
}

proptest! {
    #![proptest_config(property_config())]

    #[test]
    fn a_message_gets_a_well_formed_answer_or_none(sent in any_request(any_message())) {
        check_post(&sent.headers, sent.body.as_bytes());
    }

    #[test]
    fn a_batch_has_one_answer_for_each_request(sent in any_request(any_batch())) {
        check_post(&sent.headers, sent.body.as_bytes());
    }

    #[test]
    fn any_json_gets_a_well_formed_answer(sent in any_request(any_value())) {
        check_post(&sent.headers, sent.body.as_bytes());
    }

    #[test]
    fn a_damaged_message_gets_a_well_formed_answer(sent in any_request(any_message()), edits in any_edits()) {
        check_post(&sent.headers, &apply_edits(&sent.body, &edits));
    }

    #[test]
    fn any_bytes_get_a_well_formed_answer(body in prop::collection::vec(any::<u8>(), 0..300)) {
        check_post(&PostHeaders::default(), &body);
    }
}
