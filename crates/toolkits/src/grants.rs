//! Grants: what lets Codex use the toolkits of one turn, for as long as the turn runs.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use codeinfo_core::{ConversationId, Secret};
use codeinfo_credentials::VaultError;
use lru::LruCache;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::{discovery::Index, member::Member};

/// Most conversations whose grant is remembered. One that is forgotten gets a new one.
const MAX_CONVERSATIONS: usize = 256;

/// A grant without its secret: its hash. Only hashes are compared, so that no comparison says anything of
/// a secret.
type Hash = [u8; 32];

/// The grants that hold. Clones share them.
#[derive(Clone)]
pub(super) struct Grants(Arc<Mutex<State>>);

struct State {
    held: HashMap<Hash, Arc<Grant>>,
    /// The secret of each conversation: a thread that is loaded keeps what it was opened with.
    secrets: LruCache<ConversationId, Secret>,
}

/// What one turn may use.
pub struct Grant {
    members: Vec<Member>,
    /// How the model finds tools, where there are too many to show.
    index: Option<Arc<Index>>,
    /// Calls that are left.
    steps: AtomicUsize,
    /// Cancelled at the end of the turn, and with it every call that still runs.
    ended: CancellationToken,
}

impl Grants {
    pub(super) fn new() -> Self {
        let most =
            std::num::NonZero::new(MAX_CONVERSATIONS).unwrap_or(std::num::NonZero::<usize>::MIN);
        Self(Arc::new(Mutex::new(State { held: HashMap::new(), secrets: LruCache::new(most) })))
    }

    /// Grants the use of `members` for at most `steps` calls, until what is returned is dropped.
    pub(super) fn hold(
        &self,
        conversation: Option<ConversationId>,
        members: Vec<Member>,
        index: Option<Arc<Index>>,
        steps: usize,
    ) -> Result<Held, VaultError> {
        let mut state = self.state();
        let known = conversation.and_then(|id| state.secrets.get(&id).cloned());
        let secret = match known {
            Some(secret) => secret,
            None => codeinfo_credentials::fresh_key()?,
        };
        let ended = CancellationToken::new();
        let grant = Grant { members, index, steps: AtomicUsize::new(steps), ended };
        let (hash, grant) = (hash(secret.expose()), Arc::new(grant));
        state.held.insert(hash, Arc::clone(&grant));
        Ok(Held { grants: self.clone(), secret, hash, grant })
    }

    /// Returns what `secret` grants now.
    pub(super) fn find(&self, secret: &str) -> Option<Arc<Grant>> {
        self.state().held.get(&hash(secret)).cloned()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A grant that holds until this is dropped. Calls that run then are cancelled.
pub struct Held {
    grants: Grants,
    secret: Secret,
    hash: Hash,
    grant: Arc<Grant>,
}

impl Held {
    pub(super) fn secret(&self) -> Secret {
        self.secret.clone()
    }

    pub(super) fn grant(&self) -> &Grant {
        &self.grant
    }

    /// Keeps the secret for further turns of `conversation`.
    pub fn claim(&self, conversation: ConversationId) {
        self.grants.state().secrets.put(conversation, self.secret.clone());
    }
}

impl Held {
    /// Ends the grant and the calls that run.
    pub(super) fn end(&self) {
        self.grant.ended.cancel();
        let mut state = self.grants.state();
        // A later turn of the conversation may hold the same secret already.
        if state.held.get(&self.hash).is_some_and(|held| Arc::ptr_eq(held, &self.grant)) {
            state.held.remove(&self.hash);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Held").field("grant", &self.grant).finish_non_exhaustive()
    }
}

impl fmt::Debug for Grant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Grant").field("members", &self.members).finish_non_exhaustive()
    }
}

impl Grant {
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    pub(super) fn index(&self) -> Option<&Index> {
        self.index.as_deref()
    }

    /// Takes one of the calls that are left; returns whether there was one.
    pub(super) fn take_step(&self) -> bool {
        let take = |left: usize| left.checked_sub(1);
        self.steps.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).is_ok()
    }

    /// Waits for the end of the turn.
    pub(super) fn ended(&self) -> &CancellationToken {
        &self.ended
    }
}

fn hash(secret: &str) -> Hash {
    Sha256::digest(secret.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_grant_holds_as_long_as_its_turn() {
        let grants = Grants::new();
        let held = grants.hold(None, Vec::new(), None, 2).unwrap();
        let secret = held.secret().expose().to_owned();
        let grant = grants.find(&secret).unwrap();
        assert!(grants.find(&format!("{secret}x")).is_none());
        assert_eq!([grant.take_step(), grant.take_step(), grant.take_step()], [true, true, false]);
        assert!(!grant.ended().is_cancelled());
        drop(held);
        assert!(grant.ended().is_cancelled());
        assert!(grants.find(&secret).is_none());
    }

    #[test]
    fn a_conversation_keeps_its_secret_and_no_other_has_it() {
        let grants = Grants::new();
        let id = ConversationId(Uuid::new_v4());
        let first = grants.hold(None, Vec::new(), None, 1).unwrap();
        first.claim(id);
        let secret = first.secret();
        // The next turn may begin before the former one is dropped.
        let second = grants.hold(Some(id), Vec::new(), None, 1).unwrap();
        drop(first);
        assert_eq!(second.secret(), secret);
        assert!(grants.find(secret.expose()).is_some());
        let other = grants.hold(Some(ConversationId(Uuid::new_v4())), Vec::new(), None, 1).unwrap();
        assert_ne!(other.secret(), secret);
    }
}
