//! Evidence from real indexes.
#![cfg(test)]

mod graph_property;
mod impact;
mod relations;
mod use_counts;
