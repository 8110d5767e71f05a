//! Helpers of the end-to-end tests: the real Codex, a model that replays scripts, a search that knows one
//! file, a browser, and the real program.

pub(crate) mod browser;
pub(crate) mod codex;
pub(crate) mod compose;
pub(crate) mod container;
pub(crate) mod harness;
pub(crate) mod install;
pub(crate) mod model;
pub(crate) mod process;
pub(crate) mod relay;
pub(crate) mod search;
pub(crate) mod terminal;
pub(crate) mod toolkit;
