//! What the main HTTP API replies, as the server writes it and the command line reads it. Field names are a wire promise.

mod chat;
mod health;
mod roots;
mod tokens;

pub use chat::{
    Answered, Begun, FilesFound, Frame, Origin, Source, Text, ToolRequest, ToolResult, Unanswered,
};
pub use health::{
    CodexHealth, EmbedderHealth, Health, McpHealth, SandboxHealth, StoreHealth, UnreadRepo,
    WholeHealth,
};
pub use roots::{ListedRoot, Removed, RemovedRoot, Repo, Repos, Roots, Started};
pub use tokens::{ConfigStored, ListedToken, Revoked, TokenList, TokenMade};
