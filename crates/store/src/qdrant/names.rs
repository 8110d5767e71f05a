//! Names of collections, and the record of the current ones.
//!
//! A name carries layout, model and a random generation: `codeinfo_chunks_v1_MODEL_DIMENSIONS_GENERATION`. `--reembed`
//! replaces the record, then deletes what others left; a process with the old generation finds its collections gone,
//! reads the record, and stops.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Layout of collections and payloads. Another one gets other names, so that versions never touch each other's.
pub(super) const LAYOUT: u32 = 1;
/// Maximum number of characters of a model's id in a name.
const MAX_MODEL: usize = 48;

/// The three kinds of point. Only chunks carry vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CollectionKind {
    Chunks,
    Files,
    Roots,
}

impl CollectionKind {
    pub(super) const ALL: [Self; 3] = [Self::Chunks, Self::Files, Self::Roots];

    pub(super) fn read_action(self) -> &'static str {
        match self {
            Self::Chunks | Self::Files => "read the index",
            Self::Roots => "read the list of repositories",
        }
    }

    /// Returns the words of users for a change of it.
    pub(super) fn write_action(self) -> &'static str {
        match self {
            Self::Chunks | Self::Files => "write the index",
            Self::Roots => "write the list of repositories",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EmbeddingModel {
    pub(super) id: String,
    pub(super) dimensions: usize,
}

/// The model of the stored vectors and the generation of their collections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ModelRecord {
    pub(super) model: String,
    pub(super) dimensions: usize,
    /// True if each host has its own roots. Former versions did not write it and shared paths among all hosts.
    #[serde(default)]
    pub(super) has_hosts: bool,
    /// New each time the store is emptied, so that no process deletes or fills collections of another generation.
    pub(super) generation: String,
    /// True if the records of roots name the generation that their chunks are in. Former versions did not write it.
    #[serde(default)]
    pub(super) marks_roots: bool,
    /// True once all collections were created.
    pub(super) made: bool,
    /// New each time the record is written.
    pub(super) token: String,
}

impl ModelRecord {
    pub(super) fn new(model: &EmbeddingModel, has_hosts: bool) -> Self {
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

    pub(super) fn with_collections(&self) -> Self {
        Self { made: true, token: Uuid::new_v4().to_string(), ..self.clone() }
    }

    pub(super) fn matches_model(&self, model: &EmbeddingModel) -> bool {
        self.model == model.id && self.dimensions == model.dimensions
    }
}

/// The names of the collections of one generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CollectionNames {
    pub(super) generation: String,
    marks_roots: bool,
    chunks: String,
    files: String,
    roots: String,
}

impl CollectionNames {
    pub(super) fn new(prefix: &str, record: &ModelRecord) -> Self {
        let model =
            format!("{}_{}_{}", model_slug(&record.model), record.dimensions, record.generation);
        Self {
            generation: record.generation.clone(),
            marks_roots: record.marks_roots,
            chunks: format!("{prefix}_chunks_v{LAYOUT}_{model}"),
            files: format!("{prefix}_files_v{LAYOUT}_{model}"),
            roots: format!("{prefix}_roots_v{LAYOUT}"),
        }
    }

    /// Returns whether the chunks of a root are in these collections, by the generation that its record names, if any.
    pub(super) fn has_chunks_of(&self, generation: Option<&str>) -> bool {
        generation.map_or(!self.marks_roots, |generation| generation == self.generation)
    }

    pub(super) fn name(&self, collection: CollectionKind) -> String {
        match collection {
            CollectionKind::Chunks => self.chunks.clone(),
            CollectionKind::Files => self.files.clone(),
            CollectionKind::Roots => self.roots.clone(),
        }
    }
}

/// Returns the name of the collection of leases and of the model record.
pub(super) fn control_name(prefix: &str) -> String {
    format!("{prefix}_control_v{LAYOUT}")
}

/// Returns whether a collection holds chunks or files of another generation.
pub(super) fn is_leftover(name: &str, prefix: &str, generation: &str) -> bool {
    let of_some_model = ["chunks", "files"]
        .iter()
        .any(|kind| name.starts_with(&format!("{prefix}_{kind}_v{LAYOUT}_")));
    of_some_model && !name.ends_with(&format!("_{generation}"))
}

fn model_slug(model: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    model.chars().take(MAX_MODEL).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_layout_model_and_generation() {
        let model = EmbeddingModel { id: "Code/static 1@2".to_owned(), dimensions: 256 };
        let record =
            ModelRecord { generation: "0a1b2c3d".to_owned(), ..ModelRecord::new(&model, false) };
        let names = CollectionNames::new("team", &record);
        assert_eq!(names.chunks, "team_chunks_v1_code-static-1-2_256_0a1b2c3d");
        assert_eq!(names.files, "team_files_v1_code-static-1-2_256_0a1b2c3d");
        assert_eq!(
            (names.roots.as_str(), control_name("team").as_str()),
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
