//! An endpoint for a client that works in a repository.

use std::sync::Arc;

use codeinfo_core::FOLDER_META;
use codeinfo_mcp::{Endpoint, EndpointInfo, JsonRpcError, McpTool, StartedCall, ToolCallError};
use futures_util::{future::BoxFuture, stream::BoxStream};
use serde_json::{Map, Value};

use super::ClientFolder;

/// The endpoint `inner` with the client's folder added to each call.
pub struct FolderEndpoint {
    inner: Arc<dyn Endpoint>,
    place: Arc<ClientFolder>,
}

impl FolderEndpoint {
    pub fn new(inner: Arc<dyn Endpoint>, place: Arc<ClientFolder>) -> Self {
        Self { inner, place }
    }
}

impl Endpoint for FolderEndpoint {
    fn endpoint_info(&self) -> &EndpointInfo {
        self.inner.endpoint_info()
    }

    fn load_instructions(&self) -> BoxFuture<'_, String> {
        self.inner.load_instructions()
    }

    fn list_tools(&self) -> BoxFuture<'_, Vec<McpTool>> {
        self.inner.list_tools()
    }

    fn watch_tool_changes(&self) -> Option<BoxStream<'static, ()>> {
        self.inner.watch_tool_changes()
    }

    fn gate_calls(&self) -> BoxFuture<'_, Result<(), JsonRpcError>> {
        self.inner.gate_calls()
    }

    fn gate_list(&self) -> BoxFuture<'_, Result<(), JsonRpcError>> {
        self.inner.gate_list()
    }

    fn call_tool<'a>(
        &'a self,
        tool: &'a McpTool,
        arguments: Value,
        mut meta: Map<String, Value>,
    ) -> BoxFuture<'a, Result<StartedCall, ToolCallError>> {
        meta.entry(FOLDER_META).or_insert_with(|| self.place.display_path().into());
        self.inner.call_tool(tool, arguments, meta)
    }
}
