//! The integration tests, one binary: the house rules, each engine's suite, the wire contracts, and
//! end to end with the real Codex.
#![cfg(test)]

mod tidy;
