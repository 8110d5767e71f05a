//! Messages of `codeinfo serve` when it starts and stops.

use std::{path::Path, time::Duration};

use codeinfo_core::error::ErrorCode;
use codeinfo_server::replies::HealthReply;
use serde_json::Value;

use super::{ApiClient, CliError, print};

/// Prints the addresses of the listeners, the size of the index, and the state of Codex.
pub async fn print_banner(
    client: &ApiClient,
    mcp_url: &str,
    watches: bool,
    log_file: Option<&Path>,
) -> Result<(), CliError> {
    // `/ready` checks Codex again, so that `/health` knows its state.
    let ready = client.get::<Value>(&["ready"]).await;
    let health: HealthReply = client.get(&["health"]).await?;
    let base = client.base_url();
    print::print_line(&format!("Page        {base}/  (ask, and look at the evidence)"))?;
    print::print_line(&format!("HTTP API    {base}"))?;
    print::print_line(&format!("MCP server  {mcp_url}/mcp  (tool: codebase_question)"))?;
    print::print_line(&match health.store.chunks {
        None => format!("Index       away: {}", health.store.reason.unwrap_or_default()),
        Some(0) => "Index       empty; `codeinfo ingest PATH` fills it".to_owned(),
        Some(chunks) => format!("Index       {}", print::count_things(chunks, "chunk")),
    })?;
    if watches {
        print::print_line("            kept up to date while files change")?;
    }
    match ready {
        Err(CliError::Refused { code, message }) if code == ErrorCode::LlmUnavailable.as_str() => {
            let reason = health.codex.reason.unwrap_or_default();
            let hint = message.strip_prefix(&reason).unwrap_or(&message).trim_start_matches("; ");
            print::print_line(
                "Codex       cannot be used, so questions are not answered; search works",
            )?;
            print::print_line(&format!("  missing   {reason}"))?;
            print::print_line(&format!("  to do     {hint}"))?;
        }
        // The lack of an index is printed above.
        Ok(_) | Err(CliError::Refused { .. }) => {
            print::print_line(&format!(
                "Codex       {}",
                health.codex.version.unwrap_or_default()
            ))?;
        }
        Err(error) => return Err(error),
    }
    if let Some(path) = log_file {
        print::print_line(&format!("Log         {}", path.display()))?;
    }
    print::print_line("Ctrl-C stops the server.")
}

/// Prints that the server of clients is asked to end, and the maximum time for that.
pub fn taking_over(pid: u32, url: &str, limit: Duration) -> Result<(), CliError> {
    let seconds = limit.as_secs();
    print::print_note(&format!(
        "taking the place of the server that clients started (process {pid} at {url}): it ends what it works on, \
         which takes at most {seconds} s"
    ))
}

/// Prints that a command read a damaged index.
pub fn print_damage() -> Result<(), CliError> {
    print::print_note(
        "codeinfo: the index is damaged, results may be missing; \"codeinfo serve\" repairs it",
    )
}

/// Prints that the server stops, with its remaining work and the time for it.
pub fn print_stopping(turns: usize, runs: usize, grace: Duration) -> Result<(), CliError> {
    let some = |count: usize, what: &str| match count {
        0 => None,
        1 => Some(format!("1 {what}")),
        _ => Some(format!("{count} {what}s")),
    };
    let under_way: Vec<String> =
        [some(turns, "question"), some(runs, "run")].into_iter().flatten().collect();
    let seconds = grace.as_secs();
    print::print_note(&match under_way.join(" and ") {
        none if none.is_empty() => "stopping".to_owned(),
        some => format!("stopping: waiting for {some}, at most {seconds} s"),
    })
}
