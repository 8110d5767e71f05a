//! `GET /settings` and `GET /failures`: what a server is set to, and what went wrong.

use codeinfo_core::telemetry::FailureRecord;
use codeinfo_http::{Response, reply};
use hyper::StatusCode;

use super::ApiServices;
use crate::{
    api::{EffectiveSetting, SettingSource},
    replies::{ListedFailure, ListedSetting, RecentFailures, SettingsReply},
};

/// Lists the settings with their values and where those are from.
pub(super) fn list_settings(services: &ApiServices) -> Response {
    let settings = services.settings.iter().cloned().map(build_listed_setting).collect();
    reply::json_response(StatusCode::OK, &SettingsReply { settings })
}

fn build_listed_setting(setting: EffectiveSetting) -> ListedSetting {
    let EffectiveSetting { name, value, source, secret } = setting;
    let source = match source {
        SettingSource::Default => "default",
        SettingSource::Environment => "environment",
        SettingSource::File => "file",
        SettingSource::Argument => "argument",
    };
    // Whoever wrote a key into a setting that is none did not mean it for others.
    let harmless =
        |value: String| codeinfo_secrets::redact_secrets("", None, &value).text.into_owned();
    let value = secret.is_none().then(|| value.map(harmless));
    let (source, is_secret) = (source.to_owned(), secret.is_some());
    ListedSetting { name, value, source, secret: is_secret, is_set: secret }
}

/// Lists the last failures.
pub(super) fn list_failures(services: &ApiServices) -> Response {
    let failures = services.failures.list_latest().into_iter();
    let failures = failures.map(|failed| {
        let FailureRecord { at, listener, code, message, path, times } = failed;
        let (at, listener) = (at.to_string(), listener.to_owned());
        ListedFailure { at, listener, code, message, path, times }
    });
    reply::json_response(StatusCode::OK, &RecentFailures { failures: failures.collect() })
}
