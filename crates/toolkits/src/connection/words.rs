//! Redacts and bounds messages of a server before they are shown.

use codeinfo_core::{Secret, plain_line};
use codeinfo_secrets::redact_message;
use rmcp::{service::ServiceError, transport::DynamicTransportError};
use url::Url;

use super::http;
use crate::spec::{ToolkitSpec, ToolkitTransport};

/// Maximum characters of a refusal, which the model reads and which may name paths and tools.
const MAX_REFUSAL_CHARS: usize = 2_000;
/// Minimum bytes of a secret; shorter values of variables and headers also occur in ordinary words.
const MIN_SECRET_BYTES: usize = 4;

/// Redactor for the values of a spec's variables and headers.
#[derive(Clone)]
pub(super) struct MessageRedactor {
    secrets: Vec<String>,
    /// Scheme, host and port of a remote server.
    address: Option<String>,
}

impl MessageRedactor {
    pub(super) fn from_spec(spec: &ToolkitSpec) -> Self {
        let (ToolkitTransport::Stdio { env: values, .. }
        | ToolkitTransport::Http { headers: values, .. }) = &spec.transport;
        let exposed = values.values().map(Secret::expose);
        // A message may contain only the key of `Bearer KEY`.
        let mut secrets: Vec<String> = exposed
            .flat_map(|value| value.split_whitespace().chain([value]))
            .filter(|value| value.len() >= MIN_SECRET_BYTES)
            .map(str::to_owned)
            .collect();
        // Longest first, because one secret may contain another.
        secrets.sort_unstable_by_key(|secret| std::cmp::Reverse(secret.len()));
        let address = match &spec.transport {
            ToolkitTransport::Stdio { .. } => None,
            ToolkitTransport::Http { url, .. } => Url::parse(url).ok(),
        };
        Self { secrets, address: address.map(|url| url.origin().ascii_serialization()) }
    }

    /// Redacts a log line or error of a server: removes secrets, paths, addresses and keys.
    pub(super) fn redact_message(&self, text: &str) -> String {
        redact_message(&self.hide_secrets(text))
    }

    /// Redacts a server's refusal for the model.
    pub(super) fn redact_refusal(&self, text: &str) -> String {
        let text =
            plain_line(&codeinfo_secrets::redact_secrets("", None, &self.hide_secrets(text)).text);
        match text.char_indices().nth(MAX_REFUSAL_CHARS) {
            None => text,
            Some((end, _)) => format!("{}…", text.split_at(end).0),
        }
    }

    /// Describes a fault of a connection.
    pub(super) fn describe_fault(&self, error: &ServiceError) -> String {
        match error {
            ServiceError::TransportSend(error) => self.transport_fault(error),
            error => self.redact_message(&error.to_string()),
        }
    }

    /// Describes a transport error, with the address of a remote server.
    pub(super) fn transport_fault(&self, error: &DynamicTransportError) -> String {
        let reason = self.redact_message(&http::describe_root_cause(error));
        match &self.address {
            Some(address) => format!("{reason} ({address})"),
            None => reason,
        }
    }

    fn hide_secrets(&self, text: &str) -> String {
        let hide = |text: String, secret: &String| text.replace(secret, "[key]");
        self.secrets.iter().fold(text.to_owned(), hide)
    }
}
