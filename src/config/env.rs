//! Reads the environment; no other module does.

mod codex;
mod handover;
mod listeners;
mod services;
mod settings;

use std::{
    ffi::OsString,
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
    time::Duration,
};

use codeinfo_codex::OtherVariables;
use codeinfo_core::{
    PathMap, Secret,
    telemetry::{LogFormat, LogSettings},
};
use codeinfo_http::AllowedNames;
use codeinfo_ingest::IngestSettings;
use codeinfo_store::EmbeddedStoreSettings;
use serde::{Deserialize, de::IntoDeserializer};

pub use self::handover::{VARIABLE as HANDOVER, hide_keys};
use self::settings::RawSettings;
use super::{Config, RelaySettings};

/// Invalid setting, in one line that names the variable.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{0}")]
    Value(#[from] envy::Error),
    /// A value parses but makes no sense.
    #[error("`{variable}` {reason}")]
    Invalid { variable: &'static str, reason: String },
}

/// Maximum time in seconds, a year. Much longer times could not be added to the current time.
const MAX_SECONDS: u64 = 366 * 24 * 60 * 60;
/// Maximum count; a higher one exceeds the capacity of semaphores.
const MAX_BOUND: usize = u32::MAX as usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SwitchSetting {
    #[serde(alias = "true", alias = "1", alias = "yes")]
    On,
    #[serde(alias = "false", alias = "0", alias = "no")]
    Off,
}

fn default_port() -> u16 {
    5010
}

fn default_mcp_port() -> u16 {
    5011
}

/// Reads the environment of the process.
pub fn from_environment() -> Result<Config, ConfigError> {
    // All our variables are UTF-8, except `PATH`, which is read separately.
    let pairs = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let handed = handover::take_handed_variables()
        .map_err(|error| invalid_setting("CODEINFO_HANDOVER", &error.to_string()))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut config = from_pairs(pairs.chain(handed.iter().cloned()), path)?;
    config.handed = handed.into_iter().map(|(name, value)| (name, Secret::new(value))).collect();
    Ok(config)
}

/// Reads settings from pairs of variable and value; blank values count as unset.
pub fn from_pairs(
    pairs: impl IntoIterator<Item = (String, String)>,
    path: OsString,
) -> Result<Config, ConfigError> {
    let set: Vec<_> = pairs.into_iter().filter(|(_, value)| !value.trim().is_empty()).collect();
    let environment = OtherVariables::new(set.iter().cloned());
    let mut config = build_config(envy::from_iter(set.iter().cloned())?, path)?;
    config.settings = settings::list_settings(&set, &config);
    config.codex.environment = environment;
    Ok(config)
}

fn build_config(raw: RawSettings, path: OsString) -> Result<Config, ConfigError> {
    if raw.port == raw.mcp_port && raw.port != 0 {
        return Err(invalid_setting("MCP_PORT", "must differ from `PORT`"));
    }
    let data_dir = match raw.data_dir.clone() {
        Some(folder) => require_absolute("DATA_DIR", folder)?,
        None => platform_data_dir()?,
    };
    let host: IpAddr = parse_choice("HOST", raw.host.as_ref(), Ipv4Addr::LOCALHOST.into())?;
    Ok(Config {
        host,
        port: raw.port,
        mcp_port: raw.mcp_port,
        // One alone, such as a folder exported for a container, maps nothing.
        path_map: raw
            .ingest_dir
            .clone()
            .zip(raw.host_ingest_dir.clone())
            .map(|(server, client)| PathMap::new(server, client))
            .unwrap_or_default(),
        guard: AllowedNames {
            hosts: listeners::list_allowed_hosts(&raw.allowed_hosts, host),
            origins: listeners::to_lowercase_names(&raw.allowed_origins),
        },
        http: listeners::parse_http_settings(&raw)?,
        ingest: parse_ingest_settings(&raw)?,
        history: codeinfo_evidence::CommitSettings {
            max_commits: raw.history_commits.unwrap_or(20_000),
            shows_authors: is_on("HISTORY_AUTHORS", raw.history_authors.as_ref(), true)?,
        },
        watch: is_on("WATCH", raw.watch.as_ref(), false)?,
        conversations_kept: listeners::conversations_kept(raw.conversations_kept)?,
        page: listeners::parse_page_settings(&raw)?,
        relays: RelaySettings {
            auto_index: is_on("AUTO_INDEX", raw.auto_index.as_ref(), false)?,
            idle_exit: parse_seconds("IDLE_EXIT_SECS", raw.idle_exit_secs, 600)?,
            until_idle: false,
        },
        handed: Vec::new(),
        settings: Vec::new(),
        store: EmbeddedStoreSettings { seal_chunks: 4096, background_merge: true, repairs: true },
        qdrant: services::parse_qdrant_settings(&raw)?,
        embedding: services::parse_embedding_settings(&raw)?,
        shutdown_grace: Duration::from_secs(raw.shutdown_grace_secs.unwrap_or(10)),
        log: LogSettings {
            level: raw.log_level.clone().unwrap_or_else(|| "info".to_owned()),
            chosen: raw.log_level.is_some(),
            format: parse_choice("LOG_FORMAT", raw.log_format.as_ref(), LogFormat::Text)?,
        },
        toolkits: codex::parse_toolkit_settings(&raw)?,
        auth_required: listeners::auth_required(&raw, host)?,
        secret_key: codex::secret_key(&raw)?,
        codex: codex::parse_codex_settings(raw, path, &data_dir)?,
        data_dir,
    })
}

fn parse_ingest_settings(raw: &RawSettings) -> Result<IngestSettings, ConfigError> {
    Ok(IngestSettings {
        max_file_bytes: raw.max_file_bytes.unwrap_or(1024 * 1024),
        max_queued_runs: parse_positive("MAX_QUEUED_RUNS", raw.max_queued_runs, 256)?,
        max_finished_runs: 256,
        run_patience: Duration::from_secs(10),
    })
}

fn platform_data_dir() -> Result<PathBuf, ConfigError> {
    directories::ProjectDirs::from("", "", "codeinfo")
        .map(|folders| folders.data_dir().to_owned())
        .ok_or_else(|| invalid_setting("DATA_DIR", "must be set: no home folder is known"))
}

pub fn current_program() -> std::io::Result<PathBuf> {
    std::env::current_exe()
}

fn to_absolute(variable: &'static str, folder: PathBuf) -> Result<PathBuf, ConfigError> {
    std::path::absolute(folder).map_err(|error| invalid_setting(variable, &error.to_string()))
}

/// Refuses a relative folder, which would depend on the folder in which each command runs.
fn require_absolute(variable: &'static str, folder: PathBuf) -> Result<PathBuf, ConfigError> {
    if folder.has_root() {
        return to_absolute(variable, folder);
    }
    let advice = if folder.starts_with("~") {
        "; only shells replace `~`, where it is not quoted"
    } else {
        ""
    };
    let reason = format!(
        "must be an absolute path, such as `/var/lib/codeinfo`; `{}` is not{advice}",
        folder.display()
    );
    Err(invalid_setting(variable, &reason))
}

/// Parses a value of a closed set, with an error that names the variable, unlike that of `envy`.
fn parse_choice<T: serde::de::DeserializeOwned>(
    variable: &'static str,
    value: Option<&String>,
    default: T,
) -> Result<T, ConfigError> {
    let Some(text) = value else { return Ok(default) };
    let trimmed = text.trim();
    let read: Result<T, serde::de::value::Error> = T::deserialize(trimmed.into_deserializer());
    read.map_err(|error| invalid_setting(variable, &format!("is `{trimmed}`: {error}")))
}

fn is_on(
    variable: &'static str,
    value: Option<&String>,
    default: bool,
) -> Result<bool, ConfigError> {
    let default = if default { SwitchSetting::On } else { SwitchSetting::Off };
    Ok(parse_choice(variable, value, default)? == SwitchSetting::On)
}

fn parse_positive(
    variable: &'static str,
    value: Option<usize>,
    default: usize,
) -> Result<usize, ConfigError> {
    match value.unwrap_or(default) {
        0 => Err(invalid_setting(variable, "must be at least 1")),
        value if value > MAX_BOUND => Err(invalid_setting(variable, "must be at most 4294967295")),
        value => Ok(value),
    }
}

fn parse_seconds(
    variable: &'static str,
    value: Option<u64>,
    default: u64,
) -> Result<Duration, ConfigError> {
    match value.unwrap_or(default) {
        0 => Err(invalid_setting(variable, "must be at least 1 second")),
        MAX_SECONDS.. => Err(invalid_setting(variable, "must be less than a year")),
        value => Ok(Duration::from_secs(value)),
    }
}

fn invalid_setting(variable: &'static str, reason: &str) -> ConfigError {
    ConfigError::Invalid { variable, reason: reason.to_owned() }
}
