//! Parses toolkits of files, of stored documents and of requests.

use std::{collections::BTreeMap, path::Path, path::PathBuf, time::Duration};

use codeinfo_codex::OtherVariables;
use codeinfo_core::Secret;
use codeinfo_mcp::{Schema, SchemaError};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    AllowedTools, NetworkAccess, ToolkitName, ToolkitSandbox, ToolkitSpec, ToolkitTransport,
    json_file::{self, expand_variables},
    schema,
    schema::AgentSection,
};

/// Parser of documents and requests. Reuse it, because creating one compiles schemas.
#[derive(Debug, Clone)]
pub struct SpecReader {
    file: Schema,
    stored: Schema,
    toolkit: Schema,
    request: Schema,
    carried: Schema,
}

/// Document of toolkits: `{"mcpServers":{NAME:{…}}}`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolkitDocument {
    /// Toolkits in the order of the document; `None` without `mcpServers`.
    pub toolkits: Option<Vec<(ToolkitName, ToolkitDocumentEntry)>>,
    /// Agent settings that override the server's settings; only stored documents have them.
    pub agent: AgentTools,
}

/// Entry of a document under one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolkitDocumentEntry {
    Is(Box<ToolkitSpec>),
    /// `{"enabled":false}` alone, which hides toolkits of that name in lower layers.
    Off,
    /// Faults, as sentences. The entry still hides others of that name, which are not the intended ones.
    Broken(Vec<String>),
}

impl ToolkitDocumentEntry {
    /// Returns the spec, if the entry has one.
    pub fn spec(&self) -> Option<&ToolkitSpec> {
        match self {
            Self::Is(spec) => Some(spec),
            Self::Off | Self::Broken(_) => None,
        }
    }
}

/// `agent.tools` of a stored document. The server's settings apply to missing members.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentTools {
    pub enabled: Option<bool>,
    pub max_steps: Option<usize>,
    #[serde(rename = "systemPrompt")]
    pub prompt: Option<String>,
}

/// Toolkits of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestedToolkits {
    /// Names of the configured toolkits to use; `None` uses all.
    pub names: Option<Vec<ToolkitName>>,
    /// Additional toolkits of this request only.
    pub specs: Vec<(ToolkitName, ToolkitSpec)>,
}

impl SpecReader {
    pub fn new() -> Result<Self, SchemaError> {
        Ok(Self {
            file: Schema::new(schema::build_document_schema(AgentSection::Unknown))?,
            stored: Schema::new(schema::build_document_schema(AgentSection::Known))?,
            toolkit: Schema::new(schema::build_toolkit_schema())?,
            request: Schema::new(schema::build_request_schema())?,
            carried: Schema::new(schema::build_carried_schema())?,
        })
    }

    /// Parses a file, expanding variables of `environment`. A relative `workingDir` is resolved below `folder`, and
    /// refused without one. A faulty toolkit becomes [`ToolkitDocumentEntry::Broken`]; the others are unaffected.
    pub fn read_file(
        &self,
        text: &[u8],
        environment: &OtherVariables,
        folder: Option<&Path>,
    ) -> Result<ToolkitDocument, Vec<String>> {
        let value = json_file::parse_strict_json(text).map_err(|fault| vec![fault])?;
        let fill = |toolkit: &mut Value| {
            // A disabled toolkit is not used, so its variables may be missing.
            if toolkit.get("enabled") == Some(&Value::Bool(false)) {
                return Vec::new();
            }
            expand_variables(toolkit, environment)
        };
        self.read_document(&self.file, value, fill, folder)
    }

    /// Parses a file without expanding variables, for people to review. Fails on any fault.
    pub fn read_unexpanded(
        &self,
        text: &[u8],
        folder: &Path,
    ) -> Result<ToolkitDocument, Vec<String>> {
        let value = json_file::parse_strict_json(text).map_err(|fault| vec![fault])?;
        require_no_faults(self.read_document(&self.file, value, |_| Vec::new(), Some(folder))?)
    }

    /// Parses a stored document, before or after storing. Fails on any fault.
    pub fn read_stored(&self, document: Value) -> Result<ToolkitDocument, Vec<String>> {
        require_no_faults(self.read_document(&self.stored, document, |_| Vec::new(), None)?)
    }

    /// Parses the toolkits of a request: names, or complete toolkits.
    pub fn read_request(&self, toolkits: Value) -> Result<RequestedToolkits, Vec<String>> {
        match self.request.validate_and_parse(toolkits)? {
            RawRequested::Names(names) => {
                let mut read = Vec::new();
                for text in names {
                    let name = text.parse().map_err(|error| describe_name_error(&error))?;
                    if !read.contains(&name) {
                        read.push(name);
                    }
                }
                Ok(RequestedToolkits { names: Some(read), specs: Vec::new() })
            }
            RawRequested::Specs(entries) => {
                let mut specs = Vec::new();
                let mut faults = Vec::new();
                for (text, value) in entries {
                    let name: ToolkitName =
                        text.parse().map_err(|error| describe_name_error(&error))?;
                    match read_carried_spec(&self.carried, value) {
                        Ok(spec) => specs.push((name, spec)),
                        Err(found) => faults.extend(prefix_faults(&name, found)),
                    }
                }
                if faults.is_empty() {
                    Ok(RequestedToolkits { names: None, specs })
                } else {
                    Err(faults)
                }
            }
        }
    }

    fn read_document(
        &self,
        schema: &Schema,
        document: Value,
        fill: impl Fn(&mut Value) -> Vec<String>,
        folder: Option<&Path>,
    ) -> Result<ToolkitDocument, Vec<String>> {
        let document: RawDocument = schema.validate_and_parse(document)?;
        let agent = document.agent.tools;
        let Some(entries) = document.toolkits else {
            return Ok(ToolkitDocument { toolkits: None, agent });
        };
        let mut toolkits = Vec::new();
        for (text, mut value) in entries {
            let name = text.parse().map_err(|error| describe_name_error(&error))?;
            let faults = fill(&mut value);
            let entry =
                if faults.is_empty() { self.read_entry(value, folder) } else { Err(faults) };
            toolkits.push((name, entry.unwrap_or_else(ToolkitDocumentEntry::Broken)));
        }
        Ok(ToolkitDocument { toolkits: Some(toolkits), agent })
    }

    fn read_entry(
        &self,
        value: Value,
        folder: Option<&Path>,
    ) -> Result<ToolkitDocumentEntry, Vec<String>> {
        let transport = detect_transport(&value)?;
        let mut raw: RawSpec = self.toolkit.validate_and_parse(value)?;
        let working_dir = working_dir(raw.working_dir.take(), folder)?;
        let transport = match transport {
            TransportKind::None => return Ok(ToolkitDocumentEntry::Off),
            TransportKind::Stdio => ToolkitTransport::Stdio {
                command: raw.command.take().unwrap_or_default(),
                args: std::mem::take(&mut raw.args),
                env: read_variables(std::mem::take(&mut raw.env)),
                working_dir,
            },
            TransportKind::Http => ToolkitTransport::Http {
                url: validate_url(raw.url.take().unwrap_or_default())?,
                headers: std::mem::take(&mut raw.headers)
                    .into_iter()
                    .map(|(name, value)| (name, Secret::new(value)))
                    .collect(),
            },
        };
        Ok(ToolkitDocumentEntry::Is(Box::new(raw.into_spec(transport))))
    }
}

fn require_no_faults(document: ToolkitDocument) -> Result<ToolkitDocument, Vec<String>> {
    let mut faults = Vec::new();
    for (name, entry) in document.toolkits.iter().flatten() {
        if let ToolkitDocumentEntry::Broken(found) = entry {
            faults.extend(prefix_faults(name, found.clone()));
        }
    }
    if faults.is_empty() { Ok(document) } else { Err(faults) }
}

pub(super) fn prefix_faults(
    name: &ToolkitName,
    faults: Vec<String>,
) -> impl Iterator<Item = String> + use<> {
    let prefix = format!("toolkit `{name}`");
    faults.into_iter().map(move |fault| format!("{prefix}: {fault}"))
}

fn describe_name_error(error: &super::InvalidName) -> Vec<String> {
    vec![error.to_string()]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TransportKind {
    None,
    Stdio,
    Http,
}

/// A schema could check this, but not with a clear message.
fn detect_transport(value: &Value) -> Result<TransportKind, Vec<String>> {
    let has = |member: &str| value.get(member).is_some();
    let (found, others, missing) = match (has("command"), has("url")) {
        (true, true) => {
            return Err(vec!["`command` and `url` exclude one another".to_owned()]);
        }
        (true, false) => (TransportKind::Stdio, &["headers"][..], "url"),
        (false, true) => (TransportKind::Http, &["args", "env", "workingDir"][..], "command"),
        (false, false) if value.get("enabled") == Some(&Value::Bool(false)) => {
            return Ok(TransportKind::None);
        }
        (false, false) if value.is_object() => {
            return Err(vec!["`command` or `url` is missing".to_owned()]);
        }
        // The schema reports that it must be an object.
        (false, false) => return Ok(TransportKind::None),
    };
    let stray = others.iter().filter(|member| has(member));
    let faults: Vec<_> = stray.map(|member| format!("`{member}` goes with `{missing}`")).collect();
    if faults.is_empty() { Ok(found) } else { Err(faults) }
}

fn working_dir(
    text: Option<PathBuf>,
    folder: Option<&Path>,
) -> Result<Option<PathBuf>, Vec<String>> {
    match (text, folder) {
        (None, _) => Ok(None),
        (Some(path), Some(folder)) => Ok(Some(folder.join(path))),
        (Some(path), None) if path.is_absolute() => Ok(Some(path)),
        (Some(_), None) => Err(vec!["`workingDir` must be absolute here".to_owned()]),
    }
}

/// Refuses URLs without a host, and URLs with credentials, which lists would show.
fn validate_url(text: String) -> Result<String, Vec<String>> {
    let fault = |reason: &str| Err(vec![format!("`url` {reason}")]);
    match url::Url::parse(&text) {
        Ok(url) if !url.username().is_empty() || url.password().is_some() => {
            fault("must not hold a name or a password; put them in `headers`")
        }
        Ok(url) if url.has_host() => Ok(text),
        Ok(_) | Err(_) => fault("is no address"),
    }
}

/// Converts variables to texts; the schema permits texts, numbers and booleans.
fn read_variables(values: Map<String, Value>) -> BTreeMap<String, Secret> {
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    values.into_iter().map(|(name, value)| (name, Secret::new(text(value)))).collect()
}

fn read_carried_spec(schema: &Schema, value: Value) -> Result<ToolkitSpec, Vec<String>> {
    if let Some(kind) = value.pointer("/transport/kind").and_then(Value::as_str)
        && kind != "stdio"
    {
        let shown: String = kind.chars().take(80).collect();
        return Err(vec![format!("the transport `{shown}` is not known here, only `stdio` is")]);
    }
    let read: RawCarried = schema.validate_and_parse(value)?;
    let RawCommand { command, args, env } = read.transport.spec;
    let transport =
        ToolkitTransport::Stdio { command, args, env: read_variables(env), working_dir: None };
    let mut spec = RawSpec::default().into_spec(transport);
    if let Some(tools) = read.tools {
        spec.allow = AllowedTools::Named(tools);
    }
    Ok(spec)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawDocument {
    #[serde(rename = "mcpServers")]
    toolkits: Option<Map<String, Value>>,
    #[serde(default)]
    agent: RawAgent,
}

#[derive(Default, Deserialize)]
struct RawAgent {
    #[serde(default)]
    tools: AgentTools,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawRequested {
    Names(Vec<String>),
    Specs(Map<String, Value>),
}

#[derive(Deserialize)]
struct RawCarried {
    transport: RawTransport,
    tools: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct RawTransport {
    spec: RawCommand,
}

#[derive(Deserialize)]
struct RawCommand {
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: Map<String, Value>,
}

/// Toolkit as written; missing members have their defaults.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawSpec {
    command: Option<String>,
    args: Vec<String>,
    env: Map<String, Value>,
    working_dir: Option<PathBuf>,
    url: Option<String>,
    headers: BTreeMap<String, String>,
    name: Option<String>,
    description: Option<String>,
    enabled: Option<bool>,
    timeout: Option<u64>,
    sandbox: Option<ToolkitSandbox>,
    network: Option<Value>,
    allow: Option<RawAllow>,
    cache_secs: u64,
    parallel: bool,
    memory_mb: Option<u64>,
    home_mb: Option<u64>,
    max_processes: Option<u64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawAllow {
    Named(Vec<String>),
    Word(String),
}

impl RawSpec {
    fn into_spec(self, transport: ToolkitTransport) -> ToolkitSpec {
        ToolkitSpec {
            transport,
            name: self.name,
            description: self.description,
            enabled: self.enabled.unwrap_or(true),
            timeout: self.timeout.map_or(super::DEFAULT_TIMEOUT, Duration::from_secs),
            sandbox: self.sandbox.unwrap_or(ToolkitSandbox::ReadOnly),
            // The schema permits booleans and `open`.
            network: match self.network {
                Some(Value::String(_)) => NetworkAccess::Open,
                Some(Value::Bool(false)) => NetworkAccess::None,
                _ => NetworkAccess::Proxied,
            },
            allow: match self.allow {
                Some(RawAllow::Named(tools)) => AllowedTools::Named(tools),
                // The schema permits `readonly` and `all`.
                Some(RawAllow::Word(word)) if word == "all" => AllowedTools::All,
                Some(RawAllow::Word(_)) | None => AllowedTools::ReadOnly,
            },
            cache: Duration::from_secs(self.cache_secs),
            parallel: self.parallel,
            memory_mb: self.memory_mb,
            home_mb: self.home_mb,
            max_processes: self.max_processes,
        }
    }
}
