//! Checks that Codex is usable: signed in, or with the key that its model provider names.

use serde_json::json;

use super::{
    error::CodexError,
    files,
    presence::CodexAvailability,
    protocol::{AccountReadResult, CodexModel, ModelList, ProviderList},
    server::CodexServer,
    thread,
};

/// Maximum pages of models to read; Codex 0.169 needs one.
const MAX_PAGES: usize = 8;

/// Probes a running Codex. A success does not prove that the model service accepts the sign-in; only a turn
/// does.
pub(super) async fn probe_server(
    server: &CodexServer,
    settings: &crate::CodexSettings,
) -> Result<CodexAvailability, CodexError> {
    let config = thread::user_config(server, settings).await?;
    let account: AccountReadResult = server.call_method("account/read", &json!({})).await?;
    if account.requires_openai_auth && account.account.is_none() {
        return Err(CodexError::SignedOut);
    }
    let providers: ProviderList = server.call_method("modelProvider/list", &json!({})).await?;
    let used = config.model_provider.as_ref().unwrap_or(&providers.default_provider_id);
    let provider = providers.data.iter().find(|provider| provider.id == *used);
    if let Some(variable) = provider.and_then(|provider| provider.env_key()) {
        let inherited = server.variables.contains(variable);
        if !inherited && !files::env_file_names(&server.home).await.contains(variable) {
            return Err(CodexError::MissingKey {
                provider: used.clone(),
                variable: variable.to_owned(),
            });
        }
    }
    server.probe_confinement().await?;
    let chosen = thread::choose_model(server, settings, config).await?;
    Ok(CodexAvailability::Available {
        version: server.version.clone(),
        model: chosen.or_else(|| config.model.clone()).or_else(|| server.default_model()),
    })
}

impl CodexServer {
    /// Returns the models that Codex offers, requested once per process.
    pub(super) async fn load_models(&self) -> Result<&[CodexModel], CodexError> {
        self.models.get_or_try_init(|| self.list_models()).await.map(Vec::as_slice)
    }

    async fn list_models(&self) -> Result<Vec<CodexModel>, CodexError> {
        let mut models = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let page: ModelList =
                self.call_method("model/list", &json!({ "cursor": cursor })).await?;
            models.extend(page.data);
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        Ok(models)
    }

    fn default_model(&self) -> Option<String> {
        let models = self.models.get()?;
        models.iter().find(|model| model.is_default).map(|model| model.id.clone())
    }
}
