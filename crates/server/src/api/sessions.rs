//! Sessions of the page: the owner gets a code, with which the page opens a session.

use codeinfo_core::{Principal, error::ErrorCode};
use codeinfo_http::{HttpError, Request, Response, reply};
use hyper::{StatusCode, header::SET_COOKIE};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ApiServices, error::ApiError};
use crate::replies::{OpenSessionReply, SessionCode};

#[derive(Debug, Deserialize)]
pub(super) struct OpenSessionArguments {
    code: String,
}

pub(super) fn open_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["code"],
        "properties": { "code": { "type": "string", "minLength": 1, "maxLength": 200 } },
    })
}

/// Makes a code for a caller that has the owner's key.
pub(super) fn make_code(services: &ApiServices, request: &Request) -> Result<Response, ApiError> {
    let principal = request.principal().ok_or_else(ApiError::missing_token)?;
    if !Principal::is_owner(principal) {
        let message = "only the owner's key opens the page as the owner".to_owned();
        return Err(ApiError::Failed { code: ErrorCode::Forbidden, message });
    }
    let code = services.vault.sessions.make_code()?.expose().to_owned();
    Ok(reply::json_response(StatusCode::CREATED, &SessionCode { code }))
}

/// Opens a session: one half of its secret goes to the page, the other half into a cookie.
pub(super) fn open_session(
    services: &ApiServices,
    request: &Request,
    OpenSessionArguments { code }: OpenSessionArguments,
) -> Result<Response, ApiError> {
    const USED: &str = "the address was used already, or is older than a minute; `codeinfo open` makes another one";
    let opened = services.vault.sessions.open_session(&code)?;
    let halves = opened.ok_or(HttpError::Unauthorized(USED))?;
    let cookie = request.session_cookie(halves.cookie.expose()).ok_or(HttpError::Internal)?;
    let key = halves.key.expose().to_owned();
    let mut response = reply::json_response(StatusCode::CREATED, &OpenSessionReply { key });
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}
