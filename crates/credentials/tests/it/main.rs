//! The store of tokens and configurations as files on disk.
#![cfg(test)]

mod store;
