//! Tokens: a client with a token may ask, and stores a configuration of its own.

use codeinfo_core::{Principal, Secret};
use codeinfo_credentials::{OnExistingToken, TokenKind};
use codeinfo_http::{Request, Response, reply};
use futures_util::future::join_all;
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ApiServices, error::ApiError};
use crate::replies::{CreateTokenReply, ListedToken, RevokeTokensReply, TokenList};

#[derive(Debug, Deserialize)]
pub(super) struct CreateTokenArguments {
    name: String,
    #[serde(default)]
    overwrite: bool,
    #[serde(default)]
    admin: bool,
}

pub(super) fn create_schema() -> Value {
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
    let made = services.vault.tokens.create_token(by, name.parse()?, kind, on_living).await?;
    let reply = CreateTokenReply {
        name: made.name.to_string(),
        token: made.token.expose().to_owned(),
        created_at: made.created_at.to_string(),
    };
    Ok(reply::json_response(StatusCode::CREATED, &reply))
}

pub(super) fn list_tokens(services: &ApiServices, by: &Secret) -> Result<Response, ApiError> {
    let listed = services.vault.tokens.list_tokens(by)?;
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
    services.vault.tokens.revoke_token(by, principal.clone()).await?;
    services.gateway.stop_owned(&principal).await;
    Ok(reply::json_response(StatusCode::OK, &RevokeTokensReply { revoked: vec![name.to_owned()] }))
}

pub(super) async fn revoke_all(services: &ApiServices, by: Secret) -> Result<Response, ApiError> {
    let revoked = services.vault.tokens.revoke_all(by).await?;
    services.vault.sessions.end_all();
    join_all(revoked.iter().map(|principal| services.gateway.stop_owned(principal))).await;
    let names = revoked.iter().map(ToString::to_string).collect();
    Ok(reply::json_response(StatusCode::OK, &RevokeTokensReply { revoked: names }))
}
