//! Shared vocabulary of the product: ids, roots, chunks, hits, questions, segments and errors.
#![warn(missing_docs)]

pub mod atomic;
mod chunk;
pub mod error;
pub mod hash;
mod hit;
mod id;
mod network;
mod omission;
mod path_map;
pub mod paths;
pub mod pipes;
mod root;
mod segment;
pub mod task;
pub mod telemetry;
mod text;
mod timestamp;

pub use chunk::{ChunkRecord, FileRecord, TermVector, chunk_id, inverse_document_frequency};
pub use hit::{FileSummary, Hit, LineRange, ScoreParts, merge_ranges};
pub use id::{ConversationId, Host, InvalidId, InvalidPrincipal, Principal, RootId, RunId, TurnId};
pub use network::{install_crypto_provider, is_internal_address, is_tls_error};
pub use omission::{
    OmissionRule, OmittedGroup, OmittedPaths, count_paths, explain_omission, list_omissions,
};
pub use path_map::PathMap;
pub use root::{IndexCounts, IndexedCommit, LastRun, Origin, Root, RootFilter, UnknownRoot};
pub use segment::{
    CitationCounts, CitedRepository, ClaimCounts, InvalidQuestion, MAX_QUESTION_BYTES, Question,
    Segment, UnconfirmedCitation,
};
pub use text::{
    CUT_MARK, MAX_TOOL_VALUE_BYTES, Secret, count_things, list_encodings, normalize_nfc,
    plain_json, plain_line, plain_name, plain_word, truncate_marked, without_passwords,
};
pub use timestamp::{Timestamp, modified_ns, nanoseconds_since_epoch};

/// Name of the tool with which Codex, or any other agent, searches the index.
pub const SEARCH_TOOL: &str = "VectorSearch";

/// Key in the `_meta` of a [`SEARCH_TOOL`] result that lists the files found, for programs to read.
pub const FILES_META: &str = "codeinfo/files";

/// Maximum bytes of a tool result, with Codex's own line above it, that Codex 0.169.0 passes whole
/// to a model that it does not know. Codex cuts the middle out of a longer one.
pub const CODEX_MAX_BYTES: usize = 11_988;

/// Maximum bytes of our tools' text for Codex, whose line takes the rest of [`CODEX_MAX_BYTES`].
pub const MAX_TOOL_TEXT_BYTES: usize = 11_500;

/// Key in a call's `_meta` that names the client's folder, whose worktree the call then searches.
pub const FOLDER_META: &str = "codeinfo/folder";
