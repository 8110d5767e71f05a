//! What is fuzzed of the product. Ignore files are read by a file of a crate that would bring the store with it: it is linked.

pub mod ignored;
pub mod ingest;
