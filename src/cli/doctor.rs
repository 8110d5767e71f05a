//! Checks every part of a server and prints advice for each problem.

use std::time::{Duration, Instant};

use codeinfo_codex::{SandboxMode, ShellNetwork};
use codeinfo_server::replies::{ExcludedRepo, HealthReply, IngestedRepos, SandboxHealth};
use codeinfo_toolkits::{ToolDirectory, connection::ToolkitState};
use serde_json::Value;

use super::{
    ApiClient, CliError,
    print::{count_things, format_time, print_line, print_note, single_line},
    repos::explain_gone,
};

/// Maximum time for parts to answer: a service loads its model at the first request.
const TIMEOUT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(500);

/// Prints one line for each part of the server; fails if a part has a problem.
pub(super) async fn check_server(client: &ApiClient) -> Result<(), CliError> {
    // `/ready` checks Codex again, so that `/health` knows its state.
    let ready = client.get::<Value>(&["ready"]).await;
    let missing = match ready {
        Ok(_) => String::new(),
        Err(CliError::Refused { message, .. }) => message,
        Err(error) => return Err(error),
    };
    let HealthReply { store, embedder, codex, .. } = wait_for_health(client).await?;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let mut all_ok = true;
    let backend = [store.backend, text(&store.version)].join(" ");
    let chunks = store.chunks.unwrap_or(0);
    let least = store.copies.iter().min_by_key(|part| part.copies);
    let shown_copies = least.map(|part| format!(", {} of {} copies", part.copies, part.wanted));
    let chunks_held = count_things(chunks, "chunk");
    let copies = text(&shown_copies);
    let detail = format!("{}, {chunks_held}{copies}", backend.trim());
    all_ok &= print_check("store", store.ok, &detail, &text(&store.reason))?;
    if let Some(warning) = &store.warning {
        print_remark("store", warning)?;
    }
    let dimensions = embedder.dimensions.unwrap_or(0);
    all_ok &= print_check(
        "embedder",
        embedder.ok,
        &format!("{}, {dimensions} dimensions", embedder.name),
        &if embedder.slow { too_slow() } else { text(&embedder.reason) },
    )?;
    all_ok &= print_check(
        "codex",
        codex.available,
        [text(&codex.version), text(&codex.model)].join(" ").trim(),
        &missing,
    )?;
    if let Some(confined) = &codex.sandbox {
        all_ok &= check_sandbox(confined)?;
    }
    all_ok &= check_toolkits(client).await?;
    if store.ok {
        all_ok &= check_indexes(client).await?;
    }
    if chunks == 0 && store.ok {
        print_line("note  nothing is indexed yet: `codeinfo ingest PATH`")?;
    }
    if all_ok { Ok(()) } else { Err(CliError::Checks) }
}

/// Prints the size and age of each index, and the reason why one is out of date.
async fn check_indexes(client: &ApiClient) -> Result<bool, CliError> {
    let mut all_ok = true;
    for repo in client.get::<IngestedRepos>(&["tools", "ingested-repos"]).await?.repos {
        let name = single_line(&repo.name);
        let path = single_line(&repo.path.to_string_lossy());
        if repo.folder_gone {
            print_remark(&format!("{name} ({path})"), &explain_gone(&repo))?;
            continue;
        }
        let files = count_things(repo.counts.files, "file");
        let age = repo.last_ingest_at.as_deref().map(format_time).unwrap_or_default();
        let reason = match (&repo.last_error, &repo.last_ingest_at) {
            (Some(error), _) => single_line(error),
            (None, None) => "indexing never completed".to_owned(),
            (None, Some(_)) => String::new(),
        };
        let problem = format!("{reason}; `codeinfo ingest {path}` tries again");
        let detail = format!("{files}, indexed {age}");
        all_ok &= print_check(&format!("index {name}"), reason.is_empty(), &detail, &problem)?;
    }
    Ok(all_ok)
}

/// Prints the state of each toolkit. A stopped one starts when it is needed.
async fn check_toolkits(client: &ApiClient) -> Result<bool, CliError> {
    let ToolDirectory { toolkits, warnings, .. } = client.get(&["tools"]).await?;
    for warning in warnings {
        print_remark("toolkits", &single_line(&warning))?;
    }
    let mut all_ok = true;
    for toolkit in toolkits {
        let state = match toolkit.state {
            ToolkitState::Ready => count_things(toolkit.tools as u64, "tool"),
            ToolkitState::Disabled => "switched off".to_owned(),
            ToolkitState::Stopped => "not running; it starts when it is needed".to_owned(),
            ToolkitState::Starting => "starting".to_owned(),
            ToolkitState::Failing => String::new(),
        };
        let error = single_line(toolkit.last_error.as_deref().unwrap_or_default());
        let problem = format!("{error}; `codeinfo mcp start {}` starts it again", toolkit.name);
        let detail = format!("{}, {state}", toolkit.transport);
        let did_not_start = toolkit.state == ToolkitState::Stopped && toolkit.last_error.is_some();
        let is_ok = toolkit.state != ToolkitState::Failing && !did_not_start;
        all_ok &= print_check(&format!("toolkit {}", toolkit.name), is_ok, &detail, &problem)?;
    }
    Ok(all_ok)
}

fn check_sandbox(sandbox: &SandboxHealth) -> Result<bool, CliError> {
    let SandboxHealth { mode, network, ok, reason, hint, unread } = sandbox;
    if *mode == SandboxMode::DangerFullAccess {
        print_remark(
            "sandbox",
            "off (danger-full-access): the model's shell reads and writes all",
        )?;
        return Ok(true);
    }
    if *network == ShellNetwork::Unavailable {
        print_remark(
            "sandbox",
            "the network of the model's shell is off, because this Codex has no proxy for it: \
             `npm install -g @openai/codex`",
        )?;
    }
    for ExcludedRepo { repo, reason } in unread {
        let repo = single_line(repo);
        let detail =
            format!("the model's shell does not read {repo}, which search still finds: {reason}");
        print_remark("sandbox", &detail)?;
    }
    let [reason, hint] = [reason, hint].map(|text| text.as_deref().unwrap_or_default());
    let problem = format!("{reason}; {hint}");
    print_check("sandbox", *ok, &format!("{mode}, network {network}"), &problem)
}

/// Returns the state of the parts. Asks again for a while if only answers are missing.
async fn wait_for_health(client: &ApiClient) -> Result<HealthReply, CliError> {
    let started = Instant::now();
    let mut health: HealthReply = client.get(&["health"]).await?;
    if is_slow(&health) {
        let seconds = TIMEOUT.as_secs();
        print_note(&format!(
            "no answer yet, perhaps because a model is being loaded; waiting up to {seconds} s"
        ))?;
    }
    while is_slow(&health) && started.elapsed() < TIMEOUT {
        tokio::time::sleep(PAUSE).await;
        health = client.get(&["health"]).await?;
    }
    Ok(health)
}

/// Returns whether the answer of the embedder is awaited, or that of a store that depends on it.
fn is_slow(HealthReply { embedder, store, .. }: &HealthReply) -> bool {
    embedder.slow || embedder.ok && store.slow
}

fn too_slow() -> String {
    format!(
        "no answer within {} s; see in the service's log whether it still loads its model or lacks \
         memory for it, and run `codeinfo doctor` again",
        TIMEOUT.as_secs()
    )
}

pub fn print_remark(part: &str, detail: &str) -> Result<(), CliError> {
    print_line(&format!("note  {part}: {detail}"))
}

/// Prints the state of one part, with advice if it failed.
pub fn print_check(part: &str, ok: bool, detail: &str, problem: &str) -> Result<bool, CliError> {
    if ok {
        print_line(&format!("ok    {part}: {detail}"))?;
    } else {
        print_line(&format!("FAIL  {part}: {problem}"))?;
    }
    Ok(ok)
}
