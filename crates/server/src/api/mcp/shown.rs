//! Remembers which code a conversation has received, so that it is not sent twice.

use std::{
    collections::BTreeSet,
    num::NonZero,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use lru::LruCache;

/// Maximum number of remembered conversations; the least recently used one is forgotten first.
const MAX_CONVERSATIONS: NonZero<usize> = NonZero::new(256).unwrap();
/// Maximum chunks remembered of a conversation. A turn that received more has lost the first ones
/// to compaction.
const MAX_CHUNKS: usize = 500;
/// Maximum bytes of a conversation's name; longer ones are not remembered. Codex uses a UUID.
const MAX_NAME: usize = 100;

/// Ids of the chunks that each conversation has received. Clones share it; a restart forgets it.
#[derive(Debug, Clone)]
pub(super) struct ShownChunks(Arc<Mutex<LruCache<String, BTreeSet<String>>>>);

impl Default for ShownChunks {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(LruCache::new(MAX_CONVERSATIONS))))
    }
}

impl ShownChunks {
    /// Returns the chunks that a conversation has received; none without a name.
    pub(super) fn get(&self, conversation: Option<&str>) -> BTreeSet<String> {
        let known = conversation.and_then(|name| self.lock().get(name).cloned());
        known.unwrap_or_default()
    }

    /// Records chunks that a conversation receives. Forgets the earlier ones when there are too
    /// many.
    pub(super) fn add_chunks(&self, conversation: Option<&str>, chunks: Vec<String>) {
        let Some(name) = conversation.filter(|name| name.len() <= MAX_NAME) else { return };
        let mut shown = self.lock();
        let known = shown.get_or_insert_mut_ref(name, BTreeSet::new);
        if known.len() + chunks.len() > MAX_CHUNKS {
            known.clear();
        }
        known.extend(chunks);
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<String, BTreeSet<String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_keeps_what_it_was_shown_until_that_is_too_much() {
        let shown = ShownChunks::default();
        let ids = |count: usize| (0..count).map(|id| id.to_string()).collect::<Vec<String>>();
        shown.add_chunks(Some("one"), ids(MAX_CHUNKS));
        assert_eq!(shown.get(Some("one")).len(), MAX_CHUNKS);
        shown.add_chunks(Some("one"), vec!["another".to_owned()]);
        assert_eq!(shown.get(Some("one")), BTreeSet::from(["another".to_owned()]));
        for other in [Some("two"), None] {
            assert!(shown.get(other).is_empty());
        }
    }

    #[test]
    fn the_conversations_that_searched_last_are_kept() {
        let shown = ShownChunks::default();
        let add = |name: &str| shown.add_chunks(Some(name), vec!["a".to_owned()]);
        add("first");
        add("second");
        for other in 0..MAX_CONVERSATIONS.get() - 2 {
            add(&other.to_string());
        }
        assert_eq!(shown.get(Some("first")).len(), 1);
        add("one more");
        assert_eq!((shown.get(Some("first")).len(), shown.get(Some("second")).len()), (1, 0));
        add(&"x".repeat(MAX_NAME + 1));
        assert!(shown.get(Some(&"x".repeat(MAX_NAME + 1))).is_empty());
    }
}
