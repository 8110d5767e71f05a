//! The methods of both eras and what they return.

use futures_util::stream::BoxStream;
use serde_json::{Map, Value, json};

use super::{
    endpoint::{About, Call, CallError, Endpoint, Update},
    era::{self, Era},
    message::{Error, Request},
    modern::{self, Keep},
    tool::{Tool, ToolResult},
};

type Members = Map<String, Value>;

/// A request that was understood.
pub(super) enum Answer {
    Now(Result<Members, Error>),
    /// A long-running call; its progress comes on the stream.
    Later(BoxStream<'static, Update>),
}

/// Answers a request, or starts to.
pub(super) async fn answer(endpoint: &dyn Endpoint, era: Era, request: Request) -> Answer {
    match (era, request.method.as_str()) {
        (_, "tools/call") => call(endpoint, era, request.params).await,
        (_, "tools/list") => match endpoint.gate_list().await {
            Ok(()) => Answer::Now(tools(endpoint, era, &request.params).await),
            Err(error) => Answer::Now(Err(error)),
        },
        (Era::Legacy, "initialize") => {
            Answer::Now(Ok(initialized(endpoint, &request.params).await))
        }
        (Era::Modern, "server/discover") => {
            // What changes by itself changes the instructions, too.
            let keep = if endpoint.changes().is_some() { Keep::Never } else { Keep::Public };
            Answer::Now(Ok(modern::complete(discovered(endpoint).await, keep)))
        }
        _ => Answer::Now(fixed(era, &request)),
    }
}

/// Answers what depends on nothing but the program.
fn fixed(era: Era, request: &Request) -> Result<Members, Error> {
    let params = &request.params;
    match (era, request.method.as_str()) {
        (Era::Legacy, "ping") => Ok(Members::new()),
        (_, "resources/list") => list(era, params, "resources", json!([])),
        (_, "resources/templates/list") => list(era, params, "resourceTemplates", json!([])),
        (Era::Legacy, "resources/listTemplates") => {
            Ok(members([("resourceTemplates", json!([])), ("resource_templates", json!([]))]))
        }
        (_, "prompts/list") => list(era, params, "prompts", json!([])),
        (_, "prompts/get") => Err(Error::invalid_params(&["there are no prompts".to_owned()])),
        (_, "resources/read") => Err(unknown_resource(era, params)),
        (_, method) => Err(Error::method_not_found(method)),
    }
}

async fn initialized(endpoint: &dyn Endpoint, params: &Members) -> Members {
    let title = &endpoint.about().title;
    members([
        ("protocolVersion", json!(era::negotiated(params.get("protocolVersion")))),
        ("capabilities", capabilities(endpoint)),
        (
            "serverInfo",
            json!({ "name": modern::NAME, "title": title, "version": env!("CARGO_PKG_VERSION") }),
        ),
        ("instructions", json!(endpoint.instructions().await)),
    ])
}

async fn discovered(endpoint: &dyn Endpoint) -> Members {
    members([
        ("supportedVersions", json!(era::supported())),
        ("capabilities", capabilities(endpoint)),
        ("instructions", json!(endpoint.instructions().await)),
    ])
}

/// Resources and prompts are declared, and empty: some clients ask anyway and give up on an error.
fn capabilities(endpoint: &dyn Endpoint) -> Value {
    let tools =
        if endpoint.changes().is_some() { json!({ "listChanged": true }) } else { json!({}) };
    json!({ "tools": tools, "resources": {}, "prompts": {} })
}

async fn tools(endpoint: &dyn Endpoint, era: Era, params: &Members) -> Result<Members, Error> {
    let listed = endpoint.list_tools().await.iter().map(|tool| tool.listed().clone()).collect();
    let keep = if endpoint.about().shared { Keep::Public } else { Keep::Never };
    page(era, params, ("tools", Value::Array(listed)), keep)
}

fn list(era: Era, params: &Members, name: &str, entries: Value) -> Result<Members, Error> {
    page(era, params, (name, entries), Keep::Public)
}

/// Returns the only page of a list.
fn page(era: Era, params: &Members, entries: (&str, Value), keep: Keep) -> Result<Members, Error> {
    if params.contains_key("cursor") {
        return Err(Error::invalid_params(
            &["`cursor` is unknown: lists have one page".to_owned()],
        ));
    }
    let page = members([entries]);
    match era {
        Era::Legacy => Ok(page),
        Era::Modern => Ok(modern::complete(page, keep)),
    }
}

fn unknown_resource(era: Era, params: &Members) -> Error {
    let code = match era {
        Era::Legacy => -32002,
        Era::Modern => -32602,
    };
    let uri = params.get("uri").cloned().unwrap_or_default();
    Error::new(code, "Resource not found").with(json!({ "uri": uri }))
}

async fn call(endpoint: &dyn Endpoint, era: Era, mut params: Members) -> Answer {
    if let Err(error) = endpoint.gate().await {
        return Answer::Now(Err(error));
    }
    let tool = match named(endpoint.about(), params.get("name")) {
        Ok(tool) => tool,
        Err(error) => return Answer::Now(Err(error)),
    };
    let arguments = params.remove("arguments").unwrap_or_else(|| json!({}));
    let meta = match params.remove("_meta") {
        Some(Value::Object(meta)) => meta,
        Some(_) | None => Members::new(),
    };
    match endpoint.call(tool, arguments, meta).await {
        Ok(Call::Done(result)) => Answer::Now(finished(era, Ok(result))),
        Ok(Call::Running(updates)) => Answer::Later(updates),
        Err(refusal) => Answer::Now(finished(era, Err(refusal))),
    }
}

fn named<'a>(about: &'a About, name: Option<&Value>) -> Result<&'a Tool, Error> {
    let Some(name) = name.and_then(Value::as_str) else {
        return Err(Error::invalid_params(&["`name` must be there and a string".to_owned()]));
    };
    about.tools.iter().find(|tool| tool.name() == name).ok_or_else(|| {
        let known: Vec<&str> = about.tools.iter().map(Tool::name).collect();
        let name: String = name.chars().take(80).collect();
        let fault = format!("there is no tool `{name}`; there is {}", known.join(", "));
        Error::invalid_params(&[fault])
    })
}

/// Puts what a call ended with into the form of its era.
pub(super) fn finished(era: Era, ended: Result<ToolResult, CallError>) -> Result<Members, Error> {
    match (era, ended) {
        (Era::Legacy, Ok(result)) => Ok(result.into_members()),
        (Era::Modern, Ok(result)) => Ok(modern::complete(result.into_members(), Keep::Unsaid)),
        (Era::Legacy, Err(CallError::Arguments(faults))) => Err(Error::invalid_params(&faults)),
        // A model can correct what it reads; it never sees protocol errors.
        (Era::Modern, Err(CallError::Arguments(faults))) => {
            let text = format!("Invalid params: {}", faults.join("; "));
            Ok(modern::complete(ToolResult::error(text).into_members(), Keep::Unsaid))
        }
        (_, Err(CallError::Error(error))) => Err(error),
    }
}

fn members<const N: usize>(pairs: [(&str, Value); N]) -> Members {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
