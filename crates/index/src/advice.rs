//! Advice about failures of the system, which are no damage.

use std::io;

#[cfg(unix)]
use rustix::io::Errno;

/// Advice per errno for resource exhaustion and permission errors.
#[cfg(unix)]
const ADVICE: &[(&[Errno], &str)] = &[
    (
        &[Errno::MFILE, Errno::NFILE],
        "nothing is damaged: let the process open more files (`ulimit -n 4096`) and start it again",
    ),
    (&[Errno::NOMEM, Errno::AGAIN], MEMORY),
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

const MEMORY: &str =
    "nothing is damaged: let the process have more memory and threads and start it again";

/// Returns advice about a failure of the system; `None` for other failures.
pub(crate) fn system_advice(error: &io::Error) -> Option<&'static str> {
    if error.kind() == io::ErrorKind::OutOfMemory {
        return Some(MEMORY);
    }
    #[cfg(unix)]
    {
        let code = error.raw_os_error()?;
        let has = |codes: &[Errno]| codes.iter().any(|known| known.raw_os_error() == code);
        ADVICE.iter().find(|(codes, _)| has(codes)).map(|(_, advice)| *advice)
    }
    #[cfg(not(unix))]
    advice_by_kind(error.kind())
}

/// Returns the same advice by error kind, which the standard library has for every system.
#[cfg(not(unix))]
fn advice_by_kind(kind: io::ErrorKind) -> Option<&'static str> {
    use io::ErrorKind as Kind;
    match kind {
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => Some(
            "nothing is damaged: see that its user may read and write the folder and all it holds",
        ),
        Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => {
            Some("nothing is damaged: make room on its disk and start again")
        }
        Kind::ResourceBusy | Kind::Interrupted | Kind::TimedOut => {
            Some("nothing is damaged: see whether its disk is there, and start again")
        }
        _ => None,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io;

    use rustix::io::Errno;

    use super::system_advice;

    #[test]
    fn what_the_system_is_short_of_or_refuses_has_advice_and_what_files_are_not_has_none() {
        let short = [
            [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::AGAIN, Errno::ACCESS, Errno::PERM],
            [Errno::ROFS, Errno::NOSPC, Errno::DQUOT, Errno::FBIG, Errno::IO, Errno::BUSY],
        ];
        for code in short.as_flattened() {
            assert!(system_advice(&io::Error::from(*code)).is_some(), "{code}");
        }
        for code in [Errno::NOENT, Errno::NOTDIR, Errno::ISDIR, Errno::INVAL, Errno::EXIST] {
            assert_eq!(system_advice(&io::Error::from(code)), None);
        }
        assert!(system_advice(&io::ErrorKind::OutOfMemory.into()).is_some());
        assert_eq!(system_advice(&io::ErrorKind::InvalidData.into()), None);
    }
}
