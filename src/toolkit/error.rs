//! Why a toolkit does not answer, and what to do.

use std::time::Duration;

/// A failure of a toolkit. Its text is shown to the model and to people, and says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolkitError {
    #[error("toolkit {0} is switched off; go on without it")]
    Disabled(String),
    #[error("toolkit {name} is not running: {reason}; go on without it")]
    NotRunning { name: String, reason: String },
    #[error(
        "toolkit {name} ended too often: {reason}; go on without it (`codeinfo mcp start {name}` starts it again)"
    )]
    Failing { name: String, reason: String },
    #[error(
        "toolkit {name} is not running: {most} processes of toolkits are; stop one of them, or go on without it"
    )]
    TooMany { name: String, most: usize },
    #[error("toolkit {name} is busy with {most} calls; try again later, or go on without it")]
    Busy { name: String, most: usize },
    /// The connection broke, so that nobody knows whether the call was done.
    #[error("toolkit {name} ended during the call: {reason}; it may have done it, or not")]
    Ended { name: String, reason: String },
    #[error(
        "tool {tool} of toolkit {name} did not answer within {} s and was cancelled; ask for less, or go on without it",
        .after.as_secs_f32()
    )]
    TimedOut { name: String, tool: String, after: Duration },
    #[error(
        "toolkit {name} refused the call of {tool}: {reason}; change the call, or go on without it"
    )]
    Refused { name: String, tool: String, reason: String },
    #[error("toolkit {name} cannot be used by {tool}: {reason}; go on without it")]
    Unsuitable { name: String, tool: String, reason: &'static str },
    #[error("toolkit {0} was changed or removed, or may no longer be used; go on without it")]
    Retired(String),
    #[error("toolkit {0} is not running: the server stops")]
    Stopping(String),
}
