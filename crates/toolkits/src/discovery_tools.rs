//! Tools by which a model discovers and calls tools of toolkits, for turns with too many tools to list.
//!
//! Words of toolkits are quoted, cut and put on one line, so that they cannot pose as ours.

mod render;

use std::sync::Arc;

use codeinfo_mcp::{
    EndpointInfo, McpTool, McpToolResult, Schema, SchemaError, ToolCallError, ToolHints,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Grant, ToolkitGateway, ToolkitHandle,
    discovery::{ToolIndex, ToolIndexEntry, parse_parameters},
    handle::ToolOffers,
    quote,
};
use crate::{connection::CatalogueTool, spec::ToolkitName};

/// Maximum and default number of tools of one discovery.
pub const MAX_LIMIT: usize = 20;
pub const DEFAULT_LIMIT: usize = 8;
const MAX_QUERY_CHARS: usize = 2000;
const MAX_ARGUMENT_CHARS: usize = 300;

pub const DISCOVER: &str = "discover_tools";
pub const SCHEMA: &str = "get_tool_schema";
pub const EXECUTE: &str = "execute_tool";
pub const DOMAINS: &str = "list_tool_domains";
pub const BROWSE: &str = "browse_tool_domain";

/// Parsed call of a discovery tool.
#[derive(Debug, Clone, PartialEq)]
pub enum DiscoveryCall {
    Discover {
        query: String,
        domain: Option<String>,
        limit: usize,
    },
    Schema {
        tool: String,
    },
    /// The caller executes the tool. It may answer an unknown one with [`unknown_tool`].
    Execute {
        tool: String,
        arguments: Map<String, Value>,
    },
    Domains,
    Browse {
        domain: String,
        cursor: Option<String>,
    },
}

/// Text of a reply; `is_error` marks a fault that the model can correct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveryReply {
    pub text: String,
    pub is_error: bool,
}

impl DiscoveryReply {
    fn text(text: String) -> Self {
        Self { text, is_error: false }
    }

    fn error(text: String) -> Self {
        Self { text, is_error: true }
    }
}

/// Builds the five tools, in the order of their use.
pub fn build_discovery_tools() -> Result<Vec<McpTool>, SchemaError> {
    let id = build_text_schema(
        "The tool's id as it was found, such as `mcp:git:log`.",
        MAX_ARGUMENT_CHARS,
    );
    let query = build_text_schema(
        "What the tool must do, in a few words, such as `list open issues`; with the product's name if you know it.",
        MAX_QUERY_CHARS,
    );
    let domain = build_text_schema("A domain of list_tool_domains.", MAX_ARGUMENT_CHARS);
    let limit = json!({
        "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT,
        "description": "Most tools to return.",
    });
    let any = json!({"type": "object", "description": "What the tool's own schema asks for."});
    let cursor = build_text_schema("Where the page before ended, as it said.", MAX_ARGUMENT_CHARS);
    [
        define_tool(
            DISCOVER,
            ["Find tools", DISCOVER_DESCRIPTION],
            build_object_schema(
                &["query"],
                &json!({"query": query, "domain": domain, "limit": limit}),
            ),
        ),
        define_tool(
            SCHEMA,
            ["Look at a tool", SCHEMA_DESCRIPTION],
            build_object_schema(&["tool"], &json!({"tool": id})),
        ),
        define_tool(
            EXECUTE,
            ["Call a tool", EXECUTE_DESCRIPTION],
            build_object_schema(&["tool", "arguments"], &json!({"tool": id, "arguments": any})),
        ),
        define_tool(
            DOMAINS,
            ["List domains of tools", DOMAINS_DESCRIPTION],
            build_object_schema(&[], &json!({})),
        ),
        define_tool(
            BROWSE,
            ["List the tools of a domain", BROWSE_DESCRIPTION],
            build_object_schema(&["domain"], &json!({"domain": domain, "cursor": cursor})),
        ),
    ]
    .into_iter()
    .collect()
}

const DISCOVER_DESCRIPTION: &str = "\
Finds tools of the connected toolkits by what they do. Returns one signature a line, best first. \
Call it before execute_tool whenever you do not know the exact tool; ask for one thing at a time.";
const SCHEMA_DESCRIPTION: &str = "\
Returns the description and the whole input schema of one tool. Call it before the first execute_tool of that tool.";
const EXECUTE_DESCRIPTION: &str = "\
Calls one tool of a toolkit and returns its result. The arguments must satisfy the schema that get_tool_schema returns.";
const DOMAINS_DESCRIPTION: &str = "\
Lists the domains, one for each connected toolkit, with the number of their tools and a few names.";
const BROWSE_DESCRIPTION: &str = "\
Lists the signatures of all tools of one domain by name. If there are more, the reply says with which cursor to go on.";

/// Parses a call of one of the five tools, or returns all faults.
pub fn parse_call(tool: &McpTool, arguments: Value) -> Result<DiscoveryCall, Vec<String>> {
    let name = tool.name();
    let DiscoveryArguments { query, domain, limit, tool: id, inner, cursor } =
        tool.arguments().validate_and_parse(arguments)?;
    Ok(match name {
        DISCOVER => {
            DiscoveryCall::Discover { query, domain, limit: limit.unwrap_or(DEFAULT_LIMIT) }
        }
        SCHEMA => DiscoveryCall::Schema { tool: id },
        EXECUTE => DiscoveryCall::Execute { tool: id, arguments: inner },
        BROWSE => DiscoveryCall::Browse { domain: domain.unwrap_or_default(), cursor },
        _ => DiscoveryCall::Domains,
    })
}

/// Arguments of all five tools; the schema of each tool has its required ones.
#[derive(Default, Deserialize)]
#[serde(default)]
struct DiscoveryArguments {
    query: String,
    domain: Option<String>,
    limit: Option<usize>,
    tool: String,
    #[serde(rename = "arguments")]
    inner: Map<String, Value>,
    cursor: Option<String>,
}

/// Replies with the tools that match a query.
pub fn reply_with_matches(
    index: &ToolIndex,
    query: &str,
    domain: Option<&str>,
    limit: usize,
) -> DiscoveryReply {
    if query.trim().is_empty() {
        return DiscoveryReply::error(
            "`query` is empty: say in a few words what the tool must do".to_owned(),
        );
    }
    if let Some(domain) = domain
        && index.browse_domain(domain, None).is_none()
    {
        return unknown_domain(index, domain);
    }
    let found = index.search(query, domain, limit.min(MAX_LIMIT));
    let total =
        domain.map_or(index.len(), |name| index.browse_domain(name, None).map_or(0, <[_]>::len));
    DiscoveryReply::text(render::render_matches(&found, total))
}

/// Replies with the description and schema of a tool; `input_schema` is the schema of `tool`.
pub fn reply_with_schema(
    index: &ToolIndex,
    tool: &str,
    input_schema: &Map<String, Value>,
) -> DiscoveryReply {
    match index.find_entry(tool) {
        Some(entry) => DiscoveryReply::text(render::render_schema(entry, input_schema)),
        None => unknown_tool(index, tool),
    }
}

/// Replies with the domains.
pub fn reply_with_domains(index: &ToolIndex) -> DiscoveryReply {
    DiscoveryReply::text(render::render_domains(index))
}

/// Replies with a page of a domain's tools.
pub fn reply_with_page(index: &ToolIndex, domain: &str, cursor: Option<&str>) -> DiscoveryReply {
    match index.browse_domain(domain, cursor) {
        Some(tools) => DiscoveryReply::text(render::render_page(domain, tools)),
        None => unknown_domain(index, domain),
    }
}

/// Replies that a tool does not exist, with up to three near names.
pub fn unknown_tool(index: &ToolIndex, tool: &str) -> DiscoveryReply {
    DiscoveryReply::error(render::render_unknown_name(
        "tool",
        tool,
        &index.nearest_ids(tool),
        DISCOVER,
    ))
}

fn unknown_domain(index: &ToolIndex, domain: &str) -> DiscoveryReply {
    DiscoveryReply::error(render::render_unknown_name(
        "domain",
        domain,
        &index.nearest_domains(domain),
        DOMAINS,
    ))
}

fn define_tool(
    name: &'static str,
    [title, description]: [&str; 2],
    arguments: Value,
) -> Result<McpTool, SchemaError> {
    // The effects of a tool called through `execute_tool` are unknown.
    let hints = if name == EXECUTE {
        ToolHints::default()
    } else {
        ToolHints { read_only: true, destructive: false, idempotent: true, open_world: false }
    };
    Ok(McpTool::with_hints(name, title, description, Schema::new(arguments)?, hints))
}

fn build_object_schema(required: &[&str], properties: &Value) -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": required,
        "properties": properties,
    })
}

fn build_text_schema(description: &str, most: usize) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": most, "description": description})
}

impl ToolkitGateway {
    /// Indexes tools on a blocking thread; a thousand tools take a tenth of a second.
    pub(super) async fn build_tool_index(
        &self,
        entries: Vec<ToolIndexEntry>,
    ) -> Option<Arc<ToolIndex>> {
        let model = self.0.model.clone();
        let indexing =
            self.0.parts.tasks.spawn_blocking(move || Arc::new(ToolIndex::new(entries, model)));
        indexing.await.ok()
    }

    /// Returns the current description of a toolkit's endpoint, with its tools.
    pub async fn toolkit_endpoint_info(&self, handle: &ToolkitHandle) -> EndpointInfo {
        match handle.known_offers().await {
            Some(offers) => offers.endpoint_info.clone(),
            // The toolkit was ready when the turn began; its calls report what happened since.
            None => quote::build_endpoint_info(handle.name()),
        }
    }

    /// Returns the description of the discovery endpoint; `None` if the model calls the turn's toolkits directly.
    pub fn discovery_endpoint_info(&self, grant: &Grant) -> Option<&EndpointInfo> {
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
        let reply = match parse_call(tool, arguments).map_err(ToolCallError::Arguments)? {
            DiscoveryCall::Discover { query, domain, limit } => {
                reply_with_matches(index, &query, domain.as_deref(), limit)
            }
            DiscoveryCall::Domains => reply_with_domains(index),
            DiscoveryCall::Browse { domain, cursor } => {
                reply_with_page(index, &domain, cursor.as_deref())
            }
            DiscoveryCall::Schema { tool } => match find_granted_tool(grant, index, &tool) {
                Some((handle, entry)) => match handle.find_listed_tool(&entry.name) {
                    Some(known) => reply_with_schema(index, &tool, &known.input_schema),
                    None => unknown_tool(index, &tool),
                },
                None => unknown_tool(index, &tool),
            },
            DiscoveryCall::Execute { tool, arguments } => {
                match find_granted_tool(grant, index, &tool) {
                    Some((handle, entry)) => {
                        return Ok(self
                            .call_tool(grant, handle, &entry.name, Value::Object(arguments))
                            .await);
                    }
                    None => unknown_tool(index, &tool),
                }
            }
        };
        let DiscoveryReply { text, is_error } = reply;
        Ok(if is_error { McpToolResult::error(text) } else { McpToolResult::text(text) })
    }
}

fn find_granted_tool<'a>(
    grant: &'a Grant,
    index: &'a ToolIndex,
    id: &str,
) -> Option<(&'a ToolkitHandle, &'a ToolIndexEntry)> {
    let entry = index.find_entry(id)?;
    let toolkit = entry.toolkit.as_ref()?;
    let handle = grant.toolkits().iter().find(|handle| handle.name() == toolkit)?;
    Some((handle, entry))
}

pub(super) fn build_index_entries(
    ready: &[(ToolkitHandle, Arc<ToolOffers>)],
) -> Vec<ToolIndexEntry> {
    let toolkit_entries =
        |(handle, offers): &(ToolkitHandle, Arc<ToolOffers>)| -> Vec<ToolIndexEntry> {
            let entry = |tool: &CatalogueTool| ToolIndexEntry {
                id: format_tool_id(handle.name(), &tool.name),
                toolkit: Some(handle.name().clone()),
                name: tool.name.clone(),
                title: tool.title.clone(),
                description: tool.description.clone(),
                parameters: parse_parameters(&tool.input_schema),
            };
            offers.tools.values().map(|offer| entry(&offer.tool)).collect()
        };
    ready.iter().flat_map(toolkit_entries).collect()
}

pub(super) fn format_tool_id(toolkit: &ToolkitName, tool: &str) -> String {
    format!("mcp:{toolkit}:{tool}")
}

#[cfg(test)]
mod tests;
