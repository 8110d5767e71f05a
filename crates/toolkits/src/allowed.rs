//! Allowlist of repository files that may configure toolkits.
//!
//! A person must allow the exact content of a file, so that indexed code never starts a program by itself.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use codeinfo_codex::NetworkAccess;
use codeinfo_core::{Secret, error::ErrorCode, plain_line};
use serde::{Deserialize, Serialize};

use super::{
    decision_file::{DecisionFile, DecisionFileError},
    layers::{REPOSITORY_FILE, RepositoryToolkitFile, find_repository},
};
use crate::spec::{
    AllowedTools, SpecReader, ToolkitDocumentEntry, ToolkitName, ToolkitSandbox, ToolkitSpec,
    ToolkitTransport,
};

/// Maximum number of allowed files.
const MAX_FILES: usize = 1024;

/// Allowlist, stored in `DATA_DIR/toolkits/allowed.json`.
#[derive(Debug)]
pub struct ToolkitAllowlist {
    kept: DecisionFile<AllowedDigests>,
}

/// SHA-256 of each allowed file by its canonical path.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct AllowedDigests {
    files: BTreeMap<String, String>,
}

/// Status of a file in the allowlist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowlistStatus {
    Allowed,
    /// The file was never allowed.
    New,
    /// The file was allowed with different content.
    Changed,
}

/// Contents of a repository's file for a person to review before allowing it.
#[derive(Debug, Clone, PartialEq)]
pub struct AllowProposal {
    pub file: PathBuf,
    pub standing: AllowlistStatus,
    pub toolkits: Vec<ToolkitPreview>,
    found: RepositoryToolkitFile,
}

/// Summary of one toolkit in a repository's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolkitPreview {
    pub name: ToolkitName,
    pub enabled: bool,
    /// Command line, or URL, on one line, with variables unexpanded.
    pub runs: String,
    /// Environment variables or headers as `NAME=VALUE`, with variables unexpanded.
    pub given: Vec<String>,
    /// Permissions beyond the defaults, each in a few words.
    pub beyond: Vec<String>,
}

/// Errors of allowing a repository's file.
#[derive(Debug, thiserror::Error)]
pub enum AllowError {
    #[error("no `{REPOSITORY_FILE}` in a repository at `{}`", .0.display())]
    NotFound(PathBuf),
    #[error("cannot read `{}`: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("`{}` has faults: {}", path.display(), faults.join("; "))]
    Invalid { path: PathBuf, faults: Vec<String> },
    #[error(transparent)]
    Kept(#[from] DecisionFileError),
}

impl AllowError {
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound(_) | Self::Unreadable { .. } | Self::Invalid { .. } => {
                ErrorCode::ValidationFailed
            }
            Self::Kept(cause) => cause.code(),
        }
    }
}

impl AllowProposal {
    /// Returns the SHA-256 of the file as it was read.
    pub fn digest(&self) -> String {
        self.found.digest()
    }
}

impl ToolkitAllowlist {
    pub fn new(data_dir: &Path) -> Self {
        Self { kept: DecisionFile::new(data_dir, "allowed.json") }
    }

    /// Checks a file, with the content that was read, against the allowlist.
    pub fn check_file(
        &self,
        found: &RepositoryToolkitFile,
    ) -> Result<AllowlistStatus, DecisionFileError> {
        let files = self.kept.read()?.files;
        Ok(match files.get(&build_file_key(found)) {
            Some(digest) if *digest == found.digest() => AllowlistStatus::Allowed,
            Some(_) => AllowlistStatus::Changed,
            None => AllowlistStatus::New,
        })
    }

    /// Builds the proposal for the repository that contains `path`. Fails if its file has faults.
    pub fn build_proposal(
        &self,
        path: &Path,
        reader: &SpecReader,
    ) -> Result<AllowProposal, AllowError> {
        let found = match find_repository(path) {
            Ok(Some(found)) => found,
            Ok(None) => return Err(AllowError::NotFound(path.to_owned())),
            Err((path, source)) => return Err(AllowError::Unreadable { path, source }),
        };
        let document = reader
            .read_unexpanded(&found.text, &found.root)
            .map_err(|faults| AllowError::Invalid { path: found.file.clone(), faults })?;
        let toolkits = document.toolkits.unwrap_or_default();
        Ok(AllowProposal {
            file: found.file.clone(),
            standing: self.check_file(&found)?,
            toolkits: toolkits
                .into_iter()
                .map(|(name, entry)| preview_toolkit(name, &entry))
                .collect(),
            found,
        })
    }

    /// Allows the content of the proposal. A later change of the file is not allowed.
    pub fn accept_proposal(&self, proposal: &AllowProposal) -> Result<(), DecisionFileError> {
        let path = self.kept.path().to_owned();
        self.kept.update(|kept| {
            let key = build_file_key(&proposal.found);
            if !kept.files.contains_key(&key) && kept.files.len() >= MAX_FILES {
                return Err(DecisionFileError::Full { path, max: MAX_FILES, what: "files" });
            }
            kept.files.insert(key, proposal.found.digest());
            Ok(())
        })
    }
}

/// Returns the path as a key. A path that is not UTF-8 is escaped, so that two files cannot share a key.
fn build_file_key(found: &RepositoryToolkitFile) -> String {
    let bytes = || found.file.as_os_str().as_encoded_bytes().escape_ascii().to_string();
    found.file.to_str().map_or_else(bytes, str::to_owned)
}

fn preview_toolkit(name: ToolkitName, entry: &ToolkitDocumentEntry) -> ToolkitPreview {
    let beyond = match entry {
        ToolkitDocumentEntry::Is(spec) => list_extra_permissions(spec),
        ToolkitDocumentEntry::Off | ToolkitDocumentEntry::Broken(_) => Vec::new(),
    };
    let (enabled, runs, given) = match entry {
        ToolkitDocumentEntry::Is(spec) => match &spec.transport {
            ToolkitTransport::Stdio { command, args, env, working_dir: _ } => {
                (spec.enabled, format_command_line(command, args), format_variables(env))
            }
            ToolkitTransport::Http { url, headers } => {
                (spec.enabled, plain_line(url), format_variables(headers))
            }
        },
        ToolkitDocumentEntry::Off | ToolkitDocumentEntry::Broken(_) => {
            (false, String::new(), Vec::new())
        }
    };
    ToolkitPreview { name, enabled, runs, given, beyond }
}

fn format_variables(variables: &BTreeMap<String, Secret>) -> Vec<String> {
    variables.iter().map(|(name, value)| format_variable(name, value)).collect()
}

/// Formats a variable with its value, because a value may name a program.
fn format_variable(name: &str, value: &Secret) -> String {
    plain_line(&format!("{name}={}", value.expose()))
}

/// Lists the permissions of a toolkit beyond the defaults.
fn list_extra_permissions(spec: &ToolkitSpec) -> Vec<String> {
    let mut beyond = Vec::new();
    if let ToolkitTransport::Stdio { working_dir, .. } = &spec.transport {
        match spec.sandbox {
            ToolkitSandbox::ReadOnly => {}
            ToolkitSandbox::WorkspaceWrite => beyond.push("writes its working folder".to_owned()),
            ToolkitSandbox::Off => {
                beyond.push("runs OUTSIDE the sandbox: it may do all that you may".to_owned());
            }
        }
        if spec.network == NetworkAccess::Open && spec.sandbox != ToolkitSandbox::Off {
            beyond.push("reaches services of this machine and around it".to_owned());
        }
        if let Some(folder) = working_dir {
            beyond.push(format!("works in {}", plain_line(&folder.display().to_string())));
        }
    }
    match &spec.allow {
        AllowedTools::ReadOnly => {}
        AllowedTools::All => {
            beyond.push("all its tools may be called, also those that change things".to_owned());
        }
        AllowedTools::Named(tools) => {
            let names: Vec<String> = tools.iter().map(|tool| plain_line(tool)).collect();
            beyond.push(format!("these tools may be called: {}", names.join(", ")));
        }
    }
    beyond
}

/// Formats a command line with shell quoting, which shows the limits of each argument.
fn format_command_line(command: &str, args: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    let word = |word: &str| {
        if !word.is_empty() && word.chars().all(is_plain) {
            word.to_owned()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    let words = std::iter::once(command).chain(args.iter().map(String::as_str)).map(word);
    plain_line(&words.collect::<Vec<_>>().join(" "))
}
