//! What an MCP endpoint brings: its name, its tools, and what they do.

use futures_util::{
    FutureExt,
    future::{self, BoxFuture},
    stream::BoxStream,
};
use serde_json::{Map, Value};

use super::{JsonRpcError, McpTool, McpToolResult};

/// What an endpoint says of itself.
#[derive(Debug, Clone)]
pub struct EndpointInfo {
    /// Title shown to people.
    pub title: String,
    /// For a model. Its first line alone says what the server is for, since some clients show no
    /// more than that.
    pub instructions: String,
    pub tools: Vec<McpTool>,
    /// Whether every client sees the same, as long as the server runs.
    pub shared: bool,
}

/// Why a call is refused.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolCallError {
    /// The arguments are at fault, one sentence each. Each era has its own form for this.
    Arguments(Vec<String>),
    /// Anything else.
    Error(JsonRpcError),
}

/// A call that was let through.
pub enum StartedCall {
    /// Already answered.
    Done(McpToolResult),
    /// Takes its time. Dropping the stream stops the work.
    Running(BoxStream<'static, CallUpdate>),
}

/// An update of a running call. `Done` is the last.
#[derive(Debug)]
pub enum CallUpdate {
    /// Something for a person to read meanwhile.
    Progress(String),
    Done(Result<McpToolResult, ToolCallError>),
}

/// An MCP endpoint, as one request sees it. Those that are shipped: raw search and the toolkits of a turn on the
/// main listener, and the question server.
pub trait Endpoint: Send + Sync + 'static {
    /// Returns what the endpoint is for this request.
    fn endpoint_info(&self) -> &EndpointInfo;

    /// Returns what a model should know of the endpoint now.
    fn load_instructions(&self) -> BoxFuture<'_, String> {
        future::ready(self.endpoint_info().instructions.clone()).boxed()
    }

    /// Returns the tools as `tools/list` shows them now: their descriptions may name what changes meanwhile.
    fn list_tools(&self) -> BoxFuture<'_, Vec<McpTool>> {
        future::ready(self.endpoint_info().tools.clone()).boxed()
    }

    /// Returns a stream of the moments at which another list of tools is to be had, which ends when the
    /// server stops; `None` if it never is. Dropping it ends the watch.
    fn watch_tool_changes(&self) -> Option<BoxStream<'static, ()>> {
        None
    }

    /// Refuses to call tools while they cannot work. Asked before arguments are read.
    fn gate_calls(&self) -> BoxFuture<'_, Result<(), JsonRpcError>>;

    /// Refuses to list tools while they cannot work. An endpoint may list them all the same: some clients never
    /// ask again for a list that was refused.
    fn gate_list(&self) -> BoxFuture<'_, Result<(), JsonRpcError>> {
        self.gate_calls()
    }

    /// Calls the tool named `tool`, one of [`About::tools`], with arguments not yet validated, and what
    /// the client says beside them in `_meta`.
    fn call_tool<'a>(
        &'a self,
        tool: &'a McpTool,
        arguments: Value,
        meta: Map<String, Value>,
    ) -> BoxFuture<'a, Result<StartedCall, ToolCallError>>;
}
