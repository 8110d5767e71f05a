//! What CodeInfo has in one file: put in, and taken out again without what people have there themselves.

use serde_json::json;

use super::{
    edit::{self, ListElement, Refusal},
    entry::{Entry, Syntax, TRUST},
    instructions,
    record::Before,
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
    /// The permission to call the tool without a prompt, in the settings of Claude Code.
    Permission,
    /// Lines for agents.
    Instructions,
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
            Self::Permission => edit::with_element(text, &permission()),
            Self::Instructions => instructions::with(text),
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
            // Who wrote it is known from the original alone.
            Self::Permission => match original.map(Before::as_str) {
                Some(original) if edit::without_element(original, &permission())? == original => {
                    edit::without_element(text, &permission())
                }
                _ => Ok(text.to_owned()),
            },
            Self::Instructions => instructions::without(text),
        }
    }
}

fn permission() -> ListElement {
    ListElement {
        path: ["permissions", "allow"],
        value: json!(CLAUDE_RULE),
        is_same: |value| value == CLAUDE_RULE,
    }
}
