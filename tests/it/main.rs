//! The integration tests, one binary: the house rules, each engine's suite, the wire contracts, and
//! end to end with the real Codex.
#![cfg(test)]

mod command_line;
mod embed_suite;
mod settings;
mod store_suite;
mod support;
mod tidy;
