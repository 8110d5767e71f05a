//! Embedders against their contract: the built-in model, and a fake service.
#![cfg(test)]

mod service;
mod suite;
