//! What CodeInfo has in one file: put in, and taken out again without what people have there themselves.

use std::path::Path;

use serde_json::{Value, json};

use super::{
    edit::{self, ListElement, Refusal},
    entry::{Entry, Syntax, TRUST},
    instructions,
    record::Before,
    sub_agent,
};

/// The rule by which Claude Code calls the tool without a prompt.
const CLAUDE_RULE: &str = "mcp__codeinfo__codebase_question";

/// What is in one file.
#[derive(Debug)]
pub(super) enum FileContent {
    /// The entry of the server.
    Server {
        syntax: Syntax,
        section: &'static str,
        entry: Entry,
        /// Whether an entry that CodeInfo once had trusted loses that.
        revokes_trust: bool,
    },
    /// What the settings of Claude Code have.
    Settings {
        /// The permission to call the tool without a prompt.
        permission: bool,
        /// The command that Claude Code runs with each prompt.
        hook: Option<String>,
    },
    /// Lines for agents.
    Instructions,
    /// The file of a sub-agent, with the members that name its tool.
    SubAgent(&'static str),
}

impl FileContent {
    /// Returns `text` with the content. `original` is what was there before the first change, where that is
    /// known.
    pub(super) fn add_to(&self, text: &str, original: Option<&Before>) -> Result<String, Refusal> {
        match self {
            Self::Server { syntax, section, entry, revokes_trust } => {
                let text = edit::with((*syntax, section), text, entry)?;
                let is_ours = |original: &str| !edit::has_member(section, original, TRUST);
                if *revokes_trust && original.is_some_and(|original| is_ours(original.as_str())) {
                    return edit::without_member(section, &text, TRUST);
                }
                Ok(text)
            }
            Self::Settings { permission, hook } => {
                let mut text = if *permission {
                    edit::with_element(text, &permission_element())?
                } else {
                    revoke_permission(text, original)?
                };
                if let Some(command) = hook {
                    text = edit::with_element(&text, &hook_element(command))?;
                }
                Ok(text)
            }
            Self::Instructions => instructions::with(text),
            Self::SubAgent(members) => sub_agent::with(text, members),
        }
    }

    /// Returns `text` without the content; the same text where it has none.
    pub(super) fn remove_from(
        &self,
        text: &str,
        original: Option<&Before>,
    ) -> Result<String, Refusal> {
        match self {
            Self::Server { syntax, section, .. } => edit::without((*syntax, section), text),
            Self::Settings { .. } => {
                edit::without_element(&revoke_permission(text, original)?, &hook_element(""))
            }
            Self::Instructions => instructions::without(text),
            Self::SubAgent(_) => Ok(sub_agent::without(text)),
        }
    }
}

/// Whether the settings of Claude Code have the command that it runs with each prompt.
pub(super) fn has_hook(text: &str) -> bool {
    edit::without_element(text, &hook_element("")).is_ok_and(|without| without != text)
}

/// Returns `text` without the permission, unless the user gave it, as the original alone tells.
fn revoke_permission(text: &str, original: Option<&Before>) -> Result<String, Refusal> {
    let permission = permission_element();
    match original.map(Before::as_str) {
        Some(original) if edit::without_element(original, &permission)? == original => {
            edit::without_element(text, &permission)
        }
        _ => Ok(text.to_owned()),
    }
}

fn permission_element() -> ListElement {
    ListElement {
        path: ["permissions", "allow"],
        value: json!(CLAUDE_RULE),
        is_same: |value| value == CLAUDE_RULE,
    }
}

fn hook_element(command: &str) -> ListElement {
    ListElement {
        path: ["hooks", "UserPromptSubmit"],
        value: json!({ "hooks": [{ "type": "command", "command": command, "timeout": 1 }] }),
        is_same: is_hook,
    }
}

/// Whether an element runs `codeinfo hook` and nothing else.
fn is_hook(element: &Value) -> bool {
    let Some([hook]) = element.get("hooks").and_then(Value::as_array).map(Vec::as_slice) else {
        return false;
    };
    let command = hook.get("command").and_then(Value::as_str).unwrap_or_default();
    let command = command.split(" || ").next().unwrap_or_default();
    let program = command.strip_suffix(" hook").map(|program| program.trim_matches(['\'', '"']));
    program.is_some_and(|program| Path::new(program).file_stem() == Some("codeinfo".as_ref()))
}
