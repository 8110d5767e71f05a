//! Errors of toolkits, with advice for the model.

use std::time::Duration;

/// Failure of a toolkit. The message is for people; a model also reads [`ToolkitError::advice`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolkitError {
    #[error("toolkit {0} is switched off")]
    Disabled(String),
    #[error("toolkit {name} is not running: {reason}")]
    NotRunning { name: String, reason: String },
    #[error(
        "toolkit {name} ended too often: {reason} (`codeinfo mcp start {name}` starts it again)"
    )]
    Failing { name: String, reason: String },
    #[error(
        "toolkit {name} is not running: {most} processes of toolkits are; stop one of them first"
    )]
    TooMany { name: String, most: usize },
    #[error("toolkit {name} is busy with {most} calls")]
    Busy { name: String, most: usize },
    /// The connection broke, so the outcome of the call is unknown.
    #[error("toolkit {name} ended during the call: {reason}; it may have done it, or not")]
    Ended { name: String, reason: String },
    #[error(
        "tool {tool} of toolkit {name} did not answer within {} s and was cancelled",
        .after.as_secs_f32()
    )]
    TimedOut { name: String, tool: String, after: Duration },
    #[error("toolkit {name} refused the call of {tool}: {reason}")]
    Refused { name: String, tool: String, reason: String },
    #[error("toolkit {name} cannot be used by {tool}: {reason}")]
    Unsuitable { name: String, tool: String, reason: &'static str },
    #[error("toolkit {0} was changed or removed, or may no longer be used")]
    Retired(String),
    #[error("toolkit {0} is not running: the server stops")]
    Stopping(String),
}

impl ToolkitError {
    /// Returns advice for the model that called the tool.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Ended { .. } | Self::Stopping(_) => "do not rely on it",
            Self::Busy { .. } => "try again later, or go on without it",
            Self::TimedOut { .. } => "ask for less, or go on without it",
            Self::Refused { .. } => "change the call, or go on without it",
            Self::Disabled(_)
            | Self::NotRunning { .. }
            | Self::Failing { .. }
            | Self::TooMany { .. }
            | Self::Unsuitable { .. }
            | Self::Retired(_) => "go on without it",
        }
    }
}
