//! Reads the settings of Codex and of toolkits.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use codeinfo_codex::{
    ApprovalPolicy, CodexSettings, EFFORTS, OtherVariables, SandboxMode, WebSearchMode,
};
use codeinfo_credentials::{InvalidKey, SecretKey};
use codeinfo_toolkits::spec::ToolkitSettings;

use super::{
    ConfigError, RawSettings, invalid_setting, is_on, parse_choice, parse_positive, parse_seconds,
    require_absolute, to_absolute,
};

pub(super) fn parse_codex_settings(
    raw: RawSettings,
    path: OsString,
    data_dir: &Path,
) -> Result<CodexSettings, ConfigError> {
    let network = is_on("CODEX_NETWORK", raw.codex_network.as_ref(), true)?;
    let web_search =
        parse_choice("CODEX_WEB_SEARCH", raw.codex_web_search.as_ref(), WebSearchMode::Live)?;
    let private = is_on("CODEX_PRIVATE", raw.codex_private.as_ref(), false)?;
    let sandbox =
        parse_choice("CODEX_SANDBOX", raw.codex_sandbox.as_ref(), SandboxMode::WorkspaceWrite)?;
    if private && sandbox == SandboxMode::DangerFullAccess {
        return Err(invalid_setting(
            "CODEX_PRIVATE",
            "needs a sandbox: with `CODEX_SANDBOX=danger-full-access` nothing keeps the model's shell \
             from the network",
        ));
    }
    Ok(CodexSettings {
        no_proxy: [raw.no_proxy.as_deref(), Some("127.0.0.1,localhost,::1")]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(","),
        bin: raw.codex_bin.map(resolve_program).transpose()?,
        path,
        environment: OtherVariables::default(),
        data_dir: data_dir.to_owned(),
        home: raw.codex_home.map(|home| require_absolute("CODEX_HOME", home)).transpose()?,
        workdir: match raw.codex_workdir {
            Some(folder) => require_absolute("CODEX_WORKDIR", folder)?,
            None => data_dir.join("codex-workdir"),
        },
        model: raw.codex_model,
        effort: parse_effort(raw.codex_effort)?,
        claim_check: is_on("CLAIM_CHECK", raw.claim_check.as_ref(), true)?,
        sandbox,
        approval: parse_choice(
            "CODEX_APPROVAL",
            raw.codex_approval.as_ref(),
            ApprovalPolicy::OnFailure,
        )?,
        shell: is_on("CODEX_SHELL", raw.codex_shell.as_ref(), true)?,
        network: network && !private,
        web_search: if private { WebSearchMode::Disabled } else { web_search },
        turn_timeout: parse_seconds("CODEX_TURN_TIMEOUT_SECS", raw.codex_turn_timeout_secs, 1800)?,
        request_timeout: parse_seconds(
            "CODEX_REQUEST_TIMEOUT_SECS",
            raw.codex_request_timeout_secs,
            60,
        )?,
        presence_ttl: parse_seconds("CODEX_PRESENCE_SECS", raw.codex_presence_secs, 30)?,
        max_turns: parse_positive("CODEX_MAX_TURNS", raw.codex_max_turns, 16)?,
        max_waiting: parse_positive("CODEX_MAX_WAITING", raw.codex_max_waiting, 64)?,
    })
}

fn parse_effort(value: Option<String>) -> Result<String, ConfigError> {
    let effort = value.map_or_else(|| "high".to_owned(), |text| text.trim().to_owned());
    if EFFORTS.contains(&effort.as_str()) {
        return Ok(effort);
    }
    let known = EFFORTS.join("`, `");
    Err(invalid_setting("CODEX_EFFORT", &format!("is `{effort}`: expected one of `{known}`")))
}

/// Makes a path absolute. Keeps a bare name, which is searched on `PATH`.
fn resolve_program(bin: PathBuf) -> Result<PathBuf, ConfigError> {
    if bin.components().count() == 1 && bin.is_relative() && !bin.starts_with(".") {
        return Ok(bin);
    }
    to_absolute("CODEX_BIN", bin)
}

pub(super) fn parse_toolkit_settings(raw: &RawSettings) -> Result<ToolkitSettings, ConfigError> {
    let file = match raw.toolkits_file.clone() {
        Some(file) => Some(to_absolute("TOOLKITS_FILE", file)?),
        None => directories::ProjectDirs::from("", "", "codeinfo")
            .map(|folders| folders.config_dir().join("toolkits.json")),
    };
    Ok(ToolkitSettings {
        enabled: is_on("TOOLKITS_ENABLED", raw.toolkits_enabled.as_ref(), true)?,
        file,
        max: parse_positive("TOOLKITS_MAX", raw.toolkits_max, 16)?,
        direct_max: raw.toolkits_direct_max.unwrap_or(24),
        max_steps: parse_positive("TOOLKITS_MAX_STEPS", raw.toolkits_max_steps, 10)?,
        prompt: raw.toolkits_prompt.clone(),
    })
}

/// Returns the key that encrypts stored configurations instead of the key file.
pub(super) fn secret_key(raw: &RawSettings) -> Result<Option<SecretKey>, ConfigError> {
    let read = raw.secret_key.as_ref().map(|text| text.parse());
    read.transpose().map_err(|error: InvalidKey| invalid_setting("SECRET_KEY", &error.to_string()))
}
