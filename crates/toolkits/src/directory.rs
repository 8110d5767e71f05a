//! Builds the directory of all tools, our own and those of toolkits, with their origin and state.

use codeinfo_core::plain_name;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    ToolkitGateway, ToolkitHandle, ToolkitTurnContext,
    discovery::{ToolIndexEntry, ToolParameter, parse_parameters},
    discovery_tools::format_tool_id,
    handle::ToolOffers,
    layers::ToolkitOrigin,
    quote,
};
use crate::connection::{CatalogueTool, ToolkitState};

/// Reply of `GET /tools`. The field names are part of its contract.
#[derive(Debug, Serialize, Deserialize)]
pub struct ToolDirectory {
    pub tools: Vec<ToolEntry>,
    pub toolkits: Vec<ToolkitEntry>,
    /// Faults of the configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Provider of a tool: this program and Codex, or a toolkit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolEntrySource {
    Local,
    Mcp,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolEntry {
    /// Bare name of a local tool, or `mcp:TOOLKIT:TOOL`.
    pub id: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub description: String,
    pub source: ToolEntrySource,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toolkit: Option<String>,
    pub parameters: Vec<ToolParameter>,
    pub input_schema: Value,
    pub annotations: Value,
    pub state: ToolState,
    /// Reason why the tool itself cannot be called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolState {
    /// Callable, now or after starting its toolkit.
    Ready,
    /// Not callable while its toolkit fails or is switched off.
    Unavailable,
    /// Not callable because of its configuration, name or schema.
    Refused,
    /// Not callable until a person trusts its changed description.
    Changed,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolkitEntry {
    pub name: String,
    pub state: ToolkitState,
    /// `stdio` or `http`.
    pub transport: String,
    /// Number of its known tools that can be called.
    pub tools: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    pub restarts: u64,
    /// Time of the last change of state.
    pub since: String,
    pub origin: ToolkitOrigin,
}

const MAX_FOUND: usize = 20;

#[derive(Debug, Clone, Default)]
pub struct ToolFilter {
    pub source: Option<ToolEntrySource>,
    pub toolkit: Option<String>,
    /// Search query; the best tools come first.
    pub query: Option<String>,
}

impl ToolkitGateway {
    /// Returns `local` and the known tools of the toolkits of `context`; starts none, even if it never ran.
    pub async fn build_directory(
        &self,
        local: &[codeinfo_mcp::McpTool],
        context: ToolkitTurnContext<'_>,
        filter: &ToolFilter,
    ) -> ToolDirectory {
        let (handles, warnings) = self.list_handles(&context).await;
        let toolkits = join_all(handles.iter().map(Self::build_toolkit_entry)).await;
        let mut tools: Vec<ToolEntry> = local.iter().map(build_local_entry).collect();
        for handle in &handles {
            let offers = handle.known_offers().await;
            tools.extend(offers.iter().flat_map(|offers| build_offered_entries(handle, offers)));
        }
        tools.retain(|tool| {
            filter.source.is_none_or(|source| source == tool.source)
                && filter.toolkit.as_ref().is_none_or(|name| tool.toolkit.as_ref() == Some(name))
        });
        if let Some(query) = &filter.query {
            tools = self.rank_tools(tools, query).await;
        }
        ToolDirectory { tools, toolkits, warnings }
    }

    /// Returns the state of a toolkit.
    pub async fn build_toolkit_entry(handle: &ToolkitHandle) -> ToolkitEntry {
        let status = handle.status();
        ToolkitEntry {
            name: handle.name().to_string(),
            state: status.state,
            transport: handle.spec().transport.kind().to_owned(),
            tools: handle.known_offers().await.map_or(0, |offers| offers.tools.len()),
            last_error: status.last_error,
            restarts: status.restarts,
            since: status.since.to_string(),
            origin: handle.origin(),
        }
    }

    async fn rank_tools(&self, tools: Vec<ToolEntry>, query: &str) -> Vec<ToolEntry> {
        let entries = tools.iter().map(|tool| ToolIndexEntry {
            id: tool.id.clone(),
            toolkit: tool.toolkit.as_ref().and_then(|name| name.parse().ok()),
            name: tool.name.clone(),
            title: tool.title.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
        });
        let Some(index) = self.build_tool_index(entries.collect()).await else { return Vec::new() };
        let ranked = index.search(query, None, MAX_FOUND);
        let found = ranked
            .iter()
            .filter_map(|ranked| tools.iter().find(|tool| tool.id == ranked.entry.id).cloned());
        found.collect()
    }
}

fn build_local_entry(tool: &codeinfo_mcp::McpTool) -> ToolEntry {
    let listed = tool.as_list_entry();
    let text = |key: &str| listed.get(key).and_then(Value::as_str).map(str::to_owned);
    let schema = listed.get("inputSchema").cloned().unwrap_or_default();
    ToolEntry {
        id: tool.name().to_owned(),
        name: tool.name().to_owned(),
        title: text("title"),
        description: text("description").unwrap_or_default(),
        source: ToolEntrySource::Local,
        toolkit: None,
        parameters: parse_parameters(schema.as_object().unwrap_or(&Map::new())),
        input_schema: schema,
        annotations: listed.get("annotations").cloned().unwrap_or_default(),
        state: ToolState::Ready,
        reason: None,
    }
}

fn build_offered_entries(handle: &ToolkitHandle, offers: &ToolOffers) -> Vec<ToolEntry> {
    let is_up = !matches!(handle.status().state, ToolkitState::Failing | ToolkitState::Disabled);
    let state = |name: &str| match offers.tools.contains_key(name) {
        true if is_up => ToolState::Ready,
        true => ToolState::Unavailable,
        false if offers.changed.contains(name) => ToolState::Changed,
        false => ToolState::Refused,
    };
    let entry = |tool: &CatalogueTool| ToolEntry {
        id: format_tool_id(handle.name(), &tool.name),
        name: quote::sanitize_name(&tool.name),
        title: tool.title.as_deref().map(quote::sanitize_name),
        description: plain_name(&tool.description, 2000),
        source: ToolEntrySource::Mcp,
        toolkit: Some(handle.name().to_string()),
        parameters: parse_parameters(&tool.input_schema),
        input_schema: Value::Object(tool.input_schema.clone()),
        annotations: serde_json::json!({
            "readOnlyHint": tool.read_only,
            "destructiveHint": tool.destructive,
            "idempotentHint": tool.idempotent,
            "openWorldHint": tool.open_world,
        }),
        state: state(&tool.name),
        reason: offers.refused.get(&tool.name).cloned(),
    };
    offers.all.iter().map(entry).collect()
}
