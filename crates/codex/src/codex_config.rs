//! Our settings in Codex's words: arguments of the process, and what each thread is given.
//!
//! Everything static is an argument of the process. A table that a thread is given replaces the
//! arguments of the same table, so each thread is given all of `mcp_servers` and of its
//! permissions.

use std::{collections::BTreeMap, path::Path, time::Duration};

use serde_json::{Map, Value, json};

use super::{
    cell::{ShellNetwork, ThreadSandbox},
    extra::ExtraEndpoint,
    fence::SandboxRules,
    protocol::ThreadSettings,
};
use crate::{NetworkAccess, SandboxMode, WebSearchMode};

/// The model that is asked for while Codex offers it and the user names none.
pub(super) const PREFERRED_MODEL: &str = "gpt-5.1-codex-max";

/// Names for our search inside Codex; the first that the user's own configuration leaves free is
/// taken, since Codex would merge the two entries. `codeinfo` is what people call the server on
/// port 5011 that calls us, so it is never ours.
const SEARCH_NAMES: [&str; 2] = ["codeinfo_search", "codeinfo_vector_search"];

/// The sandbox of a thread that has none.
pub(super) const NO_SANDBOX: &str = "danger-full-access";

/// Longest call of a search tool, in seconds.
const SEARCH_TIMEOUT_SECS: u64 = 60;
/// Longest wait for the search to answer its first request, in seconds.
const SEARCH_STARTUP_SECS: u64 = 20;

/// Longest wait for a further endpoint to answer its first request, and how much longer than the longest
/// call of one Codex waits, so that the endpoint is the one to say that it took too long.
const EXTRA_STARTUP: Duration = Duration::from_secs(20);
const EXTRA_MARGIN: Duration = Duration::from_secs(15);

/// What never depends on settings: no retry without end, no calls home, no instructions, programs or
/// tools of the user's that would act inside our turns, no tools that start work of their own, which
/// no segment would show and which would outlive the answer, and no sandbox but the present one.
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
    // Nobody is there to answer, and its schema would be in every request.
    ("tools.experimental_request_user_input.enabled", "false"),
    // They list every secret file, twice, in each request; the fence holds without them.
    ("include_permissions_instructions", "false"),
    ("include_environment_context", "false"),
    // Nobody switches to another mode.
    ("include_collaboration_mode_instructions", "false"),
    // Neither is of use for reading code, and each would be in every request.
    ("features.view_image", "false"),
    ("features.unified_exec_tty", "false"),
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
    ("shell_environment_policy.ignore_default_excludes", "false"),
];

/// Returns the arguments of `codex`. They come from settings alone: nothing a caller sends can
/// become an option. `base` is what a command may do that no thread says otherwise of.
pub(super) fn build_arguments(
    settings: &crate::CodexSettings,
    base: &BasePermissions,
) -> Vec<String> {
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
            to_inline_toml(&Value::Object(base.fence.with_scratch(None))),
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

/// The permissions of a process: none but to run programs of the system. A thread that is opened
/// without any of its own has these, and so has the command that tries the sandbox.
pub(super) struct BasePermissions {
    /// A name that is in nobody's configuration, since Codex would merge the two.
    pub(super) profile: String,
    pub(super) fence: SandboxRules,
    /// As far as Codex has the proxy.
    pub(super) network: ShellNetwork,
}

/// JSON's strings and arrays of strings are also TOML's.
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

/// The name under which a thread knows our search, or `None` when the user's configuration takes
/// every name.
pub(super) fn search_name(theirs: &BTreeMap<String, Value>) -> Option<&'static str> {
    SEARCH_NAMES.into_iter().find(|name| !theirs.contains_key(*name))
}

/// Whether `server` is a name of our search inside Codex.
pub fn is_search(server: &str) -> bool {
    SEARCH_NAMES.contains(&server)
}

/// What a thread is given: the fence around its shell, our search as a required server, and none of
/// the user's own servers, one of which may well be our own port 5011 and would ask us again without
/// end.
pub(super) fn build_thread_settings(
    settings: &crate::CodexSettings,
    given: &ThreadInputs,
    cell: &ThreadSandbox,
) -> ThreadSettings {
    let (name, url) = &given.search;
    // One nested table, because a dotted key cannot name a server whose name holds a dot.
    let mut servers: Map<String, Value> =
        given.theirs.iter().map(|name| (name.clone(), json!({ "enabled": false }))).collect();
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
        // One that answers later is left out without a word.
        set("mcp_optional_startup_grace_ms", json!(EXTRA_STARTUP.as_millis()));
    }
    let scratch =
        (settings.sandbox != SandboxMode::ReadOnly).then_some(cell.scratch.path.as_path());
    // Where nothing is written, the shell has no folder of its own: one that may be read in a folder
    // that is denied cannot be made.
    let folder = scratch.unwrap_or(Path::new("/"));
    if let Some(scratch) = scratch {
        // The system's folder for temporary files is outside the fence.
        set("shell_environment_policy.set.TMPDIR", json!(scratch));
    }
    // Unless told, Codex writes into the user's configuration that it trusts the folder, or the
    // repository that this is in.
    set("projects", json!({ folder.to_string_lossy(): { "trust_level": "untrusted" } }));
    let sandbox = match settings.sandbox {
        SandboxMode::DangerFullAccess => Some(NO_SANDBOX),
        SandboxMode::ReadOnly | SandboxMode::WorkspaceWrite => {
            let profile = json!({
                "filesystem": given.fence.with_scratch(scratch),
                "network": build_network_rules(given.network),
            });
            set("permissions", json!({ &cell.profile: profile }));
            if given.sets_permissions {
                // Takes the place of the profile until that is set, before anything runs. Under the profile,
                // Codex 0.169 has a sandboxed process look for skills: once for a thread that is started,
                // twice for one that is resumed, 40 ms each.
                Some("read-only")
            } else {
                set("default_permissions", json!(cell.profile));
                // Any would silently take the place of the profile.
                None
            }
        }
    };
    ThreadSettings {
        cwd: folder.to_owned(),
        sandbox,
        approval_policy: approval_policy(settings),
        model: given.model.clone(),
        base_instructions: given.prompt.clone(),
        // Empty, not absent: the user's own developer instructions are for other work.
        developer_instructions: "",
        config: config.into(),
    }
}

/// Returns an endpoint in Codex's words. Whether a tool may be called is decided by the endpoint, so
/// Codex, which would ask somebody, need not.
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

/// What a thread is given that is not in the settings.
pub(super) struct ThreadInputs {
    /// Names of the user's own MCP servers.
    pub(super) theirs: Vec<String>,
    /// Name and address of our search.
    pub(super) search: (&'static str, String),
    pub(super) extras: Vec<ExtraEndpoint>,
    pub(super) search_key: Option<codeinfo_core::Secret>,
    pub(super) model: Option<String>,
    pub(super) prompt: String,
    pub(super) fence: SandboxRules,
    pub(super) network: ShellNetwork,
    /// Whether its permissions are set once it is open.
    pub(super) sets_permissions: bool,
}

impl ThreadInputs {
    /// Returns the further endpoints with their names in this thread: Codex would merge one of a name
    /// of the user's own configuration with what that says.
    fn named_endpoints(&self) -> impl Iterator<Item = (String, &ExtraEndpoint)> {
        // To Codex `a-b` and `a_b` are the same.
        let plain = |name: &str| name.replace('-', "_");
        let mut taken: Vec<String> = self.theirs.iter().map(|name| plain(name)).collect();
        taken.push(plain(self.search.0));
        self.extras.iter().map(move |extra| {
            let others = (2..).map(|number| format!("{}_{number}", extra.name));
            let mut names = std::iter::once(extra.name.clone()).chain(others);
            let name = names.find(|name| !taken.contains(&plain(name))).unwrap_or_default();
            taken.push(plain(&name));
            (name, extra)
        })
    }

    /// Returns what each further endpoint is called in this thread, with the name that was asked for.
    pub(super) fn extra_names(&self) -> BTreeMap<String, String> {
        self.named_endpoints().map(|(name, extra)| (name, extra.name.clone())).collect()
    }
}

/// Addresses that stand for IPv4 ones, those of this machine and its surroundings included: NAT64
/// (`64:ff9b::/96`, `64:ff9b:1::/48`), 6to4 (`2002::/16`), and translated ones. Codex's proxy knows only
/// mapped and compatible ones for what they are; what is denied, it compares with what names resolve to.
const EMBEDDING: [&str; 3] = ["64:ff9b:*:*", "2002:*:*", "::ffff:0:*"];

/// The network of the shell. Domains alone keep nothing out: only the proxy, which Codex starts where
/// its feature is on, refuses this machine's own addresses and those of its surroundings.
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

/// The network of a command that is no model's. Without any, it has the proxy, too, which then refuses everything:
/// where Codex grants none, it forbids the calls by which Python wakes its own threads.
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

/// Both wishes are `never` on the wire, see [`config::Approval`].
pub(super) fn approval_policy(settings: &crate::CodexSettings) -> &'static str {
    match settings.approval {
        crate::ApprovalPolicy::OnFailure | crate::ApprovalPolicy::Never => "never",
    }
}

/// The sandbox as `turn/start` takes it: only where there is no fence, since it would take the place
/// of one. A resumed thread does not get its sandbox back, so each turn says it again.
pub(super) fn sandbox_policy(settings: &crate::CodexSettings) -> Option<Value> {
    match settings.sandbox {
        SandboxMode::ReadOnly | SandboxMode::WorkspaceWrite => None,
        SandboxMode::DangerFullAccess => Some(json!({ "type": "dangerFullAccess" })),
    }
}
