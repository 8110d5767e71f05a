//! How clients start this program: by the shortest name that will still mean it tomorrow.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use super::{clients::StartedFrom, places::program};

/// A command that runs this program, and the arguments before those of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Launch {
    pub(super) command: PathBuf,
    pub(super) before: &'static [&'static str],
}

/// Parts of the paths in which runners of packages keep a program for a while, and what runs it again.
const CACHES: [(&[&str], &str, &[&str]); 2] =
    [(&["_npx"], "npx", &["-y", "codeinfo"]), (&["uv", "archive-v0"], "uvx", &["codeinfo"])];

/// Returns the command for the program at `exe`, started by a client.
pub(super) fn launch(exe: &Path, path: &OsStr, from: StartedFrom) -> Launch {
    let parts: Vec<&OsStr> = exe.components().map(std::path::Component::as_os_str).collect();
    let is_cached = |marks: &[&str]| {
        parts.windows(marks.len()).any(|window| window.iter().zip(marks).all(|(a, b)| a == b))
    };
    if let Some((_, runner, before)) = CACHES.iter().find(|(marks, ..)| is_cached(marks)) {
        let whole = program(runner, path).filter(|_| from == StartedFrom::Desktop);
        return Launch { command: whole.unwrap_or_else(|| runner.into()), before };
    }
    let is_this = |found: &PathBuf| match (found.canonicalize(), exe.canonicalize()) {
        (Ok(found), Ok(this)) => found == this,
        _ => false,
    };
    // The one on `PATH` may be a link that outlives this version.
    let command = match (program("codeinfo", path).filter(is_this), from) {
        (Some(_), StartedFrom::Terminal) => "codeinfo".into(),
        (Some(found), StartedFrom::Desktop) => found,
        (None, _) => exe.to_owned(),
    };
    Launch { command, before: &[] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_a_runner_keeps_for_a_while_is_run_by_it_again() {
        let at = |exe: &str| launch(Path::new(exe), OsStr::new(""), StartedFrom::Terminal);
        let npx = at("/home/a/.npm/_npx/0f3/node_modules/codeinfo-linux-x64/bin/codeinfo");
        assert_eq!((npx.command, npx.before), ("npx".into(), &["-y", "codeinfo"][..]));
        let uvx = at("/home/a/.cache/uv/archive-v0/Zq1/bin/codeinfo");
        assert_eq!((uvx.command, uvx.before), ("uvx".into(), &["codeinfo"][..]));
        let own = at("/opt/uv/codeinfo");
        assert_eq!((own.command, own.before), ("/opt/uv/codeinfo".into(), &[][..]));
    }
}
