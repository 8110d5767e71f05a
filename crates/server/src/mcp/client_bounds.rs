//! Table of the maximum result size that each client shows its model whole. A longer result loses
//! its middle, or all but its beginning; the answer is last.

use codeinfo_core::CODEX_MAX_BYTES;
use codeinfo_mcp::CLIENT_KEY;
use serde_json::{Map, Value};

/// Client that shows less than others.
struct ClientBound {
    /// Part of the client's name, in lower case.
    name: &'static str,
    max_bytes: usize,
}

/// Bytes reserved for what a client adds around a result.
const MARGIN_BYTES: usize = 200;

const CLIENTS: [ClientBound; 3] = [
    // Cline 3.0.65 (`@cline/core`), 2026-11-25: shows 8,000 characters, cuts out the middle.
    ClientBound { name: "cline", max_bytes: 8_000 - MARGIN_BYTES },
    // Copilot CLI 1.0.102 (`copilot-cli`), 2026-11-25: shows 15 KB whole, of 40 KB the first 500
    // characters.
    ClientBound { name: "copilot", max_bytes: 16_000 },
    // Qwen Code 0.24.4 (`qwen-cli-mcp-client-NAME`), 2026-11-25: shows 15 KB whole, of 40 KB the
    // first 2 KB.
    ClientBound { name: "qwen", max_bytes: 16_000 },
];

/// Codex 0.169.0 (`codex-mcp-client`), 2026-11-25: shows 40,000 bytes to models that it knows, else
/// [`CODEX_MAX_BYTES`]; cuts out the middle.
const CODEX: &str = "codex";
const CODEX_KNOWN_BYTES: usize = 40_000;
const CODEX_UNKNOWN_BYTES: usize = CODEX_MAX_BYTES - MARGIN_BYTES;
/// Prefixes of the names of models that Codex knows.
const CODEX_MODELS: [&str; 4] = ["gpt-5.5", "gpt-5.6", "gpt-6", "gpt-daybreak"];
/// Member of a call's `_meta` in which Codex names its model.
const CODEX_TURN: &str = "x-codex-turn-metadata";

/// Returns the maximum bytes of a result that the client of a call shows whole. Unknown clients
/// have no bound.
pub(super) fn max_shown_bytes(meta: &Map<String, Value>) -> usize {
    let read = |key: &str, member: &str| meta.get(key)?.get(member)?.as_str();
    let client = read(CLIENT_KEY, "name").unwrap_or_default().to_ascii_lowercase();
    if client.contains(CODEX) || meta.contains_key(CODEX_TURN) {
        let model = read(CODEX_TURN, "model").unwrap_or_default();
        let is_known = CODEX_MODELS.iter().any(|known| model.starts_with(known));
        return if is_known { CODEX_KNOWN_BYTES } else { CODEX_UNKNOWN_BYTES };
    }
    let bound = CLIENTS.iter().find(|bound| client.contains(bound.name));
    bound.map_or(usize::MAX, |bound| bound.max_bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_fits_what_its_client_shows() {
        let max_bytes = |client: &str, model: &str| {
            let value = json!({ CLIENT_KEY: { "name": client }, CODEX_TURN: { "model": model } });
            let mut meta = value.as_object().unwrap().clone();
            if model.is_empty() {
                meta.remove(CODEX_TURN);
            }
            max_shown_bytes(&meta)
        };
        assert_eq!(max_bytes("@cline/core", ""), 7_800);
        assert_eq!(max_bytes("Cline", ""), 7_800);
        assert_eq!(max_bytes("copilot-cli", ""), 16_000);
        assert_eq!(max_bytes("qwen-cli-mcp-client-codeinfo", ""), 16_000);
        assert_eq!(max_bytes("codex-mcp-client", "gpt-6.1-sol"), 40_000);
        assert_eq!(max_bytes("codex-mcp-client", "mock-model"), 11_788);
        assert_eq!(max_bytes("codex-mcp-client", ""), 11_788);
        assert_eq!(max_bytes("", "gpt-5.5"), 40_000);
        assert_eq!(max_bytes("claude-code", ""), usize::MAX);
        assert_eq!(max_shown_bytes(&Map::new()), usize::MAX);
    }
}
