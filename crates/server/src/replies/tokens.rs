//! What the routes of tokens and of the stored configuration reply.

use serde::{Deserialize, Serialize};

/// A token that was made, with the secret itself: seen once, and never in a log.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateTokenReply {
    pub name: String,
    pub token: String,
    pub created_at: String,
}

/// What `GET /auth/mcp-tokens` replies.
#[derive(Debug, Serialize, Deserialize)]
pub struct TokenList {
    pub tokens: Vec<ListedToken>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedToken {
    pub name: String,
    /// Whether it was made with `--admin`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub admin: bool,
    pub created_at: String,
    pub last_used_at: Option<String>,
}

/// A code that opens a session of the page.
#[derive(Debug, Serialize, Deserialize)]
pub struct SessionCode {
    pub code: String,
}

/// The half of a session that the page keeps.
#[derive(Debug, Serialize, Deserialize)]
pub struct OpenSessionReply {
    pub key: String,
}

/// The names of tokens that were ended.
#[derive(Debug, Serialize, Deserialize)]
pub struct RevokeTokensReply {
    pub revoked: Vec<String>,
}

/// A configuration that was stored.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoreConfigReply {
    pub success: bool,
    pub id: String,
    pub version: u64,
    pub created_at: String,
    /// What its toolkits may do that a person may not expect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}
