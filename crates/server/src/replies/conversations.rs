//! What the routes of turns and conversations reply.

use codeinfo_chat::archive::TurnState;
use codeinfo_core::{ConversationId, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A turn that has begun.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartTurnReply {
    pub turn_id: TurnId,
    pub conversation_id: ConversationId,
    /// The model that answers.
    pub model_id: String,
}

/// How a turn stands.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnStatus {
    pub turn_id: TurnId,
    pub state: TurnState,
}

/// The first frame of a turn: what was asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QuestionFrame {
    pub turn_id: TurnId,
    pub conversation_id: ConversationId,
    pub question: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    pub asked_at: String,
}

/// What `GET /conversations` replies.
#[derive(Debug, Serialize, Deserialize)]
pub struct ConversationsReply {
    /// The latest first.
    pub conversations: Vec<ListedConversation>,
    /// Whether there are more than `limit`.
    pub more: bool,
    /// How many are kept at most.
    pub kept: usize,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedConversation {
    #[serde(flatten)]
    pub about: AboutConversation,
    /// How many turns it has.
    pub turns: usize,
    /// The turn that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<TurnId>,
    /// What stands around the words that were looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AboutConversation {
    pub id: ConversationId,
    pub title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    pub created_at: String,
    pub updated_at: String,
}

/// A conversation, whole.
#[derive(Debug, Serialize, Deserialize)]
pub struct WholeConversation {
    #[serde(flatten)]
    pub about: AboutConversation,
    pub turns: Vec<WholeTurn>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WholeTurn {
    pub turn_id: TurnId,
    pub question: String,
    pub asked_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    pub state: TurnState,
    pub model_id: String,
    pub frames: Vec<NumberedFrame>,
}

/// A frame of a turn with its number, from 1.
#[derive(Debug, Serialize, Deserialize)]
pub struct NumberedFrame {
    pub id: usize,
    pub name: String,
    pub data: Value,
}

/// One conversation that was removed.
#[derive(Debug, Serialize, Deserialize)]
pub struct DeleteConversationReply {
    pub deleted: ConversationId,
}

/// How many conversations were removed.
#[derive(Debug, Serialize, Deserialize)]
pub struct DeleteAllReply {
    pub deleted: usize,
}
