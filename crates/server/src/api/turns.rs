//! Turns that the server owns: started with `POST /turns`, and continued when no client watches.

mod live;
mod render;

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use codeinfo_chat::{
    ChatEvent, Turn,
    archive::{ArchivedTurn, ConversationArchive, ConversationSummary, TurnState},
};
use codeinfo_core::{
    ConversationId, Principal, Timestamp, TurnId, error::ErrorCode, task::Tasks,
    telemetry::FailureLog,
};
use codeinfo_http::{AuthContext, Request, Response, reply};
use futures_util::StreamExt;
use hyper::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Semaphore;
use tracing::{Instrument, Span, warn};

use self::live::LiveTurn;
pub(super) use self::render::{
    MarkupFormat, NumberedFrame, RenderedTurn, final_answer, render_turn,
};
use super::{
    ApiServices,
    chat::{self, ChatArguments},
    error::{ApiError, MAIN, note_end},
    parameters::{invalid_argument, parse_query, unknown_parameter},
};

/// Maximum bytes and age of ended turns in memory, which serve clients that return.
const MAX_ENDED_BYTES: usize = 64 << 20;
const ENDED_FOR: Duration = Duration::from_mins(10);

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartTurnReply {
    pub turn_id: TurnId,
    pub conversation_id: ConversationId,
    pub model_id: String,
}

/// Running and recently ended turns. Clones share them.
#[derive(Clone)]
pub struct TurnRegistry {
    archive: ConversationArchive,
    tasks: Tasks,
    live: Arc<Mutex<LiveTurns>>,
    /// Permits to render turns as HTML, which may take a while and much memory.
    showing: Arc<Semaphore>,
}

const MAX_SHOWING: usize = 2;

#[derive(Default)]
struct LiveTurns {
    all: HashMap<TurnId, Arc<LiveTurn>>,
    /// Oldest first.
    ended: VecDeque<EndedTurn>,
}

struct EndedTurn {
    at: Instant,
    id: TurnId,
    bytes: usize,
}

impl TurnRegistry {
    /// Creates a registry that keeps turns in `archive`; `tasks` owns the running ones.
    pub fn new(archive: ConversationArchive, tasks: Tasks) -> Self {
        let showing = Arc::new(Semaphore::new(MAX_SHOWING));
        Self { archive, tasks, live: Arc::default(), showing }
    }

    pub(super) fn archive(&self) -> &ConversationArchive {
        &self.archive
    }

    pub(super) async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let stopping = |_| ApiError::server_stopping();
        self.tasks.spawn_blocking(work).await.map_err(stopping)
    }

    /// Renders turns as HTML, a few requests at a time.
    pub(super) async fn run_rendering<T: Send + 'static>(
        &self,
        write: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let acquired = Arc::clone(&self.showing).acquire_owned().await;
        let permit = acquired.map_err(|_| ApiError::server_stopping())?;
        self.run_blocking(move || {
            let written = write();
            drop(permit);
            written
        })
        .await
    }

    /// Returns the turns in memory that `principal` may see, oldest first.
    pub(super) fn list_visible(&self, principal: Option<&Principal>) -> Vec<Arc<LiveTurn>> {
        let lives = self.lock_turns();
        let visible = lives.all.values().filter(|live| live.summary().is_visible_to(principal));
        let mut seen: Vec<Arc<LiveTurn>> = visible.cloned().collect();
        drop(lives);
        seen.sort_by_key(|live| live.asked_at());
        seen
    }

    fn get(&self, turn: TurnId) -> Option<Arc<LiveTurn>> {
        self.lock_turns().all.get(&turn).cloned()
    }

    fn find_summary(&self, id: ConversationId) -> Option<ConversationSummary> {
        let in_memory = || {
            let lives = self.lock_turns();
            let mut found = lives.all.values().filter(|live| live.summary().id == id);
            found.next().map(|live| live.summary().clone())
        };
        self.archive.find_summary(id).or_else(in_memory)
    }

    /// Stops a conversation's running turns and forgets ended ones; returns whether there were any.
    pub(super) fn forget_conversation(&self, conversation: ConversationId) -> bool {
        let mut lives = self.lock_turns();
        let turns: Vec<TurnId> = lives
            .all
            .values()
            .filter(|live| live.summary().id == conversation)
            .map(|live| live.id())
            .collect();
        for id in &turns {
            if let Some(live) = lives.all.remove(id) {
                live.request_stop();
            }
        }
        !turns.is_empty()
    }

    fn lock_turns(&self) -> MutexGuard<'_, LiveTurns> {
        let mut lives = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let LiveTurns { all, ended } = &mut *lives;
        let mut bytes: usize = ended.iter().map(|turn| turn.bytes).sum();
        while let Some(EndedTurn { id, bytes: freed, .. }) =
            ended.pop_front_if(|oldest| oldest.at.elapsed() >= ENDED_FOR || bytes > MAX_ENDED_BYTES)
        {
            bytes -= freed;
            all.remove(&id);
        }
        lives
    }

    /// Runs a turn to its end, with or without watchers.
    fn spawn_turn(&self, live: Arc<LiveTurn>, turn: Turn, failures: FailureLog) {
        self.lock_turns().all.insert(live.id(), Arc::clone(&live));
        let follow = self.clone().follow_turn(live, turn, failures);
        self.tasks.spawn(follow.instrument(Span::current()));
    }

    async fn follow_turn(self, live: Arc<LiveTurn>, mut turn: Turn, failures: FailureLog) {
        // Archived at the start, so that a turn that a crash ends is visible afterwards.
        self.archive_turn(&live, &failures).await;
        let state = loop {
            let event = tokio::select! {
                biased;
                () = live.wait_for_stop() => break TurnState::Stopped,
                event = turn.next() => event,
            };
            let state = match &event {
                Some(ChatEvent::Ended(outcome)) if outcome.failure.is_none() => TurnState::Answered,
                Some(ChatEvent::Ended(_)) | None => TurnState::Failed,
                Some(_) => TurnState::Running,
            };
            if let Some(event) = event {
                note_end(&failures, &event, "/turns");
                let recording = Arc::clone(&live);
                drop(self.tasks.spawn_blocking(move || recording.record_event(event)).await);
            }
            if state != TurnState::Running {
                break state;
            }
        };
        // Interrupts Codex if it still works.
        drop(turn);
        live.end_turn(state);
        // Archived before the streams end, so that a client that sees the end can read it.
        self.archive_turn(&live, &failures).await;
        live.close_streams();
        self.lock_turns().ended.push_back(EndedTurn {
            at: Instant::now(),
            id: live.id(),
            bytes: live.frame_bytes(),
        });
    }

    async fn archive_turn(&self, live: &Arc<LiveTurn>, failures: &FailureLog) {
        let summary = live.summary().clone();
        let archived = Arc::clone(live);
        if let Err(error) =
            self.archive.store_turn(summary, move || archived.to_archived_turn()).await
        {
            warn!(turn.id = %live.id(), %error, "a turn is not kept");
            failures.record_failure(
                MAIN,
                error.code().as_str(),
                &error.to_string(),
                Some("/turns"),
            );
        }
    }

    async fn load_archived(
        &self,
        turn: TurnId,
        principal: Option<&Principal>,
    ) -> Result<Option<(ConversationSummary, ArchivedTurn)>, ApiError> {
        let Some(conversation) = self.archive.find_conversation_of_turn(turn) else {
            return Ok(None);
        };
        let Some(found) = self.archive.read_conversation(conversation).await? else {
            return Ok(None);
        };
        let summary = found.summary;
        let kept = found.turns.into_iter().find(|kept| kept.id == turn);
        Ok(kept.filter(|_| summary.is_visible_to(principal)).map(|kept| (summary, kept)))
    }

    pub(super) async fn find_turn(
        &self,
        turn: TurnId,
        principal: Option<&Principal>,
    ) -> Result<ArchivedTurn, ApiError> {
        if let Some(live) = self.get(turn).filter(|live| live.summary().is_visible_to(principal)) {
            return self.run_blocking(move || live.to_archived_turn()).await;
        }
        let found = self.load_archived(turn, principal).await?;
        found.map(|(_, kept)| kept).ok_or_else(unknown_turn)
    }
}

/// Starts a turn, and returns once its conversation exists.
pub(super) async fn start_turn(
    services: &ApiServices,
    arguments: ChatArguments,
    admission: &AuthContext,
) -> Result<Response, ApiError> {
    let turns = &services.turns;
    let continued = arguments.conversation_id().and_then(|id| id.parse().ok());
    let known = continued.and_then(|id| turns.find_summary(id));
    let (question, repository) = arguments.question_and_repository();
    // Taken before the turn waits: removing the conversation removes turns asked before that.
    let asked_at = Timestamp::now();
    let turn = chat::ask_question(services, arguments, admission).await?;
    let principal = admission.principal.as_ref();
    let begun = |repository| {
        ConversationSummary::new(turn.conversation(), principal, repository, &question)
    };
    let summary = known.unwrap_or_else(|| begun(repository.clone()));
    let live = LiveTurn::new(summary, question, repository, turn.model_id().to_owned(), asked_at);
    let reply = StartTurnReply {
        turn_id: live.id(),
        conversation_id: turn.conversation(),
        model_id: turn.model_id().to_owned(),
    };
    turns.spawn_turn(Arc::new(live), turn, services.failures.clone());
    Ok(reply::json_response(StatusCode::ACCEPTED, &reply))
}

/// Streams the frames of a turn after the first `after`, until its end.
pub(super) async fn watch_turn(
    services: &ApiServices,
    turn: TurnId,
    after: usize,
    principal: Option<&Principal>,
    keep_alive: Duration,
) -> Result<Response, ApiError> {
    let turns = &services.turns;
    if let Some(live) = turns.get(turn).filter(|live| live.summary().is_visible_to(principal)) {
        return Ok(reply::stream_events(live.stream_frames(after), keep_alive));
    }
    let Some((summary, kept)) = turns.load_archived(turn, principal).await? else {
        return Err(unknown_turn());
    };
    let frames = turns.run_rendering(move || render::list_events(&summary, kept, after)).await?;
    Ok(reply::stream_events(futures_util::stream::iter(frames), keep_alive))
}

pub(super) async fn stop_turn(
    services: &ApiServices,
    turn: TurnId,
    principal: Option<&Principal>,
) -> Result<Response, ApiError> {
    let turns = &services.turns;
    let state = match turns.get(turn).filter(|live| live.summary().is_visible_to(principal)) {
        Some(live) => live.request_stop(),
        None => match turns.load_archived(turn, principal).await? {
            Some((_, kept)) => render::final_state(&kept),
            None => return Err(unknown_turn()),
        },
    };
    Ok(reply::json_response(StatusCode::OK, &json!({ "turnId": turn, "state": state })))
}

/// Returns the number of frames that a client has: `after`, or a higher `Last-Event-ID`.
pub(super) fn parse_after(request: &Request) -> Result<usize, ApiError> {
    let number = |value: &str| {
        value
            .parse::<usize>()
            .map_err(|_| invalid_argument("`after` must be the number of a frame"))
    };
    let mut after = 0;
    for (name, value) in parse_query(request.query()) {
        match &*name {
            "after" => after = number(&value)?,
            _ => return Err(unknown_parameter(&name, "`after`")),
        }
    }
    match request.header("last-event-id") {
        Some(last) => Ok(number(&last)?.max(after)),
        None => Ok(after),
    }
}

pub(super) fn unknown_turn() -> ApiError {
    let message =
        "there is no such turn; it may have been removed, or is no longer kept".to_owned();
    ApiError::Failed { code: ErrorCode::TurnNotFound, message }
}

pub(super) fn unknown_conversation() -> ApiError {
    let message = "there is no such conversation; it may have been removed".to_owned();
    ApiError::Failed { code: ErrorCode::ConversationNotFound, message }
}
