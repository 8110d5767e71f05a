//! Tells failures of the system from damage: the engine reports both as text.

use std::path::Path;

#[cfg(unix)]
use rustix::io::Errno;

/// What an honest store may need beside the size of its files.
#[cfg(unix)]
const SPARE: usize = 1 << 30;

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

/// Whether a failure for lack of memory comes of a damaged length and not of the system: all files of the
/// store in `folder` would find room, and much else.
#[cfg(unix)]
pub(super) fn is_absurd(folder: &Path, message: &str) -> bool {
    let code = format!("os error {}", Errno::NOMEM.raw_os_error());
    let mut wanted = SPARE;
    let sized = super::checksums::files(folder).map(|files| {
        for file in files {
            let size = folder.join(file).metadata().map_or(0, |found| found.len());
            wanted = wanted.saturating_add(usize::try_from(size).unwrap_or(usize::MAX));
        }
    });
    message.contains(&code) && sized.is_ok() && Vec::<u8>::new().try_reserve_exact(wanted).is_ok()
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
