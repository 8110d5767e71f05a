//! Replies of the main HTTP API, written by the server and read by the command line. Field names
//! are a wire promise.

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
    ChatFrame, ErrorFrame, FilesFrame, FinalFrame, TextFrame, ThreadFrame, ToolOrigin,
    ToolRequestFrame, ToolResultFrame, WarningFrame,
};
pub use codeinfo_toolkits::ToolEntrySource;
pub use conversations::{
    AboutConversation, ConversationsReply, DeleteAllReply, DeleteConversationReply,
    ListedConversation, NumberedFrame, QuestionFrame, StartTurnReply, TurnStatus,
    WholeConversation, WholeTurn,
};
pub use folders::{FoldersReply, ListedFolder, PageConfig};
pub use health::{
    CodexHealth, EmbedderHealth, ExcludedRepo, HealthReply, HealthStatus, McpHealth, SandboxHealth,
    StoreHealth, ToolkitHealth,
};
pub use listing::{ListedHit, ScorePart, SearchListing};
pub use map::{FileMap, FolderMap, MapFile, MapFolder, MapLink};
pub use repository::{EndedRun, LanguageShare, SkippedFile, WatchState, WholeRepository};
pub use roots::{
    IngestedRepo, IngestedRepos, ListedRoot, OmittedCount, RemoveRootReply, RemovedRoot,
    RepoAdditions, RootsReply, StartRunReply,
};
pub use settings::{ListedFailure, ListedSetting, RecentFailures, SettingsReply};
pub use source::{SourceLine, SourceLines};
pub use tokens::{
    CreateTokenReply, ListedToken, OpenSessionReply, RevokeTokensReply, SessionCode,
    StoreConfigReply, TokenList,
};
pub use toolkits::{AllowedFile, ProposedToolkit, ToolAnswer};
