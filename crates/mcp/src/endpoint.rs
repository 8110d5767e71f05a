//! Interface of an MCP endpoint: its name, its tools and their implementation.

use futures_util::{
    FutureExt,
    future::{self, BoxFuture},
    stream::BoxStream,
};
use serde_json::{Map, Value};

use super::{JsonRpcError, McpTool, McpToolResult};

/// Description of an endpoint.
#[derive(Debug, Clone)]
pub struct EndpointInfo {
    /// Title for people.
    pub title: String,
    /// Instructions for a model. The first line must state the purpose of the server, since some
    /// clients display only that line.
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
    /// Any other error.
    Error(JsonRpcError),
}

/// A call that was accepted.
pub enum StartedCall {
    /// A finished call.
    Done(McpToolResult),
    /// A running call. Dropping the stream stops the work.
    Running(BoxStream<'static, CallUpdate>),
}

/// An update of a running call. `Done` is the last one.
#[derive(Debug)]
pub enum CallUpdate {
    /// Progress text for people.
    Progress(String),
    Done(Result<McpToolResult, ToolCallError>),
}

/// An MCP endpoint as one request sees it.
///
/// Implementations are raw search and the toolkits of a turn on the main listener, and the question
/// server.
pub trait Endpoint: Send + Sync + 'static {
    /// Returns the description of the endpoint for this request.
    fn endpoint_info(&self) -> &EndpointInfo;

    /// Loads the current instructions for a model.
    fn load_instructions(&self) -> BoxFuture<'_, String> {
        future::ready(self.endpoint_info().instructions.clone()).boxed()
    }

    /// Returns the current tools for `tools/list`. Their descriptions may include changing data.
    fn list_tools(&self) -> BoxFuture<'_, Vec<McpTool>> {
        future::ready(self.endpoint_info().tools.clone()).boxed()
    }

    /// Returns a stream with an item for each change of the list of tools; `None` if it never
    /// changes.
    ///
    /// The stream ends when the server stops. Dropping it ends the watch.
    fn watch_tool_changes(&self) -> Option<BoxStream<'static, ()>> {
        None
    }

    /// Refuses tool calls while they cannot work. Called before arguments are parsed.
    fn gate_calls(&self) -> BoxFuture<'_, Result<(), JsonRpcError>>;

    /// Refuses to list tools while they cannot work.
    ///
    /// An endpoint may list them nevertheless, because some clients never repeat a refused request.
    fn gate_list(&self) -> BoxFuture<'_, Result<(), JsonRpcError>> {
        self.gate_calls()
    }

    /// Calls `tool`, one of [`EndpointInfo::tools`].
    ///
    /// `arguments` are not validated yet. `meta` has the members of the request's `_meta`.
    fn call_tool<'a>(
        &'a self,
        tool: &'a McpTool,
        arguments: Value,
        meta: Map<String, Value>,
    ) -> BoxFuture<'a, Result<StartedCall, ToolCallError>>;
}
