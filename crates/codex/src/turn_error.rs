//! Reasons why a turn failed, in words that are safe to show.

use codeinfo_core::error::ErrorCode;
use codeinfo_secrets::redact_message;
use serde_json::Value;

/// Failed turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnError {
    pub kind: TurnErrorKind,
    /// Codex's message, without keys, paths and addresses.
    detail: String,
}

/// Kinds of turn failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnErrorKind {
    /// The model service is unreachable, or answered with this HTTP status.
    Unreachable(Option<u16>),
    /// The sign-in or key was refused.
    Unauthorized,
    /// The quota is used up.
    UsageLimit,
    /// The service is overloaded or has an internal failure.
    Overloaded,
    /// The answer broke off repeatedly.
    Disconnected,
    /// The conversation is too long for the model.
    ContextWindow,
    /// The model service refused the request, or Codex gave up for another reason.
    Other,
}

impl TurnError {
    /// Parses `turn.error`.
    pub(super) fn from_json(error: &Value) -> Self {
        let detail = error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
        let info = error.get("codexErrorInfo").unwrap_or(&Value::Null);
        Self { kind: classify_error(info, &detail), detail: redact_message(&detail) }
    }

    /// Returns Codex's message, for the log.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    pub fn code(&self) -> ErrorCode {
        match self.kind {
            TurnErrorKind::Unreachable(_)
            | TurnErrorKind::Unauthorized
            | TurnErrorKind::UsageLimit
            | TurnErrorKind::Overloaded
            | TurnErrorKind::Disconnected => ErrorCode::LlmUnavailable,
            TurnErrorKind::ContextWindow => ErrorCode::ContextWindowExceeded,
            TurnErrorKind::Other => ErrorCode::TurnFailed,
        }
    }

    /// Returns the reason, without keys, paths or addresses.
    pub fn reason(&self) -> String {
        match self.kind {
            TurnErrorKind::Unreachable(None) => "Codex cannot reach its model service".to_owned(),
            // The message of a client error says why, such as an unknown model.
            TurnErrorKind::Unreachable(Some(status @ 400..500)) if !self.detail.is_empty() => {
                format!(
                    "the model service answered Codex with HTTP status {status}: {}",
                    self.detail
                )
            }
            TurnErrorKind::Unreachable(Some(status)) => {
                format!("the model service answered Codex with HTTP status {status}")
            }
            TurnErrorKind::Unauthorized => {
                "the model service does not accept Codex's sign-in or key".to_owned()
            }
            TurnErrorKind::UsageLimit => {
                "the usage limit of the Codex account is reached".to_owned()
            }
            TurnErrorKind::Overloaded => "the model service is overloaded".to_owned(),
            TurnErrorKind::Disconnected => {
                "the model service broke off its answer and did so again when retried".to_owned()
            }
            TurnErrorKind::ContextWindow => {
                "the conversation no longer fits the model's context window".to_owned()
            }
            TurnErrorKind::Other if self.detail.is_empty() => {
                "Codex gave up without saying why".to_owned()
            }
            TurnErrorKind::Other => format!("Codex gave up: {}", self.detail),
        }
    }

    /// Returns advice for the user.
    pub fn hint(&self) -> &'static str {
        match self.kind {
            TurnErrorKind::Unreachable(Some(404)) | TurnErrorKind::Other
                if self.detail.contains("model") =>
            {
                "set CODEX_MODEL, or `model` in Codex's config.toml, to a model that the account has, then ask again"
            }
            TurnErrorKind::Unreachable(_) => {
                "check the network and `base_url` in Codex's config.toml, then ask again"
            }
            TurnErrorKind::Unauthorized => {
                "run `codex login` as the user who runs the server, then ask again"
            }
            TurnErrorKind::UsageLimit => {
                "wait until the limit resets, or sign in with another account: `codex login`"
            }
            TurnErrorKind::Overloaded | TurnErrorKind::Disconnected => "ask again in a while",
            TurnErrorKind::ContextWindow => "start a new conversation",
            TurnErrorKind::Other => "see the server's log, then ask again",
        }
    }
}

fn classify_error(info: &Value, detail: &str) -> TurnErrorKind {
    if let Some(name) = info.as_str() {
        return classify_named_error(name, detail);
    }
    // `{"httpConnectionFailed": {"httpStatusCode": 401}}` and similar objects.
    let Some((name, fields)) = info.as_object().and_then(|info| info.iter().next()) else {
        return TurnErrorKind::Other;
    };
    let status = fields.get("httpStatusCode").and_then(Value::as_u64);
    match (name.as_str(), status.and_then(|status| u16::try_from(status).ok())) {
        ("activeTurnNotSteerable", _) => TurnErrorKind::Other,
        (_, Some(401 | 403)) => TurnErrorKind::Unauthorized,
        (_, Some(429)) => TurnErrorKind::UsageLimit,
        ("responseStreamDisconnected", None) => TurnErrorKind::Disconnected,
        ("responseTooManyFailedAttempts", None) => TurnErrorKind::Overloaded,
        (_, status) => TurnErrorKind::Unreachable(status),
    }
}

fn classify_named_error(name: &str, detail: &str) -> TurnErrorKind {
    match name {
        "contextWindowExceeded" => TurnErrorKind::ContextWindow,
        "unauthorized" => TurnErrorKind::Unauthorized,
        "usageLimitExceeded" | "rateLimitExceeded" | "sessionBudgetExceeded" => {
            TurnErrorKind::UsageLimit
        }
        "serverOverloaded"
        | "internalServerError"
        | "flexUnavailable"
        | "policyCapacityUnavailable" => TurnErrorKind::Overloaded,
        // Codex 0.169 reports a stream that broke off for the last time as `other`; only the message differs.
        "other" if detail.starts_with("stream disconnected") => TurnErrorKind::Disconnected,
        _ => TurnErrorKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn error(info: &Value, message: &str) -> (TurnErrorKind, ErrorCode) {
        let error = TurnError::from_json(&json!({ "message": message, "codexErrorInfo": info }));
        (error.kind, error.code())
    }

    #[test]
    fn a_service_that_is_away_is_unavailability_and_a_refusal_is_not() {
        use TurnErrorKind::{
            ContextWindow, Disconnected, Other, Overloaded, Unauthorized, Unreachable, UsageLimit,
        };
        let failed =
            |status: Value| json!({ "httpConnectionFailed": { "httpStatusCode": status } });
        let away = ErrorCode::LlmUnavailable;
        assert_eq!(error(&failed(json!(null)), ""), (Unreachable(None), away));
        assert_eq!(error(&failed(json!(503)), ""), (Unreachable(Some(503)), away));
        assert_eq!(error(&failed(json!(401)), ""), (Unauthorized, away));
        assert_eq!(error(&json!("usageLimitExceeded"), ""), (UsageLimit, away));
        assert_eq!(error(&json!("internalServerError"), ""), (Overloaded, away));
        assert_eq!(error(&json!("other"), "stream disconnected before"), (Disconnected, away));
        assert_eq!(error(&json!("other"), "bad request"), (Other, ErrorCode::TurnFailed));
        assert_eq!(error(&json!("newKind"), ""), (Other, ErrorCode::TurnFailed));
        assert_eq!(error(&json!(null), ""), (Other, ErrorCode::TurnFailed));
        let full = ErrorCode::ContextWindowExceeded;
        assert_eq!(error(&json!("contextWindowExceeded"), ""), (ContextWindow, full));
    }
}
