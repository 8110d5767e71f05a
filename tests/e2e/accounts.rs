//! Access of another account of this machine to a server over loopback. The account is made for the test,
//! which root alone can do.
#![cfg(target_os = "linux")]

use std::{
    fs,
    net::SocketAddr,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::Path,
    process::{Command, Output, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
};

use codeinfo_test_support::wire::{self, RawReply, render_head, send_get, send_request};
use serde_json::{Value, json};

use crate::{listeners::InProcessServer, support::process};

const JSON: (&str, &str) = ("content-type", "application/json");
/// Sends a request from bash and prints what comes back.
const EXCHANGE: &str = r#"exec 3<>"/dev/tcp/$1/$2"; printf '%s' "$3" >&3; cat <&3"#;
/// Sends a request and closes the connection at once.
const SEND_AND_CLOSE: &str = r#"exec 3<>"/dev/tcp/$1/$2"; printf '%s' "$3" >&3; exec 3>&-"#;

/// An account that exists as long as the test.
pub(crate) struct SystemAccount {
    name: String,
    id: u32,
}

impl SystemAccount {
    /// Creates an account; where that is not possible, reports why.
    pub(crate) fn create() -> Option<Self> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        if !rustix::process::geteuid().is_root() {
            return report_no_account("only root can make another account");
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("codeinfo-{}-{number}", std::process::id());
        let made = Command::new("useradd").args(["--no-create-home", &name]).output();
        match made {
            Ok(made) if made.status.success() => {}
            Ok(made) => return report_no_account(&String::from_utf8_lossy(&made.stderr)),
            Err(error) => return report_no_account(&format!("useradd: {error}")),
        }
        let id = Command::new("id").args(["-u", &name]).output().unwrap().stdout;
        let id = String::from_utf8(id).unwrap().trim().parse().unwrap();
        Some(Self { name, id })
    }

    /// Runs a script of bash with the address of a listener and a request, and returns what it prints.
    async fn run_script(&self, script: &str, to: SocketAddr, request: String) -> Vec<u8> {
        let mut bash = Command::new("bash");
        bash.args(["-c", script, "bash", &to.ip().to_string(), &to.port().to_string(), &request]);
        bash.uid(self.id).gid(self.id).current_dir("/").stdin(Stdio::null());
        tokio::task::spawn_blocking(move || bash.output().unwrap().stdout).await.unwrap()
    }

    /// Runs the program to its end as this account.
    async fn run_program(&self, data_dir: &Path, arguments: &[&str]) -> Output {
        let no_codex = vec![("CODEX_BIN".to_owned(), "/nonexistent/codex".to_owned())];
        let mut program = process::program_command(data_dir, &no_codex);
        program.uid(self.id).gid(self.id).args(arguments).output().await.unwrap()
    }

    /// Sends a request as this account.
    pub(crate) async fn send_request(
        &self,
        to: SocketAddr,
        route: (&str, &str),
        headers: &[(&str, &str)],
        body: &str,
    ) -> RawReply {
        let request = render_head(route.0, route.1, headers, body.len()) + body;
        wire::parse_reply(&self.run_script(EXCHANGE, to, request).await)
    }
}

impl Drop for SystemAccount {
    fn drop(&mut self) {
        drop(Command::new("userdel").arg(&self.name).output());
    }
}

#[expect(clippy::print_stderr, reason = "a test that is skipped says why")]
fn report_no_account(reason: &str) -> Option<SystemAccount> {
    eprintln!("skipped: {reason}");
    None
}

/// A folder that its owner alone may read.
fn create_private_folder(server: &InProcessServer) -> String {
    server.write("private/plan.md", "# The plan\n\nNobody else may read this.\n");
    let folder = server.folder.path().join("private");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    folder.display().to_string()
}

#[tokio::test]
async fn a_data_folder_of_another_account_is_refused_and_left_as_it_was() {
    let Some(account) = SystemAccount::create() else { return };
    let folder = process::create_scratch_folder();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    // Ours, and open to all: who made it could put files there that the other one believes.
    fs::set_permissions(&data, fs::Permissions::from_mode(0o777)).unwrap();
    let refused = account.run_program(&data, &["serve"]).await;
    let output_text = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success(), "{output_text}");
    assert!(output_text.contains("it belongs to another account; set `DATA_DIR`"), "{output_text}");
    assert_eq!(fs::metadata(&data).unwrap().permissions().mode() & 0o777, 0o777);
    assert_eq!(fs::read_dir(&data).unwrap().count(), 0);
}

#[tokio::test]
async fn another_account_gets_nothing_of_a_server_without_a_token() {
    let Some(account) = SystemAccount::create() else { return };
    let server = InProcessServer::start().await;
    server.ingest_demo().await;
    let start = json!({ "path": create_private_folder(&server) }).to_string();
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (to, method, path, body) in [
        (server.main, "POST", "/ingest/start", start.as_str()),
        (server.main, "POST", "/ingest/remove/demo", ""),
        (server.main, "POST", "/ingest/reembed/demo", ""),
        (server.main, "GET", "/ingest/roots", ""),
        (server.main, "GET", "/source?repository=demo&path=README.md", ""),
        (server.main, "POST", "/tools/vector-search", r#"{"query":"configuration"}"#),
        (server.main, "GET", "/conversations", ""),
        (server.main, "DELETE", "/conversations", ""),
        (server.main, "GET", "/settings", ""),
        (server.main, "GET", "/failures", ""),
        (server.main, "GET", "/metrics", ""),
        (server.main, "GET", "/nowhere", ""),
        (server.main, "POST", "/mcp", list),
        (server.mcp, "POST", "/", list),
        (server.mcp, "POST", "/mcp", list),
    ] {
        let refused = account.send_request(to, (method, path), &[JSON], body).await;
        assert_eq!(refused.status, 401, "{method} {path}: {refused:?}");
        assert!(refused.body.contains("another account"), "{refused:?}");
        assert!(refused.body.contains("codeinfo token create NAME"), "{refused:?}");
        let ours = send_request(to, method, "/nowhere", &[JSON], body).await;
        assert_eq!(ours.status, 404, "{ours:?}");
    }
    let health = account.send_request(server.main, ("GET", "/health"), &[], "").await;
    assert_eq!((health.status, health.json().as_object().unwrap().len()), (200, 1), "{health:?}");
    let page = account.send_request(server.main, ("GET", "/"), &[], "").await;
    assert_eq!(page.status, 200);
    let roots = send_get(server.main, "/ingest/roots").await.json();
    assert_eq!(roots["roots"].as_array().unwrap().len(), 1, "{roots}");
}

#[tokio::test]
async fn another_account_is_answered_with_a_token() {
    let Some(account) = SystemAccount::create() else { return };
    let server = InProcessServer::start().await;
    let key = fs::read_to_string(server.folder.path().join("data/owner.key")).unwrap();
    let owner = format!("Bearer {}", key.trim());
    let headers = [JSON, ("authorization", owner.as_str())];
    let made =
        send_request(server.main, "POST", "/auth/mcp-tokens", &headers, r#"{"name":"ann"}"#).await;
    let token = format!("Bearer {}", made.json()["token"].as_str().unwrap());
    let headers = [JSON, ("authorization", token.as_str())];
    let roots = account.send_request(server.main, ("GET", "/ingest/roots"), &headers, "").await;
    assert_eq!((roots.status, &roots.json()["roots"]), (200, &json!([])), "{roots:?}");
    let wrong = [JSON, ("authorization", "Bearer x")];
    let refused = account.send_request(server.main, ("GET", "/ingest/roots"), &wrong, "").await;
    assert_eq!(refused.status, 401);
}

#[tokio::test]
async fn a_connection_that_its_account_closes_at_once_is_not_taken_for_one_of_root() {
    let Some(account) = SystemAccount::create() else { return };
    let server = InProcessServer::start().await;
    let body = json!({ "path": create_private_folder(&server) }).to_string();
    let start = render_head("POST", "/ingest/start", &[JSON], body.len()) + &body;
    for _ in 0..100 {
        account.run_script(SEND_AND_CLOSE, server.main, start.clone()).await;
    }
    let roots: Value = send_get(server.main, "/ingest/roots").await.json();
    assert_eq!(roots["roots"], json!([]));
}
