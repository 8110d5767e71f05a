//! Notices that Codex comes and goes, as long as somebody wants to know.

use std::time::Duration;

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use tokio::time::{MissedTickBehavior, interval};

use super::Codex;
use super::presence::CodexAvailability;

/// How often Codex is checked while somebody listens and it cannot be used.
const PERIOD: Duration = Duration::from_secs(10);
/// How long a running process is believed meanwhile that nobody is signed in. A sign-in that writes a
/// file is seen sooner: a changed file has the process replaced.
const BELIEVED: Duration = Duration::from_mins(5);

impl Codex {
    /// Returns the moments at which Codex becomes usable, or no longer is, from now on. While the stream
    /// is polled, Codex is checked now and then, once for all streams.
    pub fn watch_availability(&self) -> BoxStream<'static, ()> {
        let period = PERIOD.min(self.0.settings.presence_ttl).max(Duration::from_millis(100));
        let mut ticks = interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let watching = (self.clone(), self.0.usable.subscribe(), ticks);
        let changes = stream::unfold(watching, move |(codex, mut usable, mut ticks)| async move {
            loop {
                tokio::select! {
                    biased;
                    changed = usable.changed() => return Some(((), (codex, changed.ok().map(|()| usable)?, ticks))),
                    _ = ticks.tick() => codex.refresh_if_stale(period),
                }
            }
        });
        changes.boxed()
    }

    /// Starts a check in the background, unless one has been made within `period`.
    fn refresh_if_stale(&self, period: Duration) {
        match self.0.known.latest_result() {
            Some((CodexAvailability::Unavailable(_), age)) if age < period => {}
            Some((CodexAvailability::Unavailable(_), _)) => self.refresh_in_background(BELIEVED),
            Some((CodexAvailability::Available { .. }, _)) | None => drop(self.availability()),
        }
    }
}
