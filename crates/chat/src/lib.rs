//! Chat pipeline: takes questions and returns ordered segments.

pub mod archive;
mod assemble;
mod conversations;
mod event;
mod prompt;
mod proof;
mod reading;
mod scope;
mod tool_owner;
mod turn;

use std::{
    path::Path,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use codeinfo_citations::CitationChecker;
use codeinfo_codex::{Codex, CodexAvailability, CodexError, CodexModel};
use codeinfo_core::{
    ConversationId, PathMap, Principal, Question, RootId, Secret,
    task::Tasks,
    telemetry::{self, LabelledTimer},
};
use codeinfo_store::Store;
use codeinfo_toolkits::{RequestError, ToolkitGateway, spec::RequestedToolkits};
use codeinfo_worktree::roots::find_root;
use futures_util::{Stream, StreamExt, stream::BoxStream};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

use self::{conversations::TurnLimiter, scope::QuestionScope};
pub use self::{
    event::{ChatError, ChatEvent, TokenUsage, ToolCallStage, TurnFailure, TurnOutcome},
    tool_owner::{ThreadServer, ThreadServers, ToolOwner},
};
use crate::archive::ConversationOwners;

/// Asks Codex questions. Clones share conversations and limits.
#[derive(Clone)]
pub struct Chat {
    codex: Codex,
    search_url: String,
    search_key: Option<Secret>,
    store: Store,
    paths: PathMap,
    checker: CitationChecker,
    turn_timeout: Duration,
    has_shell: bool,
    /// Default for checking the claims of answers with a second reader.
    claim_check: bool,
    /// Gateway to the toolkits; `None` disables them.
    gateway: Option<ToolkitGateway>,
    conversations: TurnLimiter,
    owners: ConversationOwners,
    turns: LabelledTimer<telemetry::OutcomeLabel>,
    tasks: Tasks,
}

/// A repository that search covers but the model's shell cannot read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExcludedRepository {
    pub name: String,
    pub reason: &'static str,
}

/// A question and how to answer it.
#[derive(Debug, Clone)]
pub struct TurnRequest {
    pub question: Question,
    /// Conversation to continue; `None` starts one.
    pub conversation: Option<ConversationId>,
    /// Model; `None` uses the configured one.
    pub model: Option<String>,
    /// Reasoning effort; `None` uses the configured one.
    pub effort: Option<String>,
    /// Checks the claims of the answer with a second reader; `None` uses the setting.
    pub claim_check: Option<bool>,
    /// Name, id or path of the only repository for the question; `None` means all indexed ones.
    pub repository: Option<String>,
    /// Tree that contains the client's folder; other trees of its repository are excluded.
    pub tree: Option<RootId>,
    /// Notice for the client about that tree.
    pub notice: Option<String>,
    /// Toolkits for the request; `None` uses the configured ones.
    pub toolkits: Option<RequestedToolkits>,
    /// Client that asks; `None` is the owner of the server.
    pub principal: Option<Principal>,
    /// Ends the turn when the client's token is revoked.
    pub revoked: CancellationToken,
}

impl TurnRequest {
    /// Creates a request about all repositories with the configured defaults.
    pub fn new(question: Question, conversation: Option<ConversationId>) -> Self {
        Self {
            question,
            conversation,
            model: None,
            effort: None,
            claim_check: None,
            repository: None,
            tree: None,
            notice: None,
            toolkits: None,
            principal: None,
            revoked: CancellationToken::new(),
        }
    }
}

impl Chat {
    /// Creates the chat. `search_url` is the MCP endpoint of the search, such as `http://127.0.0.1:5010/mcp`.
    pub fn new(
        codex: Codex,
        settings: &codeinfo_codex::CodexSettings,
        search_url: String,
        store: Store,
        tasks: Tasks,
    ) -> Self {
        Self {
            codex,
            search_url,
            search_key: None,
            checker: CitationChecker::new(store.clone(), PathMap::default()),
            store,
            paths: PathMap::default(),
            turn_timeout: settings.turn_timeout,
            has_shell: settings.shell,
            claim_check: settings.claim_check,
            gateway: None,
            conversations: TurnLimiter::new(settings.max_turns, settings.max_waiting),
            owners: ConversationOwners::default(),
            turns: LabelledTimer::default(),
            tasks,
        }
    }

    /// Sets the mapping between server paths and client paths.
    #[must_use]
    pub fn with_path_map(self, paths: PathMap) -> Self {
        let checker = CitationChecker::new(self.store.clone(), paths.clone());
        Self { paths, checker, ..self }
    }

    /// Enables the toolkits of `gateway`.
    #[must_use]
    pub fn with_toolkits(self, gateway: ToolkitGateway) -> Self {
        Self { gateway: Some(gateway), ..self }
    }

    /// Sets the key with which Codex authenticates to the search.
    #[must_use]
    pub fn with_search_key(self, key: Secret) -> Self {
        Self { search_key: Some(key), ..self }
    }

    /// Sets the owners of conversations, which persist across restarts.
    #[must_use]
    pub fn with_owners(self, owners: ConversationOwners) -> Self {
        Self { owners, ..self }
    }

    /// Sets the metric that records turns.
    #[must_use]
    pub fn with_turn_metrics(self, turns: LabelledTimer<telemetry::OutcomeLabel>) -> Self {
        Self { turns, ..self }
    }

    /// Asks a question. Returns once its conversation exists; dropping the future or the turn interrupts Codex. An
    /// unavailable Codex is an error here; check [`Chat::codex_availability`] first to report it before arguments
    /// are read. A conversation of another client is reported as unknown. A revoked client is refused at once.
    pub async fn ask(&self, request: TurnRequest) -> Result<Turn, ChatError> {
        let conversation = request.conversation;
        let revoked = request.revoked.clone();
        let principal = request.principal.as_ref();
        if let Some(id) = conversation.filter(|id| !self.owners.may_continue(*id, principal)) {
            return Err(ChatError::UnknownConversation(id));
        }
        let begin = async {
            let repository = request.repository.as_deref();
            let scope = self.resolve_scope(request.question.as_str(), repository, request.tree);
            let scope = scope.await?;
            let permit = tokio::select! {
                () = self.tasks.stop_token().cancelled() => return Err(ChatError::Stopping),
                permit = self.conversations.acquire_permit(conversation) => permit?,
            };
            let (opened, turn) = oneshot::channel();
            let running = turn::run_turn(self.clone(), request, scope, permit, opened);
            self.tasks.spawn(running.instrument(Span::current()));
            // The runtime drops a task without a result only when it ends.
            turn.await.unwrap_or(Err(ChatError::Stopping))
        };
        tokio::select! {
            biased;
            () = revoked.cancelled() => Err(ChatError::Revoked),
            turn = begin => turn,
        }
    }

    /// Parses the toolkits of a request from `principal`.
    pub fn parse_toolkits(
        &self,
        toolkits: Value,
        principal: Option<&Principal>,
    ) -> Result<RequestedToolkits, RequestError> {
        match &self.gateway {
            Some(gateway) => gateway.parse_request(toolkits, principal),
            None => Ok(RequestedToolkits::default()),
        }
    }

    /// Returns the number of questions being answered.
    pub fn active_turns(&self) -> usize {
        self.conversations.active_turns()
    }

    /// Returns the availability of Codex. Waits for a check only while Codex is not known to be usable.
    pub async fn codex_availability(&self) -> CodexAvailability {
        self.codex.current_availability().await
    }

    /// Returns the last known availability of Codex, if any.
    pub fn known_availability(&self) -> Option<CodexAvailability> {
        self.codex.known_availability()
    }

    /// Returns a stream of the changes of Codex's availability.
    pub fn watch_availability(&self) -> BoxStream<'static, ()> {
        self.codex.watch_availability()
    }

    /// Returns the names of the indexed repositories.
    pub async fn repository_names(&self) -> Result<Vec<String>, ChatError> {
        let roots = self.store.roots().await?;
        Ok(roots.into_iter().map(|root| root.name).collect())
    }

    /// Fails if no code is indexed.
    pub async fn ensure_indexed(&self) -> Result<(), ChatError> {
        self.resolve_scope("", None, None).await.map(drop)
    }

    /// Returns the repositories that the model's shell would not read for a question that names none. Repositories
    /// beyond the maximum number are not listed. Requires that Codex is available.
    pub async fn list_excluded_repositories(&self) -> Result<Vec<ExcludedRepository>, ChatError> {
        let roots = self.store.roots().await?;
        let readable = scope::select_readable(roots.clone(), "");
        let unread = self
            .codex
            .find_excluded_roots(readable)
            .await
            .map_err(|error| ChatError::from_open_error(error, None))?;
        let named = |folder: &Path| roots.iter().find(|root| root.local_folder() == Some(folder));
        let excluded = unread.into_iter().filter_map(|unread| {
            let name = named(&unread.folder)?.name.clone();
            Some(ExcludedRepository { name, reason: unread.reason })
        });
        Ok(excluded.collect())
    }

    async fn resolve_scope(
        &self,
        question: &str,
        reference: Option<&str>,
        tree: Option<RootId>,
    ) -> Result<QuestionScope, ChatError> {
        let roots = self.store.roots().await?;
        let found = match reference {
            Some(reference) => find_root(&self.paths, &roots, reference).await.ok(),
            None => None,
        };
        let found_id = found.map(|root| root.id.to_string());
        QuestionScope::for_question(
            question,
            found_id.as_deref().or(reference),
            tree,
            &roots,
            &self.paths,
        )
    }

    pub async fn list_models(&self) -> Result<Vec<CodexModel>, CodexError> {
        self.codex.list_models().await
    }
}

/// A running turn: a stream of events, [`ChatEvent::Ended`] last. Dropping it interrupts Codex.
#[derive(Debug)]
pub struct Turn {
    conversation: ConversationId,
    model_id: String,
    events: ReceiverStream<ChatEvent>,
}

impl Turn {
    fn new(
        conversation: ConversationId,
        model_id: String,
        events: mpsc::Receiver<ChatEvent>,
    ) -> Self {
        Self { conversation, model_id, events: ReceiverStream::new(events) }
    }

    /// Returns the model that answers, as known at the start of the turn.
    pub fn model_id(&self) -> &str {
        &self.model_id
    }

    pub fn conversation(&self) -> ConversationId {
        self.conversation
    }
}

impl Stream for Turn {
    type Item = ChatEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ChatEvent>> {
        self.events.poll_next_unpin(context)
    }
}

/// Waits for the end of `turn` and returns its outcome.
pub async fn collect_outcome(mut turn: Turn) -> TurnOutcome {
    let conversation = turn.conversation();
    while let Some(event) = turn.next().await {
        if let ChatEvent::Ended(outcome) = event {
            return outcome;
        }
    }
    // The task ends without an outcome only when the whole server is being dropped.
    TurnOutcome {
        conversation,
        model_id: String::new(),
        segments: Vec::new(),
        usage: None,
        citations: Vec::new(),
        failure: Some(TurnFailure {
            code: codeinfo_core::error::ErrorCode::Cancelled,
            message: "the server is stopping".to_owned(),
            hint: "ask again when it is back".to_owned(),
        }),
    }
}
