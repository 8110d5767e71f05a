//! Time limits of connections.

use std::time::Duration;

use codeinfo_core::task::BackoffSchedule;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Maximum wait of each step of stopping a toolkit whose owner is revoked. Three steps leave the system time to
/// end the toolkit within a second.
const REVOKED_GRACE: Duration = Duration::from_millis(150);

/// Time limits of a client. Tests shorten them.
#[derive(Debug, Clone)]
pub struct ConnectionTiming {
    /// Maximum duration of a start, until the tools are known.
    pub start: Duration,
    /// Time without an answer after which the server is pinged.
    pub silence: Duration,
    /// Maximum wait for the answer to a ping.
    pub pong: Duration,
    /// Waits before an ended server is restarted.
    pub restart: BackoffSchedule,
    /// Age up to which ends count.
    pub window: Duration,
    /// Time without use after which a server is stopped.
    pub idle: Duration,
    /// Maximum wait of each step of stopping.
    pub grace: Duration,
    /// Interval for checking resource usage and idleness.
    pub tick: Duration,
}

impl Default for ConnectionTiming {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(20),
            silence: Duration::from_secs(30),
            pong: Duration::from_secs(10),
            restart: BackoffSchedule {
                first: Duration::from_secs(1),
                longest: Duration::from_mins(1),
            },
            window: Duration::from_mins(10),
            idle: Duration::from_mins(10),
            grace: Duration::from_secs(3),
            tick: Duration::from_secs(1),
        }
    }
}

/// Maximum wait of each step of stopping, shortened when the owner is revoked.
pub(super) struct StopGrace {
    usual: Duration,
    revoked: CancellationToken,
}

impl StopGrace {
    pub(super) fn new(timing: &ConnectionTiming) -> Self {
        Self { usual: timing.grace, revoked: CancellationToken::new() }
    }

    /// Records that the owner is revoked, which also shortens current waits.
    pub(super) fn mark_revoked(&self) {
        self.revoked.cancel();
    }

    /// Waits for one step, within the limit.
    pub(super) async fn wait_for_step<T>(&self, step: impl Future<Output = T>) {
        let revoked = async {
            self.revoked.cancelled().await;
            sleep(REVOKED_GRACE).await;
        };
        tokio::select! {
            _ = step => {}
            () = sleep(self.usual) => {}
            () = revoked => {}
        }
    }
}
