//! Our settings in Codex's words: arguments of the process, and what each thread is given.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::protocol::ThreadSettings;
use crate::config::{self, Sandbox, WebSearch};

/// The model that is asked for while Codex offers it and the user names none.
pub(super) const PREFERRED_MODEL: &str = "gpt-5.1-codex-max";

/// Names for our search inside Codex; the first that the user's own configuration leaves free is
/// taken, since Codex would merge the two entries. `codeinfo` is what people call the server on
/// port 5011 that calls us, so it is never ours.
const SEARCH_NAMES: [&str; 2] = ["codeinfo_search", "codeinfo_vector_search"];

/// Longest call of a search tool, in seconds.
const SEARCH_TIMEOUT_SECS: u64 = 60;
/// Longest wait for the search to answer its first request, in seconds.
const SEARCH_STARTUP_SECS: u64 = 20;

/// What never depends on settings: no retry without end, no calls home, no instructions, programs or
/// tools of the user's that would act inside our turns, and search tools shown to the model directly.
const FIXED: [(&str, &str); 18] = [
    ("features.unbounded_connection_retries", "false"),
    ("features.plugins", "false"),
    ("features.hooks", "false"),
    ("features.apps", "false"),
    ("features.goals", "false"),
    ("features.multi_agent", "false"),
    ("features.image_generation", "false"),
    // Both run the shell profile of the user and give the model's shell what that exports, keys
    // included; the first also costs each conversation a shell.
    ("features.shell_snapshot", "false"),
    ("allow_login_shell", "false"),
    ("skills.include_instructions", "false"),
    ("project_doc_max_bytes", "0"),
    ("notify", "[]"),
    // A thread that is let go of can be opened by another process at once.
    ("thread_unload_delay_secs", "0"),
    ("check_for_update_on_startup", "false"),
    ("analytics.enabled", "false"),
    ("sandbox_workspace_write.exclude_slash_tmp", "true"),
    ("sandbox_workspace_write.exclude_tmpdir_env_var", "true"),
    ("shell_environment_policy.ignore_default_excludes", "false"),
];

/// Returns the arguments of `codex`. They come from settings alone: nothing a caller sends can
/// become an option.
pub(super) fn arguments(settings: &config::Codex) -> Vec<String> {
    let namespaces = SEARCH_NAMES.map(namespace);
    let workdir = quoted(&settings.workdir.to_string_lossy());
    let mut overrides: Vec<(&str, String)> =
        FIXED.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
    overrides.extend([
        ("web_search", quoted(web_search(settings.web_search))),
        ("sandbox_workspace_write.network_access", settings.network.to_string()),
        ("shell_environment_policy.inherit", quoted("core")),
        // Unless told, Codex writes into the user's configuration that it trusts the folder.
        ("projects", format!("{{{workdir}={{trust_level=\"untrusted\"}}}}")),
        // The system's scratch folder is outside the sandbox.
        ("shell_environment_policy.set.TMPDIR", workdir),
        ("features.code_mode.direct_only_tool_namespaces", json!(namespaces).to_string()),
    ]);
    let mut arguments = vec!["app-server".to_owned()];
    for (key, value) in overrides {
        arguments.extend(["-c".to_owned(), format!("{key}={value}")]);
    }
    arguments
}

/// JSON's strings and arrays of strings are also TOML's.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn namespace(server: &str) -> String {
    format!("mcp__{server}")
}

fn web_search(wish: WebSearch) -> &'static str {
    match wish {
        WebSearch::Disabled => "disabled",
        WebSearch::Cached => "cached",
        WebSearch::Live => "live",
    }
}

/// The name under which a thread knows our search, or `None` when the user's configuration takes
/// every name.
pub(super) fn search_name(theirs: &BTreeMap<String, Value>) -> Option<&'static str> {
    SEARCH_NAMES.into_iter().find(|name| !theirs.contains_key(*name))
}

/// Whether `server` is a name of our search inside Codex.
pub fn is_search(server: &str) -> bool {
    SEARCH_NAMES.contains(&server)
}

/// What a thread is given: our search as a required server, and none of the user's own servers, one
/// of which may well be our own port 5011 and would ask us again without end.
pub(super) fn thread(
    settings: &config::Codex,
    theirs: &BTreeMap<String, Value>,
    search: (&str, &str),
    model: Option<String>,
    prompt: &str,
) -> ThreadSettings {
    let (name, url) = search;
    // One nested table, because a dotted key cannot name a server whose name holds a dot.
    let mut servers: Map<String, Value> =
        theirs.keys().map(|name| (name.clone(), json!({ "enabled": false }))).collect();
    servers.insert(
        name.to_owned(),
        json!({
            "url": url,
            "required": true,
            "tool_timeout_sec": SEARCH_TIMEOUT_SECS,
            "startup_timeout_sec": SEARCH_STARTUP_SECS,
        }),
    );
    ThreadSettings {
        cwd: settings.workdir.clone(),
        sandbox: match settings.sandbox {
            Sandbox::ReadOnly => "read-only",
            Sandbox::WorkspaceWrite => "workspace-write",
            Sandbox::DangerFullAccess => "danger-full-access",
        },
        approval_policy: approval(settings),
        model,
        base_instructions: prompt.to_owned(),
        // Empty, not absent: the user's own developer instructions are for other work.
        developer_instructions: "",
        config: json!({ "mcp_servers": servers }),
    }
}

/// Both wishes are `never` on the wire, see [`config::Approval`].
pub(super) fn approval(settings: &config::Codex) -> &'static str {
    match settings.approval {
        config::Approval::OnFailure | config::Approval::Never => "never",
    }
}

/// The sandbox as `turn/start` takes it. A resumed thread does not get its sandbox back, so each
/// turn says it again.
pub(super) fn sandbox_policy(settings: &config::Codex) -> Value {
    match settings.sandbox {
        Sandbox::ReadOnly => json!({ "type": "readOnly", "networkAccess": settings.network }),
        Sandbox::WorkspaceWrite => json!({
            "type": "workspaceWrite",
            "writableRoots": [],
            "networkAccess": settings.network,
            "excludeTmpdirEnvVar": true,
            "excludeSlashTmp": true,
        }),
        Sandbox::DangerFullAccess => json!({ "type": "dangerFullAccess" }),
    }
}
