//! Whether Codex can be used, and if not, what to do.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Whether Codex can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    Available {
        /// Version of Codex, such as `0.169.0`.
        version: String,
        /// The model that will be asked for; `None` leaves it to Codex.
        model: Option<String>,
    },
    Unavailable(Unavailable),
}

/// Why Codex cannot be used, in sentences that are safe to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavailable {
    /// What is wrong.
    pub reason: String,
    /// What to do.
    pub hint: String,
}

/// What is known, and since when.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<Option<(Presence, Instant)>>);

impl Known {
    /// Returns what was found out last, and whether it is older than `ttl` or was forgotten.
    pub(super) fn get(&self, ttl: Duration) -> (Presence, Age) {
        match &*self.lock() {
            None => (unknown(), Age::Stale),
            Some((presence, since)) => {
                let age = if since.elapsed() < ttl { Age::Fresh } else { Age::Stale };
                (presence.clone(), age)
            }
        }
    }

    /// Returns what was found out after `moment`, if anything was.
    pub(super) fn since(&self, moment: Instant) -> Option<Presence> {
        let known = self.lock();
        known.as_ref().filter(|(_, since)| *since > moment).map(|(presence, _)| presence.clone())
    }

    /// Takes note of what was found out by asking at `asked`, unless something later is known.
    pub(super) fn set(&self, presence: Presence, asked: Instant) {
        let mut known = self.lock();
        if known.as_ref().is_none_or(|(_, since)| *since <= asked) {
            *known = Some((presence, asked));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Presence, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether knowledge can still be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Age {
    Fresh,
    Stale,
}

/// What is said before the first probe.
fn unknown() -> Presence {
    Presence::Unavailable(Unavailable {
        reason: "Codex has not been looked for yet".to_owned(),
        hint: "ask again in a moment".to_owned(),
    })
}
