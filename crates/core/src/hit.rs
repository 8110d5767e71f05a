//! What a search finds: ranked chunks, and the same grouped by file.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One chunk that answers a query. Field names are a wire promise of `POST /tools/vector-search`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hit {
    /// Name of the repository.
    pub repo: String,
    /// Path below the root.
    pub rel_path: String,
    /// Absolute path as the client sees it.
    pub path: String,
    /// First line, counted from 1.
    pub start_line: u32,
    /// Last line, inclusive.
    pub end_line: u32,
    /// Enclosing definition or heading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// Lower-case language name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Relevance, 0…1, higher is better, rounded to four places.
    pub score: f64,
    /// The chunk's lines.
    pub chunk: String,
    /// Id of the chunk in the store.
    pub chunk_id: String,
    /// Embedding model, as `name@version`.
    pub model_id: String,
    /// Number of lines in the chunk.
    pub line_count: u32,
    /// Names of the other trees of the repository that have the same lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_in: Vec<String>,
    /// What the host is called that has the file, where it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Of a comparison of two trees, the name of the one that has these lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_in: Option<String>,
    /// The line that the enclosing definition starts with, where it starts above the chunk. Only
    /// for texts that show a part of a definition; not on the wire.
    #[serde(skip)]
    pub signature: Option<String>,
    /// What the score is made of. Only `POST /search` says so.
    #[serde(skip)]
    pub parts: ScoreParts,
}

/// What a score is made of: shares of it, whose sum it is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ScoreParts {
    /// The meaning of the query.
    pub meaning: f32,
    /// Its words, rare ones most.
    pub words: f32,
    /// That the chunk defines what is asked for.
    pub definition: f32,
    /// How many of the words it has.
    pub coverage: f32,
    /// The name of its file, and what else was found in it.
    pub file: f32,
    /// What it has as it is written in the query: a message, a path.
    pub verbatim: f32,
    /// What it loses by what its file is for, such as tests.
    pub role: f32,
    /// What other results say of it: that they override it.
    pub others: f32,
}

impl ScoreParts {
    /// Returns each part with its name.
    pub fn to_named_values(&self) -> [(&'static str, f32); 8] {
        let Self { meaning, words, definition, coverage, file, verbatim, role, others } = *self;
        [
            ("meaning", meaning),
            ("words", words),
            ("definition", definition),
            ("coverage", coverage),
            ("file", file),
            ("verbatim", verbatim),
            ("role", role),
            ("others", others),
        ]
    }

    /// Returns the sum.
    pub fn sum(&self) -> f32 {
        self.to_named_values().iter().map(|(_, part)| part).sum()
    }
}

/// Lines of one file that were found or read. Field names are a wire promise of `vector_summary`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileSummary {
    /// Absolute path as the client sees it.
    pub path: String,
    /// Path below the root.
    pub rel_path: String,
    /// Name of the repository.
    pub repo: String,
    /// Best score among the file's chunks, 0…1; 1 for lines read by their path, 0.5 for lines that use a name.
    #[serde(rename = "match")]
    pub best: f64,
    /// Number of chunks found, or of ranges read.
    pub chunks: u32,
    /// Number of distinct lines that the chunks cover.
    pub lines: u32,
    /// The covered lines as ascending, disjoint ranges such as `12-40`.
    pub ranges: Vec<LineRange>,
}

/// An inclusive run of lines, written `12-40`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct LineRange {
    /// First line, counted from 1.
    pub first: u32,
    /// Last line, inclusive.
    pub last: u32,
}

impl fmt::Display for LineRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.first, self.last)
    }
}

impl From<LineRange> for String {
    fn from(range: LineRange) -> Self {
        range.to_string()
    }
}

impl TryFrom<String> for LineRange {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parsed = text.split_once('-').and_then(|(first, last)| {
            Some(Self { first: first.parse().ok()?, last: last.parse().ok()? })
        });
        parsed.ok_or_else(|| format!("`{text}` is not a line range"))
    }
}
