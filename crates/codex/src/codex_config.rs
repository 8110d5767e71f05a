//! Translates the settings into arguments of the Codex process and parameters of each thread.
//!
//! Static settings are process arguments. A table in a thread's parameters replaces the same table of the
//! arguments, so each thread gets all of `mcp_servers` and all of its permissions.

use std::{collections::BTreeMap, path::Path, time::Duration};

use codeinfo_core::Secret;
use serde_json::{Map, Value, json};

use super::{
    confinement::ShellNetwork, protocol::ThreadSettings, sandbox_rules::SandboxRules,
    scratch::ThreadSandbox, settings::ExtraEndpoint,
};
use crate::{CodexSettings, NetworkAccess, SandboxMode, WebSearchMode};

/// Model to request while Codex offers it and the user names none.
pub(super) const PREFERRED_MODEL: &str = "gpt-5.1-codex-max";

/// Names of the search server inside Codex. The first that is absent from the user's configuration is used,
/// because Codex merges entries of the same name. Users give `codeinfo` to the server on port 5011.
const SEARCH_NAMES: [&str; 2] = ["codeinfo_search", "codeinfo_vector_search"];

pub(super) const NO_SANDBOX: &str = "danger-full-access";

/// Maximum duration of a search tool call, in seconds.
const SEARCH_TIMEOUT_SECS: u64 = 60;
/// Maximum wait for the first answer of the search server, in seconds.
const SEARCH_STARTUP_SECS: u64 = 20;

/// Maximum wait for the first answer of an extra endpoint, and the time added to its longest call, in which it
/// reports a timeout before Codex does.
const EXTRA_STARTUP: Duration = Duration::from_secs(20);
const EXTRA_MARGIN: Duration = Duration::from_secs(15);

/// Arguments that do not depend on settings. They switch off unbounded retries, telemetry, all sandboxes but the
/// current one, the user's own instructions, programs and tools, which would act inside our turns, and background
/// tools, whose work no segment would show and which would outlive the answer.
const FIXED: [(&str, &str); 27] = [
    ("features.unbounded_connection_retries", "false"),
    ("features.plugins", "false"),
    ("features.hooks", "false"),
    ("features.apps", "false"),
    ("features.goals", "false"),
    ("agents.enabled", "false"),
    ("features.multi_agent", "false"),
    ("features.multi_agent_v2", "false"),
    ("features.sleep_tool", "false"),
    ("features.memories", "false"),
    ("features.use_legacy_landlock", "false"),
    ("features.image_generation", "false"),
    // There is no user to answer, and its schema would be in every request.
    ("tools.experimental_request_user_input.enabled", "false"),
    // They list every secret file twice in each request; the sandbox holds without them.
    ("include_permissions_instructions", "false"),
    ("include_environment_context", "false"),
    // The mode never changes.
    ("include_collaboration_mode_instructions", "false"),
    // Neither helps to read code, and each would be in every request.
    ("features.view_image", "false"),
    ("features.unified_exec_tty", "false"),
    // Both run the user's shell profile and pass its exported variables, keys included, to the model's shell.
    // The first also costs each conversation a shell.
    ("features.shell_snapshot", "false"),
    ("allow_login_shell", "false"),
    ("skills.include_instructions", "false"),
    ("project_doc_max_bytes", "0"),
    ("notify", "[]"),
    // Lets another process open a released thread at once.
    ("thread_unload_delay_secs", "0"),
    ("check_for_update_on_startup", "false"),
    ("analytics.enabled", "false"),
    ("shell_environment_policy.ignore_default_excludes", "false"),
];

/// Returns the arguments of `codex`, from settings only: nothing that a caller sends can become an option.
pub(super) fn build_arguments(settings: &CodexSettings, base: &BasePermissions) -> Vec<String> {
    let namespaces = SEARCH_NAMES.map(tool_namespace);
    let mut overrides: Vec<(String, String)> =
        FIXED.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let mut set = |key: &str, value: String| overrides.push((key.to_owned(), value));
    set("web_search", quote_toml(web_search(settings.web_search)));
    set("shell_environment_policy.inherit", quote_toml("core"));
    set("features.code_mode.direct_only_tool_namespaces", json!(namespaces).to_string());
    set("features.network_proxy", settings.network.to_string());
    set("features.shell_tool", settings.shell.to_string());
    if settings.sandbox != SandboxMode::DangerFullAccess {
        let profile = format!("permissions.{}", base.profile);
        set(
            &format!("{profile}.filesystem"),
            to_inline_toml(&Value::Object(base.rules.with_scratch(None))),
        );
        set(&format!("{profile}.network"), to_inline_toml(&build_network_rules(base.network)));
        set("default_permissions", quote_toml(&base.profile));
    }
    let mut arguments = vec!["app-server".to_owned()];
    for (key, value) in overrides {
        arguments.extend(["-c".to_owned(), format!("{key}={value}")]);
    }
    arguments
}

/// Permissions of a thread opened without its own, and of the sandbox test: only the system's programs may run.
pub(super) struct BasePermissions {
    /// Unique name, absent from the user's configuration, because Codex would merge the two.
    pub(super) profile: String,
    pub(super) rules: SandboxRules,
    /// Network access, effective only if Codex has the proxy.
    pub(super) network: ShellNetwork,
}

/// Quotes a TOML string; JSON strings, and arrays of them, are valid TOML.
fn quote_toml(text: &str) -> String {
    Value::from(text).to_string()
}

pub(super) fn to_inline_toml(value: &Value) -> String {
    let Value::Object(members) = value else { return value.to_string() };
    let members = members
        .iter()
        .map(|(name, value)| format!("{}={}", quote_toml(name), to_inline_toml(value)));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

fn tool_namespace(server: &str) -> String {
    format!("mcp__{server}")
}

fn web_search(wish: WebSearchMode) -> &'static str {
    match wish {
        WebSearchMode::Disabled => "disabled",
        WebSearchMode::Cached => "cached",
        WebSearchMode::Live => "live",
    }
}

/// Returns the first free name for the search server, or `None` if the user's configuration has all of them.
pub(super) fn search_name(user_servers: &BTreeMap<String, Value>) -> Option<&'static str> {
    SEARCH_NAMES.into_iter().find(|name| !user_servers.contains_key(*name))
}

/// Returns true if `server` is a name of the search server inside Codex.
pub fn is_search(server: &str) -> bool {
    SEARCH_NAMES.contains(&server)
}

/// Builds the parameters of a thread: the sandbox of its shell, the search as a required server, and the user's
/// own servers switched off. One of these may be our port 5011, which would call us without end.
pub(super) fn build_thread_settings(
    settings: &CodexSettings,
    given: &ThreadInputs,
    sandbox: &ThreadSandbox,
) -> ThreadSettings {
    let (name, url) = &given.search;
    // One nested table, because a dotted key cannot name a server whose name contains a dot.
    let mut servers: Map<String, Value> =
        given.user_servers.iter().map(|name| (name.clone(), json!({ "enabled": false }))).collect();
    let mut search = Map::from_iter(
        [
            ("url", json!(url)),
            ("required", json!(true)),
            ("tool_timeout_sec", json!(SEARCH_TIMEOUT_SECS)),
            ("startup_timeout_sec", json!(SEARCH_STARTUP_SECS)),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    if let Some(key) = &given.search_key {
        let bearer = format!("Bearer {}", key.expose());
        search.insert("http_headers".to_owned(), json!({ "Authorization": bearer }));
    }
    servers.insert((*name).to_owned(), search.into());
    let extras: Vec<(String, &ExtraEndpoint)> = given.named_endpoints().collect();
    servers.extend(extras.iter().map(|(name, extra)| (name.clone(), build_endpoint_entry(extra))));
    let mut config = Map::from_iter([("mcp_servers".to_owned(), json!(servers))]);
    let mut set = |key: &str, value: Value| drop(config.insert(key.to_owned(), value));
    if !extras.is_empty() {
        let names = extras.iter().map(|(name, _)| tool_namespace(name));
        let namespaces: Vec<String> =
            SEARCH_NAMES.map(tool_namespace).into_iter().chain(names).collect();
        set("features.code_mode.direct_only_tool_namespaces", json!(namespaces));
        // Codex silently leaves out an endpoint that answers later.
        set("mcp_optional_startup_grace_ms", json!(EXTRA_STARTUP.as_millis()));
    }
    let scratch =
        (settings.sandbox != SandboxMode::ReadOnly).then_some(sandbox.scratch.path.as_path());
    // A read-only shell has no folder of its own: the sandbox cannot create a readable folder inside a denied one.
    let folder = scratch.unwrap_or(Path::new("/"));
    if let Some(scratch) = scratch {
        // The system's folder for temporary files is outside the sandbox.
        set("shell_environment_policy.set.TMPDIR", json!(scratch));
    }
    // Otherwise Codex marks the folder, or its repository, as trusted in the user's configuration.
    set("projects", json!({ folder.to_string_lossy(): { "trust_level": "untrusted" } }));
    let sandbox_mode = match settings.sandbox {
        SandboxMode::DangerFullAccess => Some(NO_SANDBOX),
        SandboxMode::ReadOnly | SandboxMode::WorkspaceWrite => {
            let profile = json!({
                "filesystem": given.rules.with_scratch(scratch),
                "network": build_network_rules(given.network),
            });
            set("permissions", json!({ &sandbox.profile: profile }));
            if given.sets_permissions {
                // Until the profile is set, before anything runs. With the profile at the start, Codex 0.169 looks
                // for skills in a sandboxed process of 40 ms: once for a new thread, twice for a resumed one.
                Some("read-only")
            } else {
                set("default_permissions", json!(sandbox.profile));
                // Any value would silently replace the profile.
                None
            }
        }
    };
    ThreadSettings {
        cwd: folder.to_owned(),
        sandbox: sandbox_mode,
        approval_policy: approval_policy(settings),
        model: given.model.clone(),
        base_instructions: given.prompt.clone(),
        // Empty rather than absent: the user's own developer instructions are for other work.
        developer_instructions: "",
        config: config.into(),
    }
}

/// The endpoint itself decides which tools may be called, so Codex asks for no approval.
fn build_endpoint_entry(extra: &ExtraEndpoint) -> Value {
    json!({
        "url": extra.url,
        "required": false,
        "http_headers": { "authorization": format!("Bearer {}", extra.grant.expose()) },
        "tool_timeout_sec": (extra.timeout + EXTRA_MARGIN).as_secs(),
        "startup_timeout_sec": EXTRA_STARTUP.as_secs(),
        "default_tools_approval_mode": "approve",
        "supports_parallel_tool_calls": extra.parallel,
    })
}

/// Inputs of a thread that do not come from the settings.
pub(super) struct ThreadInputs {
    pub(super) user_servers: Vec<String>,
    /// Name and URL of the search server.
    pub(super) search: (&'static str, String),
    pub(super) extras: Vec<ExtraEndpoint>,
    pub(super) search_key: Option<Secret>,
    pub(super) model: Option<String>,
    pub(super) prompt: String,
    pub(super) rules: SandboxRules,
    pub(super) network: ShellNetwork,
    /// Set if the permissions are applied after the thread is open.
    pub(super) sets_permissions: bool,
}

impl ThreadInputs {
    /// Returns the extra endpoints by their names here; a name of the user's configuration gets a number.
    fn named_endpoints(&self) -> impl Iterator<Item = (String, &ExtraEndpoint)> {
        // Codex treats `a-b` and `a_b` as equal.
        let plain = |name: &str| name.replace('-', "_");
        let mut taken: Vec<String> = self.user_servers.iter().map(|name| plain(name)).collect();
        taken.push(plain(self.search.0));
        self.extras.iter().map(move |extra| {
            let others = (2..).map(|number| format!("{}_{number}", extra.name));
            let mut names = std::iter::once(extra.name.clone()).chain(others);
            let name = names.find(|name| !taken.contains(&plain(name))).unwrap_or_default();
            taken.push(plain(&name));
            (name, extra)
        })
    }

    /// Maps the name of each extra endpoint in this thread to its requested name.
    pub(super) fn extra_names(&self) -> BTreeMap<String, String> {
        self.named_endpoints().map(|(name, extra)| (name, extra.name.clone())).collect()
    }
}

/// Domain patterns of IPv6 addresses that embed IPv4 ones: NAT64 (`64:ff9b::/96`, `64:ff9b:1::/48`), 6to4
/// (`2002::/16`) and translated ones. Codex's proxy itself recognises only mapped and compatible ones, but
/// compares resolved addresses with the denied patterns.
const EMBEDDING: [&str; 3] = ["64:ff9b:*:*", "2002:*:*", "::ffff:0:*"];

/// Builds the network rules of the shell. Domains alone keep nothing out: only the proxy, which Codex starts if
/// its feature is on, refuses this machine and its local network.
fn build_network_rules(network: ShellNetwork) -> Value {
    match network {
        ShellNetwork::Off | ShellNetwork::Unavailable => json!({ "enabled": false }),
        ShellNetwork::Proxied | ShellNetwork::Open => {
            let denied = EMBEDDING.map(|addresses| (addresses.to_owned(), json!("deny")));
            let mut domains = Map::from_iter(denied);
            domains.insert("*".to_owned(), json!("allow"));
            json!({
                "enabled": true,
                "mode": "full",
                "allow_local_binding": false,
                "domains": domains,
            })
        }
    }
}

/// Builds the network rules of a command that is not the model's. Without network, the proxy refuses everything:
/// with no access at all, Codex forbids system calls that Python needs to wake its threads.
pub(super) fn command_network(access: NetworkAccess) -> Value {
    match access {
        NetworkAccess::Open => json!({ "enabled": true }),
        NetworkAccess::Proxied => build_network_rules(ShellNetwork::Proxied),
        NetworkAccess::None => json!({
            "enabled": true,
            "mode": "full",
            "allow_local_binding": false,
            "domains": {},
        }),
    }
}

/// Returns the approval policy for Codex; both settings are `never`, see [`crate::ApprovalPolicy`].
pub(super) fn approval_policy(settings: &CodexSettings) -> &'static str {
    match settings.approval {
        crate::ApprovalPolicy::OnFailure | crate::ApprovalPolicy::Never => "never",
    }
}

/// Returns the sandbox for `turn/start`, or `None` with a permission profile, which it would replace. A resumed
/// thread does not restore its sandbox, so each turn sends it.
pub(super) fn sandbox_policy(settings: &CodexSettings) -> Option<Value> {
    match settings.sandbox {
        SandboxMode::ReadOnly | SandboxMode::WorkspaceWrite => None,
        SandboxMode::DangerFullAccess => Some(json!({ "type": "dangerFullAccess" })),
    }
}
