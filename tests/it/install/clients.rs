//! Real clients read what was installed for them.

use std::process::Command;

use super::Home;
use crate::support::{
    codex,
    install::{self, Parts, node},
};

/// The line in which a client lists the server.
fn assert_listed(client: &str, said: &str) -> String {
    let line = said.lines().find(|line| line.contains("codeinfo"));
    line.unwrap_or_else(|| panic!("{client} does not list it: {said}")).to_owned()
}

fn list(client: &str, mut command: Command) -> String {
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    assert!(output.status.success(), "{client}: {said}");
    said
}

#[test]
fn codex_lists_what_was_installed_for_it() {
    let home = Home::with_program();
    home.write(".codex/config.toml", "# mine\n[mcp_servers.other]\ncommand = \"other\"\n");
    let before = home.text(".codex/config.toml");
    home.well(&["install", "codex", "--yes"]);
    let mut command = home.command(codex::binary().to_str().unwrap());
    command.args(["mcp", "list"]);
    let said = list("codex", command);
    assert_listed("codex", &said);
    assert!(said.contains("other"), "{said}");
    let mut command = home.command(codex::binary().to_str().unwrap());
    command.args(["mcp", "get", "codeinfo", "--json"]);
    let got: serde_json::Value = serde_json::from_str(&list("codex", command)).unwrap();
    assert_eq!(got["transport"]["command"], "codeinfo", "{got}");
    assert_eq!(got["transport"]["args"], serde_json::json!(["stdio"]), "{got}");
    assert_eq!(got["tool_timeout_sec"], 1800.0, "{got}");
    home.well(&["uninstall", "codex", "--yes"]);
    assert_eq!(home.text(".codex/config.toml"), before);
    let mut command = home.command(codex::binary().to_str().unwrap());
    command.args(["mcp", "list"]);
    assert!(!list("codex", command).contains("codeinfo"));
}

/// The clients from npm, 0.8 GB: name, package, version, program.
const FROM_NPM: [(&str, &str, &str, &str); 4] = [
    (
        "claude-code",
        "@anthropic-ai/claude-code",
        "2.1.197",
        "@anthropic-ai/claude-code-linux-x64/claude",
    ),
    ("gemini", "@google/gemini-cli", "0.61.0", "@google/gemini-cli/bundle/gemini.js"),
    ("opencode", "opencode-ai", "1.18.33", "opencode-linux-x64/bin/opencode"),
    ("qwen", "@qwen-code/qwen-code", "0.24.4", "@qwen-code/qwen-code/cli.js"),
];

/// Returns the command of a client from npm in a home.
pub(super) fn installed(client: &str, home: &Home) -> Command {
    let (id, package, version, entry) = FROM_NPM.iter().find(|(id, ..)| *id == client).unwrap();
    let name = format!("{id}-{version}");
    let folder = install::npm(&name, &format!("{package}@{version}"), Parts::Whole);
    let entry = folder.join("node_modules").join(entry);
    let mut command = if entry.extension().is_some() {
        let mut command = home.command(node().to_str().unwrap());
        command.arg(&entry);
        command
    } else {
        home.command(entry.to_str().unwrap())
    };
    // They start programs of the system beside ours.
    command.env("PATH", format!("{}:/usr/bin:/bin", home.path("bin").display()));
    command
}

/// With `CLIENTS=all`.
#[test]
fn clients_from_npm_list_what_was_installed_for_them() {
    if std::env::var_os("CLIENTS").is_none_or(|clients| clients != "all") {
        return;
    }
    for (id, ..) in FROM_NPM {
        let home = Home::with_program();
        let listed = || {
            let mut command = installed(id, &home);
            command.args(["mcp", "list"]).current_dir(home.0.path());
            // The server that they start through a relay ends soon.
            command.env("IDLE_EXIT_SECS", "1").env("PORT", "0").env("MCP_PORT", "0");
            // Gemini CLI starts no server in a folder that nobody has trusted yet.
            command.env("GEMINI_CLI_TRUST_WORKSPACE", "true");
            // Without Codex there is no tool, and OpenCode calls that a failure.
            command.envs(codex::environment(home.0.path(), "http://127.0.0.1:9/v1"));
            list(id, command)
        };
        home.well(&["install", id, "--yes"]);
        let line = assert_listed(id, &listed()).to_lowercase();
        assert!(line.contains("connected") && !line.contains("disconnected"), "{id}: {line}");
        home.well(&["uninstall", id, "--yes"]);
        let said = listed();
        assert!(!said.contains("codeinfo"), "{id}: {said}");
    }
}
