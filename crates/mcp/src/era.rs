//! The two eras of the protocol: detects that of each message, without state; checks requests and
//! completes results of the second one.

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use serde_json::{Map, Value, json};

use super::{
    message::{JsonRpcError, JsonRpcRequest},
    post::{McpHeaders, McpPost},
};

/// Revisions that begin with `initialize`, latest first.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The only revision with batches, and the default for a missing header.
const BATCHES: &str = "2025-03-26";

/// The revision whose requests carry their own metadata.
const MODERN: &str = "2026-07-28";

/// Member of `params._meta` with the revision of a modern request.
pub(super) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// Server name of both endpoints.
pub(super) const NAME: &str = "codeinfo";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// Cache time of lists, which change only with the program.
const LIST_TTL_MS: u64 = 300_000;

/// Standard base64 (RFC 4648 section 4), with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Caching allowed for a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CacheScope {
    /// A list, the same for every client.
    Public,
    /// A list for this client that may change at any time.
    Never,
    /// Not a list; the result has no caching member.
    Unsaid,
}

/// Era of the protocol, which decides the form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProtocolEra {
    /// Revisions with the `initialize` handshake.
    Legacy,
    Modern,
}

impl ProtocolEra {
    /// Detects the era from the body, and checks it against the header `MCP-Protocol-Version`.
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

/// Refuses a legacy header with an unsupported version. Some clients never send a header.
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

fn unsupported_version_error(version: &str) -> JsonRpcError {
    let requested: String = version.chars().take(40).collect();
    JsonRpcError::new(-32022, "Unsupported protocol version")
        .with_data(json!({ "supported": supported_versions(), "requested": requested }))
}

/// Checks metadata and headers in the order that clients rely on. Every fault has status 400.
pub(super) fn check_request(
    request: &JsonRpcRequest,
    post: &McpPost<'_>,
) -> Result<(), JsonRpcError> {
    let version = match request.meta_value(VERSION_KEY) {
        Some(Value::String(version)) => version.as_str(),
        Some(_) | None => return Err(missing_meta_error(VERSION_KEY, "string")),
    };
    if post.headers.is_some() && post.protocol_version() != Some(version) {
        return Err(header_mismatch_error("MCP-Protocol-Version", VERSION_KEY));
    }
    if version != MODERN {
        return Err(unsupported_version_error(version));
    }
    if !request.meta_value(CAPABILITIES_KEY).is_some_and(Value::is_object) {
        return Err(missing_meta_error(CAPABILITIES_KEY, "object"));
    }
    post.headers.as_ref().map_or(Ok(()), |headers| check_headers(request, headers))
}

fn check_headers(request: &JsonRpcRequest, headers: &McpHeaders<'_>) -> Result<(), JsonRpcError> {
    if headers.method.as_deref().and_then(decode_header_value).as_deref()
        != Some(request.method.as_str())
    {
        return Err(header_mismatch_error("Mcp-Method", "method"));
    }
    let named = match request.method.as_str() {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return Ok(()),
    };
    let name = request.params.get(named).and_then(Value::as_str);
    if headers.name.as_deref().and_then(decode_header_value).as_deref() != name {
        return Err(header_mismatch_error("Mcp-Name", named));
    }
    Ok(())
}

/// Adds the members that every result of this revision has.
pub(super) fn complete_result(result: Map<String, Value>, keep: CacheScope) -> Map<String, Value> {
    let mut members = Map::new();
    members.insert("resultType".to_owned(), json!("complete"));
    members.extend(result);
    let (ttl, scope) = match keep {
        CacheScope::Public => (Some(LIST_TTL_MS), "public"),
        CacheScope::Never => (Some(0), "private"),
        CacheScope::Unsaid => (None, ""),
    };
    if let Some(ttl) = ttl {
        members.insert("ttlMs".to_owned(), json!(ttl));
        members.insert("cacheScope".to_owned(), json!(scope));
    }
    let server = json!({ "name": NAME, "version": env!("CARGO_PKG_VERSION") });
    match members.get_mut("_meta") {
        Some(Value::Object(meta)) => {
            meta.insert(SERVER_KEY.to_owned(), server);
        }
        Some(_) | None => {
            members.insert("_meta".to_owned(), json!({ SERVER_KEY: server }));
        }
    }
    members
}

fn missing_meta_error(key: &str, kind: &str) -> JsonRpcError {
    JsonRpcError::new(-32602, "Invalid params")
        .with_data(json!({ "faults": [format!("`_meta.{key}` must be there and a JSON {kind}")] }))
}

fn header_mismatch_error(header: &str, member: &str) -> JsonRpcError {
    JsonRpcError::new(
        -32020,
        format!("Header mismatch: `{header}` must be there and equal `{member}`"),
    )
}

/// Decodes a header value: trims it, and decodes the form `=?base64?…?=` of other than plain text.
fn decode_header_value(value: &str) -> Option<String> {
    let trimmed = value.trim_matches([' ', '\t']);
    match trimmed.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        None => Some(trimmed.to_owned()),
        Some(text) => String::from_utf8(BASE64.decode(text).ok()?).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn header_values_are_trimmed_and_decoded() {
        assert_eq!(decode_header_value("\t tools/call "), Some("tools/call".to_owned()));
        assert_eq!(decode_header_value("=?base64?Z3LDvMOfZQ==?="), Some("grüße".to_owned()));
        assert_eq!(decode_header_value("=?base64?Zm9v?="), Some("foo".to_owned()));
        assert_eq!(decode_header_value("=?base64?Zm9vYg==?="), Some("foob".to_owned()));
        assert_eq!(decode_header_value("=?base64?*?="), None);
        assert_eq!(decode_header_value("=?base64?/w==?="), None);
    }
}
