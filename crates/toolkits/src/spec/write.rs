//! Serializes a toolkit, with or without secrets, and computes its digests.

use std::collections::BTreeMap;

use codeinfo_core::{Secret, hash::sha256_hex};
use serde_json::{Map, Value, json};

use super::{
    AllowedTools, DEFAULT_TIMEOUT, NetworkAccess, ToolkitSandbox, ToolkitSpec, ToolkitTransport,
};

/// Replacement of a secret value.
const HIDDEN: &str = "(hidden)";

impl ToolkitSpec {
    /// Returns the toolkit as its document has it, with all values and without defaults.
    pub fn to_json(&self) -> Value {
        self.to_json_with(|secret| secret.expose().to_owned(), str::to_owned)
    }

    /// Returns the toolkit for lists, without the values of variables and headers and without the query of its
    /// URL, which may contain a key.
    pub fn to_redacted_json(&self) -> Value {
        self.to_json_with(
            |_| HIDDEN.to_owned(),
            |url| match url.split_once('?') {
                Some((place, _)) => format!("{place}?{HIDDEN}"),
                None => url.to_owned(),
            },
        )
    }

    /// Returns the SHA-256 of the whole toolkit as 64 hexadecimal digits. Equal toolkits have equal digests.
    pub fn digest(&self) -> String {
        sha256_hex(self.to_json().to_string().as_bytes())
    }

    /// Returns the SHA-256 of the program or URL as 64 hexadecimal digits. It does not depend on names, limits
    /// and the values of variables and headers.
    pub fn program_digest(&self) -> String {
        let program = match &self.transport {
            ToolkitTransport::Stdio { command, args, env: _, working_dir } => {
                json!(["stdio", command, args, working_dir])
            }
            ToolkitTransport::Http { url, headers: _ } => json!(["http", url]),
        };
        sha256_hex(program.to_string().as_bytes())
    }

    fn to_json_with(
        &self,
        secret: impl Fn(&Secret) -> String,
        url: impl Fn(&str) -> String,
    ) -> Value {
        let mut members = Map::new();
        let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
        let secrets = |secrets: &BTreeMap<String, Secret>| -> Value {
            secrets.iter().map(|(name, value)| (name.clone(), secret(value))).collect()
        };
        match &self.transport {
            ToolkitTransport::Stdio { command, args, env, working_dir } => {
                put("command", json!(command));
                put("args", json!(args));
                put("env", secrets(env));
                if let Some(folder) = working_dir {
                    put("workingDir", json!(folder));
                }
            }
            ToolkitTransport::Http { url: address, headers } => {
                put("url", json!(url(address)));
                put("headers", secrets(headers));
            }
        }
        let optional = [
            ("name", self.name.as_ref().map(|name| json!(name))),
            ("description", self.description.as_ref().map(|text| json!(text))),
            ("enabled", (!self.enabled).then(|| json!(false))),
            ("timeout", (self.timeout != DEFAULT_TIMEOUT).then(|| json!(self.timeout.as_secs()))),
            ("sandbox", (self.sandbox != ToolkitSandbox::ReadOnly).then(|| json!(self.sandbox))),
            ("network", network_to_json(self.network)),
            ("allow", allowed_tools_to_json(&self.allow)),
            ("cacheSecs", (!self.cache.is_zero()).then(|| json!(self.cache.as_secs()))),
            ("parallel", self.parallel.then(|| json!(true))),
            ("memoryMb", self.memory_mb.map(|mib| json!(mib))),
            ("homeMb", self.home_mb.map(|mib| json!(mib))),
            ("maxProcesses", self.max_processes.map(|processes| json!(processes))),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                put(name, value);
            }
        }
        Value::Object(members)
    }
}

fn network_to_json(network: NetworkAccess) -> Option<Value> {
    match network {
        NetworkAccess::None => Some(json!(false)),
        NetworkAccess::Proxied => None,
        NetworkAccess::Open => Some(json!("open")),
    }
}

fn allowed_tools_to_json(allow: &AllowedTools) -> Option<Value> {
    match allow {
        AllowedTools::ReadOnly => None,
        AllowedTools::All => Some(json!("all")),
        AllowedTools::Named(tools) => Some(json!(tools)),
    }
}
