//! Runs one turn in its own task, so that it is interrupted whenever its caller disappears.

mod prove;

use std::{future::Future, time::Duration};

use codeinfo_codex::{
    CodexError, CodexEvent, CodexTurnEnd, EphemeralThreadOptions, RunningTurn, Thread,
    ThreadOptions, TurnError, TurnErrorKind,
};
use codeinfo_core::{
    ConversationId, Root, RootFilter, Segment, Timestamp, error::ErrorCode, telemetry,
};
use codeinfo_toolkits::{ToolkitTurnContext, TurnToolkits};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use self::prove::CheckedAnswer;
use super::{
    Chat, ChatError, Turn, TurnRequest,
    assemble::{SegmentAssembler, TurnTextLimit},
    conversations::TurnPermit,
    event::{ChatEvent, TurnFailure, TurnOutcome},
    prompt::{build_prompt, join_paragraphs},
    reading,
    scope::QuestionScope,
    tool_owner::build_servers,
};

/// Maximum events that wait for the caller before the turn waits.
const QUEUED_EVENTS: usize = 64;
/// Maximum time for an interrupted turn to end; Codex takes 10 ms.
const INTERRUPT_GRACE: Duration = Duration::from_secs(5);

/// Opens the thread, reports it, and runs the turn to its end.
pub(super) async fn run_turn(
    chat: Chat,
    request: TurnRequest,
    scope: QuestionScope,
    mut permit: TurnPermit,
    mut opened: oneshot::Sender<Result<Turn, ChatError>>,
) {
    let roots = match chat.store.roots().await {
        Ok(roots) => roots,
        Err(error) => {
            drop(opened.send(Err(error.into())));
            return;
        }
    };
    let principal = request.principal.clone();
    let context = ToolkitTurnContext {
        requested: request.toolkits,
        principal: request.principal,
        folder: scope.repository_folder(&roots),
        conversation: request.conversation,
    };
    let toolkits = match &chat.gateway {
        Some(gateway) => tokio::select! {
            () = opened.closed() => return,
            toolkits = gateway.prepare_turn(context) => toolkits,
        },
        None => TurnToolkits::default(),
    };
    let opening = ThreadOptions {
        thread: request.conversation,
        model: request.model,
        prompt: join_paragraphs([Some(build_prompt(chat.has_shell)), toolkits.prompt.clone()])
            .unwrap_or_default(),
        search_url: scope.search_url(&chat.search_url),
        search_key: chat.search_key.clone(),
        extras: toolkits.extras.clone(),
        note: join_paragraphs([scope.note_text(), toolkits.note.clone()]),
        readable: scope.readable_roots(&roots, request.question.as_str()),
    };
    let thread = match chat.codex.open_thread(opening.clone()).await {
        Ok(thread) => thread,
        Err(error) => {
            // The caller may be gone.
            drop(opened.send(Err(log_open_error(&chat, error, request.conversation).await)));
            return;
        }
    };
    let conversation = thread.id();
    chat.conversations.claim_conversation(&mut permit, conversation);
    toolkits.keep_for_conversation(conversation);
    chat.owners.record_owner(conversation, principal.as_ref()).await;
    let (events, receiver) = mpsc::channel(QUEUED_EVENTS);
    if opened.send(Ok(Turn::new(conversation, thread.model().to_owned(), receiver))).is_err() {
        debug!(conversation.id = %conversation, "the caller left before the conversation opened");
        // The thread is unloaded later, like every idle thread.
        thread.keep_for_follow_up().await;
        return;
    }
    let is_read = request.claim_check.unwrap_or(chat.claim_check);
    let turn = TurnRunner {
        chat: &chat,
        conversation,
        model_id: thread.model().to_owned(),
        effort: request.effort,
        reader: is_read.then(|| thread.ephemeral_options(reading::INSTRUCTIONS)),
        // The note is already in the thread.
        reopening: ThreadOptions { thread: Some(conversation), note: None, ..opening },
        filter: scope.covered_repositories(),
        roots,
        notice: request.notice,
        toolkits,
        revoked: request.revoked,
        events,
    };
    let (pending_answer, outcome) = turn.run(thread, request.question.as_str()).await;
    turn.toolkits.revoke_grant();
    // Releases the permit before the caller sees the end, so that a follow-up question need not wait.
    drop(permit);
    turn.report_end(pending_answer, outcome).await;
}

async fn log_open_error(
    chat: &Chat,
    error: CodexError,
    conversation: Option<ConversationId>,
) -> ChatError {
    match error.code() {
        ErrorCode::ConversationNotFound | ErrorCode::Cancelled => {
            debug!(%error, "thread not opened");
        }
        _ => warn!(error = &error as &dyn std::error::Error, "thread not opened"),
    }
    let error = ChatError::from_open_error(error, conversation);
    if let ChatError::Unavailable(..) = error {
        chat.codex.record_turn_failure(None).await;
    }
    error
}

struct TurnRunner<'a> {
    chat: &'a Chat,
    conversation: ConversationId,
    model_id: String,
    effort: Option<String>,
    /// Options of the second reader's thread; `None` disables it.
    reader: Option<EphemeralThreadOptions>,
    reopening: ThreadOptions,
    filter: RootFilter,
    /// Repositories that were indexed when the turn began.
    roots: Vec<Root>,
    /// Notice for the client about its tree.
    notice: Option<String>,
    /// Held until the turn ends.
    toolkits: TurnToolkits,
    revoked: CancellationToken,
    events: mpsc::Sender<ChatEvent>,
}

/// End of a turn, with an event to report before it.
type TurnEnd = (Option<ChatEvent>, TurnOutcome);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InterruptReason {
    CallerGone,
    Revoked,
    Deadline,
    Stopping,
    Overrun(TurnTextLimit),
    /// The model began work that no segment shows and that could outlive the answer.
    Unseen,
}

impl TurnRunner<'_> {
    async fn run(&self, thread: Thread, question: &str) -> TurnEnd {
        let began = Instant::now();
        let deadline = began + self.chat.turn_timeout;
        info!(conversation.id = %self.conversation, model.id = self.model_id, "turn started");
        let servers = build_servers(thread.endpoint_names(), &self.toolkits.names);
        let mut progress = TurnProgress {
            assembly: SegmentAssembler::new(servers, thread.tokens_spent()),
            pending_answer: None,
        };
        let model_id = self.model_id.clone();
        let first = [ChatEvent::Thread { conversation: self.conversation, model_id }];
        let notices = self.notice.iter().chain(&self.toolkits.warnings).cloned();
        let warnings = notices.map(|text| ChatEvent::Warning { text });
        self.send_events(first.into_iter().chain(warnings).collect()).await;
        let failure = match thread.run_turn(question, self.effort.clone()).await {
            Ok(running) => self.follow_events(running, &mut progress, deadline).await,
            Err(error) => Some(self.describe_start_failure(&error).await),
        };
        let answer = progress.assembly.last_answer();
        let final_failure = failure.or_else(|| {
            answer.is_none().then(|| {
                build_failure(
                    ErrorCode::TurnFailed,
                    "the model gave no answer",
                    "ask again, or ask differently",
                )
            })
        });
        let checked_answer = match answer {
            Some((place, text)) if final_failure.is_none() => {
                self.check_and_correct(place, text, &mut progress, deadline).await
            }
            _ => None,
        };
        self.finish_turn(progress, checked_answer, final_failure, began.elapsed())
    }

    /// Builds the outcome of a turn, and records and logs its end.
    fn finish_turn(
        &self,
        progress: TurnProgress,
        checked_answer: Option<CheckedAnswer>,
        failure: Option<TurnFailure>,
        elapsed: Duration,
    ) -> TurnEnd {
        let TurnProgress { assembly, mut pending_answer } = progress;
        let (mut segments, usage, rerouted) = assembly.into_parts();
        let (mut checked, mut citations) = (None, Vec::new());
        if let Some(CheckedAnswer { place, proof, is_reported }) = checked_answer {
            let (text, counts, found) = proof.finish_answer(&self.roots);
            if !is_reported || counts.is_marked() {
                pending_answer = Some(ChatEvent::Answer { text: text.clone() });
            }
            (checked, citations) = (Some(counts), found);
            if let Some(segment) = segments.get_mut(place) {
                *segment = Segment::Answer { text, checked: checked.clone() };
            }
        }
        let elapsed_ms = telemetry::to_milliseconds(elapsed);
        let code = failure.as_ref().map(|failure| failure.code.as_str());
        self.chat
            .turns
            .record_duration(&telemetry::OutcomeLabel { outcome: code.unwrap_or("ok") }, elapsed);
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
        let outcome = TurnOutcome {
            conversation: self.conversation,
            model_id: rerouted.unwrap_or_else(|| self.model_id.clone()),
            segments,
            usage,
            citations,
            failure,
        };
        (pending_answer, outcome)
    }

    /// Follows the turn to its end. Returns the failure, if any.
    async fn follow_events(
        &self,
        mut running: RunningTurn,
        progress: &mut TurnProgress,
        deadline: Instant,
    ) -> Option<TurnFailure> {
        loop {
            let event = match self.run_unless_stopped(deadline, running.next()).await {
                Ok(event) => event,
                Err(stop) => return Some(self.interrupt_turn(running, progress, stop).await),
            };
            if let CodexEvent::Unseen { kind } = &event {
                warn!(conversation.id = %self.conversation, item.kind = kind, "unseen work");
                let failure = self.interrupt_turn(running, progress, InterruptReason::Unseen).await;
                // Interrupting the turn does not end that work.
                self.chat.codex.replace_process().await;
                return Some(failure);
            }
            let ending = match &event {
                CodexEvent::Ended(ending) => Some(ending.clone()),
                _ => None,
            };
            let reported = self
                .run_unless_stopped(deadline, self.send_events(progress.apply_event(event)))
                .await;
            let reported = reported.and_then(|()| {
                progress.assembly.exceeded_limit().map_or(Ok(()), interrupt_for_limit)
            });
            match (ending, reported) {
                (None, Ok(())) => {}
                (None, Err(stop)) => {
                    return Some(self.interrupt_turn(running, progress, stop).await);
                }
                (Some(lost @ CodexTurnEnd::Lost(_)), _) => {
                    // The turn still runs if only its events were lost.
                    let left = async {
                        running.interrupt().await;
                        running.release_thread().await;
                    };
                    drop(timeout(INTERRUPT_GRACE, left).await);
                    return self.build_end_failure(lost).await;
                }
                (Some(ending), _) => {
                    running.keep_for_follow_up().await;
                    return self.build_end_failure(ending).await;
                }
            }
        }
    }

    /// Waits for `work` unless the turn must stop first.
    async fn run_unless_stopped<T>(
        &self,
        deadline: Instant,
        work: impl Future<Output = T>,
    ) -> Result<T, InterruptReason> {
        tokio::select! {
            biased;
            () = self.events.closed() => Err(InterruptReason::CallerGone),
            () = self.revoked.cancelled() => Err(InterruptReason::Revoked),
            () = self.chat.tasks.stop_token().cancelled() => Err(InterruptReason::Stopping),
            () = sleep_until(deadline) => Err(InterruptReason::Deadline),
            done = work => Ok(done),
        }
    }

    /// Interrupts the turn and collects its remaining events.
    async fn interrupt_turn(
        &self,
        mut running: RunningTurn,
        progress: &mut TurnProgress,
        stop: InterruptReason,
    ) -> TurnFailure {
        debug!(conversation.id = %self.conversation, ?stop, "turn interrupted");
        let pending_answer = progress.pending_answer.take();
        let ended = timeout(INTERRUPT_GRACE, async {
            running.interrupt().await;
            loop {
                let event = running.next().await;
                let ended = matches!(event, CodexEvent::Ended(_));
                // These events go only to the outcome, because the caller is gone or the time is over.
                drop(progress.apply_event(event));
                if ended {
                    break;
                }
            }
        })
        .await;
        // A message that came in time is reported at the end.
        progress.pending_answer = pending_answer.or(progress.pending_answer.take());
        if ended.is_ok() {
            running.keep_for_follow_up().await;
        } else {
            warn!(conversation.id = %self.conversation, "interrupted turn does not end");
            self.chat.codex.replace_process().await;
        }
        match stop {
            InterruptReason::Deadline => {
                let limit = self.chat.turn_timeout.as_secs();
                let message = format!("the turn reached its time limit of {limit} s");
                build_failure(ErrorCode::TurnTimedOut, &message, "ask a narrower question")
            }
            InterruptReason::Overrun(bound) => {
                build_failure(ErrorCode::TurnFailed, bound.message(), "ask a narrower question")
            }
            InterruptReason::Unseen => build_failure(
                ErrorCode::TurnFailed,
                "the model began work of its own that the answer would not show, and was stopped",
                "ask again; if it happens again, set CODEX_MODEL to another model",
            ),
            InterruptReason::Revoked => build_failure(
                ErrorCode::Unauthorized,
                "the token was revoked in the middle of the turn",
                "ask with another token",
            ),
            InterruptReason::CallerGone => {
                build_failure(ErrorCode::Cancelled, "the caller is gone", "ask again")
            }
            InterruptReason::Stopping => build_failure(
                ErrorCode::Cancelled,
                "the server is stopping",
                "ask again when it is back",
            ),
        }
    }

    async fn build_end_failure(&self, ending: CodexTurnEnd) -> Option<TurnFailure> {
        match ending {
            CodexTurnEnd::Completed => None,
            CodexTurnEnd::Interrupted => Some(build_failure(
                ErrorCode::TurnFailed,
                "Codex interrupted the turn",
                "ask again",
            )),
            CodexTurnEnd::Failed(error) => Some(self.build_turn_failure(&error).await),
            CodexTurnEnd::Lost(reason) => {
                warn!(
                    conversation.id = %self.conversation,
                    reason, "codex was lost in the middle of a turn"
                );
                self.chat.codex.record_turn_failure(None).await;
                let message = format!("in the middle of the turn, {reason}");
                Some(build_failure(
                    ErrorCode::LlmUnavailable,
                    &message,
                    "ask again: Codex is started again",
                ))
            }
        }
    }

    async fn build_turn_failure(&self, error: &TurnError) -> TurnFailure {
        warn!(
            conversation.id = %self.conversation,
            codex.message = error.detail(), error.kind = ?error.kind, "turn failed"
        );
        if error.code() == ErrorCode::LlmUnavailable {
            self.chat.codex.record_turn_failure(Some(error.kind)).await;
        }
        build_failure(error.code(), &error.reason(), error.hint())
    }

    async fn describe_start_failure(&self, error: &CodexError) -> TurnFailure {
        warn!(
            conversation.id = %self.conversation,
            error = error as &dyn std::error::Error, "turn not started"
        );
        if error.code() == ErrorCode::LlmUnavailable {
            self.chat.codex.record_turn_failure(None::<TurnErrorKind>).await;
        }
        let unavailable = error.unavailable_reason();
        build_failure(error.code(), &unavailable.reason, &unavailable.hint)
    }

    async fn send_events(&self, events: Vec<ChatEvent>) {
        for event in events {
            // `run_unless_stopped` notices a missing caller.
            drop(self.events.send(event).await);
        }
    }

    /// Reports the end. Waits for the caller only within the time limit.
    async fn report_end(&self, pending_answer: Option<ChatEvent>, outcome: TurnOutcome) {
        let end = self
            .send_events(pending_answer.into_iter().chain([ChatEvent::Ended(outcome)]).collect());
        let out_of_time = async {
            self.chat.tasks.stop_token().cancelled().await;
            sleep(INTERRUPT_GRACE).await;
        };
        tokio::select! {
            // Reports the end of a stopping server as well if the caller reads it.
            biased;
            sent = timeout(self.chat.turn_timeout, end) => drop(sent),
            () = out_of_time => {}
        }
    }
}

fn interrupt_for_limit(bound: TurnTextLimit) -> Result<(), InterruptReason> {
    Err(InterruptReason::Overrun(bound))
}

fn build_failure(code: ErrorCode, message: &str, hint: &str) -> TurnFailure {
    TurnFailure { code, message: message.to_owned(), hint: hint.to_owned() }
}

pub(super) struct TurnProgress {
    pub(super) assembly: SegmentAssembler,
    /// Last message of the model without a later event; it may be final and need a correction.
    pub(super) pending_answer: Option<ChatEvent>,
}

impl TurnProgress {
    /// Processes one event of Codex. Returns the events to report now.
    pub(super) fn apply_event(&mut self, event: CodexEvent) -> Vec<ChatEvent> {
        let mut events = self.assembly.apply_event(event, Timestamp::now());
        if events.is_empty() {
            return events;
        }
        events.splice(..0, self.pending_answer.take());
        self.pending_answer = events.pop_if(|last| matches!(last, ChatEvent::Answer { .. }));
        events
    }
}
