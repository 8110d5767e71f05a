//! Tests of the history of repositories that git made.
#![cfg(test)]

mod commits;
mod files;
mod hostile;
mod lines;
mod support;
