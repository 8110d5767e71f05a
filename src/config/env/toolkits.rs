//! The settings of toolkits and of tokens.

use std::net::IpAddr;

use codeinfo_credentials::{InvalidKey, SecretKey};
use codeinfo_toolkits::spec::ToolkitSettings;
use serde::Deserialize;

use super::{ConfigError, Raw, Switch, absolute, choice, invalid, positive};

/// Who may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Auth {
    /// Who reaches the listeners; over loopback, where the system says whose a connection is, our account
    /// and root's alone.
    Optional,
    /// Only those with a token.
    Required,
}

pub(super) fn toolkits(raw: &Raw) -> Result<ToolkitSettings, ConfigError> {
    let enabled = choice("TOOLKITS_ENABLED", raw.toolkits_enabled.as_ref(), Switch::On)?;
    let file = match raw.toolkits_file.clone() {
        Some(file) => Some(absolute("TOOLKITS_FILE", file)?),
        None => directories::ProjectDirs::from("", "", "codeinfo")
            .map(|folders| folders.config_dir().join("toolkits.json")),
    };
    Ok(ToolkitSettings {
        enabled: enabled == Switch::On,
        file,
        max: positive("TOOLKITS_MAX", raw.toolkits_max, 16)?,
        direct_max: raw.toolkits_direct_max.unwrap_or(24),
        max_steps: positive("TOOLKITS_MAX_STEPS", raw.toolkits_max_steps, 10)?,
        prompt: raw.toolkits_prompt.clone(),
    })
}

/// Whether a token is needed. An address that others reach demands one, or the word that none is
/// needed; so does loopback where the system does not say whose a connection is.
pub(super) fn auth_required(raw: &Raw, host: IpAddr) -> Result<bool, ConfigError> {
    match raw.auth.as_ref() {
        Some(_) => Ok(choice("AUTH", raw.auth.as_ref(), Auth::Optional)? == Auth::Required),
        None if host.is_loopback() => Ok(cfg!(not(target_os = "linux"))),
        None => Err(invalid(
            "AUTH",
            "must be set where `HOST` is not loopback: `required`, so that only who has a token \
             (`codeinfo token create NAME`) is answered, or `optional` where something else keeps \
             others out",
        )),
    }
}

/// What stored configurations are encrypted with, where the key file is not to be it.
pub(super) fn secret_key(raw: &Raw) -> Result<Option<SecretKey>, ConfigError> {
    let read = raw.secret_key.as_ref().map(|text| text.parse());
    read.transpose().map_err(|error: InvalidKey| invalid("SECRET_KEY", &error.to_string()))
}
