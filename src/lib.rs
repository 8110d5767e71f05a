//! CodeInfo: grounded answers to questions about indexed repositories.
//!
//! `design.md` explains the layers; `projectStructure.md` locates each behaviour.

pub mod app;
pub mod cli;
pub mod config;
mod documents;
pub mod install;
pub mod run;
pub mod service;
