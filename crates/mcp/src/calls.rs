//! The calls under way, so that `notifications/cancelled` finds the one it means.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use super::message::Id;

/// Who sent a message. Ids of requests repeat between clients, so an id alone names no call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sender {
    pub(super) session: Option<String>,
    pub(super) address: Option<IpAddr>,
    pub(super) principal: Option<String>,
}

impl Sender {
    /// Whether `other` is the same client, as far as that is known. A session is one wherever it comes from.
    fn is(&self, other: &Self) -> bool {
        let is_one_session = self.session == other.session;
        let is_named = self.session.is_some() || self.address == other.address;
        is_one_session && is_named && self.principal == other.principal
    }
}

/// The calls under way at one edge. Clones share them; nothing else is remembered of a session.
#[derive(Debug, Clone, Default)]
pub struct Calls(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    /// How many calls there have been.
    count: u64,
    running: BTreeMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    sender: Sender,
    id: Id,
    cancelled: Arc<Notify>,
}

impl Calls {
    /// Takes note of a call until the guard is dropped.
    pub(super) fn begin(&self, sender: Sender, id: Id) -> Underway {
        let cancelled = Arc::new(Notify::new());
        let mut table = self.table();
        table.count += 1;
        let number = table.count;
        table.running.insert(number, Entry { sender, id, cancelled: Arc::clone(&cancelled) });
        Underway { calls: self.clone(), number, cancelled }
    }

    /// Cancels the call of `sender` with this id. Where there are two, nobody knows which one is meant.
    pub(super) fn cancel(&self, sender: &Sender, id: &Id) {
        let table = self.table();
        let mut meant =
            table.running.values().filter(|call| call.id == *id && call.sender.is(sender));
        if let (Some(call), None) = (meant.next(), meant.next()) {
            call.cancelled.notify_one();
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call under way.
#[derive(Debug)]
pub(super) struct Underway {
    calls: Calls,
    number: u64,
    cancelled: Arc<Notify>,
}

impl Underway {
    /// Returns once the client has cancelled the call.
    pub(super) async fn cancelled(&self) {
        self.cancelled.notified().await;
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.calls.table().running.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use serde_json::json;

    use super::*;

    fn sender(session: Option<&str>, address: &str, principal: &str) -> Sender {
        Sender {
            session: session.map(str::to_owned),
            address: Some(address.parse().unwrap()),
            principal: Some(principal.to_owned()),
        }
    }

    fn id(value: &serde_json::Value) -> Id {
        Id::read(value).unwrap()
    }

    #[test]
    fn a_session_and_an_id_name_one_call() {
        let calls = Calls::default();
        let of = |session| sender(Some(session), "127.0.0.1", "ada");
        let (one, other) =
            (calls.begin(of("a"), id(&json!(2))), calls.begin(of("b"), id(&json!(2))));
        for not_meant in [
            (of("a"), json!(3)),
            (of("a"), json!("2")),
            (of("c"), json!(2)),
            (sender(Some("a"), "127.0.0.1", "bob"), json!(2)),
            (sender(None, "127.0.0.1", "ada"), json!(2)),
        ] {
            calls.cancel(&not_meant.0, &id(&not_meant.1));
        }
        assert_eq!(one.cancelled().now_or_never(), None);
        // Wherever the session speaks from.
        calls.cancel(&sender(Some("a"), "127.0.0.2", "ada"), &id(&json!(2)));
        assert_eq!(one.cancelled().now_or_never(), Some(()));
        assert_eq!(other.cancelled().now_or_never(), None);
    }

    #[test]
    fn without_a_session_the_only_call_of_a_peer_is_meant() {
        let calls = Calls::default();
        let of = |address| sender(None, address, "ada");
        let cancel = |address| calls.cancel(&of(address), &id(&json!(2)));
        let one = calls.begin(of("127.0.0.1"), id(&json!(2)));
        let second = calls.begin(of("127.0.0.1"), id(&json!(2)));
        cancel("127.0.0.1");
        assert_eq!(one.cancelled().now_or_never(), None);
        drop(second);
        cancel("127.0.0.2");
        assert_eq!(one.cancelled().now_or_never(), None);
        cancel("127.0.0.1");
        assert_eq!(one.cancelled().now_or_never(), Some(()));
        drop(one);
        assert!(calls.table().running.is_empty());
    }
}
