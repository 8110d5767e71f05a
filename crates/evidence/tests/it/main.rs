//! Evidence from real indexes.
#![cfg(test)]

mod caller_changes;
mod commits;
mod graph_property;
mod history;
mod impact;
mod relations;
mod scip_files;
mod use_counts;
