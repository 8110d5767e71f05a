//! Log file of commands run on a terminal, where only the command's own output is printed.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tracing_subscriber::fmt::MakeWriter;

use crate::atomic;

/// Name of the log file in the data folder. The previous file has `.1` appended to its name.
pub(super) const LOG_FILE: &str = "codeinfo.log";
/// Size in bytes at which the file is rotated.
const MAX_BYTES: u64 = 4 << 20;

/// Log file that is opened on the first line and rotated when it is full.
pub(super) struct LogFile {
    path: PathBuf,
    open: Mutex<Option<OpenLogFile>>,
}

pub(super) struct OpenLogFile {
    file: File,
    bytes: u64,
}

/// Writer for one log line.
pub(super) struct LineWriter<'a> {
    path: &'a Path,
    open: MutexGuard<'a, Option<OpenLogFile>>,
}

impl LogFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, open: Mutex::default() }
    }
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = LineWriter<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        // A panic in the middle of a line must not stop the log.
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        LineWriter { path: &self.path, open }
    }
}

impl OpenLogFile {
    fn open(path: &Path) -> io::Result<Self> {
        let file = atomic::open_regular_file(path, File::options().append(true).create(true))?;
        Ok(Self { bytes: file.metadata()?.len(), file })
    }
}

impl Write for LineWriter<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.open.as_ref().is_some_and(|open| open.bytes > MAX_BYTES) {
            *self.open = None;
            fs::rename(self.path, self.path.with_added_extension("1"))?;
        }
        if self.open.is_none() {
            *self.open = Some(OpenLogFile::open(self.path)?);
        }
        let Some(open) = self.open.as_mut() else { return Ok(line.len()) };
        open.file.write_all(line)?;
        open.bytes += line.len() as u64;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_becomes_the_one_before_and_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOG_FILE);
        let log = LogFile::new(path.clone());
        let line = vec![b'a'; 1 << 20];
        for _ in 0..12 {
            log.make_writer().write_all(&line).unwrap();
        }
        let size = |name| folder.path().join(name).metadata().unwrap().len();
        assert_eq!((size("codeinfo.log"), size("codeinfo.log.1")), (2 << 20, 5 << 20));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        fs::remove_file(&path).unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("elsewhere", &path).unwrap();
            assert!(LogFile::new(path).make_writer().write_all(b"a").is_err());
        }
    }
}
