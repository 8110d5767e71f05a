//! What CodeInfo has in one file: put in, and taken out again without what people have there themselves.

use serde_json::{Value, json};

use super::{
    edit::{self, ListElement, Refusal},
    entry::{Entry, Syntax, TRUST},
    instructions,
    launch::HOOK_MARK,
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
                let text = if *permission {
                    edit::with_element(text, &permission_element())?
                } else {
                    revoke_permission(text, original)?
                };
                match hook {
                    Some(command) => edit::with_element(&text, &hook_element(command)),
                    None => edit::without_element(&text, &hook_element("")),
                }
            }
            Self::Instructions => instructions::with(text),
            Self::SubAgent(members) => Ok(sub_agent::render(members)),
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
                let text = revoke_permission(text, original)?;
                edit::without_element(&text, &hook_element(""))
            }
            Self::Instructions => instructions::without(text),
            Self::SubAgent(members) => {
                let is_ours = text == sub_agent::render(members);
                Ok(if is_ours { String::new() } else { text.to_owned() })
            }
        }
    }

    /// Names the permission that a text has although it was to be taken back: it was there before, or nothing tells
    /// who gave it.
    pub(super) fn remaining_permission(&self, text: &str) -> Option<&'static str> {
        match self {
            Self::Server { section, revokes_trust, .. } => {
                (*revokes_trust && edit::has_member(section, text, TRUST)).then_some(TRUST)
            }
            Self::Settings { permission, .. } => {
                let without = edit::without_element(text, &permission_element()).ok()?;
                (!permission && without != text).then_some(CLAUDE_RULE)
            }
            Self::Instructions | Self::SubAgent(_) => None,
        }
    }

    /// Whether a file is written as a whole, so that one that a person wrote or changed is left alone.
    pub(super) fn is_whole_file(&self) -> bool {
        matches!(self, Self::SubAgent(_))
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
        is_same: is_marked_hook,
    }
}

/// Returns the command of an element that runs nothing else.
fn only_command(element: &Value) -> &str {
    match element.get("hooks").and_then(Value::as_array).map(Vec::as_slice) {
        Some([hook]) => hook.get("command").and_then(Value::as_str).unwrap_or_default(),
        _ => "",
    }
}

/// Whether an element says that CodeInfo put it there, whatever the program's name is.
fn is_marked_hook(element: &Value) -> bool {
    only_command(element).ends_with(HOOK_MARK)
}
