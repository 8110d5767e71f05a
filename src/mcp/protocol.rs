//! The question server as an MCP endpoint: what it says of itself, its gate, its one tool.

use std::sync::Arc;

use codeinfo_mcp::{About, Call, CallError, Endpoint, Error, SchemaError, Tool};
use futures_util::{FutureExt, StreamExt, future, future::BoxFuture};
use serde_json::{Map, Value};

use super::{error, progress, tool};
use crate::{
    chat::{Ask, Chat},
    codex::Presence,
    domain::Principal,
};

const INSTRUCTIONS: &str = "\
Ask questions about the indexed repositories in plain words: call codebase_question and get an answer grounded in their code.
Use it before searching or reading files yourself. The answer names files and lines to look at. \
For a follow-up pass the conversationId of the former answer. Error CODE_INFO_LLM_UNAVAILABLE means that Codex cannot be used at the moment; its data says why and what to do.";

/// The endpoint with `codebase_question`. Clones share all but who asks.
#[derive(Clone)]
pub(super) struct Questions {
    chat: Chat,
    about: Arc<About>,
    /// Who asks, where the request says so.
    principal: Option<Principal>,
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
        Ok(Self { chat, about: Arc::new(about), principal: None })
    }

    /// Returns the endpoint as `principal` has it.
    pub(super) fn asked_by(&self, principal: Option<Principal>) -> Self {
        Self { principal, ..self.clone() }
    }

    /// Reads a call, or names what is wrong with it.
    fn ask(
        &self,
        tool: &Tool,
        arguments: Value,
        mut meta: Map<String, Value>,
    ) -> Result<Ask, Vec<String>> {
        let toolkits = tool::toolkits(&mut meta);
        let toolkits =
            toolkits.map(|toolkits| self.chat.requested(toolkits, self.principal.as_ref()));
        match (tool::asked(tool, arguments), tool::repository(&meta), toolkits.transpose()) {
            (Ok((question, conversation)), Ok(repository), Ok(toolkits)) => {
                let principal = self.principal.clone();
                Ok(Ask { repository, toolkits, principal, ..Ask::new(question, conversation) })
            }
            (asked, repository, toolkits) => {
                let toolkits =
                    toolkits.err().map(|error| format!("`_meta.{}`: {error}", tool::TOOLKITS_META));
                let faults = asked.err().into_iter().flatten();
                Err(faults.chain(repository.err()).chain(toolkits).collect())
            }
        }
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
        let call = match self.ask(tool, arguments, meta) {
            Ok(ask) => Ok(Call::Running(progress::updates(self.chat.clone(), ask).boxed())),
            Err(faults) => Err(CallError::Arguments(faults)),
        };
        future::ready(call).boxed()
    }
}
