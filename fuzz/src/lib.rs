//! What is fuzzed of the product, linked from `../src`.

pub mod ignored;
pub mod ingest;
