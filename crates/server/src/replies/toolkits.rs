//! What the routes of toolkits reply.

use serde::{Deserialize, Serialize};

/// What the file of a repository would run, and whether it may.
#[derive(Debug, Serialize, Deserialize)]
pub struct AllowedFile {
    pub file: String,
    /// Of the content that was read.
    pub sha256: String,
    pub allowed: bool,
    pub toolkits: Vec<ProposedToolkit>,
}

/// One toolkit of such a file.
#[derive(Debug, Serialize, Deserialize)]
pub struct ProposedToolkit {
    pub name: String,
    pub enabled: bool,
    /// The command with its arguments as they are written, or the address.
    pub runs: String,
    /// The variables or headers that it is given, as `NAME=VALUE`.
    pub given: Vec<String>,
    /// What it may do beyond what a toolkit may by default.
    pub beyond: Vec<String>,
}

/// What a tool answered, or why it did not, as a model would read it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnswer {
    pub is_error: bool,
    pub text: String,
}
