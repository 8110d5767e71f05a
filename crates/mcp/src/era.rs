//! Two eras of the protocol on one endpoint, distinguished message by message, without state.

use serde_json::{Value, json};

use super::message::{JsonRpcError, JsonRpcRequest};

/// Revisions that begin with `initialize`, latest first.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The only revision that allows batches; also what a missing header stands for.
const BATCHES: &str = "2025-03-26";

/// The revision whose requests carry their metadata themselves.
pub(super) const MODERN: &str = "2026-07-28";

/// Where a modern request names its revision, within `params._meta`.
pub(super) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// How a request is to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProtocolEra {
    /// Revisions with the `initialize` handshake.
    Legacy,
    /// Per-request metadata.
    Modern,
}

impl ProtocolEra {
    /// Goes by the body, with the header `MCP-Protocol-Version` as a cross-check. Whether a modern
    /// request is well formed is for [`super::modern`] to say.
    pub(super) fn detect_era(
        request: &JsonRpcRequest,
        header: Option<&str>,
    ) -> Result<Self, JsonRpcError> {
        if request.meta_value(VERSION_KEY).is_some() {
            return Ok(Self::Modern);
        }
        // The handshake finds the version; until then a header can only be a guess.
        if request.method == "initialize" {
            return Ok(Self::Legacy);
        }
        if header.is_some_and(is_modern) {
            return Ok(Self::Modern);
        }
        check_header(header).map(|()| Self::Legacy)
    }
}

/// Whether a version is, or looks like, one of the modern era.
pub(super) fn is_modern(version: &str) -> bool {
    MODERN <= version && version.starts_with("20")
}

/// Refuses a legacy header that names no version we speak. A missing one is fine: some clients
/// never send it.
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

/// Returns the version that `initialize` settles on: the one asked for, else our latest.
pub(super) fn negotiate_version(wanted: Option<&Value>) -> &'static str {
    let wanted = wanted.and_then(Value::as_str);
    let [latest, ..] = LEGACY;
    LEGACY.into_iter().find(|version| Some(*version) == wanted).unwrap_or(latest)
}

/// Lists every version, latest first.
pub(super) fn supported_versions() -> Vec<&'static str> {
    std::iter::once(MODERN).chain(LEGACY).collect()
}

/// Names the versions to a client that asked for another one.
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
