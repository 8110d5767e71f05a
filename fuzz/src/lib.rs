//! What is fuzzed of the product, linked from `../src`.

pub mod ignored;
pub mod ingest;
#[allow(dead_code, unused_imports, reason = "only a part of what uses it is here")]
pub mod secret;
