//! Handle of a toolkit, with the tools that may be called.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use codeinfo_core::{Principal, error::format_error_chain, task::Tasks};
use codeinfo_mcp::{EndpointInfo, Schema, ToolHints};
use serde_json::{Value, json};

use super::{
    decision_file::DecisionFileError,
    layers::{SelectedToolkit, ToolkitOrigin},
    quote,
    tool_pins::{self, PinVerdict, ToolPinStore, ToolPins},
};
use crate::{
    connection::{CatalogueTool, ToolCatalogue, ToolkitClient, ToolkitError, ToolkitStatus},
    spec::{AllowedTools, ToolkitName, ToolkitSpec},
};

/// Maximum bytes of a tool's name that model services accept.
const MAX_NAME_BYTES: usize = 64;

/// Handle of a toolkit for turns. Clones share everything.
#[derive(Clone)]
pub struct ToolkitHandle(Arc<Inner>);

struct Inner {
    name: ToolkitName,
    origin: ToolkitOrigin,
    spec: ToolkitSpec,
    key: String,
    client: Arc<ToolkitClient>,
    pin_store: Arc<ToolPinStore>,
    pins: Mutex<ToolPins>,
    /// Tools derived from the latest catalogue.
    offers: Mutex<Option<Arc<ToolOffers>>>,
    tasks: Tasks,
}

#[derive(Debug)]
pub(super) struct ToolOffers {
    pub(super) generation: u64,
    pub(super) tools: BTreeMap<String, Arc<OfferedTool>>,
    /// Tools that cannot be called, with the reason.
    pub(super) refused: BTreeMap<String, String>,
    /// Refused tools whose description changed since they were pinned.
    pub(super) changed: BTreeSet<String>,
    pub(super) all: Vec<CatalogueTool>,
    pub(super) endpoint_info: EndpointInfo,
}

#[derive(Debug)]
pub(super) struct OfferedTool {
    pub(super) tool: CatalogueTool,
    pub(super) listed: codeinfo_mcp::McpTool,
}

impl ToolkitHandle {
    pub(super) fn new(
        selected: SelectedToolkit,
        key: String,
        client: Arc<ToolkitClient>,
        pin_store: Arc<ToolPinStore>,
        tasks: Tasks,
    ) -> Self {
        let SelectedToolkit { name, spec, origin } = selected;
        Self(Arc::new(Inner {
            name,
            origin,
            spec,
            key,
            client,
            pin_store,
            pins: Mutex::default(),
            offers: Mutex::default(),
            tasks,
        }))
    }

    pub fn name(&self) -> &ToolkitName {
        &self.0.name
    }

    /// Returns the configuration layer that names it.
    pub fn origin(&self) -> ToolkitOrigin {
        self.0.origin
    }

    pub fn spec(&self) -> &ToolkitSpec {
        &self.0.spec
    }

    pub(super) fn connection_key(&self) -> &str {
        &self.0.key
    }

    pub(super) fn client(&self) -> &ToolkitClient {
        &self.0.client
    }

    pub fn status(&self) -> ToolkitStatus {
        self.0.client.status()
    }

    /// Starts it manually, even after it failed too often.
    pub async fn start(&self) -> Result<(), ToolkitError> {
        self.0.client.start().await.map(drop)
    }

    pub async fn stop(&self) {
        self.0.client.stop().await;
    }

    pub async fn restart(&self) -> Result<(), ToolkitError> {
        self.0.client.restart().await.map(drop)
    }

    /// Returns true if `principal` may start, stop and trust it. Only the owner may manage shared toolkits.
    pub fn is_managed_by(&self, principal: &Principal) -> bool {
        principal.is_owner() || self.0.client.owner() == Some(principal.as_str())
    }

    /// Pins the current descriptions of its tools; returns the number of tools.
    pub async fn trust_current_tools(&self) -> Result<usize, String> {
        let catalogue = self.0.client.load_catalogue().await.map_err(|error| error.to_string())?;
        let handle = self.clone();
        let trusting = self.0.tasks.spawn_blocking(move || {
            let descriptions: Vec<OwnedToolDescription> =
                catalogue.tools.iter().map(OwnedToolDescription::from_tool).collect();
            let tools: Vec<tool_pins::ToolDescription<'_>> =
                descriptions.iter().map(OwnedToolDescription::as_description).collect();
            let inner = &*handle.0;
            let pinned = match inner.origin {
                ToolkitOrigin::Request => {
                    let mut pins = ToolPins::default();
                    pins.check_tools(&tools);
                    *inner.pins.lock().unwrap_or_else(PoisonError::into_inner) = pins;
                    Ok(())
                }
                ToolkitOrigin::Repository | ToolkitOrigin::Stored | ToolkitOrigin::User => {
                    inner.pin_store.trust_tools(inner.pinned_as(), &inner.spec, &tools)
                }
            };
            *inner.lock_offers() = None;
            pinned.map(|()| tools.len())
        });
        match trusting.await {
            Ok(pinned) => pinned.map_err(|error| format_error_chain(&error)),
            Err(_) => Err(ToolkitError::Stopping(self.0.name.to_string()).to_string()),
        }
    }

    /// Returns the tools that may be called; starts the toolkit if needed.
    pub(super) async fn load_offers(&self) -> Result<Arc<ToolOffers>, ToolkitError> {
        let catalogue = self.0.client.load_catalogue().await?;
        let stopping = || ToolkitError::Stopping(self.0.name.to_string());
        self.offers_from_catalogue(catalogue).await.ok_or_else(stopping)
    }

    pub(super) async fn known_offers(&self) -> Option<Arc<ToolOffers>> {
        self.offers_from_catalogue(self.0.client.known_catalogue()?).await
    }

    pub(super) fn find_listed_tool(&self, name: &str) -> Option<CatalogueTool> {
        self.0.client.known_catalogue()?.find_tool(name).cloned()
    }

    async fn offers_from_catalogue(
        &self,
        catalogue: Arc<ToolCatalogue>,
    ) -> Option<Arc<ToolOffers>> {
        let latest = self.0.lock_offers().clone();
        if let Some(offers) = latest.filter(|offers| offers.generation == catalogue.generation) {
            return Some(offers);
        }
        let handle = self.clone();
        let sorting = self.0.tasks.spawn_blocking(move || {
            let offers = Arc::new(handle.0.sort_tools(&catalogue));
            *handle.0.lock_offers() = Some(Arc::clone(&offers));
            offers
        });
        sorting.await.ok()
    }
}

impl Inner {
    fn pinned_as(&self) -> String {
        match self.client.owner() {
            Some(owner) => format!("{owner}/{}", self.name),
            None => self.name.to_string(),
        }
    }

    /// Sorts the tools of a catalogue into callable and refused ones. Reads and writes files.
    fn sort_tools(&self, catalogue: &ToolCatalogue) -> ToolOffers {
        let mut offers = ToolOffers {
            generation: catalogue.generation,
            tools: BTreeMap::new(),
            refused: catalogue.omitted_tools.iter().cloned().collect(),
            changed: BTreeSet::new(),
            all: catalogue.tools.clone(),
            endpoint_info: quote::build_endpoint_info(&self.name),
        };
        let verdicts = self.check_pins(&catalogue.tools);
        for (place, tool) in catalogue.tools.iter().enumerate() {
            let verdict = match &verdicts {
                Ok(verdicts) => verdicts.get(place).copied().unwrap_or(PinVerdict::Changed),
                Err(error) => {
                    offers.refused.insert(tool.name.clone(), format_error_chain(error));
                    continue;
                }
            };
            match self.build_offer(tool, verdict) {
                Ok(offer) => drop(offers.tools.insert(tool.name.clone(), Arc::new(offer))),
                Err(reason) => drop(offers.refused.insert(tool.name.clone(), reason)),
            }
            if verdict == PinVerdict::Changed {
                offers.changed.insert(tool.name.clone());
            }
        }
        offers.endpoint_info.tools =
            offers.tools.values().map(|offer| offer.listed.clone()).collect();
        offers
    }

    fn check_pins(&self, tools: &[CatalogueTool]) -> Result<Vec<PinVerdict>, DecisionFileError> {
        let descriptions: Vec<OwnedToolDescription> =
            tools.iter().map(OwnedToolDescription::from_tool).collect();
        let tools: Vec<tool_pins::ToolDescription<'_>> =
            descriptions.iter().map(OwnedToolDescription::as_description).collect();
        match self.origin {
            ToolkitOrigin::Request => {
                Ok(self.pins.lock().unwrap_or_else(PoisonError::into_inner).check_tools(&tools))
            }
            ToolkitOrigin::Repository | ToolkitOrigin::Stored | ToolkitOrigin::User => {
                self.pin_store.check_tools(self.pinned_as(), &self.spec, &tools)
            }
        }
    }

    fn build_offer(
        &self,
        tool: &CatalogueTool,
        verdict: PinVerdict,
    ) -> Result<OfferedTool, String> {
        let toolkit = &self.name;
        let reason = match &self.spec.allow {
            AllowedTools::ReadOnly if !tool.read_only => {
                Some("it may change things, and `allow` of the toolkit is \"readonly\"")
            }
            AllowedTools::Named(names) if !names.contains(&tool.name) => {
                Some("`allow` of the toolkit does not name it")
            }
            AllowedTools::ReadOnly | AllowedTools::All | AllowedTools::Named(_) => None,
        };
        if let Some(reason) = reason {
            return Err(reason.to_owned());
        }
        if !is_plain(&tool.name) {
            return Err(format!(
                "its name is not 1 to {MAX_NAME_BYTES} letters, digits, `_`, `.` and `-`"
            ));
        }
        if verdict == PinVerdict::Changed {
            return Err(format!(
                "its description or schema changed since it was first used; if that is right, \
                 `codeinfo mcp trust {toolkit}`"
            ));
        }
        let schema = Schema::from_untrusted(Value::Object(tool.input_schema.clone()))
            .map_err(|error| error.to_string())?;
        let title = quote::sanitize_name(tool.title.as_deref().unwrap_or(&tool.name));
        let hints = ToolHints {
            read_only: tool.read_only,
            destructive: tool.destructive,
            idempotent: tool.idempotent,
            open_world: tool.open_world,
        };
        let listed = codeinfo_mcp::McpTool::with_hints(
            &tool.name,
            &format!("{toolkit}: {title}"),
            &quote::quote_description(toolkit, &tool.description),
            schema,
            hints,
        )
        .with_listed_schema(quote::sanitize_schema(&tool.input_schema));
        Ok(OfferedTool { tool: tool.clone(), listed })
    }

    fn lock_offers(&self) -> MutexGuard<'_, Option<Arc<ToolOffers>>> {
        self.offers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct OwnedToolDescription<'a> {
    tool: &'a CatalogueTool,
    schema: Value,
    hints: Value,
}

impl<'a> OwnedToolDescription<'a> {
    fn from_tool(tool: &'a CatalogueTool) -> Self {
        let schema = Value::Object(tool.input_schema.clone());
        let hints = json!([tool.read_only, tool.destructive, tool.idempotent, tool.open_world]);
        Self { tool, schema, hints }
    }

    fn as_description(&self) -> tool_pins::ToolDescription<'_> {
        tool_pins::ToolDescription {
            name: &self.tool.name,
            title: self.tool.title.as_deref(),
            description: Some(&self.tool.description),
            input_schema: &self.schema,
            annotations: Some(&self.hints),
        }
    }
}

fn is_plain(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    !name.is_empty() && name.len() <= MAX_NAME_BYTES && name.bytes().all(allowed)
}
