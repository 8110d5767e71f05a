//! Lists, searches, shows, exports and deletes the conversations of the page.

mod export;

use std::collections::HashMap;

use codeinfo_chat::archive::{ArchivedConversation, ArchivedTurn, ConversationSummary};
use codeinfo_core::{ConversationId, Principal, TurnId};
use codeinfo_http::{Response, reply};
use hyper::StatusCode;
use serde::Serialize;
use serde_json::json;

pub(super) use self::export::{ExportParameters, export_conversation};
use super::{
    ApiServices,
    error::ApiError,
    parameters::{invalid_argument, parse_query, unknown_parameter},
    turns::{self, MarkupFormat, RenderedTurn, TurnRegistry, render_turn},
};

const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 10_000;

#[derive(Serialize)]
struct ConversationsReply {
    conversations: Vec<ListedConversation>,
    /// True if there are more than `limit`.
    more: bool,
    /// Maximum number of conversations that the server keeps.
    kept: usize,
}

#[derive(Serialize)]
struct ListedConversation {
    #[serde(flatten)]
    head: ConversationHead,
    turns: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<TurnId>,
    /// Text around the search words.
    #[serde(skip_serializing_if = "Option::is_none")]
    excerpt: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ConversationHead {
    id: ConversationId,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
    created_at: String,
    updated_at: String,
}

#[derive(Serialize)]
struct RenderedConversation {
    #[serde(flatten)]
    head: ConversationHead,
    turns: Vec<RenderedTurn>,
}

#[derive(Default)]
pub(super) struct ConversationParameters {
    words: Option<String>,
    limit: Option<usize>,
}

impl ConversationParameters {
    pub(super) fn parse(query: Option<&str>) -> Result<Self, ApiError> {
        let mut parameters = Self::default();
        for (name, value) in parse_query(query) {
            match &*name {
                "q" => parameters.words = Some(value).filter(|words| !words.trim().is_empty()),
                "limit" => {
                    let limit = value.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
                    let wrong = || invalid_argument(&format!("`limit` must be 1 to {MAX_LIMIT}"));
                    parameters.limit = Some(limit.ok_or_else(wrong)?);
                }
                _ => return Err(unknown_parameter(&name, "`q` and `limit`")),
            }
        }
        Ok(parameters)
    }
}

/// Lists the conversations that `principal` may see, the latest first.
pub(super) async fn list_conversations(
    services: &ApiServices,
    parameters: ConversationParameters,
    principal: Option<&Principal>,
) -> Result<Response, ApiError> {
    let turns = &services.turns;
    let limit = parameters.limit.unwrap_or(DEFAULT_LIMIT);
    let mut listed = turns.archive().list_summaries(principal);
    listed.extend(list_unarchived(turns, principal, &listed));
    listed.sort_by_key(|summary| (std::cmp::Reverse(summary.updated_at), summary.id));
    let found: Vec<(ConversationSummary, Option<String>)> = if let Some(words) = parameters.words {
        let lives = turns.list_visible(principal);
        let in_memory = move |id: ConversationId| {
            lives
                .iter()
                .filter(|live| live.summary().id == id)
                .map(|live| live.to_archived_turn())
                .collect()
        };
        // One more than the limit reveals whether there are more.
        let found =
            turns.archive().find_conversations(&words, listed, limit + 1, in_memory).await?;
        found.into_iter().map(|found| (found.summary, Some(found.excerpt))).collect()
    } else {
        listed.into_iter().map(|summary| (summary, None)).collect()
    };
    let more = found.len() > limit;
    let running: HashMap<ConversationId, TurnId> = turns
        .list_visible(principal)
        .into_iter()
        .filter(|live| live.is_running())
        .map(|live| (live.summary().id, live.id()))
        .collect();
    let listed = |(summary, excerpt): (ConversationSummary, Option<String>)| ListedConversation {
        running: running.get(&summary.id).copied(),
        turns: summary.turns.len(),
        head: build_head(&summary),
        excerpt,
    };
    let conversations = found.into_iter().take(limit).map(listed).collect();
    let kept = turns.archive().max_conversations();
    Ok(reply::json_response(StatusCode::OK, &ConversationsReply { conversations, more, kept }))
}

/// Returns the conversations of turns in memory that are not in `archived`.
fn list_unarchived(
    turns: &TurnRegistry,
    principal: Option<&Principal>,
    archived: &[ConversationSummary],
) -> Vec<ConversationSummary> {
    let mut summaries: Vec<ConversationSummary> = Vec::new();
    for live in turns.list_visible(principal) {
        let id = live.summary().id;
        match summaries.iter_mut().find(|known| known.id == id) {
            Some(known) => known.turns.push(live.id()),
            None if archived.iter().any(|known| known.id == id) => {}
            None => {
                summaries
                    .push(ConversationSummary { turns: vec![live.id()], ..live.summary().clone() });
            }
        }
    }
    summaries
}

fn build_head(summary: &ConversationSummary) -> ConversationHead {
    ConversationHead {
        id: summary.id,
        title: summary.title.clone(),
        repository: summary.repository.clone(),
        created_at: summary.created_at.to_string(),
        updated_at: summary.updated_at.to_string(),
    }
}

pub(super) async fn show_conversation(
    services: &ApiServices,
    id: ConversationId,
    principal: Option<&Principal>,
) -> Result<Response, ApiError> {
    let whole = load_conversation(&services.turns, id, MarkupFormat::Html, principal).await?;
    Ok(reply::json_response(StatusCode::OK, &whole))
}

/// Returns a conversation with its archived turns; turns in memory replace their archived versions.
async fn load_conversation(
    turns: &TurnRegistry,
    id: ConversationId,
    format: MarkupFormat,
    principal: Option<&Principal>,
) -> Result<RenderedConversation, ApiError> {
    let lives: Vec<_> =
        turns.list_visible(principal).into_iter().filter(|live| live.summary().id == id).collect();
    let archived = turns.archive().read_conversation(id).await?;
    let visible = archived.filter(|archived| archived.summary.is_visible_to(principal));
    let begun = || Some(lives.first()?.summary().clone());
    let (summary, mut all) = match visible {
        Some(ArchivedConversation { summary, turns }) => (summary, turns),
        None => (begun().ok_or_else(turns::unknown_conversation)?, Vec::new()),
    };
    turns
        .run_rendering(move || {
            let live: HashMap<TurnId, ArchivedTurn> =
                lives.iter().map(|live| (live.id(), live.to_archived_turn())).collect();
            all.retain(|kept| !live.contains_key(&kept.id));
            let is_live = |id: TurnId| lives.iter().any(|live| live.id() == id);
            all.extend(live.into_values());
            all.sort_by_key(|kept| kept.asked_at);
            let shown = all.into_iter().map(|kept| {
                let is_live = is_live(kept.id);
                render_turn(&summary, kept, format, is_live)
            });
            RenderedConversation { turns: shown.collect(), head: build_head(&summary) }
        })
        .await
}

/// Deletes a conversation and stops its running turns.
pub(super) async fn delete_conversation(
    services: &ApiServices,
    id: ConversationId,
    principal: Option<&Principal>,
) -> Result<Response, ApiError> {
    let turns = &services.turns;
    let is_seen = |summary: ConversationSummary| summary.is_visible_to(principal).then_some(());
    let is_known = turns.archive().find_summary(id).and_then(is_seen).is_some();
    let is_live = turns.list_visible(principal).iter().any(|live| live.summary().id == id);
    if !is_known && !is_live {
        return Err(turns::unknown_conversation());
    }
    remove_conversation(turns, id).await?;
    Ok(reply::json_response(StatusCode::OK, &json!({ "deleted": id })))
}

pub(super) async fn delete_all(
    services: &ApiServices,
    principal: Option<&Principal>,
) -> Result<Response, ApiError> {
    let turns = &services.turns;
    let mut listed = turns.archive().list_summaries(principal);
    listed.extend(list_unarchived(turns, principal, &listed));
    let mut failed = None;
    for summary in &listed {
        if let Err(error) = remove_conversation(turns, summary.id).await {
            failed.get_or_insert(error);
        }
    }
    if let Some(error) = failed {
        return Err(error);
    }
    Ok(reply::json_response(StatusCode::OK, &json!({ "deleted": listed.len() })))
}

async fn remove_conversation(turns: &TurnRegistry, id: ConversationId) -> Result<(), ApiError> {
    // From here on, its turns are not archived when they end.
    turns.archive().remove_conversation(id).await?;
    turns.forget_conversation(id);
    Ok(())
}
