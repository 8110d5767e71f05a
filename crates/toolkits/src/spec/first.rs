//! Template of a user's first toolkit file, with two disabled examples and explanations.

/// Returns the text of a first file. Its comments are members, because other programs that know `mcpServers`
/// read the file as well.
pub fn first_file() -> &'static str {
    r#"{
  "$comment": [
    "Toolkits: MCP servers whose tools answers may use beside the search of CodeInfo.",
    "Each has a name of a-z, 0-9, _ and -, and either `command` (a program over stdio) or `url` (Streamable HTTP).",
    "${NAME} and ${NAME:-default} are read from the environment. Set `enabled` to true to use one.",
    "In a repository, this file is .codeinfo/toolkits.json, and counts after `codeinfo mcp allow PATH`."
  ],
  "mcpServers": {
    "git": {
      "$comment": [
        "The history of a repository. It runs in a sandbox that only reads; `sandbox` may be workspace-write or off.",
        "`allow` is readonly (tools that say that they only read), all, or a list of tools.",
        "`timeout` is in seconds, for one call; `cacheSecs` keeps results; `memoryMb` is the most that it may use."
      ],
      "enabled": false,
      "name": "Git history",
      "description": "Log, blame, diffs and branches of the repository",
      "command": "uvx",
      "args": ["mcp-server-git", "--repository", "."],
      "workingDir": ".",
      "env": {"GIT_PAGER": "cat"},
      "allow": ["git_log", "git_show", "git_diff", "git_status"],
      "timeout": 30
    },
    "issues": {
      "$comment": "An issue tracker over HTTP. Its key stays in the environment, not in this file.",
      "enabled": false,
      "name": "Issue tracker",
      "description": "Issues and what was said of them",
      "url": "https://issues.example/mcp",
      "headers": {"Authorization": "Bearer ${ISSUES_TOKEN}"},
      "cacheSecs": 60,
      "parallel": true
    }
  }
}
"#
}
