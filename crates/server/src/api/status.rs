//! `GET /settings` and `GET /failures`: the effective settings and the latest failures.

use codeinfo_core::telemetry::FailureRecord;
use codeinfo_http::{Response, reply};
use hyper::StatusCode;

use super::ApiServices;
use crate::{
    api::{EffectiveSetting, SettingSource},
    replies::{ListedFailure, ListedSetting, RecentFailures, SettingsReply},
};

pub(super) fn list_settings(services: &ApiServices) -> Response {
    let settings = services.settings.iter().cloned().map(build_listed_setting).collect();
    reply::json_response(StatusCode::OK, &SettingsReply { settings })
}

fn build_listed_setting(setting: EffectiveSetting) -> ListedSetting {
    let EffectiveSetting { name, value, source, secret } = setting;
    let origin = match source {
        SettingSource::Default => "default",
        SettingSource::Environment => "environment",
        SettingSource::File => "file",
        SettingSource::Argument => "argument",
    };
    // Someone may have written a key into a setting that is not secret.
    let harmless =
        |value: String| codeinfo_secrets::redact_secrets("", None, &value).text.into_owned();
    let value = secret.is_none().then(|| value.map(harmless));
    ListedSetting {
        name,
        value,
        source: origin.to_owned(),
        secret: secret.is_some(),
        is_set: secret,
    }
}

pub(super) fn list_failures(services: &ApiServices) -> Response {
    let latest = services.failures.list_latest().into_iter();
    let failures = latest.map(|failed| {
        let FailureRecord { at, listener, code, message, path, times } = failed;
        ListedFailure {
            at: at.to_string(),
            listener: listener.to_owned(),
            code,
            message,
            path,
            times,
        }
    });
    reply::json_response(StatusCode::OK, &RecentFailures { failures: failures.collect() })
}
