//! `codeinfo install`, `uninstall` and `service`, as people run them, in homes of their own.

mod client_question;
mod clients;
mod documents;
mod hook;
mod hostile;
mod instructions;
#[cfg(target_os = "linux")]
mod owners;
mod permissions;
mod service;
mod shared;

use codeinfo_test_support::sources::list_files;
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use insta::assert_snapshot;

use crate::support::process::create_scratch_folder;

/// Path of `codeinfo` in compared outputs.
const BINARY: &str = env!("CARGO_BIN_EXE_codeinfo");

/// A home folder, with a `PATH` that finds only the programs in its `bin`.
struct TestHome(tempfile::TempDir);

/// Exit code and output of a command.
#[derive(Debug)]
struct CommandResult {
    code: Option<i32>,
    output_text: String,
    failed: String,
}

impl TestHome {
    fn new() -> Self {
        let home = Self(create_scratch_folder());
        fs::create_dir(home.path("bin")).unwrap();
        home
    }

    /// With `codeinfo` on `PATH`.
    fn with_program() -> Self {
        let home = Self::new();
        symlink(BINARY, home.path("bin/codeinfo")).unwrap();
        home
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read_file(&self, path: &str) -> String {
        String::from_utf8(fs::read(self.path(path)).unwrap()).unwrap()
    }

    fn has_file(&self, path: &str) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    /// A program that does `script`.
    fn add_program(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.0.path())
            .env("PATH", self.path("bin"))
            .env("DATA_DIR", self.path("data"))
            .stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> CommandResult {
        self.finish_command(self.command(BINARY).args(arguments))
    }

    fn finish_command(&self, command: &mut Command) -> CommandResult {
        let output = command.output().unwrap();
        let utf8 = |bytes| {
            let text = String::from_utf8(bytes).unwrap();
            text.replace(self.0.path().to_str().unwrap(), "~").replace(BINARY, "CODEINFO")
        };
        CommandResult {
            code: output.status.code(),
            output_text: utf8(output.stdout),
            failed: utf8(output.stderr),
        }
    }

    /// Runs a command that must succeed, and returns its output.
    fn run_successfully(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!((ended.code, ended.failed.as_str()), (Some(0), ""), "{}", ended.output_text);
        ended.output_text
    }

    /// Lists every file below the home, without programs and data of CodeInfo, by name.
    fn list_files(&self) -> Vec<(String, Vec<u8>)> {
        let files = list_files(self.0.path());
        let named = files.into_iter().map(|path| {
            let name = path.strip_prefix(self.0.path()).unwrap().to_str().unwrap().to_owned();
            (name, fs::read(&path).unwrap())
        });
        let mut named: Vec<_> = named
            .filter(|(name, _)| !name.starts_with("bin/") && !name.starts_with("data/"))
            .collect();
        named.sort();
        named
    }

    /// Every file in one line.
    fn render_files(&self) -> String {
        let shown = self.render_output();
        let files = shown.split("== ").skip(1).map(|file| {
            let (name, text) = file.split_once('\n').unwrap();
            format!("{name}: {}\n", text.split_whitespace().collect::<Vec<_>>().join(" "))
        });
        files.collect()
    }

    fn render_output(&self) -> String {
        let home = self.0.path().to_str().unwrap().to_owned();
        let files = self.list_files().into_iter().map(|(name, bytes)| {
            let text = String::from_utf8(bytes).unwrap().replace(&home, "~");
            format!("== {name}\n{text}")
        });
        files.collect::<String>().replace(BINARY, "CODEINFO")
    }
}

#[test]
fn every_client_is_set_up_in_its_own_file_and_form() {
    let home = TestHome::with_program();
    home.run_successfully(&["install", "--all", "--no-instructions", "--yes"]);
    assert_snapshot!(home.render_files(), @r#"
    .claude.json: { "mcpServers": { "codeinfo": { "type": "stdio", "command": "codeinfo", "args": ["stdio", "--auto-index"], "alwaysLoad": true } } }
    .claude/settings.json: { "permissions": { "allow": [ "mcp__codeinfo__codebase_question" ] } }
    .cline/data/settings/cline_mcp_settings.json: { "mcpServers": { "codeinfo": { "command": "codeinfo", "args": ["stdio", "--auto-index"], "timeout": 1800 } } }
    .codeium/windsurf/mcp_config.json: { "mcpServers": { "codeinfo": { "command": "~/bin/codeinfo", "args": ["stdio", "--auto-index"] } } }
    .codex/config.toml: [mcp_servers.codeinfo] command = "codeinfo" args = ["stdio", "--auto-index"] tool_timeout_sec = 1800
    .config/Claude/claude_desktop_config.json: { "mcpServers": { "codeinfo": { "command": "~/bin/codeinfo", "args": ["stdio", "--auto-index"] } } }
    .config/Code/User/mcp.json: { "servers": { "codeinfo": { "type": "stdio", "command": "~/bin/codeinfo", "args": ["stdio", "--auto-index"] } } }
    .config/opencode/opencode.json: { "mcp": { "codeinfo": { "type": "local", "command": ["codeinfo", "stdio", "--auto-index"], "enabled": true, "timeout": 1800000 } } }
    .config/zed/settings.json: { "context_servers": { "codeinfo": { "command": "~/bin/codeinfo", "args": ["stdio", "--auto-index"], "timeout": 1800 } } }
    .copilot/mcp-config.json: { "mcpServers": { "codeinfo": { "type": "local", "command": "codeinfo", "args": ["stdio", "--auto-index"], "tools": ["*"], "timeout": 1800000 } } }
    .cursor/mcp.json: { "mcpServers": { "codeinfo": { "command": "~/bin/codeinfo", "args": ["stdio", "--auto-index"] } } }
    .gemini/settings.json: { "mcpServers": { "codeinfo": { "command": "codeinfo", "args": ["stdio", "--auto-index"], "timeout": 1800000, "trust": true } } }
    .qwen/settings.json: { "mcpServers": { "codeinfo": { "command": "codeinfo", "args": ["stdio", "--auto-index"], "timeout": 1800000, "alwaysLoadTools": true, "trust": true } } }
    "#);
    // Created files are removed, with their folders.
    home.run_successfully(&["uninstall", "--yes"]);
    assert_eq!(home.render_output(), "");
    let left: Vec<_> =
        fs::read_dir(home.0.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert_eq!(fs::read_dir(home.path("data/clients")).unwrap().count(), 0);
}

#[test]
fn every_client_but_one_is_set_up_for_the_listener() {
    let home = TestHome::with_program();
    let ended = home.run(&["install", "--all", "--http", "--no-instructions", "--yes"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.output_text.contains("takes programs only"), "{}", ended.output_text);
    assert_snapshot!(home.render_files(), @r#"
    .claude.json: { "mcpServers": { "codeinfo": { "type": "http", "url": "http://127.0.0.1:5011/mcp", "alwaysLoad": true } } }
    .claude/settings.json: { "permissions": { "allow": [ "mcp__codeinfo__codebase_question" ] } }
    .cline/data/settings/cline_mcp_settings.json: { "mcpServers": { "codeinfo": { "type": "streamableHttp", "url": "http://127.0.0.1:5011/mcp", "timeout": 1800 } } }
    .codeium/windsurf/mcp_config.json: { "mcpServers": { "codeinfo": { "serverUrl": "http://127.0.0.1:5011/mcp" } } }
    .codex/config.toml: [mcp_servers.codeinfo] url = "http://127.0.0.1:5011/mcp" tool_timeout_sec = 1800
    .config/Code/User/mcp.json: { "servers": { "codeinfo": { "type": "http", "url": "http://127.0.0.1:5011/mcp" } } }
    .config/opencode/opencode.json: { "mcp": { "codeinfo": { "type": "remote", "url": "http://127.0.0.1:5011/mcp", "enabled": true, "timeout": 1800000 } } }
    .config/zed/settings.json: { "context_servers": { "codeinfo": { "url": "http://127.0.0.1:5011/mcp", "timeout": 1800 } } }
    .copilot/mcp-config.json: { "mcpServers": { "codeinfo": { "type": "http", "url": "http://127.0.0.1:5011/mcp", "tools": ["*"], "timeout": 1800000 } } }
    .cursor/mcp.json: { "mcpServers": { "codeinfo": { "url": "http://127.0.0.1:5011/mcp" } } }
    .gemini/settings.json: { "mcpServers": { "codeinfo": { "httpUrl": "http://127.0.0.1:5011/mcp", "timeout": 1800000, "trust": true } } }
    .qwen/settings.json: { "mcpServers": { "codeinfo": { "httpUrl": "http://127.0.0.1:5011/mcp", "timeout": 1800000, "alwaysLoadTools": true, "trust": true } } }
    "#);
    // After a change from one to the other, nothing of the first stays.
    home.run_successfully(&[
        "install", "codex", "claude-code", "gemini", "opencode", "windsurf", "qwen", "copilot",
        "cline", "--no-instructions", "--yes",
    ]);
    let shown = home.render_output();
    assert!(!shown.contains("httpUrl") && !shown.contains("serverUrl"), "{shown}");
    assert_eq!(shown.matches("http://").count(), 3, "those that were not named: {shown}");
    home.run_successfully(&["uninstall", "--yes"]);
    assert_eq!(home.render_output(), "");
}

#[test]
fn the_listener_is_the_one_that_is_configured() {
    let home = TestHome::new();
    let mut command = home.command(BINARY);
    let ended = home.finish_command(
        command.env("MCP_PORT", "7011").args(["install", "codex", "--http", "--yes"]),
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.output_text.contains("this shell sets"), "{ended:?}");
    assert!(home.read_file(".codex/config.toml").contains("url = \"http://127.0.0.1:7011/mcp\""));
}

#[test]
fn folders_that_the_environment_names_are_used() {
    let home = TestHome::new();
    let mut command = home.command(BINARY);
    for (name, folder) in [
        ("CODEX_HOME", "a"),
        ("CLAUDE_CONFIG_DIR", "b"),
        ("GEMINI_CLI_HOME", "c"),
        ("QWEN_HOME", "d"),
        ("XDG_CONFIG_HOME", "e"),
        ("COPILOT_HOME", "f"),
        ("CLINE_DIR", "g"),
    ] {
        command.env(name, home.path(folder));
    }
    let clients =
        ["codex", "claude-code", "gemini", "qwen", "opencode", "zed", "vscode", "copilot", "cline"];
    let ended = home.finish_command(command.args(["install", "--yes"]).args(clients));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let names: Vec<String> = home.list_files().into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        [
            "a/AGENTS.md",
            "a/config.toml",
            "b/.claude.json",
            "b/CLAUDE.md",
            "b/agents/code-investigator.md",
            "b/settings.json",
            "c/.gemini/GEMINI.md",
            "c/.gemini/agents/code-investigator.md",
            "c/.gemini/settings.json",
            "d/QWEN.md",
            "d/agents/code-investigator.md",
            "d/settings.json",
            "e/Code/User/mcp.json",
            "e/opencode/AGENTS.md",
            "e/opencode/agents/code-investigator.md",
            "e/opencode/opencode.json",
            "e/zed/settings.json",
            "f/copilot-instructions.md",
            "f/mcp-config.json",
            "g/data/settings/cline_mcp_settings.json",
            "g/rules/codeinfo.md",
        ]
    );
}

#[test]
fn clients_that_are_there_are_found_by_folder_or_program() {
    let home = TestHome::new();
    let ended = home.run(&["install", "--yes"]);
    assert_eq!((ended.code, ended.output_text.as_str()), (Some(1), ""), "{ended:?}");
    assert!(ended.failed.contains("no client was found"), "{}", ended.failed);
    for looked in ["~/.codex or `codex`", "~/.cursor or `cursor`, `cursor-agent`", "--print-config"]
    {
        assert!(ended.failed.contains(looked), "{looked}: {}", ended.failed);
    }
    fs::create_dir(home.path(".qwen")).unwrap();
    home.add_program("gemini", "exit 0");
    home.run_successfully(&["install", "--no-instructions", "--yes"]);
    let names: Vec<String> = home.list_files().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, [".gemini/settings.json", ".qwen/settings.json"]);
}

#[test]
fn unknown_clients_and_switches_that_contradict_are_wrong_usage() {
    let home = TestHome::new();
    let ended = home.run(&["install", "emacs"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.failed.contains("claude-desktop"), "{}", ended.failed);
    assert_eq!(home.run(&["install", "codex", "--all"]).code, Some(2));
    assert_eq!(home.run(&["install", "--http", "--auto-index"]).code, Some(2));
}

#[test]
fn what_is_printed_to_paste_is_not_written() {
    let home = TestHome::new();
    let output_text = home.run_successfully(&["install", "--print-config"]);
    for name in ["Codex", "Claude Code", "Zed", "Claude Desktop", "Qwen Code"] {
        assert!(output_text.contains(name), "{output_text}");
    }
    let output_text = home.run_successfully(&["install", "zed", "--print-config"]);
    assert_snapshot!(output_text, @r#"
    Zed:
    paste into ~/.config/zed/settings.json:

    {
      "context_servers": {
        "codeinfo": {
          "command": "CODEINFO",
          "args": ["stdio", "--auto-index"],
          "timeout": 1800
        }
      }
    }
    "#);
    assert_eq!(home.render_output(), "");
    assert!(!home.has_file("data"));
}

#[test]
fn the_example_of_the_document_is_what_a_person_sees() {
    let document = include_str!("../../docs/install.md");
    let (_, rest) = document.split_once("```console\n$ codeinfo ").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let (line, shown) = example.split_once('\n').unwrap();
    let home = TestHome::with_program();
    home.write(".codex/config.toml", "model = \"gpt-5.1-codex\"\n");
    let mut command = home.command(BINARY);
    let ended = home.finish_command(command.env_remove("DATA_DIR").args(line.split_whitespace()));
    // The name of the copy follows the path.
    let without_name = |text: &str| text.rsplit_once('/').unwrap().0.to_owned();
    assert_eq!(without_name(&ended.output_text), without_name(&shown.replace("/home/me", "~")));
}

#[test]
fn nothing_is_written_without_a_yes() {
    let home = TestHome::new();
    home.write(".codex/config.toml", "model = \"a\"\n");
    let ended = home.run(&["install", "codex", "--no-instructions"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.failed.contains("--yes"), "{}", ended.failed);
    assert_snapshot!(ended.output_text, @r#"
    Codex: changes ~/.codex/config.toml
      @@ line 1 @@
        model = "a"
      +
      + [mcp_servers.codeinfo]
      + command = "CODEINFO"
      + args = ["stdio", "--auto-index"]
      + tool_timeout_sec = 1800
    "#);
    assert_eq!(home.read_file(".codex/config.toml"), "model = \"a\"\n");
    assert!(!home.has_file("data"));
}

/// A command on a terminal.
struct TerminalSession {
    child: std::process::Child,
    seen: String,
}

impl TerminalSession {
    fn start(home: &TestHome, arguments: &str) -> Self {
        let mut command = home.command("/usr/bin/script");
        let line = format!("{BINARY} {arguments}");
        command.args(["--quiet", "--return", "--echo", "never", "--command", &line, "/dev/null"]);
        command.env("SHELL", "/bin/sh").stdin(Stdio::piped()).stdout(Stdio::piped());
        Self { child: command.spawn().unwrap(), seen: String::new() }
    }

    /// Waits until the command asks that, and answers.
    fn answer_question(&mut self, question: &str, answer: &str) {
        self.read_question(question);
        writeln!(self.child.stdin.as_mut().unwrap(), "{answer}").unwrap();
    }

    /// Waits until the command asks that; returns what it printed since the last answer.
    fn read_question(&mut self, question: &str) -> String {
        let mut byte = [0];
        let is_asked = |seen: &str| seen.ends_with("[y/N] ") || seen.ends_with("[Y/n] ");
        while !(self.seen.contains(question) && is_asked(&self.seen)) {
            let read = self.child.stdout.as_mut().unwrap().read(&mut byte).unwrap();
            assert_eq!(read, 1, "no `{question}` in {}", self.seen);
            self.seen.push(byte[0].into());
        }
        std::mem::take(&mut self.seen)
    }

    fn wait_for_end(mut self) -> (Option<i32>, String) {
        let lines = BufReader::new(self.child.stdout.take().unwrap()).lines();
        let rest: String = lines.map_while(Result::ok).collect::<Vec<_>>().join("\n");
        (self.child.wait().unwrap().code(), self.seen + &rest)
    }
}

#[test]
fn a_person_is_asked_about_repositories_and_about_the_change() {
    let home = TestHome::new();
    let mut terminal = TerminalSession::start(&home, "install codex gemini");
    terminal.answer_question("index it in the background", "y");
    terminal.answer_question("without asking you each time?", "");
    terminal.answer_question("what agents read in every folder", "");
    terminal.answer_question("Write this?", "n");
    let (code, output_text) = terminal.wait_for_end();
    assert_eq!(code, Some(1), "{output_text}");
    assert_eq!(home.render_output(), "");

    let mut terminal = TerminalSession::start(&home, "install codex opencode");
    terminal.answer_question("index it in the background", "");
    terminal.answer_question("what agents read in every folder", "y");
    terminal.answer_question("Write this?", "yes");
    let (code, output_text) = terminal.wait_for_end();
    assert_eq!(code, Some(0), "{output_text}");
    let next = "next for Codex: start it again in a repository; `/mcp` lists codeinfo";
    assert_eq!(output_text.matches(next).count(), 1, "{output_text}");
    assert_eq!(
        output_text.matches("next for OpenCode: start it again in a repository").count(),
        1,
        "{output_text}"
    );
    assert_eq!(output_text.matches("next for ").count(), 2, "{output_text}");
    assert!(home.read_file(".codex/config.toml").contains(r#"args = ["stdio", "--auto-index"]"#));
    // An earlier consent stays, without a question.
    let again = home.run_successfully(&["install", "codex", "opencode", "--yes"]);
    assert!(again.contains("already set up"), "{again}");
    // A client has a data folder of its own unless its configuration names one.
    assert!(again.contains("without DATA_DIR, which this shell sets"), "{again}");
    assert!(
        home.read_file(".config/opencode/opencode.json").contains(r#""stdio", "--auto-index"]"#)
    );

    let mut terminal = TerminalSession::start(&home, "uninstall");
    terminal.answer_question("Write this?", "y");
    assert_eq!(terminal.wait_for_end().0, Some(0));
    assert_eq!(home.render_output(), "");
}

#[test]
fn repositories_are_indexed_by_themselves_until_that_is_refused() {
    let home = TestHome::new();
    home.run_successfully(&["install", "codex", "--yes"]);
    let is_on = || home.read_file(".codex/config.toml").contains("--auto-index");
    assert!(is_on());
    home.run_successfully(&["install", "codex", "--yes", "--no-auto-index"]);
    assert!(!is_on());
    let again = home.run_successfully(&["install", "codex", "--yes"]);
    assert!(!is_on() && again.contains("indexes nothing, as you chose"), "{again}");
    let mut terminal = TerminalSession::start(&home, "install codex --no-instructions");
    terminal.answer_question("index it in the background", "y");
    terminal.answer_question("Write this?", "y");
    assert_eq!(terminal.wait_for_end().0, Some(0));
    assert!(is_on());
    let mut terminal = TerminalSession::start(&home, "install codex --no-instructions");
    terminal.answer_question("index it in the background", "n");
    terminal.answer_question("Write this?", "y");
    assert_eq!(terminal.wait_for_end().0, Some(0));
    assert!(!is_on());
    assert_eq!(home.run(&["install", "--auto-index", "--no-auto-index"]).code, Some(2));
}

#[test]
fn clients_that_were_found_are_named_first() {
    let home = TestHome::new();
    fs::create_dir(home.path(".codex")).unwrap();
    home.add_program("gemini", "exit 0");
    let output_text = home.run_successfully(&["install", "--yes"]);
    assert!(output_text.starts_with("found: Codex, Gemini CLI\n"), "{output_text}");
    assert!(!home.run_successfully(&["install", "codex", "--yes"]).contains("found: "));
    // A person reads that before the first question.
    let mut terminal = TerminalSession::start(&home, "install --no-instructions");
    let question = terminal.read_question("index it in the background");
    assert!(
        question.starts_with("found: Codex, Gemini CLI\r\nWhen a client starts in a git"),
        "{question}"
    );
    for bound in ["Any but a home folder", "up to a million files", "30 MB of disk. [Y/n] "] {
        assert!(question.contains(bound), "{bound}: {question}");
    }
    writeln!(terminal.child.stdin.as_mut().unwrap()).unwrap();
    terminal.answer_question("without asking you each time?", "");
    terminal.answer_question("Write this?", "n");
    assert_eq!(terminal.wait_for_end().0, Some(1));
}

#[test]
fn a_file_that_another_program_changes_meanwhile_is_left_to_it() {
    let home = TestHome::new();
    home.write(".codex/config.toml", "a = 1\n");
    let mut terminal =
        TerminalSession::start(&home, "install codex --auto-index --no-instructions");
    while !terminal.seen.ends_with("[y/N] ") {
        let mut byte = [0];
        assert_eq!(terminal.child.stdout.as_mut().unwrap().read(&mut byte).unwrap(), 1);
        terminal.seen.push(byte[0].into());
    }
    home.write(".codex/config.toml", "a = 2\n");
    terminal.answer_question("Write this?", "y");
    let (code, output_text) = terminal.wait_for_end();
    assert_eq!(code, Some(1));
    assert!(output_text.contains("changed by another program"), "{output_text}");
    assert_eq!(home.read_file(".codex/config.toml"), "a = 2\n");
}
