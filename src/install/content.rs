//! Content of CodeInfo in a client's file: its server, its settings, lines for agents and a sub-agent.
//! It is added and removed without touching what people wrote.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{
    edit::{self, EditRefusal, EntryMembers, FileSyntax, ListElement, TRUST},
    messages::InstallError,
    places::HOOK_MARK,
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
        permission: bool,
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
            Self::Instructions => add_instructions(text),
            Self::SubAgent(members) => Ok(render_sub_agent(members)),
        }
    }

    /// Returns `text` without an unwanted hook, or an unwanted permission that CodeInfo added.
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
            Self::Instructions => remove_instructions(text),
            Self::SubAgent(members) => {
                let is_ours = text == render_sub_agent(members);
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

    /// Returns whether the content is a whole file, which stays if a person wrote or changed it.
    pub(super) fn is_whole_file(&self) -> bool {
        matches!(self, Self::SubAgent(_))
    }
}

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

/// Returns a rule for the tool or all tools of the server, in a list of Claude Code's permissions.
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

/// Documents that agents read. If none exists, the first is created.
const DOCUMENTS: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md"];
const BEGIN: &str = "<!-- codeinfo begin -->";
const END: &str = "<!-- codeinfo end -->";
const LINES: &str = "\
- Before grep or reading files to learn how code works, where something is, what uses it or what a change affects, ask the MCP tool `codebase_question` (server `codeinfo`). If it is listed but deferred, load it by name.
- Ask whole questions and wait: an answer may take minutes. For a follow-up, pass its `conversationId`.
- Answers cite `path:lines`: open those before editing. Search yourself for exact text, for uncommitted changes, and if you have no such tool.
- Sub-agents do the same: repeat these lines when you start one.
";

/// Returns the root of the repository around `folder`, and its existing documents or the one to
/// create. Links to the same document count once.
pub(super) fn find_documents(folder: &Path) -> Result<(PathBuf, Vec<PathBuf>), InstallError> {
    let absolute = folder.canonicalize().map_err(|error| InstallError::for_file(folder, error))?;
    let is_repository = |folder: &&Path| folder.join(".git").try_exists().unwrap_or(false);
    let root = absolute.ancestors().find(is_repository).ok_or(InstallError::NoRepository)?;
    let paths = DOCUMENTS.map(|name| root.join(name));
    let mut seen = Vec::new();
    let mut found: Vec<PathBuf> = paths
        .iter()
        .filter(|path| path.symlink_metadata().is_ok())
        .filter(|path| {
            let real = path.canonicalize().unwrap_or_else(|_| (*path).clone());
            let is_new = !seen.contains(&real);
            seen.push(real);
            is_new
        })
        .cloned()
        .collect();
    if found.is_empty() {
        found.extend(paths.into_iter().take(1));
    }
    Ok((root.to_owned(), found))
}

/// Returns a document with the lines: at its end, or in place of older ones.
fn add_instructions(text: &str) -> Result<String, EditRefusal> {
    // A line that ends with `\r` alone ends with `\r\n` when more lines follow.
    let is_crlf = text.contains("\r\n") || text.ends_with('\r');
    let end = if is_crlf { "\r\n" } else { "\n" };
    let block = format!("{BEGIN}\n{LINES}{END}\n").replace('\n', end);
    Ok(match split_at_block(text)? {
        Some((before, after)) => format!("{before}{block}{after}"),
        None if text.is_empty() => block,
        None if text.ends_with('\n') => format!("{text}{end}{block}"),
        None if text.ends_with('\r') => format!("{text}\n{end}{block}"),
        None => format!("{text}{end}{end}{block}"),
    })
}

/// Returns a document without the lines, and without the empty line that was added with them.
fn remove_instructions(text: &str) -> Result<String, EditRefusal> {
    Ok(match split_at_block(text)? {
        None => text.to_owned(),
        Some((before, after)) => {
            let above =
                before.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text));
            format!("{}{after}", above.filter(|text| text.ends_with('\n')).unwrap_or(before))
        }
    })
}

/// Returns the text before and after the lines. A marker counts only if it is alone on its line.
fn split_at_block(text: &str) -> Result<Option<(&str, &str)>, EditRefusal> {
    let mut at = 0;
    let mut begins = Vec::new();
    let mut ends = Vec::new();
    for line in text.split_inclusive('\n') {
        match line.trim() {
            BEGIN => begins.push(at),
            END => ends.push(at + line.len()),
            _ => {}
        }
        at += line.len();
    }
    match (&*begins, &*ends) {
        ([], []) => Ok(None),
        (&[begin], &[end]) if begin < end => Ok(text.get(..begin).zip(text.get(end..))),
        (&[_], &[_]) => Err(EditRefusal::new(format!("has `{END}` before `{BEGIN}`"))),
        _ => Err(EditRefusal::new(format!("has `{BEGIN}` and `{END}` not once each"))),
    }
}

/// Name of the file, and of the sub-agent in clients that derive it from there.
pub(super) const SUB_AGENT_FILE: &str = "code-investigator.md";
const SUB_AGENT_MARK: &str = "# Written by `codeinfo install`; `codeinfo uninstall` removes it.";
const SUB_AGENT_DESCRIPTION: &str = "Answers how code works, where something is, what uses it and what a change \
    affects, from the index of whole repositories, with path:lines. Use it before grep or reading files.";
const SUB_AGENT_PROMPT: &str = "\
Ask `codebase_question` the whole question and wait: an answer may take minutes. Ask on with its `conversationId` until
the question is answered. Return what you learned with its `path:lines`, and say what stays open. If the tool is away,
return its reason and hint.
";

/// Members by which a client permits the tool and denies all others.
pub(super) const CLAUDE_SUB_AGENT: &str =
    "name: code-investigator\ntools:\n  - mcp__codeinfo__codebase_question\n";
pub(super) const GEMINI_SUB_AGENT: &str =
    "name: code-investigator\ntools:\n  - mcp_codeinfo_codebase_question\n";
pub(super) const OPEN_CODE_SUB_AGENT: &str =
    "mode: subagent\npermission:\n  \"*\": deny\n  codeinfo_codebase_question: allow\n";

fn render_sub_agent(members: &str) -> String {
    format!(
        "---\n{SUB_AGENT_MARK}\ndescription: {SUB_AGENT_DESCRIPTION}\n{members}---\n\n{SUB_AGENT_PROMPT}"
    )
}
