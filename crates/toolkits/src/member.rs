//! A toolkit as a turn has it, and which of its tools may be called.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use codeinfo_core::{Principal, error::chain, task::Tasks};
use codeinfo_mcp::{About, Hints, Schema};
use serde_json::{Value, json};

use super::{
    kept::KeptError,
    layers::Origin,
    quote,
    trusted::{self, Pins, Trusted, Verdict},
};
use crate::{
    connection::{Catalogue, Client, Status, Tool, ToolkitError},
    spec::{AllowedTools, ToolkitName, ToolkitSpec},
};

/// Most bytes of the name of a tool: what services of models take.
const MAX_NAME_BYTES: usize = 64;

/// A toolkit as a turn has it. Clones share everything.
#[derive(Clone)]
pub struct Member(Arc<Inner>);

struct Inner {
    name: ToolkitName,
    origin: Origin,
    spec: ToolkitSpec,
    /// Which connection it is.
    key: String,
    client: Arc<Client>,
    trusted: Arc<Trusted>,
    /// What the tools of a toolkit that a request carries said first.
    pins: Mutex<Pins>,
    /// What was made of the latest catalogue.
    offers: Mutex<Option<Arc<Offers>>>,
    tasks: Tasks,
}

impl fmt::Debug for Member {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Member").field("name", &self.0.name).finish_non_exhaustive()
    }
}

/// The tools of one catalogue.
#[derive(Debug)]
pub(super) struct Offers {
    pub(super) generation: u64,
    pub(super) tools: BTreeMap<String, Arc<Offer>>,
    /// Tools that cannot be called, each with the reason.
    pub(super) refused: BTreeMap<String, String>,
    /// Those of them that are not trusted any more.
    pub(super) changed: BTreeSet<String>,
    /// All that are listed.
    pub(super) all: Vec<Tool>,
    /// What the endpoint of the toolkit says of itself.
    pub(super) about: About,
}

/// A tool that may be called.
#[derive(Debug)]
pub(super) struct Offer {
    /// As the toolkit lists it.
    pub(super) tool: Tool,
    /// As the model is given it.
    pub(super) listed: codeinfo_mcp::Tool,
}

impl Member {
    pub(super) fn new(
        (name, origin, key): (ToolkitName, Origin, String),
        spec: ToolkitSpec,
        client: Arc<Client>,
        (trusted, tasks): (Arc<Trusted>, Tasks),
    ) -> Self {
        let (pins, offers) = (Mutex::default(), Mutex::default());
        Self(Arc::new(Inner { name, origin, spec, key, client, trusted, pins, offers, tasks }))
    }

    pub fn name(&self) -> &ToolkitName {
        &self.0.name
    }

    /// Returns the layer of the configuration that names it.
    pub fn origin(&self) -> Origin {
        self.0.origin
    }

    pub fn spec(&self) -> &ToolkitSpec {
        &self.0.spec
    }

    /// Returns what names the connection.
    pub(super) fn key(&self) -> &str {
        &self.0.key
    }

    pub(super) fn client(&self) -> &Client {
        &self.0.client
    }

    pub fn status(&self) -> Status {
        self.0.client.status()
    }

    /// Starts it by hand, also after it failed too often.
    pub async fn start(&self) -> Result<(), ToolkitError> {
        self.0.client.start().await.map(drop)
    }

    pub async fn stop(&self) {
        self.0.client.stop().await;
    }

    pub async fn restart(&self) -> Result<(), ToolkitError> {
        self.0.client.restart().await.map(drop)
    }

    /// Whether `principal` may start, stop and trust it: what is everybody's is the owner's to look after.
    pub fn is_of(&self, principal: &Principal) -> bool {
        principal.is_owner() || self.0.client.owner() == Some(principal.as_str())
    }

    /// Believes from now on what its tools say of themselves now; returns how many there are.
    pub async fn trust(&self) -> Result<usize, String> {
        let catalogue = self.0.client.catalogue().await.map_err(|error| error.to_string())?;
        let member = self.clone();
        let trusting = self.0.tasks.spawn_blocking(move || {
            let said: Vec<Said> = catalogue.tools.iter().map(Said::of).collect();
            let tools: Vec<trusted::Tool<'_>> = said.iter().map(Said::tool).collect();
            let inner = &*member.0;
            let trusted = match inner.origin {
                Origin::Request => {
                    let mut pins = Pins::default();
                    pins.check(&tools);
                    *inner.pins.lock().unwrap_or_else(PoisonError::into_inner) = pins;
                    Ok(())
                }
                Origin::Repository | Origin::Stored | Origin::User => {
                    inner.trusted.trust(inner.pinned_as(), &inner.spec, &tools)
                }
            };
            *inner.offers() = None;
            trusted.map(|()| tools.len())
        });
        match trusting.await {
            Ok(trusted) => trusted.map_err(|error| chain(&error)),
            Err(_) => Err(ToolkitError::Stopping(self.0.name.to_string()).to_string()),
        }
    }

    /// Returns the tools that may be called now; starts the toolkit if need be.
    pub(super) async fn offers(&self) -> Result<Arc<Offers>, ToolkitError> {
        let catalogue = self.0.client.catalogue().await?;
        let stopping = || ToolkitError::Stopping(self.0.name.to_string());
        self.of(catalogue).await.ok_or_else(stopping)
    }

    /// Returns the tools of the latest catalogue, if there is one.
    pub(super) async fn known(&self) -> Option<Arc<Offers>> {
        self.of(self.0.client.known()?).await
    }

    /// Returns a tool as the toolkit lists it now.
    pub(super) fn tool(&self, name: &str) -> Option<Tool> {
        self.0.client.known()?.tool(name).cloned()
    }

    async fn of(&self, catalogue: Arc<Catalogue>) -> Option<Arc<Offers>> {
        let latest = self.0.offers().clone();
        if let Some(offers) = latest.filter(|offers| offers.generation == catalogue.generation) {
            return Some(offers);
        }
        let member = self.clone();
        let sorting = self.0.tasks.spawn_blocking(move || {
            let offers = Arc::new(member.0.sort(&catalogue));
            *member.0.offers() = Some(Arc::clone(&offers));
            offers
        });
        sorting.await.ok()
    }
}

impl Inner {
    /// Returns the name under which its tools are pinned: what somebody stored is that somebody's.
    fn pinned_as(&self) -> String {
        match self.client.owner() {
            Some(owner) => format!("{owner}/{}", self.name),
            None => self.name.to_string(),
        }
    }

    /// Sorts the tools of a catalogue into those that may be called and others. Reads and writes files.
    fn sort(&self, catalogue: &Catalogue) -> Offers {
        let mut offers = Offers {
            generation: catalogue.generation,
            tools: BTreeMap::new(),
            refused: catalogue.left_out.iter().cloned().collect(),
            changed: BTreeSet::new(),
            all: catalogue.tools.clone(),
            about: quote::about(&self.name),
        };
        let verdicts = self.judge(&catalogue.tools);
        for (place, tool) in catalogue.tools.iter().enumerate() {
            let verdict = match &verdicts {
                Ok(verdicts) => verdicts.get(place).copied().unwrap_or(Verdict::Changed),
                Err(error) => {
                    offers.refused.insert(tool.name.clone(), chain(error));
                    continue;
                }
            };
            match self.offer(tool, verdict) {
                Ok(offer) => drop(offers.tools.insert(tool.name.clone(), Arc::new(offer))),
                Err(reason) => drop(offers.refused.insert(tool.name.clone(), reason)),
            }
            if verdict == Verdict::Changed {
                offers.changed.insert(tool.name.clone());
            }
        }
        offers.about.tools = offers.tools.values().map(|offer| offer.listed.clone()).collect();
        offers
    }

    fn judge(&self, tools: &[Tool]) -> Result<Vec<Verdict>, KeptError> {
        let said: Vec<Said> = tools.iter().map(Said::of).collect();
        let tools: Vec<trusted::Tool<'_>> = said.iter().map(Said::tool).collect();
        match self.origin {
            Origin::Request => {
                Ok(self.pins.lock().unwrap_or_else(PoisonError::into_inner).check(&tools))
            }
            Origin::Repository | Origin::Stored | Origin::User => {
                self.trusted.check(self.pinned_as(), &self.spec, &tools)
            }
        }
    }

    fn offer(&self, tool: &Tool, verdict: Verdict) -> Result<Offer, String> {
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
        if verdict == Verdict::Changed {
            return Err(format!(
                "its description or schema changed since it was first used; if that is right, \
                 `codeinfo mcp trust {toolkit}`"
            ));
        }
        let schema = Schema::foreign(Value::Object(tool.input_schema.clone()));
        let schema = schema.map_err(|error| error.to_string())?;
        let title = quote::name(tool.title.as_deref().unwrap_or(&tool.name));
        let hints = Hints {
            read_only: tool.read_only,
            destructive: tool.destructive,
            idempotent: tool.idempotent,
            open_world: tool.open_world,
        };
        let listed = codeinfo_mcp::Tool::hinted(
            (&tool.name, &format!("{toolkit}: {title}")),
            &quote::description(toolkit, &tool.description),
            schema,
            hints,
        );
        let listed = listed.with_listed_schema(quote::schema(&tool.input_schema));
        Ok(Offer { tool: tool.clone(), listed })
    }

    fn offers(&self) -> MutexGuard<'_, Option<Arc<Offers>>> {
        self.offers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a tool says of itself, as it is pinned.
struct Said<'a> {
    tool: &'a Tool,
    schema: Value,
    hints: Value,
}

impl<'a> Said<'a> {
    fn of(tool: &'a Tool) -> Self {
        let schema = Value::Object(tool.input_schema.clone());
        let hints = json!([tool.read_only, tool.destructive, tool.idempotent, tool.open_world]);
        Self { tool, schema, hints }
    }

    fn tool(&self) -> trusted::Tool<'_> {
        trusted::Tool {
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
