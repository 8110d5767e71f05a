//! Endpoints for the toolkits of a turn: one for each toolkit, or one that discovers all tools.

use std::sync::Arc;

use codeinfo_mcp::{
    CallUpdate, Endpoint, EndpointInfo, JsonRpcError, McpTool, McpToolResult, StartedCall,
    ToolCallError,
};
use codeinfo_toolkits::{Grant, ToolkitGateway, ToolkitHandle};
use futures_util::{FutureExt, StreamExt, future, future::BoxFuture, stream};
use serde_json::{Map, Value};

use crate::api::error::ApiError;

/// Endpoint for a client that presents the grant of a turn.
pub(in crate::api) struct ToolkitEndpoint {
    gateway: ToolkitGateway,
    grant: Arc<Grant>,
    /// The toolkit; `None` discovers the tools of all.
    member: Option<ToolkitHandle>,
    about: EndpointInfo,
}

impl ToolkitEndpoint {
    /// Returns the endpoint of the toolkit `name`, or of all, if `bearer` is a valid grant.
    pub(in crate::api) async fn for_grant(
        gateway: &ToolkitGateway,
        bearer: Option<&str>,
        name: Option<&str>,
    ) -> Result<Self, ApiError> {
        let found = bearer.and_then(|bearer| gateway.find_grant(bearer));
        let ended =
            codeinfo_http::HttpError::Unauthorized("this needs the grant of a turn that runs");
        let grant = found.ok_or(ended)?;
        let missing = || ApiError::from(codeinfo_http::HttpError::RouteNotFound);
        let Some(name) = name else {
            let about = gateway.discovery_endpoint_info(&grant).ok_or_else(missing)?.clone();
            return Ok(Self { gateway: gateway.clone(), grant, member: None, about });
        };
        let toolkit = grant.toolkits().iter().find(|member| member.name().as_str() == name);
        let member = toolkit.ok_or_else(missing)?.clone();
        let about = gateway.toolkit_endpoint_info(&member).await;
        Ok(Self { gateway: gateway.clone(), grant, member: Some(member), about })
    }
}

impl Endpoint for ToolkitEndpoint {
    fn endpoint_info(&self) -> &EndpointInfo {
        &self.about
    }

    fn gate_calls(&self) -> BoxFuture<'_, Result<(), JsonRpcError>> {
        future::ready(Ok(())).boxed()
    }

    fn call_tool<'a>(
        &'a self,
        tool: &'a McpTool,
        arguments: Value,
        _: Map<String, Value>,
    ) -> BoxFuture<'a, Result<StartedCall, ToolCallError>> {
        let gateway = self.gateway.clone();
        let grant = Arc::clone(&self.grant);
        let member = self.member.clone();
        let tool = tool.clone();
        // A client that disconnects drops the stream, which cancels the call.
        let calling = async move {
            let called: Result<McpToolResult, ToolCallError> = match member {
                Some(member) => {
                    Ok(gateway.call_tool(&grant, &member, tool.name(), arguments).await)
                }
                None => gateway.call_discovery_tool(&grant, &tool, arguments).await,
            };
            CallUpdate::Done(called)
        };
        future::ready(Ok(StartedCall::Running(stream::once(calling).boxed()))).boxed()
    }
}
