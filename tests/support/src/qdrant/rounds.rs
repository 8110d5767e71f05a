//! Round trips: answers are held until no more calls come, so that each awaited answer takes a separate round,
//! however fast the machine is.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use codeinfo_core::task::Tasks;
use tokio::sync::Notify;

/// Time without another call after which a round ends.
const QUIET: Duration = Duration::from_millis(150);

/// The rounds up to now, where they are counted.
#[derive(Default)]
pub(super) struct RoundCounter {
    are_counted: AtomicBool,
    count: AtomicUsize,
    /// The round that calls join.
    open: Arc<Mutex<Option<Arc<OpenRound>>>>,
}

#[derive(Default)]
struct OpenRound {
    calls: AtomicUsize,
    is_over: AtomicBool,
    over: Notify,
}

impl RoundCounter {
    /// Begins to count, and returns how many rounds there were since the last time.
    pub(super) fn take_count(&self) -> usize {
        self.are_counted.store(true, Ordering::SeqCst);
        self.count.swap(0, Ordering::SeqCst)
    }

    /// Waits until the round of a call is over.
    pub(super) async fn join_round(&self) {
        if !self.are_counted.load(Ordering::SeqCst) {
            return;
        }
        let round = {
            let mut open = self.open.lock().unwrap();
            let round = open.get_or_insert_with(|| {
                self.count.fetch_add(1, Ordering::SeqCst);
                let round = Arc::default();
                Tasks::default().spawn(end_round(Arc::clone(&round), Arc::clone(&self.open)));
                round
            });
            round.calls.fetch_add(1, Ordering::SeqCst);
            Arc::clone(round)
        };
        let over = round.over.notified();
        tokio::pin!(over);
        over.as_mut().enable();
        if !round.is_over.load(Ordering::SeqCst) {
            over.await;
        }
    }
}

/// Ends a round once no more calls join it.
async fn end_round(round: Arc<OpenRound>, open: Arc<Mutex<Option<Arc<OpenRound>>>>) {
    let mut seen = 0;
    loop {
        tokio::time::sleep(QUIET).await;
        let mut open = open.lock().unwrap();
        let calls = round.calls.load(Ordering::SeqCst);
        if calls == seen {
            *open = None;
            round.is_over.store(true, Ordering::SeqCst);
            round.over.notify_waiters();
            return;
        }
        seen = calls;
    }
}
