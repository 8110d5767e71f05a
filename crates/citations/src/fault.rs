//! States of checked citations, and their faults in words for the model that made them.

use std::fmt;

use codeinfo_core::LineRange;
use serde::{Deserialize, Serialize};

/// Result of checking a citation of an answer. Stored conversations may have the former names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CitationState {
    /// The place exists, and the sentence fits these lines.
    Confirmed,
    /// The place exists, but nothing ties the sentence to the lines, or comparing them failed.
    #[serde(alias = "verified", alias = "moved", alias = "changed")]
    Unconfirmed,
    /// The file or line is missing, or what the sentence names is missing or surely elsewhere.
    #[serde(alias = "missing")]
    Wrong,
}

impl CitationState {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Unconfirmed => "unconfirmed",
            Self::Wrong => "wrong",
        }
    }
}

/// Result of checking a citation of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DocumentCitationState {
    /// The lines exist and match the document.
    Verified,
    /// The cited content is at other, known lines.
    Moved,
    /// The lines have changed since they were cited.
    Changed,
    /// The file, the line or what the sentence names is missing.
    Missing,
}

/// A fault of a citation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CitationFault {
    /// No indexed file has the path; other files have its name.
    NotFound {
        /// Some paths of similar files, relative to their roots.
        similar: Vec<String>,
    },
    /// The path leads out of the indexed repositories.
    Outside,
    /// The path matches several files.
    Ambiguous {
        /// Some of their paths, relative to their roots.
        files: Vec<String>,
        /// Number of matching files.
        count: usize,
    },
    /// The file was indexed but is now gone or a link.
    Gone,
    /// The file has no such lines.
    NoSuchLines {
        /// Number of lines of the file.
        lines: u32,
    },
    /// The last line is before the first.
    Reversed,
    /// A name of the sentence is at other lines of the file.
    AtOtherLines {
        /// The name.
        name: String,
        /// Its definitions, or the first lines that have it.
        at: Vec<LineRange>,
    },
    /// A name of the sentence is missing from the file.
    Absent {
        /// The name.
        name: String,
    },
    /// The commit is not there, has no such file, or does not say it.
    Commit(String),
    /// The lines have changed since the file was indexed.
    Changed {
        /// Current lines of the indexed content, if they are unique.
        at: Vec<LineRange>,
    },
}

impl fmt::Display for CitationFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { similar } if similar.is_empty() => {
                out.write_str("no indexed file has this path")
            }
            Self::NotFound { similar } => {
                write!(out, "no indexed file has this path; {} has the name", quote_paths(similar))
            }
            Self::Outside => out.write_str("this is outside of the indexed repositories"),
            Self::Ambiguous { files, count } => {
                write!(out, "{count} indexed files have this path, such as {}", quote_paths(files))
            }
            Self::Gone => out.write_str("this file is gone since it was indexed"),
            Self::NoSuchLines { lines } => {
                write!(out, "the file has {lines} lines, counted from 1")
            }
            Self::Reversed => out.write_str("the last line is before the first"),
            Self::AtOtherLines { name, at } => write!(out, "`{name}` is at {}", join_lines(at)),
            Self::Absent { name } => write!(out, "`{name}` does not occur in this file"),
            Self::Commit(reason) => out.write_str(reason),
            Self::Changed { at } if at.is_empty() => {
                out.write_str("these lines have changed since they were indexed")
            }
            Self::Changed { at } => {
                write!(out, "what was indexed there is at {} now", join_lines(at))
            }
        }
    }
}

fn quote_paths(files: &[String]) -> String {
    let quoted: Vec<String> = files.iter().map(|file| format!("`{file}`")).collect();
    quoted.join(", ")
}

/// Joins ranges of lines as people write them: `12-40, 55`.
pub fn join_lines(lines: &[LineRange]) -> String {
    let format_range = |range: &LineRange| match range {
        LineRange { first, last } if first == last => first.to_string(),
        range => range.to_string(),
    };
    lines.iter().map(format_range).collect::<Vec<String>>().join(", ")
}
