//! What tests are made of: the real Codex, a model that replays scripts, the real program.

pub(crate) mod codex;
pub(crate) mod model;
pub(crate) mod process;
