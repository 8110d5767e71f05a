//! Replies of `GET /settings` and `GET /failures`.

use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
pub struct SettingsReply {
    pub settings: Vec<ListedSetting>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedSetting {
    pub name: String,
    /// Absent for a secret; `null` for a setting with neither a value nor a default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Option<String>>,
    /// One of `default`, `environment`, `file` and `argument`.
    pub source: String,
    /// `true` for a secret.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    /// For a secret, whether it is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_set: Option<bool>,
}

/// Reply of `GET /failures`.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecentFailures {
    /// Failures, the latest first.
    pub failures: Vec<ListedFailure>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct ListedFailure {
    /// Time of the last occurrence.
    pub at: String,
    /// Either `main` or `mcp`.
    pub listener: String,
    pub code: String,
    pub message: String,
    /// Path of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Number of occurrences in a row.
    pub times: u64,
}
