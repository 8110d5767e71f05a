//! `codeinfo stdio`: relays of standard streams, the server that they share, and how long it lives.

mod takeover;

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use codeinfo_store::{LockHolder, find_lock_holder};
use codeinfo_test_support::embeddings::{self, FakeEmbeddingServer};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::{
    process::Command,
    time::{Instant, sleep},
};
use tokio_tungstenite::{
    client_async,
    tungstenite::{Error, client::IntoClientRequest, handshake::client::Request},
};

use crate::{
    end_to_end::{CodexSetup, read_result},
    support::{
        codex,
        model::{ModelReply, message_item, thinking_item},
        process::{RunningServer, create_scratch_folder, run_command, send_signal, without_codex},
        relay::RelayClient,
    },
};

/// Long enough that only a hanging test meets it.
const TIMEOUT: Duration = Duration::from_mins(1);

impl CodexSetup {
    /// Has its repository indexed, and returns the data folder.
    pub(crate) async fn index_repository(&self) -> PathBuf {
        let (data, boiler) = (self.folder.path().join("data"), self.folder.path().join("boiler"));
        let ingest = ["ingest", boiler.to_str().unwrap()];
        assert!(run_command(&data, &without_codex(), &ingest).await.status.success());
        data
    }
}

/// A folder that looks like a repository, with one function.
fn create_repository() -> tempfile::TempDir {
    let folder = create_scratch_folder();
    fs::create_dir(folder.path().join(".git")).unwrap();
    let code = "/// Opens the valve when the pressure is too high.\nfn relieve_pressure() {}\n";
    fs::write(folder.path().join("valve.rs"), code).unwrap();
    folder
}

async fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < TIMEOUT, "{what}");
        sleep(Duration::from_millis(20)).await;
    }
}

fn read_lock_holder(data: &Path) -> LockHolder {
    find_lock_holder(data).unwrap().unwrap()
}

async fn wait_until_gone(data: &Path) {
    wait_until("the server stays", || find_lock_holder(data).unwrap().is_none()).await;
}

fn read_text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer:#}"))
}

#[tokio::test]
async fn ten_relays_at_once_elect_one_server_that_ends_after_them() {
    let data = create_scratch_folder();
    let (data, folder) = (data.path().join("data"), create_scratch_folder());
    let relays = (0..10).map(|_| async {
        let mut relay = RelayClient::start(&data, folder.path(), &without_codex(), &["--search"]);
        relay.send_request(1, "tools/list", json!({})).await;
        let answer = relay.read_answer(1).await;
        assert_eq!(answer["result"]["tools"].as_array().unwrap().len(), 8, "{answer:#}");
        (read_lock_holder(&data), relay)
    });
    let answered = join_all(relays).await;
    let first = answered[0].0.clone();
    assert!(first.until_idle && first.version.as_deref() == Some(env!("CARGO_PKG_VERSION")));
    assert!(answered.iter().all(|(holder, _)| *holder == first), "one server");
    assert!(!data.join("server.log.1").try_exists().unwrap(), "it was started once");
    // The index there is readable for its user alone.
    assert_eq!(fs::metadata(&data).unwrap().permissions().mode() & 0o777, 0o700);
    // The server does not stop while one relay is there.
    let mut relays: Vec<RelayClient> = answered.into_iter().map(|(_, relay)| relay).collect();
    relays.truncate(1);
    sleep(Duration::from_millis(2500)).await;
    assert_eq!(read_lock_holder(&data).pid, first.pid);
    relays[0].close_input();
    assert!(relays[0].child.wait().await.unwrap().success());
    wait_until_gone(&data).await;
}

#[tokio::test]
async fn a_server_keeps_no_handle_of_the_client_that_started_it() {
    let (data, folder) = (create_scratch_folder(), create_scratch_folder());
    let patient = vec![("IDLE_EXIT_SECS".to_owned(), "60".to_owned())];
    let environment = [without_codex(), patient].concat();
    let mut relay = RelayClient::start_with_leaked_output(data.path(), folder.path(), &environment);
    relay.send_request(1, "ping", json!({})).await;
    relay.read_answer(1).await;
    relay.close_input();
    assert!(relay.child.wait().await.unwrap().success());
    // The output has ended for the client, and the server continues.
    assert_eq!(relay.read_message().await, None);
    send_signal("TERM", read_lock_holder(data.path()).pid).await;
    wait_until_gone(data.path()).await;
}

#[tokio::test]
async fn requests_before_the_end_of_the_input_are_answered() {
    let (data, repository) = (create_scratch_folder(), create_repository());
    let mut relay =
        RelayClient::start(data.path(), repository.path(), &without_codex(), &["--search"]);
    relay.send_request(1, "initialize", json!({ "protocolVersion": "2025-06-18" })).await;
    relay.send_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    relay.send_line("").await;
    relay.send_line("{ no JSON").await;
    relay.send_line(&"x".repeat(2 * 1024 * 1024)).await;
    relay.call_tool(2, "VectorSearch", json!({ "query": "valve" })).await;
    relay.close_input();
    let mut messages = Vec::new();
    while let Some(message) = relay.read_message().await {
        messages.push(message);
    }
    let with = |id: Value| messages.iter().filter(move |message| message["id"] == id);
    assert_eq!(messages.len(), 4, "{messages:#?}");
    assert_eq!(with(json!(1)).next().unwrap()["result"]["protocolVersion"], "2025-06-18");
    let codes: Vec<&Value> = with(Value::Null).map(|message| &message["error"]["code"]).collect();
    assert!(codes.contains(&&json!(-32700)) && codes.contains(&&json!(-32600)), "{messages:#?}");
    let found = read_text(with(json!(2)).next().unwrap());
    let hint = format!("`codeinfo ingest {}`", repository.path().canonicalize().unwrap().display());
    assert!(found.starts_with("INGEST_REQUIRED") && found.contains(&hint), "{found}");
    assert!(relay.child.wait().await.unwrap().success());
}

#[tokio::test]
async fn the_repository_around_a_relay_is_indexed_where_that_is_wanted() {
    let (data, repository) = (create_scratch_folder(), create_repository());
    let below = repository.path().join("docs/deep");
    fs::create_dir_all(&below).unwrap();
    let wanted = [without_codex(), vec![("AUTO_INDEX".to_owned(), "true".to_owned())]].concat();
    let mut relay = RelayClient::start(data.path(), &below, &wanted, &["--search"]);
    let began = Instant::now();
    for id in 1.. {
        relay.call_tool(id, "VectorSearch", json!({ "query": "relieve pressure" })).await;
        let answer = relay.read_answer(id).await;
        let found = read_text(&answer);
        // The run ends after its last file can be found.
        if found.contains("fn relieve_pressure") && !found.contains("being indexed") {
            assert!(!found.contains("not indexed"), "{found}");
            break;
        }
        assert!(found.contains("is being indexed") || found.contains("is not indexed"), "{found}");
        assert!(began.elapsed() < TIMEOUT, "{found}");
        sleep(Duration::from_millis(20)).await;
    }
    // Another repository, without a question: nothing is indexed, which is reported.
    let other = create_repository();
    let mut relay = RelayClient::start(data.path(), other.path(), &without_codex(), &["--search"]);
    relay.call_tool(1, "ListIngestedRepositories", json!({})).await;
    let answer = relay.read_answer(1).await;
    let (listed, path) = (read_text(&answer), other.path().canonicalize().unwrap());
    assert_eq!(listed.lines().count(), 2, "{listed}");
    assert!(listed.ends_with(&format!("`codeinfo ingest {}`", path.display())), "{listed}");
}

#[tokio::test]
async fn a_question_goes_through_a_relay_and_says_what_it_misses() {
    let thinking = thinking_item(&"I look for it. ".repeat(300));
    let again = ModelReply::Items(vec![message_item("Nothing at all.")]);
    let setup =
        CodexSetup::replay([ModelReply::Items(vec![thinking, message_item("Nothing.")]), again])
            .await;
    let (data, repository) = (setup.index_repository().await, create_repository());
    let bound = vec![("MCP_RESULT_BYTES".to_owned(), "2000".to_owned())];
    let environment = [setup.environment(), bound].concat();
    let mut relay = RelayClient::start(&data, repository.path(), &environment, &[]);
    let arguments = json!({ "question": "What is there?" });
    let meta = json!({ "progressToken": 7 });
    let params = json!({ "name": "codebase_question", "arguments": arguments, "_meta": meta });
    relay.send_request(1, "tools/call", params).await;
    let progress = relay.read_message().await.unwrap();
    assert_eq!(progress["params"]["progressToken"], 7, "{progress:#}");
    let answer = relay.read_answer(1).await;
    // The notice counts as well.
    assert!((1900..=2000).contains(&read_text(&answer).len()), "{answer:#}");
    let answer = read_result(&answer);
    assert_eq!(answer["segments"][1]["text"], "Nothing.", "{answer:#}");
    let notice = answer["notice"].as_str().unwrap();
    assert!(notice.contains("is not indexed"), "{notice}");
    let follow_up = json!({ "question": "Sure?", "conversationId": answer["conversationId"] });
    relay.call_tool(2, "codebase_question", follow_up).await;
    let answer = read_result(&relay.read_answer(2).await);
    assert_eq!(
        (&answer["notice"], &answer["segments"][0]["text"]),
        (&Value::Null, &json!("Nothing at all."))
    );
}

#[tokio::test]
async fn a_turn_ends_when_its_client_cancels_closes_or_dies() {
    let silent = || ModelReply::Silent(vec![thinking_item("hm")]);
    let setup = CodexSetup::replay([silent(), silent(), silent()]).await;
    let data = setup.index_repository().await;
    let ask = json!({ "question": "What is there?" });
    let mut relay = RelayClient::start(&data, setup.folder.path(), &setup.environment(), &[]);
    relay.call_tool(1, "codebase_question", ask.clone()).await;
    setup.model.wait_for_requests(1).await;
    relay.cancel_request(1).await;
    let began = Instant::now();
    setup.model.wait_for_abandoned_streams(1).await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    // It has no answer, and the connection continues.
    relay.send_request(2, "ping", json!({})).await;
    assert_eq!(relay.read_message().await.unwrap()["id"], 2);
    relay.call_tool(3, "codebase_question", ask.clone()).await;
    setup.model.wait_for_requests(2).await;
    let began = Instant::now();
    relay.close_input();
    setup.model.wait_for_abandoned_streams(2).await;
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert_eq!(relay.read_message().await, None);
    assert!(relay.child.wait().await.unwrap().success());
    let mut relay = RelayClient::start(&data, setup.folder.path(), &setup.environment(), &[]);
    relay.call_tool(4, "codebase_question", ask).await;
    setup.model.wait_for_requests(3).await;
    relay.child.kill().await.unwrap();
    setup.model.wait_for_abandoned_streams(3).await;
    wait_until_gone(&data).await;
}

#[tokio::test]
async fn calls_of_a_killed_server_fail_and_the_next_call_works() {
    let silent = || ModelReply::Silent(vec![thinking_item("hm")]);
    let setup =
        CodexSetup::replay([silent(), silent(), ModelReply::Items(vec![message_item("Here.")])])
            .await;
    let data = setup.index_repository().await;
    let mut relay = RelayClient::start(&data, setup.folder.path(), &setup.environment(), &[]);
    let ask = json!({ "question": "What is there?" });
    // Answered and cancelled requests are not worked on any more.
    relay.send_request(7, "ping", json!({})).await;
    relay.read_answer(7).await;
    relay.call_tool(0, "codebase_question", ask.clone()).await;
    setup.model.wait_for_requests(1).await;
    relay.cancel_request(0).await;
    setup.model.wait_for_abandoned_streams(1).await;
    relay.call_tool(1, "codebase_question", ask.clone()).await;
    setup.model.wait_for_requests(2).await;
    let first = read_lock_holder(&data).pid;
    send_signal("KILL", first).await;
    let failed = relay.read_message().await.unwrap();
    assert_eq!(failed["id"], 1, "{failed:#}");
    let message = failed["error"]["message"].as_str().unwrap();
    assert!(message.contains("ended while it worked on this"), "{message}");
    relay.call_tool(2, "codebase_question", ask).await;
    let answer = read_result(&relay.read_answer(2).await);
    assert_eq!(answer["segments"][0]["text"], "Here.", "{answer:#}");
    assert_ne!(read_lock_holder(&data).pid, first);
}

#[tokio::test]
async fn a_server_that_another_program_started_is_used_and_left_running() {
    let (data, folder) = (create_scratch_folder(), create_scratch_folder());
    let program = RunningServer::serve(data.path(), &[], &without_codex()).await;
    let required = [without_codex(), vec![("AUTH".to_owned(), "required".to_owned())]].concat();
    let mut relay = RelayClient::start(data.path(), folder.path(), &without_codex(), &["--search"]);
    relay.send_request(1, "ping", json!({})).await;
    assert_eq!(relay.read_answer(1).await["result"], json!({}));
    assert_eq!(read_lock_holder(data.path()).pid, program.pid());
    // Nor is it stopped by a newer relay.
    assert_eq!(try_handshake(data.path(), "99.0.0").await, Ok(101));
    assert_eq!(open_handshake(takeover_request(data.path())).await, Ok(101));
    relay.close_input();
    relay.child.wait().await.unwrap();
    program.terminate().await;
    // Where every request needs a bearer, a relay sends the key of the owner.
    let program = RunningServer::serve(data.path(), &[], &required).await;
    let mut stranger = relay_request(data.path(), "0.1.0");
    stranger.headers_mut().remove("authorization");
    assert_eq!(open_handshake(stranger).await.unwrap_err().0, 401);
    let mut relay = RelayClient::start(data.path(), folder.path(), &required, &["--search"]);
    relay.send_request(1, "ping", json!({})).await;
    assert_eq!(relay.read_answer(1).await["result"], json!({}));
    program.terminate().await;
}

#[tokio::test]
async fn a_server_for_relays_is_replaced_by_a_newer_one() {
    let (data, folder) = (create_scratch_folder(), create_scratch_folder());
    let mut relay = RelayClient::start(data.path(), folder.path(), &without_codex(), &["--search"]);
    relay.send_request(1, "ping", json!({})).await;
    relay.read_answer(1).await;
    let first = read_lock_holder(data.path()).pid;
    assert_eq!(try_handshake(data.path(), "0.0.1").await, Ok(101));
    // A relay without the key of the owner has no rights.
    let mut stranger = relay_request(data.path(), "99.0.0");
    stranger.headers_mut().remove("authorization");
    assert_eq!(open_handshake(stranger).await, Ok(101));
    let mut stranger = takeover_request(data.path());
    stranger.headers_mut().remove("authorization");
    assert_eq!(open_handshake(stranger).await, Ok(101));
    let (status, output_text) = try_handshake(data.path(), "99.0.0").await.unwrap_err();
    assert_eq!(status, 503);
    assert!(output_text.contains("another one is taking over"), "{output_text}");
    wait_until("it stays", || {
        find_lock_holder(data.path()).unwrap().is_none_or(|now| now.pid != first)
    })
    .await;
    relay.send_request(2, "ping", json!({})).await;
    assert_eq!(relay.read_answer(2).await["result"], json!({}));
    assert_ne!(read_lock_holder(data.path()).pid, first);
}

#[tokio::test]
async fn a_relay_says_why_there_is_no_server() {
    let (data, folder) = (create_scratch_folder(), create_scratch_folder());
    // An address of no machine.
    let elsewhere = [("HOST", "203.0.113.1"), ("AUTH", "optional")];
    let elsewhere = elsewhere.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let environment = [without_codex(), elsewhere.to_vec()].concat();
    let mut relay = RelayClient::start(data.path(), folder.path(), &environment, &[]);
    relay.send_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    relay.send_request(1, "tools/list", json!({})).await;
    let failed = relay.read_message().await.unwrap();
    assert_eq!(failed["id"], 1);
    let message = failed["error"]["message"].as_str().unwrap();
    assert!(message.contains("CodeInfo cannot be reached"), "{message}");
    assert!(message.contains("cannot listen on 203.0.113.1"), "{message}");
}

#[tokio::test]
async fn a_server_for_relays_outlives_its_group_has_their_keys_and_ends_no_run() {
    let (data, repository) = (create_scratch_folder(), create_repository());
    // Slower than the server is patient.
    let service = FakeEmbeddingServer::start_with_script(|_| {
        embeddings::EmbeddingAnswer::Late(Duration::from_millis(2500))
    })
    .await;
    let settings = [
        ("EMBEDDING_URL", service.url.as_str()),
        ("EMBEDDING_MODEL", "small"),
        ("EMBEDDING_API_KEY", "k3y"),
        ("EMBEDDING_DIMENSIONS", "64"),
        ("AUTO_INDEX", "true"),
    ];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let environment = [without_codex(), settings.to_vec()].concat();
    let mut relay = RelayClient::start(data.path(), repository.path(), &environment, &["--search"]);
    relay.send_request(1, "ping", json!({})).await;
    relay.read_answer(1).await;
    service.wait_for_requests(1).await;
    let pid = read_lock_holder(data.path()).pid;
    // As some clients end their servers: all of a group at once.
    let group = format!("-{}", relay.child.id().unwrap());
    let ended = Command::new("kill").args(["-TERM", "--", &group]).status().await.unwrap();
    assert!(ended.success());
    relay.child.wait().await.unwrap();
    wait_until_gone(data.path()).await;
    assert!(service.authorization_headers().iter().all(|key| key.as_deref() == Some("Bearer k3y")));
    // The folder that it was indexing when the last relay left is there.
    let mut relay = RelayClient::start(data.path(), repository.path(), &environment, &["--search"]);
    assert_ne!(wait_for_server(data.path()).await, pid);
    relay.call_tool(2, "ListIngestedRepositories", json!({})).await;
    let answer = relay.read_answer(2).await;
    assert!(read_text(&answer).contains("(1 file, 1 chunk)"), "{answer:#}");
}

async fn wait_for_server(data: &Path) -> u32 {
    let listens =
        || find_lock_holder(data).unwrap().is_some_and(|holder| holder.main_url.is_some());
    wait_until("no server", listens).await;
    read_lock_holder(data).pid
}

#[tokio::test]
async fn a_client_is_notified_that_codex_is_back_by_any_later_server() {
    let setup = CodexSetup::replay([]).await;
    let data = setup.index_repository().await;
    let binary = setup.folder.path().join("codex");
    let mut environment = setup.environment();
    environment.retain(|(name, _)| name != "CODEX_PRESENCE_SECS");
    let later = [("CODEX_BIN", binary.to_str().unwrap()), ("CODEX_PRESENCE_SECS", "1")];
    environment.extend(later.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let mut relay = RelayClient::start(&data, setup.folder.path(), &environment, &[]);
    relay.send_request(1, "initialize", json!({ "protocolVersion": "2025-06-18" })).await;
    assert_eq!(relay.read_answer(1).await["result"]["capabilities"]["tools"]["listChanged"], true);
    relay.call_tool(2, "codebase_question", json!({ "question": "What is there?" })).await;
    assert_eq!(relay.read_answer(2).await["error"]["code"], -32001);
    send_signal("KILL", read_lock_holder(&data).pid).await;
    wait_until("it stays", || find_lock_holder(&data).unwrap().is_none()).await;
    // The first message may be lost with the server.
    for id in 10..20 {
        relay.send_request(id, "ping", json!({})).await;
        if relay.read_answer(id).await["error"].is_null() {
            break;
        }
    }
    // One that came later, and one of the second era, which asks for it.
    let mut later = RelayClient::start(&data, setup.folder.path(), &environment, &[]);
    later.send_request(1, "initialize", json!({ "protocolVersion": "2025-06-18" })).await;
    later.read_answer(1).await;
    let mut modern = RelayClient::start(&data, setup.folder.path(), &environment, &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let wanted = json!({ "notifications": { "toolsListChanged": true }, "_meta": meta });
    modern.send_request(1, "subscriptions/listen", wanted).await;
    let granted = modern.read_message().await.unwrap();
    assert_eq!(granted["method"], "notifications/subscriptions/acknowledged", "{granted:#}");
    std::os::unix::fs::symlink(codex::codex_binary(), &binary).unwrap();
    let heard = modern.read_message().await.unwrap();
    assert_eq!(heard["method"], "notifications/tools/list_changed", "{heard:#}");
    assert_eq!(heard["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    for relay in [&mut relay, &mut later] {
        assert_eq!(
            relay.read_message().await.unwrap()["method"],
            "notifications/tools/list_changed"
        );
    }
    relay.send_request(4, "tools/list", json!({})).await;
    assert_eq!(relay.read_answer(4).await["result"]["tools"][0]["name"], "codebase_question");
}

#[tokio::test]
async fn a_newer_relay_interrupts_no_turn() {
    let setup = CodexSetup::replay([ModelReply::Silent(vec![thinking_item("hm")])]).await;
    let data = setup.index_repository().await;
    let mut relay = RelayClient::start(&data, setup.folder.path(), &setup.environment(), &[]);
    relay.call_tool(1, "codebase_question", json!({ "question": "What is there?" })).await;
    setup.model.wait_for_requests(1).await;
    assert_eq!(try_handshake(&data, "99.0.0").await, Ok(101));
    relay.child.kill().await.unwrap();
    setup.model.wait_for_abandoned_streams(1).await;
}

#[tokio::test]
async fn where_the_ports_are_taken_the_server_finds_others() {
    let (data, folder) = (create_scratch_folder(), create_scratch_folder());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let environment = [without_codex(), vec![("PORT".to_owned(), port.clone())]].concat();
    let mut relay = RelayClient::start(data.path(), folder.path(), &environment, &["--search"]);
    relay.send_request(1, "ping", json!({})).await;
    assert_eq!(relay.read_answer(1).await["result"], json!({}));
    assert!(!read_lock_holder(data.path()).main_url.unwrap().ends_with(&format!(":{port}")));
}

/// Returns the status of the handshake of a relay of this version; a refusal with its text.
async fn try_handshake(data: &Path, version: &str) -> Result<u16, (u16, String)> {
    open_handshake(relay_request(data, version)).await
}

async fn open_handshake(request: Request) -> Result<u16, (u16, String)> {
    let address = request.uri().authority().unwrap().to_string();
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    match client_async(request, stream).await {
        Ok((_, reply)) => Ok(reply.status().as_u16()),
        Err(Error::Http(reply)) => {
            let output_text = String::from_utf8(reply.body().clone().unwrap_or_default()).unwrap();
            Err((reply.status().as_u16(), output_text))
        }
        Err(error) => panic!("{error}"),
    }
}

fn takeover_request(data: &Path) -> Request {
    let mut request = relay_request(data, env!("CARGO_PKG_VERSION"));
    let server = json!({ "version": env!("CARGO_PKG_VERSION"), "takesOver": true }).to_string();
    request.headers_mut().insert("codeinfo-relay", server.parse().unwrap());
    request
}

fn relay_request(data: &Path, version: &str) -> Request {
    let url = read_lock_holder(data).main_url.unwrap().replacen("http", "ws", 1);
    let mut request = format!("{url}/mcp/relay").into_client_request().unwrap();
    let relay = json!({ "version": version }).to_string();
    request.headers_mut().insert("codeinfo-relay", relay.parse().unwrap());
    // A relay shows the owner's key.
    let key = fs::read_to_string(data.join("owner.key")).unwrap();
    let bearer = format!("Bearer {}", key.trim());
    request.headers_mut().insert("authorization", bearer.parse().unwrap());
    request
}
