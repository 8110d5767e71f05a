//! Resolves the toolkits of a turn from four layers: request, repository, stored document and user file.
//!
//! The first layer that names a toolkit wins. A repository's file counts only while `codeinfo mcp allow` has pinned
//! its content ([`super::allowed`]), else it is ignored with a warning. It replaces the stored and the user's
//! toolkits; if it cannot be parsed, the turn has only those of its request, and a warning. No fault fails a turn.

use std::{
    collections::{HashMap, hash_map},
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use codeinfo_codex::OtherVariables;
use codeinfo_core::{PathMap, hash::sha256_hex, plain_line};
use lru::LruCache;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    allowed::{AllowlistStatus, ToolkitAllowlist},
    toolkit_file::{find_repository, read_user_file},
};
use crate::spec::{
    AgentTools, RequestedToolkits, SpecReader, ToolkitDocument, ToolkitDocumentEntry, ToolkitName,
    ToolkitSettings, ToolkitSpec, ToolkitTransport,
};

/// Maximum parsed files to keep; each is parsed again when it changes.
const MAX_PARSED_FILES: NonZeroUsize = NonZeroUsize::new(64).unwrap();

/// Resolver of toolkit layers. It reads files, so call it on a blocking thread.
pub struct ToolkitLayers {
    reader: Arc<SpecReader>,
    allowed: Arc<ToolkitAllowlist>,
    user_file: Option<PathBuf>,
    environment: OtherVariables,
    path_map: PathMap,
    max: usize,
    parsed: Mutex<LruCache<PathBuf, ParsedToolkitFile>>,
}

#[derive(Clone)]
struct ParsedToolkitFile {
    digest: String,
    document: Arc<Result<ToolkitDocument, Vec<String>>>,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct LayerInputs<'a> {
    pub requested: Option<&'a RequestedToolkits>,
    /// Working folder, inside or outside of a repository.
    pub folder: Option<&'a Path>,
    pub stored: Option<&'a Value>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResolvedToolkits {
    /// Toolkits within the limit: those of the request, then by layer, each in the order of its document.
    pub toolkits: Vec<SelectedToolkit>,
    /// Toolkits that their configuration switches off.
    pub disabled: Vec<SelectedToolkit>,
    /// Messages for people about what was left out and why.
    pub warnings: Vec<String>,
    /// Agent settings of the stored document.
    pub agent: AgentTools,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedToolkit {
    pub name: ToolkitName,
    pub spec: ToolkitSpec,
    pub origin: ToolkitOrigin,
}

/// Layer that configures a toolkit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolkitOrigin {
    Request,
    Repository,
    Stored,
    User,
}

impl ToolkitOrigin {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Repository => "repository",
            Self::Stored => "stored",
            Self::User => "user",
        }
    }
}

/// Rejects a toolkit whose working folder is outside of its repository, with links resolved.
fn reject_outside_root(root: &Path, entry: ToolkitDocumentEntry) -> ToolkitDocumentEntry {
    let ToolkitDocumentEntry::Is(spec) = &entry else { return entry };
    let ToolkitTransport::Stdio { working_dir: Some(folder), .. } = &spec.transport else {
        return entry;
    };
    let is_within = match (folder.canonicalize(), root.canonicalize()) {
        (Ok(folder), Ok(root)) => folder.starts_with(root),
        _ => false,
    };
    if is_within {
        return entry;
    }
    ToolkitDocumentEntry::Broken(vec!["its `workingDir` is no folder of the repository".to_owned()])
}

impl ToolkitLayers {
    /// Creates a resolver that maps paths with `path_map` and expands variables of `environment` in files.
    pub fn new(
        reader: Arc<SpecReader>,
        allowed: Arc<ToolkitAllowlist>,
        settings: &ToolkitSettings,
        environment: OtherVariables,
        path_map: PathMap,
    ) -> Self {
        Self {
            reader,
            allowed,
            user_file: settings.file.clone(),
            environment,
            path_map,
            max: settings.max,
            parsed: Mutex::new(LruCache::new(MAX_PARSED_FILES)),
        }
    }

    /// Resolves the toolkits of a turn.
    pub fn resolve(&self, inputs: LayerInputs<'_>) -> ResolvedToolkits {
        let mut warnings = Vec::new();
        let mut agent = AgentTools::default();
        let mut sections = Vec::new();
        let repository =
            inputs.folder.and_then(|folder| self.load_repository_section(folder, &mut warnings));
        // The stored document configures the agent even if a repository provides the toolkits.
        let stored = inputs
            .stored
            .and_then(|value| self.parse_stored_section(value, &mut agent, &mut warnings));
        match repository {
            Some(section) => sections.push(section),
            None => {
                sections.extend(stored.into_iter().chain(self.load_user_section(&mut warnings)));
            }
        }
        let merged = merge_layers(inputs.requested, &sections, self.max);
        warnings.extend(merged.warnings);
        ResolvedToolkits { toolkits: merged.toolkits, disabled: merged.disabled, warnings, agent }
    }

    /// Returns the section of the repository that contains `folder`, if its file counts.
    fn load_repository_section(
        &self,
        folder: &Path,
        warnings: &mut Vec<String>,
    ) -> Option<LayerSection> {
        let found = match find_repository(folder) {
            Ok(found) => found?,
            Err((path, error)) => {
                let path = self.display_path(&path);
                warnings.push(format!(
                    "{path} does not count: {error}; toolkits that are configured elsewhere are used"
                ));
                return None;
            }
        };
        let path = self.display_path(&found.file);
        let command = format!("`codeinfo mcp allow {}`", self.display_path(&found.root));
        let reason = match self.allowed.check_file(&found) {
            Ok(AllowlistStatus::Allowed) => None,
            Ok(AllowlistStatus::New) => {
                Some(format!("is not allowed yet: look at it and run {command}"))
            }
            Ok(AllowlistStatus::Changed) => {
                Some(format!("changed since it was allowed: look at it and run {command} again"))
            }
            Err(error) => Some(format!("is not allowed: {error}")),
        };
        if let Some(reason) = reason {
            warnings.push(format!(
                "{path} {reason}; until then toolkits that are configured elsewhere are used"
            ));
            return None;
        }
        let document = self.parse_file_cached(&found.file, &found.text, Some(&found.root));
        let toolkits = match &*document {
            Ok(document) => document.toolkits.clone()?,
            Err(faults) => {
                warnings.push(format!(
                    "no toolkit of {path} is used, nor one of a lower layer: {}",
                    faults.join("; ")
                ));
                Vec::new()
            }
        };
        let toolkits = toolkits
            .into_iter()
            .map(|(name, entry)| (name, reject_outside_root(&found.root, entry)));
        Some(LayerSection {
            origin: ToolkitOrigin::Repository,
            label: path,
            toolkits: toolkits.collect(),
        })
    }

    fn parse_stored_section(
        &self,
        value: &Value,
        agent: &mut AgentTools,
        warnings: &mut Vec<String>,
    ) -> Option<LayerSection> {
        let label = "the stored configuration".to_owned();
        match self.reader.read_stored(value.clone()) {
            Ok(document) => {
                *agent = document.agent;
                Some(LayerSection {
                    origin: ToolkitOrigin::Stored,
                    label,
                    toolkits: document.toolkits?,
                })
            }
            Err(faults) => {
                warnings.push(format!("no toolkit of {label} is used: {}", faults.join("; ")));
                None
            }
        }
    }

    fn load_user_section(&self, warnings: &mut Vec<String>) -> Option<LayerSection> {
        let file = self.user_file.as_deref()?;
        let label = self.display_path(file);
        let text = match read_user_file(file) {
            Ok(text) => text?,
            Err(error) => {
                warnings.push(format!("no toolkit of {label} is used: {error}"));
                return None;
            }
        };
        match &*self.parse_file_cached(file, &text, None) {
            Ok(document) => Some(LayerSection {
                origin: ToolkitOrigin::User,
                label,
                toolkits: document.toolkits.clone()?,
            }),
            Err(faults) => {
                warnings.push(format!("no toolkit of {label} is used: {}", faults.join("; ")));
                None
            }
        }
    }

    fn parse_file_cached(
        &self,
        file: &Path,
        text: &[u8],
        folder: Option<&Path>,
    ) -> Arc<Result<ToolkitDocument, Vec<String>>> {
        let digest = sha256_hex(text);
        let lock = || self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(file).filter(|known| known.digest == digest) {
            return Arc::clone(&known.document);
        }
        let document = Arc::new(self.reader.read_file(text, &self.environment, folder));
        lock().put(file.to_owned(), ParsedToolkitFile { digest, document: Arc::clone(&document) });
        document
    }

    fn display_path(&self, path: &Path) -> String {
        plain_line(&self.path_map.to_client_path(path).display().to_string())
    }
}

#[derive(Debug, Clone)]
struct LayerSection {
    origin: ToolkitOrigin,
    label: String,
    toolkits: Vec<(ToolkitName, ToolkitDocumentEntry)>,
}

struct MergedLayers {
    toolkits: Vec<SelectedToolkit>,
    warnings: Vec<String>,
    disabled: Vec<SelectedToolkit>,
}

/// Decision of the first section that contains a name.
enum LayerDecision {
    Is(Box<SelectedToolkit>),
    /// Switched off, with the reason as a sentence.
    Off(String),
    Broken(String),
}

/// Merges the toolkits of a request with the sections, in order of priority.
fn merge_layers(
    requested: Option<&RequestedToolkits>,
    sections: &[LayerSection],
    max: usize,
) -> MergedLayers {
    let mut layer_decisions: HashMap<&ToolkitName, LayerDecision> = HashMap::new();
    let mut order: Vec<&ToolkitName> = Vec::new();
    let mut warnings = Vec::new();
    for (name, spec) in requested.into_iter().flat_map(|requested| &requested.specs) {
        if let hash_map::Entry::Vacant(vacant) = layer_decisions.entry(name) {
            let chosen = SelectedToolkit {
                name: name.clone(),
                spec: spec.clone(),
                origin: ToolkitOrigin::Request,
            };
            vacant.insert(LayerDecision::Is(Box::new(chosen)));
            order.push(name);
        }
    }
    for section in sections {
        for (name, entry) in &section.toolkits {
            if let hash_map::Entry::Vacant(vacant) = layer_decisions.entry(name) {
                vacant.insert(decide_entry(section, name, entry));
                order.push(name);
            }
        }
    }
    let names = requested.and_then(|requested| requested.names.as_deref());
    if let Some(names) = names {
        let unknown: Vec<_> =
            names.iter().filter(|name| !layer_decisions.contains_key(name)).collect();
        if !unknown.is_empty() {
            let is_there = |name: &&&ToolkitName| {
                matches!(layer_decisions.get(**name), Some(LayerDecision::Is(_)))
            };
            let there: Vec<_> = order.iter().filter(is_there).copied().collect();
            warnings.push(unknown_names(&unknown, &there));
        }
        order = names.iter().collect();
    }
    let disabled = sections.iter().flat_map(list_disabled).collect();
    let mut toolkits = Vec::new();
    for name in order {
        match layer_decisions.remove(name) {
            Some(LayerDecision::Is(chosen)) => toolkits.push(*chosen),
            // A toolkit that is switched off is reported only to a request that names it.
            Some(LayerDecision::Off(reason)) if names.is_some() => warnings.push(reason),
            Some(LayerDecision::Broken(reason)) => warnings.push(reason),
            Some(LayerDecision::Off(_)) | None => {}
        }
    }
    if toolkits.len() > max {
        let rest: Vec<_> = toolkits.drain(max..).map(|chosen| chosen.name).collect();
        warnings.push(format!(
            "a turn has at most {max} toolkits; left out: {}",
            join_names(&rest.iter().collect::<Vec<_>>())
        ));
    }
    MergedLayers { toolkits, warnings, disabled }
}

fn list_disabled(section: &LayerSection) -> Vec<SelectedToolkit> {
    let entries = section.toolkits.iter().filter_map(|(name, entry)| match entry {
        ToolkitDocumentEntry::Is(spec) if !spec.enabled => Some(SelectedToolkit {
            name: name.clone(),
            spec: (**spec).clone(),
            origin: section.origin,
        }),
        ToolkitDocumentEntry::Is(_)
        | ToolkitDocumentEntry::Off
        | ToolkitDocumentEntry::Broken(_) => None,
    });
    entries.collect()
}

fn decide_entry(
    section: &LayerSection,
    name: &ToolkitName,
    entry: &ToolkitDocumentEntry,
) -> LayerDecision {
    let label = &section.label;
    let disabled = || LayerDecision::Off(format!("toolkit `{name}` is switched off in {label}"));
    match entry {
        ToolkitDocumentEntry::Is(spec) if spec.enabled => {
            LayerDecision::Is(Box::new(SelectedToolkit {
                name: name.clone(),
                spec: (**spec).clone(),
                origin: section.origin,
            }))
        }
        ToolkitDocumentEntry::Is(_) | ToolkitDocumentEntry::Off => disabled(),
        ToolkitDocumentEntry::Broken(faults) => {
            let reason = faults.join("; ");
            LayerDecision::Broken(format!("toolkit `{name}` of {label} is left out: {reason}"))
        }
    }
}

fn unknown_names(unknown: &[&ToolkitName], there: &[&ToolkitName]) -> String {
    let known = match there {
        [] => "there is none".to_owned(),
        there => format!("there are {}", join_names(there)),
    };
    format!("unknown toolkits were asked for: {}; {known}", join_names(unknown))
}

fn join_names(names: &[&ToolkitName]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
