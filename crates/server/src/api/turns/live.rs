//! A turn in memory: its frames, and the clients that wait for more.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use codeinfo_chat::archive::{ArchivedFrame, ArchivedTurn, ConversationSummary, TurnState};
use codeinfo_core::{Timestamp, TurnId, error::ErrorCode};
use codeinfo_http::sse;
use futures_util::{Stream, stream};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{question_frame, shown};
use crate::replies::ChatFrame;

/// Maximum bytes of tool results in one turn; later results are left out. Text of the model is
/// bounded at its source.
const MAX_RESULT_BYTES: usize = 8 << 20;
const LEFT_OUT: &str = "left out: the tools of this turn returned too much to keep";

/// Running or recently ended turn.
pub(crate) struct LiveTurn {
    id: TurnId,
    summary: ConversationSummary,
    question: String,
    asked_at: Timestamp,
    model_id: String,
    so_far: Mutex<LiveState>,
    /// Number of frames, and whether the turn has ended.
    grown: watch::Sender<(usize, bool)>,
    stop: CancellationToken,
}

struct LiveState {
    frames: Vec<Arc<SentFrame>>,
    result_bytes: usize,
    state: TurnState,
    ended_at: Option<Timestamp>,
}

/// Frame in the form in which it is sent.
struct SentFrame {
    name: &'static str,
    data: String,
}

impl LiveTurn {
    pub(super) fn new(
        summary: ConversationSummary,
        question: String,
        repository: Option<String>,
        model_id: String,
        asked_at: Timestamp,
    ) -> Self {
        let id = TurnId::random();
        let question_data = question_frame(id, summary.id, question.clone(), repository, asked_at);
        let first = Arc::new(SentFrame { name: shown::QUESTION, data: question_data.to_string() });
        let state = TurnState::Running;
        let so_far = LiveState { frames: vec![first], result_bytes: 0, state, ended_at: None };
        let (grown, _) = watch::channel((1, false));
        let stop = CancellationToken::new();
        let so_far = Mutex::new(so_far);
        Self { id, summary, question, asked_at, model_id, so_far, grown, stop }
    }

    pub(crate) fn id(&self) -> TurnId {
        self.id
    }

    pub(crate) fn summary(&self) -> &ConversationSummary {
        &self.summary
    }

    pub(crate) fn asked_at(&self) -> Timestamp {
        self.asked_at
    }

    pub(crate) fn is_running(&self) -> bool {
        self.lock_state().state == TurnState::Running
    }

    /// Records a frame of the turn, with its Markdown rendered as HTML.
    pub(super) fn record_frame(&self, frame: &ChatFrame) {
        let name = frame.name();
        let ends = matches!(frame, ChatFrame::Final(_) | ChatFrame::Error(_));
        let mut data = json!(frame);
        if let Some(result) = data.get_mut("result") {
            let bytes = result.to_string().len();
            let mut so_far = self.lock_state();
            so_far.result_bytes += bytes;
            if so_far.result_bytes > MAX_RESULT_BYTES {
                *result = Value::from(LEFT_OUT);
            }
        }
        shown::with_html(name, &mut data);
        if let (true, Value::Object(members)) = (ends, &mut data) {
            members.insert("endedAt".to_owned(), Timestamp::now().to_string().into());
        }
        self.push_frame(SentFrame { name, data: data.to_string() });
    }

    fn push_frame(&self, line: SentFrame) {
        let mut so_far = self.lock_state();
        so_far.frames.push(Arc::new(line));
        let frames = so_far.frames.len();
        drop(so_far);
        self.grown.send_replace((frames, false));
    }

    /// Asks the turn to stop; returns its state.
    pub(super) fn request_stop(&self) -> TurnState {
        let state = self.lock_state().state;
        if state == TurnState::Running {
            self.stop.cancel();
            return TurnState::Stopped;
        }
        state
    }

    pub(super) async fn wait_for_stop(&self) {
        self.stop.cancelled().await;
    }

    /// Ends the turn, with a closing frame if its own is missing.
    pub(super) fn end_turn(&self, state: TurnState) {
        let now = Timestamp::now();
        let has_end = self.lock_state().frames.last().is_some_and(|line| shown::is_end(line.name));
        if !has_end {
            let message = match state {
                TurnState::Stopped => "the turn was stopped",
                TurnState::Running | TurnState::Answered | TurnState::Failed => {
                    "the server is stopping"
                }
            };
            let data = json!({
                "code": ErrorCode::Cancelled.as_str(),
                "message": message,
                "hint": "ask again",
                "conversationId": self.summary.id,
                "endedAt": now.to_string(),
            });
            self.push_frame(SentFrame { name: shown::ERROR, data: data.to_string() });
        }
        let mut so_far = self.lock_state();
        (so_far.state, so_far.ended_at) = (state, Some(now));
    }

    /// Ends the streams of the watchers.
    pub(super) fn close_streams(&self) {
        let frames = self.lock_state().frames.len();
        self.grown.send_replace((frames, true));
    }

    /// Returns the size of its frames in bytes.
    pub(super) fn frame_bytes(&self) -> usize {
        self.lock_state().frames.iter().map(|line| line.data.len()).sum()
    }

    /// Returns the turn in its archived form.
    pub(crate) fn to_kept_turn(&self) -> ArchivedTurn {
        let so_far = self.lock_state();
        let lines = so_far.frames.clone();
        let ended_at = so_far.ended_at;
        let state = so_far.state;
        // Parsing the frames takes a while, in which others need the lock.
        drop(so_far);
        let frames = lines.iter().map(|line| {
            let mut data: Value = serde_json::from_str(&line.data).unwrap_or_default();
            shown::without_html(&mut data);
            ArchivedFrame { name: line.name.to_owned(), data }
        });
        ArchivedTurn {
            id: self.id,
            question: self.question.clone(),
            asked_at: self.asked_at,
            ended_at,
            state,
            model_id: self.model_id.clone(),
            frames: frames.collect(),
        }
    }

    /// Streams the frames after the first `after`, until the turn ends. A slow reader does not
    /// delay others.
    pub(super) fn stream_frames(
        self: Arc<Self>,
        after: usize,
    ) -> impl Stream<Item = sse::SseEvent> + Send {
        let grown = self.grown.subscribe();
        stream::unfold((self, grown, after), |(live, mut grown, at)| async move {
            loop {
                let (frames, has_ended) = *grown.borrow_and_update();
                if at < frames {
                    let line = live.lock_state().frames.get(at).cloned()?;
                    let event = sse::SseEvent {
                        id: Some(at + 1),
                        name: Some(line.name),
                        data: line.data.clone(),
                    };
                    return Some((event, (live, grown, at + 1)));
                }
                if has_ended {
                    return None;
                }
                grown.changed().await.ok()?;
            }
        })
    }

    fn lock_state(&self) -> MutexGuard<'_, LiveState> {
        self.so_far.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
