//! Whether Codex can be used, and if not, what to do.

/// Whether Codex can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodexAvailability {
    Available {
        /// Version of Codex, such as `0.169.0`.
        version: String,
        /// The model that will be asked for; `None` leaves it to Codex.
        model: Option<String>,
    },
    Unavailable(UnavailableReason),
}

/// Why Codex cannot be used, in sentences that are safe to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnavailableReason {
    /// What is wrong.
    pub reason: String,
    /// What to do.
    pub hint: String,
}

/// What is said before the first probe.
pub(super) fn unknown_availability() -> CodexAvailability {
    CodexAvailability::Unavailable(UnavailableReason {
        reason: "Codex has not been looked for yet".to_owned(),
        hint: "ask again in a moment".to_owned(),
    })
}
