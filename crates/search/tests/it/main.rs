//! Search and evidence with a real store and the built-in model.
#![cfg(test)]

mod graph_property;
mod relations;
mod search;
mod use_counts;
