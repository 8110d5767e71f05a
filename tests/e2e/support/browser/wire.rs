//! The browser's processes, and the `DevTools` protocol over two pipes: JSON, each message ended by a zero.

use std::{
    collections::HashMap,
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use codeinfo_core::task::Tasks;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{ChildStdin, ChildStdout},
    sync::{mpsc, oneshot},
    time::timeout,
};

use super::faults::PageEvents;
use crate::support::process::create_scratch_folder;

/// Long enough that only a hanging test meets it.
pub(super) const TIMEOUT: Duration = Duration::from_secs(45);

/// Names of the browser; the first installed one is used.
const NAMES: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

const OPTIONS: [&str; 19] = [
    "--headless=new",
    "--remote-debugging-pipe",
    // As root there is no other way, and what it opens is ours.
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-breakpad",
    // Nothing leaves loopback.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--no-proxy-server",
    // Containers give little shared memory.
    "--disable-dev-shm-usage",
    // Invisible tabs are drawn like others.
    "--disable-backgrounding-occluded-windows",
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    // As on a phone, where they take no room.
    "--hide-scrollbars",
];

/// The browser's answer to a call: its result, or an error.
pub(super) type BrowserAnswer = Result<Value, String>;

/// A browser and the way to it.
pub(super) struct DevTools {
    child: Mutex<Child>,
    shared: Arc<DevToolsState>,
    tasks: Tasks,
    _profile: TempDir,
}

/// State that calls and the reader of the pipe share.
struct DevToolsState {
    number: AtomicU64,
    out: mpsc::UnboundedSender<String>,
    waiting: Mutex<HashMap<u64, oneshot::Sender<BrowserAnswer>>>,
    /// By session.
    pages: Mutex<HashMap<String, Arc<PageEvents>>>,
}

impl DevTools {
    /// Starts the browser. The pipes come as standard input and output, which the shell makes those that
    /// the browser looks for.
    pub(super) fn start() -> Self {
        let profile = create_scratch_folder();
        let mut command = Command::new("sh");
        command
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null", &find_browser()])
            .args(OPTIONS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .env("HOME", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0);
        let mut child = command.spawn().unwrap();
        let input = ChildStdin::from_std(child.stdin.take().unwrap()).unwrap();
        let output = ChildStdout::from_std(child.stdout.take().unwrap()).unwrap();
        let (out, messages) = mpsc::unbounded_channel();
        let (number, waiting, pages) = (AtomicU64::new(1), Mutex::default(), Mutex::default());
        let shared = Arc::new(DevToolsState { number, out, waiting, pages });
        let tasks = Tasks::default();
        tasks.spawn(write_messages(input, messages));
        tasks.spawn(read_messages(output, Arc::clone(&shared)));
        Self { child: Mutex::new(child), shared, tasks, _profile: profile }
    }

    /// Calls a method, of a page's session or of the browser, and waits for the answer.
    pub(super) async fn call(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> BrowserAnswer {
        let answer = self.shared.send_call(session, method, &params);
        match timeout(TIMEOUT, answer).await {
            Ok(Ok(answer)) => answer.map_err(|fault| format!("{method}: {fault}")),
            Ok(Err(_)) => panic!("the browser ended at {method}"),
            Err(elapsed) => panic!("the browser does not answer to {method}: {elapsed}"),
        }
    }

    /// Has what happens in a session noted.
    pub(super) fn record_events(&self, session: &str, seen: &Arc<PageEvents>) {
        self.shared.pages.lock().unwrap().insert(session.to_owned(), Arc::clone(seen));
    }
}

impl Drop for DevTools {
    fn drop(&mut self) {
        self.tasks.stop_token().cancel();
        let mut child = self.child.lock().unwrap();
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw).unwrap();
        kill_process_group(group, Signal::KILL).ok();
        child.wait().ok();
    }
}

impl DevToolsState {
    fn send_call(
        &self,
        session: Option<&str>,
        method: &str,
        params: &Value,
    ) -> oneshot::Receiver<BrowserAnswer> {
        let (answered, answer) = oneshot::channel();
        let id = self.number.fetch_add(1, Ordering::SeqCst);
        self.waiting.lock().unwrap().insert(id, answered);
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        // A browser that ended is noticed by who waits.
        self.out.send(message.to_string()).ok();
        answer
    }

    fn receive_message(&self, message: &Value) {
        if let Some(id) = message["id"].as_u64() {
            let Some(answered) = self.waiting.lock().unwrap().remove(&id) else { return };
            let answer = match message.get("error") {
                Some(fault) => Err(fault["message"].as_str().unwrap_or_default().to_owned()),
                None => Ok(message["result"].clone()),
            };
            answered.send(answer).ok();
            return;
        }
        let Some(session) = message["sessionId"].as_str() else { return };
        let (method, params) = (message["method"].as_str().unwrap_or_default(), &message["params"]);
        let seen = self.pages.lock().unwrap().get(session).cloned();
        if let Some(seen) = seen {
            seen.record_event(method, params);
        }
        // A page that asks waits for the answer, and all calls with it.
        if method == "Page.javascriptDialogOpening" {
            let no = json!({ "accept": false });
            drop(self.send_call(Some(session), "Page.handleJavaScriptDialog", &no));
        }
    }
}

async fn write_messages(mut input: ChildStdin, mut messages: mpsc::UnboundedReceiver<String>) {
    while let Some(message) = messages.recv().await {
        if input.write_all(message.as_bytes()).await.is_err()
            || input.write_all(b"\0").await.is_err()
        {
            return;
        }
    }
}

async fn read_messages(output: ChildStdout, shared: Arc<DevToolsState>) {
    let (mut output, mut message) = (BufReader::new(output), Vec::new());
    while let Ok(1..) = output.read_until(0, &mut message).await {
        message.pop();
        let read = serde_json::from_slice(&message);
        shared.receive_message(
            &read.unwrap_or_else(|error| panic!("the browser sent no JSON: {error}")),
        );
        message.clear();
    }
    // Whoever waits fails.
    shared.waiting.lock().unwrap().clear();
}

/// The browser that is installed.
fn find_browser() -> String {
    let find = "for name; do command -v \"$name\" && exit; done; exit 1";
    let found = Command::new("sh").args(["-c", find, "sh"]).args(NAMES).output().unwrap();
    assert!(
        found.status.success(),
        "the tests of the page need Chromium, and there is none on PATH: apt-get install -y chromium"
    );
    String::from_utf8(found.stdout).unwrap().trim().to_owned()
}
