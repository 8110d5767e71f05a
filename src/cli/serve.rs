//! What `codeinfo serve` says once it is up, and when it stops.

use std::{path::Path, time::Duration};

use codeinfo_core::error::Code;
use codeinfo_server::replies::Health;
use serde_json::Value;

use super::{CliError, Client, print};

/// Says where the listeners are, what is indexed, and whether Codex can be used.
pub async fn banner(
    client: &Client,
    mcp_url: &str,
    watches: bool,
    log_file: Option<&Path>,
) -> Result<(), CliError> {
    // `/ready` checks Codex again, so `/health` then knows it.
    let ready = client.get::<Value>(&["ready"]).await;
    let health: Health = client.get(&["health"]).await?;
    let base = client.base();
    print::line(&format!("Page        {base}/  (ask, and look at the evidence)"))?;
    print::line(&format!("HTTP API    {base}"))?;
    print::line(&format!("MCP server  {mcp_url}/mcp  (tool: codebase_question)"))?;
    print::line(&match health.store.chunks {
        None => format!("Index       away: {}", health.store.reason.unwrap_or_default()),
        Some(0) => "Index       empty; `codeinfo ingest PATH` fills it".to_owned(),
        Some(chunks) => format!("Index       {}", print::count_things(chunks, "chunk")),
    })?;
    if watches {
        print::line("            kept up to date while files change")?;
    }
    match ready {
        Err(CliError::Refused { code, message }) if code == Code::LlmUnavailable.as_str() => {
            let reason = health.codex.reason.unwrap_or_default();
            let hint = message.strip_prefix(&reason).unwrap_or(&message).trim_start_matches("; ");
            print::line("Codex       cannot be used, so questions are not answered; search works")?;
            print::line(&format!("  missing   {reason}"))?;
            print::line(&format!("  to do     {hint}"))?;
        }
        // What the index lacks is said above.
        Ok(_) | Err(CliError::Refused { .. }) => {
            print::line(&format!("Codex       {}", health.codex.version.unwrap_or_default()))?;
        }
        Err(error) => return Err(error),
    }
    if let Some(path) = log_file {
        print::line(&format!("Log         {}", path.display()))?;
    }
    print::line("Ctrl-C stops the server.")
}

/// Says that the server of clients is asked to end, and how long that may take.
pub fn taking_over(pid: u32, url: &str, limit: Duration) -> Result<(), CliError> {
    let seconds = limit.as_secs();
    print::note(&format!(
        "taking the place of the server that clients started (process {pid} at {url}): it ends what it works on, \
         which takes at most {seconds} s"
    ))
}

/// Says that a command read an index that is not whole.
pub fn damaged() -> Result<(), CliError> {
    print::note(
        "codeinfo: the index is damaged, results may be missing; \"codeinfo serve\" repairs it",
    )
}

/// Says that the server stops, and what has how long to end.
pub fn stopping(turns: usize, runs: usize, grace: Duration) -> Result<(), CliError> {
    let some = |count: usize, what: &str| match count {
        0 => None,
        1 => Some(format!("1 {what}")),
        _ => Some(format!("{count} {what}s")),
    };
    let under_way: Vec<String> =
        [some(turns, "question"), some(runs, "run")].into_iter().flatten().collect();
    let seconds = grace.as_secs();
    print::note(&match under_way.join(" and ") {
        none if none.is_empty() => "stopping".to_owned(),
        some => format!("stopping: waiting for {some}, at most {seconds} s"),
    })
}
