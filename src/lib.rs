//! CodeInfo: grounded answers to questions about indexed repositories.
//!
//! `design.md` explains the layers, `projectStructure.md` says where each behaviour lives.

pub mod api;
pub mod app;
pub mod archive;
pub mod chat;
pub mod cite;
pub mod cli;
pub mod config;
mod documents;
pub mod evidence;
pub mod gateway;
pub mod ingest;
pub mod install;
pub mod mcp;
pub mod mcp_http;
pub mod relay;
pub mod replies;
pub mod run;
pub mod search;
pub mod service;
pub mod toolkit;
