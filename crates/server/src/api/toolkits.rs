//! Toolkits for people: lists, starts, stops, trusts and allows them, and tries a tool.
//!
//! Any admitted caller may list them, which starts nothing. Starting or trusting a program needs a
//! bearer, because all users of this machine can reach its addresses.

use std::path::{Path, PathBuf};

use codeinfo_core::{
    Principal, Root,
    error::{ErrorCode, format_error_chain},
};
use codeinfo_http::{Request, Response, reply};
use codeinfo_toolkits::{
    ToolDirectory, ToolEntrySource, ToolFilter, ToolkitGateway, ToolkitHandle, ToolkitPreview,
    ToolkitTurnContext,
};
use hyper::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    ApiServices,
    error::ApiError,
    parameters::{invalid_argument, parse_query},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolkitAction {
    Start,
    Stop,
    Restart,
    Trust,
}

impl ToolkitAction {
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "start" => Some(Self::Start),
            "stop" => Some(Self::Stop),
            "restart" => Some(Self::Restart),
            "trust" => Some(Self::Trust),
            _ => None,
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct CallToolArguments {
    tool: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

pub(super) fn call_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["tool"],
        "properties": {
            "tool": { "type": "string", "minLength": 1, "maxLength": 512 },
            "arguments": { "type": "object" },
        },
    })
}

#[derive(Debug, Deserialize)]
pub(super) struct AllowToolkitsArguments {
    path: String,
    /// Digest that was shown; without it, nothing is allowed.
    sha256: Option<String>,
}

pub(super) fn allow_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["path"],
        "properties": {
            "path": { "type": "string", "minLength": 1, "maxLength": 4096 },
            "sha256": { "type": "string", "minLength": 64, "maxLength": 64 },
        },
    })
}

/// Toolkits that the file of a repository would run, and whether it may.
#[derive(Debug, Serialize, Deserialize)]
pub struct AllowedFile {
    pub file: String,
    /// Digest of the content that was read.
    pub sha256: String,
    pub allowed: bool,
    pub toolkits: Vec<ToolkitPreview>,
}

/// Answer of a tool, or the reason of its failure, in the form that a model reads.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnswer {
    pub is_error: bool,
    pub text: String,
}

#[derive(Debug, Default)]
struct ToolkitParameters {
    filter: ToolFilter,
    repository: Option<String>,
    folder: Option<String>,
}

fn parse_parameters(query: Option<&str>) -> Result<ToolkitParameters, ApiError> {
    let mut read = ToolkitParameters::default();
    for (name, value) in parse_query(query) {
        let trimmed = value.trim().to_owned();
        let place = match &*name {
            "source" => {
                read.filter.source = Some(match trimmed.as_str() {
                    "local" => ToolEntrySource::Local,
                    "mcp" => ToolEntrySource::Mcp,
                    _ => return Err(invalid_argument("`source` must be `local` or `mcp`")),
                });
                continue;
            }
            "toolkit" => &mut read.filter.toolkit,
            "q" => &mut read.filter.query,
            "repository" => &mut read.repository,
            "folder" => &mut read.folder,
            _ => {
                let start: String = name.chars().take(80).collect();
                return Err(invalid_argument(&format!("`{start}` is not known here")));
            }
        };
        if trimmed.is_empty() {
            return Err(invalid_argument(&format!("`{name}` is blank")));
        }
        *place = Some(trimmed);
    }
    Ok(read)
}

pub(super) async fn list_toolkits(
    services: &ApiServices,
    local: &[codeinfo_mcp::McpTool],
    request: &Request,
) -> Result<Response, ApiError> {
    let parameters = parse_parameters(request.query())?;
    let (roots, fault) = match services.search.list_roots().await {
        Ok(roots) => (roots, None),
        // Other toolkits are still listed.
        Err(error) => (
            Vec::new(),
            Some(format!("no toolkit of a repository: {}", format_error_chain(&error))),
        ),
    };
    let folder = find_folder(services, &roots, &parameters).await?;
    let principal = request.principal().cloned();
    let wanted = ToolkitTurnContext {
        principal,
        folder: folder.as_deref(),
        ..ToolkitTurnContext::default()
    };
    let mut directory: ToolDirectory =
        services.toolkits.build_directory(local, wanted, &parameters.filter).await;
    directory.warnings.extend(fault);
    Ok(reply::json_response(StatusCode::OK, &directory))
}

pub(super) async fn apply_action(
    services: &ApiServices,
    request: &Request,
    name: &str,
    action: ToolkitAction,
) -> Result<Response, ApiError> {
    let member = find_member(services, request, name).await?;
    if !request.principal().is_some_and(|who| member.is_managed_by(who)) {
        let message =
            "this toolkit is not yours: only the owner of the server starts, stops and trusts it";
        return Err(ApiError::Failed { code: ErrorCode::Forbidden, message: message.to_owned() });
    }
    let done = match action {
        ToolkitAction::Start => member.start().await.map_err(|error| error.to_string()),
        ToolkitAction::Stop => {
            member.stop().await;
            Ok(())
        }
        ToolkitAction::Restart => member.restart().await.map_err(|error| error.to_string()),
        ToolkitAction::Trust => member.trust_current_tools().await.map(drop),
    };
    done.map_err(|message| ApiError::Failed { code: ErrorCode::ToolkitUnavailable, message })?;
    Ok(reply::json_response(StatusCode::OK, &ToolkitGateway::build_toolkit_entry(&member).await))
}

pub(super) async fn call_tool(
    services: &ApiServices,
    request: &Request,
    name: &str,
    CallToolArguments { tool, arguments }: CallToolArguments,
) -> Result<Response, ApiError> {
    let member = find_member(services, request, name).await?;
    let called = services.toolkits.try_call(&member, &tool, Value::Object(arguments)).await;
    let (is_error, text) = match called {
        Ok(text) => (false, text),
        Err(text) => (true, text),
    };
    Ok(reply::json_response(StatusCode::OK, &ToolAnswer { is_error, text }))
}

/// Shows what a repository's toolkit file asks for, and allows it if `sha256` is its digest.
pub(super) async fn allow_toolkits(
    services: &ApiServices,
    request: &Request,
    AllowToolkitsArguments { path, sha256 }: AllowToolkitsArguments,
) -> Result<Response, ApiError> {
    let who = request.principal().ok_or_else(ApiError::missing_token)?;
    if !who.is_owner() {
        let message = "only the owner of the server allows the toolkits of a repository";
        return Err(ApiError::Failed { code: ErrorCode::Forbidden, message: message.to_owned() });
    }
    let path = services.path_map.to_server_path(Path::new(&path));
    let proposal = services.toolkits.propose_or_allow(path, sha256).await;
    let (proposal, is_allowed) = proposal.map_err(|error| ApiError::Failed {
        code: error.code(),
        message: format_error_chain(&error),
    })?;
    let file = AllowedFile {
        file: services.path_map.to_client_path(&proposal.file).display().to_string(),
        sha256: proposal.digest(),
        allowed: is_allowed,
        toolkits: proposal.toolkits,
    };
    Ok(reply::json_response(StatusCode::OK, &file))
}

async fn find_member(
    services: &ApiServices,
    request: &Request,
    name: &str,
) -> Result<ToolkitHandle, ApiError> {
    let who: Principal = request.principal().cloned().ok_or_else(ApiError::missing_token)?;
    let parameters = parse_parameters(request.query())?;
    let roots = services.search.list_roots().await?;
    let folder = find_folder(services, &roots, &parameters).await?;
    let wanted = ToolkitTurnContext {
        principal: Some(who),
        folder: folder.as_deref(),
        ..ToolkitTurnContext::default()
    };
    let member = services.toolkits.find_toolkit(&wanted, name).await;
    let start: String = name.chars().take(80).collect();
    let message =
        format!("there is no toolkit `{start}`; `codeinfo mcp list` shows those that there are");
    member.ok_or(ApiError::Failed { code: ErrorCode::ToolkitNotFound, message })
}

/// Returns the folder whose toolkits apply: of the named, the client's, or the only repository.
async fn find_folder(
    services: &ApiServices,
    roots: &[Root],
    parameters: &ToolkitParameters,
) -> Result<Option<PathBuf>, ApiError> {
    let paths = &services.path_map;
    if let Some(reference) = &parameters.repository {
        let unknown = || {
            let error = codeinfo_core::UnknownRoot::new(reference, roots);
            ApiError::Failed { code: ErrorCode::RepoNotFound, message: error.to_string() }
        };
        let root = paths.find_root(roots, reference).ok_or_else(unknown)?;
        return Ok(root.local_folder().map(Path::to_owned));
    }
    if let Some(folder) = &parameters.folder
        && let Some(standing) =
            services.ingest.find_client_tree(&paths.to_server_path(Path::new(folder))).await
    {
        return Ok(standing.tree.local_folder().map(Path::to_owned));
    }
    let [only] = roots else { return Ok(None) };
    Ok(only.local_folder().map(Path::to_owned))
}
