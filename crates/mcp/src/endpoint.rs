//! Interface of an MCP endpoint: its name, its tools, and the results of their calls.

use futures_util::{
    FutureExt,
    future::{self, BoxFuture},
    stream::BoxStream,
};
use serde_json::{Map, Value, json};

use super::{JsonRpcError, Schema, SchemaError};

/// Description of an endpoint.
#[derive(Debug, Clone)]
pub struct EndpointInfo {
    /// Title for people.
    pub title: String,
    /// Instructions for a model; the first line, all that some clients show, states the purpose.
    pub instructions: String,
    pub tools: Vec<McpTool>,
    /// Set if all clients see the same for the lifetime of the server.
    pub shared: bool,
}

/// Reason for refusing a call.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolCallError {
    /// Invalid arguments, one sentence per fault. Each era has its own form of this error.
    Arguments(Vec<String>),
    Error(JsonRpcError),
}

/// A call that was accepted.
pub enum StartedCall {
    Done(McpToolResult),
    /// A running call. Dropping the stream stops the work.
    Running(BoxStream<'static, CallUpdate>),
}

/// An update of a running call. `Done` is the last one.
#[derive(Debug)]
pub enum CallUpdate {
    Progress(String),
    Done(Result<McpToolResult, ToolCallError>),
}

/// An MCP endpoint as one request sees it: raw search or the toolkits of a turn on the main
/// listener, or the question server.
pub trait Endpoint: Send + Sync + 'static {
    /// Returns the description of the endpoint for this request.
    fn endpoint_info(&self) -> &EndpointInfo;

    fn load_instructions(&self) -> BoxFuture<'_, String> {
        future::ready(self.endpoint_info().instructions.clone()).boxed()
    }

    /// Returns the current tools for `tools/list`. Their descriptions may include changing data.
    fn list_tools(&self) -> BoxFuture<'_, Vec<McpTool>> {
        future::ready(self.endpoint_info().tools.clone()).boxed()
    }

    /// Returns a stream with an item for each change of the list of tools; `None` if it never
    /// changes. The stream ends when the server stops. Dropping it ends the watch.
    fn watch_tool_changes(&self) -> Option<BoxStream<'static, ()>> {
        None
    }

    /// Refuses tool calls while they cannot work. Called before arguments are parsed.
    fn gate_calls(&self) -> BoxFuture<'_, Result<(), JsonRpcError>>;

    /// Refuses to list tools while they cannot work. An endpoint may list them nevertheless,
    /// because some clients never repeat a refused request.
    fn gate_list(&self) -> BoxFuture<'_, Result<(), JsonRpcError>> {
        self.gate_calls()
    }

    /// Calls `tool`, one of [`EndpointInfo::tools`]. `arguments` are not validated yet; `meta` has
    /// the members of the request's `_meta`.
    fn call_tool<'a>(
        &'a self,
        tool: &'a McpTool,
        arguments: Value,
        meta: Map<String, Value>,
    ) -> BoxFuture<'a, Result<StartedCall, ToolCallError>>;
}

/// Idempotence of a tool: a search is idempotent, a conversation is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolIdempotence {
    Idempotent,
    Changing,
}

/// Behaviour that clients may rely on, listed as `annotations`; the default is the protocol's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the protocol has these four")]
pub struct ToolHints {
    /// Calls change nothing.
    pub read_only: bool,
    /// Calls may destroy existing data.
    pub destructive: bool,
    /// A repeated call changes nothing more.
    pub idempotent: bool,
    /// Calls affect more than this machine.
    pub open_world: bool,
}

impl Default for ToolHints {
    fn default() -> Self {
        Self { read_only: false, destructive: true, idempotent: false, open_world: true }
    }
}

/// A tool. Its schema validates each call before the endpoint sees it.
#[derive(Debug, Clone)]
pub struct McpTool {
    name: String,
    arguments: Schema,
    listed: Value,
}

impl McpTool {
    /// Creates a read-only tool.
    pub fn new(
        name: &str,
        title: &str,
        description: &str,
        arguments: Value,
        idempotence: ToolIdempotence,
    ) -> Result<Self, SchemaError> {
        let idempotent = idempotence == ToolIdempotence::Idempotent;
        let hints =
            ToolHints { read_only: true, destructive: false, idempotent, open_world: false };
        Ok(Self::with_hints(name, title, description, Schema::new(arguments)?, hints))
    }

    /// Creates a tool with `hints`.
    pub fn with_hints(
        name: &str,
        title: &str,
        description: &str,
        arguments: Schema,
        hints: ToolHints,
    ) -> Self {
        let listed = json!({
            "name": name,
            "title": title,
            "description": description,
            "inputSchema": arguments.value(),
            // All four hints are explicit, because the protocol's default is "destructive".
            "annotations": {
                "title": title,
                "readOnlyHint": hints.read_only,
                "destructiveHint": hints.destructive,
                "idempotentHint": hints.idempotent,
                "openWorldHint": hints.open_world,
            },
        });
        Self { name: name.to_owned(), arguments, listed }
    }

    /// Replaces the listed description.
    #[must_use]
    pub fn with_listed_description(mut self, description: &str) -> Self {
        if let Some(listed) = self.listed.get_mut("description") {
            *listed = description.into();
        }
        self
    }

    /// Replaces the listed schema by what clients support; validation keeps the original one.
    #[must_use]
    pub fn with_listed_schema(mut self, schema: Value) -> Self {
        if let Some(listed) = self.listed.get_mut("inputSchema") {
            *listed = schema;
        }
        self
    }

    /// Adds a member to `_meta` of the list entry.
    #[must_use]
    pub fn with_listed_meta(mut self, key: &str, value: Value) -> Self {
        if let Some(listed) = self.listed.as_object_mut() {
            let meta = listed.entry("_meta").or_insert_with(|| json!({}));
            meta.as_object_mut().map(|meta| meta.insert(key.to_owned(), value));
        }
        self
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn arguments(&self) -> &Schema {
        &self.arguments
    }

    /// Returns the entry of `tools/list`.
    pub fn as_list_entry(&self) -> &Value {
        &self.listed
    }
}

/// Result of a call: one text for a model.
#[derive(Debug, Clone, PartialEq)]
pub struct McpToolResult {
    text: String,
    is_error: bool,
    meta: Option<Map<String, Value>>,
}

impl McpToolResult {
    pub fn text(text: String) -> Self {
        Self { text, is_error: false, meta: None }
    }

    /// Creates the result of a failure that the calling model can act on.
    pub fn error(text: String) -> Self {
        Self { text, is_error: true, meta: None }
    }

    /// Replaces the text.
    #[must_use]
    pub fn map_text(mut self, change: impl FnOnce(String) -> String) -> Self {
        self.text = change(self.text);
        self
    }

    /// Adds a member to `_meta`, which clients see and models do not.
    #[must_use]
    pub fn with_meta(mut self, key: &str, value: Value) -> Self {
        self.meta.get_or_insert_default().insert(key.to_owned(), value);
        self
    }

    /// Returns whether the result reports a failure.
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    pub(super) fn into_members(self) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert("content".to_owned(), json!([{ "type": "text", "text": self.text }]));
        if self.is_error {
            members.insert("isError".to_owned(), Value::Bool(true));
        }
        if let Some(meta) = self.meta {
            members.insert("_meta".to_owned(), Value::Object(meta));
        }
        members
    }
}
