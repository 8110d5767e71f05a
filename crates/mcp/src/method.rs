//! Implements the methods of both eras.

use futures_util::stream::BoxStream;
use serde_json::{Map, Value, json};

use super::{
    endpoint::{
        CallUpdate, Endpoint, EndpointInfo, McpTool, McpToolResult, StartedCall, ToolCallError,
    },
    era::{self, CacheScope, ProtocolEra},
    message::{JsonRpcError, JsonRpcRequest},
};

type JsonMembers = Map<String, Value>;

pub(super) enum MethodAnswer {
    Now(Result<JsonMembers, JsonRpcError>),
    Later(BoxStream<'static, CallUpdate>),
}

/// Answers a request, or starts a long-running call.
pub(super) async fn answer_method(
    endpoint: &dyn Endpoint,
    era: ProtocolEra,
    request: JsonRpcRequest,
) -> MethodAnswer {
    match (era, request.method.as_str()) {
        (_, "tools/call") => call_tool(endpoint, era, request.params).await,
        (_, "tools/list") => match endpoint.gate_list().await {
            Ok(()) => MethodAnswer::Now(list_tools(endpoint, era, &request.params).await),
            Err(error) => MethodAnswer::Now(Err(error)),
        },
        (ProtocolEra::Legacy, "initialize") => {
            MethodAnswer::Now(Ok(build_initialize_result(endpoint, &request.params).await))
        }
        (ProtocolEra::Modern, "server/discover") => {
            // Endpoints with changing tools have changing instructions.
            let keep = if endpoint.watch_tool_changes().is_some() {
                CacheScope::Never
            } else {
                CacheScope::Public
            };
            MethodAnswer::Now(Ok(era::complete_result(build_discover_result(endpoint).await, keep)))
        }
        _ => MethodAnswer::Now(answer_fixed_method(era, &request)),
    }
}

/// Answers methods whose result depends only on the program.
fn answer_fixed_method(
    era: ProtocolEra,
    request: &JsonRpcRequest,
) -> Result<JsonMembers, JsonRpcError> {
    let params = &request.params;
    match (era, request.method.as_str()) {
        (ProtocolEra::Legacy, "ping") => Ok(JsonMembers::new()),
        (_, "resources/list") => build_empty_list(era, params, "resources"),
        (_, "resources/templates/list") => build_empty_list(era, params, "resourceTemplates"),
        (ProtocolEra::Legacy, "resources/listTemplates") => {
            Ok(build_members([("resourceTemplates", json!([])), ("resource_templates", json!([]))]))
        }
        (_, "prompts/list") => build_empty_list(era, params, "prompts"),
        (_, "prompts/get") => {
            Err(JsonRpcError::invalid_params(&["there are no prompts".to_owned()]))
        }
        (_, "resources/read") => Err(unknown_resource(era, params)),
        (_, method) => Err(JsonRpcError::method_not_found(method)),
    }
}

async fn build_initialize_result(endpoint: &dyn Endpoint, params: &JsonMembers) -> JsonMembers {
    let title = &endpoint.endpoint_info().title;
    build_members([
        ("protocolVersion", json!(era::negotiate_version(params.get("protocolVersion")))),
        ("capabilities", build_capabilities(endpoint)),
        (
            "serverInfo",
            json!({ "name": era::NAME, "title": title, "version": env!("CARGO_PKG_VERSION") }),
        ),
        ("instructions", json!(endpoint.load_instructions().await)),
    ])
}

async fn build_discover_result(endpoint: &dyn Endpoint) -> JsonMembers {
    build_members([
        ("supportedVersions", json!(era::supported_versions())),
        ("capabilities", build_capabilities(endpoint)),
        ("instructions", json!(endpoint.load_instructions().await)),
    ])
}

/// Declares capabilities, also empty resources and prompts: some clients give up on an error.
fn build_capabilities(endpoint: &dyn Endpoint) -> Value {
    let tools = if endpoint.watch_tool_changes().is_some() {
        json!({ "listChanged": true })
    } else {
        json!({})
    };
    json!({ "tools": tools, "resources": {}, "prompts": {} })
}

async fn list_tools(
    endpoint: &dyn Endpoint,
    era: ProtocolEra,
    params: &JsonMembers,
) -> Result<JsonMembers, JsonRpcError> {
    let listed =
        endpoint.list_tools().await.iter().map(|tool| tool.as_list_entry().clone()).collect();
    let keep = if endpoint.endpoint_info().shared { CacheScope::Public } else { CacheScope::Never };
    build_list_page(era, params, "tools", Value::Array(listed), keep)
}

fn build_empty_list(
    era: ProtocolEra,
    params: &JsonMembers,
    name: &str,
) -> Result<JsonMembers, JsonRpcError> {
    build_list_page(era, params, name, json!([]), CacheScope::Public)
}

/// Builds the only page of a list.
fn build_list_page(
    era: ProtocolEra,
    params: &JsonMembers,
    name: &str,
    entries: Value,
    keep: CacheScope,
) -> Result<JsonMembers, JsonRpcError> {
    if params.contains_key("cursor") {
        return Err(JsonRpcError::invalid_params(&[
            "`cursor` is unknown: lists have one page".to_owned()
        ]));
    }
    let page = build_members([(name, entries)]);
    match era {
        ProtocolEra::Legacy => Ok(page),
        ProtocolEra::Modern => Ok(era::complete_result(page, keep)),
    }
}

fn unknown_resource(era: ProtocolEra, params: &JsonMembers) -> JsonRpcError {
    let code = match era {
        ProtocolEra::Legacy => -32002,
        ProtocolEra::Modern => -32602,
    };
    let uri = params.get("uri").cloned().unwrap_or_default();
    JsonRpcError::new(code, "Resource not found").with_data(json!({ "uri": uri }))
}

async fn call_tool(
    endpoint: &dyn Endpoint,
    era: ProtocolEra,
    mut params: JsonMembers,
) -> MethodAnswer {
    if let Err(error) = endpoint.gate_calls().await {
        return MethodAnswer::Now(Err(error));
    }
    let tool = match find_tool(endpoint.endpoint_info(), params.get("name")) {
        Ok(tool) => tool,
        Err(error) => return MethodAnswer::Now(Err(error)),
    };
    let arguments = params.remove("arguments").unwrap_or_else(|| json!({}));
    let meta = match params.remove("_meta") {
        Some(Value::Object(meta)) => meta,
        Some(_) | None => JsonMembers::new(),
    };
    match endpoint.call_tool(tool, arguments, meta).await {
        Ok(StartedCall::Done(result)) => MethodAnswer::Now(convert_call_result(era, Ok(result))),
        Ok(StartedCall::Running(updates)) => MethodAnswer::Later(updates),
        Err(refusal) => MethodAnswer::Now(convert_call_result(era, Err(refusal))),
    }
}

fn find_tool<'a>(
    info: &'a EndpointInfo,
    name: Option<&Value>,
) -> Result<&'a McpTool, JsonRpcError> {
    let Some(name) = name.and_then(Value::as_str) else {
        return Err(JsonRpcError::invalid_params(
            &["`name` must be there and a string".to_owned()],
        ));
    };
    info.tools.iter().find(|tool| tool.name() == name).ok_or_else(|| {
        let known: Vec<&str> = info.tools.iter().map(McpTool::name).collect();
        let shortened: String = name.chars().take(80).collect();
        let fault = format!("there is no tool `{shortened}`; there is {}", known.join(", "));
        JsonRpcError::invalid_params(&[fault])
    })
}

pub(super) fn convert_call_result(
    era: ProtocolEra,
    ended: Result<McpToolResult, ToolCallError>,
) -> Result<JsonMembers, JsonRpcError> {
    match (era, ended) {
        (ProtocolEra::Legacy, Ok(result)) => Ok(result.into_members()),
        (ProtocolEra::Modern, Ok(result)) => {
            Ok(era::complete_result(result.into_members(), CacheScope::Unsaid))
        }
        (ProtocolEra::Legacy, Err(ToolCallError::Arguments(faults))) => {
            Err(JsonRpcError::invalid_params(&faults))
        }
        // A model can correct faults that it reads, but it never sees protocol errors.
        (ProtocolEra::Modern, Err(ToolCallError::Arguments(faults))) => {
            let text = format!("Invalid params: {}", faults.join("; "));
            Ok(era::complete_result(McpToolResult::error(text).into_members(), CacheScope::Unsaid))
        }
        (_, Err(ToolCallError::Error(error))) => Err(error),
    }
}

fn build_members<const N: usize>(pairs: [(&str, Value); N]) -> JsonMembers {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
