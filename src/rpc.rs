//! JSON-RPC 2.0 and the wire rules of the Model Context Protocol, for both endpoints.
//!
//! Deliberately absent: HTTP types and tools. An edge hands over headers and a body, names its tools
//! through [`Endpoint`], and sends what [`answer`] returns.
//!
//! One implementation serves both endpoints and both eras of the protocol, chosen for each request
//! by its body. There are no session ids: every request can be served by a process that has just
//! started.

mod accept;
mod endpoint;
mod era;
mod incoming;
mod message;
mod method;
mod modern;
mod post;
mod progress;
mod schema;
mod tool;

pub use endpoint::{About, Call, Endpoint, Refusal, Update};
pub use incoming::Post;
pub use message::Error;
pub use post::{Reply, answer};
pub use schema::{Schema, SchemaError};
pub use tool::{Openness, Tool, ToolResult};
