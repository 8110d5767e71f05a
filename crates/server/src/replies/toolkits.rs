//! Replies of the routes for toolkits.

use serde::{Deserialize, Serialize};

/// Toolkits that the file of a repository would run, and whether it may.
#[derive(Debug, Serialize, Deserialize)]
pub struct AllowedFile {
    pub file: String,
    /// Digest of the content that was read.
    pub sha256: String,
    pub allowed: bool,
    pub toolkits: Vec<ProposedToolkit>,
}

/// One toolkit of such a file.
#[derive(Debug, Serialize, Deserialize)]
pub struct ProposedToolkit {
    pub name: String,
    pub enabled: bool,
    /// Command with its arguments as written, or the address.
    pub runs: String,
    /// Variables or headers of the toolkit, as `NAME=VALUE`.
    pub given: Vec<String>,
    /// Capabilities beyond those of a toolkit by default.
    pub beyond: Vec<String>,
}

/// Answer of a tool, or the reason of its failure, in the form that a model reads.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnswer {
    pub is_error: bool,
    pub text: String,
}
