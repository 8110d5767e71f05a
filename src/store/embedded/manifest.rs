//! The file that says what a store folder holds: layout, embedding model, operation numbers.
//!
//! Another embedding model, or an older layout, is refused with both names. `--reembed` drops
//! chunks and files, keeps the roots, and marks them, so that one that was stopped midway is not
//! taken for damage.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{
    super::{Collection, StoreError, atomic},
    shard,
};

/// The layout of the folder that this version writes and reads. 2: dense vectors of half precision.
const LAYOUT: u32 = 2;
/// How many operation numbers are set aside at a time. Small, because the engine packs numbers
/// below 2^32 tighter; large enough that setting aside stays rare.
const RESERVED: u64 = 1 << 16;
/// How many operations one change takes at most.
const PER_CHANGE: u64 = 2;
/// How many operations opening takes at most.
const FOR_OPENING: u64 = 16;

/// The manifest of an open store.
#[derive(Debug)]
pub(super) struct Manifest {
    path: PathBuf,
    record: Record,
    /// Whether there was none before.
    is_new: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    /// Of the whole file with zeros in place of this. Former versions wrote none.
    #[serde(default)]
    sum: String,
    layout: u32,
    model: String,
    dimensions: usize,
    /// No operation was numbered this or higher. The engine ignores an operation whose number is
    /// not above that of the point it changes.
    next_operation: u64,
    /// Chunks and files of a former model are being dropped; to be repeated if interrupted.
    #[serde(default)]
    discarding: bool,
    /// Whether checksums of the files were ever written: without them, something removed them.
    #[serde(default)]
    has_checksums: bool,
}

/// Stands for the checksum of a manifest while it is computed.
const NO_SUM: &str = "00000000";

/// The checksum of a manifest, if it has one.
#[derive(Deserialize)]
struct Signed {
    sum: Option<String>,
}

/// The part of a manifest that exists in every layout.
#[derive(Deserialize)]
struct Header {
    layout: u32,
}

impl Manifest {
    /// Reads the manifest of `folder`, or makes one for a folder without.
    pub(super) fn open(folder: &Path, model: &str, dimensions: usize) -> Result<Self, StoreError> {
        let path = folder.join("manifest.json");
        let Some(bytes) = atomic::read(&path)? else {
            // It is written before anything else, and the numbers it held cannot be guessed.
            for collection in Collection::ALL {
                let shard = folder.join(shard::folder_name(collection));
                if shard.try_exists().map_err(|source| StoreError::io(&shard, source))? {
                    let reason = "`manifest.json` is missing".to_owned();
                    return Err(StoreError::Damaged { path: folder.to_owned(), reason });
                }
            }
            let record = Record {
                sum: String::new(),
                layout: LAYOUT,
                model: model.to_owned(),
                dimensions,
                next_operation: 1,
                discarding: false,
                has_checksums: false,
            };
            return Ok(Self { path, record, is_new: true });
        };
        let damaged = |error: serde_json::Error| StoreError::Damaged {
            path: folder.to_owned(),
            reason: format!("`manifest.json` is malformed: {error}"),
        };
        if !is_whole(&bytes) {
            let reason = "`manifest.json` is not what was written".to_owned();
            return Err(StoreError::Damaged { path: folder.to_owned(), reason });
        }
        let Header { layout } = serde_json::from_slice(&bytes).map_err(damaged)?;
        if layout > LAYOUT {
            let path = folder.to_owned();
            return Err(StoreError::NewerLayout { path, found: layout, supported: LAYOUT });
        }
        let record = serde_json::from_slice(&bytes).map_err(damaged)?;
        Ok(Self { path, record, is_new: false })
    }

    /// Reads which model filled the store in `folder` and how long its vectors are; `None` if there is
    /// none yet.
    pub(super) fn recorded(folder: &Path) -> Result<Option<(String, usize)>, StoreError> {
        if atomic::read(&folder.join("manifest.json"))?.is_none() {
            return Ok(None);
        }
        let Record { model, dimensions, .. } = Self::open(folder, "", 0)?.record;
        Ok(Some((model, dimensions)))
    }

    /// Fails unless the store was filled by this model, in the present layout.
    pub(super) fn check(&self, model: &str, dimensions: usize) -> Result<(), StoreError> {
        let Record { layout, model: stored, dimensions: stored_dimensions, .. } = &self.record;
        if *layout < LAYOUT {
            let path = self.path.parent().unwrap_or(&self.path).to_owned();
            return Err(StoreError::OlderLayout { path, found: *layout, wanted: LAYOUT });
        }
        if stored == model && *stored_dimensions == dimensions {
            return Ok(());
        }
        let same = stored == model;
        let name = |name: &str, dimensions: usize| {
            if same { format!("{name} with {dimensions} dimensions") } else { name.to_owned() }
        };
        Err(StoreError::ModelMismatch {
            stored: name(stored, *stored_dimensions),
            wanted: name(model, dimensions),
        })
    }

    /// Returns whether the folder held no store.
    pub(super) fn is_new(&self) -> bool {
        self.is_new
    }

    /// Returns whether chunks and files must be dropped before the store is used.
    pub(super) fn discarding(&self) -> bool {
        self.record.discarding
    }

    /// Notes, on disk, that the store now belongs to `model`, in the present layout, and that its chunks
    /// and files go.
    pub(super) fn start_discarding(
        &mut self,
        model: &str,
        dimensions: usize,
    ) -> Result<(), StoreError> {
        model.clone_into(&mut self.record.model);
        self.record.dimensions = dimensions;
        self.record.layout = LAYOUT;
        self.record.discarding = true;
        self.save()
    }

    /// Notes that they are gone.
    pub(super) fn finish_discarding(&mut self) -> Result<(), StoreError> {
        self.record.discarding = false;
        self.save()
    }

    /// Whether the files have had checksums since a former time. Stores of former versions had none.
    pub(super) fn has_checksums(&self) -> bool {
        self.record.has_checksums
    }

    /// Notes that the files have checksums now.
    pub(super) fn note_checksums(&mut self) -> Result<(), StoreError> {
        if self.record.has_checksums {
            return Ok(());
        }
        self.record.has_checksums = true;
        self.save()
    }

    /// Sets operation numbers aside and returns the first; on disk before any is used.
    pub(super) fn reserve(&mut self) -> Result<Numbers, StoreError> {
        let first = self.record.next_operation;
        self.record.next_operation = first + RESERVED;
        self.save()?;
        Ok(Numbers { first, left: RESERVED - FOR_OPENING })
    }

    fn save(&self) -> Result<(), StoreError> {
        let record = Record { sum: NO_SUM.to_owned(), ..self.record.clone() };
        let text = serde_json::to_string_pretty(&record)?;
        let sum = format!("{:08x}", crc32fast::hash(text.as_bytes()));
        atomic::replace(&self.path, text.replacen(NO_SUM, &sum, 1).as_bytes())
    }
}

/// Whether a manifest that names its checksum has it.
fn is_whole(bytes: &[u8]) -> bool {
    let sum = serde_json::from_slice(bytes).map(|Signed { sum }| sum);
    let Ok(Some(sum)) = sum else { return true };
    let text = String::from_utf8_lossy(bytes).replacen(&sum, NO_SUM, 1);
    sum == format!("{:08x}", crc32fast::hash(text.as_bytes()))
}

/// Operation numbers set aside for this process. Each collection counts on its own from the same
/// first number, so the sum of all operations is an upper bound for each.
#[derive(Debug)]
pub(super) struct Numbers {
    pub(super) first: u64,
    left: u64,
}

impl Numbers {
    /// Accounts for one change, setting more numbers aside when they run out.
    pub(super) fn take(&mut self, manifest: &mut Manifest) -> Result<(), StoreError> {
        if self.left < PER_CHANGE {
            // What is set aside follows on: only this process does so while the store is open.
            self.left = manifest.reserve()?.left;
        }
        self.left -= PER_CHANGE;
        Ok(())
    }
}
