//! What the main HTTP API replies, as the server writes it and the command line reads it. Field names are a wire promise.

mod chat;
mod conversations;
mod folders;
mod health;
mod listing;
mod map;
mod repository;
mod roots;
mod settings;
mod source;
mod tokens;
mod toolkits;

pub use chat::{
    Answered, Begun, FilesFound, Frame, Origin, Text, ToolRequest, ToolResult, Unanswered, Warned,
};
pub use codeinfo_toolkits::Source;
pub use conversations::{
    AboutConversation, Asked, Conversations, Deleted, DeletedAll, ListedConversation,
    NumberedFrame, TurnBegun, TurnStands, WholeConversation, WholeTurn,
};
pub use folders::{Folders, ListedFolder, PageConfig};
pub use health::{
    CodexHealth, EmbedderHealth, Health, McpHealth, SandboxHealth, StoreHealth, ToolkitHealth,
    UnreadRepo, WholeHealth,
};
pub use listing::{ListedHit, Listing, Part};
pub use map::{DrawnFile, DrawnFolder, DrawnLink, FilesDrawn, FoldersDrawn};
pub use repository::{EndedRun, LanguageShare, SkippedFile, WatchState, WholeRepository};
pub use roots::{
    Adds, ListedRoot, OmittedCount, Removed, RemovedRoot, Repo, Repos, Roots, Started,
};
pub use settings::{ListedFailure, ListedSetting, RecentFailures, Settings};
pub use source::{LineShown, SourceShown};
pub use tokens::{
    ConfigStored, ListedToken, Revoked, SessionCode, SessionOpened, TokenList, TokenMade,
};
pub use toolkits::{AllowedFile, ProposedToolkit, ToolAnswer};
