//! Turns that the server owns: asked with `POST /turns`, watched as often and by as many as one likes, and
//! going on when nobody does.

mod live;
mod shown;

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use codeinfo_chat::{
    Event, Turn,
    archive::{Archive, KeptTurn, Summary, TurnState},
};
use codeinfo_core::{
    ConversationId, Principal, Timestamp, TurnId, error::Code, task::Tasks, telemetry::Failures,
};
use codeinfo_http::{Admission, Request, Response, reply, sse};
use futures_util::StreamExt;
use hyper::StatusCode;
use serde_json::json;
use tokio::sync::Semaphore;
use tracing::{Instrument, Span, warn};

use self::live::Live;
pub(super) use self::shown::{With, final_answer, shown_turn};
use super::{
    Services,
    chat::{self, Arguments},
    error::{ApiError, MAIN, note_end},
    parameters::{invalid, pairs, unknown},
};
use crate::replies::{Asked, TurnBegun, TurnStands};

/// How many bytes of turns that ended stay in memory, and how long: for those who come back to one, also where none
/// is kept on disk.
const MAX_ENDED_BYTES: usize = 64 << 20;
const ENDED_FOR: Duration = Duration::from_mins(10);

/// The turns that run, and those that ended just now. Clones share them.
#[derive(Clone)]
pub struct Turns {
    archive: Archive,
    tasks: Tasks,
    live: Arc<Mutex<Lives>>,
    /// Room to write turns as HTML, which may take a while and much memory.
    showing: Arc<Semaphore>,
}

/// So many requests write turns as HTML at a time.
const MAX_SHOWING: usize = 2;

#[derive(Default)]
struct Lives {
    all: HashMap<TurnId, Arc<Live>>,
    /// Oldest first.
    ended: VecDeque<Ended>,
}

/// A turn that ended and is still in memory.
struct Ended {
    at: Instant,
    id: TurnId,
    bytes: usize,
}

impl Turns {
    /// Keeps turns in `archive`; `tasks` owns those that run.
    pub fn new(archive: Archive, tasks: Tasks) -> Self {
        let showing = Arc::new(Semaphore::new(MAX_SHOWING));
        Self { archive, tasks, live: Arc::default(), showing }
    }

    /// Returns what is kept on disk.
    pub(super) fn archive(&self) -> &Archive {
        &self.archive
    }

    /// Runs work that would hold up others where it does not.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let stopping = |_| ApiError::stopping();
        self.tasks.spawn_blocking(work).await.map_err(stopping)
    }

    /// Writes turns as HTML, a few at a time.
    pub(super) async fn showing<T: Send + 'static>(
        &self,
        write: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let room = Arc::clone(&self.showing).acquire_owned().await;
        let room = room.map_err(|_| ApiError::stopping())?;
        self.blocking(move || {
            let written = write();
            drop(room);
            written
        })
        .await
    }

    /// Returns the turns in memory that somebody may see, oldest first.
    pub(super) fn of(&self, principal: Option<&Principal>) -> Vec<Arc<Live>> {
        let lives = self.lives();
        let seen = lives.all.values().filter(|live| live.summary().is_for(principal));
        let mut seen: Vec<Arc<Live>> = seen.cloned().collect();
        drop(lives);
        seen.sort_by_key(|live| live.asked_at());
        seen
    }

    fn get(&self, turn: TurnId) -> Option<Arc<Live>> {
        self.lives().all.get(&turn).cloned()
    }

    /// Returns what is listed of a conversation, on disk or in memory.
    fn summary(&self, id: ConversationId) -> Option<Summary> {
        let in_memory = || {
            let lives = self.lives();
            let mut of = lives.all.values().filter(|live| live.summary().id == id);
            of.next().map(|live| live.summary().clone())
        };
        self.archive.summary(id).or_else(in_memory)
    }

    /// Stops what runs of a conversation, and forgets what ended.
    pub(super) fn forget(&self, conversation: ConversationId) -> bool {
        let mut lives = self.lives();
        let of: Vec<TurnId> = lives
            .all
            .values()
            .filter(|live| live.summary().id == conversation)
            .map(|live| live.id())
            .collect();
        for id in &of {
            if let Some(live) = lives.all.remove(id) {
                live.stop();
            }
        }
        !of.is_empty()
    }

    fn lives(&self) -> MutexGuard<'_, Lives> {
        let mut lives = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let Lives { all, ended } = &mut *lives;
        let mut bytes: usize = ended.iter().map(|one| one.bytes).sum();
        while let Some(Ended { id, bytes: freed, .. }) =
            ended.pop_front_if(|oldest| oldest.at.elapsed() >= ENDED_FOR || bytes > MAX_ENDED_BYTES)
        {
            bytes -= freed;
            all.remove(&id);
        }
        lives
    }

    /// Has a turn run to its end, whoever watches.
    fn own(&self, live: Arc<Live>, turn: Turn, failures: Failures) {
        self.lives().all.insert(live.id(), Arc::clone(&live));
        let follow = self.clone().follow(live, turn, failures);
        self.tasks.spawn(follow.instrument(Span::current()));
    }

    async fn follow(self, live: Arc<Live>, mut turn: Turn, failures: Failures) {
        // So that a turn which a crash ends is there afterwards.
        self.keep(&live, &failures).await;
        let state = loop {
            let event = tokio::select! {
                biased;
                () = live.stopped() => break TurnState::Stopped,
                event = turn.next() => event,
            };
            let state = match &event {
                Some(Event::Ended(outcome)) if outcome.failure.is_none() => TurnState::Answered,
                Some(Event::Ended(_)) | None => TurnState::Failed,
                Some(_) => TurnState::Running,
            };
            if let Some(event) = event {
                note_end(&failures, &event, "/turns");
                let taken = Arc::clone(&live);
                let write = move || taken.take(&chat::frame(event));
                drop(self.tasks.spawn_blocking(write).await);
            }
            if state != TurnState::Running {
                break state;
            }
        };
        // Interrupts Codex, if it still works.
        drop(turn);
        live.end(state);
        // Kept before the streams end, so that a client that sees the end can read it.
        self.keep(&live, &failures).await;
        live.close();
        self.lives().ended.push_back(Ended {
            at: Instant::now(),
            id: live.id(),
            bytes: live.bytes(),
        });
    }

    async fn keep(&self, live: &Arc<Live>, failures: &Failures) {
        let (summary, all) = (live.summary().clone(), Arc::clone(live));
        if let Err(error) = self.archive.put(summary, move || all.kept()).await {
            warn!(turn.id = %live.id(), %error, "a turn is not kept");
            failures.note(MAIN, (error.code().as_str(), &error.to_string()), Some("/turns"));
        }
    }

    /// Returns a turn that is on disk.
    async fn kept(
        &self,
        turn: TurnId,
        principal: Option<&Principal>,
    ) -> Result<Option<(Summary, KeptTurn)>, ApiError> {
        let Some(conversation) = self.archive.of_turn(turn) else { return Ok(None) };
        let Some(found) = self.archive.read(conversation).await? else { return Ok(None) };
        let summary = found.summary;
        let kept = found.turns.into_iter().find(|kept| kept.id == turn);
        Ok(kept.filter(|_| summary.is_for(principal)).map(|kept| (summary, kept)))
    }
}

impl Turns {
    /// Returns a turn as it is kept, whether it is in memory or on disk.
    pub(super) async fn find(
        &self,
        turn: TurnId,
        principal: Option<&Principal>,
    ) -> Result<KeptTurn, ApiError> {
        if let Some(live) = self.get(turn).filter(|live| live.summary().is_for(principal)) {
            return self.blocking(move || live.kept()).await;
        }
        let found = self.kept(turn, principal).await?;
        found.map(|(_, kept)| kept).ok_or_else(unknown_turn)
    }
}

/// Asks, and returns once the conversation exists.
pub(super) async fn start(
    services: &Services,
    arguments: Arguments,
    admission: &Admission,
) -> Result<Response, ApiError> {
    let turns = &services.turns;
    let continued = arguments.conversation().and_then(|id| id.parse().ok());
    let known = continued.and_then(|id| turns.summary(id));
    let (question, repository) = arguments.asked();
    // Before it waits for its place: one that is asked before its conversation is removed is removed with it.
    let asked_at = Timestamp::now();
    let turn = chat::ask(services, arguments, admission).await?;
    let principal = admission.principal.as_ref();
    let begun = |repository| Summary::new(turn.conversation(), principal, (repository, &question));
    let summary = known.unwrap_or_else(|| begun(repository.clone()));
    let live = Live::new(summary, (question, repository), (turn.model().to_owned(), asked_at));
    let reply = TurnBegun {
        turn_id: live.id(),
        conversation_id: turn.conversation(),
        model_id: turn.model().to_owned(),
    };
    turns.own(Arc::new(live), turn, services.failures.clone());
    Ok(reply::json(StatusCode::ACCEPTED, &reply))
}

/// Streams the frames of a turn that come after the first `after`, to its end.
pub(super) async fn watch(
    services: &Services,
    (turn, after): (TurnId, usize),
    (principal, keep_alive): (Option<&Principal>, Duration),
) -> Result<Response, ApiError> {
    let turns = &services.turns;
    if let Some(live) = turns.get(turn).filter(|live| live.summary().is_for(principal)) {
        return Ok(sse::reply(live.frames(after), keep_alive));
    }
    let Some((summary, kept)) = turns.kept(turn, principal).await? else {
        return Err(unknown_turn());
    };
    let frames = turns.showing(move || shown::lines(&summary, kept, after)).await?;
    Ok(sse::reply(futures_util::stream::iter(frames), keep_alive))
}

/// Stops a turn.
pub(super) async fn stop(
    services: &Services,
    turn: TurnId,
    principal: Option<&Principal>,
) -> Result<Response, ApiError> {
    let turns = &services.turns;
    let state = match turns.get(turn).filter(|live| live.summary().is_for(principal)) {
        Some(live) => live.stop(),
        None => match turns.kept(turn, principal).await? {
            Some((_, kept)) => shown::state(&kept),
            None => return Err(unknown_turn()),
        },
    };
    Ok(reply::json(StatusCode::OK, &TurnStands { turn_id: turn, state }))
}

/// Returns how many frames a client has already: what it says in the address, or more where a browser says so when
/// it connects again.
pub(super) fn after(request: &Request) -> Result<usize, ApiError> {
    let number = |value: &str| {
        value.parse::<usize>().map_err(|_| invalid("`after` must be the number of a frame"))
    };
    let mut after = 0;
    for (name, value) in pairs(request.query()) {
        match &*name {
            "after" => after = number(&value)?,
            _ => return Err(unknown(&name, "`after`")),
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
    ApiError::Failed { code: Code::TurnNotFound, message }
}

pub(super) fn unknown_conversation() -> ApiError {
    let message = "there is no such conversation; it may have been removed".to_owned();
    ApiError::Failed { code: Code::ConversationNotFound, message }
}

/// Returns the first frame of a turn.
fn question_frame(
    (turn_id, conversation_id): (TurnId, ConversationId),
    (question, repository): (String, Option<String>),
    asked_at: Timestamp,
) -> serde_json::Value {
    let asked_at = asked_at.to_string();
    json!(Asked { turn_id, conversation_id, question, repository, asked_at })
}
