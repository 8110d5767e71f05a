//! Lists, tries, starts and stops toolkits, and allows, trusts and stores them.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

use codeinfo_server::replies::{AllowedFile, StoreConfigReply, ToolAnswer};
use codeinfo_toolkits::{
    ToolDirectory, ToolState, ToolkitEntry, ToolkitOrigin, connection::ToolkitState,
    launch::is_installed, spec::FILE_TEMPLATE,
};
use codeinfo_worktree::git::find_work_tree;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{
    ApiClient, CliError,
    args::{ToolkitScope, ToolkitsCommand},
    print::{
        align_columns, count_things, print_json, print_line, print_next_step, print_note,
        resolve_reference, scope_parameter, shorten_text, single_line,
    },
};
use crate::install::ask_person;

const REPOSITORY_FILE: &str = ".codeinfo/toolkits.json";
const TOOLS: [&str; 1] = ["tools"];
const CONFIG: [&str; 2] = ["mcp", "config"];
/// Names of the supported transports in `type`, as other programs write them.
const KNOWN_TYPES: [&str; 4] = ["stdio", "http", "streamable-http", "streamableHttp"];
/// Maximum characters of a description in the list of tools.
const MAX_DESCRIPTION: usize = 200;
const MAX_IMPORT: u64 = 64 * 1024;

pub(super) async fn run_toolkits_command(
    client: &ApiClient,
    command: ToolkitsCommand,
) -> Result<(), CliError> {
    let scoped = |scope| ScopedClient::new(client, scope);
    match command {
        ToolkitsCommand::List { scope } => list_toolkits(&scoped(scope)).await,
        ToolkitsCommand::Status { scope } => show_status(&scoped(scope)).await,
        ToolkitsCommand::Start { name, scope } => {
            apply_action(&scoped(scope), &name, "start").await
        }
        ToolkitsCommand::Stop { name, scope } => apply_action(&scoped(scope), &name, "stop").await,
        ToolkitsCommand::Restart { name, scope } => {
            apply_action(&scoped(scope), &name, "restart").await
        }
        ToolkitsCommand::Trust { name, scope } => {
            apply_action(&scoped(scope), &name, "trust").await
        }
        ToolkitsCommand::Tools { query, scope } => list_tools(&scoped(scope), query).await,
        ToolkitsCommand::Call { tool, arguments, scope } => {
            call_tool(&scoped(scope), &tool, &arguments).await
        }
        ToolkitsCommand::Allow { path, yes, json } => allow_file(client, &path, yes, json).await,
        ToolkitsCommand::Add { name, command, url, env, no_sandbox, allow_all, json } => {
            let mut toolkit = build_toolkit(command, url, &env)?;
            if no_sandbox {
                toolkit.insert("sandbox".to_owned(), "off".into());
            }
            if allow_all {
                toolkit.insert("allow".to_owned(), "all".into());
            }
            store_toolkits(client, Map::from_iter([(name, Value::Object(toolkit))]), json).await
        }
        ToolkitsCommand::Remove { name, json } => remove_toolkit(client, &name, json).await,
        ToolkitsCommand::Import { file, json } => import_file(client, &file, json).await,
        // `Init` ran before, because it needs no server.
        ToolkitsCommand::Init { .. } => Ok(()),
    }
}

/// A server, the repository that selects toolkits, and the form of the output.
struct ScopedClient<'a> {
    client: &'a ApiClient,
    parameters: Vec<(String, String)>,
    as_json: bool,
}

impl<'a> ScopedClient<'a> {
    fn new(client: &'a ApiClient, ToolkitScope { repository, json }: ToolkitScope) -> Self {
        let resolved = repository.as_deref().map(resolve_reference);
        let parameters = scope_parameter(resolved).into_iter().collect();
        Self { client, parameters, as_json: json }
    }

    async fn get_directory<T: DeserializeOwned>(&self) -> Result<T, CliError> {
        self.client.get_with(&TOOLS, &self.parameters).await
    }

    async fn post(&self, path: &[&str], body: &Value) -> Result<Value, CliError> {
        self.client.post_with(path, &self.parameters, body).await
    }
}

async fn list_toolkits(scoped: &ScopedClient<'_>) -> Result<(), CliError> {
    if scoped.as_json {
        let listed: Value = scoped.get_directory().await?;
        return print_json(&json!({
            "toolkits": listed.get("toolkits"),
            "warnings": listed.get("warnings").cloned().unwrap_or_else(|| json!([])),
        }));
    }
    let ToolDirectory { toolkits, warnings, .. } = scoped.get_directory().await?;
    print_warnings(&warnings)?;
    if toolkits.is_empty() {
        return print_note(
            "there are no toolkits: `codeinfo mcp add NAME -- COMMAND` adds one; `codeinfo docs toolkits` says more",
        );
    }
    align_toolkits(&toolkits).iter().try_for_each(|text| print_line(text))
}

/// Starts every enabled toolkit and prints the state of each; fails if one is not ready.
async fn show_status(scoped: &ScopedClient<'_>) -> Result<(), CliError> {
    let refusals = start_all(scoped).await?;
    let listed: Value = scoped.get_directory().await?;
    let directory: ToolDirectory = serde_json::from_value(listed.clone())?;
    let all_ready = directory.toolkits.iter().all(|toolkit| toolkit.state == ToolkitState::Ready);
    if scoped.as_json {
        print_json(&json!({ "toolkits": listed.get("toolkits"), "warnings": directory.warnings }))?;
    } else {
        print_warnings(&directory.warnings)?;
        let lines = align_toolkits(&directory.toolkits);
        for (text, toolkit) in lines.iter().zip(&directory.toolkits) {
            print_line(text)?;
            let refusal = refusals.iter().find(|(name, _)| *name == toolkit.name);
            let reason = toolkit.last_error.as_ref().or(refusal.map(|(_, reason)| reason));
            if let Some(reason) = reason {
                print_line(&format!("    {}", single_line(reason)))?;
            }
        }
    }
    if all_ready { Ok(()) } else { Err(CliError::Checks) }
}

/// Returns a line for each toolkit: name, state, transport, tools and origin.
fn align_toolkits(toolkits: &[ToolkitEntry]) -> Vec<String> {
    let rows: Vec<[String; 5]> = toolkits.iter().map(describe_toolkit).collect();
    align_columns(&rows)
}

fn describe_toolkit(toolkit: &ToolkitEntry) -> [String; 5] {
    let state = serde_json::to_value(toolkit.state).unwrap_or_default();
    let tools = if toolkit.state == ToolkitState::Ready || toolkit.tools > 0 {
        count_things(toolkit.tools as u64, "tool")
    } else {
        "tools unknown".to_owned()
    };
    let restarts = match toolkit.restarts {
        0 => String::new(),
        number => format!(", {}", count_things(number, "restart")),
    };
    let source = match toolkit.origin {
        ToolkitOrigin::Request => "in the request",
        ToolkitOrigin::Repository => "in .codeinfo/toolkits.json",
        ToolkitOrigin::Stored => "stored in DATA_DIR",
        ToolkitOrigin::User => "in TOOLKITS_FILE",
    };
    [
        toolkit.name.clone(),
        state.as_str().unwrap_or_default().to_owned(),
        toolkit.transport.clone(),
        tools + &restarts,
        source.to_owned(),
    ]
}

fn print_warnings(warnings: &[String]) -> Result<(), CliError> {
    warnings.iter().try_for_each(|warning| print_note(warning))
}

async fn apply_action(scoped: &ScopedClient<'_>, name: &str, action: &str) -> Result<(), CliError> {
    let toolkit: Value = scoped.post(&["toolkits", name, action], &json!({})).await?;
    if scoped.as_json {
        return print_json(&toolkit);
    }
    align_toolkits(&[serde_json::from_value(toolkit)?]).iter().try_for_each(|text| print_line(text))
}

/// Starts the stopped toolkits, so that their tools are known. Returns failures with reasons.
async fn start_all(scoped: &ScopedClient<'_>) -> Result<Vec<(String, String)>, CliError> {
    let ToolDirectory { toolkits, .. } = scoped.get_directory().await?;
    let waits = toolkits
        .iter()
        .filter(|toolkit| matches!(toolkit.state, ToolkitState::Stopped | ToolkitState::Starting));
    let starts = waits.map(|toolkit| async {
        let path = ["toolkits", toolkit.name.as_str(), "start"];
        match scoped.post(&path, &json!({})).await {
            Ok(_) => Ok(None),
            Err(CliError::Refused { message, .. }) => Ok(Some((toolkit.name.clone(), message))),
            Err(error) => Err(error),
        }
    });
    Ok(futures_util::future::try_join_all(starts).await?.into_iter().flatten().collect())
}

/// Prints the tools, the best matches for `query` first.
async fn list_tools(scoped: &ScopedClient<'_>, query: Option<String>) -> Result<(), CliError> {
    for (_, refusal) in start_all(scoped).await? {
        print_note(&refusal)?;
    }
    let parameter = query.map(|query| ("q".to_owned(), query));
    let parameters: Vec<_> = scoped.parameters.iter().cloned().chain(parameter).collect();
    let listed: Value = scoped.client.get_with(&TOOLS, &parameters).await?;
    if scoped.as_json {
        return print_json(&listed);
    }
    let ToolDirectory { tools, warnings, .. } = serde_json::from_value(listed)?;
    print_warnings(&warnings)?;
    for tool in tools {
        let state = match (tool.state, tool.reason) {
            (ToolState::Ready, _) => String::new(),
            (_, Some(reason)) => format!("  (not called: {})", single_line(&reason)),
            (_, None) => "  (its toolkit is not ready)".to_owned(),
        };
        print_line(&format!("{}{state}", single_line(&tool.id)))?;
        let description = shorten_text(&single_line(&tool.description), MAX_DESCRIPTION);
        print_line(&format!("    {description}"))?;
    }
    Ok(())
}

/// Calls `TOOLKIT:TOOL` or `mcp:TOOLKIT:TOOL` and prints the result as a model would read it.
async fn call_tool(scoped: &ScopedClient<'_>, tool: &str, arguments: &str) -> Result<(), CliError> {
    let id = tool.strip_prefix("mcp:").unwrap_or(tool);
    let Some((toolkit, tool)) = id.split_once(':') else {
        return Err(CliError::Usage(format!("`{tool}` is no tool: name it as TOOLKIT:TOOL")));
    };
    let arguments: Map<String, Value> = serde_json::from_str(arguments)
        .map_err(|error| CliError::Usage(format!("the arguments are no JSON object: {error}")))?;
    let body = json!({ "tool": tool, "arguments": arguments });
    let answer = scoped.post(&["toolkits", toolkit, "call"], &body).await?;
    if scoped.as_json {
        return print_json(&answer);
    }
    let ToolAnswer { is_error, text } = serde_json::from_value(answer)?;
    if is_error {
        return Err(CliError::Refused { code: "TOOL_FAILED".to_owned(), message: text });
    }
    // Direction marks would reorder the text on a terminal.
    text.lines().try_for_each(|line| print_line(&single_line(line)))
}

/// Shows the programs in a repository's file, and allows them if the person agrees.
async fn allow_file(
    client: &ApiClient,
    path: &Path,
    yes: bool,
    as_json: bool,
) -> Result<(), CliError> {
    let absolute = fs::canonicalize(path).map_err(|error| unusable_path(path, error))?;
    let path_text = absolute.to_string_lossy().into_owned();
    let shown: AllowedFile =
        client.post(&["toolkits", "allow"], &json!({ "path": path_text })).await?;
    if !as_json {
        print_line(&format!("{} (SHA-256 {})", single_line(&shown.file), shown.sha256))?;
        for toolkit in &shown.toolkits {
            let off = if toolkit.enabled { "" } else { " (switched off)" };
            print_line(&format!(
                "  {}{off}: {}",
                toolkit.name,
                single_line(&toolkit.command_line)
            ))?;
            for more in &toolkit.extra_permissions {
                print_line(&format!("    {}", single_line(more)))?;
            }
            if !toolkit.variables.is_empty() {
                print_line(&format!(
                    "    is given: {}",
                    single_line(&toolkit.variables.join(", "))
                ))?;
            }
        }
    }
    if shown.allowed {
        return if as_json {
            print_json(&serde_json::to_value(shown)?)
        } else {
            print_note("allowed already")
        };
    }
    if !yes
        && !ask_person(
            "Allow these programs to be run for questions about this repository? Their own files may change \
             without your being asked.",
            false,
        )?
        .unwrap_or_default()
    {
        return Err(CliError::Usage(
            "nothing is allowed; `--yes` allows without asking".to_owned(),
        ));
    }
    let body = json!({ "path": path_text, "sha256": shown.sha256 });
    let allowed: Value = client.post(&["toolkits", "allow"], &body).await?;
    if as_json { print_json(&allowed) } else { print_note("allowed, until the file changes") }
}

/// Adds the toolkits of a file to the stored ones, and replaces those with the same name.
async fn import_file(client: &ApiClient, file: &Path, as_json: bool) -> Result<(), CliError> {
    let failed = |error| unusable_path(file, error);
    if fs::metadata(file).map_err(failed)?.len() > MAX_IMPORT {
        return Err(CliError::Usage(format!(
            "`{}` is larger than {MAX_IMPORT} bytes",
            file.display()
        )));
    }
    let read: Value = serde_json::from_slice(&fs::read(file).map_err(failed)?)
        .map_err(|error| CliError::Usage(format!("`{}` is no JSON: {error}", file.display())))?;
    let Some(Value::Object(mut servers)) = read.get("mcpServers").cloned() else {
        return Err(CliError::Usage(format!("`{}` has no `mcpServers`", file.display())));
    };
    if serde_json::to_string(&servers)?.contains("${") {
        return Err(CliError::Usage(
            "variables such as ${NAME} are read in files only: put the values in, or use the file as TOOLKITS_FILE"
                .to_owned(),
        ));
    }
    for server in servers.values_mut().filter_map(Value::as_object_mut) {
        // Other programs write the type although the remaining members imply it.
        let kind = server.get("type").and_then(Value::as_str).map(str::to_owned);
        if kind.is_some_and(|kind| KNOWN_TYPES.contains(&kind.as_str())) {
            server.shift_remove("type");
        }
    }
    store_toolkits(client, servers, as_json).await
}

async fn store_toolkits(
    client: &ApiClient,
    servers: Map<String, Value>,
    as_json: bool,
) -> Result<(), CliError> {
    let mut config: Map<String, Value> = client.get(&CONFIG).await?;
    let mut names: Vec<String> = servers.keys().map(|name| single_line(name)).collect();
    names.sort();
    let commands = servers.values().filter_map(|server| server.get("command")?.as_str());
    let missing: Vec<String> =
        commands.filter(|command| !is_installed(command)).map(str::to_owned).collect();
    match config.entry("mcpServers").or_insert_with(|| json!({})) {
        Value::Object(stored) => stored.extend(servers),
        stored => *stored = Value::Object(servers),
    }
    let stored: Value = client.post(&CONFIG, &Value::Object(config)).await?;
    for command in missing {
        print_note(&format!(
            "`{}` is not a program on this machine's PATH: install it, or put its folder on PATH",
            single_line(&command)
        ))?;
    }
    print_stored(stored, &format!("stored {}", names.join(", ")), as_json)?;
    if as_json {
        return Ok(());
    }
    print_next_step(
        "`codeinfo mcp status` starts it, `codeinfo mcp tools` lists what it offers, and answers use it",
    )
}

async fn remove_toolkit(client: &ApiClient, name: &str, as_json: bool) -> Result<(), CliError> {
    let mut config: Map<String, Value> = client.get(&CONFIG).await?;
    let servers = config.get_mut("mcpServers").and_then(Value::as_object_mut);
    if servers.and_then(|servers| servers.shift_remove(name)).is_none() {
        let name = single_line(name);
        return Err(CliError::Usage(format!(
            "no toolkit `{name}` is stored: `codeinfo mcp list` says where each is from"
        )));
    }
    let stored: Value = client.post(&CONFIG, &Value::Object(config)).await?;
    print_stored(stored, &format!("removed {}", single_line(name)), as_json)
}

fn print_stored(stored: Value, what: &str, as_json: bool) -> Result<(), CliError> {
    if as_json {
        return print_json(&stored);
    }
    let StoreConfigReply { version, warnings, .. } = serde_json::from_value(stored)?;
    print_warnings(&warnings)?;
    print_line(&format!("{what} (version {version})"))
}

fn build_toolkit(
    command: Vec<String>,
    url: Option<String>,
    given: &[String],
) -> Result<Map<String, Value>, CliError> {
    let mut values = Map::new();
    for pair in given {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(CliError::Usage(format!("`{}` is not NAME=VALUE", single_line(pair))));
        };
        values.insert(name.to_owned(), value.into());
    }
    let toolkit = if let Some(url) = url {
        json!({ "url": url, "headers": values })
    } else {
        let mut words = command.into_iter();
        json!({ "command": words.next(), "args": words.collect::<Vec<_>>(), "env": values })
    };
    Ok(if let Value::Object(toolkit) = toolkit { toolkit } else { Map::new() })
}

/// Writes an example toolkit file into the repository around `path`. Keeps an existing one.
pub fn create_toolkits_file(path: &Path) -> Result<(), CliError> {
    let path = &fs::canonicalize(path).map_err(|error| unusable_path(path, error))?;
    let root = find_work_tree(path).unwrap_or(path);
    let file: PathBuf = root.join(REPOSITORY_FILE);
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(|error| unusable_path(folder, error))?;
    }
    let written =
        fs::File::create_new(&file).and_then(|mut made| made.write_all(FILE_TEMPLATE.as_bytes()));
    match written {
        Ok(()) => {
            print_line(&format!("wrote {}", file.display()))?;
            print_note(
                "its toolkits are examples and switched off; after editing, `codeinfo mcp allow .`",
            )
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(CliError::Usage(format!("`{}` is there already", file.display())))
        }
        Err(error) => Err(unusable_path(&file, error)),
    }
}

fn unusable_path(path: &Path, source: io::Error) -> CliError {
    CliError::Path { path: path.display().to_string(), source }
}
