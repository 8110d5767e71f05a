//! Declares all settings, each with its default, and lists them with their values for `GET /settings`.

use std::path::{Path, PathBuf};

use codeinfo_core::without_passwords;
use codeinfo_server::api::{EffectiveSetting, SettingSource};
use serde::Deserialize;

use super::{default_mcp_port, default_port, handover};
use crate::config::Config;

/// Declares and lists the settings. A blank default is computed at the start or absent.
macro_rules! settings {
    ($($(#[$attribute:meta])* $name:ident: $kind:ty = $default:literal,)*) => {
        #[derive(Debug, Deserialize)]
        pub(in crate::config) struct RawSettings {
            $($(#[$attribute])* pub(super) $name: $kind,)*
            /// Variable of the environment that is not a setting of CodeInfo.
            pub(super) no_proxy: Option<String>,
        }

        /// Name of each setting in lower case with its default, in order.
        pub(in crate::config) const ALL: &[(&str, &str)] = &[$((stringify!($name), $default)),*];
    };
}

settings! {
    host: Option<String> = "127.0.0.1",
    #[serde(default = "default_port")]
    port: u16 = "5010",
    #[serde(default = "default_mcp_port")]
    mcp_port: u16 = "5011",
    data_dir: Option<PathBuf> = "",
    #[serde(default)]
    allowed_hosts: Vec<String> = "",
    #[serde(default)]
    allowed_origins: Vec<String> = "",
    auth: Option<String> = "",
    secret_key: Option<String> = "",
    host_ingest_dir: Option<PathBuf> = "",
    ingest_dir: Option<PathBuf> = "",
    embedding_url: Option<String> = "",
    embedding_model: Option<String> = "",
    embedding_api_key: Option<String> = "",
    embedding_dimensions: Option<usize> = "",
    embedding_query_prefix: Option<String> = "",
    embedding_document_prefix: Option<String> = "",
    embedding_batch: Option<usize> = "32",
    embedding_batch_tokens: Option<usize> = "100000",
    embedding_max_tokens: Option<usize> = "2048",
    embedding_concurrency: Option<usize> = "4",
    embedding_timeout_secs: Option<u64> = "120",
    codex_bin: Option<PathBuf> = "",
    codex_home: Option<PathBuf> = "",
    codex_workdir: Option<PathBuf> = "",
    codex_model: Option<String> = "",
    codex_effort: Option<String> = "high",
    claim_check: Option<String> = "on",
    codex_sandbox: Option<String> = "workspace-write",
    codex_approval: Option<String> = "on-failure",
    codex_shell: Option<String> = "on",
    codex_network: Option<String> = "on",
    codex_private: Option<String> = "false",
    codex_web_search: Option<String> = "live",
    codex_turn_timeout_secs: Option<u64> = "1800",
    codex_request_timeout_secs: Option<u64> = "60",
    codex_presence_secs: Option<u64> = "30",
    codex_max_turns: Option<usize> = "16",
    codex_max_waiting: Option<usize> = "64",
    toolkits_enabled: Option<String> = "true",
    toolkits_file: Option<PathBuf> = "",
    toolkits_max: Option<usize> = "16",
    toolkits_direct_max: Option<usize> = "24",
    toolkits_max_steps: Option<usize> = "10",
    toolkits_prompt: Option<String> = "",
    max_body_bytes: Option<usize> = "1048576",
    max_connections: Option<usize> = "4096",
    max_batch: Option<usize> = "64",
    mcp_result_bytes: Option<usize> = "16000",
    mcp_list_away: Option<String> = "false",
    read_timeout_secs: Option<u64> = "120",
    write_timeout_secs: Option<u64> = "30",
    keep_alive_ms: Option<u64> = "10000",
    conversations_kept: Option<usize> = "200",
    folder_roots: Option<String> = "",
    editor_link: Option<String> = "vscode",
    max_file_bytes: Option<u64> = "1048576",
    max_queued_runs: Option<usize> = "256",
    history_commits: Option<usize> = "20000",
    history_authors: Option<String> = "true",
    watch: Option<String> = "false",
    auto_index: Option<String> = "false",
    idle_exit_secs: Option<u64> = "600",
    hnsw_min_chunks: Option<u64> = "200000",
    qdrant_url: Option<String> = "",
    qdrant_api_key: Option<String> = "",
    qdrant_collection: Option<String> = "codeinfo",
    qdrant_shared_paths: Option<String> = "false",
    qdrant_shards: Option<u32> = "",
    qdrant_replication: Option<u32> = "1",
    qdrant_write_consistency: Option<u32> = "1",
    qdrant_timeout_secs: Option<u64> = "30",
    qdrant_retry_secs: Option<u64> = "30",
    shutdown_grace_secs: Option<u64> = "10",
    log_level: Option<String> = "info",
    log_format: Option<String> = "text",
}

const MAX_VALUE: usize = 500;
const KEPT_IN_A_FILE: &str = "SECRET_KEY";

/// Returns every setting, in the order of `.env.example`. `set` has the variables with values.
pub(super) fn list_settings(set: &[(String, String)], config: &Config) -> Vec<EffectiveSetting> {
    ALL.iter()
        .map(|(name, default)| build_setting(&name.to_uppercase(), default, set, config))
        .collect()
}

fn build_setting(
    name: &str,
    default: &str,
    set: &[(String, String)],
    config: &Config,
) -> EffectiveSetting {
    // Like `envy`, ignores case and uses the last value.
    let pair = set.iter().rev().find(|(variable, _)| variable.to_uppercase() == name);
    let given = pair.map(|(_, value)| value.trim());
    let source = match given {
        Some(_) => SettingSource::Environment,
        None if name == KEPT_IN_A_FILE => SettingSource::File,
        None => SettingSource::Default,
    };
    if handover::is_key_name(name) {
        let is_set = given.is_some() || source == SettingSource::File;
        return EffectiveSetting {
            name: name.to_owned(),
            value: None,
            source,
            secret: Some(is_set),
        };
    }
    let value = match given {
        Some(value) => Some(to_display_value(name, value)),
        None if default.is_empty() => find_default(name, config),
        None => Some(default.to_owned()),
    };
    EffectiveSetting { name: name.to_owned(), value, source, secret: None }
}

/// Returns a default that depends on the machine or on other settings.
fn find_default(name: &str, config: &Config) -> Option<String> {
    let path = |path: &Path| path.display().to_string();
    match name {
        "DATA_DIR" => Some(path(&config.data_dir)),
        "CODEX_WORKDIR" => Some(path(&config.codex.workdir)),
        "TOOLKITS_FILE" => config.toolkits.file.as_deref().map(path),
        "FOLDER_ROOTS" => {
            let folders = std::env::join_paths(&config.page.folder_roots).ok()?;
            Some(folders.to_string_lossy().into_owned()).filter(|folders| !folders.is_empty())
        }
        // When `AUTH` must be set, it is set.
        "AUTH" => Some("optional".to_owned()),
        _ => None,
    }
}

/// Returns a value without passwords that it may contain.
fn to_display_value(name: &str, value: &str) -> String {
    let mut shown = without_passwords(value);
    if name.ends_with("_URL") {
        // Some services take their key in the query.
        let addresses = shown.split(',').map(|address| match address.split_once('?') {
            Some((before, _)) => format!("{before}?…"),
            None => address.to_owned(),
        });
        shown = addresses.collect::<Vec<_>>().join(",");
    }
    match shown.char_indices().nth(MAX_VALUE) {
        Some((end, _)) => format!("{}…", shown.get(..end).unwrap_or_default()),
        None => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_queries() {
        assert_eq!(
            to_display_value("A_URL", "http://a/?key=secret,http://b"),
            "http://a/?…,http://b"
        );
        assert_eq!(to_display_value("EDITOR_LINK", "e://open?f={path}"), "e://open?f={path}");
        assert_eq!(to_display_value("A", &"ä".repeat(501)), format!("{}…", "ä".repeat(500)));
    }
}
