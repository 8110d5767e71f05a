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

pub use answer::{Bounds, Reply, answer};
pub use calls::Calls;
pub use endpoint::{About, Call, CallError, Endpoint, Update};
pub use listen::{changed, listen};
pub use message::{CLIENT_KEY, Error};
pub use post::{Post, name_session};
pub use schema::{Schema, SchemaError};
pub use tool::{Hints, Idempotence, Tool, ToolResult};
