//! Reports when Codex becomes usable or unusable, while a listener waits for it.

use std::time::Duration;

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use tokio::time::{MissedTickBehavior, interval};

use super::Codex;
use super::presence::CodexAvailability;

/// Interval between checks while a listener waits and Codex is unusable.
const PERIOD: Duration = Duration::from_secs(10);
/// Age up to which the answer "signed out" of a running process is trusted by background checks. A sign-in that
/// writes a file is noticed earlier, because a changed file replaces the process.
const BELIEVED: Duration = Duration::from_mins(5);

impl Codex {
    /// Returns a stream with one item for each change of usability from now on. While the stream is polled,
    /// Codex is checked periodically, once for all streams.
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

    /// Starts a background check unless the last one is younger than `period`.
    fn refresh_if_stale(&self, period: Duration) {
        match self.0.known.latest_result() {
            Some((CodexAvailability::Unavailable(_), age)) if age < period => {}
            Some((CodexAvailability::Unavailable(_), _)) => self.refresh_in_background(BELIEVED),
            Some((CodexAvailability::Available { .. }, _)) | None => drop(self.availability()),
        }
    }
}
