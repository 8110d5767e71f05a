//! Defines the shared vocabulary of the product: identifiers, roots, chunks, hits, questions and
//! segments.
#![warn(missing_docs)]

mod address;
pub mod atomic;
mod chunk;
pub mod error;
pub mod hash;
mod hit;
mod host;
mod id;
mod last_run;
pub mod lines;
mod omission;
mod path_map;
pub mod paths;
mod plain;
mod principal;
pub mod program;
mod question;
mod root;
mod secret;
mod segment;
mod sparse;
pub mod task;
pub mod telemetry;
mod timestamp;
pub mod tls;
pub mod unicode;
mod within;

pub use address::is_internal_address;
pub use chunk::{ChunkRecord, FileRecord, chunk_id, modified_ns, nanoseconds_since_epoch};
pub use hit::{FileSummary, Hit, LineRange, ScoreParts};
pub use host::Host;
pub use id::{ConversationId, InvalidId, RootId, RunId, TurnId};
pub use last_run::LastRun;
pub use omission::{
    OmissionRule, OmittedGroup, OmittedPaths, count_paths, explain_omission, list_omissions,
};
pub use path_map::PathMap;
pub use plain::{count_things, plain_json, plain_line, plain_name, plain_word};
pub use principal::{InvalidPrincipal, Principal};
pub use question::{InvalidQuestion, MAX_QUESTION_BYTES, Question};
pub use root::{IndexCounts, IndexedCommit, Origin, Root, UnknownRoot};
pub use secret::Secret;
pub use segment::{CitationCounts, CitedRepository, ClaimCounts, Segment, UnconfirmedCitation};
pub use sparse::{TermVector, inverse_document_frequency};
pub use timestamp::Timestamp;
pub use within::RootFilter;

/// Name of the tool with which Codex, or any other agent, searches the index.
pub const SEARCH_TOOL: &str = "VectorSearch";

/// Key in the `_meta` of a [`SEARCH_TOOL`] result that lists the files found, for programs to read.
pub const FILES_META: &str = "codeinfo/files";

/// Maximum bytes of a tool result that Codex 0.169.0 passes whole to a model that it does not know.
/// The count includes Codex's own line above the result. Codex cuts the middle out of a longer
/// result.
pub const CODEX_MAX_BYTES: usize = 11_988;

/// Maximum bytes of the text that CodeInfo's tools return to Codex. The rest of [`CODEX_MAX_BYTES`]
/// is for Codex's line.
pub const MAX_TOOL_TEXT_BYTES: usize = 11_500;

/// Key in the `_meta` of a call that names the folder in which the client works. The call then
/// searches the worktree that this folder belongs to.
pub const FOLDER_META: &str = "codeinfo/folder";
