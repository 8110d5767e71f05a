//! Tells failures of the system from damage: the engine reports both as text.

#[cfg(unix)]
use std::{
    fs::{File, Metadata},
    os::unix::fs::MetadataExt,
};

use std::path::Path;

#[cfg(unix)]
use super::super::atomic;
#[cfg(unix)]
use rustix::io::Errno;

/// What an honest store may need beside the size of its files.
#[cfg(unix)]
const SPARE: u64 = 1 << 30;

/// Twice what the engine leaves empty in one file.
#[cfg(unix)]
const MAX_HOLES: u64 = 64 << 20;

/// What a system says that is short of something, or does not let us, and what to do. By error number.
#[cfg(unix)]
const ADVICE: &[(&[Errno], &str)] = &[
    (
        &[Errno::MFILE, Errno::NFILE],
        "nothing is damaged: let the process open more files (`ulimit -n 4096`) and start it again",
    ),
    (
        &[Errno::NOMEM, Errno::AGAIN],
        "nothing is damaged: let the process have more memory and threads and start it again",
    ),
    (
        &[Errno::ACCESS, Errno::PERM, Errno::ROFS],
        "nothing is damaged: see that its user may read and write the folder and all it holds",
    ),
    (
        &[Errno::NOSPC, Errno::DQUOT, Errno::FBIG],
        "nothing is damaged: make room on its disk, or raise the limit of file sizes, and start again",
    ),
    (
        &[Errno::IO],
        "the disk does not answer as it should: see the system's log before anything else",
    ),
    (
        &[Errno::BUSY, Errno::INTR, Errno::STALE, Errno::TIMEDOUT, Errno::NOLCK],
        "nothing is damaged: see whether its disk is there, and start again",
    ),
];

/// Returns what to do about a failure of the system that `message` reports; `None` if it reports none.
#[cfg(unix)]
pub(super) fn advice(message: &str) -> Option<&'static str> {
    let numbers: Vec<i32> = ["os error ", "code: "]
        .iter()
        .flat_map(|mark| message.split(mark).skip(1))
        .filter_map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok())
        .collect();
    let has = |codes: &[Errno]| codes.iter().any(|code| numbers.contains(&code.raw_os_error()));
    ADVICE.iter().find(|(codes, _)| has(codes)).map(|(_, advice)| *advice)
}

/// Whether a failure for lack of memory, or of a file's size, comes of a damaged length and not of the
/// system: all files of the store in `folder` would find room, and much else.
#[cfg(unix)]
pub(super) fn is_absurd(folder: &Path, message: &str) -> bool {
    let mut wanted = SPARE;
    let sized = super::checksums::files(folder).map(|files| {
        for file in files {
            // A damaged length can have made a file that long, of holes.
            let size = |found: Metadata| found.len().min(found.blocks() * 512 + MAX_HOLES);
            wanted = wanted.saturating_add(folder.join(file).metadata().map_or(0, size));
        }
    });
    let is_of = |code: Errno| message.contains(&format!("os error {}", code.raw_os_error()));
    let memory = usize::try_from(wanted).unwrap_or(usize::MAX);
    sized.is_ok()
        && (is_of(Errno::NOMEM) && Vec::<u8>::new().try_reserve_exact(memory).is_ok()
            || is_of(Errno::FBIG) && may_be_long(&folder.join("length.tmp"), wanted))
}

/// Whether a file can be made that is so long, of holes.
#[cfg(unix)]
fn may_be_long(path: &Path, length: u64) -> bool {
    // What a process left that was killed here.
    let is_free = atomic::remove(path).is_ok();
    let is_made = is_free && File::create_new(path).is_ok_and(|file| file.set_len(length).is_ok());
    atomic::remove(path).is_ok() && is_made
}

#[cfg(not(unix))]
pub(super) fn is_absurd(_: &Path, _: &str) -> bool {
    false
}

#[cfg(not(unix))]
pub(super) fn advice(_: &str) -> Option<&'static str> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::io;

    use rustix::io::Errno;

    use super::advice;

    #[test]
    fn what_the_system_is_short_of_or_refuses_has_advice_and_what_files_are_not_has_none() {
        let short = [
            [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::AGAIN, Errno::ACCESS, Errno::PERM],
            [Errno::ROFS, Errno::NOSPC, Errno::DQUOT, Errno::FBIG, Errno::IO, Errno::BUSY],
        ];
        for code in short.as_flattened() {
            let error = io::Error::from(*code);
            for said in [format!("failed to open: {error}"), format!("unwrap on {error:?}")] {
                assert!(advice(&said).is_some(), "{said}");
            }
        }
        for code in [Errno::NOENT, Errno::NOTDIR, Errno::ISDIR, Errno::INVAL, Errno::EXIST] {
            let error = io::Error::from(code);
            assert_eq!(advice(&format!("failed to open: {error}; {error:?}")), None);
        }
        assert_eq!(advice("segment 28 of 12 holds no code"), None);
    }
}
