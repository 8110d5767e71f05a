//! What the main HTTP API replies, as the server writes it and the command line reads it. Field names are a wire promise.

mod chat;
mod conversations;
mod health;
mod listing;
mod map;
mod roots;
mod source;
mod tokens;
mod toolkits;

pub use crate::gateway::Source;
pub use chat::{
    Answered, Begun, FilesFound, Frame, Origin, Text, ToolRequest, ToolResult, Unanswered, Warned,
};
pub use conversations::{
    AboutConversation, Asked, Conversations, Deleted, DeletedAll, ListedConversation,
    NumberedFrame, TurnBegun, TurnStands, WholeConversation, WholeTurn,
};
pub use health::{
    CodexHealth, EmbedderHealth, Health, McpHealth, SandboxHealth, StoreHealth, ToolkitHealth,
    UnreadRepo, WholeHealth,
};
pub use listing::{ListedHit, Listing, Part};
pub use map::{DrawnFile, DrawnFolder, DrawnLink, FilesDrawn, FoldersDrawn};
pub use roots::{ListedRoot, Removed, RemovedRoot, Repo, Repos, Roots, Started};
pub use source::{LineShown, SourceShown};
pub use tokens::{ConfigStored, ListedToken, Revoked, TokenList, TokenMade};
pub use toolkits::{AllowedFile, ProposedToolkit, ToolAnswer};
