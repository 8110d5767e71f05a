//! The whole server inside the test's process, on ports of the system's choice.

use std::{collections::HashMap, net::SocketAddr};

use codeinfo::{
    app::{Server, ServerVisibility},
    config::{self, Config},
};
use codeinfo_store::OnMismatch;
use codeinfo_test_support::wire::{RawReply, send_get, send_post, send_request};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{
    codex,
    model::FakeModel,
    process::{create_scratch_folder, http_client},
};

const PARSE: &str = "\
/// Reads a configuration file line by line.
pub fn parse_config(text: &str) -> Vec<(String, String)> {
    text.lines().filter_map(|line| line.split_once('=')).map(pair).collect()
}
";

/// A running server; it ends with the test's runtime.
pub(crate) struct InProcessServer {
    pub(crate) main: SocketAddr,
    pub(crate) mcp: SocketAddr,
    pub(crate) folder: TempDir,
    server: Server,
}

impl InProcessServer {
    /// Starts with an empty store and without Codex.
    pub(crate) async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// Starts with the settings of `pairs`.
    pub(crate) async fn start_with(pairs: &[(&str, &str)]) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), pairs).await
    }

    /// Starts with the real Codex, its model `model`, and no second reader.
    pub(crate) async fn start_with_codex(model: &FakeModel, pairs: &[(&str, &str)]) -> Self {
        let folder = create_scratch_folder();
        let home = codex::write_codex_home(folder.path(), &model.url, "").display().to_string();
        let bin = codex::codex_binary().display().to_string();
        let codex = [("CODEX_BIN", bin.as_str()), ("CODEX_HOME", home.as_str())];
        let mut all = vec![("CLAIM_CHECK", "off")];
        all.extend(codex);
        all.extend(pairs);
        Self::start_in(folder, &all).await
    }

    async fn start_in(folder: TempDir, pairs: &[(&str, &str)]) -> Self {
        let config = load_settings(&folder, pairs);
        let starting = Server::start(&config, OnMismatch::Refuse, ServerVisibility::Private);
        let server = Box::pin(starting).await.unwrap();
        // A request for readiness waits for the first probe of Codex.
        drop(http_client().get(format!("{}/ready", server.main_url())).send().await.unwrap());
        let address = |url: String| url.strip_prefix("http://").unwrap().parse().unwrap();
        Self { main: address(server.main_url()), mcp: address(server.mcp_url()), folder, server }
    }

    /// Indexes one small repository called `demo`.
    pub(crate) async fn ingest_demo(&self) {
        self.write("demo/src/parse.rs", PARSE);
        self.write("demo/README.md", "# Demo\n\nReads configuration files.\n");
        self.ingest("demo", "a small reader").await;
    }

    /// Indexes another repository, `other`, with the same code.
    pub(crate) async fn ingest_other(&self) {
        self.write("other/src/read.rs", PARSE);
        self.ingest("other", "another reader").await;
    }

    /// Indexes a folder of this name without a file.
    pub(crate) async fn ingest_empty_folder(&self, name: &str) {
        std::fs::create_dir(self.folder.path().join(name)).unwrap();
        self.ingest(name, "an empty folder").await;
    }

    pub(crate) async fn ingest(&self, name: &str, description: &str) {
        let path = self.folder.path().join(name);
        let body = json!({ "path": path, "name": name, "description": description });
        let started = send_post(self.main, "/ingest/start", &body.to_string()).await;
        assert_eq!(started.status, 202, "{started:?}");
        self.wait_for_run(started.json()["runId"].as_str().unwrap()).await;
    }

    /// Writes a file below the folder of the test.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let file = self.folder.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    /// Shows a reply without what differs from run to run.
    pub(crate) fn render_reply(&self, reply: &RawReply) -> String {
        let folder = self.folder.path().canonicalize().unwrap().display().to_string();
        let text = match serde_json::from_str::<Value>(&reply.body) {
            Ok(mut body) => {
                hide_variable_fields(&mut body);
                RawReply { body: body.to_string(), headers: reply.headers.clone(), ..*reply }
                    .render_reply()
            }
            Err(_) => reply.render_reply(),
        };
        text.replace(&folder, "FOLDER")
    }

    /// Waits until a run has ended.
    pub(crate) async fn wait_for_run(&self, run: &str) {
        let url = format!("http://{}/ingest/status/{run}", self.main);
        let http = http_client();
        loop {
            let status: Value = http.get(&url).send().await.unwrap().json().await.unwrap();
            match status["state"].as_str().unwrap() {
                "queued" | "scanning" | "embedding" => tokio::task::yield_now().await,
                _ => return,
            }
        }
    }

    /// Returns how many questions are being answered.
    pub(crate) fn count_turns(&self) -> usize {
        self.server.count_running().0
    }

    /// Returns the owner's key as a header has it.
    pub(crate) fn owner_header(&self) -> String {
        let key = std::fs::read_to_string(self.folder.path().join("data/owner.key")).unwrap();
        format!("Bearer {}", key.trim())
    }

    /// Makes a token, and returns it as a header has it.
    pub(crate) async fn create_token(&self, body: Value) -> String {
        let owner = self.owner_header();
        let headers = [("content-type", "application/json"), ("authorization", owner.as_str())];
        let made =
            send_request(self.main, "POST", "/auth/mcp-tokens", &headers, &body.to_string()).await;
        format!("Bearer {}", made.json()["token"].as_str().unwrap())
    }

    /// Stops as the program does; returns whether everything ended in time.
    pub(crate) async fn stop(self) -> bool {
        self.server.stop().await
    }
}

fn load_settings(folder: &TempDir, pairs: &[(&str, &str)]) -> Config {
    let data_dir = folder.path().join("data").display().to_string();
    let usual = [
        ("CODEX_BIN", "/nonexistent/codex"),
        ("DATA_DIR", data_dir.as_str()),
        ("PORT", "0"),
        ("MCP_PORT", "0"),
    ];
    // Where the system reports the account of a connection, that is the default.
    let auth = cfg!(not(target_os = "linux")).then_some(("AUTH", "optional"));
    let all: HashMap<&str, &str> =
        auth.into_iter().chain(usual).chain(pairs.iter().copied()).collect();
    let owned = all.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    config::from_pairs(owned, std::ffi::OsString::new()).unwrap()
}

fn hide_variable_fields(value: &mut Value) {
    const VARYING: [&str; 8] =
        ["id", "runId", "chunkId", "lastIngestAt", "uptimeSeconds", "version", "etaMs", "port"];
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if VARYING.contains(&name.as_str()) && !member.is_null() {
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

/// Starts with `demo` indexed.
pub(crate) async fn start_with_demo() -> InProcessServer {
    let server = InProcessServer::start().await;
    server.ingest_demo().await;
    server
}

/// Gets a path that must be answered.
pub(crate) async fn get_json(server: &InProcessServer, path: &str) -> Value {
    let reply = send_get(server.main, path).await;
    assert_eq!(reply.status, 200, "{path}: {reply:?}");
    reply.json()
}
