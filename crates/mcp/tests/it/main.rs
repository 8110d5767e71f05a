//! The JSON-RPC layer, judged from outside.
#![cfg(test)]

mod judge;
mod properties;
