//! One call of a tool of a toolkit, from the model's arguments to the text that it reads.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use codeinfo_core::{
    Principal,
    telemetry::{Outcome, REQUEST, ToolCall, milliseconds},
};
use codeinfo_mcp::ToolResult;
use serde_json::{Map, Value};
use tokio::time::timeout;
use tracing::{debug, info};

use super::{
    Gateway,
    cache::Key,
    discovery::nearest_names,
    grants::Grant,
    layers::Origin,
    member::{Member, Offer, Offers},
    paths, quote, text,
};
use crate::{
    connection::ToolkitError,
    spec::{ToolkitSandbox, Transport},
};

/// What a model reads once its calls are used up.
/// Longest check of arguments against a schema; it takes microseconds.
const MAX_VALIDATION: Duration = Duration::from_secs(5);
/// Most characters of what is wrong with arguments: names in it are the toolkit's.
const MAX_FAULTS_CHARS: usize = 2000;
/// How much longer than its limit a call may take in all; Codex waits a little longer still.
const MARGIN: Duration = Duration::from_secs(10);
const LIMIT: &str = "step limit reached; answer with what you have";

/// How a call ended.
pub(super) struct Ended {
    /// `ok`, or why there is no result: a label of metrics.
    outcome: &'static str,
    text: String,
}

impl Ended {
    fn new(outcome: &'static str, text: impl Into<String>) -> Self {
        Self { outcome, text: text.into() }
    }
}

impl Gateway {
    /// Calls a tool of `member` for a turn. Whatever is wrong is a result that says what to do.
    pub async fn call(
        &self,
        grant: &Grant,
        member: &Member,
        tool: &str,
        arguments: Value,
    ) -> ToolResult {
        let ended = if grant.take_step() {
            tokio::select! {
                biased;
                () = grant.ended().cancelled() => Ended::new("cancelled", "the turn has ended"),
                ended = self.measured(member, tool, arguments) => ended,
            }
        } else {
            self.note(member, tool, Ended::new("limit", LIMIT), Instant::now())
        };
        match ended.outcome {
            "ok" | "cached" => ToolResult::text(ended.text),
            _ => ToolResult::error(ended.text),
        }
    }

    /// Calls a tool for a person, with the same checks.
    pub async fn try_call(
        &self,
        member: &Member,
        tool: &str,
        arguments: Value,
    ) -> Result<String, String> {
        let ended = self.measured(member, tool, arguments).await;
        match ended.outcome {
            "ok" | "cached" => Ok(ended.text),
            _ => Err(ended.text),
        }
    }

    async fn measured(&self, member: &Member, tool: &str, arguments: Value) -> Ended {
        let began = Instant::now();
        debug!(toolkit.name = %member.name(), tool.name = tool, %arguments, "tool of a toolkit called");
        let ended = self.checked(member, tool, arguments).await;
        self.note(member, tool, ended, began)
    }

    /// Counts and logs the end of a call.
    fn note(&self, member: &Member, tool: &str, ended: Ended, began: Instant) -> Ended {
        let elapsed = began.elapsed();
        let toolkit = Self::label(member);
        let label = ToolCall { source: "mcp", toolkit, outcome: ended.outcome };
        self.metrics().tool_calls.ended(&label, elapsed);
        let tool: String = tool.chars().take(100).collect();
        info!(
            toolkit.name = %member.name(), tool.name = tool, outcome = ended.outcome,
            result.bytes = ended.text.len(), elapsed_ms = milliseconds(elapsed),
            "tool of a toolkit answered"
        );
        debug!(result.text = ended.text, "result of a toolkit");
        ended
    }

    /// Returns the name of a toolkit for metrics.
    pub(super) fn label(member: &Member) -> String {
        // A token chooses the names of what it carries and stores.
        let owner = Principal::owner();
        let is_chosen = member.origin() == Origin::Request
            || member.client().owner().is_some_and(|of| of != owner.as_str());
        if is_chosen { REQUEST.to_owned() } else { member.name().to_string() }
    }

    async fn checked(&self, member: &Member, tool: &str, arguments: Value) -> Ended {
        let offers = match member.offers().await {
            Ok(offers) => offers,
            Err(error) => return failed(&error),
        };
        let Some(offer) = offers.tools.get(tool) else {
            return match offers.refused.get(tool) {
                Some(reason) => Ended::new(
                    "refused",
                    format!("the tool `{tool}` of {} cannot be called: {reason}", member.name()),
                ),
                None => Ended::new("invalid", unknown(member, &offers, tool)),
            };
        };
        let arguments = match self.arguments(member, offer, arguments).await {
            Ok(arguments) => arguments,
            Err(refused) => return refused,
        };
        let key = is_repeatable(offer).then(|| Key {
            client: member.key().to_owned(),
            generation: offers.generation,
            tool: tool.to_owned(),
            arguments: sorted(&arguments),
        });
        if let Some(key) = &key {
            let known = self.results().get(key).await;
            let outcome = if known.is_some() { "hit" } else { "miss" };
            self.metrics().tool_cache.add(&Outcome { outcome });
            if let Some(text) = known {
                return Ended::new("cached", text);
            }
        }
        let (text, ttl) = match self.asked(member, tool, arguments).await {
            Ok(answered) => answered,
            Err(ended) => return ended,
        };
        if let Some(key) = key {
            let keep = ttl.unwrap_or(member.spec().cache);
            self.results().put(key, text.clone(), keep).await;
        }
        Ended::new("ok", text)
    }

    /// Validates arguments against the schema of the tool, and their paths.
    async fn arguments(
        &self,
        member: &Member,
        offer: &Arc<Offer>,
        arguments: Value,
    ) -> Result<Map<String, Value>, Ended> {
        let (schema, given) = (Arc::clone(offer), arguments);
        let validating = move || schema.listed.arguments().read(given);
        // A schema of somebody else may take long; the thread is then left to its end.
        let validated = timeout(MAX_VALIDATION, self.tasks().spawn_blocking(validating)).await;
        let Ok(Ok(validated)) = validated else {
            let reason = format!("the schema of `{}` takes too long to check", offer.tool.name);
            return Err(Ended::new("refused", reason));
        };
        let arguments: Map<String, Value> = match validated {
            Ok(Value::Object(arguments)) => arguments,
            Ok(_) => {
                return Err(Ended::new("invalid", "Invalid arguments: they must be an object"));
            }
            Err(faults) => {
                let faults = quote::quoted(&faults.join("; "), MAX_FAULTS_CHARS);
                let faults = format!("Invalid arguments; by the schema of the tool: \"{faults}\"");
                return Err(Ended::new("invalid", faults));
            }
        };
        match self.outside(member, &arguments).await {
            Some(reason) => Err(Ended::new("refused", reason)),
            None => Ok(arguments),
        }
    }

    /// Calls the tool. Returns the text for the model, and for how long its server says that it holds.
    async fn asked(
        &self,
        member: &Member,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<(String, Option<Duration>), Ended> {
        // With waiting for a place, a start and a second try it could take longer than Codex waits.
        let limit = member.spec().timeout + MARGIN;
        let result = match timeout(limit, member.client().call(tool, arguments)).await {
            Ok(Ok(result)) => result,
            Ok(Err(error)) => return Err(failed(&error)),
            Err(_) => {
                let reason = format!(
                    "toolkit {} did not answer within {} s; ask for less, or go on without it",
                    member.name(),
                    limit.as_secs()
                );
                return Err(Ended::new("failed", reason));
            }
        };
        let (ttl, is_error) = (result.ttl, result.is_error);
        let Ok(text) = self.tasks().spawn_blocking(move || text::shown(&result)).await else {
            return Err(Ended::new("cancelled", "the server stops"));
        };
        if is_error { Err(Ended::new("error", text)) } else { Ok((text, ttl)) }
    }

    /// Returns why the paths in `arguments` are refused, if they are.
    async fn outside(&self, member: &Member, arguments: &Map<String, Value>) -> Option<String> {
        let Transport::Stdio { working_dir, .. } = &member.spec().transport else { return None };
        if member.spec().sandbox == ToolkitSandbox::Off {
            return None;
        }
        let mut folders = self.roots().await;
        folders.extend(working_dir.clone());
        let arguments = arguments.clone();
        let check = move || {
            let canonical: Vec<PathBuf> =
                folders.iter().filter_map(|folder| folder.canonicalize().ok()).collect();
            paths::outside(&arguments, &canonical)
        };
        self.tasks()
            .spawn_blocking(check)
            .await
            .unwrap_or_else(|_| Some("the server is stopping".to_owned()))
    }
}

/// Says that there is no such tool, and what there is.
fn unknown(member: &Member, offers: &Offers, tool: &str) -> String {
    let tool = quote::name(tool);
    let name = member.name();
    match nearest_names(&tool, offers.tools.keys().map(String::as_str)).as_slice() {
        [] => format!("toolkit {name} has no tool `{tool}`, nor one of a similar name"),
        near => format!("toolkit {name} has no tool `{tool}`; nearest: {}", near.join(", ")),
    }
}

/// Whether the result of a tool may stand for that of a later call.
fn is_repeatable(offer: &Offer) -> bool {
    offer.tool.read_only && offer.tool.idempotent
}

fn failed(error: &ToolkitError) -> Ended {
    Ended::new("failed", format!("{error}; {}", error.advice()))
}

/// Returns arguments as JSON with their members in order, so that equal ones are equal texts.
fn sorted(arguments: &Map<String, Value>) -> String {
    let mut arguments = Value::Object(arguments.clone());
    arguments.sort_all_objects();
    arguments.to_string()
}
