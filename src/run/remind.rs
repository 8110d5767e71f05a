//! `codeinfo hook`: reminds the model of Claude Code with each prompt that the folder is indexed.
//!
//! The prompt waits for this command. So it starts no runtime, reads its replies over plain
//! connections, and gives up when that takes too long.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::Duration,
};

use codeinfo_core::Secret;
use codeinfo_server::replies::IngestedRepos;
use codeinfo_worktree::git::find_repository;
use serde_json::Value;

use crate::{cli::HookCommand, config};

/// Text for the model, at most 600 bytes.
const REMINDER: &str = "\
This repository is indexed by CodeInfo. Before grep or reading files to learn how its code works, where something is, what \
uses it or what a change affects, ask codebase_question (mcp__codeinfo__codebase_question); if it is listed but deferred, \
load it by name. Sub-agents do the same: say so when you start one. Search yourself for exact text and for uncommitted \
changes.
";
/// Maximum bytes that are read of a prompt or a reply.
const MAX_BYTES: u64 = 4 << 20;

/// Returns the reminder if the server confirms in time that the prompt's folder is indexed and a
/// question would be answered.
pub fn find_reminder(asked: &HookCommand) -> Option<&'static str> {
    let (sender, receiver) = mpsc::sync_channel(1);
    // A thread that waits for a silent server ends with the process.
    let ask = move || {
        let _ = sender.send(is_indexed().unwrap_or(false));
    };
    thread::Builder::new().spawn(ask).ok()?;
    let is_indexed = receiver.recv_timeout(Duration::from_millis(asked.wait_ms)).ok()?;
    is_indexed.then_some(REMINDER)
}

/// Returns whether the running server knows the folder of the prompt.
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

/// Returns the body of a successful reply.
fn read_body(server: &mut TcpStream) -> Option<String> {
    let mut reply = String::new();
    server.take(MAX_BYTES).read_to_string(&mut reply).ok()?;
    let (head, body) = reply.split_once("\r\n\r\n")?;
    head.lines().next()?.contains(" 200").then(|| body.to_owned())
}

/// Returns whether a folder is in an indexed root, but not in a nested repository of it.
pub(super) fn is_part_of(folder: &Path, root: &Path) -> bool {
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
