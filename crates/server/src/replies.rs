//! Replies of the main HTTP API that the command line reads. Field names are a wire promise.

pub use codeinfo_ingest::TreeAdditions;
pub use codeinfo_toolkits::ToolEntrySource;

pub use crate::api::{
    chat_frame::{ChatFrame, ToolOrigin},
    credentials::{CreateTokenReply, ListedToken, SessionCode, TokenList},
    health::{ExcludedRepo, HealthReply, SandboxHealth},
    ingest::{ListedRoot, RootsReply, StartRunReply, StoredScip},
    repos::{IngestedRepo, IngestedRepos},
    source::SourceLines,
    toolkit_config::StoreConfigReply,
    toolkits::{AllowedFile, ToolAnswer},
    turns::StartTurnReply,
};
