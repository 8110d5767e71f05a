//! What `GET /settings` and `GET /failures` reply.

use serde::{Deserialize, Serialize};

/// What `GET /settings` replies.
#[derive(Debug, Serialize, Deserialize)]
pub struct SettingsReply {
    pub settings: Vec<ListedSetting>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedSetting {
    /// The name of its variable.
    pub name: String,
    /// Absent for a secret; `null` where nothing is set and there is no default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Option<String>>,
    /// `default`, `environment`, `file` or `argument`.
    pub source: String,
    /// `true` for a secret.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    /// Whether a secret is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_set: Option<bool>,
}

/// What `GET /failures` replies.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecentFailures {
    /// The latest first.
    pub failures: Vec<ListedFailure>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct ListedFailure {
    /// When it happened last.
    pub at: String,
    /// `main` or `mcp`.
    pub listener: String,
    pub code: String,
    pub message: String,
    /// What was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// How often it happened in a row.
    pub times: u64,
}
