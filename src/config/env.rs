//! Reads the environment; no other module does.

mod embedding;
mod handover;
mod listed;
mod page;
mod qdrant;
mod raw;
mod toolkits;

use std::{
    ffi::OsString,
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
    time::Duration,
};

use codeinfo_codex::{
    ApprovalPolicy, CodexSettings, EFFORTS, OtherVariables, SandboxMode, WebSearchMode,
};
use codeinfo_core::{
    PathMap, Secret,
    telemetry::{LogFormat, LogSettings},
};
use codeinfo_http::{AllowedNames, HttpSettings};
use codeinfo_ingest::IngestSettings;
use codeinfo_store::EmbeddedStoreSettings;
use serde::{Deserialize, de::IntoDeserializer};

pub use self::handover::{VARIABLE as HANDOVER, hide_keys};
use self::raw::RawSettings;
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
/// Maximum silence in a long reply in milliseconds, an hour.
const MAX_KEEP_ALIVE_MS: u64 = 60 * 60 * 1000;
/// Maximum count; a higher one exceeds the capacity of semaphores.
const MAX_BOUND: usize = u32::MAX as usize;

/// A switch in the spellings that people use.
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
    config.settings = listed::list_settings(&set, &config);
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
            hosts: list_allowed_hosts(&raw.allowed_hosts, host),
            origins: to_lowercase_names(&raw.allowed_origins),
        },
        http: parse_http_settings(&raw)?,
        ingest: parse_ingest_settings(&raw)?,
        watch: parse_choice("WATCH", raw.watch.as_ref(), SwitchSetting::Off)? == SwitchSetting::On,
        conversations_kept: page::conversations_kept(raw.conversations_kept)?,
        page: page::parse_page_settings(&raw)?,
        relays: RelaySettings {
            auto_index: parse_choice("AUTO_INDEX", raw.auto_index.as_ref(), SwitchSetting::Off)?
                == SwitchSetting::On,
            idle_exit: parse_seconds("IDLE_EXIT_SECS", raw.idle_exit_secs, 600)?,
            until_idle: false,
        },
        handed: Vec::new(),
        settings: Vec::new(),
        store: EmbeddedStoreSettings { seal_chunks: 4096, background_merge: true, repairs: true },
        qdrant: qdrant::parse_qdrant_settings(&raw)?,
        embedding: embedding::parse_embedding_settings(&raw)?,
        shutdown_grace: Duration::from_secs(raw.shutdown_grace_secs.unwrap_or(10)),
        log: LogSettings {
            level: raw.log_level.clone().unwrap_or_else(|| "info".to_owned()),
            chosen: raw.log_level.is_some(),
            format: parse_choice("LOG_FORMAT", raw.log_format.as_ref(), LogFormat::Text)?,
        },
        toolkits: toolkits::parse_toolkit_settings(&raw)?,
        auth_required: toolkits::auth_required(&raw, host)?,
        secret_key: toolkits::secret_key(&raw)?,
        codex: parse_codex_settings(raw, path, &data_dir)?,
        data_dir,
    })
}

fn parse_http_settings(raw: &RawSettings) -> Result<HttpSettings, ConfigError> {
    Ok(HttpSettings {
        max_body_bytes: parse_positive("MAX_BODY_BYTES", raw.max_body_bytes, 1024 * 1024)?,
        max_connections: parse_positive("MAX_CONNECTIONS", raw.max_connections, 4096)?,
        max_batch: parse_positive("MAX_BATCH", raw.max_batch, 64)?,
        max_result_bytes: parse_positive("MCP_RESULT_BYTES", raw.mcp_result_bytes, 16_000)?,
        lists_away: parse_choice("MCP_LIST_AWAY", raw.mcp_list_away.as_ref(), SwitchSetting::Off)?
            == SwitchSetting::On,
        first_byte_timeout: Duration::from_secs(10),
        read_timeout: parse_seconds("READ_TIMEOUT_SECS", raw.read_timeout_secs, 120)?,
        write_timeout: parse_seconds("WRITE_TIMEOUT_SECS", raw.write_timeout_secs, 30)?,
        keep_alive: keep_alive(raw.keep_alive_ms.unwrap_or(10_000))?,
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

fn parse_codex_settings(
    raw: RawSettings,
    path: OsString,
    data_dir: &std::path::Path,
) -> Result<CodexSettings, ConfigError> {
    let network = parse_choice("CODEX_NETWORK", raw.codex_network.as_ref(), SwitchSetting::On)?;
    let shell = parse_choice("CODEX_SHELL", raw.codex_shell.as_ref(), SwitchSetting::On)?
        == SwitchSetting::On;
    let web_search =
        parse_choice("CODEX_WEB_SEARCH", raw.codex_web_search.as_ref(), WebSearchMode::Live)?;
    let private = parse_choice("CODEX_PRIVATE", raw.codex_private.as_ref(), SwitchSetting::Off)?
        == SwitchSetting::On;
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
        bin: raw.codex_bin.map(bare_or_absolute).transpose()?,
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
        claim_check: parse_choice("CLAIM_CHECK", raw.claim_check.as_ref(), SwitchSetting::On)?
            == SwitchSetting::On,
        sandbox,
        approval: parse_choice(
            "CODEX_APPROVAL",
            raw.codex_approval.as_ref(),
            ApprovalPolicy::OnFailure,
        )?,
        shell,
        network: network == SwitchSetting::On && !private,
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

fn platform_data_dir() -> Result<PathBuf, ConfigError> {
    directories::ProjectDirs::from("", "", "codeinfo")
        .map(|folders| folders.data_dir().to_owned())
        .ok_or_else(|| invalid_setting("DATA_DIR", "must be set: no home folder is known"))
}

pub fn current_program() -> std::io::Result<PathBuf> {
    std::env::current_exe()
}

/// Makes a path absolute. Keeps a bare name, which is searched on `PATH`.
fn bare_or_absolute(bin: PathBuf) -> Result<PathBuf, ConfigError> {
    if bin.components().count() == 1 && bin.is_relative() && !bin.starts_with(".") {
        return Ok(bin);
    }
    to_absolute("CODEX_BIN", bin)
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

fn to_lowercase_names(names: &[String]) -> Vec<String> {
    names.iter().map(|name| name.trim().to_lowercase()).filter(|name| !name.is_empty()).collect()
}

/// Returns the host names for the listeners: the configured ones, and the bound address if it is
/// specific. DNS rebinding cannot forge an address.
fn list_allowed_hosts(names: &[String], bound: IpAddr) -> Vec<String> {
    let mut hosts = to_lowercase_names(names);
    if !bound.is_loopback() && !bound.is_unspecified() {
        hosts.push(bound.to_string());
    }
    hosts
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

fn keep_alive(milliseconds: u64) -> Result<Duration, ConfigError> {
    match milliseconds {
        0 => Err(invalid_setting("KEEP_ALIVE_MS", "must be at least 1 millisecond")),
        MAX_KEEP_ALIVE_MS.. => Err(invalid_setting("KEEP_ALIVE_MS", "must be less than an hour")),
        value => Ok(Duration::from_millis(value)),
    }
}

fn invalid_setting(variable: &'static str, reason: &str) -> ConfigError {
    ConfigError::Invalid { variable, reason: reason.to_owned() }
}
