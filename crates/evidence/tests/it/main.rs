//! Evidence from real indexes.
#![cfg(test)]

mod graph_property;
mod relations;
mod use_counts;
