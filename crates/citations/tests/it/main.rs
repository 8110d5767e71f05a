//! Citations of answers against a real index: what is right is verified, and what is wrong is found.
#![cfg(test)]

mod answers;
mod kinds;
mod planted;
mod states;
