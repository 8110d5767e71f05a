//! A turn in memory: its frames, and the clients that wait for more.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use codeinfo_chat::{
    ChatEvent,
    archive::{ArchivedFrame, ArchivedTurn, ConversationSummary, TurnState},
};
use codeinfo_core::{ConversationId, Timestamp, TurnId, error::ErrorCode};
use codeinfo_http::reply;
use futures_util::{Stream, stream};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::render;
use crate::api::chat_frame::ChatFrame;

/// Maximum bytes of tool results in one turn; later ones are left out. Text has its own bound.
const MAX_RESULT_BYTES: usize = 8 << 20;
const LEFT_OUT: &str = "left out: the tools of this turn returned too much to keep";

pub(crate) struct LiveTurn {
    id: TurnId,
    summary: ConversationSummary,
    question: String,
    asked_at: Timestamp,
    model_id: String,
    progress: Mutex<LiveState>,
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

struct SentFrame {
    name: &'static str,
    data: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct QuestionFrame<'a> {
    turn_id: TurnId,
    conversation_id: ConversationId,
    question: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
    asked_at: String,
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
        let data = json!(QuestionFrame {
            turn_id: id,
            conversation_id: summary.id,
            question: &question,
            repository,
            asked_at: asked_at.to_string(),
        });
        let first = Arc::new(SentFrame { name: render::QUESTION, data: data.to_string() });
        let state = TurnState::Running;
        let progress = LiveState { frames: vec![first], result_bytes: 0, state, ended_at: None };
        let (grown, _) = watch::channel((1, false));
        let stop = CancellationToken::new();
        let progress = Mutex::new(progress);
        Self { id, summary, question, asked_at, model_id, progress, grown, stop }
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

    /// Records an event of the turn as a frame, with its Markdown rendered as HTML.
    pub(super) fn record_event(&self, event: ChatEvent) {
        let (name, mut data) = ChatFrame::from_event(event).into_parts();
        if let Some(result) = data.get_mut("result") {
            let bytes = result.to_string().len();
            let mut progress = self.lock_state();
            progress.result_bytes += bytes;
            if progress.result_bytes > MAX_RESULT_BYTES {
                *result = Value::from(LEFT_OUT);
            }
        }
        render::with_html(name, &mut data);
        if let (true, Value::Object(members)) = (render::is_end(name), &mut data) {
            members.insert("endedAt".to_owned(), Timestamp::now().to_string().into());
        }
        self.push_frame(SentFrame { name, data: data.to_string() });
    }

    fn push_frame(&self, frame: SentFrame) {
        let mut progress = self.lock_state();
        progress.frames.push(Arc::new(frame));
        let frames = progress.frames.len();
        drop(progress);
        self.grown.send_replace((frames, false));
    }

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

    pub(super) fn end_turn(&self, state: TurnState) {
        let now = Timestamp::now();
        let has_end =
            self.lock_state().frames.last().is_some_and(|frame| render::is_end(frame.name));
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
            self.push_frame(SentFrame { name: render::ERROR, data: data.to_string() });
        }
        let mut progress = self.lock_state();
        (progress.state, progress.ended_at) = (state, Some(now));
    }

    pub(super) fn close_streams(&self) {
        let frames = self.lock_state().frames.len();
        self.grown.send_replace((frames, true));
    }

    pub(super) fn frame_bytes(&self) -> usize {
        self.lock_state().frames.iter().map(|frame| frame.data.len()).sum()
    }

    pub(crate) fn to_archived_turn(&self) -> ArchivedTurn {
        let progress = self.lock_state();
        let (sent_frames, state, ended_at) =
            (progress.frames.clone(), progress.state, progress.ended_at);
        // Parsing the frames takes a while, in which others need the lock.
        drop(progress);
        let frames = sent_frames.iter().map(|frame| {
            let mut data: Value = serde_json::from_str(&frame.data).unwrap_or_default();
            render::without_html(&mut data);
            ArchivedFrame { name: frame.name.to_owned(), data }
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

    /// Streams frames after the first `after` to the turn's end. A slow reader delays no others.
    pub(super) fn stream_frames(
        self: Arc<Self>,
        after: usize,
    ) -> impl Stream<Item = reply::SseEvent> + Send {
        let grown = self.grown.subscribe();
        stream::unfold((self, grown, after), |(live, mut grown, at)| async move {
            loop {
                let (frames, has_ended) = *grown.borrow_and_update();
                if at < frames {
                    let frame = live.lock_state().frames.get(at).cloned()?;
                    let event = reply::SseEvent {
                        id: Some(at + 1),
                        name: Some(frame.name),
                        data: frame.data.clone(),
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
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
