//! How long things may take, and how often a toolkit may end.

use std::time::Duration;

use codeinfo_core::task::BackoffSchedule;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Wait of each step of stopping a toolkit whose owner is revoked: with three of them, and some time for the
/// system, the toolkit is gone within a second.
const REVOKED_GRACE: Duration = Duration::from_millis(150);

/// How long what a client does may take. Tests shorten it.
#[derive(Debug, Clone)]
pub struct ConnectionTiming {
    /// Longest start, until the tools are known.
    pub start: Duration,
    /// After so long without an answer the server is pinged.
    pub silence: Duration,
    /// Longest wait for the answer to a ping.
    pub pong: Duration,
    /// Waits before a server that ended is started again.
    pub restart: BackoffSchedule,
    /// Ends that are longer ago do not count.
    pub window: Duration,
    /// A server that is not used for so long is stopped.
    pub idle: Duration,
    /// How long each step of stopping waits.
    pub grace: Duration,
    /// How often it is looked at what a server uses, and whether it is idle.
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

/// Longest wait of each step of stopping, which is cut short when the owner is revoked.
pub(super) struct StopGrace {
    usual: Duration,
    revoked: CancellationToken,
}

impl StopGrace {
    pub(super) fn new(timing: &ConnectionTiming) -> Self {
        Self { usual: timing.grace, revoked: CancellationToken::new() }
    }

    /// Notes that the owner is revoked: steps that wait now are cut short as well.
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
