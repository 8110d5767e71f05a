//! The JSON-RPC layer, judged from outside.
#![cfg(test)]

mod frames;
mod judge;
mod properties;
