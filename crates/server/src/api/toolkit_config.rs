//! `GET` and `POST /mcp/config`: the toolkit configuration of a principal, stored encrypted.

use codeinfo_codex::NetworkAccess;
use codeinfo_core::{Principal, is_internal_address};
use codeinfo_credentials::{ConfigSlot, CurrentConfig};
use codeinfo_http::{Request, Response, reply};
use codeinfo_toolkits::spec::{
    SpecReader, ToolkitDocumentEntry, ToolkitName, ToolkitSandbox, ToolkitTransport,
};
use hyper::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::{Host, Url};

use super::{ApiServices, error::ApiError};

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoreConfigReply {
    pub success: bool,
    pub id: String,
    pub version: u64,
    pub created_at: String,
    /// Capabilities of its toolkits that a person may not expect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Returns the principal of a request. Without one, there is no configuration to read or write.
pub(super) fn require_principal(request: &Request) -> Result<Principal, ApiError> {
    request.principal().cloned().ok_or_else(ApiError::missing_token)
}

/// Returns the stored or an empty configuration; `secrets=hidden` masks variables and headers.
pub(super) async fn read_config(
    services: &ApiServices,
    who: Principal,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    let mut config = load_config(services, who).await?;
    match query.filter(|query| !query.is_empty()) {
        None => {}
        Some("secrets=hidden") => {
            change_secrets(&mut config, |_, value| *value = hidden_secret());
        }
        Some(_) => {
            let fault = "the only parameter is `secrets`, and its only value `hidden`".to_owned();
            return Err(ApiError::Arguments(vec![fault]));
        }
    }
    Ok(reply::json_response(StatusCode::OK, &config))
}

async fn load_config(services: &ApiServices, who: Principal) -> Result<Value, ApiError> {
    let stored: Option<CurrentConfig<Value>> =
        services.credentials.configs.read_current(ConfigSlot::for_toolkits(who)).await?;
    Ok(stored.map_or_else(|| json!({ "mcpServers": {} }), |stored| stored.value))
}

fn hidden_secret() -> Value {
    json!({ "set": true })
}

/// Calls `change` with toolkit, member and name of each variable and header, and with its value.
fn change_secrets(config: &mut Value, mut change: impl FnMut([&str; 3], &mut Value)) {
    let toolkits = config.get_mut("mcpServers").and_then(Value::as_object_mut);
    for (toolkit, spec) in toolkits.into_iter().flatten() {
        for member in ["env", "headers"] {
            let values = spec.get_mut(member).and_then(Value::as_object_mut);
            for (name, value) in values.into_iter().flatten() {
                change([toolkit, member, name], value);
            }
        }
    }
}

pub(super) async fn restore_secrets(
    services: &ApiServices,
    who: &Principal,
    mut config: Value,
) -> Result<Value, ApiError> {
    let mark = hidden_secret();
    let mut has_marks = false;
    change_secrets(&mut config, |_, value| has_marks |= *value == mark);
    if !has_marks {
        // Without marks, even an unreadable stored configuration can be replaced.
        return Ok(config);
    }
    let stored = load_config(services, who.clone()).await?;
    let mut faults = Vec::new();
    change_secrets(&mut config, |[toolkit, member, name], value| {
        if *value == mark {
            let path = format!("/mcpServers/{toolkit}/{member}/{name}");
            match stored.pointer(&path) {
                Some(known) => *value = known.clone(),
                None => faults.push(format!("`{path}` has no stored value: write one")),
            }
        }
    });
    if faults.is_empty() { Ok(config) } else { Err(ApiError::Arguments(faults)) }
}

pub(super) struct CheckedConfig {
    config: Value,
    warnings: Vec<String>,
}

/// Returns a configuration that `who` may store, as it was sent. Only the owner, who has all
/// rights, may have programs run outside the sandbox or in a folder of this machine.
pub(super) fn check_config(
    specs: &SpecReader,
    who: &Principal,
    mut config: Value,
) -> Result<CheckedConfig, ApiError> {
    let document = specs.read_stored(config.clone()).map_err(ApiError::Arguments)?;
    let faults: Vec<String> = match &document.toolkits {
        Some(toolkits) if !who.is_owner() => {
            toolkits.iter().filter_map(find_owner_only_member).collect()
        }
        Some(_) | None => Vec::new(),
    };
    if !faults.is_empty() {
        return Err(ApiError::Arguments(faults));
    }
    if let Some(members) = config.as_object_mut() {
        members.entry("mcpServers").or_insert_with(|| json!({}));
    }
    let warnings = document.toolkits.iter().flatten().filter_map(warn_of_network).collect();
    Ok(CheckedConfig { config, warnings })
}

fn warn_of_network(toolkit: &(ToolkitName, ToolkitDocumentEntry)) -> Option<String> {
    let (name, ToolkitDocumentEntry::Is(spec)) = toolkit else { return None };
    let is_process = matches!(spec.transport, ToolkitTransport::Stdio { .. });
    let is_open = spec.network == NetworkAccess::Open && spec.sandbox != ToolkitSandbox::Off;
    (is_process && is_open).then(|| {
        format!(
            "`{name}` has `\"network\": \"open\"`: it reaches every service of this machine and of the \
             network around it, this server included"
        )
    })
}

/// Returns the refusal of a member that only the owner may store.
fn find_owner_only_member(toolkit: &(ToolkitName, ToolkitDocumentEntry)) -> Option<String> {
    let (name, ToolkitDocumentEntry::Is(spec)) = toolkit else { return None };
    let refused = |member| {
        Some(format!("`mcpServers/{name}/{member}`: only the owner of the server may say that"))
    };
    let working_dir = match &spec.transport {
        ToolkitTransport::Stdio { working_dir, .. } => working_dir,
        ToolkitTransport::Http { url, .. } if is_local_address(url) => return refused("url"),
        ToolkitTransport::Http { headers, .. } => {
            let names_host = headers.keys().any(|name| name.eq_ignore_ascii_case("host"));
            return if names_host { refused("headers/host") } else { None };
        }
    };
    let member = match (spec.sandbox, working_dir) {
        (ToolkitSandbox::Off, _) => "sandbox",
        (_, Some(_)) => "workingDir",
        (ToolkitSandbox::ReadOnly | ToolkitSandbox::WorkspaceWrite, None)
            if spec.network == NetworkAccess::Open =>
        {
            "network"
        }
        (ToolkitSandbox::ReadOnly | ToolkitSandbox::WorkspaceWrite, None) => return None,
    };
    refused(member)
}

/// Returns whether an address, as written, belongs to this machine or its surroundings.
fn is_local_address(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else { return true };
    match url.host() {
        Some(Host::Domain(name)) => {
            let host = name.trim_end_matches('.');
            host == "localhost" || host.ends_with(".localhost") || !host.contains('.')
        }
        Some(Host::Ipv4(address)) => is_internal_address(address.into()),
        Some(Host::Ipv6(address)) => is_internal_address(address.into()),
        None => true,
    }
}

pub(super) async fn store_config(
    services: &ApiServices,
    who: Principal,
    CheckedConfig { config, warnings }: CheckedConfig,
) -> Result<Response, ApiError> {
    let kept = services
        .credentials
        .configs
        .write_version(ConfigSlot::for_toolkits(who.clone()), config)
        .await?;
    services.toolkits.retire_changed(&who).await;
    let reply = StoreConfigReply {
        success: true,
        id: kept.id.to_string(),
        version: kept.version,
        created_at: kept.created_at.to_string(),
        warnings,
    };
    Ok(reply::json_response(StatusCode::OK, &reply))
}

#[cfg(test)]
mod tests {
    use super::is_local_address;

    #[test]
    fn addresses_of_this_machine_and_around_it_are_near() {
        for near in [
            "http://127.0.0.1:5011/mcp",
            "http://2130706433/",
            "http://localhost:1",
            "http://x.localhost./",
            "http://[::1]/",
            "http://[::ffff:10.0.0.1]/",
            "http://169.254.169.254/",
            "http://192.168.1.1/",
            "http://printer/",
            "http://0.0.0.0/",
            "http://[fd00::1]/",
        ] {
            assert!(is_local_address(near), "{near}");
        }
        assert!(!is_local_address("https://mcp.example.com/mcp"));
        assert!(!is_local_address("https://93.184.216.34/"));
    }
}
