//! The entry of a server in the file of a client, in no language yet.

/// The language of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileSyntax {
    /// JSON, where comments and trailing commas are let stand.
    Json,
    Toml,
}

/// The value of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EntryValue {
    Text(String),
    List(Vec<String>),
    Number(u32),
    Yes,
}

/// The members of a server in their order.
pub(super) type EntryMembers = Vec<(&'static str, EntryValue)>;

/// The member by which Gemini CLI and Qwen Code call the tools of a server without a prompt.
pub(super) const TRUST: &str = "trust";

/// Members that say how a server is reached: those that an entry lacks do not stay from an older one.
pub(super) const TRANSPORT: [&str; 6] = ["type", "command", "args", "url", "httpUrl", "serverUrl"];
