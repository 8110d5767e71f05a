//! Grants give Codex access to the toolkits of one turn while the turn runs.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use codeinfo_core::{ConversationId, Secret};
use codeinfo_credentials::CredentialError;
use lru::LruCache;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::{discovery::ToolIndex, handle::ToolkitHandle};

/// Maximum conversations whose secret is remembered. A forgotten one gets a new secret.
const MAX_CONVERSATIONS: usize = 256;

/// Hash of a grant's secret. Only hashes are compared, so that timing reveals nothing about a secret.
type SecretHash = [u8; 32];

/// Registry of the valid grants. Clones share it.
#[derive(Clone)]
pub(super) struct GrantRegistry(Arc<Mutex<GrantState>>);

struct GrantState {
    held: HashMap<SecretHash, Arc<Grant>>,
    /// Secret of each conversation, because a loaded thread keeps the parameters of its opening.
    secrets: LruCache<ConversationId, Secret>,
}

/// Toolkits and calls of one turn.
pub struct Grant {
    handles: Vec<ToolkitHandle>,
    /// Index for discovering tools, if there are too many to list.
    index: Option<Arc<ToolIndex>>,
    steps: AtomicUsize,
    /// Cancelled at the end of the turn, together with its running calls.
    ended: CancellationToken,
}

impl GrantRegistry {
    pub(super) fn new() -> Self {
        let capacity =
            std::num::NonZero::new(MAX_CONVERSATIONS).unwrap_or(std::num::NonZero::<usize>::MIN);
        Self(Arc::new(Mutex::new(GrantState {
            held: HashMap::new(),
            secrets: LruCache::new(capacity),
        })))
    }

    /// Grants at most `steps` calls of `handles`, until the guard is dropped.
    pub(super) fn issue_grant(
        &self,
        conversation: Option<ConversationId>,
        handles: Vec<ToolkitHandle>,
        index: Option<Arc<ToolIndex>>,
        steps: usize,
    ) -> Result<GrantGuard, CredentialError> {
        let mut state = self.lock_state();
        let known = conversation.and_then(|id| state.secrets.get(&id).cloned());
        let secret = match known {
            Some(secret) => secret,
            None => codeinfo_credentials::fresh_key()?,
        };
        let ended = CancellationToken::new();
        let grant = Arc::new(Grant { handles, index, steps: AtomicUsize::new(steps), ended });
        let hash = hash_secret(secret.expose());
        state.held.insert(hash, Arc::clone(&grant));
        Ok(GrantGuard { grants: self.clone(), secret, hash, grant })
    }

    pub(super) fn find_grant(&self, secret: &str) -> Option<Arc<Grant>> {
        self.lock_state().held.get(&hash_secret(secret)).cloned()
    }

    fn lock_state(&self) -> MutexGuard<'_, GrantState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Guard that keeps a grant valid. Dropping it cancels running calls.
pub struct GrantGuard {
    grants: GrantRegistry,
    secret: Secret,
    hash: SecretHash,
    grant: Arc<Grant>,
}

impl GrantGuard {
    pub(super) fn secret(&self) -> Secret {
        self.secret.clone()
    }

    pub(super) fn grant(&self) -> &Grant {
        &self.grant
    }

    /// Keeps the secret for later turns of `conversation`.
    pub fn keep_for_conversation(&self, conversation: ConversationId) {
        self.grants.lock_state().secrets.put(conversation, self.secret.clone());
    }

    pub(super) fn revoke_grant(&self) {
        self.grant.ended.cancel();
        let mut state = self.grants.lock_state();
        // A later turn of the conversation may already use the same secret.
        if state.held.get(&self.hash).is_some_and(|held| Arc::ptr_eq(held, &self.grant)) {
            state.held.remove(&self.hash);
        }
    }
}

impl Drop for GrantGuard {
    fn drop(&mut self) {
        self.revoke_grant();
    }
}

impl Grant {
    pub fn toolkits(&self) -> &[ToolkitHandle] {
        &self.handles
    }

    pub(super) fn index(&self) -> Option<&ToolIndex> {
        self.index.as_deref()
    }

    /// Takes one of the remaining calls; returns false if there are none.
    pub(super) fn take_step(&self) -> bool {
        let take = |left: usize| left.checked_sub(1);
        self.steps.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).is_ok()
    }

    pub(super) fn cancellation_token(&self) -> &CancellationToken {
        &self.ended
    }
}

fn hash_secret(secret: &str) -> SecretHash {
    Sha256::digest(secret.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_grant_holds_as_long_as_its_turn() {
        let grants = GrantRegistry::new();
        let held = grants.issue_grant(None, Vec::new(), None, 2).unwrap();
        let secret = held.secret().expose().to_owned();
        let grant = grants.find_grant(&secret).unwrap();
        assert!(grants.find_grant(&format!("{secret}x")).is_none());
        assert_eq!([grant.take_step(), grant.take_step(), grant.take_step()], [true, true, false]);
        assert!(!grant.cancellation_token().is_cancelled());
        drop(held);
        assert!(grant.cancellation_token().is_cancelled());
        assert!(grants.find_grant(&secret).is_none());
    }

    #[test]
    fn a_conversation_keeps_its_secret_and_no_other_has_it() {
        let grants = GrantRegistry::new();
        let id = ConversationId(Uuid::new_v4());
        let first = grants.issue_grant(None, Vec::new(), None, 1).unwrap();
        first.keep_for_conversation(id);
        let secret = first.secret();
        // The next turn may begin before the guard of the previous one is dropped.
        let second = grants.issue_grant(Some(id), Vec::new(), None, 1).unwrap();
        drop(first);
        assert_eq!(second.secret(), secret);
        assert!(grants.find_grant(secret.expose()).is_some());
        let other =
            grants.issue_grant(Some(ConversationId(Uuid::new_v4())), Vec::new(), None, 1).unwrap();
        assert_ne!(other.secret(), secret);
    }
}
