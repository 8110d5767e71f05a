//! Searches with a real store and the built-in model.
#![cfg(test)]

mod search;
