//! Runs one question in a thread that is never stored and has no tools, files or network.
//!
//! The thread is opened before the question is known, and a task owns it until Codex has released it. It has no
//! permission profile, with which opening takes ten times as long: without a shell, nothing is left to confine.

use std::sync::Arc;

use codeinfo_core::ConversationId;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    Codex,
    error::CodexError,
    event::{CodexEvent, CodexTurnEnd, TokenUsage},
    protocol::{ThreadInfo, TurnStartResult},
    server::{CodexServer, ThreadEvent},
};

const MAX_REPLY_BYTES: usize = 32 << 10;
/// Working folder of a thread without files.
const FOLDER: &str = "/";
/// Requested sandbox, and Codex's name for it when it is in force.
const SANDBOX: (&str, &str) = ("read-only", "readOnly");

/// Options for opening an ephemeral thread.
#[derive(Debug, Clone)]
pub struct EphemeralThreadOptions {
    pub(super) model: String,
    pub(super) instructions: &'static str,
    /// MCP servers of the user's own configuration, to be switched off.
    pub(super) servers: Vec<String>,
}

#[derive(Debug)]
pub struct EphemeralQuestion {
    pub text: String,
    pub schema: Value,
    pub effort: &'static str,
}

#[derive(Debug)]
pub struct EphemeralReply {
    pub text: String,
    /// Tokens spent, if Codex counted them.
    pub usage: Option<TokenUsage>,
}

#[derive(Debug, thiserror::Error)]
pub enum EphemeralError {
    #[error(transparent)]
    Codex(#[from] CodexError),
    #[error("the turn ended: {0:?}")]
    Ended(CodexTurnEnd),
    #[error("the model called a tool")]
    ToolCall,
    #[error("the model gave no reply")]
    NoReply,
    #[error("the reply is longer than {MAX_REPLY_BYTES} bytes")]
    LongReply,
}

/// Ephemeral thread that is being opened. Dropping it, or the future of [`EphemeralThread::ask_question`],
/// interrupts the model and unloads the thread.
#[derive(Debug)]
pub struct EphemeralThread {
    question: oneshot::Sender<EphemeralQuestion>,
    reply: oneshot::Receiver<Result<EphemeralReply, EphemeralError>>,
    _guard: DropGuard,
}

#[derive(Deserialize)]
struct EphemeralStartResult {
    thread: ThreadInfo,
    sandbox: Value,
}

impl Codex {
    /// Starts to open an ephemeral thread.
    pub fn open_ephemeral(&self, opening: EphemeralThreadOptions) -> EphemeralThread {
        let (question, questions) = oneshot::channel();
        let (replies, reply) = oneshot::channel();
        let cancelled = self.0.tasks.stop_token().child_token();
        let guard = cancelled.clone().drop_guard();
        let codex = self.clone();
        self.0.tasks.spawn(async move {
            let opened = match codex.0.slot.acquire_server_in_time().await {
                Ok(server) => LoadedEphemeralThread::start_thread(server, opening).await,
                Err(error) => Err(error),
            };
            match opened {
                Ok(thread) => thread.serve_question(questions, replies, cancelled).await,
                // The caller may be gone.
                Err(error) => drop(replies.send(Err(error.into()))),
            }
        });
        EphemeralThread { question, reply, _guard: guard }
    }
}

impl EphemeralThread {
    /// Sends the question and waits for the reply.
    pub async fn ask_question(
        self,
        question: EphemeralQuestion,
    ) -> Result<EphemeralReply, EphemeralError> {
        // If the thread could not be opened, the reply carries the error.
        drop(self.question.send(question));
        self.reply.await.unwrap_or(Err(EphemeralError::Codex(CodexError::Stopping)))
    }
}

type EphemeralResult = Result<EphemeralReply, EphemeralError>;

struct LoadedEphemeralThread {
    server: Arc<CodexServer>,
    opening: EphemeralThreadOptions,
    id: ConversationId,
    turn: Option<String>,
    events: mpsc::Receiver<ThreadEvent>,
}

impl LoadedEphemeralThread {
    async fn start_thread(
        server: Arc<CodexServer>,
        opening: EphemeralThreadOptions,
    ) -> Result<Self, CodexError> {
        let opened: EphemeralStartResult =
            server.call_method("thread/start", &start_parameters(&opening)).await?;
        let id = opened.thread.parse_id()?;
        if opened.sandbox.get("type").and_then(Value::as_str) != Some(SANDBOX.1) {
            server.release_thread(id).await;
            return Err(CodexError::Unconfined { version: server.version.clone() });
        }
        let events = server.subscribe(id);
        Ok(Self { server, opening, id, turn: None, events })
    }

    /// Answers the question, if there is one, and releases the thread.
    async fn serve_question(
        mut self,
        question: oneshot::Receiver<EphemeralQuestion>,
        replies: oneshot::Sender<EphemeralResult>,
        cancelled: CancellationToken,
    ) {
        if let Some(Ok(question)) = cancelled.run_until_cancelled(question).await {
            let outcome = match self.start_turn(question).await {
                Ok(()) => cancelled.run_until_cancelled(self.await_reply()).await,
                Err(error) => Some(Err(error.into())),
            };
            if let Some(outcome) = outcome {
                // Before the thread is unloaded, so that the caller does not wait for that.
                drop(replies.send(outcome));
            }
        }
        self.close_thread().await;
    }

    async fn start_turn(&mut self, question: EphemeralQuestion) -> Result<(), CodexError> {
        let EphemeralQuestion { text, schema, effort } = question;
        let start = json!({
            "threadId": self.id.to_string(),
            "input": [{ "type": "text", "text": text }],
            "model": self.opening.model,
            "effort": effort,
            "summary": "none",
            "approvalPolicy": "never",
            "outputSchema": schema,
        });
        let started: TurnStartResult = self.server.call_method("turn/start", &start).await?;
        self.turn = Some(started.turn.id);
        Ok(())
    }

    /// Waits for the end of the turn. Fails if the model's first response has no message.
    async fn await_reply(&mut self) -> EphemeralResult {
        let mut reply = None;
        let mut bytes = 0;
        let mut spent = None;
        while let Some(ThreadEvent { event, .. }) = self.events.recv().await {
            match event {
                CodexEvent::Answer { text, .. } => reply = Some(text),
                CodexEvent::AnswerDelta { text, .. } => bytes += text.len(),
                CodexEvent::ToolStarted(_)
                | CodexEvent::ToolEnded(_)
                | CodexEvent::Unseen { .. } => {
                    return Err(EphemeralError::ToolCall);
                }
                CodexEvent::Counted { thread_total, .. } if thread_total > 0 && reply.is_none() => {
                    return Err(EphemeralError::NoReply);
                }
                CodexEvent::Counted { last, .. } => spent = Some(last),
                CodexEvent::Ended(ending) => {
                    self.turn = None;
                    return match (ending, reply) {
                        (CodexTurnEnd::Completed, Some(text)) => {
                            Ok(EphemeralReply { text, usage: spent })
                        }
                        (CodexTurnEnd::Completed, None) => Err(EphemeralError::NoReply),
                        (ending, _) => Err(EphemeralError::Ended(ending)),
                    };
                }
                CodexEvent::Thinking { .. }
                | CodexEvent::ThinkingDelta { .. }
                | CodexEvent::Rerouted { .. }
                | CodexEvent::Retrying => {}
            }
            if bytes.max(reply.as_ref().map_or(0, String::len)) > MAX_REPLY_BYTES {
                return Err(EphemeralError::LongReply);
            }
        }
        let reason = self.server.end_reason().unwrap_or_else(|| "its events were lost".to_owned());
        Err(EphemeralError::Ended(CodexTurnEnd::Lost(reason)))
    }

    async fn close_thread(self) {
        self.server.unsubscribe(self.id);
        if !self.server.is_running() {
            return;
        }
        if let Some(turn) = &self.turn {
            self.server.interrupt_turn(self.id, turn).await;
        }
        self.server.release_thread(self.id).await;
    }
}

fn start_parameters(opening: &EphemeralThreadOptions) -> Value {
    let off = opening.servers.iter().map(|name| (name.clone(), json!({ "enabled": false })));
    let servers: Map<String, Value> = off.collect();
    json!({
        "cwd": FOLDER,
        "sandbox": SANDBOX.0,
        "approvalPolicy": "never",
        "model": opening.model,
        "ephemeral": true,
        "baseInstructions": opening.instructions,
        // Empty rather than absent: the user's own developer instructions are for other work.
        "developerInstructions": "",
        "config": {
            "mcp_servers": servers,
            "web_search": "disabled",
            "features.shell_tool": false,
            "features.view_image": false,
            "include_permissions_instructions": false,
            "include_environment_context": false,
            // Without this entry, Codex marks the folder as trusted in the user's configuration.
            "projects": { FOLDER: { "trust_level": "untrusted" } },
        },
    })
}
