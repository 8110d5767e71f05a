//! Lists the settings with their values for `GET /settings`.

use std::path::Path;

use codeinfo_server::api::{EffectiveSetting, SettingSource};

use super::{handover, raw::ALL};
use crate::config::Config;

/// Maximum characters of a shown value.
const MAX_VALUE: usize = 500;
/// Setting whose default is a key in a file.
const KEPT_IN_A_FILE: &str = "SECRET_KEY";

/// Returns every setting, in the order of `.env.example`. `set` has the variables that are not
/// blank.
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
    if handover::names_key(name) {
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

/// Removes the text before an `@` from every address in a value.
fn without_passwords(value: &str) -> String {
    const START: &str = "://";
    let mut parts = value.split(START);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, part| {
        let end = part.find(|c: char| c == ',' || c.is_whitespace()).unwrap_or(part.len());
        let (address, rest) = part.split_at(end);
        match address.rsplit_once('@') {
            Some((_, after)) => format!("{shown}{START}…@{after}{rest}"),
            None => format!("{shown}{START}{address}{rest}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_what_may_be_a_password() {
        for (value, expected) in [
            ("http://127.0.0.1:6334", "http://127.0.0.1:6334"),
            ("https://me:secret@host/v1", "https://…@host/v1"),
            ("https://me:se/cr@et@host,http://x:secret@b z@c", "https://…@host,http://…@b z@c"),
            ("a@b", "a@b"),
            ("s:secret@x://a://b:secret@c", "s:secret@x://a://…@c"),
        ] {
            assert_eq!(without_passwords(value), expected);
        }
        assert_eq!(
            to_display_value("A_URL", "http://a/?key=secret,http://b"),
            "http://a/?…,http://b"
        );
        assert_eq!(to_display_value("EDITOR_LINK", "e://open?f={path}"), "e://open?f={path}");
        assert_eq!(to_display_value("A", &"ä".repeat(501)), format!("{}…", "ä".repeat(500)));
    }
}
