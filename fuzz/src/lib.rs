//! The layers of CodeInfo that are fuzzed, and what they stand on, linked from `../src`.

pub mod config;
pub mod ignored;
pub mod ingest;
pub mod rpc;
