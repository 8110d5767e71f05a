//! Replies of the routes for tokens and the stored configuration.

use serde::{Deserialize, Serialize};

/// A new token with its secret, which appears once and never in a log.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateTokenReply {
    pub name: String,
    pub token: String,
    pub created_at: String,
}

/// Reply of `GET /auth/mcp-tokens`.
#[derive(Debug, Serialize, Deserialize)]
pub struct TokenList {
    pub tokens: Vec<ListedToken>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedToken {
    pub name: String,
    /// True if it was made with `--admin`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub admin: bool,
    pub created_at: String,
    pub last_used_at: Option<String>,
}

/// Code that opens a session of the page.
#[derive(Debug, Serialize, Deserialize)]
pub struct SessionCode {
    pub code: String,
}

/// Half of a session's secret that the page keeps.
#[derive(Debug, Serialize, Deserialize)]
pub struct OpenSessionReply {
    pub key: String,
}

/// Names of revoked tokens.
#[derive(Debug, Serialize, Deserialize)]
pub struct RevokeTokensReply {
    pub revoked: Vec<String>,
}

/// Stored version of a configuration.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoreConfigReply {
    pub success: bool,
    pub id: String,
    pub version: u64,
    pub created_at: String,
    /// Capabilities of its toolkits that a person may not expect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}
