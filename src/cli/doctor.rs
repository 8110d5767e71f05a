//! Checks every part of a server and says what to do about what is wrong.

use serde_json::Value;

use super::{CliError, Client, print};

/// Prints one line for each part of the server; fails when one of them is not well.
pub(super) async fn server(client: &Client) -> Result<(), CliError> {
    // `/ready` looks for Codex anew, so `/health` then knows it.
    let ready = client.get::<Value>(&["ready"]).await;
    let missing = match ready {
        Ok(_) => String::new(),
        Err(CliError::Refused { message, .. }) => message,
        Err(error) => return Err(error),
    };
    let health: Value = client.get(&["health"]).await?;
    let text = |pointer: &str| {
        health.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let yes = |pointer: &str| health.pointer(pointer).and_then(Value::as_bool) == Some(true);
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
        &text("/embedder/reason"),
    )?;
    well &= check(
        "codex",
        yes("/codex/available"),
        [text("/codex/version"), text("/codex/model")].join(" ").trim(),
        &missing,
    )?;
    if chunks == 0 && yes("/store/ok") {
        print::line("note  nothing is indexed yet: `codeinfo ingest PATH`")?;
    }
    if well { Ok(()) } else { Err(CliError::Checks) }
}

/// Prints the state of one part, with what to do where it is not well.
pub fn check(part: &str, ok: bool, detail: &str, trouble: &str) -> Result<bool, CliError> {
    if ok {
        print::line(&format!("ok    {part}: {detail}"))?;
    } else {
        print::line(&format!("FAIL  {part}: {trouble}"))?;
    }
    Ok(ok)
}
