//! The file that says what a store folder holds: layout, embedding model, segments and roots.
//!
//! It is replaced as a whole, after the files that it names are on disk: whatever moment a process is
//! killed at, the store is what the last manifest says. Another embedding model, or an older layout, is
//! refused with both names; `--reembed` begins a store without segments that keeps the roots.

use std::path::Path;

use codeinfo_core::{Root, RootId};
use serde::{Deserialize, Serialize};

use super::super::{StoreError, atomic};

/// Its name.
pub(super) const FILE: &str = "manifest.json";
/// The layout of the folder that this version writes and reads. 3: segments of our own;
/// 4: twelve bits of each number of a vector, and base types.
const LAYOUT: u32 = 4;
/// Stands for the checksum of a manifest while it is computed.
const NO_SUM: &str = "00000000";

/// What a store holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifest {
    /// Of the whole file with zeros in place of this.
    sum: String,
    layout: u32,
    model: String,
    pub(super) dimensions: usize,
    /// No file of the store has this number or a higher one.
    pub(super) next: u64,
    pub(super) segments: Vec<Entry>,
    /// Ordered by id.
    pub(super) roots: Vec<Root>,
}

/// A segment of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    pub(super) number: u64,
    /// Numbers the file that lists what was deleted of it, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) deleted: Option<u64>,
    /// The roots that it has chunks or files of.
    pub(super) roots: Vec<RootId>,
}

impl Entry {
    /// Returns the names of its files.
    pub(super) fn files(&self) -> impl Iterator<Item = String> {
        let deleted = self.deleted.map(deleted_file);
        std::iter::once(segment_file(self.number)).chain(deleted)
    }
}

/// Returns the name of the file of a segment.
pub(super) fn segment_file(number: u64) -> String {
    format!("{number}.segment")
}

/// Returns the name of a file that lists what was deleted of a segment.
pub(super) fn deleted_file(number: u64) -> String {
    format!("{number}.deleted")
}

/// The part of a manifest that exists in every layout.
#[derive(Deserialize)]
struct Header {
    /// Former layouts had none in some versions.
    sum: Option<String>,
    layout: u32,
}

impl Manifest {
    /// Returns the manifest of a store that holds nothing.
    pub(super) fn new(model: &str, dimensions: usize) -> Self {
        let (sum, model, next) = (String::new(), model.to_owned(), 1);
        let (segments, roots) = (Vec::new(), Vec::new());
        Self { sum, layout: LAYOUT, model, dimensions, next, segments, roots }
    }

    /// Reads the manifest of `folder`; `None` if there is no store yet. Fails with
    /// [`StoreError::OlderLayout`] for a store of a former version.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>, StoreError> {
        let damaged = |reason: String| StoreError::Damaged { path: folder.to_owned(), reason };
        let Some(bytes) = atomic::read(&folder.join(FILE))? else {
            return Ok(None);
        };
        let malformed =
            |error: serde_json::Error| damaged(format!("`{FILE}` is malformed: {error}"));
        let Header { sum, layout } = serde_json::from_slice(&bytes).map_err(malformed)?;
        let is_sum = |sum: &String| *sum == sum_of(&bytes, sum);
        if !sum.as_ref().map_or(layout != LAYOUT, is_sum) {
            return Err(damaged(format!("`{FILE}` is not what was written")));
        }
        let path = folder.to_owned();
        if LAYOUT < layout {
            return Err(StoreError::NewerLayout { path, found: layout, supported: LAYOUT });
        }
        if layout < LAYOUT {
            return Err(StoreError::OlderLayout { path, found: layout, wanted: LAYOUT });
        }
        serde_json::from_slice(&bytes).map(Some).map_err(malformed)
    }

    /// Returns the id of the model that filled the store, and how long its vectors are.
    pub(super) fn filled_by(&self) -> (String, usize) {
        (self.model.clone(), self.dimensions)
    }

    /// Fails unless the store was filled by this model.
    pub(super) fn check(&self, model: &str, dimensions: usize) -> Result<(), StoreError> {
        if self.model == model && self.dimensions == dimensions {
            return Ok(());
        }
        let is_same = self.model == model;
        let name = |name: &str, dimensions: usize| {
            if is_same { format!("{name} with {dimensions} dimensions") } else { name.to_owned() }
        };
        Err(StoreError::ModelMismatch {
            stored: name(&self.model, self.dimensions),
            wanted: name(model, dimensions),
        })
    }

    /// Sets a number for a new file aside.
    pub(super) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Replaces the manifest of `folder`.
    pub(super) fn write(&self, folder: &Path) -> Result<(), StoreError> {
        let signed = Self { sum: NO_SUM.to_owned(), ..self.clone() };
        let text = serde_json::to_string_pretty(&signed)?;
        let sum = sum_of(text.as_bytes(), NO_SUM);
        atomic::replace(&folder.join(FILE), text.replacen(NO_SUM, &sum, 1).as_bytes())
    }
}

/// Returns the checksum of a manifest that names `sum` as its own.
fn sum_of(manifest: &[u8], sum: &str) -> String {
    let text = String::from_utf8_lossy(manifest).replacen(sum, NO_SUM, 1);
    format!("{:08x}", crc32fast::hash(text.as_bytes()))
}
