//! Reads one file and chunks it; runs on blocking threads.

use std::{
    io::{self, Read},
    path::Path,
    time::SystemTime,
};

use codeinfo_chunk::{Chunk, ChunkedFile};
use codeinfo_core::{
    ChunkRecord, FileRecord, RootId, TermVector, Timestamp,
    hash::{self, ChunkingMethod},
};
use codeinfo_embed::{EmbeddingDocument, lexical};
use codeinfo_lang::{Language, role};
use codeinfo_worktree::{
    beneath::{self, RootDir},
    decode,
};
use memchr::memmem;

use super::other_versions::OtherTreeVersions;
use crate::{
    discover::DiscoveredFile,
    inspect::{self, FileVerdict, IndexedText},
    io_watchdog::IoHeartbeat,
    plan::RunMode,
    skip::SkipReason,
};

/// Minimum age of a reliable modification time in nanoseconds: file systems may round to 2 seconds.
const RACY_NS: u64 = 2_000_000_000;

#[derive(Debug, Clone, Copy)]
pub(super) struct RunFileReader<'a> {
    pub(super) root: RootId,
    pub(super) folder: &'a RootDir,
    pub(super) pulse: &'a IoHeartbeat,
    pub(super) max_file_bytes: u64,
    pub(super) mode: RunMode,
    pub(super) other_versions: &'a OtherTreeVersions,
}

#[derive(Debug)]
pub(super) enum ReadOutcome {
    /// The content is already stored; only size or time differ.
    Same(FileRecord),
    /// New content, possibly without chunks.
    Changed(FileRecord, Vec<UnembeddedChunk>, ReadNotes),
    Skipped(String, SkipReason),
    /// Was deleted since the walk.
    Gone(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReadNotes {
    pub(super) cut: ChunkingMethod,
    pub(super) secrets: u64,
    /// True if a part could not be decoded.
    pub(super) is_lossy: bool,
    /// True if it is indexed with its secrets replaced, and hidden from the model's shell.
    pub(super) is_private: bool,
}

impl ReadNotes {
    const NONE: Self =
        Self { cut: ChunkingMethod::Planned, secrets: 0, is_lossy: false, is_private: false };
}

#[derive(Debug)]
pub(super) struct UnembeddedChunk {
    pub(super) record: ChunkRecord,
    pub(super) sparse: TermVector,
}

impl RunFileReader<'_> {
    /// Reads and chunks a file, unless the store has its content.
    pub(super) fn read_file(
        self,
        file: &DiscoveredFile,
        known: Option<&FileRecord>,
    ) -> ReadOutcome {
        let content = self.read_content(file);
        self.pulse.mark_idle();
        let (content, size, modified_ns) = match content {
            Ok(Some(read)) => read,
            Ok(None) => return ReadOutcome::Skipped(file.path.clone(), SkipReason::TooLarge),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return ReadOutcome::Gone(file.path.clone());
            }
            Err(error) => {
                return ReadOutcome::Skipped(file.path.clone(), SkipReason::from_io_error(&error));
            }
        };
        let record = |version: String, chunks: u32| FileRecord {
            root: self.root,
            path: file.path.clone(),
            version,
            size,
            modified_ns,
            chunks,
        };
        let version = hash::compute_file_version(&content, ChunkingMethod::Planned);
        let same = known.filter(|known| {
            let (known, rule) = hash::split_omitted(&known.version);
            known == version && !(rule.is_some() && file.is_requested)
        });
        if let (RunMode::Changes, Some(known)) = (self.mode, same) {
            return ReadOutcome::Same(FileRecord { size, modified_ns, ..known.clone() });
        }
        // The content decides whether such a file must be hidden from the shell.
        let may_be_private = codeinfo_secrets::is_secret_path(&file.path)
            || memmem::find(&content, b"PRIVATE KEY").is_some();
        if !may_be_private
            && let Some((version, chunks)) =
                self.other_versions.find_version(&file.path, &version, &content)
        {
            return ReadOutcome::Changed(record(version, chunks), Vec::new(), ReadNotes::NONE);
        }
        let indexed = match inspect::inspect_content(&file.path, &content, file.is_requested) {
            FileVerdict::Text(indexed) => indexed,
            FileVerdict::LeftOut(rule) => {
                let version = hash::omitted_version(&version, rule);
                return ReadOutcome::Changed(record(version, 0), Vec::new(), ReadNotes::NONE);
            }
            FileVerdict::Skipped(reason) => return ReadOutcome::Skipped(file.path.clone(), reason),
        };
        let IndexedText { text, language, is_lossy, secrets, is_private } = indexed;
        let text = decode::shorten_lines(text);
        let chunked = codeinfo_chunk::chunk_text(language, &text);
        let (version, cut) = if chunked.parser_gave_up {
            (
                hash::compute_file_version(&content, ChunkingMethod::Fallback),
                ChunkingMethod::Fallback,
            )
        } else {
            (version, ChunkingMethod::Planned)
        };
        let record = record(version, u32::try_from(chunked.chunks.len()).unwrap_or(u32::MAX));
        let chunks = build_chunks(&record, language, chunked);
        ReadOutcome::Changed(record, chunks, ReadNotes { cut, secrets, is_lossy, is_private })
    }

    /// Returns a file's content, size and modification time, or `None` if it is too large.
    fn read_content(self, file: &DiscoveredFile) -> io::Result<Option<(Vec<u8>, u64, u64)>> {
        self.pulse.beat();
        let (mut opened, facts) = self.folder.open_file(Path::new(&file.path))?;
        // The start of a binary file is enough and represents its content.
        let head =
            beneath::read_to_limit(&mut opened, decode::HEAD_BYTES as u64, || self.pulse.beat())?;
        let (content, size) = if decode::is_binary(&head) {
            (head, facts.size)
        } else {
            // The file may be growing; one byte above the limit proves that it is too large.
            let all = io::Cursor::new(head).chain(opened);
            let limit = self.max_file_bytes.saturating_add(1);
            let content = beneath::read_to_limit(all, limit, || self.pulse.beat())?;
            let size = content.len() as u64;
            if self.max_file_bytes < size {
                return Ok(None);
            }
            (content, size)
        };
        let reliable_before =
            codeinfo_core::nanoseconds_since_epoch(SystemTime::now()).saturating_sub(RACY_NS);
        let is_racy = reliable_before <= facts.modified_ns || facts.size != size;
        let may_change = is_racy && !self.folder.is_fixed();
        Ok(Some((content, size, if may_change { 0 } else { facts.modified_ns })))
    }
}

fn build_chunks(
    record: &FileRecord,
    language: Option<&Language>,
    chunked: ChunkedFile<'_>,
) -> Vec<UnembeddedChunk> {
    let roles: Vec<_> = role::detect_roles(&record.path).collect();
    let indexed_at_ms = Timestamp::now().as_milliseconds();
    let unembedded_chunk = |chunk: Chunk<'_>| {
        let record = ChunkRecord {
            root: record.root,
            path: record.path.clone(),
            version: record.version.clone(),
            indexed_at_ms,
            start_line: chunk.start_line,
            end_line: chunk.end_line,
            text: chunk.text.to_owned(),
            symbol: chunk.symbol,
            kind: chunk.kind,
            defines: chunk.defines,
            bases: chunk.bases,
            roles: roles.clone(),
            signature: chunk.signature,
            language: language.map(|language| language.name.to_owned()),
        };
        let sparse = lexical::weigh_document(&EmbeddingDocument::from(&record));
        UnembeddedChunk { record, sparse }
    };
    chunked.chunks.into_iter().map(unembedded_chunk).collect()
}

#[cfg(test)]
mod golden;
#[cfg(all(test, unix))]
mod tests {
    use std::{
        fs,
        sync::atomic::{AtomicBool, Ordering},
    };

    use super::*;

    fn read(folder: &RootDir, path: &str) -> ReadOutcome {
        let (root, pulse) = (RootId::from_path(Path::new("/demo")), IoHeartbeat::default());
        let (mode, other_versions) = (RunMode::Changes, &OtherTreeVersions::default());
        let reader = RunFileReader {
            root,
            folder,
            pulse: &pulse,
            max_file_bytes: 1000,
            mode,
            other_versions,
        };
        let (path, is_requested) = (path.to_owned(), false);
        reader.read_file(&DiscoveredFile { path, size: 1, modified_ns: 1, is_requested }, None)
    }

    #[test]
    fn links_pipes_and_folders_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let beneath = RootDir::open(folder.path()).unwrap();
        fs::write(folder.path().join("a.rs"), "fn a() {}\n").unwrap();
        assert!(matches!(read(&beneath, "a.rs"), ReadOutcome::Changed(..)));

        std::os::unix::fs::symlink("/etc/hostname", folder.path().join("link.rs")).unwrap();
        let pipe = folder.path().join("pipe.rs");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        fs::create_dir(folder.path().join("folder.rs")).unwrap();
        for path in ["link.rs", "pipe.rs", "folder.rs"] {
            let outcome = read(&beneath, path);
            assert!(
                matches!(outcome, ReadOutcome::Skipped(_, SkipReason::Unreadable)),
                "{outcome:?}"
            );
        }
    }

    #[test]
    fn only_the_start_of_a_binary_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let beneath = RootDir::open(folder.path()).unwrap();
        let mut content = vec![b'\0'; decode::HEAD_BYTES];
        fs::write(folder.path().join("a.dat"), &content).unwrap();
        let ReadOutcome::Changed(start, ..) = read(&beneath, "a.dat") else { panic!() };
        content.extend(b"more");
        fs::write(folder.path().join("a.dat"), &content).unwrap();
        let ReadOutcome::Changed(whole, ..) = read(&beneath, "a.dat") else { panic!() };
        assert_eq!((whole.chunks, whole.size), (0, start.size + 4));
        assert_eq!(whole.version, start.version);
    }

    #[test]
    fn a_folder_that_became_a_link_is_not_followed() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("a.rs"), "fn outside() {}\n").unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("src")).unwrap();
        let beneath = RootDir::open(folder.path()).unwrap();
        let outcome = read(&beneath, "src/a.rs");
        assert!(matches!(outcome, ReadOutcome::Skipped(_, SkipReason::Unreadable)), "{outcome:?}");
    }

    #[test]
    fn a_folder_swapped_for_a_link_shows_nothing_outside() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("a.rs"), "fn outside() {}\n").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (own, link) = (folder.path().join("own"), folder.path().join("link"));
        let src = folder.path().join("src");
        fs::create_dir(&own).unwrap();
        fs::write(own.join("a.rs"), "fn inside() {}\n").unwrap();
        std::os::unix::fs::symlink(outside.path(), &link).unwrap();
        fs::rename(&own, &src).unwrap();
        let beneath = RootDir::open(folder.path()).unwrap();
        let (mut inside, mut refused, is_done) = (0, 0, AtomicBool::new(false));
        std::thread::scope(|scope| {
            let is_done = &is_done;
            scope.spawn(|| {
                // Bounded in case the reading below fails.
                for _ in 0..100_000 {
                    if is_done.load(Ordering::Relaxed) {
                        break;
                    }
                    fs::rename(&src, &own).unwrap();
                    fs::rename(&link, &src).unwrap();
                    fs::rename(&src, &link).unwrap();
                    fs::rename(&own, &src).unwrap();
                }
            });
            // Repeats until both outcomes have occurred.
            for round in 0..50_000 {
                if 500 < round && 0 < inside && 0 < refused {
                    break;
                }
                match read(&beneath, "src/a.rs") {
                    ReadOutcome::Changed(_, pieces, _) => {
                        assert_eq!(pieces[0].record.text.trim_end(), "fn inside() {}");
                        inside += 1;
                    }
                    _ => refused += 1,
                }
            }
            is_done.store(true, Ordering::Relaxed);
        });
        assert!(0 < inside && 0 < refused, "{inside} inside, {refused} refused");
    }
}
