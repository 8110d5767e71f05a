//! What people decided about toolkits, in small files that only their user reads: replaced as a whole, and never
//! taken for empty when they are damaged.

use std::{
    fs, io,
    marker::PhantomData,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use codeinfo_core::{
    atomic::{self, Readers},
    error::Code,
};
use codeinfo_worktree::beneath::{Beneath, read};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The most that is read of such a file: more than all bounds of its content together take.
const MAX_BYTES: u64 = 64 << 20;
const VERSION: u32 = 1;

/// What was decided cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    #[error("cannot use `{}`: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("`{}` is damaged: move it away and decide again", path.display())]
    Damaged { path: PathBuf, source: serde_json::Error },
    #[error("`{}` is of another version of CodeInfo ({version})", path.display())]
    Foreign { path: PathBuf, version: u32 },
    #[error("`{}` already keeps {max} {what}: move it away and decide again", path.display())]
    Full { path: PathBuf, max: usize, what: &'static str },
}

impl KeptError {
    pub fn code(&self) -> Code {
        match self {
            Self::Io { .. } | Self::Damaged { .. } | Self::Foreign { .. } | Self::Full { .. } => {
                Code::StoreUnavailable
            }
        }
    }
}

/// A file with one value of `T`, read at each use: others may have replaced it.
#[derive(Debug)]
pub(super) struct Kept<T> {
    path: PathBuf,
    /// Held from reading to replacing, so that no change is lost.
    changing: Mutex<()>,
    value: PhantomData<fn() -> T>,
}

/// The file as it is written.
#[derive(Serialize, Deserialize)]
struct Versioned<T> {
    version: u32,
    #[serde(flatten)]
    value: T,
}

impl<T: Default + Serialize + DeserializeOwned> Kept<T> {
    pub(super) fn new(data_dir: &Path, name: &str) -> Self {
        let path = data_dir.join("toolkits").join(name);
        Self { path, changing: Mutex::new(()), value: PhantomData }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what is kept; what was never written is empty.
    pub(super) fn read(&self) -> Result<T, KeptError> {
        let Some(bytes) = self.bytes().map_err(|source| self.io(source))? else {
            return Ok(T::default());
        };
        let damaged = |source| KeptError::Damaged { path: self.path.clone(), source };
        let read: Versioned<T> = serde_json::from_slice(&bytes).map_err(damaged)?;
        if read.version != VERSION {
            let path = self.path.clone();
            return Err(KeptError::Foreign { path, version: read.version });
        }
        Ok(read.value)
    }

    /// Reads, changes and replaces what is kept. Where nothing changed, nothing is written.
    pub(super) fn change<R>(
        &self,
        change: impl FnOnce(&mut T) -> Result<R, KeptError>,
    ) -> Result<R, KeptError>
    where
        T: Clone + PartialEq,
    {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.read()?;
        let mut value = before.clone();
        let outcome = change(&mut value)?;
        if value != before {
            let damaged = |source| KeptError::Damaged { path: self.path.clone(), source };
            let written = Versioned { version: VERSION, value };
            let bytes = serde_json::to_vec_pretty(&written).map_err(damaged)?;
            replace(&self.path, &bytes).map_err(|source| self.io(source))?;
        }
        Ok(outcome)
    }

    fn bytes(&self) -> io::Result<Option<Vec<u8>>> {
        let (Some(folder), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Ok(None);
        };
        let opened = Beneath::open(folder).and_then(|folder| folder.file(Path::new(name)));
        let file = match opened {
            Ok((file, _)) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let bytes = read(file, MAX_BYTES + 1, || ())?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(io::Error::other(format!("it is larger than {} MiB", MAX_BYTES >> 20)));
        }
        Ok(Some(bytes))
    }

    fn io(&self, source: io::Error) -> KeptError {
        KeptError::Io { path: self.path.clone(), source }
    }
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    atomic::replace(path, bytes, Readers::Owner)
}
