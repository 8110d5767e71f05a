//! Repositories made by git, with the settings of no user, and questions with a generous budget.

use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use codeinfo_history::{CommitId, HistoryBudget, HistoryReader};
use codeinfo_worktree::git::GitRepository;

pub(crate) struct GitFolder {
    pub(crate) path: PathBuf,
    _folder: tempfile::TempDir,
}

impl GitFolder {
    pub(crate) fn create(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("repository");
        fs::create_dir(&path).unwrap();
        let made = Self { path, _folder: folder };
        made.git(&[&["init", "--quiet"], arguments].concat());
        made
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        run_git_at(&self.path, arguments, "1700000000 +0000", None)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Commits everything at a time in minutes, and returns the id.
    pub(crate) fn commit(&self, minute: u32, message: &str) -> CommitId {
        self.git(&["add", "--all"]);
        let date = format!("{} +0200", 1_700_000_000 + minute * 60);
        let arguments = ["commit", "--quiet", "--allow-empty", "--file", "-"];
        run_git_at(&self.path, &arguments, &date, Some(message.as_bytes()));
        self.head()
    }

    pub(crate) fn head(&self) -> CommitId {
        self.git(&["rev-parse", "HEAD"]).parse().unwrap()
    }

    pub(crate) fn reader(&self) -> HistoryReader {
        open_reader(&self.path)
    }

    /// Returns the ids that git prints.
    pub(crate) fn ids(&self, arguments: &[&str]) -> Vec<CommitId> {
        self.git(arguments).lines().map(|line| line.parse().unwrap()).collect()
    }
}

/// Runs git in a folder, at a time, with bytes as its input.
pub(crate) fn run_git_at(
    folder: &Path,
    arguments: &[&str],
    date: &str,
    input: Option<&[u8]>,
) -> String {
    let mut child = Command::new("git")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
        .args(["-c", "init.defaultBranch=main", "-c", "core.autocrlf=false"])
        .args(["-c", "protocol.file.allow=always", "-c", "gc.auto=0"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_DATE", date)
        .env("GIT_COMMITTER_DATE", date)
        .env_remove("GIT_DIR")
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let bytes = input.unwrap_or_default().to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&bytes));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

pub(crate) fn open_reader(folder: &Path) -> HistoryReader {
    let repository = GitRepository::open(folder).unwrap().unwrap();
    let head = repository.head_commit().unwrap();
    HistoryReader::open(repository.common_folder(), &head).unwrap()
}

pub(crate) fn budget() -> HistoryBudget {
    HistoryBudget::until(Instant::now() + Duration::from_mins(1))
}

/// Returns numbered lines, each as long as a line of code.
pub(crate) fn numbered_lines(numbers: std::ops::Range<u32>) -> String {
    numbers.fold(String::new(), |mut text, number| {
        writeln!(text, "let value_{number} = compute({number});").unwrap();
        text
    })
}
