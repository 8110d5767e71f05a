//! The manifest of an index folder: layout, embedding model, segments and roots.
//!
//! It is replaced as a whole, after the files that it names are on disk: whenever a process is
//! killed, the last manifest describes the index. Another embedding model, or an older layout, is
//! refused with both names; `--reembed` begins an index without segments that keeps the roots.

use std::path::Path;

use codeinfo_core::{Root, RootId};
use serde::{Deserialize, Serialize};

use crate::{IndexError, folder};

pub(crate) const MANIFEST_FILE: &str = "manifest.json";
/// Layout of the folder. 3: own segments; 4: twelve bits for each vector's numbers, and base types.
const LAYOUT: u32 = 4;
/// Placeholder for the checksum of a manifest while it is computed.
const SUM_PLACEHOLDER: &str = "00000000";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct IndexManifest {
    /// Checksum of the whole file with zeros in place of this.
    sum: String,
    layout: u32,
    pub(crate) model: String,
    pub(crate) dimensions: usize,
    /// Number of the next file; no file has this number or a higher one.
    pub(crate) next: u64,
    pub(crate) segments: Vec<SegmentEntry>,
    /// Ordered by id.
    pub(crate) roots: Vec<Root>,
}

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
    pub(crate) fn file_names(&self) -> impl Iterator<Item = String> {
        let deleted = self.deleted.map(deletions_file_name);
        std::iter::once(segment_file_name(self.number)).chain(deleted)
    }
}

pub(crate) fn segment_file_name(number: u64) -> String {
    format!("{number}.segment")
}

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
    pub(crate) fn new(model: &str, dimensions: usize) -> Self {
        let (sum, model, next) = (String::new(), model.to_owned(), 1);
        let (segments, roots) = (Vec::new(), Vec::new());
        Self { sum, layout: LAYOUT, model, dimensions, next, segments, roots }
    }

    /// Reads the manifest, if there is one. Fails with [`IndexError::OlderLayout`] if it is older.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>, IndexError> {
        let damaged = |reason: String| IndexError::Damaged { path: folder.to_owned(), reason };
        let Some(bytes) = folder::read_file(&folder.join(MANIFEST_FILE))? else {
            return Ok(None);
        };
        let malformed =
            |error: serde_json::Error| damaged(format!("`{MANIFEST_FILE}` is malformed: {error}"));
        let ManifestHeader { sum, layout } = serde_json::from_slice(&bytes).map_err(malformed)?;
        let is_sum = |sum: &String| *sum == checksum(&bytes, sum);
        if !sum.as_ref().map_or(layout != LAYOUT, is_sum) {
            return Err(damaged(format!("`{MANIFEST_FILE}` is not what was written")));
        }
        let path = folder.to_owned();
        if layout > LAYOUT {
            return Err(IndexError::NewerLayout { path, found: layout, supported: LAYOUT });
        }
        if layout < LAYOUT {
            return Err(IndexError::OlderLayout { path, found: layout, wanted: LAYOUT });
        }
        serde_json::from_slice(&bytes).map(Some).map_err(malformed)
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

    pub(crate) fn write(&self, folder: &Path) -> Result<(), IndexError> {
        let signed = Self { sum: SUM_PLACEHOLDER.to_owned(), ..self.clone() };
        let text = serde_json::to_string_pretty(&signed)?;
        let sum = checksum(text.as_bytes(), SUM_PLACEHOLDER);
        folder::replace_file(
            &folder.join(MANIFEST_FILE),
            text.replacen(SUM_PLACEHOLDER, &sum, 1).as_bytes(),
        )
    }
}

fn checksum(manifest: &[u8], sum: &str) -> String {
    let text = String::from_utf8_lossy(manifest).replacen(sum, SUM_PLACEHOLDER, 1);
    format!("{:08x}", crc32fast::hash(text.as_bytes()))
}
