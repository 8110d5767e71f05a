//! Wire format of `codex app-server`: the envelopes, parameters and results in use.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use codeinfo_core::ConversationId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::error::CodexError;

/// Line that Codex writes; the fields that are set determine its kind.
#[derive(Debug, Deserialize)]
pub(super) struct CodexMessage {
    pub(super) id: Option<Value>,
    pub(super) method: Option<String>,
    #[serde(default)]
    pub(super) params: Value,
    pub(super) result: Option<Value>,
    pub(super) error: Option<RpcError>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct RpcError {
    pub(super) code: i64,
    pub(super) message: String,
}

/// Client name that Codex records with our threads. Threads of other originators are not our conversations.
pub(super) const ORIGINATOR: &str = "codeinfo";

/// Error code of Codex for an invalid request, such as an unknown thread.
pub(super) const INVALID_REQUEST: i64 = -32600;

pub(super) fn build_initialize_params() -> Value {
    json!({
        "clientInfo": {
            "name": ORIGINATOR,
            "title": "CodeInfo",
            "version": env!("CARGO_PKG_VERSION"),
        },
        // For `thread/settings/update`.
        "capabilities": { "experimentalApi": true },
    })
}

/// Declines every approval, because there is no user. Returns `None` for unsupported requests.
pub(super) fn build_refusal(method: &str) -> Option<Value> {
    match method {
        "item/commandExecution/requestApproval" | "item/fileChange/requestApproval" => {
            Some(json!({ "decision": "decline" }))
        }
        "execCommandApproval" | "applyPatchApproval" => Some(json!({ "decision": "denied" })),
        "item/permissions/requestApproval" => Some(json!({ "permissions": {} })),
        "mcpServer/elicitation/request" => Some(json!({ "action": "decline", "content": null })),
        "item/tool/requestUserInput" => Some(json!({ "answers": {} })),
        _ => None,
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InitializeResult {
    /// `codeinfo/0.169.0 (…)`.
    pub(super) user_agent: String,
    pub(super) codex_home: PathBuf,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AccountReadResult {
    pub(super) account: Option<Value>,
    pub(super) requires_openai_auth: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct ConfigReadResult {
    pub(super) config: UserConfig,
}

/// Part of the user's own configuration that this crate reads.
#[derive(Debug, Deserialize)]
pub(super) struct UserConfig {
    pub(super) model: Option<String>,
    pub(super) model_provider: Option<String>,
    #[serde(default)]
    pub(super) mcp_servers: Option<BTreeMap<String, Value>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProviderList {
    pub(super) data: Vec<ModelProvider>,
    pub(super) default_provider_id: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ModelProvider {
    pub(super) id: String,
    #[serde(default)]
    pub(super) settings: Value,
}

impl ModelProvider {
    /// Returns the environment variable of the provider's key, if it needs one.
    pub(super) fn env_key(&self) -> Option<&str> {
        self.settings.pointer("/auth/envKey").and_then(Value::as_str)
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ModelList {
    pub(super) data: Vec<CodexModel>,
    pub(super) next_cursor: Option<String>,
}

/// Model that Codex offers.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CodexModel {
    /// Identifier for `CODEX_MODEL` and for a question's `model`.
    pub id: String,
    pub display_name: String,
    #[serde(default)]
    pub description: String,
    pub is_default: bool,
}

/// Parameters of `thread/start` and `thread/resume`, of which a resume restores only part. A loaded thread keeps
/// those of its opening, so they are compared before it is used again.
#[derive(Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThreadSettings {
    pub(super) cwd: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sandbox: Option<&'static str>,
    pub(super) approval_policy: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    pub(super) base_instructions: String,
    pub(super) developer_instructions: &'static str,
    pub(super) config: Value,
}

/// Omits the configuration, which holds keys of our endpoints.
impl fmt::Debug for ThreadSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ThreadSettings").field("cwd", &self.cwd).finish_non_exhaustive()
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThreadResumeParams {
    pub(super) thread_id: String,
    pub(super) exclude_turns: bool,
    #[serde(flatten)]
    pub(super) settings: ThreadSettings,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThreadOpenResult {
    pub(super) thread: ThreadInfo,
    pub(super) model: String,
    /// Active permission profile; absent if Codex does not support profiles.
    pub(super) active_permission_profile: Option<PermissionProfile>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PermissionProfile {
    pub(super) id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FeatureList {
    pub(super) data: Vec<CodexFeature>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CodexFeature {
    pub(super) name: String,
    pub(super) enabled: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CommandExecResult {
    pub(super) exit_code: i32,
    #[serde(default)]
    pub(super) stderr: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ThreadReadResult {
    pub(super) thread: ThreadInfo,
}

#[derive(Debug, Deserialize)]
pub(super) struct ThreadInfo {
    pub(super) id: String,
    #[serde(default)]
    pub(super) originator: Option<String>,
}

impl ThreadInfo {
    pub(super) fn parse_id(&self) -> Result<ConversationId, CodexError> {
        self.id.parse().map_err(|_| CodexError::Refused {
            method: "thread/start",
            code: 0,
            message: "the thread's id is not a UUID".to_owned(),
        })
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TurnStartParams {
    pub(super) thread_id: String,
    pub(super) input: [Value; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    pub(super) effort: String,
    pub(super) summary: &'static str,
    pub(super) approval_policy: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sandbox_policy: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TurnStartResult {
    pub(super) turn: TurnInfo,
}

#[derive(Debug, Deserialize)]
pub(super) struct TurnInfo {
    pub(super) id: String,
}
