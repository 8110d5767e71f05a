//! Faults of a page, as the browser reports them, and its requests.

use std::sync::Mutex;

use serde_json::{Value, json};
use tokio::sync::watch;
use url::Url;

use super::page::BrowserPage;

/// Events of a page.
#[derive(Default)]
pub(super) struct PageEvents {
    /// Number of documents that were loaded completely.
    pub(super) loads: watch::Sender<usize>,
    /// Number of traces that ended.
    pub(super) traces: watch::Sender<usize>,
    /// Processor time of each task of a trace, in microseconds.
    pub(super) tasks: Mutex<Vec<u32>>,
    state: Mutex<PageEventState>,
}

#[derive(Default)]
struct PageEventState {
    /// Printed lines of the page that help to find a fault.
    console: Vec<String>,
    faults: Vec<String>,
    requests: Vec<PageRequest>,
}

/// A request of a page.
#[derive(Debug, Clone)]
pub(crate) struct PageRequest {
    id: String,
    pub(crate) url: String,
    /// 0 while there is no answer.
    pub(crate) status: u64,
    /// Bytes sent for it, compressed, with its headers.
    pub(crate) bytes: u64,
}

impl PageEvents {
    /// Notes an event.
    pub(super) fn record_event(&self, method: &str, params: &Value) {
        let mut state = self.state.lock().unwrap();
        match method {
            "Tracing.dataCollected" => {
                let events = params["value"].as_array().into_iter().flatten();
                let tasks = events.filter(|event| event["name"] == "RunTask");
                let took = tasks.filter_map(|task| u32::try_from(task["tdur"].as_u64()?).ok());
                self.tasks.lock().unwrap().extend(took);
            }
            "Tracing.tracingComplete" => self.traces.send_modify(|traces| *traces += 1),
            "Page.loadEventFired" => self.loads.send_modify(|loads| *loads += 1),
            "Page.javascriptDialogOpening" => {
                state.faults.push(format!("a dialog: {}", read_text(&params["message"])));
            }
            "Runtime.consoleAPICalled" => state.record_console(params),
            "Runtime.exceptionThrown" => {
                let thrown = describe_exception(&params["exceptionDetails"]);
                state.faults.push(format!("thrown: {thrown}"));
            }
            "Log.entryAdded" => {
                let entry = &params["entry"];
                let line = format!(
                    "{} {}: {} {}",
                    read_text(&entry["source"]),
                    read_text(&entry["level"]),
                    read_text(&entry["text"]),
                    read_text(&entry["url"])
                );
                let list = match read_text(&entry["level"]) {
                    "error" | "warning" => &mut state.faults,
                    _ => &mut state.console,
                };
                list.push(line.trim_end().to_owned());
            }
            "Audits.issueAdded" => {
                let issue = &params["issue"];
                state.faults.push(format!("{}: {}", read_text(&issue["code"]), issue["details"]));
            }
            "Network.requestWillBeSent" => state.record_request(params),
            "Network.responseReceived" => {
                let status = params["response"]["status"].as_u64().unwrap_or_default();
                state.update_request(params, |request| request.status = status);
            }
            "Network.loadingFinished" => {
                // A whole number, written as a fraction.
                let bytes = params["encodedDataLength"].to_string();
                let bytes = bytes.split('.').next().unwrap().parse().unwrap_or_default();
                state.update_request(params, |request| request.bytes = bytes);
            }
            "Network.webSocketCreated" => {
                state.faults.push(format!("a socket to {}", read_text(&params["url"])));
            }
            _ => {}
        }
    }

    pub(super) fn console_lines(&self) -> Vec<String> {
        self.state.lock().unwrap().console.clone()
    }
}

impl PageEventState {
    fn record_console(&mut self, params: &Value) {
        let kind = read_text(&params["type"]);
        let shown = params["args"].as_array().into_iter().flatten().map(|argument| {
            let described = argument.get("description").or(argument.get("value"));
            described.map_or_else(String::new, |value| match value.as_str() {
                Some(text) => text.to_owned(),
                None => value.to_string(),
            })
        });
        let line = format!("console {kind}: {}", shown.collect::<Vec<_>>().join(" "));
        match kind {
            "error" | "warning" | "assert" => self.faults.push(line.clone()),
            _ => {}
        }
        self.console.push(line);
    }

    fn record_request(&mut self, params: &Value) {
        let url = read_text(&params["request"]["url"]).to_owned();
        let is_ours = Url::parse(&url).is_ok_and(|url| match url.scheme() {
            "http" => url.host_str() == Some("127.0.0.1"),
            // URLs that a page makes of its own data.
            scheme => matches!(scheme, "about" | "blob" | "data"),
        });
        if !is_ours {
            self.faults.push(format!("a request to {url}"));
        }
        let id = read_text(&params["requestId"]).to_owned();
        self.requests.push(PageRequest { id, url, status: 0, bytes: 0 });
    }

    fn update_request(&mut self, params: &Value, note: impl FnOnce(&mut PageRequest)) {
        let id = read_text(&params["requestId"]);
        if let Some(request) = self.requests.iter_mut().rfind(|request| request.id == id) {
            note(request);
        }
    }
}

impl BrowserPage {
    /// Returns what was wrong since the last call: errors and warnings of the console, what was thrown and not
    /// caught, what the content security policy refused, other issues that the browser found, dialogs, and
    /// requests to anywhere but `127.0.0.1`.
    pub(crate) async fn take_faults(&self) -> Vec<String> {
        // Running events are reported before the answers to later calls.
        for _ in 0..2 {
            let settled = "new Promise(done => requestAnimationFrame(() => setTimeout(done, 20)))";
            self.eval::<Value>(&format!("{settled}.then(() => null)")).await;
        }
        self.call("Runtime.evaluate", json!({ "expression": "0" })).await.unwrap();
        std::mem::take(&mut self.seen.state.lock().unwrap().faults)
    }

    /// Fails with what was wrong since the last call.
    pub(crate) async fn assert_faultless(&self) {
        let faults = self.take_faults().await;
        assert!(faults.is_empty(), "{faults:#?}");
    }

    /// Returns every request up to now.
    pub(crate) fn requests(&self) -> Vec<PageRequest> {
        self.seen.state.lock().unwrap().requests.clone()
    }
}

/// Describes an uncaught exception.
pub(super) fn describe_exception(details: &Value) -> String {
    let exception = &details["exception"];
    let output_text = exception["description"].as_str().or(exception["value"].as_str());
    output_text.unwrap_or_else(|| read_text(&details["text"])).to_owned()
}

fn read_text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
