//! A real browser for tests of the page: Chromium without a window, spoken to over the `DevTools` protocol.
//!
//! Nothing of it leaves loopback: it finds no host but `127.0.0.1`, and what it asks others for is a fault.

mod faults;
mod find;
mod input;
mod measure;
mod page;
mod wire;

use std::sync::Arc;

use serde_json::json;

pub(crate) use page::{BrowserPage, ColorTheme};
use wire::DevTools;

/// A running browser with a profile of its own. Dropping it kills all its processes.
pub(crate) struct TestBrowser {
    wire: Arc<DevTools>,
}

impl TestBrowser {
    /// Starts Chromium.
    pub(crate) async fn start() -> Self {
        let browser = Self { wire: Arc::new(DevTools::start()) };
        let version = browser.wire.call(None, "Browser.getVersion", json!({})).await.unwrap();
        assert!(version["product"].is_string(), "{version}");
        browser
    }

    /// Opens an address in a tab that shares nothing with others: no cookies, no storage, no cache.
    pub(crate) async fn open_page(&self, url: &str) -> BrowserPage {
        let made = self.wire.call(None, "Target.createBrowserContext", json!({})).await.unwrap();
        let page = BrowserPage::open(&self.wire, made["browserContextId"].as_str().unwrap()).await;
        page.goto(url).await;
        page
    }
}
