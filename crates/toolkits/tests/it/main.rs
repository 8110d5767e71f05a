//! Toolkits as people write them, and which of them a turn has.
#![cfg(test)]

mod documents;
mod layers;
mod tool_changes;
