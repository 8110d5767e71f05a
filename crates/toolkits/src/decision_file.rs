//! Stores decisions of people about toolkits in small private files.
//!
//! A file is replaced as a whole. A damaged one is an error and never counts as empty.

use std::{
    fs, io,
    marker::PhantomData,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use codeinfo_core::{
    atomic::{self, FileAccess},
    error::ErrorCode,
};
use codeinfo_worktree::beneath::{RootDir, read_to_limit};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Maximum bytes to read of a file; the bounds of its content together stay below.
const MAX_BYTES: u64 = 64 << 20;
const VERSION: u32 = 1;

/// Errors of reading or writing decisions.
#[derive(Debug, thiserror::Error)]
pub enum DecisionFileError {
    #[error("cannot use `{}`: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("`{}` is damaged: move it away and decide again", path.display())]
    Damaged { path: PathBuf, source: serde_json::Error },
    #[error("`{}` is of another version of CodeInfo ({version})", path.display())]
    OtherVersion { path: PathBuf, version: u32 },
    #[error("`{}` already keeps {max} {what}: move it away and decide again", path.display())]
    Full { path: PathBuf, max: usize, what: &'static str },
}

impl DecisionFileError {
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Io { .. }
            | Self::Damaged { .. }
            | Self::OtherVersion { .. }
            | Self::Full { .. } => ErrorCode::StoreUnavailable,
        }
    }
}

/// File with one value of `T`, read at each use because another process may have replaced it.
#[derive(Debug)]
pub(super) struct DecisionFile<T> {
    path: PathBuf,
    /// Held from reading to replacing, so that no change is lost.
    changing: Mutex<()>,
    value: PhantomData<fn() -> T>,
}

#[derive(Serialize, Deserialize)]
struct VersionedValue<T> {
    version: u32,
    #[serde(flatten)]
    value: T,
}

impl<T: Default + Serialize + DeserializeOwned> DecisionFile<T> {
    pub(super) fn new(data_dir: &Path, name: &str) -> Self {
        let path = data_dir.join("toolkits").join(name);
        Self { path, changing: Mutex::new(()), value: PhantomData }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn read(&self) -> Result<T, DecisionFileError> {
        let Some(bytes) = self.read_bytes().map_err(|source| self.io_error(source))? else {
            return Ok(T::default());
        };
        let damaged = |source| DecisionFileError::Damaged { path: self.path.clone(), source };
        let read: VersionedValue<T> = serde_json::from_slice(&bytes).map_err(damaged)?;
        if read.version != VERSION {
            let path = self.path.clone();
            return Err(DecisionFileError::OtherVersion { path, version: read.version });
        }
        Ok(read.value)
    }

    /// Reads, changes and replaces the value. Writes nothing if it is unchanged.
    pub(super) fn update<R>(
        &self,
        change: impl FnOnce(&mut T) -> Result<R, DecisionFileError>,
    ) -> Result<R, DecisionFileError>
    where
        T: Clone + PartialEq,
    {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.read()?;
        let mut value = before.clone();
        let outcome = change(&mut value)?;
        if value != before {
            let damaged = |source| DecisionFileError::Damaged { path: self.path.clone(), source };
            let written = VersionedValue { version: VERSION, value };
            let bytes = serde_json::to_vec_pretty(&written).map_err(damaged)?;
            replace_file(&self.path, &bytes).map_err(|source| self.io_error(source))?;
        }
        Ok(outcome)
    }

    fn read_bytes(&self) -> io::Result<Option<Vec<u8>>> {
        let (Some(folder), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Ok(None);
        };
        let opened = RootDir::open(folder).and_then(|folder| folder.open_file(Path::new(name)));
        let file = match opened {
            Ok((file, _)) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let bytes = read_to_limit(file, MAX_BYTES + 1, || ())?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(io::Error::other(format!("it is larger than {} MiB", MAX_BYTES >> 20)));
        }
        Ok(Some(bytes))
    }

    fn io_error(&self, source: io::Error) -> DecisionFileError {
        DecisionFileError::Io { path: self.path.clone(), source }
    }
}

fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    atomic::write_atomically(path, bytes, FileAccess::Owner)
}
