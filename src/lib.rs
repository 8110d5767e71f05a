//! CodeInfo: grounded answers to questions about indexed repositories.
//!
//! `design.md` explains the layers, `projectStructure.md` says where each behaviour lives.

pub mod api;
pub mod app;
pub mod archive;
mod atomic;
mod beneath;
pub mod chat;
pub mod cite;
pub mod cli;
pub mod codex;
pub mod config;
mod decode;
mod documents;
pub mod domain;
pub mod embed;
pub mod error;
pub mod evidence;
mod foreign;
pub mod gateway;
mod git;
pub mod ingest;
pub mod install;
pub mod mcp;
pub mod mcp_http;
pub mod net;
pub mod private_places;
mod program;
pub mod relay;
pub mod replies;
mod root_link;
pub mod run;
pub mod search;
mod secret;
pub mod service;
pub mod store;
pub mod task;
pub mod telemetry;
pub mod tls;
pub mod toolkit;
pub mod vault;
