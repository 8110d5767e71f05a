//! The calls of the tools that discover and execute others.

use std::sync::Arc;

use codeinfo_mcp::{About, CallError, Tool, ToolResult};
use serde_json::Value;

use super::{
    Gateway, Grant, Member,
    discovery::{Entry, Index, parameters},
    member::Offers,
    meta::{self, Call, Reply},
    quote,
};
use crate::{connection::Tool as Listed, spec::ToolkitName};

impl Gateway {
    /// Indexes tools off the runtime's threads: a thousand take a tenth of a second.
    pub(super) async fn index(&self, entries: Vec<Entry>) -> Option<Arc<Index>> {
        let model = self.model();
        let indexing = self.tasks().spawn_blocking(move || Arc::new(Index::new(entries, model)));
        indexing.await.ok()
    }

    /// Returns what the endpoint of a toolkit of a turn says of itself now.
    pub async fn about(&self, member: &Member) -> About {
        match member.known().await {
            Some(offers) => offers.about.clone(),
            // It was there when the turn began: its calls say what became of it.
            None => quote::about(member.name()),
        }
    }

    /// Returns what the endpoint with the five tools says of itself; `None` where the toolkits of the turn
    /// are called directly.
    pub fn about_discovery(&self, grant: &Grant) -> Option<&About> {
        grant.index().map(|_| &self.0.discovery)
    }

    /// Answers a call of one of the five tools, for a turn whose toolkits are discovered.
    pub async fn discover(
        &self,
        grant: &Grant,
        tool: &Tool,
        arguments: Value,
    ) -> Result<ToolResult, CallError> {
        let Some(index) = grant.index() else {
            return Ok(ToolResult::error(
                "the toolkits of this turn are called directly".to_owned(),
            ));
        };
        let reply = match meta::read(tool, arguments).map_err(CallError::Arguments)? {
            Call::Discover { query, domain, limit } => {
                meta::discovered(index, &query, domain.as_deref(), limit)
            }
            Call::Domains => meta::domains(index),
            Call::Browse { domain, cursor } => meta::browsed(index, &domain, cursor.as_deref()),
            Call::Schema { tool } => match found(grant, index, &tool) {
                Some((member, entry)) => match member.tool(&entry.name) {
                    Some(known) => meta::described(index, &tool, &known.input_schema),
                    None => meta::unknown_tool(index, &tool),
                },
                None => meta::unknown_tool(index, &tool),
            },
            Call::Execute { tool, arguments } => match found(grant, index, &tool) {
                Some((member, entry)) => {
                    return Ok(self
                        .call(grant, member, &entry.name, Value::Object(arguments))
                        .await);
                }
                None => meta::unknown_tool(index, &tool),
            },
        };
        let Reply { text, is_error } = reply;
        Ok(if is_error { ToolResult::error(text) } else { ToolResult::text(text) })
    }
}

/// Finds a tool of the turn, and the toolkit that has it.
fn found<'a>(grant: &'a Grant, index: &'a Index, id: &str) -> Option<(&'a Member, &'a Entry)> {
    let entry = index.find(id)?;
    let toolkit = entry.toolkit.as_ref()?;
    let member = grant.members().iter().find(|member| member.name() == toolkit)?;
    Some((member, entry))
}

/// Returns the tools of a turn as they are discovered.
pub(super) fn entries(ready: &[(Member, Arc<Offers>)]) -> Vec<Entry> {
    let of = |(member, offers): &(Member, Arc<Offers>)| -> Vec<Entry> {
        let entry = |tool: &Listed| Entry {
            id: id(member.name(), &tool.name),
            toolkit: Some(member.name().clone()),
            name: tool.name.clone(),
            title: tool.title.clone(),
            description: tool.description.clone(),
            parameters: parameters(&tool.input_schema),
        };
        offers.tools.values().map(|offer| entry(&offer.tool)).collect()
    };
    ready.iter().flat_map(of).collect()
}

/// Returns the id of a tool of a toolkit.
pub(super) fn id(toolkit: &ToolkitName, tool: &str) -> String {
    format!("mcp:{toolkit}:{tool}")
}
