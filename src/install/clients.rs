//! Supported clients: files and forms of their MCP servers, and the signs by which they are found.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use super::{
    content::{CLAUDE_SUB_AGENT, GEMINI_SUB_AGENT, OPEN_CODE_SUB_AGENT, SUB_AGENT_FILE},
    edit::{
        EntryMembers,
        EntryValue::{self, List, Number, Text, Yes},
        FileSyntax, TRUST,
    },
    places::{HostPlatform, LaunchContext, UserFolders, find_program},
};

/// Time that clients wait for an answer, if it can be set: the maximum duration of a turn.
const WAIT_SECS: u32 = 1800;
const WAIT_MS: u32 = WAIT_SECS * 1000;

#[derive(Debug)]
pub struct SupportedClient {
    /// Name to type.
    pub id: &'static str,
    pub name: &'static str,
    pub(super) syntax: FileSyntax,
    /// Member of the file that contains servers by name.
    pub(super) section: &'static str,
    pub(super) started_from: LaunchContext,
    form: EntryForm,
    /// Folder of its settings, which exists if the client is installed.
    folder: fn(&UserFolders<'_>) -> PathBuf,
    /// Files below `folder` for its servers; the first existing one is edited, else the first.
    servers: &'static [&'static str],
    /// File below `folder` with a person's own lines, which the model sees in every folder.
    instructions: Option<&'static str>,
    /// Members of a sub-agent's file that name its tool.
    pub(super) sub_agent: Option<&'static str>,
    programs: &'static [&'static str],
}

#[derive(Debug, Clone, Copy)]
enum EntryForm {
    /// Has `tool_timeout_sec`, in seconds.
    Codex,
    /// Same as `Typed`, with `alwaysLoad`.
    Claude,
    /// Has `type`.
    Typed,
    /// Has only `url`.
    Plain,
    /// Has `httpUrl`, and `timeout` in milliseconds.
    Gemini,
    /// Same as `Gemini`, with `alwaysLoadTools`.
    Qwen,
    /// Has one list for the program and its arguments, and `timeout` in milliseconds.
    OpenCode,
    /// Has `serverUrl`.
    Windsurf,
    /// Has `timeout` in seconds.
    Zed,
    /// Same as `Zed`, with `type` for URLs.
    Cline,
    /// Has `type`, the tools for its model, and `timeout` in milliseconds.
    Copilot,
    /// Supports programs only.
    Local,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EntryConnection {
    Program { command: String, args: Vec<String> },
    Url(String),
}

/// Properties of most clients.
const TYPICAL_CLIENT: SupportedClient = SupportedClient {
    id: "",
    name: "",
    syntax: FileSyntax::Json,
    section: "mcpServers",
    started_from: LaunchContext::Terminal,
    form: EntryForm::Plain,
    folder: |places| places.in_home(""),
    servers: &[],
    instructions: None,
    sub_agent: None,
    programs: &[],
};

pub(super) static CLIENTS: [SupportedClient; 12] = [
    SupportedClient {
        id: "codex",
        name: "Codex",
        syntax: FileSyntax::Toml,
        section: "mcp_servers",
        form: EntryForm::Codex,
        folder: |places| places.variable_or_home("CODEX_HOME", ".codex"),
        servers: &["config.toml"],
        instructions: Some("AGENTS.md"),
        programs: &["codex"],
        ..TYPICAL_CLIENT
    },
    SupportedClient {
        id: "claude-code",
        name: "Claude Code",
        form: EntryForm::Claude,
        folder: |places| places.variable_or_home("CLAUDE_CONFIG_DIR", ".claude"),
        servers: &[".claude.json"],
        instructions: Some("CLAUDE.md"),
        sub_agent: Some(CLAUDE_SUB_AGENT),
        programs: &["claude"],
        ..TYPICAL_CLIENT
    },
    SupportedClient {
        id: "cursor",
        name: "Cursor",
        started_from: LaunchContext::Desktop,
        form: EntryForm::Plain,
        folder: |places| places.in_home(".cursor"),
        servers: &["mcp.json"],
        programs: &["cursor", "cursor-agent"],
        ..TYPICAL_CLIENT
    },
    SupportedClient {
        id: "gemini",
        name: "Gemini CLI",
        form: EntryForm::Gemini,
        folder: |places| places.variable_or_home("GEMINI_CLI_HOME", "").join(".gemini"),
        servers: &["settings.json"],
        instructions: Some("GEMINI.md"),
        sub_agent: Some(GEMINI_SUB_AGENT),
        programs: &["gemini"],
        ..TYPICAL_CLIENT
    },
    SupportedClient {
        id: "vscode",
        name: "VS Code",
        section: "servers",
        started_from: LaunchContext::Desktop,
        form: EntryForm::Typed,
        folder: |places| places.application_folder("Code"),
        servers: &["User/mcp.json"],
        programs: &["code"],
        ..TYPICAL_CLIENT
    },
    SupportedClient {
        id: "opencode",
        name: "OpenCode",
        section: "mcp",
        form: EntryForm::OpenCode,
        folder: |places| places.dot_config().join("opencode"),
        servers: &["opencode.json", "opencode.jsonc"],
        instructions: Some("AGENTS.md"),
        sub_agent: Some(OPEN_CODE_SUB_AGENT),
        programs: &["opencode"],
        ..TYPICAL_CLIENT
    },
    SupportedClient {
        id: "windsurf",
        name: "Windsurf",
        started_from: LaunchContext::Desktop,
        form: EntryForm::Windsurf,
        folder: |places| places.in_home(".codeium/windsurf"),
        servers: &["mcp_config.json"],
        programs: &["windsurf"],
        ..TYPICAL_CLIENT
    },
    SupportedClient {
        id: "zed",
        name: "Zed",
        section: "context_servers",
        started_from: LaunchContext::Desktop,
        form: EntryForm::Zed,
        folder: zed_folder,
        servers: &["settings.json"],
        programs: &["zed", "zeditor"],
        ..TYPICAL_CLIENT
    },
    SupportedClient {
        id: "claude-desktop",
        name: "Claude Desktop",
        started_from: LaunchContext::Desktop,
        form: EntryForm::Local,
        folder: |places| places.application_folder("Claude"),
        servers: &["claude_desktop_config.json"],
        programs: &["claude-desktop"],
        ..TYPICAL_CLIENT
    },
    SupportedClient {
        id: "qwen",
        name: "Qwen Code",
        form: EntryForm::Qwen,
        folder: |places| places.variable_or_home("QWEN_HOME", ".qwen"),
        servers: &["settings.json"],
        instructions: Some("QWEN.md"),
        sub_agent: Some(CLAUDE_SUB_AGENT),
        programs: &["qwen"],
        ..TYPICAL_CLIENT
    },
    SupportedClient {
        id: "copilot",
        name: "Copilot CLI",
        form: EntryForm::Copilot,
        folder: |places| places.variable_or_home("COPILOT_HOME", ".copilot"),
        servers: &["mcp-config.json"],
        instructions: Some("copilot-instructions.md"),
        programs: &["copilot"],
        ..TYPICAL_CLIENT
    },
    SupportedClient {
        id: "cline",
        name: "Cline",
        form: EntryForm::Cline,
        folder: |places| places.variable_or_home("CLINE_DIR", ".cline"),
        servers: &["data/settings/cline_mcp_settings.json"],
        instructions: Some("rules/codeinfo.md"),
        programs: &["cline"],
        ..TYPICAL_CLIENT
    },
];

fn zed_folder(places: &UserFolders<'_>) -> PathBuf {
    match places.platform {
        HostPlatform::Windows => places.application_folder("Zed"),
        HostPlatform::Linux | HostPlatform::MacOs => places.dot_config().join("zed"),
    }
}

impl SupportedClient {
    pub(super) fn is_found(&self, places: &UserFolders<'_>, path: &OsStr) -> bool {
        let is_there = |sign: &PathBuf| sign.try_exists().unwrap_or(false);
        is_there(&(self.folder)(places))
            || self.server_files(places).iter().any(is_there)
            || self.programs.iter().any(|name| find_program(name, path).is_some())
    }

    pub(super) fn describe_signs(&self, places: &UserFolders<'_>) -> String {
        let folder = (self.folder)(places);
        format!("{} or `{}` on PATH", folder.display(), self.programs.join("`, `"))
    }

    pub(super) fn server_files(&self, places: &UserFolders<'_>) -> Vec<PathBuf> {
        let folder = match self.form {
            // Located beside its folder, unless a variable names the folder.
            EntryForm::Claude => places.variable_or_home("CLAUDE_CONFIG_DIR", ""),
            _ => (self.folder)(places),
        };
        self.servers.iter().map(|name| folder.join(name)).collect()
    }

    /// Returns the step by which a person makes the tool available in a client that was set up.
    pub(super) fn next_step(&self) -> &'static str {
        match self.id {
            "codex" | "claude-code" | "gemini" | "qwen" => {
                "start it again in a repository; `/mcp` lists codeinfo"
            }
            "vscode" => "start codeinfo by `MCP: List Servers` of its command palette",
            "cursor" | "windsurf" | "zed" | "claude-desktop" => "quit it and start it again",
            _ => "start it again in a repository",
        }
    }

    pub(super) fn server_file(&self, places: &UserFolders<'_>) -> PathBuf {
        let files = self.server_files(places);
        let is_there = |file: &&PathBuf| Path::symlink_metadata(file).is_ok();
        files.iter().find(is_there).or(files.first()).cloned().unwrap_or_default()
    }

    pub(super) fn asks_before_calls(&self) -> bool {
        matches!(self.form, EntryForm::Claude) || self.has_trust()
    }

    pub(super) fn settings_file(&self, places: &UserFolders<'_>) -> Option<PathBuf> {
        matches!(self.form, EntryForm::Claude).then(|| (self.folder)(places).join("settings.json"))
    }

    /// Returns the file of a person's own lines, which the client shows its model in every folder.
    pub(super) fn instructions_file(&self, places: &UserFolders<'_>) -> Option<PathBuf> {
        self.instructions.map(|name| (self.folder)(places).join(name))
    }

    /// Returns the file of the sub-agent, and the members that name its tool.
    pub(super) fn sub_agent_file(
        &self,
        places: &UserFolders<'_>,
    ) -> Option<(PathBuf, &'static str)> {
        let file = (self.folder)(places).join("agents").join(SUB_AGENT_FILE);
        self.sub_agent.map(|members| (file, members))
    }

    /// Returns whether the entry of a server can permit calls without a prompt.
    pub(super) fn has_trust(&self) -> bool {
        matches!(self.form, EntryForm::Gemini | EntryForm::Qwen)
    }

    /// Returns the entry for a connection, or `None` if the client does not support it.
    pub(super) fn build_entry(
        &self,
        connection: EntryConnection,
        is_trusted: bool,
    ) -> Option<EntryMembers> {
        let mut entry = match connection {
            EntryConnection::Program { command, args } => self.build_local_entry(command, args),
            EntryConnection::Url(url) => self.build_remote_entry(Text(url))?,
        };
        // These clients load tools when a model looks for them, which it seldom does.
        match self.form {
            EntryForm::Claude => entry.push(("alwaysLoad", Yes)),
            EntryForm::Qwen => entry.push(("alwaysLoadTools", Yes)),
            _ => {}
        }
        if is_trusted && self.has_trust() {
            entry.push((TRUST, Yes));
        }
        Some(entry)
    }

    fn build_local_entry(&self, command: String, args: Vec<String>) -> EntryMembers {
        let kind = |name: &str| ("type", Text(name.to_owned()));
        if matches!(self.form, EntryForm::OpenCode) {
            let command_line = List(std::iter::once(command).chain(args).collect());
            let wait = ("timeout", Number(WAIT_MS));
            return vec![kind("local"), ("command", command_line), ("enabled", Yes), wait];
        }
        let mut entry = vec![("command", Text(command)), ("args", List(args))];
        match self.form {
            EntryForm::Codex => entry.push(("tool_timeout_sec", Number(WAIT_SECS))),
            EntryForm::Claude | EntryForm::Typed => entry.insert(0, kind("stdio")),
            EntryForm::Gemini | EntryForm::Qwen => entry.push(("timeout", Number(WAIT_MS))),
            EntryForm::Zed | EntryForm::Cline => entry.push(("timeout", Number(WAIT_SECS))),
            EntryForm::Copilot => {
                entry.insert(0, kind("local"));
                entry.push(("tools", List(vec!["*".to_owned()])));
                entry.push(("timeout", Number(WAIT_MS)));
            }
            EntryForm::Plain | EntryForm::OpenCode | EntryForm::Windsurf | EntryForm::Local => {}
        }
        entry
    }

    fn build_remote_entry(&self, url: EntryValue) -> Option<EntryMembers> {
        let kind = |name: &str| ("type", Text(name.to_owned()));
        Some(match self.form {
            EntryForm::Codex => vec![("url", url), ("tool_timeout_sec", Number(WAIT_SECS))],
            EntryForm::Claude | EntryForm::Typed => vec![kind("http"), ("url", url)],
            EntryForm::Plain => vec![("url", url)],
            EntryForm::Gemini | EntryForm::Qwen => {
                vec![("httpUrl", url), ("timeout", Number(WAIT_MS))]
            }
            EntryForm::OpenCode => {
                let wait = ("timeout", Number(WAIT_MS));
                vec![kind("remote"), ("url", url), ("enabled", Yes), wait]
            }
            EntryForm::Windsurf => vec![("serverUrl", url)],
            EntryForm::Zed => vec![("url", url), ("timeout", Number(WAIT_SECS))],
            EntryForm::Cline => {
                vec![kind("streamableHttp"), ("url", url), ("timeout", Number(WAIT_SECS))]
            }
            EntryForm::Copilot => {
                let wait = ("timeout", Number(WAIT_MS));
                vec![kind("http"), ("url", url), ("tools", List(vec!["*".to_owned()])), wait]
            }
            EntryForm::Local => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeinfo_codex::OtherVariables;

    fn files(platform: HostPlatform, variables: &[(&str, &str)]) -> Vec<String> {
        let pairs = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let environment = OtherVariables::new(pairs);
        let places = UserFolders::new(platform, &environment).unwrap();
        CLIENTS.iter().map(|client| client.server_file(&places).display().to_string()).collect()
    }

    #[test]
    fn files_are_where_each_platform_has_them() {
        let mac = files(HostPlatform::MacOs, &[("HOME", "/Users/nobody-here")]);
        assert_eq!(
            mac,
            [
                "/Users/nobody-here/.codex/config.toml",
                "/Users/nobody-here/.claude.json",
                "/Users/nobody-here/.cursor/mcp.json",
                "/Users/nobody-here/.gemini/settings.json",
                "/Users/nobody-here/Library/Application Support/Code/User/mcp.json",
                "/Users/nobody-here/.config/opencode/opencode.json",
                "/Users/nobody-here/.codeium/windsurf/mcp_config.json",
                "/Users/nobody-here/.config/zed/settings.json",
                "/Users/nobody-here/Library/Application Support/Claude/claude_desktop_config.json",
                "/Users/nobody-here/.qwen/settings.json",
                "/Users/nobody-here/.copilot/mcp-config.json",
                "/Users/nobody-here/.cline/data/settings/cline_mcp_settings.json",
            ]
        );
        let home = ("USERPROFILE", "C:/Users/nobody");
        let windows = files(HostPlatform::Windows, &[home, ("APPDATA", "D:/Roaming")]);
        let differing: Vec<&str> =
            windows.iter().filter_map(|file| file.strip_prefix("D:/Roaming/")).collect();
        assert_eq!(
            differing,
            ["Code/User/mcp.json", "Zed/settings.json", "Claude/claude_desktop_config.json"]
        );
        let unset = files(HostPlatform::Windows, &[home]);
        assert_eq!(unset.get(4).unwrap(), "C:/Users/nobody/AppData/Roaming/Code/User/mcp.json");
        assert!(UserFolders::new(HostPlatform::Windows, &OtherVariables::default()).is_none());
    }
}
