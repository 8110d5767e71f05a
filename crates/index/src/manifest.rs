//! The manifest of an index folder: layout, embedding model, segments and roots.
//!
//! It is replaced as a whole, after the files that it names are on disk: whenever a process is
//! killed, the last manifest describes the index. Another embedding model, or an older layout, is
//! refused with both names; `--reembed` begins an index without segments that keeps the roots.

use std::path::Path;

use codeinfo_core::{Root, RootId};
use serde::{Deserialize, Serialize};

use crate::{IndexError, files};

/// Name of the manifest.
pub(crate) const FILE: &str = "manifest.json";
/// Layout of the folder that this version writes and reads. 3: own segments;
/// 4: twelve bits of each number of a vector, and base types.
const LAYOUT: u32 = 4;
/// Placeholder for the checksum of a manifest while it is computed.
const NO_SUM: &str = "00000000";

/// Contents of an index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct IndexManifest {
    /// Checksum of the whole file with zeros in place of this.
    sum: String,
    layout: u32,
    model: String,
    pub(crate) dimensions: usize,
    /// Number of the next file; no file has this number or a higher one.
    pub(crate) next: u64,
    pub(crate) segments: Vec<SegmentEntry>,
    /// Ordered by id.
    pub(crate) roots: Vec<Root>,
}

/// A segment of the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SegmentEntry {
    pub(crate) number: u64,
    /// Number of the file that lists its deletions, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) deleted: Option<u64>,
    /// Roots that have chunks or files in it.
    pub(crate) roots: Vec<RootId>,
}

impl SegmentEntry {
    /// Returns the names of the files of the segment.
    pub(crate) fn file_names(&self) -> impl Iterator<Item = String> {
        let deleted = self.deleted.map(deletions_file_name);
        std::iter::once(segment_file_name(self.number)).chain(deleted)
    }
}

/// Returns the name of the file of a segment.
pub(crate) fn segment_file_name(number: u64) -> String {
    format!("{number}.segment")
}

/// Returns the name of a file that lists the deletions of a segment.
pub(crate) fn deletions_file_name(number: u64) -> String {
    format!("{number}.deleted")
}

/// The part of a manifest that exists in every layout.
#[derive(Deserialize)]
struct ManifestHeader {
    /// Some versions of former layouts had no checksum.
    sum: Option<String>,
    layout: u32,
}

impl IndexManifest {
    /// Creates the manifest of an empty index.
    pub(crate) fn new(model: &str, dimensions: usize) -> Self {
        let (sum, model, next) = (String::new(), model.to_owned(), 1);
        let (segments, roots) = (Vec::new(), Vec::new());
        Self { sum, layout: LAYOUT, model, dimensions, next, segments, roots }
    }

    /// Reads the manifest of `folder`; `None` if there is no index yet. Fails with
    /// [`IndexError::OlderLayout`] for an index of a former version.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>, IndexError> {
        let damaged = |reason: String| IndexError::Damaged { path: folder.to_owned(), reason };
        let Some(bytes) = files::read_file(&folder.join(FILE))? else {
            return Ok(None);
        };
        let malformed =
            |error: serde_json::Error| damaged(format!("`{FILE}` is malformed: {error}"));
        let ManifestHeader { sum, layout } = serde_json::from_slice(&bytes).map_err(malformed)?;
        let is_sum = |sum: &String| *sum == checksum(&bytes, sum);
        if !sum.as_ref().map_or(layout != LAYOUT, is_sum) {
            return Err(damaged(format!("`{FILE}` is not what was written")));
        }
        let path = folder.to_owned();
        if LAYOUT < layout {
            return Err(IndexError::NewerLayout { path, found: layout, supported: LAYOUT });
        }
        if layout < LAYOUT {
            return Err(IndexError::OlderLayout { path, found: layout, wanted: LAYOUT });
        }
        serde_json::from_slice(&bytes).map(Some).map_err(malformed)
    }

    /// Returns the id of the model that filled the index, and the length of its vectors.
    pub(crate) fn model_and_dimensions(&self) -> (String, usize) {
        (self.model.clone(), self.dimensions)
    }

    /// Fails unless this model filled the index.
    pub(crate) fn check_model(&self, model: &str, dimensions: usize) -> Result<(), IndexError> {
        if self.model == model && self.dimensions == dimensions {
            return Ok(());
        }
        let is_same = self.model == model;
        let name = |name: &str, dimensions: usize| {
            if is_same { format!("{name} with {dimensions} dimensions") } else { name.to_owned() }
        };
        Err(IndexError::ModelMismatch {
            stored: name(&self.model, self.dimensions),
            wanted: name(model, dimensions),
        })
    }

    /// Returns an unused number for a new file.
    pub(crate) fn take_number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Replaces the manifest of `folder`.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), IndexError> {
        let signed = Self { sum: NO_SUM.to_owned(), ..self.clone() };
        let text = serde_json::to_string_pretty(&signed)?;
        let sum = checksum(text.as_bytes(), NO_SUM);
        files::replace_file(&folder.join(FILE), text.replacen(NO_SUM, &sum, 1).as_bytes())
    }
}

/// Computes the checksum of a manifest that contains `sum` as its own.
fn checksum(manifest: &[u8], sum: &str) -> String {
    let text = String::from_utf8_lossy(manifest).replacen(sum, NO_SUM, 1);
    format!("{:08x}", crc32fast::hash(text.as_bytes()))
}
