//! Tests if a running Codex confines the model's shell.

use std::{path::Path, sync::atomic::Ordering};

use codeinfo_core::ConversationId;
use codeinfo_secrets::redact_message;
use serde_json::{Value, json};
use tracing::warn;
use uuid::Uuid;

use super::{
    codex_config::NO_SANDBOX,
    confinement::{ShellConfinement, ShellNetwork},
    error::{CodexError, UnavailableReason},
    protocol::{CommandExecResult, FeatureList, ThreadOpenResult, ThreadSettings},
    scratch::ThreadSandbox,
    server::CodexServer,
};
use crate::{CodexSettings, SandboxMode};

/// Exit status of the test command when it could read a forbidden folder.
const READS_ALL: i32 = 77;
/// Shell script that lists a folder; the listing must fail.
const TRY: &str = "if ls \"$1\" >/dev/null 2>&1; then exit 77; fi";
/// Maximum run time of the test command in milliseconds; it takes 30 ms.
const TRY_MS: u64 = 10_000;
/// Part of Codex's message for an unknown thread.
const NO_THREAD: &str = "thread not found";
/// Maximum features to read; Codex 0.169 has 215.
const MAX_FEATURES: u32 = 1000;

impl CodexServer {
    /// Tests once per process, and again after `presence_ttl` if the sandbox does not work.
    pub(super) async fn probe_confinement(&self) -> Result<ShellConfinement, CodexError> {
        let is_fresh = |known: &ShellConfinement, age| {
            known.error.is_none() || age < self.settings.presence_ttl
        };
        self.confinement.try_get(is_fresh, || detect_confinement(self, &self.settings)).await
    }

    /// Applies the profile to the shell of an idle `thread`. Fails with `Unconfined` unless Codex confirms it.
    pub(super) async fn confine_shell(
        &self,
        thread: ConversationId,
        asked: &ThreadSettings,
        sandbox: &ThreadSandbox,
        opened: &ThreadOpenResult,
    ) -> Result<(), CodexError> {
        let held = opened.active_permission_profile.as_ref();
        if asked.sandbox == Some(NO_SANDBOX) || held.is_some_and(|held| held.id == sandbox.profile)
        {
            return Ok(());
        }
        let is_confined = match self.set_permissions(thread, &sandbox.profile).await {
            Err(CodexError::Refused { .. }) => false,
            confirmed => confirmed?,
        };
        if is_confined {
            Ok(())
        } else {
            Err(CodexError::Unconfined { version: self.version.clone() })
        }
    }
}

/// Refuses a Codex without permission profiles, which would let the shell read everything.
async fn detect_confinement(
    server: &CodexServer,
    settings: &CodexSettings,
) -> Result<ShellConfinement, CodexError> {
    let sandbox = settings.sandbox;
    if sandbox == SandboxMode::DangerFullAccess {
        warn!("CODEX_SANDBOX is danger-full-access: the model's shell is not confined");
        if !settings.network {
            warn!("CODEX_NETWORK=off has no effect with CODEX_SANDBOX=danger-full-access");
        }
        return Ok(ShellConfinement { sandbox, network: ShellNetwork::Open, error: None });
    }
    if server.program_files().is_none() {
        return Err(CodexError::NoNative);
    }
    let network = match settings.network {
        false => ShellNetwork::Off,
        true if has_proxy(server).await? => ShellNetwork::Proxied,
        true => ShellNetwork::Unavailable,
    };
    if network == ShellNetwork::Unavailable {
        warn!("this Codex has no proxy for the network of the model's shell, which gets none");
    }
    let sets_permissions = knows_settings(server).await?;
    server.sets_permissions.store(sets_permissions, Ordering::Relaxed);
    let error = try_sandbox(server, &settings.data_dir).await?;
    if let Some(error) = &error {
        warn!(error.reason, error.hint, "the model's shell runs no command");
    }
    Ok(ShellConfinement { sandbox, network, error })
}

async fn has_proxy(server: &CodexServer) -> Result<bool, CodexError> {
    let asked = json!({ "limit": MAX_FEATURES });
    match server.call_method::<FeatureList>("experimentalFeature/list", &asked).await {
        Ok(list) => {
            let mut features = list.data.iter();
            Ok(features.any(|feature| feature.name == "network_proxy" && feature.enabled))
        }
        // A Codex that does not know the request has no proxy.
        Err(CodexError::Refused { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Tests if Codex can change the settings of an open thread, by naming a thread that does not exist.
async fn knows_settings(server: &CodexServer) -> Result<bool, CodexError> {
    let nowhere = json!({ "threadId": Uuid::nil() });
    match server.call_method::<Value>("thread/settings/update", &nowhere).await {
        Err(CodexError::Refused { message, .. }) => Ok(message.contains(NO_THREAD)),
        Err(error) => Err(error),
        Ok(_) => Ok(false),
    }
}

/// Runs a command that must read no file of the user. Returns the reason if no command can run.
async fn try_sandbox(
    server: &CodexServer,
    hidden: &Path,
) -> Result<Option<UnavailableReason>, CodexError> {
    let asked = json!({
        "command": ["/bin/sh", "-c", TRY, "sh", hidden],
        "cwd": "/",
        "timeoutMs": TRY_MS,
    });
    let ended = match server.call_method::<CommandExecResult>("command/exec", &asked).await {
        Ok(ended) => ended,
        Err(CodexError::Refused { message, .. }) => {
            return Ok(Some(describe_sandbox_failure(&message)));
        }
        Err(error) => return Err(error),
    };
    match ended.exit_code {
        0 => Ok(None),
        READS_ALL => Err(CodexError::Unconfined { version: server.version.clone() }),
        _ => Ok(Some(describe_sandbox_failure(&ended.stderr))),
    }
}

fn describe_sandbox_failure(words: &str) -> UnavailableReason {
    let reason = match redact_message(words) {
        words if words.is_empty() => "the sandbox of the model's shell does not work".to_owned(),
        words => format!("the sandbox of the model's shell does not work: {words}"),
    };
    let hint = "every command of the model fails, so it answers from search results alone; allow \
                user namespaces on this machine (`codeinfo docs containers` says how), or, where a \
                container is the fence, set CODEX_SANDBOX=danger-full-access";
    UnavailableReason { reason, hint: hint.to_owned() }
}
