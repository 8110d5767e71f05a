//! The entry of a server in the file of a client, independent of the file's syntax.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileSyntax {
    /// JSON with comments and trailing commas, which are preserved.
    Json,
    Toml,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EntryValue {
    Text(String),
    List(Vec<String>),
    Number(u32),
    Yes,
}

/// Members of a server in their order.
pub(super) type EntryMembers = Vec<(&'static str, EntryValue)>;

/// Member by which Gemini CLI and Qwen Code call the tools of a server without a prompt.
pub(super) const TRUST: &str = "trust";

/// Members that define the connection; an updated entry keeps no old ones of them.
pub(super) const TRANSPORT: [&str; 6] = ["type", "command", "args", "url", "httpUrl", "serverUrl"];
