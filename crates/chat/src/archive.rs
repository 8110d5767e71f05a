//! Archive of the conversations of the web page on disk: one private file each, limited in number and size.
//!
//! The first line of a file is the JSON summary of the conversation, each further line one turn. Files are
//! replaced atomically; an unreadable one is moved aside. The archive does not interpret frames.

mod file;
mod owners;

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use codeinfo_core::{ConversationId, Principal, Timestamp, TurnId, error::ErrorCode, task::Tasks};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tracing::warn;

pub use file::ConversationMatch;
pub use owners::ConversationOwners;

const FOLDER: &str = "conversations";
/// Maximum bytes of all conversations; the oldest are removed first.
const MAX_BYTES: u64 = 256 << 20;
/// Time for which removals are remembered; longer than any turn.
const REMEMBERED: Duration = Duration::from_hours(24);
const MAX_TITLE_CHARS: usize = 120;

/// An event of a turn as it was streamed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArchivedFrame {
    pub name: String,
    pub data: Value,
}

/// State of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnState {
    Running,
    Answered,
    Failed,
    Stopped,
}

/// A question and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArchivedTurn {
    pub id: TurnId,
    pub question: String,
    pub asked_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    pub state: TurnState,
    pub model_id: String,
    pub frames: Vec<ArchivedFrame>,
}

/// Summary of a conversation for lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationSummary {
    pub id: ConversationId,
    /// Owner of the conversation; `None` for clients without a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// Repository to which the first question was limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// First line of the first question.
    pub title: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Stored turns in order.
    pub turns: Vec<TurnId>,
    /// Files that the answers cite, without repetitions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cited: Vec<CitedPath>,
}

/// A file that an answer cites.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CitedPath {
    /// Name of the repository.
    pub repo: String,
    /// Path below the root.
    pub rel_path: String,
}

impl ConversationSummary {
    /// Creates the summary of a conversation from its first question. The server owner's key counts as no token,
    /// because the page on the owner's machine needs none.
    pub fn new(
        id: ConversationId,
        principal: Option<&Principal>,
        repository: Option<String>,
        question: &str,
    ) -> Self {
        let token_principal = principal.filter(|principal| !principal.is_owner());
        let now = Timestamp::now();
        let line = question.lines().map(str::trim).find(|line| !line.is_empty());
        Self {
            id,
            principal: token_principal.map(ToString::to_string),
            repository,
            title: line.unwrap_or_default().chars().take(MAX_TITLE_CHARS).collect(),
            created_at: now,
            updated_at: now,
            turns: Vec::new(),
            cited: Vec::new(),
        }
    }

    /// Returns true if the principal may see the conversation: its owner, or the owner of the server.
    pub fn is_visible_to(&self, principal: Option<&Principal>) -> bool {
        let name = principal.map(Principal::as_str);
        principal.is_some_and(Principal::is_owner) || name == self.principal.as_deref()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ArchivedConversation {
    pub summary: ConversationSummary,
    pub turns: Vec<ArchivedTurn>,
}

/// Conversations of one data folder. Clones share them.
#[derive(Debug, Clone)]
pub struct ConversationArchive {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    /// Maximum conversations; 0 disables the archive.
    max_conversations: usize,
    files: Mutex<HashMap<ConversationId, ConversationFile>>,
    /// Locked while files are written, one after another.
    removals: Mutex<RemovalTimes>,
    searching: Arc<Semaphore>,
    tasks: Tasks,
}

#[derive(Debug, Clone)]
struct ConversationFile {
    summary: ConversationSummary,
    bytes: u64,
}

/// Removal time of each conversation; a turn asked before that is not stored.
type RemovalTimes = HashMap<ConversationId, Timestamp>;

impl ConversationArchive {
    /// Opens the archive in `data_dir` and removes the oldest conversations beyond `max_conversations`.
    pub async fn open(
        data_dir: &Path,
        max_conversations: usize,
        tasks: Tasks,
    ) -> Result<Self, ArchiveError> {
        let folder = data_dir.join(FOLDER);
        let own = tasks.clone();
        let opening = move || {
            let files = file::list_conversations(&folder)?;
            let (files, removals) = (Mutex::new(files), Mutex::default());
            let searching = Arc::new(Semaphore::new(1));
            let inner = Inner { folder, max_conversations, files, removals, searching, tasks: own };
            inner.remove_oldest();
            Ok(Self { inner: Arc::new(inner) })
        };
        tasks.spawn_blocking(opening).await.unwrap_or(Err(ArchiveError::Stopping))
    }

    pub fn max_conversations(&self) -> usize {
        self.inner.max_conversations
    }

    /// Returns the conversations that the principal may see, latest first.
    pub fn list_summaries(&self, principal: Option<&Principal>) -> Vec<ConversationSummary> {
        let files = self.inner.lock_files();
        let mut listed: Vec<ConversationSummary> = files
            .values()
            .filter(|file| file.summary.is_visible_to(principal))
            .map(|file| file.summary.clone())
            .collect();
        drop(files);
        listed.sort_by_key(|summary| (std::cmp::Reverse(summary.updated_at), summary.id));
        listed
    }

    pub fn find_summary(&self, id: ConversationId) -> Option<ConversationSummary> {
        self.inner.lock_files().get(&id).map(|file| file.summary.clone())
    }

    /// Returns the conversation of a turn.
    pub fn find_conversation_of_turn(&self, turn: TurnId) -> Option<ConversationId> {
        let files = self.inner.lock_files();
        files.values().find(|file| file.summary.turns.contains(&turn)).map(|file| file.summary.id)
    }

    /// Reads a conversation; `None` if it is not stored.
    pub async fn read_conversation(
        &self,
        id: ConversationId,
    ) -> Result<Option<ArchivedConversation>, ArchiveError> {
        self.run_blocking(move |inner| inner.read_conversation(id)).await
    }

    /// Returns the first `limit` conversations of `listed` whose questions or answers contain all words of `text`,
    /// ignoring case. `in_memory` returns the turns of one that is not on disk. Reads all conversations, one
    /// search at a time; dropping the future ends the search. Unreadable ones are skipped.
    pub async fn find_conversations(
        &self,
        text: &str,
        listed: Vec<ConversationSummary>,
        limit: usize,
        in_memory: impl Fn(ConversationId) -> Vec<ArchivedTurn> + Send + 'static,
    ) -> Result<Vec<ConversationMatch>, ArchiveError> {
        let acquired = Arc::clone(&self.inner.searching).acquire_owned().await;
        let permit = acquired.map_err(|_| ArchiveError::Stopping)?;
        let query = text.to_owned();
        let left = CancellationToken::new();
        let _left = left.clone().drop_guard();
        self.run_blocking(move |inner| {
            let words = file::split_words(&query);
            let mut found = Vec::new();
            for summary in listed {
                if left.is_cancelled() || found.len() == limit {
                    break;
                }
                let conversation = match inner.read_conversation(summary.id) {
                    Ok(Some(conversation)) => conversation,
                    Ok(None) => ArchivedConversation { turns: in_memory(summary.id), summary },
                    Err(error) => {
                        warn!(%error, "a conversation cannot be searched");
                        continue;
                    }
                };
                found.extend(file::match_conversation(conversation, &words));
            }
            drop(permit);
            Ok(found)
        })
        .await
    }

    /// Stores a turn or its new state, unless the conversation was removed after the turn was asked.
    pub async fn store_turn(
        &self,
        summary: ConversationSummary,
        turn: impl FnOnce() -> ArchivedTurn + Send + 'static,
    ) -> Result<(), ArchiveError> {
        if self.inner.max_conversations == 0 {
            return Ok(());
        }
        self.run_blocking(move |inner| inner.store_turn(&summary, turn())).await
    }

    pub async fn remove_conversation(&self, id: ConversationId) -> Result<bool, ArchiveError> {
        self.run_blocking(move |inner| {
            let mut removed = inner.lock_removals();
            removed.retain(|_, at| at.age() < REMEMBERED);
            removed.insert(id, Timestamp::now());
            inner.remove_conversation(id)
        })
        .await
    }

    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<T, ArchiveError> {
        let inner = Arc::clone(&self.inner);
        let done = self.inner.tasks.spawn_blocking(move || work(&inner)).await;
        done.unwrap_or(Err(ArchiveError::Stopping))
    }
}

impl Inner {
    fn lock_files(&self) -> std::sync::MutexGuard<'_, HashMap<ConversationId, ConversationFile>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_removals(&self) -> std::sync::MutexGuard<'_, RemovalTimes> {
        self.removals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn conversation_path(&self, id: ConversationId) -> PathBuf {
        self.folder.join(format!("{id}.{}", file::EXTENSION))
    }

    fn read_conversation(
        &self,
        id: ConversationId,
    ) -> Result<Option<ArchivedConversation>, ArchiveError> {
        match file::read_conversation(&self.conversation_path(id)) {
            // The file may have been replaced by another one.
            Ok(found) => Ok(found.filter(|found| found.summary.id == id)),
            Err(error @ ArchiveError::Damaged { .. }) => {
                warn!(%error, "a conversation cannot be read and was moved aside");
                file::move_aside(&self.conversation_path(id));
                self.lock_files().remove(&id);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn store_turn(
        &self,
        summary: &ConversationSummary,
        turn: ArchivedTurn,
    ) -> Result<(), ArchiveError> {
        let removed = self.lock_removals();
        if removed.get(&summary.id).is_some_and(|at| turn.asked_at <= *at) {
            return Ok(());
        }
        let begun = || ArchivedConversation { summary: summary.clone(), turns: Vec::new() };
        let mut conversation = self.read_conversation(summary.id)?.unwrap_or_else(begun);
        conversation.turns.retain(|kept| kept.id != turn.id);
        conversation.turns.push(turn);
        conversation.summary.updated_at = Timestamp::now();
        let bytes = file::write_conversation(
            &self.folder,
            &self.conversation_path(summary.id),
            &mut conversation,
        )?;
        self.lock_files()
            .insert(summary.id, ConversationFile { summary: conversation.summary, bytes });
        self.remove_oldest();
        drop(removed);
        Ok(())
    }

    fn remove_conversation(&self, id: ConversationId) -> Result<bool, ArchiveError> {
        file::remove_conversation(&self.conversation_path(id))?;
        Ok(self.lock_files().remove(&id).is_some())
    }

    fn remove_oldest(&self) {
        loop {
            let files = self.lock_files();
            let bytes: u64 = files.values().map(|file| file.bytes).sum();
            if files.len() <= self.max_conversations && (bytes <= MAX_BYTES || files.len() <= 1) {
                return;
            }
            let oldest =
                files.values().map(|file| (file.summary.updated_at, file.summary.id)).min();
            drop(files);
            let Some((_, oldest)) = oldest else { return };
            if let Err(error) = self.remove_conversation(oldest) {
                warn!(%error, "a conversation cannot be removed");
                // The file is ignored until the next start.
                self.lock_files().remove(&oldest);
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("cannot use `{}`: {source}", .path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` is damaged: {reason}", .path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error("the server is stopping")]
    Stopping,
}

impl ArchiveError {
    pub(super) fn for_file(path: &Path, source: io::Error) -> Self {
        Self::File { path: path.to_owned(), source }
    }

    pub fn code(&self) -> ErrorCode {
        match self {
            Self::File { .. } | Self::Damaged { .. } => ErrorCode::ArchiveUnavailable,
            Self::Stopping => ErrorCode::Cancelled,
        }
    }
}
