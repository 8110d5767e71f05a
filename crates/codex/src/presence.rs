//! Availability of Codex, with the reason and a hint if it is unavailable.

/// Availability of Codex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodexAvailability {
    Available {
        /// Version of Codex, such as `0.169.0`.
        version: String,
        /// Model that will be requested; `None` leaves the choice to Codex.
        model: Option<String>,
    },
    Unavailable(UnavailableReason),
}

/// Reason why Codex is unavailable, in sentences that are safe to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnavailableReason {
    /// Description of the failure.
    pub reason: String,
    /// Advice for the user.
    pub hint: String,
}

/// Returns the availability before the first probe.
pub(super) fn unknown_availability() -> CodexAvailability {
    CodexAvailability::Unavailable(UnavailableReason {
        reason: "Codex has not been looked for yet".to_owned(),
        hint: "ask again in a moment".to_owned(),
    })
}
