//! Which files of repositories may name toolkits: those whose content a person has allowed. Indexed code never
//! starts a program by itself.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use codeinfo_codex::NetworkAccess;
use codeinfo_core::{Secret, error::ErrorCode, plain_line};
use serde::{Deserialize, Serialize};

use super::{
    kept::{DecisionFile, DecisionFileError},
    layers::{REPOSITORY_FILE, RepositoryToolkitFile, find_repository},
};
use crate::spec::{
    AllowedTools, SpecReader, ToolkitDocumentEntry, ToolkitName, ToolkitSandbox, ToolkitSpec,
    ToolkitTransport,
};

/// Most files that are allowed at a time.
const MAX_FILES: usize = 1024;

/// The files that are allowed, in `DATA_DIR/toolkits/allowed.json`.
#[derive(Debug)]
pub struct ToolkitAllowlist {
    kept: DecisionFile<AllowedDigests>,
}

/// The SHA-256 of each file, by its path without links.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct AllowedDigests {
    files: BTreeMap<String, String>,
}

/// Whether a file is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowlistStatus {
    Allowed,
    /// It never was.
    New,
    /// It was, with another content.
    Changed,
}

/// What allowing a repository's file allows: for a person to read first.
#[derive(Debug, Clone, PartialEq)]
pub struct AllowProposal {
    pub file: PathBuf,
    pub standing: AllowlistStatus,
    pub toolkits: Vec<ToolkitPreview>,
    found: RepositoryToolkitFile,
}

/// One toolkit of a repository's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolkitPreview {
    pub name: ToolkitName,
    pub enabled: bool,
    /// The command with its arguments as they are written, without what the environment puts in; or the address. One line.
    pub runs: String,
    /// The variables or the headers that it is given, as `NAME=VALUE`, as they are written.
    pub given: Vec<String>,
    /// What it may do beyond what a toolkit may by default, each in a few words.
    pub beyond: Vec<String>,
}

/// A repository's file cannot be allowed.
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

    /// Returns whether a file is allowed as it was read.
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

    /// Returns what the repository that `path` is in wants to have allowed. A file with faults cannot be.
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
            .as_written(&found.text, &found.root)
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

    /// Allows what was proposed. A file that has changed since then is not allowed by it.
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

/// Returns the path; of one that is not UTF-8 all bytes, or two files could share it.
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
            ToolkitTransport::Stdio { command, args, env, working_dir: _ } => (
                spec.enabled,
                format_command_line(command, args),
                env.iter().map(format_variable).collect(),
            ),
            ToolkitTransport::Http { url, headers } => {
                (spec.enabled, plain_line(url), headers.iter().map(format_variable).collect())
            }
        },
        ToolkitDocumentEntry::Off | ToolkitDocumentEntry::Broken(_) => {
            (false, String::new(), Vec::new())
        }
    };
    ToolkitPreview { name, enabled, runs, given, beyond }
}

/// A variable as the file has it: a value may name a program, too.
fn format_variable((name, value): (&String, &Secret)) -> String {
    plain_line(&format!("{name}={}", value.expose()))
}

/// Says what a toolkit may do that others may not by default.
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
            let tools: Vec<String> = tools.iter().map(|tool| plain_line(tool)).collect();
            beyond.push(format!("these tools may be called: {}", tools.join(", ")));
        }
    }
    beyond
}

/// Returns a command as a shell would take it, so that what is one argument is seen as one.
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
