//! How collections are called, and the record that says which of them count.
//!
//! A name carries layout, model and a random generation:
//! `codeinfo_chunks_v1_MODEL_DIMENSIONS_GENERATION`. `--reembed` replaces the record, then deletes
//! what others left; a process with the old generation finds its collections gone, reads the
//! record, and stops. Nobody can write into a generation of another time, because nobody else
//! knows its name.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The form of collections and payloads. Another form gets other names, so that versions of the product
/// do not touch each other's.
pub(super) const LAYOUT: u32 = 1;
/// The longest part of a model's id in a name.
const MAX_MODEL: usize = 48;

/// The three kinds of point. Only chunks carry vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Collection {
    Chunks,
    Files,
    Roots,
}

impl Collection {
    pub(super) const ALL: [Self; 3] = [Self::Chunks, Self::Files, Self::Roots];

    /// Returns what people know a read of it as.
    pub(super) fn read_action(self) -> &'static str {
        match self {
            Self::Chunks | Self::Files => "read the index",
            Self::Roots => "read the list of repositories",
        }
    }

    /// Returns what people know a change of it as.
    pub(super) fn write_action(self) -> &'static str {
        match self {
            Self::Chunks | Self::Files => "write the index",
            Self::Roots => "write the list of repositories",
        }
    }
}

/// The embedding model of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) id: String,
    pub(super) dimensions: usize,
}

/// Which model the store holds vectors of, and in which collections they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) model: String,
    pub(super) dimensions: usize,
    /// Whether each host has roots of its own. Former versions, which do not say so, took a path to be the same
    /// folder on all of them.
    #[serde(default)]
    pub(super) has_hosts: bool,
    /// Another one each time the store is emptied, so that nobody deletes or fills collections of
    /// another time.
    pub(super) generation: String,
    /// Whether the records of roots name the generation that their chunks are in. Former versions did not write it.
    #[serde(default)]
    pub(super) marks_roots: bool,
    /// Whether all collections were made.
    pub(super) made: bool,
    /// Another one each time the record is written.
    pub(super) token: String,
}

impl Record {
    /// Begins a generation.
    pub(super) fn new(model: &Model, has_hosts: bool) -> Self {
        let generation: String = Uuid::new_v4().simple().to_string().chars().take(8).collect();
        Self {
            model: model.id.clone(),
            dimensions: model.dimensions,
            has_hosts,
            generation,
            marks_roots: true,
            made: false,
            token: Uuid::new_v4().to_string(),
        }
    }

    pub(super) fn made(&self) -> Self {
        Self { made: true, token: Uuid::new_v4().to_string(), ..self.clone() }
    }

    pub(super) fn is_of(&self, model: &Model) -> bool {
        self.model == model.id && self.dimensions == model.dimensions
    }
}

/// The names of the collections of one generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Names {
    pub(super) generation: String,
    marks_roots: bool,
    chunks: String,
    files: String,
    roots: String,
}

impl Names {
    pub(super) fn new(prefix: &str, record: &Record) -> Self {
        let model = format!("{}_{}_{}", slug(&record.model), record.dimensions, record.generation);
        Self {
            generation: record.generation.clone(),
            marks_roots: record.marks_roots,
            chunks: format!("{prefix}_chunks_v{LAYOUT}_{model}"),
            files: format!("{prefix}_files_v{LAYOUT}_{model}"),
            roots: format!("{prefix}_roots_v{LAYOUT}"),
        }
    }

    /// Whether the chunks of a root are in these collections, where its record names `generation`, or none.
    pub(super) fn has_chunks_of(&self, generation: Option<&str>) -> bool {
        generation.map_or(!self.marks_roots, |generation| generation == self.generation)
    }

    pub(super) fn of(&self, collection: Collection) -> String {
        match collection {
            Collection::Chunks => self.chunks.clone(),
            Collection::Files => self.files.clone(),
            Collection::Roots => self.roots.clone(),
        }
    }
}

/// The collection of leases and of the record.
pub(super) fn control(prefix: &str) -> String {
    format!("{prefix}_control_v{LAYOUT}")
}

/// Whether a collection holds what was embedded by some model, in another generation than this one.
pub(super) fn is_leftover(name: &str, prefix: &str, generation: &str) -> bool {
    let of_some_model = ["chunks", "files"]
        .iter()
        .any(|kind| name.starts_with(&format!("{prefix}_{kind}_v{LAYOUT}_")));
    of_some_model && !name.ends_with(&format!("_{generation}"))
}

fn slug(model: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    model.chars().take(MAX_MODEL).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_layout_model_and_generation() {
        let model = Model { id: "Code/static 1@2".to_owned(), dimensions: 256 };
        let record = Record { generation: "0a1b2c3d".to_owned(), ..Record::new(&model, false) };
        let names = Names::new("team", &record);
        assert_eq!(names.chunks, "team_chunks_v1_code-static-1-2_256_0a1b2c3d");
        assert_eq!(names.files, "team_files_v1_code-static-1-2_256_0a1b2c3d");
        assert_eq!(
            (names.roots.as_str(), control("team").as_str()),
            ("team_roots_v1", "team_control_v1")
        );
    }

    #[test]
    fn only_what_another_generation_embedded_is_left_over() {
        let is_leftover = |name| is_leftover(name, "team", "0a1b2c3d");
        assert!(is_leftover("team_chunks_v1_m_4_ffffffff"));
        assert!(is_leftover("team_files_v1_m_4_ffffffff"));
        for name in [
            "team_chunks_v1_m_4_0a1b2c3d",
            "team_chunks_v2_m_4_ffffffff",
            "team_roots_v1",
            "team_control_v1",
            "team2_chunks_v1_m_4_ffffffff",
            "other_chunks_v1_m_4_ffffffff",
        ] {
            assert!(!is_leftover(name), "{name}");
        }
    }
}
