//! The question server as an MCP endpoint: what it says of itself, its gate, its one tool.

use futures_util::{FutureExt, StreamExt, future, future::BoxFuture};
use serde_json::Value;

use super::{fault, progress, tool};
use crate::{
    chat::{Ask, Chat},
    codex::{Codex, Presence},
    rpc::{About, Call, Endpoint, Error, Refusal, SchemaError, Tool},
};

const INSTRUCTIONS: &str = "\
Ask questions about the indexed repositories in plain words: call codebase_question and get an answer grounded in their code.
Use it before searching or reading files yourself. The answer names files and lines to look at. \
For a follow-up pass the conversationId of the former answer. Error CODE_INFO_LLM_UNAVAILABLE means that Codex cannot be used at the moment; its data says why and what to do.";

/// The endpoint with `codebase_question`.
pub(super) struct Questions {
    chat: Chat,
    codex: Codex,
    about: About,
}

impl Questions {
    pub(super) fn new(chat: Chat, codex: Codex) -> Result<Self, SchemaError> {
        let tools = vec![tool::codebase_question()?];
        let about = About { title: "CodeInfo", instructions: INSTRUCTIONS, tools };
        Ok(Self { chat, codex, about })
    }
}

impl Endpoint for Questions {
    fn about(&self) -> &About {
        &self.about
    }

    /// Answers at once while Codex is known to be usable; else looks, so that its return is seen.
    fn gate(&self) -> BoxFuture<'_, Result<(), Error>> {
        let gate = async {
            match self.codex.usable().await {
                Presence::Available { .. } => Ok(()),
                Presence::Unavailable(why) => Err(fault::unavailable(&why, None)),
            }
        };
        gate.boxed()
    }

    fn call<'a>(
        &'a self,
        tool: &'a Tool,
        arguments: Value,
    ) -> BoxFuture<'a, Result<Call, Refusal>> {
        let call = tool::asked(tool, arguments).map_err(Refusal::Arguments).map(
            |(question, conversation)| {
                let ask = Ask { question, conversation, model: None, effort: None };
                Call::Running(progress::updates(self.chat.clone(), ask).boxed())
            },
        );
        future::ready(call).boxed()
    }
}
