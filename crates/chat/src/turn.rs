//! Runs one turn in a task of its own, so that it is interrupted however its caller goes away.

mod prove;

use std::{future::Future, time::Duration};

use codeinfo_codex::{
    CodexError, Ending, EphemeralOpening, Opening, Running, Thread, TurnError, TurnErrorKind,
};
use codeinfo_core::{ConversationId, Root, Segment, Within, error::Code, telemetry};
use codeinfo_toolkits::{TurnToolkits, Wanted};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use self::prove::Proved;
use super::{
    Ask, Chat, ChatError, Turn,
    assemble::{Assembly, Bound},
    conversations::Place,
    event::{Event, Failure, Outcome},
    heard::Heard,
    prompt::{joined, prompt},
    reading,
    scope::Scope,
    source::servers,
};

/// Events that may wait for the caller before the turn waits for it.
const QUEUED_EVENTS: usize = 64;
/// How long an interrupted turn may take to end; Codex takes 10 ms.
const INTERRUPT_GRACE: Duration = Duration::from_secs(5);

/// Opens the thread, reports that, and runs the turn to its end.
pub(super) async fn run(
    chat: Chat,
    (ask, scope): (Ask, Scope),
    mut place: Place,
    mut opened: oneshot::Sender<Result<Turn, ChatError>>,
) {
    let roots = match chat.store.roots().await {
        Ok(roots) => roots,
        Err(error) => {
            drop(opened.send(Err(error.into())));
            return;
        }
    };
    let principal = ask.principal.clone();
    let wanted = Wanted {
        requested: ask.toolkits,
        principal: ask.principal,
        folder: scope.folder(&roots),
        conversation: ask.conversation,
    };
    let toolkits = match &chat.gateway {
        Some(gateway) => tokio::select! {
            () = opened.closed() => return,
            toolkits = gateway.prepare(wanted) => toolkits,
        },
        None => TurnToolkits::default(),
    };
    let opening = Opening {
        thread: ask.conversation,
        model: ask.model,
        prompt: joined([Some(prompt(chat.has_shell)), toolkits.prompt.clone()]).unwrap_or_default(),
        search_url: scope.search_url(&chat.search_url),
        search_key: chat.search_key.clone(),
        extras: toolkits.extras.clone(),
        note: joined([scope.note(), toolkits.note.clone()]),
        readable: scope.readable(&roots, ask.question.as_str()),
    };
    let thread = match chat.codex.open(opening.clone()).await {
        Ok(thread) => thread,
        Err(error) => {
            // The caller may be gone.
            drop(opened.send(Err(refuse(&chat, error, ask.conversation).await)));
            return;
        }
    };
    let conversation = thread.id();
    chat.conversations.claim(&mut place, conversation);
    toolkits.claim(conversation);
    chat.owners.record(conversation, principal.as_ref()).await;
    let (events, receiver) = mpsc::channel(QUEUED_EVENTS);
    if opened.send(Ok(Turn::new(conversation, thread.model().to_owned(), receiver))).is_err() {
        debug!(conversation.id = %conversation, "nobody waits for the conversation any more");
        // Counted among the idle threads, it is unloaded when its turn comes.
        thread.keep().await;
        return;
    }
    let is_read = ask.claim_check.unwrap_or(chat.claim_check);
    let turn = Runner {
        chat: &chat,
        conversation,
        model_id: thread.model().to_owned(),
        effort: ask.effort,
        reader: is_read.then(|| thread.ephemeral(reading::INSTRUCTIONS)),
        // The model has read the note.
        reopening: Opening { thread: Some(conversation), note: None, ..opening },
        within: scope.within(),
        roots,
        notice: ask.notice,
        toolkits,
        revoked: ask.revoked,
        events,
    };
    let ended = turn.run(thread, ask.question.as_str()).await;
    turn.toolkits.end();
    // The place is free before the caller hears the end, so that its follow-up need not wait.
    drop(place);
    turn.report_end(ended).await;
}

/// Logs why a thread could not be opened, and sorts it.
async fn refuse(chat: &Chat, error: CodexError, conversation: Option<ConversationId>) -> ChatError {
    match error.code() {
        Code::ConversationNotFound | Code::Cancelled => debug!(%error, "thread not opened"),
        _ => warn!(error = &error as &dyn std::error::Error, "thread not opened"),
    }
    let error = ChatError::open(error, conversation);
    if let ChatError::Unavailable(..) = error {
        chat.codex.lost(None).await;
    }
    error
}

struct Runner<'a> {
    chat: &'a Chat,
    conversation: ConversationId,
    model_id: String,
    effort: Option<String>,
    /// What the thread of the second reader is opened with; `None` leaves claims unread.
    reader: Option<EphemeralOpening>,
    /// What the thread is opened with once more, to have an answer put right.
    reopening: Opening,
    /// Which repositories the question is about.
    within: Within,
    /// All repositories that were indexed when the turn began.
    roots: Vec<Root>,
    /// What the client should know of where it stands.
    notice: Option<String>,
    /// Held until the turn ends.
    toolkits: TurnToolkits,
    revoked: CancellationToken,
    events: mpsc::Sender<Event>,
}

/// How a turn ended, with the events that are still to be reported before that.
type Ended = (Option<Event>, Outcome);

/// Why a turn is ended from our side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    CallerGone,
    Revoked,
    Deadline,
    Stopping,
    Overrun(Bound),
    /// The model began work that no segment would show and that could outlive the answer.
    Unseen,
}

impl Runner<'_> {
    async fn run(&self, thread: Thread, question: &str) -> Ended {
        let began = Instant::now();
        let deadline = began + self.chat.turn_timeout;
        info!(conversation.id = %self.conversation, model.id = self.model_id, "turn started");
        let servers = servers(thread.extras(), &self.toolkits.names);
        let mut heard = Heard { assembly: Assembly::new(servers, thread.tokens()), held: None };
        let model_id = self.model_id.clone();
        let first = [Event::Thread { conversation: self.conversation, model_id }];
        let warnings = self.notice.iter().chain(&self.toolkits.warnings).cloned();
        let warnings = warnings.map(|text| Event::Warning { text });
        self.report(first.into_iter().chain(warnings).collect()).await;
        let failure = match thread.run(question, self.effort.clone()).await {
            Ok(running) => self.follow(running, &mut heard, deadline).await,
            Err(error) => Some(self.not_started(&error).await),
        };
        let answer = heard.assembly.answer();
        let failure = failure.or_else(|| {
            answer.is_none().then(|| {
                failing(
                    Code::TurnFailed,
                    "the model gave no answer",
                    "ask again, or ask differently",
                )
            })
        });
        let proved = match answer {
            Some(answer) if failure.is_none() => self.prove(answer, &mut heard, deadline).await,
            _ => None,
        };
        self.ended(heard, proved, failure, began.elapsed())
    }

    /// Sums up a turn, and counts and logs its end.
    fn ended(
        &self,
        heard: Heard,
        proved: Option<Proved>,
        failure: Option<Failure>,
        elapsed: Duration,
    ) -> Ended {
        let Heard { assembly, mut held } = heard;
        let (mut segments, usage, rerouted) = assembly.finish();
        let (mut checked, mut citations) = (None, Vec::new());
        if let Some(Proved { place, proof, is_reported }) = proved {
            let (text, counts, found) = proof.finish(&self.roots);
            if !is_reported || counts.is_marked() {
                held = Some(Event::Answer { text: text.clone() });
            }
            (checked, citations) = (Some(counts), found);
            if let Some(segment) = segments.get_mut(place) {
                *segment = Segment::Answer { text, checked: checked.clone() };
            }
        }
        let elapsed_ms = telemetry::milliseconds(elapsed);
        let code = failure.as_ref().map(|failure| failure.code.as_str());
        self.chat.turns.ended(&telemetry::Outcome { outcome: code.unwrap_or("ok") }, elapsed);
        info!(
            conversation.id = %self.conversation,
            segment_count = segments.len(), elapsed_ms, failure.code = code,
            checked.citations = checked.as_ref().map(|counts| counts.citations),
            checked.repaired = checked.as_ref().map(|counts| counts.repaired),
            checked.wrong = checked.as_ref().map(|counts| counts.wrong),
            checked.contradicted = checked
                .as_ref()
                .and_then(|counts| counts.claims)
                .map(|claims| claims.contradicted),
            "turn ended"
        );
        let outcome = Outcome {
            conversation: self.conversation,
            model_id: rerouted.unwrap_or_else(|| self.model_id.clone()),
            segments,
            usage,
            citations,
            failure,
        };
        (held, outcome)
    }

    /// Hears the turn to its end; returns why it failed, if it did.
    async fn follow(
        &self,
        mut running: Running,
        heard: &mut Heard,
        deadline: Instant,
    ) -> Option<Failure> {
        loop {
            let event = match self.unless_stopped(deadline, running.next()).await {
                Ok(event) => event,
                Err(stop) => return Some(self.stop(running, heard, stop).await),
            };
            if let codeinfo_codex::Event::Unseen { kind } = &event {
                warn!(conversation.id = %self.conversation, item.kind = kind, "unseen work");
                let failure = self.stop(running, heard, Stop::Unseen).await;
                // Interrupting the turn does not end what it began.
                self.chat.codex.replace().await;
                return Some(failure);
            }
            let ending = match &event {
                codeinfo_codex::Event::Ended(ending) => Some(ending.clone()),
                _ => None,
            };
            let reported = self.unless_stopped(deadline, self.report(heard.take(event))).await;
            let reported = reported.and_then(|()| heard.assembly.overrun().map_or(Ok(()), overran));
            match (ending, reported) {
                (None, Ok(())) => {}
                (None, Err(stop)) => return Some(self.stop(running, heard, stop).await),
                (Some(lost @ Ending::Lost(_)), _) => {
                    // Where only its events were lost, the turn still runs.
                    let left = async {
                        running.interrupt().await;
                        running.leave().await;
                    };
                    drop(timeout(INTERRUPT_GRACE, left).await);
                    return self.failure(lost).await;
                }
                (Some(ending), _) => {
                    running.keep().await;
                    return self.failure(ending).await;
                }
            }
        }
    }

    /// Waits for `work`, unless the turn has to stop first.
    async fn unless_stopped<T>(
        &self,
        deadline: Instant,
        work: impl Future<Output = T>,
    ) -> Result<T, Stop> {
        tokio::select! {
            biased;
            () = self.events.closed() => Err(Stop::CallerGone),
            () = self.revoked.cancelled() => Err(Stop::Revoked),
            () = self.chat.tasks.stopping().cancelled() => Err(Stop::Stopping),
            () = sleep_until(deadline) => Err(Stop::Deadline),
            done = work => Ok(done),
        }
    }

    /// Interrupts the turn and hears what it still has to say.
    async fn stop(&self, mut running: Running, heard: &mut Heard, stop: Stop) -> Failure {
        debug!(conversation.id = %self.conversation, ?stop, "turn interrupted");
        let held = heard.held.take();
        let ended = timeout(INTERRUPT_GRACE, async {
            running.interrupt().await;
            loop {
                let event = running.next().await;
                let ended = matches!(event, codeinfo_codex::Event::Ended(_));
                // Only the outcome takes these: the caller is gone, or no longer in time.
                drop(heard.take(event));
                if ended {
                    break;
                }
            }
        })
        .await;
        // A message that came in time is reported with the end.
        heard.held = held.or(heard.held.take());
        if ended.is_ok() {
            running.keep().await;
        } else {
            warn!(conversation.id = %self.conversation, "interrupted turn does not end");
            self.chat.codex.replace().await;
        }
        match stop {
            Stop::Deadline => {
                let limit = self.chat.turn_timeout.as_secs();
                let message = format!("the turn reached its time limit of {limit} s");
                failing(Code::TurnTimedOut, &message, "ask a narrower question")
            }
            Stop::Overrun(bound) => {
                failing(Code::TurnFailed, bound.message(), "ask a narrower question")
            }
            Stop::Unseen => failing(
                Code::TurnFailed,
                "the model began work of its own that the answer would not show, and was stopped",
                "ask again; if it happens again, set CODEX_MODEL to another model",
            ),
            Stop::Revoked => failing(
                Code::Unauthorized,
                "the token was revoked in the middle of the turn",
                "ask with another token",
            ),
            Stop::CallerGone => failing(Code::Cancelled, "the caller is gone", "ask again"),
            Stop::Stopping => {
                failing(Code::Cancelled, "the server is stopping", "ask again when it is back")
            }
        }
    }

    async fn failure(&self, ending: Ending) -> Option<Failure> {
        match ending {
            Ending::Completed => None,
            Ending::Interrupted => {
                Some(failing(Code::TurnFailed, "Codex interrupted the turn", "ask again"))
            }
            Ending::Failed(error) => Some(self.failed(&error).await),
            Ending::Lost(reason) => {
                warn!(
                    conversation.id = %self.conversation,
                    reason, "codex was lost in the middle of a turn"
                );
                self.chat.codex.lost(None).await;
                let message = format!("in the middle of the turn, {reason}");
                Some(failing(Code::LlmUnavailable, &message, "ask again: Codex is started again"))
            }
        }
    }

    async fn failed(&self, error: &TurnError) -> Failure {
        warn!(
            conversation.id = %self.conversation,
            codex.message = error.detail(), error.kind = ?error.kind, "turn failed"
        );
        if error.code() == Code::LlmUnavailable {
            self.chat.codex.lost(Some(error.kind)).await;
        }
        failing(error.code(), &error.reason(), error.hint())
    }

    async fn not_started(&self, error: &CodexError) -> Failure {
        warn!(
            conversation.id = %self.conversation,
            error = error as &dyn std::error::Error, "turn not started"
        );
        if error.code() == Code::LlmUnavailable {
            self.chat.codex.lost(None::<TurnErrorKind>).await;
        }
        let unavailable = error.unavailable();
        failing(error.code(), &unavailable.reason, &unavailable.hint)
    }

    async fn report(&self, events: Vec<Event>) {
        for event in events {
            // A caller that is gone is noticed by `unless_stopped`.
            drop(self.events.send(event).await);
        }
    }

    /// Reports the end without waiting for a caller that does not take it.
    async fn report_end(&self, (held, outcome): Ended) {
        let end = self.report(held.into_iter().chain([Event::Ended(outcome)]).collect());
        let out_of_time = async {
            self.chat.tasks.stopping().cancelled().await;
            sleep(INTERRUPT_GRACE).await;
        };
        tokio::select! {
            // The end that a stopping server gives is reported too, if the caller takes it.
            biased;
            sent = timeout(self.chat.turn_timeout, end) => drop(sent),
            () = out_of_time => {}
        }
    }
}

fn overran(bound: Bound) -> Result<(), Stop> {
    Err(Stop::Overrun(bound))
}

fn failing(code: Code, message: &str, hint: &str) -> Failure {
    Failure { code, message: message.to_owned(), hint: hint.to_owned() }
}
