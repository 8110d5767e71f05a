//! A tab: where it is, what it shows, and how it looks.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::{
    faults::{PageEvents, describe_exception},
    wire::{BrowserAnswer, DevTools, TIMEOUT},
};

/// Interval between two checks of a page.
const PAUSE: Duration = Duration::from_millis(15);

/// A tab of a browser.
pub(crate) struct BrowserPage {
    wire: Arc<DevTools>,
    context: String,
    session: String,
    pub(super) seen: Arc<PageEvents>,
}

/// Colours that the reader prefers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColorTheme {
    Light,
    Dark,
}

impl BrowserPage {
    /// Opens an empty tab in a context.
    pub(super) async fn open(wire: &Arc<DevTools>, context: &str) -> Self {
        let url = json!({ "url": "about:blank", "browserContextId": context });
        let target = wire.call(None, "Target.createTarget", url).await.unwrap();
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = wire.call(None, "Target.attachToTarget", attach).await.unwrap();
        let session = attached["sessionId"].as_str().unwrap().to_owned();
        let seen = Arc::new(PageEvents::default());
        wire.record_events(&session, &seen);
        let page = Self { wire: Arc::clone(wire), context: context.to_owned(), session, seen };
        for domain in ["Page", "Runtime", "Log", "Network", "Audits", "DOM"] {
            page.call(&format!("{domain}.enable"), json!({})).await.unwrap();
        }
        // As if a person looked at it.
        page.call("Emulation.setFocusEmulationEnabled", json!({ "enabled": true })).await.unwrap();
        page.set_size(1280, 800).await;
        page.set_theme(ColorTheme::Light).await;
        page
    }

    /// Opens another tab of the same reader: it shares the storage.
    pub(crate) async fn open_another(&self, url: &str) -> Self {
        let page = Self::open(&self.wire, &self.context).await;
        page.goto(url).await;
        page
    }

    pub(super) async fn call(&self, method: &str, params: Value) -> BrowserAnswer {
        self.wire.call(Some(&self.session), method, params).await
    }

    /// Goes to an address and waits until it is loaded. Another fragment of the same document needs no
    /// loading.
    pub(crate) async fn goto(&self, url: &str) {
        let mut loads = self.seen.loads.subscribe();
        let before = *loads.borrow_and_update();
        let gone = self.call("Page.navigate", json!({ "url": url })).await.unwrap();
        assert_eq!(gone["errorText"], Value::Null, "{url}");
        if gone["loaderId"].is_string() {
            let loaded = timeout(TIMEOUT, loads.wait_for(|loads| *loads > before)).await;
            assert!(loaded.is_ok(), "{url} does not load");
        }
    }

    /// Loads the document again, as a reader does.
    pub(crate) async fn reload(&self) {
        let mut loads = self.seen.loads.subscribe();
        let before = *loads.borrow_and_update();
        self.call("Page.reload", json!({})).await.unwrap();
        let loaded = timeout(TIMEOUT, loads.wait_for(|loads| *loads > before)).await;
        assert!(loaded.is_ok(), "the page does not load again");
    }

    /// Goes back to where the reader was.
    pub(crate) async fn go_back(&self) {
        let history = self.call("Page.getNavigationHistory", json!({})).await.unwrap();
        let place = usize::try_from(history["currentIndex"].as_u64().unwrap()).unwrap();
        let entry = &history["entries"][place.checked_sub(1).expect("no earlier place")];
        let to = json!({ "entryId": entry["id"] });
        self.call("Page.navigateToHistoryEntry", to).await.unwrap();
        let arrived = format!("location.href === {}", entry["url"]);
        self.wait_for(&arrived, "the earlier place").await;
    }

    /// Returns the addresses of all tabs of this reader.
    pub(crate) async fn list_tabs(&self) -> Vec<String> {
        let targets = self.wire.call(None, "Target.getTargets", json!({})).await.unwrap();
        let targets = targets["targetInfos"].as_array().cloned().unwrap_or_default().into_iter();
        let own = targets.filter(|target| target["browserContextId"] == self.context.as_str());
        own.map(|target| target["url"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Returns the address.
    pub(crate) async fn url(&self) -> String {
        self.eval("location.href").await
    }

    /// Evaluates an expression, waits for the promise that it may be, and reads the value.
    pub(crate) async fn eval<T: DeserializeOwned>(&self, script: &str) -> T {
        let value = self.evaluate(script).await;
        let value = value.unwrap_or_else(|fault| panic!("{fault}\nin {script}"));
        serde_json::from_value(value).unwrap_or_else(|error| panic!("{error}\nin {script}"))
    }

    pub(super) async fn evaluate(&self, script: &str) -> BrowserAnswer {
        let params = json!({
            "expression": script, "awaitPromise": true, "returnByValue": true, "userGesture": true,
        });
        let result = self.call("Runtime.evaluate", params).await?;
        match result.get("exceptionDetails") {
            Some(details) => Err(describe_exception(details)),
            None => Ok(result["result"]["value"].clone()),
        }
    }

    /// Waits until an expression is true. On failure the message contains `what`.
    pub(crate) async fn wait_for(&self, condition: &str, what: &str) {
        let script = format!("Boolean({condition})");
        self.retry_until(what, async || match self.evaluate(&script).await {
            Ok(Value::Bool(true)) => Ok(()),
            Ok(_) => Err(format!("not {condition}")),
            Err(fault) => Err(fault),
        })
        .await;
    }

    /// Waits until a text is visible.
    pub(crate) async fn wait_for_text(&self, text: &str) {
        let condition = format!("document.body.innerText.includes({})", json!(text));
        self.wait_for(&condition, text).await;
    }

    /// Returns the text that is visible in the first element of a selector.
    pub(crate) async fn read_text(&self, selector: &str) -> String {
        self.wait_for(&format!("document.querySelector({})", json!(selector)), selector).await;
        self.eval(&format!("document.querySelector({}).innerText", json!(selector))).await
    }

    /// Returns the text that is visible in each element of a selector.
    pub(crate) async fn read_texts(&self, selector: &str) -> Vec<String> {
        let all = format!("document.querySelectorAll({})", json!(selector));
        self.eval(&format!("[...{all}].map(one => one.innerText)")).await
    }

    /// Retries until an attempt succeeds; fails with the missing part, the printed lines, the text and a screenshot.
    pub(crate) async fn retry_until<T>(
        &self,
        what: &str,
        mut attempt: impl AsyncFnMut() -> Result<T, String>,
    ) -> T {
        let end = Instant::now() + TIMEOUT;
        loop {
            let fault = match attempt().await {
                Ok(done) => return done,
                Err(fault) => fault,
            };
            if Instant::now() > end {
                self.fail(what, &fault).await;
            }
            sleep(PAUSE).await;
        }
    }

    async fn fail(&self, what: &str, fault: &str) -> ! {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name = format!("failed-{}", what.chars().map(plain).take(60).collect::<String>());
        let picture = self.save_screenshot(&name).await;
        let shown = "`${location.href}\n${document.body.innerText.slice(0, 3000)}`";
        let shown = self.evaluate(shown).await.unwrap_or_default();
        panic!(
            "{what}: {fault}\nconsole: {:#?}\nfaults: {:#?}\npicture: {}\nshown: {}",
            self.seen.console_lines(),
            self.take_faults().await,
            picture.display(),
            shown.as_str().unwrap_or_default()
        );
    }

    /// Sets the width and height of the window in pixels.
    pub(crate) async fn set_size(&self, width: u32, height: u32) {
        let params =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", params).await.unwrap();
    }

    /// Sets which colours the reader prefers.
    pub(crate) async fn set_theme(&self, theme: ColorTheme) {
        let value = match theme {
            ColorTheme::Light => "light",
            ColorTheme::Dark => "dark",
        };
        let features = json!([{ "name": "prefers-color-scheme", "value": value }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features })).await.unwrap();
    }

    /// Returns the elements that make the document wider than the window.
    pub(crate) async fn find_overflow(&self) -> Vec<String> {
        self.eval(
            "(() => {
                const width = document.documentElement.clientWidth;
                // Columns scroll by themselves, so that the document is never wider than they are.
                const columns = [...document.querySelectorAll('#main, #side, #evidence')]
                    .filter(one => one.scrollWidth > one.clientWidth && one.clientWidth > 0)
                    .map(one => `#${one.id}: ${one.scrollWidth} of ${one.clientWidth}`);
                if (columns.length > 0) return columns;
                if (document.documentElement.scrollWidth <= width) return [];
                const out = [...document.querySelectorAll('body *')]
                    .filter(one => one.getBoundingClientRect().right > width + 0.5)
                    .map(one => one.cloneNode().outerHTML.slice(0, 120));
                return [`${document.documentElement.scrollWidth} of ${width}`, ...out.slice(0, 9)];
            })()",
        )
        .await
    }

    /// Saves a screenshot of the visible part below `target/screenshots`.
    pub(crate) async fn save_screenshot(&self, name: &str) -> PathBuf {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("screenshots");
        fs::create_dir_all(&folder).unwrap();
        let picture =
            self.call("Page.captureScreenshot", json!({ "format": "png" })).await.unwrap();
        let picture = BASE64_STANDARD.decode(picture["data"].as_str().unwrap()).unwrap();
        let file = folder.join(format!("{name}.png"));
        fs::write(&file, picture).unwrap();
        file
    }

    /// Returns the text in the clipboard, which [`BrowserPage::allow_clipboard`] lets the page read.
    pub(crate) async fn read_clipboard(&self) -> String {
        self.eval("navigator.clipboard.readText()").await
    }

    /// Lets the page use the clipboard.
    pub(crate) async fn allow_clipboard(&self) {
        let origin = self.eval::<String>("location.origin").await;
        let params = json!({
            "origin": origin, "browserContextId": self.context,
            "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"],
        });
        self.wire.call(None, "Browser.grantPermissions", params).await.unwrap();
    }

    /// Has what the page offers for download written into a folder.
    pub(crate) async fn save_downloads(&self, folder: &Path) {
        let params = json!({
            "behavior": "allow", "browserContextId": self.context, "downloadPath": folder,
        });
        self.wire.call(None, "Browser.setDownloadBehavior", params).await.unwrap();
    }
}
