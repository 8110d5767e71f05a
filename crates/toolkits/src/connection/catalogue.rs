//! Reads the tool list of a toolkit within bounds, and records why tools were left out.

use std::{collections::BTreeSet, time::Duration};

use rmcp::{
    RoleClient,
    model::{CallToolResult, PaginatedRequestParams, ToolAnnotations},
    service::{Peer, ServiceError},
};
use serde_json::{Map, Value};

const MAX_TOOLS: usize = 512;
const MAX_PAGES: usize = 64;
/// Maximum bytes of a tool's schema as JSON.
const MAX_SCHEMA_BYTES: usize = 64 * 1024;
const MAX_NAME_BYTES: usize = 128;
const MAX_TITLE_BYTES: usize = 256;
const MAX_DESCRIPTION_BYTES: usize = 16 * 1024;
/// Maximum omitted tools that are named.
const MAX_LEFT_OUT: usize = 100;

/// Tools of a toolkit at one time. A new catalogue replaces it as a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCatalogue {
    /// Incremented at each start of the server and each change of its list.
    pub generation: u64,
    pub tools: Vec<CatalogueTool>,
    pub omitted_tools: Vec<(String, String)>,
}

/// Tool of a catalogue. Missing hints have the defaults of the protocol.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "the protocol has four hints")]
pub struct CatalogueTool {
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    pub input_schema: Map<String, Value>,
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
    pub open_world: bool,
}

/// Result of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallResult {
    /// Content blocks as the server sent them.
    pub content: Vec<Value>,
    pub structured: Option<Value>,
    /// Set if the tool failed; the content describes the failure.
    pub is_error: bool,
    /// Time to live that the server states for the result.
    pub ttl: Option<Duration>,
}

impl ToolCatalogue {
    /// Returns the tool with that name.
    pub fn find_tool(&self, name: &str) -> Option<&CatalogueTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

pub(super) async fn fetch_catalogue(
    peer: &Peer<RoleClient>,
) -> Result<ToolCatalogue, ServiceError> {
    let mut listed = CatalogueBuilder::default();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let asked = PaginatedRequestParams::default().with_cursor(cursor.take());
        let page = peer.list_tools(Some(asked)).await?;
        page.tools.into_iter().for_each(|tool| listed.add_tool(tool));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    if cursor.is_some() {
        listed.omit_tool("…", format!("the list has more than {MAX_PAGES} pages"));
    }
    Ok(listed.build())
}

#[derive(Debug, Default)]
struct CatalogueBuilder {
    names: BTreeSet<String>,
    tools: Vec<CatalogueTool>,
    omitted_tools: Vec<(String, String)>,
    /// Number of omitted tools that are not named.
    unnamed: usize,
}

impl CatalogueBuilder {
    fn add_tool(&mut self, tool: rmcp::model::Tool) {
        let schema = serde_json::to_vec(&*tool.input_schema).map_or(usize::MAX, |json| json.len());
        let fault = if self.tools.len() >= MAX_TOOLS {
            Some(format!("a toolkit has at most {MAX_TOOLS} tools"))
        } else if tool.name.is_empty() || tool.name.chars().any(|c| c.is_control() || c == ' ') {
            Some("its name is empty, or has spaces".to_owned())
        } else if tool.name.len() > MAX_NAME_BYTES {
            Some(format!("its name has more than {MAX_NAME_BYTES} bytes"))
        } else if schema > MAX_SCHEMA_BYTES {
            Some(format!("its schema has more than {MAX_SCHEMA_BYTES} bytes"))
        } else if self.names.contains(&*tool.name) {
            Some("another tool has its name".to_owned())
        } else {
            None
        };
        if let Some(fault) = fault {
            self.omit_tool(&tool.name, fault);
        } else {
            self.names.insert(tool.name.clone().into_owned());
            self.tools.push(CatalogueTool::from(tool));
        }
    }

    fn omit_tool(&mut self, name: &str, why: String) {
        if self.omitted_tools.len() < MAX_LEFT_OUT {
            self.omitted_tools.push((truncate_text(name, MAX_NAME_BYTES), why));
        } else {
            self.unnamed += 1;
        }
    }

    fn build(mut self) -> ToolCatalogue {
        if self.unnamed > 0 {
            self.omitted_tools.push(("…".to_owned(), format!("and {} more", self.unnamed)));
        }
        ToolCatalogue { generation: 0, tools: self.tools, omitted_tools: self.omitted_tools }
    }
}

impl From<rmcp::model::Tool> for CatalogueTool {
    fn from(tool: rmcp::model::Tool) -> Self {
        let hints: ToolAnnotations = tool.annotations.unwrap_or_default();
        let read_only = hints.read_only_hint.unwrap_or(false);
        Self {
            name: tool.name.into_owned(),
            title: tool.title.or(hints.title).map(|title| truncate_text(&title, MAX_TITLE_BYTES)),
            description: truncate_text(
                &tool.description.unwrap_or_default(),
                MAX_DESCRIPTION_BYTES,
            ),
            input_schema: (*tool.input_schema).clone(),
            read_only,
            destructive: !read_only && hints.destructive_hint.unwrap_or(true),
            idempotent: hints.idempotent_hint.unwrap_or(false),
            open_world: hints.open_world_hint.unwrap_or(true),
        }
    }
}

impl From<CallToolResult> for CallResult {
    fn from(result: CallToolResult) -> Self {
        let ttl_ms = result.meta.as_ref().and_then(|meta| meta.get("ttlMs")?.as_u64());
        let content = result.content.into_iter();
        Self {
            content: content.filter_map(|block| serde_json::to_value(block).ok()).collect(),
            structured: result.structured_content,
            is_error: result.is_error.unwrap_or(false),
            ttl: ttl_ms.map(Duration::from_millis),
        }
    }
}

/// Truncates `text` to at most `max` bytes, and marks the cut with `…`.
fn truncate_text(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    format!("{}…", text.split_at(text.floor_char_boundary(max)).0)
}
