//! Reads the settings of toolkits and tokens.

use std::net::IpAddr;

use codeinfo_credentials::{InvalidKey, SecretKey};
use codeinfo_toolkits::spec::ToolkitSettings;
use serde::Deserialize;

use super::{
    ConfigError, RawSettings, SwitchSetting, invalid_setting, parse_choice, parse_positive,
    to_absolute,
};

/// Access to the listeners.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AuthSetting {
    /// Everyone who reaches the listeners; over loopback on Linux, only the server's account and
    /// root.
    Optional,
    /// Only callers with a token.
    Required,
}

pub(super) fn parse_toolkit_settings(raw: &RawSettings) -> Result<ToolkitSettings, ConfigError> {
    let enabled =
        parse_choice("TOOLKITS_ENABLED", raw.toolkits_enabled.as_ref(), SwitchSetting::On)?;
    let file = match raw.toolkits_file.clone() {
        Some(file) => Some(to_absolute("TOOLKITS_FILE", file)?),
        None => directories::ProjectDirs::from("", "", "codeinfo")
            .map(|folders| folders.config_dir().join("toolkits.json")),
    };
    Ok(ToolkitSettings {
        enabled: enabled == SwitchSetting::On,
        file,
        max: parse_positive("TOOLKITS_MAX", raw.toolkits_max, 16)?,
        direct_max: raw.toolkits_direct_max.unwrap_or(24),
        max_steps: parse_positive("TOOLKITS_MAX_STEPS", raw.toolkits_max_steps, 10)?,
        prompt: raw.toolkits_prompt.clone(),
    })
}

/// Returns whether a token is needed. A reachable address requires an explicit `AUTH`; loopback
/// defaults to required on systems that cannot identify the account of a connection.
pub(super) fn auth_required(raw: &RawSettings, host: IpAddr) -> Result<bool, ConfigError> {
    match raw.auth.as_ref() {
        Some(_) => Ok(parse_choice("AUTH", raw.auth.as_ref(), AuthSetting::Optional)?
            == AuthSetting::Required),
        None if host.is_loopback() => Ok(cfg!(not(target_os = "linux"))),
        None => Err(invalid_setting(
            "AUTH",
            "must be set where `HOST` is not loopback: `required`, so that only who has a token \
             (`codeinfo token create NAME`) is answered, or `optional` where something else keeps \
             others out",
        )),
    }
}

/// Returns the key that encrypts stored configurations instead of the key file.
pub(super) fn secret_key(raw: &RawSettings) -> Result<Option<SecretKey>, ConfigError> {
    let read = raw.secret_key.as_ref().map(|text| text.parse());
    read.transpose().map_err(|error: InvalidKey| invalid_setting("SECRET_KEY", &error.to_string()))
}
