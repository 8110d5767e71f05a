//! JSON-RPC 2.0 and the wire rules of both eras of the Model Context Protocol: POST in, reply out.
//!
//! The crate has no I/O, no HTTP types and no tools. An edge passes headers and a body, provides
//! its tools through [`Endpoint`], and sends the result of [`answer_post`].

mod answer;
mod calls;
mod endpoint;
mod era;
mod message;
mod method;
mod post;
mod schema;
mod stream;

pub use answer::{McpContext, McpReply, answer_post};
pub use calls::CallRegistry;
pub use endpoint::{
    CallUpdate, Endpoint, EndpointInfo, McpTool, McpToolResult, StartedCall, ToolCallError,
    ToolHints, ToolIdempotence,
};
pub use message::{CLIENT_KEY, JsonRpcError};
pub use post::{McpPost, name_session};
pub use schema::{Schema, SchemaError};
pub use stream::{open_change_stream, tools_changed_message};
