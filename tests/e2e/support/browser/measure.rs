//! Measurements of a page: accessibility with `axe-core`, and the durations of its frames.

use std::{fs, path::PathBuf, sync::OnceLock};

use serde_json::{Value, json};
use tokio::time::timeout;

use super::{page::BrowserPage, wire::TIMEOUT};
use crate::support::install::{self, PackageParts};

const VERSION: &str = "4.14.1";

/// Script for serious accessibility faults, each with its element.
// Arriving elements are pale for a moment.
const AXE: &str = "Promise.allSettled(document.getAnimations().map(one => one.finished))
    .then(() => axe.run(document, { resultTypes: ['violations'] })).then(result => result.violations
    .filter(found => ['serious', 'critical'].includes(found.impact))
    .flatMap(found => found.nodes.map(node =>
        `${found.impact} ${found.id}: ${found.help}\\n${node.target}: ${node.html.slice(0, 200)}\\n${node.failureSummary}`)))";

impl BrowserPage {
    /// Returns the serious and critical findings of `axe-core` in what the page shows.
    pub(crate) async fn find_accessibility_faults(&self) -> Vec<String> {
        static SOURCE: OnceLock<String> = OnceLock::new();
        let source = SOURCE.get_or_init(|| fs::read_to_string(axe_core_path()).unwrap());
        // In a world that the page's own scripts do not see.
        let frame = self.call("Page.getFrameTree", json!({})).await.unwrap();
        let setup = json!({ "frameId": frame["frameTree"]["frame"]["id"], "worldName": "axe" });
        let setup = self.call("Page.createIsolatedWorld", setup).await.unwrap();
        let run = async |script: &str| -> Value {
            let params = json!({
                "expression": script, "contextId": setup["executionContextId"],
                "awaitPromise": true, "returnByValue": true,
            });
            let result = self.call("Runtime.evaluate", params).await.unwrap();
            assert!(result.get("exceptionDetails").is_none(), "{result}");
            result["result"]["value"].clone()
        };
        run(&format!("{source}\nnull")).await;
        let findings = run(AXE).await;
        serde_json::from_value(findings).unwrap()
    }

    /// Returns how many milliseconds passed between two frames, wherever that was more than `least`, while
    /// something was done.
    pub(crate) async fn measure_slow_frames(
        &self,
        least: f64,
        action: impl Future<Output = ()>,
    ) -> Vec<f64> {
        self.eval::<Value>(
            "(() => {
                const frames = globalThis.framesOfTest = [];
                let last = performance.now();
                requestAnimationFrame(function next(now) {
                    frames.push(now - last);
                    last = now;
                    if (globalThis.framesOfTest === frames) requestAnimationFrame(next);
                });
                return null;
            })()",
        )
        .await;
        action.await;
        let frames = self.eval::<Vec<f64>>(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {
                const frames = globalThis.framesOfTest;
                globalThis.framesOfTest = null;
                done(frames);
            })))",
        );
        frames.await.into_iter().filter(|frame| *frame > least).collect()
    }

    /// Returns how many milliseconds of the processor each task of the browser took that took more than
    /// `least`, while something was done. Unlike frames, tasks take no longer where the machine is busy.
    pub(crate) async fn measure_slow_tasks(
        &self,
        least: u32,
        action: impl Future<Output = ()>,
    ) -> Vec<u32> {
        let categories = ["disabled-by-default-devtools.timeline"];
        let config = json!({ "includedCategories": categories, "excludedCategories": ["*"] });
        let start = json!({ "traceConfig": config, "transferMode": "ReportEvents" });
        let mut traces = self.seen.traces.subscribe();
        let before = *traces.borrow_and_update();
        self.seen.tasks.lock().unwrap().clear();
        self.call("Tracing.start", start).await.unwrap();
        action.await;
        self.call("Tracing.end", json!({})).await.unwrap();
        timeout(TIMEOUT, traces.wait_for(|traces| *traces > before)).await.unwrap().unwrap();
        let tasks = std::mem::take(&mut *self.seen.tasks.lock().unwrap());
        tasks.into_iter().map(|task| task / 1000).filter(|task| *task > least).collect()
    }
}

fn axe_core_path() -> PathBuf {
    let folder = format!("axe-core-{VERSION}");
    let folder =
        install::install_npm_package(&folder, &format!("axe-core@{VERSION}"), PackageParts::Needed);
    folder.join("node_modules/axe-core/axe.min.js")
}
