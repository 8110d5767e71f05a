//! Bounds the connections of a listener, and selects the one to close for a new client.
//!
//! A connection waits for its client while it lacks its first byte, a whole head, a whole body, or
//! its next request. Silent connections have no buffers.

use std::{
    collections::BTreeMap,
    io,
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

/// Slots for connections. If none is free, the one that has waited longest for its client closes.
#[derive(Debug)]
pub(super) struct ConnectionSlots {
    free: Arc<Semaphore>,
    waiting: Mutex<IdleConnections>,
    /// Notified when a connection begins to wait.
    began: Notify,
    crowded: AtomicBool,
}

#[derive(Debug, Default)]
struct IdleConnections {
    /// Number of times that any connection began to wait.
    count: u64,
    /// Waiting connections by the count at which they began, longest first.
    slots: BTreeMap<u64, CancellationToken>,
}

impl ConnectionSlots {
    pub(super) fn new(max_connections: usize) -> Arc<Self> {
        Arc::new(Self {
            free: Arc::new(Semaphore::new(max_connections)),
            waiting: Mutex::default(),
            began: Notify::new(),
            crowded: AtomicBool::new(false),
        })
    }

    /// Acquires a slot. If none is free, closes the connection that has waited longest, or waits.
    pub(super) async fn acquire_slot(self: &Arc<Self>) -> io::Result<Arc<ConnectionSlot>> {
        let slot = |permit| {
            let slots = Arc::clone(self);
            Arc::new(ConnectionSlot {
                slots,
                gives_way: CancellationToken::new(),
                place: Mutex::default(),
                answered: AtomicBool::new(false),
                _permit: permit,
            })
        };
        if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
            self.crowded.store(false, Ordering::Relaxed);
            return Ok(slot(permit));
        }
        // A crowd is logged once.
        if !self.crowded.swap(true, Ordering::Relaxed) {
            warn!("all connections are taken; the longest idle ones give way to new clients");
        }
        let mut permit = pin!(Arc::clone(&self.free).acquire_owned());
        while !self.close_longest_idle() {
            tokio::select! {
                permit = permit.as_mut() => return Ok(slot(permit.map_err(io::Error::other)?)),
                () = self.began.notified() => {}
            }
        }
        Ok(slot(permit.await.map_err(io::Error::other)?))
    }

    /// Closes the connection that has waited longest for its client, if one waits.
    pub(super) fn close_longest_idle(&self) -> bool {
        let Some((_, gives_way)) = self.lock_idle().slots.pop_first() else { return false };
        debug!("an idle connection gives way");
        gives_way.cancel();
        true
    }

    fn lock_idle(&self) -> MutexGuard<'_, IdleConnections> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(super) struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    gives_way: CancellationToken,
    /// Key among the waiting connections.
    place: Mutex<Option<u64>>,
    /// True if the reply to the last request has been written but may not be sent yet.
    answered: AtomicBool,
    _permit: OwnedSemaphorePermit,
}

impl ConnectionSlot {
    /// Marks the connection as waiting for its client.
    pub(super) fn mark_idle(&self) {
        let mut waiting = self.slots.lock_idle();
        waiting.count += 1;
        let place = waiting.count;
        if let Some(before) = self.lock_idle_key().replace(place) {
            waiting.slots.remove(&before);
        }
        waiting.slots.insert(place, self.gives_way.clone());
        drop(waiting);
        self.slots.began.notify_one();
    }

    /// Marks the connection as working. Never returns for one that was selected for closing.
    pub(super) async fn mark_busy(&self) {
        let is_there = {
            let mut waiting = self.slots.lock_idle();
            match self.lock_idle_key().take() {
                Some(place) => waiting.slots.remove(&place).is_some(),
                None => true,
            }
        };
        if !is_there {
            std::future::pending::<()>().await;
        }
    }

    /// Marks the reply as complete; the connection waits again once it is sent.
    pub(super) fn mark_reply_complete(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }

    /// Marks all written data as sent.
    pub(super) fn mark_flushed(&self) {
        if self.answered.swap(false, Ordering::Relaxed) {
            self.mark_idle();
        }
    }

    /// Marks the connection as upgraded; it then reports itself when it waits.
    pub(super) fn mark_upgraded(&self) {
        self.answered.store(false, Ordering::Relaxed);
    }

    /// Returns once the connection was selected for closing.
    pub(super) async fn gives_way(&self) {
        self.gives_way.cancelled().await;
    }

    fn lock_idle_key(&self) -> MutexGuard<'_, Option<u64>> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        if let Some(place) = self.lock_idle_key().take() {
            self.slots.lock_idle().slots.remove(&place);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_connection_that_has_to_go_begins_no_more_work() {
        let slots = ConnectionSlots::new(2);
        let first = slots.acquire_slot().await.unwrap();
        let second = slots.acquire_slot().await.unwrap();
        first.mark_idle();
        second.mark_idle();
        // Marked again, it has waited less long, and is listed once.
        first.mark_idle();
        second.mark_busy().now_or_never().unwrap();
        second.mark_idle();
        assert!(slots.close_longest_idle());
        assert_eq!(first.mark_busy().now_or_never(), None);
        first.gives_way().now_or_never().unwrap();
        assert_eq!(second.mark_busy().now_or_never(), Some(()));
        assert!(!slots.close_longest_idle());
        assert_eq!(second.gives_way().now_or_never(), None);
    }

    #[tokio::test]
    async fn a_connection_that_ended_gives_way_to_nobody() {
        let slots = ConnectionSlots::new(2);
        let gone = slots.acquire_slot().await.unwrap();
        let there = slots.acquire_slot().await.unwrap();
        gone.mark_idle();
        there.mark_idle();
        drop(gone);
        assert!(slots.close_longest_idle());
        there.gives_way().now_or_never().unwrap();
        assert!(!slots.close_longest_idle());
    }
}
