//! The directory of tools: ours and those of toolkits, with where each comes from and whether it can be called.

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Gateway, Member, Wanted,
    discover::id,
    discovery::{Entry, Parameter, parameters},
    layers::Origin,
    member::Offers,
    quote,
};
use crate::connection::{State, Tool};

/// What is there to be called, as `GET /tools` replies it. Field names are a wire promise.
#[derive(Debug, Serialize, Deserialize)]
pub struct Directory {
    pub tools: Vec<ToolEntry>,
    pub toolkits: Vec<ToolkitEntry>,
    /// What is wrong with the configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Who has a tool: this program and Codex, or a toolkit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Local,
    Mcp,
}

/// One tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolEntry {
    /// The bare name of a tool of ours, `mcp:TOOLKIT:TOOL` of another.
    pub id: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub description: String,
    pub source: Source,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toolkit: Option<String>,
    pub parameters: Vec<Parameter>,
    pub input_schema: Value,
    pub annotations: Value,
    pub state: ToolState,
    /// Why it cannot be called, where the toolkit itself could be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Whether a tool can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolState {
    /// Now, or once its toolkit is started for a call.
    Ready,
    /// Not while its toolkit fails, or is switched off.
    Unavailable,
    /// Not, by its configuration, its name or its schema.
    Refused,
    /// Not before somebody trusts what it says of itself now.
    Changed,
}

/// One toolkit.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolkitEntry {
    pub name: String,
    pub state: State,
    /// `stdio` or `http`.
    pub transport: String,
    /// How many of its tools can be called, as far as they are known.
    pub tools: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    pub restarts: u64,
    /// Since when it is in that state.
    pub since: String,
    /// Which layer of the configuration names it.
    pub origin: Origin,
}

/// Most tools that words find.
const MAX_FOUND: usize = 20;

/// Which tools are asked for.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub source: Option<Source>,
    pub toolkit: Option<String>,
    /// Words, the best tools for which come first.
    pub query: Option<String>,
}

impl Gateway {
    /// Returns what is there to be called: `local`, and the tools of the toolkits of `wanted`, as far as they
    /// are known. Starts nothing.
    pub async fn directory(
        &self,
        local: &[codeinfo_mcp::Tool],
        wanted: Wanted<'_>,
        filter: &Filter,
    ) -> Directory {
        let (members, warnings) = self.members_of(&wanted).await;
        let toolkits = join_all(members.iter().map(Self::entry)).await;
        let mut tools: Vec<ToolEntry> = local.iter().map(own).collect();
        for member in &members {
            let offers = member.known().await;
            tools.extend(offers.iter().flat_map(|offers| theirs(member, offers)));
        }
        tools.retain(|tool| {
            filter.source.is_none_or(|source| source == tool.source)
                && filter.toolkit.as_ref().is_none_or(|name| tool.toolkit.as_ref() == Some(name))
        });
        if let Some(query) = &filter.query {
            tools = self.best(tools, query).await;
        }
        Directory { tools, toolkits, warnings }
    }

    /// Returns how a toolkit is.
    pub async fn entry(member: &Member) -> ToolkitEntry {
        let status = member.status();
        ToolkitEntry {
            name: member.name().to_string(),
            state: status.state,
            transport: member.spec().transport.kind().to_owned(),
            tools: member.known().await.map_or(0, |offers| offers.tools.len()),
            last_error: status.last_error,
            restarts: status.restarts,
            since: status.since.to_string(),
            origin: member.origin(),
        }
    }

    /// Puts the tools that fit `query` in order, best first, and leaves the others out.
    async fn best(&self, tools: Vec<ToolEntry>, query: &str) -> Vec<ToolEntry> {
        let entries = tools.iter().map(|tool| Entry {
            id: tool.id.clone(),
            toolkit: tool.toolkit.as_ref().and_then(|name| name.parse().ok()),
            name: tool.name.clone(),
            title: tool.title.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
        });
        let Some(index) = self.index(entries.collect()).await else { return Vec::new() };
        let ranked = index.search(query, None, MAX_FOUND);
        let found = ranked
            .iter()
            .filter_map(|ranked| tools.iter().find(|tool| tool.id == ranked.entry.id).cloned());
        found.collect()
    }
}

fn own(tool: &codeinfo_mcp::Tool) -> ToolEntry {
    let listed = tool.listed();
    let text = |member: &str| listed.get(member).and_then(Value::as_str).map(str::to_owned);
    let schema = listed.get("inputSchema").cloned().unwrap_or_default();
    ToolEntry {
        id: tool.name().to_owned(),
        name: tool.name().to_owned(),
        title: text("title"),
        description: text("description").unwrap_or_default(),
        source: Source::Local,
        toolkit: None,
        parameters: parameters(schema.as_object().unwrap_or(&Map::new())),
        input_schema: schema,
        annotations: listed.get("annotations").cloned().unwrap_or_default(),
        state: ToolState::Ready,
        reason: None,
    }
}

fn theirs(member: &Member, offers: &Offers) -> Vec<ToolEntry> {
    let is_up = !matches!(member.status().state, State::Failing | State::Disabled);
    let state = |name: &str| match offers.tools.contains_key(name) {
        true if is_up => ToolState::Ready,
        true => ToolState::Unavailable,
        false if offers.changed.contains(name) => ToolState::Changed,
        false => ToolState::Refused,
    };
    let entry = |tool: &Tool| ToolEntry {
        id: id(member.name(), &tool.name),
        name: quote::name(&tool.name),
        title: tool.title.as_deref().map(quote::name),
        description: quote::line(&tool.description, 2000),
        source: Source::Mcp,
        toolkit: Some(member.name().to_string()),
        parameters: parameters(&tool.input_schema),
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
