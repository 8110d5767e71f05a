//! Content of CodeInfo in a client's file: added and removed without touching what people wrote.

use serde_json::{Value, json};

use super::{
    edit::{self, EditRefusal, ListElement},
    entry::{EntryMembers, FileSyntax, TRUST},
    instructions,
    launch::HOOK_MARK,
    sub_agent,
};

/// Rule that lets Claude Code call the tool without a prompt.
const CLAUDE_RULE: &str = "mcp__codeinfo__codebase_question";

#[derive(Debug)]
pub(super) enum FileContent {
    Server {
        syntax: FileSyntax,
        section: &'static str,
        entry: EntryMembers,
        /// True if the trust that CodeInfo once added is revoked.
        revokes_trust: bool,
    },
    /// Members in the settings of Claude Code.
    Settings {
        /// True to permit calls of the tool without a prompt.
        permission: bool,
        /// Command that Claude Code runs with each prompt.
        hook: Option<String>,
    },
    Instructions,
    /// File of a sub-agent, with the members that name its tool.
    SubAgent(&'static str),
}

impl FileContent {
    pub(super) fn add_to(&self, text: &str) -> Result<String, EditRefusal> {
        match self {
            Self::Server { syntax, section, entry, .. } => {
                edit::add_server(*syntax, section, text, entry)
            }
            Self::Settings { permission, hook } => {
                let mut settings = text.to_owned();
                if *permission {
                    settings = edit::with_element(&settings, &permission_element())?;
                }
                if let Some(command) = hook {
                    settings = edit::with_element(&settings, &hook_element(command))?;
                }
                Ok(settings)
            }
            Self::Instructions => instructions::add_instructions(text),
            Self::SubAgent(members) => Ok(sub_agent::render_sub_agent(members)),
        }
    }

    /// Returns `text` without an unwanted hook or permission. Revokes only a permission that
    /// CodeInfo added.
    pub(super) fn revoke_from(
        &self,
        text: &str,
        is_permitted: bool,
    ) -> Result<String, EditRefusal> {
        match self {
            Self::Server { section, revokes_trust: true, .. } if is_permitted => {
                edit::without_member(section, text, TRUST)
            }
            Self::Settings { permission, hook } => {
                let mut settings = text.to_owned();
                if !permission && is_permitted {
                    settings = edit::without_element(&settings, &permission_element())?;
                }
                if hook.is_none() {
                    settings = edit::without_element(&settings, &hook_element(""))?;
                }
                Ok(settings)
            }
            _ => Ok(text.to_owned()),
        }
    }

    /// Returns `text` without the content, or unchanged if it has none.
    pub(super) fn remove_from(
        &self,
        text: &str,
        is_permitted: bool,
    ) -> Result<String, EditRefusal> {
        match self {
            Self::Server { syntax, section, .. } => edit::remove_server(*syntax, section, text),
            Self::Settings { .. } => {
                Self::Settings { permission: false, hook: None }.revoke_from(text, is_permitted)
            }
            Self::Instructions => instructions::remove_instructions(text),
            Self::SubAgent(members) => {
                let is_ours = text == sub_agent::render_sub_agent(members);
                Ok(if is_ours { String::new() } else { text.to_owned() })
            }
        }
    }

    /// Returns whether a text has nothing but lists and objects from which the content was removed.
    pub(super) fn is_emptied(&self, text: &str) -> bool {
        match self {
            Self::Server { syntax: FileSyntax::Json, section, .. } => {
                edit::is_emptied(text, &[section])
            }
            Self::Settings { .. } => edit::is_emptied(text, &["permissions", "hooks"]),
            _ => text.trim().is_empty(),
        }
    }

    /// Returns whether a text permits calls of the tool without a prompt.
    pub(super) fn has_permission(&self, text: &str) -> bool {
        match self {
            Self::Server { section, .. } => edit::is_set(section, text, TRUST),
            Self::Settings { .. } => edit::has_element(text, &permission_element()),
            Self::Instructions | Self::SubAgent(_) => false,
        }
    }

    /// Returns a remark and advice about the permissions in a text.
    pub(super) fn describe_permission(&self, text: &str) -> Option<(String, &'static str)> {
        let (rule, is_wanted) = match self {
            Self::Server { revokes_trust, .. } => (TRUST, !revokes_trust),
            Self::Settings { permission, .. } => (CLAUDE_RULE, *permission),
            Self::Instructions | Self::SubAgent(_) => return None,
        };
        if !is_wanted {
            return self
                .has_permission(text)
                .then(|| (format!("`{rule}` stays"), "remove it there to be asked before calls"));
        }
        let has_rule = |list: &&'static str| edit::has_element(text, &rule_element(list));
        let mut lists = ["deny", "ask"].into_iter().filter(|_| rule == CLAUDE_RULE);
        let overruling = lists.find(has_rule)?;
        let found = format!("`permissions.{overruling}` names the tool");
        Some((found, "remove it there, or the permission has no effect"))
    }

    /// Returns whether the content is a whole file; one that a person wrote or changed is then not
    /// touched.
    pub(super) fn is_whole_file(&self) -> bool {
        matches!(self, Self::SubAgent(_))
    }
}

/// Returns whether the settings of Claude Code contain the hook.
pub(super) fn has_hook(text: &str) -> bool {
    edit::has_element(text, &hook_element(""))
}

fn permission_element() -> ListElement {
    ListElement {
        path: ["permissions", "allow"],
        value: json!(CLAUDE_RULE),
        is_same: |value| value == CLAUDE_RULE,
    }
}

/// Returns a rule for the tool or for all tools of the server, in a list of Claude Code's
/// permissions.
fn rule_element(list: &'static str) -> ListElement {
    let is_same = |value: &Value| {
        matches!(value.as_str(), Some(CLAUDE_RULE | "mcp__codeinfo" | "mcp__codeinfo__*"))
    };
    ListElement { path: ["permissions", list], value: json!(CLAUDE_RULE), is_same }
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

/// Returns whether an element has the mark of CodeInfo, whatever the program's name is.
fn is_marked_hook(element: &Value) -> bool {
    only_command(element).ends_with(HOOK_MARK)
}
