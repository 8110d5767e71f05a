//! A sub-agent that has only the tool of CodeInfo, in a file for clients that read such files.

/// Name of the file, and of the sub-agent in clients that derive it from there.
pub(super) const FILE: &str = "code-investigator.md";
const MARK: &str = "# Written by `codeinfo install`; `codeinfo uninstall` removes it.";
const DESCRIPTION: &str = "Answers how code works, where something is, what uses it and what a change \
    affects, from the index of whole repositories, with path:lines. Use it before grep or reading files.";
const PROMPT: &str = "\
Ask `codebase_question` the whole question and wait: an answer may take minutes. Ask on with its `conversationId` until
the question is answered. Return what you learned with its `path:lines`, and say what stays open. If the tool is away,
return its reason and hint.
";

/// Members by which a client permits the tool and denies all others.
pub(super) const CLAUDE: &str =
    "name: code-investigator\ntools:\n  - mcp__codeinfo__codebase_question\n";
pub(super) const GEMINI: &str =
    "name: code-investigator\ntools:\n  - mcp_codeinfo_codebase_question\n";
pub(super) const OPEN_CODE: &str =
    "mode: subagent\npermission:\n  \"*\": deny\n  codeinfo_codebase_question: allow\n";

pub(super) fn render_sub_agent(members: &str) -> String {
    format!("---\n{MARK}\ndescription: {DESCRIPTION}\n{members}---\n\n{PROMPT}")
}
