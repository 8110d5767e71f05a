//! All that each command prints: on terminals of 100 and 60 columns, and to a pipe. The snapshots are what a
//! person reads; times, paths and ports, which differ from run to run, are replaced by their names.

use std::{fs, path::PathBuf};

use regex::Regex;
use tokio::process::Command;

use crate::support::{
    codex,
    model::{FakeModel, ModelReply, message_item, search_item},
    process::{ProgramEnvironment, apply_environment, create_scratch_folder},
    terminal::{strip_escapes, terminal_command},
};

/// Destination of output: a terminal of this number of columns, or a pipe.
#[derive(Debug, Clone, Copy)]
enum OutputKind {
    Terminal(u16),
    Pipe,
}

const OUTPUTS: [(OutputKind, &str); 3] = [
    (OutputKind::Terminal(100), "100"),
    (OutputKind::Terminal(60), "60"),
    (OutputKind::Pipe, "pipe"),
];

/// An account with a data folder and a small repository, in which commands are typed.
struct TerminalAccount {
    home: tempfile::TempDir,
    output: OutputKind,
    environment: ProgramEnvironment,
    /// The typed lines and their output up to now.
    transcript: String,
}

impl TerminalAccount {
    fn new(output: OutputKind) -> Self {
        let home = create_scratch_folder();
        let project = home.path().join("boiler");
        fs::create_dir_all(project.join("src")).unwrap();
        fs::create_dir(home.path().join("empty")).unwrap();
        // A repository ends here, not at the one around the folder of tests.
        fs::create_dir(project.join(".git")).unwrap();
        let code =
            "use std::io;\n\n/// Opens the valve.\npub fn relieve_pressure() {\n    open();\n}\n";
        fs::write(project.join("src/valve.rs"), code).unwrap();
        fs::write(project.join("README.md"), "# Boiler\n\nHeats water; see src/valve.rs:3.\n")
            .unwrap();
        let environment = [("CODEX_BIN", "/nonexistent/codex"), ("LOG_LEVEL", "off")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self { home, output, environment: environment.into(), transcript: String::new() }
    }

    fn project_folder(&self) -> PathBuf {
        self.home.path().join("boiler")
    }

    /// Types command lines in the repository, and writes down what they print.
    async fn type_lines(&mut self, lines: &[&str]) {
        for line in lines {
            let (code, printed) = self.run_line(line).await;
            let code = code.map_or_else(|| "killed".to_owned(), |code| code.to_string());
            let code = if code == "0" { String::new() } else { format!("[exit {code}]\n") };
            let printed = self.name_variable_parts(&printed);
            let typed = ["$ codeinfo ", line, "\n", &printed, &code, "\n"].concat();
            self.transcript.push_str(&typed);
        }
    }

    async fn run_line(&self, line: &str) -> (Option<i32>, String) {
        let (data, folder) = (self.home.path().join("data"), self.project_folder());
        let mut environment = self.environment.clone();
        environment.push(("HOME".to_owned(), self.home.path().display().to_string()));
        match self.output {
            OutputKind::Terminal(columns) => {
                let mut command = terminal_command(&data, &folder, columns, &environment, line);
                let output = command.output().await.unwrap();
                let printed = strip_escapes(&String::from_utf8(output.stdout).unwrap());
                (output.status.code(), printed)
            }
            OutputKind::Pipe => {
                let mut shell = apply_environment(Command::new("/bin/sh"), &data, &environment);
                let line = format!("exec {} {line}", env!("CARGO_BIN_EXE_codeinfo"));
                let output = shell.args(["-c", &line]).current_dir(&folder).output().await.unwrap();
                let streams = [("", output.stdout), ("2> ", output.stderr)];
                let lines = streams.iter().flat_map(|(stream, text)| {
                    let text = str::from_utf8(text).unwrap();
                    text.lines().map(move |line| format!("{stream}{line}\n"))
                });
                (output.status.code(), lines.collect())
            }
        }
    }

    fn name_variable_parts(&self, printed: &str) -> String {
        let home = self.home.path().display().to_string();
        let version = format!("codeinfo {}", env!("CARGO_PKG_VERSION"));
        let mut printed = printed.replace(&home, "~").replace(&version, "codeinfo VERSION");
        for (variable, name) in [
            (r"\d+\.\d s\b", "N s"),
            (r"\d+ ms\b", "N ms"),
            (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
            (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"),
            (r"\b0\.\d{2,4}\b", "0.SCORE"),
            (r"\bcodeinfo_pat_[A-Za-z0-9_-]{20,}", "TOKEN"),
            (r"\b[0-9a-f]{64}\b", "SHA256"),
            (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "ID"),
            (r"\(pid \d+\)", "(pid N)"),
            (r"\d+(\.\d+)? [GM]i?B free", "N GB free"),
        ] {
            printed = Regex::new(variable).unwrap().replace_all(&printed, name).into_owned();
        }
        printed
    }
}

/// Types the lines on each kind of output, and compares the output with the snapshot.
async fn compare_transcripts(name: &str, lines: &[&str]) {
    for (output, suffix) in OUTPUTS {
        let mut account = TerminalAccount::new(output);
        account.type_lines(lines).await;
        insta::assert_snapshot!(format!("{name}_{suffix}"), account.transcript);
    }
}

#[tokio::test]
async fn indexing_and_searching() {
    let lines = [
        "repos",
        "search valve",
        "ingest .",
        "ingest .",
        "repos",
        "search relieve pressure",
        "search -l -n 1 relieve pressure",
        "search -C 2 relieve pressure",
        "search -r nowhere valve",
        "ingest --explain src/valve.rs",
        "ingest . ../empty",
        "ingest missing",
        "ingest https://host/o/r",
        "ingest --name boiler . ../empty",
        "remove boiler",
        "remove boiler",
        "search valve",
    ];
    compare_transcripts("index", &lines).await;
}

#[tokio::test]
async fn checking_documents() {
    let lines = ["check", "check --fix", "check", "check missing.md", "open --print", "hook"];
    compare_transcripts("check", &lines).await;
}

#[tokio::test]
async fn using_toolkits_and_tokens() {
    let lines = [
        "mcp list",
        "mcp add tap -- /nonexistent/tap",
        "mcp list",
        "mcp status",
        "mcp tools",
        "mcp call tap:open",
        "mcp call tap",
        "mcp remove tap",
        "mcp remove tap",
        "mcp init",
        "mcp init",
        "mcp allow",
        "token list",
        "token create laptop",
        "token create laptop",
        "token list",
        "token revoke laptop",
        "token revoke laptop",
    ];
    compare_transcripts("toolkits", &lines).await;
}

#[tokio::test]
async fn wrong_usage() {
    let lines = [
        "", "serach valve", "search", "search -n 50 valve", "search -l -C 2 valve", "ask why",
        "ask -c nowhere why", "serve missing", "install nothing", "token create 'a b'",
        "service nothing",
    ];
    compare_transcripts("wrong", &lines).await;
}

#[tokio::test]
async fn help_is_as_wide_as_the_terminal() {
    let commands = [
        "", "serve", "stdio", "ingest", "search", "ask", "repos", "remove", "mcp", "mcp add",
        "check", "token", "token create", "open", "doctor", "install", "uninstall", "hook",
        "service", "completions",
    ];
    let lines = commands.map(|command| format!("{command} --help"));
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_start()).collect();
    compare_transcripts("help", &lines).await;
}

#[tokio::test]
async fn asking_with_a_model_that_answers() {
    for (output, suffix) in OUTPUTS {
        let model = FakeModel::replay([
            ModelReply::Items(vec![search_item("relieve pressure")]),
            ModelReply::Items(vec![message_item("`relieve_pressure` opens it, src/valve.rs:3-6.")]),
        ])
        .await;
        let mut account = TerminalAccount::new(output);
        account.type_lines(&["ingest ."]).await;
        let codex = codex::codex_environment(account.home.path(), &model.url);
        account.environment.retain(|(name, _)| name != "CODEX_BIN");
        account.environment.extend(codex);
        account.type_lines(&["ask what opens the valve"]).await;
        insta::assert_snapshot!(format!("ask_{suffix}"), account.transcript);
    }
}
