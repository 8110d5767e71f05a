//! `GET` and `POST /mcp/config`: the configuration of toolkits that a principal keeps here, encrypted.

use hyper::StatusCode;
use serde_json::{Value, json};

use super::{Services, error::ApiError};
use crate::{
    config::SpecReader,
    domain::Principal,
    net::{Request, Response, reply},
    replies::ConfigStored,
    vault::{Slot, Stored},
};

/// Returns who asks; without one there is nothing to read or write.
pub(super) fn principal(request: &Request) -> Result<Principal, ApiError> {
    request.principal().cloned().ok_or_else(ApiError::nobody)
}

/// Returns the stored configuration as it was sent, or one without servers.
pub(super) async fn read(services: &Services, who: Principal) -> Result<Response, ApiError> {
    let stored: Option<Stored<Value>> = services.vault.configs.read(Slot::toolkits(who)).await?;
    let config = stored.map_or_else(|| json!({ "mcpServers": {} }), |stored| stored.value);
    Ok(reply::json(StatusCode::OK, &config))
}

/// Returns a configuration that can be stored, as it was sent.
pub(super) fn checked(specs: &SpecReader, config: Value) -> Result<Value, ApiError> {
    specs.stored(config.clone()).map_err(ApiError::Arguments)?;
    let mut config = config;
    if let Some(members) = config.as_object_mut() {
        members.entry("mcpServers").or_insert_with(|| json!({}));
    }
    Ok(config)
}

pub(super) async fn write(
    services: &Services,
    who: Principal,
    config: Value,
) -> Result<Response, ApiError> {
    let kept = services.vault.configs.write(Slot::toolkits(who), config).await?;
    let reply = ConfigStored {
        success: true,
        id: kept.id.to_string(),
        version: kept.version,
        created_at: kept.created_at.to_string(),
    };
    Ok(reply::json(StatusCode::OK, &reply))
}
