//! Citations of answers against a real index: right ones are verified, and wrong ones are found.
#![cfg(test)]

mod answers;
mod commits;
mod kinds;
mod planted;
mod states;
