//! What is wrong with a citation, in words for the model that made it.

use std::fmt;

use codeinfo_core::LineRange;

/// What is wrong with a citation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CitationFault {
    /// No indexed file has the path; these have the name.
    NotFound {
        /// Their paths below their roots, a few at most.
        similar: Vec<String>,
    },
    /// The path leads out of the indexed repositories.
    Outside,
    /// The path is the end of those of several files, of which some are named.
    Ambiguous {
        /// Their paths below their roots, a few at most.
        files: Vec<String>,
        /// How many there are.
        count: usize,
    },
    /// The file was indexed, and is gone now, or is a link.
    Gone,
    /// The file has no such lines.
    NoSuchLines {
        /// How many it has.
        lines: u32,
    },
    /// The last line is before the first.
    Reversed,
    /// What is said of the lines stands in others of the file.
    Elsewhere {
        /// A name of the sentence.
        name: String,
        /// Its definitions, or the first lines that have it.
        at: Vec<LineRange>,
    },
    /// What is said of the lines stands nowhere in the file.
    Absent {
        /// A name of the sentence.
        name: String,
    },
    /// The lines were others when the file was indexed. Where there are some, what was indexed stands in
    /// these now.
    Changed {
        /// Where that is, if it is in one place.
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
            Self::Elsewhere { name, at } => write!(out, "`{name}` is at {}", join_lines(at)),
            Self::Absent { name } => write!(out, "`{name}` does not occur in this file"),
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
    let one = |range: &LineRange| match range {
        LineRange { first, last } if first == last => first.to_string(),
        range => range.to_string(),
    };
    lines.iter().map(one).collect::<Vec<String>>().join(", ")
}
