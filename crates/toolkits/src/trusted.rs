//! Pins what the tools of a toolkit say of themselves when it is first used, so that a server cannot later put
//! other words before the model, or turn a tool that reads into one that writes, without a person agreeing.
//!
//! Pins are kept by the toolkit's name, with whose it is, and its program: command, arguments and folder, or the address. Another
//! program under the same name is another toolkit, with pins of its own; a new key or a longer timeout is not.
//! A tool that was not there before is pinned when it is first seen, for servers may add tools while they run.
//! Toolkits that a request carries are not kept: what holds their connection holds their [`Pins`].

use std::{collections::BTreeMap, fmt::Display, path::Path};

use codeinfo_core::{Principal, hash::sha256_hex};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::kept::{DecisionFile, DecisionFileError};
use crate::spec::ToolkitSpec;

/// Most toolkits that are kept, and most tools of one, twice those that it may have at a time.
const MAX_TOOLKITS: usize = 256;
/// Most of those that one token stored.
const MAX_OF_ONE: usize = 32;
const MAX_TOOLS: usize = 1024;
const MAX_NAME_BYTES: usize = 512;

/// What a tool says of itself.
#[derive(Debug, Clone, Copy)]
pub struct ToolDescription<'a> {
    pub name: &'a str,
    pub title: Option<&'a str>,
    pub description: Option<&'a str>,
    pub input_schema: &'a Value,
    /// Its hints: those decide whether it is offered, and repeated.
    pub annotations: Option<&'a Value>,
}

/// Whether a tool says what it said when it was pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinVerdict {
    Ok,
    /// It says other things, or there is no room to pin it: it is not to be offered, nor called.
    Changed,
}

/// The digests of the tools of one toolkit, by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolPins(BTreeMap<String, String>);

impl ToolPins {
    /// Judges tools, in their order, and pins those that were not there before.
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

/// The pins of toolkits, in `DATA_DIR/toolkits/trusted.json`.
#[derive(Debug)]
pub struct ToolPinStore {
    kept: DecisionFile<PinsByToolkit>,
}

/// Pins by name and program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct PinsByToolkit {
    toolkits: BTreeMap<String, BTreeMap<String, ToolPins>>,
}

impl ToolPinStore {
    pub fn new(data_dir: &Path) -> Self {
        Self { kept: DecisionFile::new(data_dir, "trusted.json") }
    }

    /// Judges the tools of a toolkit, in their order, and pins those that were not there before. Where the pins
    /// cannot be read or kept, no tool is to be offered.
    pub fn check_tools(
        &self,
        name: impl Display,
        spec: &ToolkitSpec,
        tools: &[ToolDescription<'_>],
    ) -> Result<Vec<PinVerdict>, DecisionFileError> {
        self.kept.update(|kept| Ok(self.get_or_create_pins(kept, &name, spec)?.check_tools(tools)))
    }

    /// Pins the tools of a toolkit as they are now, after a person has agreed.
    pub fn trust_tools(
        &self,
        name: impl Display,
        spec: &ToolkitSpec,
        tools: &[ToolDescription<'_>],
    ) -> Result<(), DecisionFileError> {
        self.kept.update(|kept| {
            let pins = self.get_or_create_pins(kept, &name, spec)?;
            *pins = ToolPins::default();
            pins.check_tools(tools);
            Ok(())
        })
    }

    fn get_or_create_pins<'a>(
        &self,
        kept: &'a mut PinsByToolkit,
        name: &impl Display,
        spec: &ToolkitSpec,
    ) -> Result<&'a mut ToolPins, DecisionFileError> {
        let program = spec.program_digest();
        let name = name.to_string();
        // What a token stores must not fill the place of the others.
        let owner = |name: &str| name.split_once('/').map(|(owner, _)| owner.to_owned());
        let whose = owner(&name);
        let is_token = whose.as_deref().is_some_and(|of| of != Principal::owner().as_str());
        let max = if is_token { MAX_OF_ONE } else { MAX_TOOLKITS };
        let counted = kept.toolkits.iter().filter(|(name, _)| owner(name) == whose);
        let programs: usize = counted.map(|(_, programs)| programs.len()).sum();
        let named = kept.toolkits.entry(name).or_default();
        if !named.contains_key(&program) && programs >= max {
            let path = self.kept.path().to_owned();
            return Err(DecisionFileError::Full { path, max, what: "toolkits" });
        }
        Ok(named.entry(program).or_default())
    }
}

impl ToolDescription<'_> {
    /// Returns the SHA-256 of what the tool says, in 64 hexadecimal digits. The order of members, which servers may
    /// change from one start to the next, says nothing.
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

/// Returns a value with the members of its objects in the order of their names.
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
