//! The endpoints by which a turn uses its toolkits: one for each, or one that discovers their tools.

use std::sync::Arc;

use codeinfo_mcp::{About, Call, CallError, Endpoint, Error, Tool, ToolResult, Update};
use codeinfo_toolkits::{Gateway, Grant, Member};
use futures_util::{FutureExt, StreamExt, future, future::BoxFuture, stream};
use serde_json::{Map, Value};

use crate::api::error::ApiError;

/// An endpoint for a client that shows the grant of a turn.
pub(in crate::api) struct Toolkits {
    gateway: Gateway,
    grant: Arc<Grant>,
    /// The toolkit; `None` discovers the tools of all.
    member: Option<Member>,
    about: About,
}

impl Toolkits {
    /// Returns the endpoint of the toolkit `name`, or of all, if `bearer` is a grant that holds now.
    pub(in crate::api) async fn of(
        gateway: &Gateway,
        bearer: Option<&str>,
        name: Option<&str>,
    ) -> Result<Self, ApiError> {
        let grant = bearer.and_then(|bearer| gateway.grant(bearer));
        let ended =
            codeinfo_http::HttpError::Unauthorized("this needs the grant of a turn that runs");
        let grant = grant.ok_or(ended)?;
        let missing = || ApiError::from(codeinfo_http::HttpError::RouteNotFound);
        let Some(name) = name else {
            let about = gateway.about_discovery(&grant).ok_or_else(missing)?.clone();
            return Ok(Self { gateway: gateway.clone(), grant, member: None, about });
        };
        let member = grant.members().iter().find(|member| member.name().as_str() == name);
        let member = member.ok_or_else(missing)?.clone();
        let about = gateway.about(&member).await;
        Ok(Self { gateway: gateway.clone(), grant, member: Some(member), about })
    }
}

impl Endpoint for Toolkits {
    fn about(&self) -> &About {
        &self.about
    }

    fn gate(&self) -> BoxFuture<'_, Result<(), Error>> {
        future::ready(Ok(())).boxed()
    }

    fn call<'a>(
        &'a self,
        tool: &'a Tool,
        arguments: Value,
        _: Map<String, Value>,
    ) -> BoxFuture<'a, Result<Call, CallError>> {
        let (gateway, grant) = (self.gateway.clone(), Arc::clone(&self.grant));
        let (member, tool) = (self.member.clone(), tool.clone());
        // A client that goes away drops the stream, and with it the call.
        let calling = async move {
            let called: Result<ToolResult, CallError> = match member {
                Some(member) => Ok(gateway.call(&grant, &member, tool.name(), arguments).await),
                None => gateway.discover(&grant, &tool, arguments).await,
            };
            Update::Done(called)
        };
        future::ready(Ok(Call::Running(stream::once(calling).boxed()))).boxed()
    }
}
