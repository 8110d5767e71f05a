//! The question server as an MCP endpoint: what it says of itself, its gate, its one tool.

use codeinfo_mcp::{About, Call, CallError, Endpoint, Error, SchemaError, Tool};
use futures_util::{FutureExt, StreamExt, future, future::BoxFuture};
use serde_json::{Map, Value};

use super::{error, progress, tool};
use crate::{
    chat::{Ask, Chat},
    codex::Presence,
};

const INSTRUCTIONS: &str = "\
Ask questions about the indexed repositories in plain words: call codebase_question and get an answer grounded in their code.
Use it before searching or reading files yourself. The answer names files and lines to look at. \
For a follow-up pass the conversationId of the former answer. Error CODE_INFO_LLM_UNAVAILABLE means that Codex cannot be used at the moment; its data says why and what to do.";

/// The endpoint with `codebase_question`.
pub(super) struct Questions {
    chat: Chat,
    about: About,
}

impl Questions {
    pub(super) fn new(chat: Chat) -> Result<Self, SchemaError> {
        let tools = vec![tool::codebase_question()?];
        let about = About {
            title: "CodeInfo".to_owned(),
            instructions: INSTRUCTIONS.to_owned(),
            tools,
            shared: true,
        };
        Ok(Self { chat, about })
    }
}

impl Endpoint for Questions {
    fn about(&self) -> &About {
        &self.about
    }

    /// Asks what is known of Codex, and checks again only while it is not known to be usable.
    fn gate(&self) -> BoxFuture<'_, Result<(), Error>> {
        async move {
            match self.chat.presence().await {
                Presence::Available { .. } => Ok(()),
                Presence::Unavailable(why) => Err(error::unavailable(&why, None)),
            }
        }
        .boxed()
    }

    fn call<'a>(
        &'a self,
        tool: &'a Tool,
        arguments: Value,
        meta: Map<String, Value>,
    ) -> BoxFuture<'a, Result<Call, CallError>> {
        let call = match (tool::asked(tool, arguments), tool::repository(&meta)) {
            (Ok((question, conversation)), Ok(repository)) => {
                let ask = Ask { question, conversation, model: None, effort: None, repository };
                Ok(Call::Running(progress::updates(self.chat.clone(), ask).boxed()))
            }
            (asked, repository) => {
                let faults = asked.err().into_iter().flatten().chain(repository.err());
                Err(CallError::Arguments(faults.collect()))
            }
        };
        future::ready(call).boxed()
    }
}
