//! Tokens of clients and sessions of the page.
//!
//! A token lets a client ask and store its own configuration; a code of the owner opens a session.

use codeinfo_core::{Principal, Secret, error::ErrorCode};
use codeinfo_credentials::{OnExistingToken, TokenKind};
use codeinfo_http::{HttpError, Request, Response, reply};
use futures_util::future::join_all;
use hyper::{StatusCode, header::SET_COOKIE};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ApiServices, error::ApiError};

#[derive(Debug, Deserialize)]
pub(super) struct CreateTokenArguments {
    name: String,
    #[serde(default)]
    overwrite: bool,
    #[serde(default)]
    admin: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct OpenSessionArguments {
    code: String,
}

/// A new token with its secret, which appears once and never in a log.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateTokenReply {
    pub name: String,
    pub token: String,
    pub created_at: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct TokenList {
    pub tokens: Vec<ListedToken>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedToken {
    pub name: String,
    /// True if it was made with `--admin`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub admin: bool,
    pub created_at: String,
    pub last_used_at: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct SessionCode {
    pub code: String,
}

pub(super) fn create_token_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["name"],
        "properties": {
            "name": { "type": "string", "minLength": 1, "maxLength": 64 },
            "overwrite": { "type": "boolean" },
            "admin": { "type": "boolean" },
        },
    })
}

pub(super) fn open_session_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["code"],
        "properties": { "code": { "type": "string", "minLength": 1, "maxLength": 200 } },
    })
}

/// Returns the bearer of the caller, which the gate has already checked.
pub(super) fn require_bearer(request: &Request) -> Result<Secret, ApiError> {
    let bearer = request.principal().and_then(|_| request.bearer());
    bearer.ok_or_else(ApiError::missing_token)
}

pub(super) async fn create_token(
    services: &ApiServices,
    by: Secret,
    CreateTokenArguments { name, overwrite, admin }: CreateTokenArguments,
) -> Result<Response, ApiError> {
    let on_living = if overwrite { OnExistingToken::Overwrite } else { OnExistingToken::Refuse };
    let kind = if admin { TokenKind::Admin } else { TokenKind::Plain };
    let made = services.credentials.tokens.create_token(by, name.parse()?, kind, on_living).await?;
    let reply = CreateTokenReply {
        name: made.name.to_string(),
        token: made.token.expose().to_owned(),
        created_at: made.created_at.to_string(),
    };
    Ok(reply::json_response(StatusCode::CREATED, &reply))
}

pub(super) fn list_tokens(services: &ApiServices, by: &Secret) -> Result<Response, ApiError> {
    let listed = services.credentials.tokens.list_tokens(by)?;
    let tokens = listed.into_iter().map(|token| ListedToken {
        name: token.name.to_string(),
        admin: token.kind == TokenKind::Admin,
        created_at: token.created_at.to_string(),
        last_used_at: token.last_used_at.map(|at| at.to_string()),
    });
    Ok(reply::json_response(StatusCode::OK, &TokenList { tokens: tokens.collect() }))
}

pub(super) async fn revoke_token(
    services: &ApiServices,
    by: Secret,
    name: &str,
) -> Result<Response, ApiError> {
    let principal: Principal = name.parse()?;
    services.credentials.tokens.revoke_token(by, principal.clone()).await?;
    services.toolkits.stop_owned(&principal).await;
    Ok(reply::json_response(StatusCode::OK, &json!({ "revoked": [name] })))
}

pub(super) async fn revoke_all(services: &ApiServices, by: Secret) -> Result<Response, ApiError> {
    let revoked = services.credentials.tokens.revoke_all(by).await?;
    services.credentials.sessions.end_all();
    join_all(revoked.iter().map(|principal| services.toolkits.stop_owned(principal))).await;
    let names: Vec<_> = revoked.iter().map(Principal::as_str).collect();
    Ok(reply::json_response(StatusCode::OK, &json!({ "revoked": names })))
}

pub(super) fn make_code(services: &ApiServices, request: &Request) -> Result<Response, ApiError> {
    let principal = request.principal().ok_or_else(ApiError::missing_token)?;
    if !Principal::is_owner(principal) {
        let message = "only the owner's key opens the page as the owner".to_owned();
        return Err(ApiError::Failed { code: ErrorCode::Forbidden, message });
    }
    let code = services.credentials.sessions.make_code()?.expose().to_owned();
    Ok(reply::json_response(StatusCode::CREATED, &SessionCode { code }))
}

/// Opens a session: one half of its secret goes to the page, the other half into a cookie.
pub(super) fn open_session(
    services: &ApiServices,
    request: &Request,
    OpenSessionArguments { code }: OpenSessionArguments,
) -> Result<Response, ApiError> {
    const USED: &str = "the address was used already, or is older than a minute; `codeinfo open` makes another one";
    let halves =
        services.credentials.sessions.open_session(&code)?.ok_or(HttpError::Unauthorized(USED))?;
    let cookie = request.session_cookie(halves.cookie.expose()).ok_or(HttpError::Internal)?;
    let opened = json!({ "key": halves.key.expose() });
    let mut response = reply::json_response(StatusCode::CREATED, &opened);
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}
