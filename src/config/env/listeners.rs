//! Reads the settings of the listeners: their bounds, who may use them, and the page.

use std::{net::IpAddr, path::PathBuf, time::Duration};

use codeinfo_http::HttpSettings;
use codeinfo_server::api::{EditorLink, PageSettings};
use serde::Deserialize;

use super::{
    ConfigError, RawSettings, invalid_setting, is_on, parse_choice, parse_positive, parse_seconds,
};

/// Maximum silence in a long reply in milliseconds, an hour.
const MAX_KEEP_ALIVE_MS: u64 = 60 * 60 * 1000;
/// Default number of kept conversations, and its maximum, because each is a file.
const CONVERSATIONS_KEPT: usize = 200;
const MAX_CONVERSATIONS_KEPT: usize = 10_000;
const MAX_FOLDER_ROOTS: usize = 64;
const MAX_LINK: usize = 500;
/// Value that disables a setting with a default.
const NONE: &str = "none";
const EDITORS: [(&str, &str); 4] = [
    ("vscode", "vscode://file{path}:{line}"),
    ("cursor", "cursor://file{path}:{line}"),
    ("idea", "idea://open?file={path}&line={line}"),
    ("zed", "zed://file{path}:{line}"),
];
/// Schemes that a link to an editor must not have, because browsers open them.
const OPENED_BY_BROWSERS: [&str; 13] = [
    "about", "blob", "chrome", "data", "file", "filesystem", "ftp", "http", "https", "javascript",
    "vbscript", "view-source", "ws",
];
const PATH: &str = "{path}";
const LINE: &str = "{line}";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AuthSetting {
    /// Everyone; over loopback on Linux, only processes of the server's account and of root.
    Optional,
    Required,
}

pub(super) fn parse_http_settings(raw: &RawSettings) -> Result<HttpSettings, ConfigError> {
    Ok(HttpSettings {
        max_body_bytes: parse_positive("MAX_BODY_BYTES", raw.max_body_bytes, 1024 * 1024)?,
        max_connections: parse_positive("MAX_CONNECTIONS", raw.max_connections, 4096)?,
        max_batch: parse_positive("MAX_BATCH", raw.max_batch, 64)?,
        max_result_bytes: parse_positive("MCP_RESULT_BYTES", raw.mcp_result_bytes, 16_000)?,
        lists_away: is_on("MCP_LIST_AWAY", raw.mcp_list_away.as_ref(), false)?,
        first_byte_timeout: Duration::from_secs(10),
        read_timeout: parse_seconds("READ_TIMEOUT_SECS", raw.read_timeout_secs, 120)?,
        write_timeout: parse_seconds("WRITE_TIMEOUT_SECS", raw.write_timeout_secs, 30)?,
        keep_alive: keep_alive(raw.keep_alive_ms.unwrap_or(10_000))?,
    })
}

fn keep_alive(milliseconds: u64) -> Result<Duration, ConfigError> {
    match milliseconds {
        0 => Err(invalid_setting("KEEP_ALIVE_MS", "must be at least 1 millisecond")),
        MAX_KEEP_ALIVE_MS.. => Err(invalid_setting("KEEP_ALIVE_MS", "must be less than an hour")),
        value => Ok(Duration::from_millis(value)),
    }
}

pub(super) fn to_lowercase_names(names: &[String]) -> Vec<String> {
    names.iter().map(|name| name.trim().to_lowercase()).filter(|name| !name.is_empty()).collect()
}

/// Returns the configured host names and a specific bound address, which rebinding cannot forge.
pub(super) fn list_allowed_hosts(names: &[String], bound: IpAddr) -> Vec<String> {
    let mut hosts = to_lowercase_names(names);
    if !bound.is_loopback() && !bound.is_unspecified() {
        hosts.push(bound.to_string());
    }
    hosts
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

pub(super) fn parse_page_settings(raw: &RawSettings) -> Result<PageSettings, ConfigError> {
    Ok(PageSettings {
        folder_roots: folder_roots(raw)?,
        editor: parse_editor_link(raw.editor_link.as_deref())?,
    })
}

pub(super) fn conversations_kept(set: Option<usize>) -> Result<usize, ConfigError> {
    let kept = set.unwrap_or(CONVERSATIONS_KEPT);
    if kept > MAX_CONVERSATIONS_KEPT {
        let reason = format!("must be at most {MAX_CONVERSATIONS_KEPT}; 0 keeps none");
        return Err(invalid_setting("CONVERSATIONS_KEPT", &reason));
    }
    Ok(kept)
}

/// Returns the folders to choose from; by default the mapped folder of repositories, or home.
fn folder_roots(raw: &RawSettings) -> Result<Vec<PathBuf>, ConfigError> {
    let bad = |reason: &str| invalid_setting("FOLDER_ROOTS", reason);
    let Some(text) = raw.folder_roots.as_deref().map(str::trim) else {
        let mapped = raw.ingest_dir.clone().zip(raw.host_ingest_dir.as_ref());
        let home = || directories::BaseDirs::new().map(|folders| folders.home_dir().to_owned());
        return Ok(mapped.map(|(folder, _)| folder).or_else(home).into_iter().collect());
    };
    if text == NONE {
        return Ok(Vec::new());
    }
    let folders: Vec<PathBuf> =
        std::env::split_paths(text).filter(|folder| !folder.as_os_str().is_empty()).collect();
    if let Some(folder) = folders.iter().find(|folder| !folder.is_absolute()) {
        let reason = format!("has `{}`, which is not absolute", folder.display());
        return Err(bad(&reason));
    }
    if MAX_FOLDER_ROOTS < folders.len() {
        return Err(bad(&format!("must have at most {MAX_FOLDER_ROOTS} folders")));
    }
    Ok(folders)
}

fn parse_editor_link(set: Option<&str>) -> Result<EditorLink, ConfigError> {
    let text = set.map_or("vscode", str::trim);
    if text == NONE {
        return Ok(EditorLink { name: NONE, link: None });
    }
    let known = EDITORS.iter().find(|(name, _)| *name == text);
    if let Some((name, link)) = known {
        return Ok(EditorLink { name, link: Some((*link).to_owned()) });
    }
    match find_link_fault(text) {
        Some(reason) => Err(invalid_setting("EDITOR_LINK", &reason)),
        None => Ok(EditorLink { name: "other", link: Some(text.to_owned()) }),
    }
}

fn find_link_fault(text: &str) -> Option<String> {
    let shown: String = text.chars().take(80).collect();
    let Some((scheme, _)) = text.split_once(':').filter(|(scheme, _)| is_scheme(scheme)) else {
        let names = EDITORS.map(|(name, _)| name).join("`, `");
        return Some(format!(
            "is `{shown}`: expected one of `{NONE}`, `{names}`, or a link such as `vscode://file{PATH}:{LINE}`"
        ));
    };
    if OPENED_BY_BROWSERS.contains(&scheme.to_ascii_lowercase().as_str()) {
        return Some(format!("begins with `{scheme}:`, which no editor opens"));
    }
    if MAX_LINK < text.len() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Some(format!("must be at most {MAX_LINK} plain characters, without blanks"));
    }
    let has_once = |placeholder| text.matches(placeholder).count() == 1;
    let rest = text.replace(PATH, "").replace(LINE, "");
    if !has_once(PATH) || !has_once(LINE) || rest.contains(['{', '}']) {
        return Some(format!("must have `{PATH}` and `{LINE}` once each, and no other braces"));
    }
    None
}

fn is_scheme(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(is_plain)
}
