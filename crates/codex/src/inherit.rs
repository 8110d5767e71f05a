//! Selects the variables that Codex inherits: those needed to run, and the keys that its configuration names.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use codeinfo_worktree::private_places::PrivatePlaces;
use serde::Deserialize;
use tokio::fs;

use super::files::SYSTEM_CONFIG;
use crate::CodexSettings;

/// Variables to run, to find the user's files and to use the network. A keyring needs `DBUS_SESSION_BUS_ADDRESS`.
const PASSED: &str = "PATH HOME USER LOGNAME SHELL LANG TZ TERM TMPDIR SSL_CERT_FILE SSL_CERT_DIR HTTP_PROXY \
    HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy DBUS_SESSION_BUS_ADDRESS \
    CODEX_HOME CODEX_SQLITE_HOME CODEX_CA_CERTIFICATE CODEX_API_KEY CODEX_ACCESS_TOKEN";
const PASSED_ON_WINDOWS: &str = "SystemRoot SYSTEMROOT SystemDrive windir ComSpec COMSPEC PATHEXT USERPROFILE USERNAME \
    APPDATA LOCALAPPDATA ProgramData ProgramFiles PROCESSOR_ARCHITECTURE NUMBER_OF_PROCESSORS \
    TEMP TMP";
const PASSED_PREFIXES: [&str; 2] = ["LC_", "XDG_"];

/// Returns the variables for Codex. Codex inherits no others, so our keys stay here.
pub(super) async fn collect_variables(settings: &CodexSettings) -> BTreeMap<String, String> {
    let mut configuration = ProviderConfig::default();
    for file in
        [codex_home(settings).map(|home| home.join("config.toml")), Some(SYSTEM_CONFIG.into())]
    {
        let Some(file) = file else { continue };
        // Codex itself reports a file that cannot be read or parsed.
        let text = fs::read_to_string(file).await.unwrap_or_default();
        configuration = configuration.merge_over(toml::from_str(&text).unwrap_or_default());
    }
    let named: BTreeSet<String> = configuration.variable_names().into_iter().collect();
    let is_passed = |name: &str| {
        PASSED.split(' ').chain(PASSED_ON_WINDOWS.split(' ')).any(|passed| passed == name)
            || PASSED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || named.contains(name)
    };
    let variables = settings.environment.iter().filter(|(name, _)| is_passed(name));
    variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Returns Codex's own folder, if it can be determined before Codex runs.
pub(super) fn codex_home(settings: &CodexSettings) -> Option<PathBuf> {
    let default = || settings.environment.get("HOME").map(|home| Path::new(home).join(".codex"));
    settings.home.clone().or_else(default)
}

/// Returns the places that no command may read: the user's, the product's and `own`.
pub(super) fn private_places(
    settings: &CodexSettings,
    own: impl IntoIterator<Item = PathBuf>,
) -> PrivatePlaces {
    let home = settings.environment.get("HOME").map(PathBuf::from);
    let own_places = own.into_iter().chain([settings.data_dir.clone()]);
    PrivatePlaces::new(home, own_places.collect())
}

/// Part of Codex's configuration that names variables.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ProviderConfig {
    model_provider: Option<String>,
    model_providers: BTreeMap<String, ProviderVariables>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ProviderVariables {
    env_key: Option<String>,
    env_http_headers: BTreeMap<String, String>,
}

impl ProviderConfig {
    /// Merges both files; values of `system` have the lower priority.
    fn merge_over(mut self, system: Self) -> Self {
        self.model_provider = self.model_provider.or(system.model_provider);
        for (id, provider) in system.model_providers {
            let ours = self.model_providers.entry(id).or_default();
            ours.env_key = ours.env_key.take().or(provider.env_key);
            for (header, variable) in provider.env_http_headers {
                ours.env_http_headers.entry(header).or_insert(variable);
            }
        }
        self
    }

    /// Returns the names of the variables that the model provider in use reads.
    fn variable_names(self) -> Vec<String> {
        let used = self.model_provider.as_deref().unwrap_or("openai").to_owned();
        let providers = self.model_providers.into_iter().filter(|(id, _)| *id == used);
        let mut names: Vec<String> = providers
            .flat_map(|(_, provider)| {
                provider.env_key.into_iter().chain(provider.env_http_headers.into_values())
            })
            .collect();
        let built_in: &[&str] = match used.as_str() {
            "openai" => &["OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT"],
            "amazon-bedrock" => &[
                "AWS_ACCESS_KEY_ID",
                "AWS_BEARER_TOKEN_BEDROCK",
                "AWS_CONFIG_FILE",
                "AWS_DEFAULT_REGION",
                "AWS_PROFILE",
                "AWS_REGION",
                "AWS_SECRET_ACCESS_KEY",
                "AWS_SESSION_TOKEN",
                "AWS_SHARED_CREDENTIALS_FILE",
            ],
            _ => &[],
        };
        names.extend(built_in.iter().map(|name| (*name).to_owned()));
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_variables_of_the_provider_in_use_are_named() {
        let text = r#"
            model_provider = "ours"
            [model_providers.ours]
            env_key = "OUR_KEY"
            env_http_headers = { "X-Team" = "OUR_TEAM" }
            [model_providers.theirs]
            env_key = "THEIR_KEY"
            [mcp_servers.x]
            bearer_token_env_var = "MCP_KEY"
        "#;
        let names = toml::from_str::<ProviderConfig>(text).unwrap().variable_names();
        assert_eq!(names, ["OUR_KEY", "OUR_TEAM"]);
    }

    #[test]
    fn the_choice_of_one_file_has_its_key_in_another() {
        let user = "model_provider = \"ours\"\n[model_providers.ours]\nname = \"Ours\"\n";
        let system = "model_provider = \"theirs\"\n[model_providers.ours]\nenv_key = \"OUR_KEY\"\n\
                      [model_providers.theirs]\nenv_key = \"THEIR_KEY\"\n";
        let read = |text| toml::from_str::<ProviderConfig>(text).unwrap();
        assert_eq!(read(user).merge_over(read(system)).variable_names(), ["OUR_KEY"]);
        assert_eq!(
            ProviderConfig::default().merge_over(read(system)).variable_names(),
            ["THEIR_KEY"]
        );
    }
}
