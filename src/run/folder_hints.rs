//! Hints about the index of a folder: an offer to a person, and a reminder by `codeinfo hook`.

use std::{
    io::{self, IsTerminal, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::Duration,
};

use codeinfo_core::{Secret, error::ErrorCode};
use codeinfo_ingest::can_be_indexed;
use codeinfo_server::{
    mcp_http::{name_ingest_command, quote_path},
    replies::{IngestedRepos, ListedRoot, RootsReply},
};
use codeinfo_worktree::git::find_repository;
use serde_json::Value;

use super::home_folder;
use crate::{
    app::private_places,
    cli::{
        self, ApiClient, CliCommand, CliError, HookCommand, SearchCommand, SymbolCommand,
        TraceCommand,
    },
    config::{self, Config},
    install::ask_person,
};

/// Text for the model, at most 600 bytes.
const REMINDER: &str = "\
This repository is indexed by CodeInfo. Before grep or reading files to learn how its code works, where something is, what \
uses it or what a change affects, ask codebase_question (mcp__codeinfo__codebase_question); if it is listed but deferred, \
load it by name. Sub-agents do the same: say so when you start one. Search yourself for exact text and for uncommitted \
changes.
";
/// Maximum bytes that are read of a prompt or a reply.
const MAX_BYTES: u64 = 4 << 20;

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
        CliCommand::Search(SearchCommand { between: None, repository, .. })
        | CliCommand::Uses(SymbolCommand { repository, .. })
        | CliCommand::Callers(SymbolCommand { repository, .. })
        | CliCommand::Callees(SymbolCommand { repository, .. })
        | CliCommand::Trace(TraceCommand { repository, .. }) => repository,
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

/// Returns whether Codex is unavailable, so that a question would be refused even with an index.
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

/// Returns the reminder if the server says in time that the folder is indexed and questions work.
pub fn find_reminder(arguments: &HookCommand) -> Option<&'static str> {
    let (sender, receiver) = mpsc::sync_channel(1);
    // A thread that waits for a silent server ends with the process.
    let ask = move || {
        let _ = sender.send(is_indexed().unwrap_or(false));
    };
    thread::Builder::new().spawn(ask).ok()?;
    let is_indexed = receiver.recv_timeout(Duration::from_millis(arguments.wait_ms)).ok()?;
    is_indexed.then_some(REMINDER)
}

fn is_indexed() -> Option<bool> {
    let folder = read_folder(io::stdin().lock())?;
    let config = config::from_environment().ok()?;
    let url = codeinfo_store::find_lock_holder(&config.data_dir).ok()??.main_url?;
    let key = codeinfo_credentials::owner_key(&config.data_dir).ok().flatten();
    let address = url.strip_prefix("http://")?;
    // Both requests run at the same time, each over its own connection.
    let mut repositories = send_request(address, "/tools/ingested-repos", key.as_ref())?;
    // `/ready` refuses while Codex is unavailable.
    let mut readiness = send_request(address, "/ready", key.as_ref())?;
    let IngestedRepos { repos, .. } = serde_json::from_str(&read_body(&mut repositories)?).ok()?;
    let mut indexed = repos.iter().filter(|repo| repo.last_ingest_at.is_some());
    let is_indexed = indexed.any(|repo| is_part_of(&folder, Path::new(&repo.path)));
    Some(is_indexed && read_body(&mut readiness).is_some())
}

fn send_request(address: &str, path: &str, key: Option<&Secret>) -> Option<TcpStream> {
    let mut server = TcpStream::connect(address).ok()?;
    write!(server, "GET {path} HTTP/1.0\r\nhost: {address}\r\n").ok()?;
    if let Some(key) = key {
        write!(server, "authorization: Bearer {}\r\n", key.expose()).ok()?;
    }
    server.write_all(b"\r\n").ok()?;
    Some(server)
}

fn read_body(server: &mut TcpStream) -> Option<String> {
    let mut reply = String::new();
    server.take(MAX_BYTES).read_to_string(&mut reply).ok()?;
    let (head, body) = reply.split_once("\r\n\r\n")?;
    head.lines().next()?.contains(" 200").then(|| body.to_owned())
}

/// Returns whether a folder is in an indexed root, but not in a nested repository of it.
fn is_part_of(folder: &Path, root: &Path) -> bool {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    if !folder.starts_with(root) && !real.starts_with(root) {
        return false;
    }
    find_repository(root, None).is_none_or(|outer| find_repository(&real, None) == Some(outer))
}

/// Returns the folder of a prompt, as Claude Code reports it.
fn read_folder(input: impl Read) -> Option<PathBuf> {
    let prompt: Value = serde_json::from_reader(input.take(MAX_BYTES)).ok()?;
    prompt.get("cwd")?.as_str().map(PathBuf::from)
}
