//! JSON-RPC 2.0 and the wire rules of the Model Context Protocol, both eras: a POST in, a reply out.
//!
//! Deliberately absent: I/O, HTTP types and tools. An edge hands over headers and a body, names its tools
//! through [`Endpoint`], and sends what [`answer`] returns.

mod accept;
mod answer;
mod calls;
mod endpoint;
mod era;
mod foreign;
mod listen;
mod message;
mod method;
mod modern;
mod post;
mod progress;
mod schema;
mod tool;

pub use answer::{McpContext, McpReply, answer_post};
pub use calls::CallRegistry;
pub use endpoint::{CallUpdate, Endpoint, EndpointInfo, StartedCall, ToolCallError};
pub use listen::{open_change_stream, tools_changed_message};
pub use message::{CLIENT_KEY, JsonRpcError};
pub use post::{McpPost, name_session};
pub use schema::{Schema, SchemaError};
pub use tool::{McpTool, McpToolResult, ToolHints, ToolIdempotence};
