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
    toolkit_file::{REPOSITORY_FILE, RepositoryToolkitFile, find_repository},
};
use crate::spec::{
    AllowedTools, SpecReader, ToolkitDocumentEntry, ToolkitName, ToolkitSandbox, ToolkitSpec,
    ToolkitTransport,
};

const MAX_FILES: usize = 1024;

/// Allowlist, stored in `DATA_DIR/toolkits/allowed.json`.
#[derive(Debug)]
pub struct ToolkitAllowlist {
    decisions: DecisionFile<AllowedDigests>,
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
    pub status: AllowlistStatus,
    pub toolkits: Vec<ToolkitPreview>,
    content: RepositoryToolkitFile,
}

/// Summary of one toolkit in a repository's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolkitPreview {
    pub name: String,
    pub enabled: bool,
    /// Command line, or URL, on one line, with variables unexpanded.
    #[serde(rename = "runs")]
    pub command_line: String,
    /// Environment variables or headers as `NAME=VALUE`, with variables unexpanded.
    #[serde(rename = "given")]
    pub variables: Vec<String>,
    /// Permissions beyond the defaults, each in a few words.
    #[serde(rename = "beyond")]
    pub extra_permissions: Vec<String>,
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
        self.content.digest()
    }
}

impl ToolkitAllowlist {
    pub fn new(data_dir: &Path) -> Self {
        Self { decisions: DecisionFile::new(data_dir, "allowed.json") }
    }

    /// Checks a file, with the content that was read, against the allowlist.
    pub fn check_file(
        &self,
        found: &RepositoryToolkitFile,
    ) -> Result<AllowlistStatus, DecisionFileError> {
        let files = self.decisions.read()?.files;
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
            status: self.check_file(&found)?,
            toolkits: toolkits
                .into_iter()
                .map(|(name, entry)| preview_toolkit(&name, &entry))
                .collect(),
            content: found,
        })
    }

    /// Allows the content of the proposal. A later change of the file is not allowed.
    pub fn accept_proposal(&self, proposal: &AllowProposal) -> Result<(), DecisionFileError> {
        let path = self.decisions.path().to_owned();
        self.decisions.update(|decisions| {
            let key = build_file_key(&proposal.content);
            if !decisions.files.contains_key(&key) && decisions.files.len() >= MAX_FILES {
                return Err(DecisionFileError::Full { path, max: MAX_FILES, what: "files" });
            }
            decisions.files.insert(key, proposal.content.digest());
            Ok(())
        })
    }
}

/// Returns the path as a key. A path that is not UTF-8 is escaped, so that two files cannot share a key.
fn build_file_key(found: &RepositoryToolkitFile) -> String {
    let bytes = || found.file.as_os_str().as_encoded_bytes().escape_ascii().to_string();
    found.file.to_str().map_or_else(bytes, str::to_owned)
}

fn preview_toolkit(name: &ToolkitName, entry: &ToolkitDocumentEntry) -> ToolkitPreview {
    let ToolkitDocumentEntry::Is(spec) = entry else {
        return ToolkitPreview {
            name: name.to_string(),
            enabled: false,
            command_line: String::new(),
            variables: Vec::new(),
            extra_permissions: Vec::new(),
        };
    };
    let (command_line, variables) = match &spec.transport {
        ToolkitTransport::Stdio { command, args, env, working_dir: _ } => {
            (format_command_line(command, args), env)
        }
        ToolkitTransport::Http { url, headers } => (plain_line(url), headers),
    };
    // A value may name a program.
    let format_variable =
        |(name, value): (&String, &Secret)| plain_line(&format!("{name}={}", value.expose()));
    ToolkitPreview {
        name: name.to_string(),
        enabled: spec.enabled,
        command_line,
        variables: variables.iter().map(format_variable).collect(),
        extra_permissions: list_extra_permissions(spec),
    }
}

fn list_extra_permissions(spec: &ToolkitSpec) -> Vec<String> {
    let mut extra = Vec::new();
    if let ToolkitTransport::Stdio { working_dir, .. } = &spec.transport {
        match spec.sandbox {
            ToolkitSandbox::ReadOnly => {}
            ToolkitSandbox::WorkspaceWrite => extra.push("writes its working folder".to_owned()),
            ToolkitSandbox::Off => {
                extra.push("runs OUTSIDE the sandbox: it may do all that you may".to_owned());
            }
        }
        if spec.network == NetworkAccess::Open && spec.sandbox != ToolkitSandbox::Off {
            extra.push("reaches services of this machine and around it".to_owned());
        }
        if let Some(folder) = working_dir {
            extra.push(format!("works in {}", plain_line(&folder.display().to_string())));
        }
    }
    match &spec.allow {
        AllowedTools::ReadOnly => {}
        AllowedTools::All => {
            extra.push("all its tools may be called, also those that change things".to_owned());
        }
        AllowedTools::Named(tools) => {
            let names: Vec<String> = tools.iter().map(|tool| plain_line(tool)).collect();
            extra.push(format!("these tools may be called: {}", names.join(", ")));
        }
    }
    extra
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
