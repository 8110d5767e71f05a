//! Registry of running calls, by which `notifications/cancelled` finds its call.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use super::message::JsonRpcId;

/// Sender of a message. Request ids repeat between clients, so an id alone identifies no call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MessageSender {
    pub(super) session: Option<String>,
    pub(super) address: Option<IpAddr>,
    pub(super) principal: Option<String>,
}

impl MessageSender {
    /// Returns whether `other` is likely the same client. A session is the same from any address.
    fn is_same_client(&self, other: &Self) -> bool {
        let is_one_session = self.session == other.session;
        let is_named = self.session.is_some() || self.address == other.address;
        is_one_session && is_named && self.principal == other.principal
    }
}

/// Running calls of one edge. Clones share them. Nothing else of a session is stored.
#[derive(Debug, Clone, Default)]
pub struct CallRegistry(Arc<Mutex<CallTable>>);

#[derive(Debug, Default)]
struct CallTable {
    count: u64,
    running: BTreeMap<u64, CallEntry>,
}

#[derive(Debug)]
struct CallEntry {
    sender: MessageSender,
    id: JsonRpcId,
    cancelled: Arc<Notify>,
}

impl CallRegistry {
    /// Registers a call until the guard is dropped.
    pub(super) fn begin_call(&self, sender: MessageSender, id: JsonRpcId) -> CallGuard {
        let cancelled = Arc::new(Notify::new());
        let mut table = self.lock_table();
        table.count += 1;
        let number = table.count;
        table.running.insert(number, CallEntry { sender, id, cancelled: Arc::clone(&cancelled) });
        CallGuard { calls: self.clone(), number, cancelled }
    }

    /// Cancels the call of `sender` with this id. Does nothing if several calls match.
    pub(super) fn cancel_call(&self, sender: &MessageSender, id: &JsonRpcId) {
        let table = self.lock_table();
        let mut matches = table
            .running
            .values()
            .filter(|call| call.id == *id && call.sender.is_same_client(sender));
        if let (Some(call), None) = (matches.next(), matches.next()) {
            call.cancelled.notify_one();
        }
    }

    fn lock_table(&self) -> MutexGuard<'_, CallTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(super) struct CallGuard {
    calls: CallRegistry,
    number: u64,
    cancelled: Arc<Notify>,
}

impl CallGuard {
    pub(super) async fn wait_until_cancelled(&self) {
        self.cancelled.notified().await;
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.calls.lock_table().running.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use serde_json::json;

    use super::*;

    fn sender(session: Option<&str>, address: &str, principal: &str) -> MessageSender {
        MessageSender {
            session: session.map(str::to_owned),
            address: Some(address.parse().unwrap()),
            principal: Some(principal.to_owned()),
        }
    }

    fn id(value: &serde_json::Value) -> JsonRpcId {
        JsonRpcId::from_value(value).unwrap()
    }

    #[test]
    fn a_session_and_an_id_name_one_call() {
        let calls = CallRegistry::default();
        let of = |session| sender(Some(session), "127.0.0.1", "ada");
        let one = calls.begin_call(of("a"), id(&json!(2)));
        let other = calls.begin_call(of("b"), id(&json!(2)));
        for not_meant in [
            (of("a"), json!(3)),
            (of("a"), json!("2")),
            (of("c"), json!(2)),
            (sender(Some("a"), "127.0.0.1", "bob"), json!(2)),
            (sender(None, "127.0.0.1", "ada"), json!(2)),
        ] {
            calls.cancel_call(&not_meant.0, &id(&not_meant.1));
        }
        assert_eq!(one.wait_until_cancelled().now_or_never(), None);
        // A session is the same from any address.
        calls.cancel_call(&sender(Some("a"), "127.0.0.2", "ada"), &id(&json!(2)));
        assert_eq!(one.wait_until_cancelled().now_or_never(), Some(()));
        assert_eq!(other.wait_until_cancelled().now_or_never(), None);
    }

    #[test]
    fn without_a_session_the_only_call_of_a_peer_is_meant() {
        let calls = CallRegistry::default();
        let of = |address| sender(None, address, "ada");
        let cancel = |address| calls.cancel_call(&of(address), &id(&json!(2)));
        let one = calls.begin_call(of("127.0.0.1"), id(&json!(2)));
        let second = calls.begin_call(of("127.0.0.1"), id(&json!(2)));
        cancel("127.0.0.1");
        assert_eq!(one.wait_until_cancelled().now_or_never(), None);
        drop(second);
        cancel("127.0.0.2");
        assert_eq!(one.wait_until_cancelled().now_or_never(), None);
        cancel("127.0.0.1");
        assert_eq!(one.wait_until_cancelled().now_or_never(), Some(()));
        drop(one);
        assert!(calls.lock_table().running.is_empty());
    }
}
