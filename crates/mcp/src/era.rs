//! Detects the protocol era of each message, without state.

use serde_json::{Value, json};

use super::message::{JsonRpcError, JsonRpcRequest};

/// Revisions that begin with `initialize`, latest first.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The only revision with batches, and the default for a missing header.
const BATCHES: &str = "2025-03-26";

/// The revision whose requests carry their own metadata.
pub(super) const MODERN: &str = "2026-07-28";

/// Member of `params._meta` with the revision of a modern request.
pub(super) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// Era of the protocol, which decides the form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProtocolEra {
    /// Revisions with the `initialize` handshake.
    Legacy,
    /// Per-request metadata.
    Modern,
}

impl ProtocolEra {
    /// Detects the era from the body, and checks it against the header `MCP-Protocol-Version`.
    ///
    /// Whether a modern request is well formed is decided in [`super::modern`].
    pub(super) fn detect_era(
        request: &JsonRpcRequest,
        header: Option<&str>,
    ) -> Result<Self, JsonRpcError> {
        if request.meta_value(VERSION_KEY).is_some() {
            return Ok(Self::Modern);
        }
        // The handshake negotiates the version; the header before it can only be a guess.
        if request.method == "initialize" {
            return Ok(Self::Legacy);
        }
        if header.is_some_and(is_modern) {
            return Ok(Self::Modern);
        }
        check_header(header).map(|()| Self::Legacy)
    }
}

/// Returns whether a version is, or looks like, one of the modern era.
pub(super) fn is_modern(version: &str) -> bool {
    MODERN <= version && version.starts_with("20")
}

/// Refuses a legacy header with an unsupported version. It may be missing, since some clients never
/// send it.
pub(super) fn check_header(header: Option<&str>) -> Result<(), JsonRpcError> {
    match header {
        Some(version) if !LEGACY.contains(&version) => Err(unsupported_version_error(version)),
        Some(_) | None => Ok(()),
    }
}

/// Refuses a batch unless the revision has batches.
pub(super) fn check_batch(header: Option<&str>) -> Result<(), JsonRpcError> {
    match header {
        Some(version) if version != BATCHES => {
            Err(JsonRpcError::invalid_request("this protocol version has no batches"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns the version for `initialize`: the requested one if supported, else the latest.
pub(super) fn negotiate_version(wanted: Option<&Value>) -> &'static str {
    let version = wanted.and_then(Value::as_str);
    let [latest, ..] = LEGACY;
    LEGACY.into_iter().find(|known| Some(*known) == version).unwrap_or(latest)
}

/// Returns all supported versions, latest first.
pub(super) fn supported_versions() -> Vec<&'static str> {
    std::iter::once(MODERN).chain(LEGACY).collect()
}

/// Builds the error for an unsupported version, with the supported ones.
pub(super) fn unsupported_version_error(version: &str) -> JsonRpcError {
    let requested: String = version.chars().take(40).collect();
    JsonRpcError::new(-32022, "Unsupported protocol version")
        .with_data(json!({ "supported": supported_versions(), "requested": requested }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::negotiate_version;

    #[test]
    fn a_known_version_is_echoed_and_any_other_becomes_the_latest_legacy_one() {
        for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            assert_eq!(negotiate_version(Some(&json!(version))), version);
        }
        for other in [json!("2026-07-28"), json!("1999-01-01"), json!(1), json!(null)] {
            assert_eq!(negotiate_version(Some(&other)), "2025-11-25");
        }
        assert_eq!(negotiate_version(None), "2025-11-25");
    }
}
