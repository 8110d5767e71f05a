//! `GET /settings`, `GET /page/config` and `GET /failures`: effective settings and latest failures.

use std::path::PathBuf;

use codeinfo_http::{Response, reply};
use hyper::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};

use super::ApiServices;

/// Settings of the page for this machine.
#[derive(Debug, Clone, Default)]
pub struct PageSettings {
    /// Server paths of folders below which users choose one to index; without any, none are listed.
    pub folder_roots: Vec<PathBuf>,
    pub editor: EditorLink,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EditorLink {
    /// Name of the editor, `other`, or `none`.
    pub name: &'static str,
    /// Link with the placeholders `{path}` and `{line}`.
    pub link: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveSetting {
    pub name: String,
    /// `None` for a secret, and for a setting with neither a value nor a default.
    pub value: Option<String>,
    pub source: SettingSource,
    /// For a secret, whether it is set; `None` for any other setting.
    pub secret: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SettingSource {
    Default,
    Environment,
    File,
    Argument,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedSetting<'a> {
    name: &'a str,
    /// Absent for a secret; `null` for a setting with neither a value nor a default.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    source: SettingSource,
    /// `true` for a secret.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    secret: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_set: Option<bool>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PageConfig<'a> {
    editor: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    editor_link: Option<&'a str>,
    keeps_conversations: bool,
    version: &'static str,
}

pub(super) fn list_settings(services: &ApiServices) -> Response {
    let settings: Vec<_> = services.settings.iter().map(build_listed_setting).collect();
    reply::json_response(StatusCode::OK, &json!({ "settings": settings }))
}

fn build_listed_setting(setting: &EffectiveSetting) -> ListedSetting<'_> {
    let EffectiveSetting { name, value, source, secret } = setting;
    // Someone may have written a key into a setting that is not secret.
    let redact =
        |value: &String| codeinfo_secrets::redact_secrets("", None, value).text.into_owned();
    ListedSetting {
        name,
        value: secret.is_none().then(|| value.as_ref().map(redact).into()),
        source: *source,
        secret: secret.is_some(),
        is_set: *secret,
    }
}

pub(super) fn reply_page_config(services: &ApiServices) -> Response {
    let EditorLink { name, link } = &services.page.editor;
    let config = PageConfig {
        editor: name,
        editor_link: link.as_deref(),
        keeps_conversations: services.turns.archive().max_conversations() > 0,
        version: env!("CARGO_PKG_VERSION"),
    };
    reply::json_response(StatusCode::OK, &config)
}

/// Lists failures, the latest first.
pub(super) fn list_failures(services: &ApiServices) -> Response {
    let failures = json!({ "failures": services.failures.list_latest() });
    reply::json_response(StatusCode::OK, &failures)
}
