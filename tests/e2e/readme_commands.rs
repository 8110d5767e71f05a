//! Runs README's first commands as a newcomer: a fresh clone, an empty home, and the programs that README names.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use crate::support::process::{create_scratch_folder, repository_root};

/// The commands of README for building and starting; the program of the tests replaces both.
const BUILD_AND_RUN: &str = "cargo run --release --locked -- ";

/// Returns the commands of the first lines to type in README.
fn read_commands() -> Vec<String> {
    let readme = fs::read_to_string(repository_root().join("README.md")).unwrap();
    let quick_start = readme.split("## Quick start\n").nth(1).unwrap();
    let lines = quick_start.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    lines.lines().map(|line| line.split(" #").next().unwrap().trim().to_owned()).collect()
}

/// An account with an empty home but for the project that README names, on a `PATH` without programs.
struct NewcomerAccount {
    home: tempfile::TempDir,
}

impl NewcomerAccount {
    fn with_project() -> Self {
        let home = create_scratch_folder();
        let project = home.path().join("src/my-project");
        fs::create_dir_all(&project).unwrap();
        fs::create_dir(home.path().join("bin")).unwrap();
        let code = "/// Reads settings from the environment.\npub fn read_settings() -> Settings {\n    todo!()\n}\n";
        fs::write(project.join("settings.rs"), code).unwrap();
        Self { home }
    }

    fn bin_folder(&self) -> PathBuf {
        self.home.path().join("bin")
    }

    /// Prepares a line for the shell. Ports are free ones, since others may have README's.
    fn shell_command(&self, line: &str) -> Command {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", line]).current_dir(repository_root()).stdin(Stdio::null());
        shell.env_clear().env("HOME", self.home.path()).env("PATH", self.bin_folder());
        shell.env("PORT", "0").env("MCP_PORT", "0");
        shell
    }

    fn run_line(&self, line: &str) -> Output {
        self.shell_command(line).output().unwrap()
    }
}

/// A server that ends with its test.
struct NewcomerServer(Child);

impl Drop for NewcomerServer {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn the_first_command_of_the_readme_serves_and_says_what_answers_lack() {
    let commands = read_commands();
    let arguments = commands[0].strip_prefix(BUILD_AND_RUN).unwrap();
    let newcomer = NewcomerAccount::with_project();
    let program = env!("CARGO_BIN_EXE_codeinfo");
    let mut serve = newcomer.shell_command(&format!("exec {program} {arguments}"));
    let mut server =
        NewcomerServer(serve.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let mut printed = Vec::new();
    for line in BufReader::new(server.0.stdout.take().unwrap()).lines() {
        printed.push(line.unwrap());
        if printed.last().unwrap().starts_with("Ctrl-C") {
            break;
        }
    }
    let lacks = "Codex       cannot be used, so questions are not answered; search works";
    let at =
        printed.iter().position(|line| line == lacks).unwrap_or_else(|| panic!("{printed:#?}"));
    let (missing, to_do) = (&printed[at + 1], &printed[at + 2]);
    assert!(missing.contains("no `codex` on PATH"), "{printed:#?}");
    let answers = commands.iter().find(|line| line.starts_with("npm")).unwrap();
    for command in answers.split(" && ") {
        assert!(to_do.contains(&format!("`{command}`")), "{command}: {printed:#?}");
    }
    assert!(printed.iter().any(|line| line.starts_with("Page        http://127.0.0.1:")));
    let search = commands.iter().find(|line| line.contains("codeinfo search")).unwrap();
    let output = newcomer.run_line(&search.replacen("codeinfo", program, 1));
    let found = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && found.contains("settings.rs:1-4"), "{found}");
}

#[test]
fn the_test_command_says_at_once_what_is_missing_and_what_installs_it() {
    let newcomer = NewcomerAccount::with_project();
    std::os::unix::fs::symlink("/usr/bin/dirname", newcomer.bin_folder().join("dirname")).unwrap();
    let output = newcomer.run_line("./test.sh");
    let printed = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{printed}");
    insta::assert_snapshot!(printed, @r"
    The tests need what is not here: a C compiler with make, git, Chromium or Chrome, npm, Python 3.11 with pip and venv, curl, jq, script, ps.
    On Debian or Ubuntu this installs it, as root: apt-get update && apt-get install --yes --no-install-recommends build-essential git chromium fonts-liberation npm python3-venv curl jq bsdutils procps
    ");
}

#[test]
fn tests_are_left_out_only_where_a_variable_allows_it() {
    let newcomer = NewcomerAccount::with_project();
    for tool in ["dirname", "grep", "sed", "sort"] {
        std::os::unix::fs::symlink(
            Path::new("/usr/bin").join(tool),
            newcomer.bin_folder().join(tool),
        )
        .unwrap();
    }
    for tool in ["cargo", "cc", "make", "git", "script", "ps"] {
        let program = newcomer.bin_folder().join(tool);
        fs::write(&program, "#!/bin/sh\necho \"$*\"\n").unwrap();
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let refused = newcomer.run_line("SKIP_BROWSER_TESTS=1 SKIP_PACKAGE_TESTS=0 ./test.sh");
    let printed = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && printed.contains("npm"), "{printed}");
    assert!(!printed.contains("Chromium or Chrome"), "{printed}");
    let output =
        newcomer.run_line("SKIP_BROWSER_TESTS=1 SKIP_PACKAGE_TESTS=1 ./test.sh --test e2e");
    insta::assert_snapshot!(String::from_utf8(output.stderr).unwrap(), @r"
    Left out, as SKIP_BROWSER_TESTS is set: the tests that need a browser.
    Left out, as SKIP_PACKAGE_TESTS is set: the tests that need packages of npm, pip or Debian.
    ");
    let command = String::from_utf8(output.stdout).unwrap();
    assert!(command.starts_with("test --locked --test e2e -- --skip page_access:: "), "{command}");
    for module in ["page_map", "chat", "codex", "toolkit_calls"] {
        assert!(command.contains(&format!("--skip {module}:: ")), "{module}: {command}");
    }
    for module in ["readme_commands", "search_names", "terminal", "engine_equality"] {
        assert!(!command.contains(&format!("--skip {module}::")), "{module}: {command}");
    }
}

#[test]
fn builds_take_the_versions_of_the_lock_file() {
    let docs =
        fs::read_dir(repository_root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let packed = ["README.md", "Dockerfile", ".ci/run", "test.sh", "packaging/build"];
    let workflows = [".github/workflows/test.yml", ".github/workflows/release.yml"];
    let named = packed.into_iter().chain(workflows).map(|file| repository_root().join(file));
    let mut count = 0;
    for file in named.chain(docs.filter(|path| path.extension().is_some_and(|end| end == "md"))) {
        let text = fs::read_to_string(&file).unwrap().replace("\", \"", " ");
        for command in ["build", "install", "run", "clippy"] {
            for after in text.split(&format!("cargo {command} ")).skip(1) {
                let line = after.lines().next().unwrap_or_default();
                assert!(line.contains("--locked"), "{}: {line}", file.display());
                count += 1;
            }
        }
    }
    assert!(count > 8, "{count} commands were found");
}
