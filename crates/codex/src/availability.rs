//! Availability of Codex: signed in, or with its provider's key. Reports changes while a listener waits for them.

use std::time::Duration;

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval};

use super::{
    Codex,
    error::{CodexError, UnavailableReason},
    files,
    protocol::{AccountReadResult, CodexModel, ModelList, ProviderList},
    server::CodexServer,
    thread,
};
use crate::CodexSettings;

/// Availability of Codex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodexAvailability {
    Available {
        /// Version of Codex, such as `0.169.0`.
        version: String,
        /// Model that will be requested; `None` leaves the choice to Codex.
        model: Option<String>,
    },
    Unavailable(UnavailableReason),
}

pub(super) fn initial_availability() -> CodexAvailability {
    CodexAvailability::Unavailable(UnavailableReason {
        reason: "Codex has not been looked for yet".to_owned(),
        hint: "ask again in a moment".to_owned(),
    })
}

/// Maximum pages of models to read; Codex 0.169 needs one.
const MAX_PAGES: usize = 8;

/// Probes a running Codex. A success does not prove that the model service accepts the sign-in; only a turn does.
pub(super) async fn probe_server(
    server: &CodexServer,
    settings: &CodexSettings,
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

/// Interval between checks while a listener waits and Codex is unusable.
const PERIOD: Duration = Duration::from_secs(10);
/// Age up to which background checks trust a running process that answers "signed out".
const WATCH_TRUSTED_AGE: Duration = Duration::from_mins(5);

impl Codex {
    /// Returns a stream of changes of usability. While polled, it checks Codex periodically, once for all streams.
    pub fn watch_availability(&self) -> BoxStream<'static, ()> {
        let period = PERIOD.min(self.0.settings.presence_ttl).max(Duration::from_millis(100));
        let mut ticks = interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let watching = (self.clone(), self.0.usable.subscribe(), ticks);
        let changes = stream::unfold(watching, move |(codex, mut usable, mut ticks)| async move {
            loop {
                tokio::select! {
                    biased;
                    changed = usable.changed() => return Some(((), (codex, changed.ok().map(|()| usable)?, ticks))),
                    _ = ticks.tick() => codex.refresh_if_stale(period),
                }
            }
        });
        changes.boxed()
    }

    fn refresh_if_stale(&self, period: Duration) {
        match self.0.known.latest_result() {
            Some((CodexAvailability::Unavailable(_), age)) if age < period => {}
            Some((CodexAvailability::Unavailable(_), _)) => {
                self.refresh_in_background(WATCH_TRUSTED_AGE);
            }
            Some((CodexAvailability::Available { .. }, _)) | None => drop(self.availability()),
        }
    }
}
