//! Owners of conversations, in one file. Those without a token belong to the server's owner and are not listed.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use codeinfo_core::{
    ConversationId, Principal,
    atomic::{self, FileAccess},
    task::Tasks,
};
use serde::{Deserialize, Serialize};
use tracing::warn;

use super::{ArchiveError, ConversationArchive, ConversationSummary, FOLDER};

const FILE: &str = "owners.json";
/// Maximum conversations of tokens; the oldest ones become the owner's.
const MAX_CONVERSATIONS: usize = 4096;

/// Principals that may continue each conversation. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct ConversationOwners(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Folder of the file; `None` keeps the owners in memory only.
    folder: Option<PathBuf>,
    /// Conversations, oldest first.
    owned: Mutex<Vec<OwnedConversation>>,
    tasks: Tasks,
}

/// A conversation that began with a token.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct OwnedConversation {
    id: ConversationId,
    principal: String,
}

impl ConversationOwners {
    /// Reads the owners in `data_dir`, and puts those that only `archive` has before them, because an
    /// archive may be older than the file. Keeps the latest [`MAX_CONVERSATIONS`].
    pub async fn open(
        data_dir: &Path,
        archive: &ConversationArchive,
        tasks: Tasks,
    ) -> Result<Self, ArchiveError> {
        let folder = data_dir.join(FOLDER);
        let path = folder.join(FILE);
        let reading = tasks.spawn_blocking(move || {
            let read = atomic::read_if_exists(&path, FileAccess::Owner);
            let bytes = read.map_err(|error| ArchiveError::for_file(&path, error))?;
            let damaged = |error: serde_json::Error| ArchiveError::Damaged {
                path: path.clone(),
                reason: error.to_string(),
            };
            let owned = bytes.map(|bytes| serde_json::from_slice(&bytes).map_err(damaged));
            Ok(owned.transpose()?.unwrap_or_default())
        });
        let written: Vec<OwnedConversation> =
            reading.await.unwrap_or(Err(ArchiveError::Stopping))?;
        let known: HashSet<ConversationId> = written.iter().map(|one| one.id).collect();
        let archived = archive.list_summaries(Some(&Principal::owner())).into_iter().rev();
        let unwritten = archived.filter(|summary| !known.contains(&summary.id)).filter_map(
            |ConversationSummary { id, principal, .. }| {
                Some(OwnedConversation { id, principal: principal? })
            },
        );
        let mut owned: Vec<OwnedConversation> = unwritten.chain(written).collect();
        drop_oldest(&mut owned);
        let owned = Mutex::new(owned);
        Ok(Self(Arc::new(Inner { folder: Some(folder), owned, tasks })))
    }

    /// Returns true if `principal` may continue a conversation: it began the conversation, or has the owner's key.
    pub fn may_continue(&self, id: ConversationId, principal: Option<&Principal>) -> bool {
        let owner = Principal::owner();
        let conversations = self.0.lock_owned();
        let began = conversations.iter().find(|one| one.id == id).map(|one| one.principal.as_str());
        principal.is_some_and(Principal::is_owner)
            || began.unwrap_or(owner.as_str()) == principal.unwrap_or(&owner).as_str()
    }

    /// Records the owner of a new conversation; if the write fails, the server's owner has it after a restart.
    pub async fn record_owner(&self, id: ConversationId, principal: Option<&Principal>) {
        let Some(principal) = principal.filter(|principal| !principal.is_owner()) else { return };
        let name = principal.to_string();
        let inner = Arc::clone(&self.0);
        let recording = self.0.tasks.spawn_blocking(move || {
            let mut owned = inner.lock_owned();
            if owned.iter().any(|one| one.id == id) {
                return;
            }
            owned.push(OwnedConversation { id, principal: name });
            drop_oldest(&mut owned);
            if let Err(error) = inner.write_owners(&owned) {
                warn!(%error, "who began a conversation is not written");
            }
        });
        drop(recording.await);
    }
}

impl Inner {
    fn lock_owned(&self) -> MutexGuard<'_, Vec<OwnedConversation>> {
        self.owned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_owners(&self, owned: &[OwnedConversation]) -> std::io::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        atomic::create_private_folder(folder)?;
        atomic::write_atomically(&folder.join(FILE), &serde_json::to_vec(owned)?, FileAccess::Owner)
    }
}

fn drop_oldest(owned: &mut Vec<OwnedConversation>) {
    owned.drain(..owned.len().saturating_sub(MAX_CONVERSATIONS));
}

#[cfg(test)]
mod tests {
    use super::{ConversationOwners, FILE, FOLDER, MAX_CONVERSATIONS};
    use crate::archive::{
        ArchivedConversation, ConversationArchive, ConversationSummary, file::write_conversation,
    };
    use codeinfo_core::{
        ConversationId, Principal,
        atomic::{self, FileAccess},
        task::Tasks,
    };
    use serde_json::json;

    fn conversation(number: usize) -> ConversationId {
        format!("00000000-0000-4000-8000-{number:012}").parse().unwrap()
    }

    #[tokio::test]
    async fn a_conversation_is_for_who_began_it_after_a_restart_and_for_the_owner() {
        let (folder, tasks) = (tempfile::tempdir().unwrap(), Tasks::default());
        let open = async || {
            let archive =
                ConversationArchive::open(folder.path(), 10, tasks.clone()).await.unwrap();
            ConversationOwners::open(folder.path(), &archive, tasks.clone()).await.unwrap()
        };
        let (ann, bob): (Principal, Principal) = ("ann".parse().unwrap(), "bob".parse().unwrap());
        let owners = open().await;
        let (of_ann, of_owner) = (conversation(1), conversation(2));
        owners.record_owner(of_ann, Some(&ann)).await;
        owners.record_owner(of_owner, None).await;
        for owners in [owners, open().await] {
            for (id, principal, is_allowed) in [
                (of_ann, Some(&ann), true),
                (of_ann, Some(&bob), false),
                (of_ann, None, false),
                (of_ann, Some(&Principal::owner()), true),
                (of_owner, Some(&ann), false),
                (of_owner, None, true),
                (of_owner, Some(&Principal::owner()), true),
                (conversation(3), Some(&ann), false),
            ] {
                assert_eq!(owners.may_continue(id, principal), is_allowed, "{id} {principal:?}");
            }
        }
    }

    #[tokio::test]
    async fn the_oldest_conversations_become_the_owners() {
        let (owners, ann) = (ConversationOwners::default(), "ann".parse::<Principal>().unwrap());
        for number in 0..=MAX_CONVERSATIONS {
            owners.record_owner(conversation(number), Some(&ann)).await;
        }
        assert!(!owners.may_continue(conversation(0), Some(&ann)));
        assert!(owners.may_continue(conversation(0), None));
        assert!(owners.may_continue(conversation(1), Some(&ann)));
    }

    #[tokio::test]
    async fn owners_of_an_archive_are_older_than_those_of_the_file() {
        let (data_dir, tasks) = (tempfile::tempdir().unwrap(), Tasks::default());
        let (folder, ann) = (data_dir.path().join(FOLDER), "ann".parse::<Principal>().unwrap());
        for (number, updated_at) in [(1, 1_000), (2, 3_000), (3, 2_000)] {
            let mut summary = ConversationSummary::new(conversation(number), Some(&ann), None, "");
            summary.updated_at = serde_json::from_value(json!(updated_at)).unwrap();
            let path = folder.join(format!("{}.jsonl", summary.id));
            let mut archived = ArchivedConversation { summary, turns: Vec::new() };
            write_conversation(&folder, &path, &mut archived).unwrap();
        }
        let archive = ConversationArchive::open(data_dir.path(), 10, tasks.clone()).await.unwrap();
        let owned_after_opening = async |written: usize, added: usize| -> Vec<usize> {
            let numbers = 10..10 + written;
            let written: Vec<_> = numbers
                .map(|number| json!({"id": conversation(number), "principal": "ann"}))
                .collect();
            let bytes = serde_json::to_vec(&written).unwrap();
            atomic::write_atomically(&folder.join(FILE), &bytes, FileAccess::Owner).unwrap();
            let opened = ConversationOwners::open(data_dir.path(), &archive, tasks.clone());
            let owners = opened.await.unwrap();
            for number in 0..added {
                owners.record_owner(conversation(9_000 + number), Some(&ann)).await;
            }
            let mut owned = vec![1, 2, 3, 10, 11, 12];
            owned.retain(|number| owners.may_continue(conversation(*number), Some(&ann)));
            owned
        };
        assert_eq!(owned_after_opening(3, 0).await, [1, 2, 3, 10, 11, 12]);
        assert_eq!(owned_after_opening(MAX_CONVERSATIONS - 2, 0).await, [2, 3, 10, 11, 12]);
        assert_eq!(owned_after_opening(MAX_CONVERSATIONS - 1, 0).await, [2, 10, 11, 12]);
        assert_eq!(owned_after_opening(MAX_CONVERSATIONS - 2, 3).await, [11, 12]);
        assert_eq!(owned_after_opening(MAX_CONVERSATIONS + 1, 0).await, [11, 12]);
    }
}
