//! Pins the tool descriptions of a toolkit at its first use.
//!
//! A server therefore cannot later show other words to the model, or turn a read-only tool into one that writes,
//! without a person's consent. Pins belong to the name and owner of a toolkit and to its program: command, arguments
//! and folder, or the URL, but not keys or timeouts. A new tool is pinned when it first appears, because servers may
//! add tools while they run. Pins of toolkits in requests are held by their connection's handle, not stored.

use std::{collections::BTreeMap, fmt::Display, path::Path};

use codeinfo_core::{Principal, hash::sha256_hex};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::decision_file::{DecisionFile, DecisionFileError};
use crate::spec::ToolkitSpec;

const MAX_TOOLKITS: usize = 256;
const MAX_TOKEN_TOOLKITS: usize = 32;
/// Maximum pinned tools of one toolkit, twice the number that it may list.
const MAX_TOOLS: usize = 1024;
const MAX_NAME_BYTES: usize = 512;

/// Description of a tool.
#[derive(Debug, Clone, Copy)]
pub struct ToolDescription<'a> {
    pub name: &'a str,
    pub title: Option<&'a str>,
    pub description: Option<&'a str>,
    pub input_schema: &'a Value,
    /// Hints, which decide if the tool is offered and its results are reused.
    pub annotations: Option<&'a Value>,
}

/// Result of comparing a tool with its pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinVerdict {
    Ok,
    /// The description changed, or there is no room for a pin. The tool must not be offered or called.
    Changed,
}

/// Digests of one toolkit's tools by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolPins(BTreeMap<String, String>);

impl ToolPins {
    /// Checks tools in their order, and pins new ones.
    pub fn check_tools(&mut self, tools: &[ToolDescription<'_>]) -> Vec<PinVerdict> {
        tools.iter().map(|tool| self.check_one(tool)).collect()
    }

    fn check_one(&mut self, tool: &ToolDescription<'_>) -> PinVerdict {
        let digest = tool.digest();
        match self.0.get(tool.name) {
            Some(pinned) if *pinned == digest => PinVerdict::Ok,
            None if self.0.len() < MAX_TOOLS && tool.name.len() <= MAX_NAME_BYTES => {
                self.0.insert(tool.name.to_owned(), digest);
                PinVerdict::Ok
            }
            Some(_) | None => PinVerdict::Changed,
        }
    }
}

/// Store of pins, in `DATA_DIR/toolkits/trusted.json`.
#[derive(Debug)]
pub struct ToolPinStore {
    decisions: DecisionFile<PinsByToolkit>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct PinsByToolkit {
    toolkits: BTreeMap<String, BTreeMap<String, ToolPins>>,
}

impl ToolPinStore {
    pub fn new(data_dir: &Path) -> Self {
        Self { decisions: DecisionFile::new(data_dir, "trusted.json") }
    }

    /// Checks the tools of a toolkit in their order, and pins new ones. If this fails, no tool may be offered.
    pub fn check_tools(
        &self,
        name: impl Display,
        spec: &ToolkitSpec,
        tools: &[ToolDescription<'_>],
    ) -> Result<Vec<PinVerdict>, DecisionFileError> {
        self.decisions.update(|decisions| {
            Ok(self.get_or_create_pins(decisions, &name, spec)?.check_tools(tools))
        })
    }

    /// Pins the current tools of a toolkit, after a person has agreed.
    pub fn trust_tools(
        &self,
        name: impl Display,
        spec: &ToolkitSpec,
        tools: &[ToolDescription<'_>],
    ) -> Result<(), DecisionFileError> {
        self.decisions.update(|decisions| {
            let pins = self.get_or_create_pins(decisions, &name, spec)?;
            *pins = ToolPins::default();
            pins.check_tools(tools);
            Ok(())
        })
    }

    fn get_or_create_pins<'a>(
        &self,
        decisions: &'a mut PinsByToolkit,
        name: &impl Display,
        spec: &ToolkitSpec,
    ) -> Result<&'a mut ToolPins, DecisionFileError> {
        let program = spec.program_digest();
        let pin_name = name.to_string();
        // Token holders must not use up the room of others.
        let owner = |name: &str| name.split_once('/').map(|(owner, _)| owner.to_owned());
        let pin_owner = owner(&pin_name);
        let is_token =
            pin_owner.as_deref().is_some_and(|owner| owner != Principal::owner().as_str());
        let max = if is_token { MAX_TOKEN_TOOLKITS } else { MAX_TOOLKITS };
        let counted = decisions.toolkits.iter().filter(|(name, _)| owner(name) == pin_owner);
        let programs: usize = counted.map(|(_, programs)| programs.len()).sum();
        let named = decisions.toolkits.entry(pin_name).or_default();
        if !named.contains_key(&program) && programs >= max {
            let path = self.decisions.path().to_owned();
            return Err(DecisionFileError::Full { path, max, what: "toolkits" });
        }
        Ok(named.entry(program).or_default())
    }
}

impl ToolDescription<'_> {
    /// The order of members is ignored, because servers may change it between starts.
    fn digest(&self) -> String {
        let said = json!([
            self.title,
            self.description,
            sort_members(self.input_schema),
            self.annotations.map(sort_members),
        ]);
        sha256_hex(said.to_string().as_bytes())
    }
}

fn sort_members(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sort_members).collect(),
        Value::Object(members) => {
            let sorted: BTreeMap<_, _> = members.iter().collect();
            let members =
                sorted.into_iter().map(|(name, value)| (name.clone(), sort_members(value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
