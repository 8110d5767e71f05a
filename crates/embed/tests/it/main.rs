//! Embedders against their contract: the built-in model, and a service behind a stand-in.
#![cfg(test)]

mod service;
mod suite;
