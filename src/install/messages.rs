//! Messages of `install` and `uninstall`: errors, lines, questions and the changes of files.

use std::{
    io::{self, BufRead, IsTerminal, Write},
    path::PathBuf,
    time::{Duration, Instant},
};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline, group_diff_ops};

use super::edit::EditRefusal;

/// Failure of `install` or `uninstall`, in words for the person who typed it.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("`{}` cannot be read or written: {source}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` {reason}", path.display())]
    Unfit { path: PathBuf, reason: String },
    #[error("no home folder is known: set `HOME` (or `USERPROFILE` on Windows)")]
    Homeless,
    #[error("the path of this program, `{}`, is not UTF-8, so that no file can name it", .0.display())]
    Program(PathBuf),
    #[error("nobody can be asked without a terminal: `--yes` writes what is shown above")]
    Unasked,
    #[error("nothing was written")]
    Declined,
    #[error("no client was found; looked for:\n{0}\nName one, or use --all or --print-config")]
    NoClient(String),
    #[error(
        "`{0}` concerns clients, and `--instructions` alone this repository: name clients, or use `--all`"
    )]
    ClientSwitch(&'static str),
    #[error("some clients could not be changed")]
    Some,
    #[error("this folder is in no repository: no `.git` from here upwards")]
    NoRepository,
    #[error(transparent)]
    Console(#[from] ConsoleError),
}

/// Failure of a standard stream or of the keyboard.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action}: {source}")]
pub struct ConsoleError {
    action: &'static str,
    #[source]
    source: io::Error,
}

impl ConsoleError {
    pub const fn new(action: &'static str, source: io::Error) -> Self {
        Self { action, source }
    }
}

impl InstallError {
    pub(super) fn for_file(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File { path: path.into(), source }
    }

    pub(super) fn unfit_file(path: impl Into<PathBuf>, reason: impl Into<String>) -> Self {
        Self::Unfit { path: path.into(), reason: reason.into() }
    }

    pub(super) fn refused_edit(path: impl Into<PathBuf>, refusal: &EditRefusal) -> Self {
        Self::unfit_file(path, refusal.to_string())
    }
}

const CONTEXT: usize = 2;
/// Maximum characters of a shown line. Claude Code stores histories in one line.
const MAX_SHOWN: usize = 160;
/// Maximum time to compute the shortest diff; after it, `print_diff` shows a longer one.
const DIFF_TIMEOUT: Duration = Duration::from_millis(500);
const MAX_ANSWER: u64 = 256;

pub(super) fn print_line(line: &str) -> Result<(), InstallError> {
    Ok(write_to_stdout(&replace_control_characters(line))?)
}

pub fn write_to_stdout(line: &str) -> Result<(), ConsoleError> {
    write_line(io::stdout().lock(), line, "write to standard output")
}

pub fn write_to_stderr(line: &str) -> Result<(), ConsoleError> {
    write_line(io::stderr().lock(), line, "write to standard error")
}

fn write_line(
    mut stream: impl Write,
    line: &str,
    action: &'static str,
) -> Result<(), ConsoleError> {
    writeln!(stream, "{line}").map_err(|source| ConsoleError::new(action, source))
}

/// Asks a question on the terminal. An empty answer means `default`, and any other answer than yes
/// means no. Returns `None` without a terminal, or at the end of input.
///
/// # Errors
///
/// The terminal cannot be read or written.
pub fn ask_person(question: &str, default: bool) -> Result<Option<bool>, ConsoleError> {
    let input = io::stdin();
    if !input.is_terminal() {
        return Ok(None);
    }
    let asked = replace_control_characters(question);
    let choice = if default { "[Y/n]" } else { "[y/N]" };
    let mut out = io::stderr().lock();
    write!(out, "{asked} {choice} ")
        .and_then(|()| out.flush())
        .map_err(|source| ConsoleError::new("write to standard error", source))?;
    let mut answer = String::new();
    let read = io::Read::take(input.lock(), MAX_ANSWER).read_line(&mut answer);
    if read.map_err(|source| ConsoleError::new("read from standard input", source))? == 0 {
        drop(out);
        write_to_stderr("")?;
        return Ok(None);
    }
    let lower_case = answer.trim().to_lowercase();
    Ok(Some(match lower_case.as_str() {
        "" => default,
        answer => answer == "y" || answer == "yes",
    }))
}

/// Prints the change of a file, like `diff --unified`.
pub(super) fn print_diff(old: &str, new: &str) -> Result<(), InstallError> {
    let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
    let deadline = Some(Instant::now() + DIFF_TIMEOUT);
    let changes = capture_diff_slices_deadline(Algorithm::Myers, &old_lines, &new_lines, deadline);
    for group in group_diff_ops(changes, CONTEXT) {
        let first = group.first().map_or(0, |change| change.new_range().start);
        print_line(&format!("  @@ line {} @@", first + 1))?;
        for change in group {
            if let DiffOp::Equal { .. } = change {
                print_diff_lines(' ', old_lines.get(change.old_range()))?;
            } else {
                print_diff_lines('-', old_lines.get(change.old_range()))?;
                print_diff_lines('+', new_lines.get(change.new_range()))?;
            }
        }
    }
    Ok(())
}

fn print_diff_lines(sign: char, lines: Option<&[&str]>) -> Result<(), InstallError> {
    for line in lines.unwrap_or_default() {
        let content = line.trim_end_matches(['\r', '\n']);
        let mut shown: String = content.chars().take(MAX_SHOWN).collect();
        if shown.len() < content.len() {
            shown.push('…');
        }
        print_line(format!("  {sign} {shown}").trim_end())?;
    }
    Ok(())
}

/// Replaces characters that control a terminal, because code, names and answers are not trusted.
pub fn replace_control_characters(text: &str) -> String {
    let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    text.replace(is_control, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_what_failed() {
        let error = write_line(&mut [][..], "a", "write to standard output").unwrap_err();
        let message = "cannot write to standard output: failed to write whole buffer";
        assert_eq!(InstallError::from(error).to_string(), message);
    }
}
