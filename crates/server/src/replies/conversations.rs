//! Replies of the routes for turns and conversations.

use codeinfo_chat::archive::TurnState;
use codeinfo_core::{ConversationId, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A turn that was started.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartTurnReply {
    pub turn_id: TurnId,
    pub conversation_id: ConversationId,
    pub model_id: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnStatus {
    pub turn_id: TurnId,
    pub state: TurnState,
}

/// First frame of a turn, with the question.
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

#[derive(Debug, Serialize, Deserialize)]
pub struct ConversationsReply {
    /// Conversations, the latest first.
    pub conversations: Vec<ListedConversation>,
    /// True if there are more than `limit`.
    pub more: bool,
    /// Maximum number of conversations that the server keeps.
    pub kept: usize,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedConversation {
    #[serde(flatten)]
    pub about: AboutConversation,
    pub turns: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<TurnId>,
    /// Text around the search words.
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

/// A conversation with all its turns.
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

/// Id of the deleted conversation.
#[derive(Debug, Serialize, Deserialize)]
pub struct DeleteConversationReply {
    pub deleted: ConversationId,
}

/// Number of deleted conversations.
#[derive(Debug, Serialize, Deserialize)]
pub struct DeleteAllReply {
    pub deleted: usize,
}
