//! Client of the main HTTP API.

use std::time::Duration;

use codeinfo_core::{Secret, error::format_error_chain, install_crypto_provider};
use codeinfo_http::ErrorReply;
use reqwest::{Method, Response, Url};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::fs::File;

use super::CliError;

/// Maximum duration of a single reply; streams and `post_and_wait` have no limit.
const TIMEOUT: Duration = Duration::from_mins(2);

#[derive(Debug, Clone)]
pub struct ApiClient {
    http: reqwest::Client,
    base: Url,
    key: Option<Secret>,
}

impl ApiClient {
    /// Creates a client for the server at `base`, `http://HOST:PORT`. `key` identifies the owner.
    pub fn new(base: &str, key: Option<Secret>) -> Result<Self, CliError> {
        install_crypto_provider();
        // Proxies and certificates of the environment are for other machines.
        let built = reqwest::Client::builder().no_proxy().tls_certs_only([]).build();
        let http = built.map_err(|error| unreachable_error(base, &error))?;
        let base = Url::parse(base).map_err(|error| CliError::Unreachable {
            url: base.to_owned(),
            reason: error.to_string(),
        })?;
        Ok(Self { http, base, key })
    }

    pub fn base_url(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// Gets `path`, which consists of these segments.
    pub async fn get<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T, CliError> {
        self.send_for_json(self.build_request(Method::GET, path).timeout(TIMEOUT)).await
    }

    pub async fn get_with<T: DeserializeOwned>(
        &self,
        path: &[&str],
        parameters: &[(String, String)],
    ) -> Result<T, CliError> {
        let request = self.request_with(Method::GET, path, parameters);
        self.send_for_json(request.timeout(TIMEOUT)).await
    }

    pub async fn post_with<T: DeserializeOwned>(
        &self,
        path: &[&str],
        parameters: &[(String, String)],
        body: &Value,
    ) -> Result<T, CliError> {
        let request = self.request_with(Method::POST, path, parameters);
        self.send_for_json(request.timeout(TIMEOUT).json(body)).await
    }

    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &Value,
    ) -> Result<T, CliError> {
        self.send_for_json(self.build_request(Method::POST, path).timeout(TIMEOUT).json(body)).await
    }

    pub async fn delete<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T, CliError> {
        let request = self.build_request(Method::DELETE, path).timeout(TIMEOUT);
        self.send_for_json(request.json(&Value::Null)).await
    }

    /// Sends a file to `path` and waits for the reply without a time limit.
    pub async fn put_file<T: DeserializeOwned>(
        &self,
        path: &[&str],
        file: File,
    ) -> Result<T, CliError> {
        self.send_for_json(self.build_request(Method::PUT, path).body(file)).await
    }

    /// Posts `body` to `path` and waits for the reply without a time limit.
    pub async fn post_and_wait<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &Value,
    ) -> Result<T, CliError> {
        self.send_for_json(self.build_request(Method::POST, path).json(body)).await
    }

    /// Requests `path` and returns the reply once its headers have arrived.
    pub async fn open_stream(&self, path: &[&str]) -> Result<Response, CliError> {
        let request = self.build_request(Method::GET, path).header("accept", "text/event-stream");
        self.send_checked(request).await
    }

    pub fn connection_error(&self, error: &reqwest::Error) -> CliError {
        unreachable_error(self.base_url(), error)
    }

    fn build_request(&self, method: Method, path: &[&str]) -> reqwest::RequestBuilder {
        self.request_with(method, path, &[])
    }

    fn request_with(
        &self,
        method: Method,
        path: &[&str],
        parameters: &[(String, String)],
    ) -> reqwest::RequestBuilder {
        let mut url = self.base.clone();
        // An `http` URL always has segments.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.clear().extend(path);
        }
        if !parameters.is_empty() {
            url.query_pairs_mut().extend_pairs(parameters);
        }
        let request = self.http.request(method, url);
        match &self.key {
            Some(key) => request.bearer_auth(key.expose()),
            None => request,
        }
    }

    async fn send_for_json<T: DeserializeOwned>(
        &self,
        request: reqwest::RequestBuilder,
    ) -> Result<T, CliError> {
        let reply = self.send_checked(request).await?;
        reply.json().await.map_err(|error| self.connection_error(&error))
    }

    async fn send_checked(&self, request: reqwest::RequestBuilder) -> Result<Response, CliError> {
        let reply = request.send().await.map_err(|error| self.connection_error(&error))?;
        if reply.status().is_success() {
            return Ok(reply);
        }
        let status = reply.status();
        match reply.json::<ErrorReply>().await {
            Ok(reply) => Err(CliError::Refused {
                code: reply.error,
                message: join_details(&reply.message, reply.details),
            }),
            Err(_) => Err(CliError::Unreachable {
                url: self.base_url().to_owned(),
                reason: format!("unexpected reply {status}; is another program on that port?"),
            }),
        }
    }
}

/// Joins a message and its details, which are equal for a single error. Drops a parameter's name
/// before its value, because a person typed only the value.
fn join_details(message: &str, details: Vec<String>) -> String {
    let value = message.strip_prefix("`path` ").filter(|value| value.starts_with('`'));
    let shown = value.unwrap_or(message).to_owned();
    let new_details = details.into_iter().filter(|detail| !shown.contains(detail.as_str()));
    let more: Vec<String> = new_details.collect();
    if more.is_empty() { shown } else { format!("{shown}; {}", more.join("; ")) }
}

fn unreachable_error(base: &str, error: &reqwest::Error) -> CliError {
    CliError::Unreachable { url: base.to_owned(), reason: format_error_chain(error) }
}
