//! The HTTP API, the MCP endpoints and the page, over the services that answer them.

pub mod api;
pub mod gate;
pub mod mcp;
pub mod mcp_http;
pub mod relay;
pub mod replies;
pub mod takeover;
