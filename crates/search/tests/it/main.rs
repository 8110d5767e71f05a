//! Search and evidence with a real store and the built-in model.
#![cfg(test)]

mod relations;
mod search;
mod use_counts;
