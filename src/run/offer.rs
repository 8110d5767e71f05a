//! Offers to index the folder of a search or a question before the command runs.

use std::{
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

use codeinfo_core::error::ErrorCode;
use codeinfo_ingest::can_be_indexed;
use codeinfo_server::{
    mcp_http::{name_ingest_command, quote_path},
    replies::{ListedRoot, RootsReply},
};
use codeinfo_worktree::git::find_repository;
use serde_json::Value;

use super::{home_folder, remind::is_part_of};
use crate::{
    app::private_places,
    cli::{self, ApiClient, CliCommand, CliError, SearchCommand},
    config::Config,
    install::ask_person,
};

/// Indexes the repository around the working folder, or the folder in `--repository`, if it is not
/// indexed and a person on a terminal agrees. Otherwise prints how to index it.
///
/// # Errors
///
/// Indexing fails, or the named folder remains without an index.
pub(super) async fn offer_to_index(
    command: &CliCommand,
    client: &ApiClient,
    config: &Config,
) -> Result<(), CliError> {
    let named = match command {
        CliCommand::Search(SearchCommand { between: None, repository, .. }) => repository,
        CliCommand::Ask { conversation: None, repository, .. } if !lacks_codex(client).await => {
            repository
        }
        _ => return Ok(()),
    };
    // A failure to list the roots also prevents the command, which then reports it.
    let Ok(RootsReply { mut roots }) = client.get(&["ingest", "roots"]).await else {
        return Ok(());
    };
    roots.retain(|root| root.last_ingest_at.is_some());
    let found = named
        .as_ref()
        .map_or_else(|| find_repository_here(&roots), |named| find_named_folder(named, &roots));
    let Some(folder) = found.filter(|folder| is_offered(folder, config)) else { return Ok(()) };
    let shown = quote_path(&folder);
    let is_person = io::stdin().is_terminal() && io::stderr().is_terminal();
    let question = format!("`{shown}` is not indexed; index it now?");
    if is_person && ask_person(&question, true)?.unwrap_or_default() {
        return cli::ingest_for_search(client, &folder).await;
    }
    let advice = format!("`{shown}` is not indexed; {} indexes it", name_ingest_command(&shown));
    if named.is_some() {
        return Err(CliError::Usage(advice));
    }
    // Without any index, the command reports that itself; the server reports it for a worktree.
    if roots.is_empty() || folder.join(".git").is_file() {
        return Ok(());
    }
    cli::print_note(&if is_person {
        "what follows is about other repositories".to_owned()
    } else {
        advice
    })
}

/// Returns whether a question would be refused because Codex is unavailable; an index would not
/// help.
async fn lacks_codex(client: &ApiClient) -> bool {
    let ready = client.get::<Value>(&["ready"]).await;
    matches!(ready, Err(CliError::Refused { code, .. }) if code == ErrorCode::LlmUnavailable.as_str())
}

/// Returns the root of the git repository around the working folder, unless that folder is indexed.
fn find_repository_here(roots: &[ListedRoot]) -> Option<PathBuf> {
    let folder = std::env::current_dir().ok()?;
    let is_indexed = roots.iter().any(|root| is_part_of(&folder, &root.path));
    if is_indexed { None } else { find_repository(&folder, home_folder().as_deref()) }
}

/// Returns the folder whose path is used as the name of a repository, unless it is indexed.
fn find_named_folder(named: &str, roots: &[ListedRoot]) -> Option<PathBuf> {
    let folder = PathBuf::from(cli::resolve_reference(named));
    let is_indexed = roots.iter().any(|root| folder.starts_with(&root.path));
    (folder.is_absolute() && !is_indexed).then_some(folder)
}

/// Returns whether a folder may be offered: it can be indexed and contains no home folder.
fn is_offered(folder: &Path, config: &Config) -> bool {
    let is_home = home_folder().is_some_and(|home| home.starts_with(folder));
    !is_home && can_be_indexed(folder, &private_places(config))
}
