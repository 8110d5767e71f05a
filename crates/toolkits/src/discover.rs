//! Handles calls of the discovery tools.

use std::sync::Arc;

use codeinfo_mcp::{EndpointInfo, McpTool, McpToolResult, ToolCallError};
use serde_json::Value;

use super::{
    Grant, ToolkitGateway, ToolkitHandle,
    discovery::{ToolIndex, ToolIndexEntry, parse_parameters},
    member::ToolOffers,
    meta::{self, DiscoveryCall, DiscoveryReply},
    quote,
};
use crate::{connection::CatalogueTool as Listed, spec::ToolkitName};

impl ToolkitGateway {
    /// Indexes tools on a blocking thread; a thousand tools take a tenth of a second.
    pub(super) async fn build_tool_index(
        &self,
        entries: Vec<ToolIndexEntry>,
    ) -> Option<Arc<ToolIndex>> {
        let model = self.model();
        let indexing =
            self.tasks().spawn_blocking(move || Arc::new(ToolIndex::new(entries, model)));
        indexing.await.ok()
    }

    /// Returns the current description of a toolkit's endpoint, with its tools.
    pub async fn toolkit_endpoint_info(&self, member: &ToolkitHandle) -> EndpointInfo {
        match member.known_offers().await {
            Some(offers) => offers.about.clone(),
            // The toolkit was ready when the turn began; its calls report what happened since.
            None => quote::build_endpoint_info(member.name()),
        }
    }

    /// Returns the description of the discovery endpoint; `None` if the model calls the turn's toolkits
    /// directly.
    pub fn about_discovery(&self, grant: &Grant) -> Option<&EndpointInfo> {
        grant.index().map(|_| &self.0.discovery)
    }

    /// Handles a call of one of the five discovery tools.
    pub async fn call_discovery_tool(
        &self,
        grant: &Grant,
        tool: &McpTool,
        arguments: Value,
    ) -> Result<McpToolResult, ToolCallError> {
        let Some(index) = grant.index() else {
            return Ok(McpToolResult::error(
                "the toolkits of this turn are called directly".to_owned(),
            ));
        };
        let reply = match meta::parse_call(tool, arguments).map_err(ToolCallError::Arguments)? {
            DiscoveryCall::Discover { query, domain, limit } => {
                meta::reply_with_matches(index, &query, domain.as_deref(), limit)
            }
            DiscoveryCall::Domains => meta::reply_with_domains(index),
            DiscoveryCall::Browse { domain, cursor } => {
                meta::reply_with_page(index, &domain, cursor.as_deref())
            }
            DiscoveryCall::Schema { tool } => match find_granted_tool(grant, index, &tool) {
                Some((member, entry)) => match member.find_listed_tool(&entry.name) {
                    Some(known) => meta::reply_with_schema(index, &tool, &known.input_schema),
                    None => meta::unknown_tool(index, &tool),
                },
                None => meta::unknown_tool(index, &tool),
            },
            DiscoveryCall::Execute { tool, arguments } => {
                match find_granted_tool(grant, index, &tool) {
                    Some((member, entry)) => {
                        return Ok(self
                            .call_tool(grant, member, &entry.name, Value::Object(arguments))
                            .await);
                    }
                    None => meta::unknown_tool(index, &tool),
                }
            }
        };
        let DiscoveryReply { text, is_error } = reply;
        Ok(if is_error { McpToolResult::error(text) } else { McpToolResult::text(text) })
    }
}

/// Finds a tool of the turn, with its toolkit.
fn find_granted_tool<'a>(
    grant: &'a Grant,
    index: &'a ToolIndex,
    id: &str,
) -> Option<(&'a ToolkitHandle, &'a ToolIndexEntry)> {
    let entry = index.find_entry(id)?;
    let toolkit = entry.toolkit.as_ref()?;
    let member = grant.toolkits().iter().find(|member| member.name() == toolkit)?;
    Some((member, entry))
}

/// Returns the index entries of a turn's tools.
pub(super) fn build_index_entries(
    ready: &[(ToolkitHandle, Arc<ToolOffers>)],
) -> Vec<ToolIndexEntry> {
    let toolkit_entries =
        |(member, offers): &(ToolkitHandle, Arc<ToolOffers>)| -> Vec<ToolIndexEntry> {
            let entry = |tool: &Listed| ToolIndexEntry {
                id: format_tool_id(member.name(), &tool.name),
                toolkit: Some(member.name().clone()),
                name: tool.name.clone(),
                title: tool.title.clone(),
                description: tool.description.clone(),
                parameters: parse_parameters(&tool.input_schema),
            };
            offers.tools.values().map(|offer| entry(&offer.tool)).collect()
        };
    ready.iter().flat_map(toolkit_entries).collect()
}

/// Returns the identifier of a toolkit's tool.
pub(super) fn format_tool_id(toolkit: &ToolkitName, tool: &str) -> String {
    format!("mcp:{toolkit}:{tool}")
}
