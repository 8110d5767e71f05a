//! What the store keeps of a file and of each chunk cut from it.

use serde::{Deserialize, Serialize};

use super::RootId;

/// One chunk: a run of whole lines of one file, as kept in the store beside its vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkRecord {
    /// The root it belongs to.
    pub root: RootId,
    /// Path below the root, with `/` between parts.
    pub path: String,
    /// Content hash of the file version it was cut from (hex).
    pub version: String,
    /// Milliseconds since the Unix epoch when its file version was indexed. While a file is being
    /// replaced two versions may be in the store; the later one counts.
    pub indexed_at_ms: u64,
    /// First line, counted from 1.
    pub start_line: u32,
    /// Last line, inclusive.
    pub end_line: u32,
    /// Enclosing definition, outermost first, such as `Store::open`; or a heading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// Lower-case language name such as `rust`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The line that the enclosing definition starts with, where it starts above this chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The lines themselves, without a final newline.
    pub text: String,
}

/// One indexed file version; written after its chunks, so its presence proves that they are there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// The root it belongs to.
    pub root: RootId,
    /// Path below the root, with `/` between parts.
    pub path: String,
    /// Content hash (hex).
    pub version: String,
    /// Size in bytes.
    pub size: u64,
    /// Modification time, nanoseconds since the Unix epoch.
    pub modified_ns: u64,
    /// How many chunks this version has in the store.
    pub chunks: u32,
}
