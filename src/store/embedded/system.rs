//! Tells failures of the system from damage: the engine reports both as text.

#[cfg(unix)]
use rustix::io::Errno;

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

#[cfg(not(unix))]
pub(super) fn advice(_: &str) -> Option<&'static str> {
    None
}
