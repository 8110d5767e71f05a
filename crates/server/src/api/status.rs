//! `GET /settings` and `GET /failures`: what a server is set to, and what went wrong.

use codeinfo_core::telemetry::Failed;
use codeinfo_http::{Response, reply};
use hyper::StatusCode;

use super::Services;
use crate::{
    api::{EffectiveSetting, SettingSource},
    replies::{ListedFailure, ListedSetting, RecentFailures, Settings},
};

/// Lists the settings with their values and where those are from.
pub(super) fn settings(services: &Services) -> Response {
    let settings = services.settings.iter().cloned().map(listed).collect();
    reply::json(StatusCode::OK, &Settings { settings })
}

fn listed(setting: EffectiveSetting) -> ListedSetting {
    let EffectiveSetting { name, value, source, secret } = setting;
    let source = match source {
        SettingSource::Default => "default",
        SettingSource::Environment => "environment",
        SettingSource::File => "file",
        SettingSource::Argument => "argument",
    };
    // Whoever wrote a key into a setting that is none did not mean it for others.
    let harmless = |value: String| codeinfo_secrets::redact("", None, &value).text.into_owned();
    let value = secret.is_none().then(|| value.map(harmless));
    let (source, is_secret) = (source.to_owned(), secret.is_some());
    ListedSetting { name, value, source, secret: is_secret, is_set: secret }
}

/// Lists the last failures.
pub(super) fn failures(services: &Services) -> Response {
    let failures = services.failures.latest().into_iter();
    let failures = failures.map(|failed| {
        let Failed { at, listener, code, message, path, times } = failed;
        let (at, listener) = (at.to_string(), listener.to_owned());
        ListedFailure { at, listener, code, message, path, times }
    });
    reply::json(StatusCode::OK, &RecentFailures { failures: failures.collect() })
}
