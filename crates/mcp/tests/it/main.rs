//! Integration tests of the JSON-RPC layer.
#![cfg(test)]

mod frames;
mod judge;
mod properties;
