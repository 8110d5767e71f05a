//! Checks every part of a server and says what to do about what is wrong.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{CliError, Client, print};

/// How long parts may take to answer: a service loads its model when it is first asked.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pause before looking again.
const PAUSE: Duration = Duration::from_millis(500);

/// Prints one line for each part of the server; fails when one of them is not well.
pub(super) async fn server(client: &Client) -> Result<(), CliError> {
    // `/ready` checks Codex again, so `/health` then knows it.
    let ready = client.get::<Value>(&["ready"]).await;
    let missing = match ready {
        Ok(_) => String::new(),
        Err(CliError::Refused { message, .. }) => message,
        Err(error) => return Err(error),
    };
    let health = health(client).await?;
    let text = |pointer: &str| {
        health.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let yes = |pointer: &str| is_true(&health, pointer);
    let mut well = true;
    let chunks = health.pointer("/store/chunks").and_then(Value::as_u64).unwrap_or_default();
    well &= check(
        "store",
        yes("/store/ok"),
        &format!(
            "{}, {}",
            [text("/store/backend"), text("/store/version")].join(" ").trim(),
            print::counted(chunks, "chunk")
        ),
        &text("/store/reason"),
    )?;
    let dimensions = health.pointer("/embedder/dimensions").and_then(Value::as_u64);
    well &= check(
        "embedder",
        yes("/embedder/ok"),
        &format!("{}, {} dimensions", text("/embedder/name"), dimensions.unwrap_or_default()),
        &if yes("/embedder/slow") { too_slow() } else { text("/embedder/reason") },
    )?;
    well &= check(
        "codex",
        yes("/codex/available"),
        [text("/codex/version"), text("/codex/model")].join(" ").trim(),
        &missing,
    )?;
    well &= sandbox(&health)?;
    if chunks == 0 && yes("/store/ok") {
        print::line("note  nothing is indexed yet: `codeinfo ingest PATH`")?;
    }
    if well { Ok(()) } else { Err(CliError::Checks) }
}

/// Prints how the model's shell is confined, where Codex was asked.
fn sandbox(health: &Value) -> Result<bool, CliError> {
    let Some(sandbox) = health.pointer("/codex/sandbox") else { return Ok(true) };
    let text = |name: &str| sandbox.get(name).and_then(Value::as_str).unwrap_or_default();
    if text("mode") == "danger-full-access" {
        print::line(
            "note  sandbox: off (danger-full-access): the model's shell reads and writes all",
        )?;
        return Ok(true);
    }
    if text("network") == "unavailable" {
        print::line(
            "note  sandbox: the network of the model's shell is off, because this Codex has no proxy \
             for it: `npm install -g @openai/codex`",
        )?;
    }
    for unread in sandbox.get("unread").and_then(Value::as_array).into_iter().flatten() {
        let text = |name: &str| unread.get(name).and_then(Value::as_str).unwrap_or_default();
        print::line(&format!(
            "note  sandbox: the model's shell does not read {}, which search still finds: {}",
            print::name(text("repo")),
            text("reason")
        ))?;
    }
    let problem = format!("{}; {}", text("reason"), text("hint"));
    let detail = format!("{}, network {}", text("mode"), text("network"));
    check("sandbox", is_true(sandbox, "/ok"), &detail, &problem)
}

/// Returns the state of the parts; asks again for a while if nothing is missing but an answer.
async fn health(client: &Client) -> Result<Value, CliError> {
    let started = Instant::now();
    let mut health: Value = client.get(&["health"]).await?;
    if is_slow(&health) {
        let seconds = PATIENCE.as_secs();
        print::note(&format!(
            "no answer yet, perhaps because a model is being loaded; waiting up to {seconds} s"
        ))?;
    }
    while is_slow(&health) && started.elapsed() < PATIENCE {
        tokio::time::sleep(PAUSE).await;
        health = client.get(&["health"]).await?;
    }
    Ok(health)
}

/// Whether an answer is awaited, of the embedder or of a store that may itself have waited for that.
fn is_slow(health: &Value) -> bool {
    let embedder_is_well = is_true(health, "/embedder/ok");
    is_true(health, "/embedder/slow") || embedder_is_well && is_true(health, "/store/slow")
}

fn is_true(health: &Value, pointer: &str) -> bool {
    health.pointer(pointer).and_then(Value::as_bool) == Some(true)
}

fn too_slow() -> String {
    format!(
        "no answer within {} s; see in the service's log whether it still loads its model or lacks \
         memory for it, and run `codeinfo doctor` again",
        PATIENCE.as_secs()
    )
}

/// Prints the state of one part, with what to do where it is not well.
pub fn check(part: &str, ok: bool, detail: &str, problem: &str) -> Result<bool, CliError> {
    if ok {
        print::line(&format!("ok    {part}: {detail}"))?;
    } else {
        print::line(&format!("FAIL  {part}: {problem}"))?;
    }
    Ok(ok)
}
