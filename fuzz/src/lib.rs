//! The JSON-RPC layer of CodeInfo, and what it stands on, linked from `../src`.

pub mod config;
pub mod rpc;
