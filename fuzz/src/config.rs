//! The settings that the JSON-RPC layer takes; the others need crates that are not built here.

#[path = "../../src/config/http.rs"]
mod http;

pub use http::Http;
