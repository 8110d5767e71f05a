//! `codeinfo install` and `uninstall`: set up clients in their own files, and undo that.
//!
//! Changes are planned, shown, and written after confirmation, without a server or a lock.

mod args;
mod change;
mod client_file;
mod clients;
mod content;
mod edit;
mod messages;
mod places;
mod record;

use std::{
    ffi::OsStr,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

pub use args::{InstallCommand, UninstallCommand};
pub use clients::SupportedClient;
pub use messages::{
    ConsoleError, InstallError, ask_person, replace_control_characters, write_to_stderr,
    write_to_stdout,
};
pub use places::{HostPlatform, UserFolders, find_program};

use self::{
    args::{InstallChoices, has_hook},
    change::ChangePlan,
    client_file::{ClientFile, FileReaders, contains_server},
    clients::{CLIENTS, EntryConnection},
    content::{FileContent, find_documents},
    edit::EntryMembers,
    messages::print_line,
    places::{LaunchContext, ProgramLaunch, find_launch, shell_line},
    record::InstallState,
};
use crate::config::Config;

struct ClientInstaller<'a> {
    arguments: &'a InstallCommand,
    config: &'a Config,
    places: UserFolders<'a>,
    exe: PathBuf,
    choices: InstallChoices,
}

pub fn install_clients(
    arguments: &InstallCommand,
    config: &Config,
    exe: PathBuf,
) -> Result<(), InstallError> {
    let places = find_user_folders(config)?;
    let clients = find_clients(arguments, &places, &config.codex.path)?;
    if arguments.clients.is_empty()
        && !clients.is_empty()
        && !arguments.all
        && !arguments.print_config
    {
        let names: Vec<&str> = clients.iter().map(|client| client.name).collect();
        print_line(&format!("found: {}", names.join(", ")))?;
    }
    let launch = find_launch(&exe, &config.codex.path, LaunchContext::Terminal, places.platform);
    let can_hook = shell_line(&launch, "hook", places.platform).is_some();
    let state = InstallState::load(&config.data_dir);
    let choices = InstallChoices::ask_open_choices(arguments, &clients, &places, can_hook, state)?;
    let installer = ClientInstaller { arguments, config, places, exe, choices };
    if arguments.print_config {
        return installer.print_files(&clients);
    }
    let mut plan = ChangePlan::new(&config.data_dir);
    let missed = if clients.is_empty() || arguments.http {
        Vec::new()
    } else {
        list_unshared_settings(config)
    };
    for client in &clients {
        installer.plan_client(client, &clients, &mut plan)?;
    }
    if clients.is_empty() {
        plan_instructions(&mut plan, |plan, name, path| {
            plan.add_content(name, path, &FileContent::Instructions)
        })?;
    }
    let mut changed = clients.clone();
    changed.retain(|client| plan.changes_client(client.name));
    plan.apply_changes(arguments.yes, installer.choices.state)?;
    if !missed.is_empty() {
        print_line(&format!(
            "note: clients may start CodeInfo without {}, which this shell sets: add what matters to `env` of the \
             entries",
            missed.join(", ")
        ))?;
    }
    if io::stdout().is_terminal() {
        for client in changed {
            print_line(&format!("next for {}: {}", client.name, client.next_step()))?;
        }
    }
    Ok(())
}

/// Returns the names of the clients on this machine, and whether each is set up.
///
/// # Errors
///
/// The home folder is unknown.
pub fn list_found_clients(config: &Config) -> Result<Vec<(&'static str, bool)>, InstallError> {
    let places = find_user_folders(config)?;
    let found = CLIENTS.iter().filter(|client| client.is_found(&places, &config.codex.path));
    Ok(found.map(|client| (client.name, is_set_up(client, &places))).collect())
}

fn is_set_up(client: &SupportedClient, places: &UserFolders<'_>) -> bool {
    client.server_files(places).iter().any(|path| contains_server(client, path))
}

/// Returns the settings of this shell that select the index or Codex.
fn list_unshared_settings(config: &Config) -> Vec<&'static str> {
    const NAMES: [&str; 5] = ["DATA_DIR", "CODEX_BIN", "CODEX_HOME", "QDRANT_URL", "EMBEDDING_URL"];
    let environment = &config.codex.environment;
    NAMES.into_iter().filter(|name| environment.get(name).is_some()).collect()
}

pub fn uninstall_clients(
    arguments: &UninstallCommand,
    config: &Config,
) -> Result<(), InstallError> {
    let places = find_user_folders(config)?;
    let mut plan = ChangePlan::new(&config.data_dir);
    let mut state = InstallState::load(&config.data_dir);
    let is_for_all = arguments.clients.is_empty() && !arguments.instructions;
    let named = if is_for_all { CLIENTS.iter().collect() } else { arguments.clients.clone() };
    for client in &named {
        let readers =
            FileReaders { places: &places, state: &state, named: &named, is_install: false };
        let is_set_up = plan_removal(client, &readers, is_for_all, &mut plan)?;
        if !is_set_up && !is_for_all {
            print_line(&format!("{}: not set up", client.name))?;
        }
        state.forget_client(client.id);
    }
    if arguments.instructions {
        plan_instructions(&mut plan, |plan, name, path| {
            let is_there = plan.remove_content(name, path, &FileContent::Instructions)?;
            if is_there { Ok(()) } else { print_line(&format!("{name}: not set up")) }
        })?;
    }
    if is_for_all && plan.is_empty() {
        print_line("no client is set up")?;
    }
    plan.apply_changes(arguments.yes, state)
}

/// Plans to remove CodeInfo from a client. Returns whether the client has it.
fn plan_removal(
    client: &SupportedClient,
    readers: &FileReaders<'_>,
    is_for_all: bool,
    plan: &mut ChangePlan<'_>,
) -> Result<bool, InstallError> {
    let mut is_set_up = false;
    for file in ClientFile::list_written(client, readers.places) {
        if readers.keep_for_other(client, &file)? {
            continue;
        }
        match plan.remove_content(client.name, &file.path, &file.content) {
            Ok(is_there) => is_set_up |= is_there,
            // An unreadable file of a client that was not named is ignored.
            Err(_) if is_for_all && !plan.is_remembered(&file.path) => {}
            Err(error) => {
                is_set_up = true;
                plan.report_failure(client.name, &error)?;
            }
        }
    }
    Ok(is_set_up)
}

fn find_user_folders(config: &Config) -> Result<UserFolders<'_>, InstallError> {
    UserFolders::new(HostPlatform::HERE, &config.codex.environment).ok_or(InstallError::Homeless)
}

fn plan_instructions(
    plan: &mut ChangePlan<'_>,
    plan_document: impl Fn(&mut ChangePlan<'_>, &str, &Path) -> Result<(), InstallError>,
) -> Result<(), InstallError> {
    let (root, documents) = find_documents(Path::new("."))?;
    for path in documents {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // The author of the repository controls where its links lead.
        let is_outside =
            |real: PathBuf| !real.starts_with(&root) || real.starts_with(root.join(".git"));
        let leads_out = path.canonicalize().is_ok_and(is_outside);
        let planned = if leads_out {
            Err(InstallError::unfit_file(&path, "is a link that leads out of the repository"))
        } else {
            plan_document(plan, &name, &path)
        };
        if let Err(error) = planned {
            plan.report_failure(&name, &error)?;
        }
    }
    Ok(())
}

/// Returns the named clients, or else those on this machine.
fn find_clients(
    arguments: &InstallCommand,
    places: &UserFolders<'_>,
    path: &OsStr,
) -> Result<Vec<&'static SupportedClient>, InstallError> {
    if !arguments.clients.is_empty() {
        return Ok(arguments.clients.clone());
    }
    if arguments.all || arguments.print_config {
        return Ok(CLIENTS.iter().collect());
    }
    if arguments.instructions {
        let switch = arguments.find_client_switch().map(InstallError::ClientSwitch);
        return switch.map_or(Ok(Vec::new()), Err);
    }
    let found: Vec<_> = CLIENTS.iter().filter(|client| client.is_found(places, path)).collect();
    if found.is_empty() {
        let looked: Vec<_> = CLIENTS
            .iter()
            .map(|client| format!("  {}: {}", client.name, client.describe_signs(places)))
            .collect();
        return Err(InstallError::NoClient(looked.join("\n")));
    }
    Ok(found)
}

impl ClientInstaller<'_> {
    fn plan_client(
        &self,
        client: &SupportedClient,
        named: &[&'static SupportedClient],
        plan: &mut ChangePlan<'_>,
    ) -> Result<(), InstallError> {
        let files = match self.list_files(client) {
            Ok(files) => files,
            Err(error) => return plan.report_failure(client.name, &error),
        };
        let readers = FileReaders {
            places: &self.places,
            state: &self.choices.state,
            named,
            is_install: true,
        };
        for file in files {
            if readers.keep_for_other(client, &file)? {
                continue;
            }
            let ClientFile { path, content, is_wanted } = &file;
            let planned = if *is_wanted {
                plan.add_content(client.name, path, content)
            } else {
                plan.remove_content(client.name, path, content).map(drop)
            };
            if let Err(error) = planned {
                plan.report_failure(client.name, &error)?;
                if *is_wanted {
                    file.print_for_pasting()?;
                }
                // Without the server, the other files are useless.
                if matches!(content, FileContent::Server { .. }) {
                    break;
                }
            }
        }
        self.print_refusals(client)
    }

    /// Prints which parts a client lacks because of an earlier choice.
    fn print_refusals(&self, client: &SupportedClient) -> Result<(), InstallError> {
        let arguments = self.arguments;
        let state = &self.choices.state;
        let name = client.name;
        if state.without_indexing.contains(client.id) && !arguments.no_auto_index && !arguments.http
        {
            print_line(&format!(
                "{name}: indexes nothing, as you chose; `--auto-index` changes that"
            ))?;
        }
        if state.without_permissions.contains(client.id) && !arguments.no_permissions {
            print_line(&format!(
                "{name}: asks before calls, as you chose; `--permissions` changes that"
            ))?;
        }
        if state.without_instructions.contains(client.id) && !arguments.no_instructions {
            print_line(&format!("{name}: has no lines, as you chose; `--instructions` adds them"))?;
        }
        Ok(())
    }

    /// Returns the files of a client, that of the server first.
    fn list_files(&self, client: &SupportedClient) -> Result<Vec<ClientFile>, InstallError> {
        let permission = self.choices.permits_calls(client);
        let path = client.server_file(&self.places);
        let entry = self.build_entry(client)?;
        let revokes_trust = client.has_trust() && !permission;
        let mut files = vec![ClientFile::for_server(client, path, entry, revokes_trust)];
        let hook = self.find_hook_command(client)?;
        let is_wanted = permission || hook.is_some();
        let settings = FileContent::Settings { permission, hook };
        files.extend(ClientFile::for_settings(client, &self.places, settings, is_wanted));
        let is_instructed = !self.choices.state.without_instructions.contains(client.id);
        files.extend(ClientFile::list_for_models(client, &self.places, is_instructed));
        Ok(files)
    }

    /// Returns the command of the hook, if a person agreed to it now or earlier.
    fn find_hook_command(&self, client: &SupportedClient) -> Result<Option<String>, InstallError> {
        let is_wanted = self.choices.hook.unwrap_or_else(|| has_hook(client, &self.places));
        if !is_wanted || client.settings_file(&self.places).is_none() {
            return Ok(None);
        }
        let line = shell_line(&self.build_launch(client), "hook", self.places.platform);
        if line.is_none() {
            print_line(&format!(
                "{}: no reminder with each prompt: a runner such as npx or uvx takes seconds to start CodeInfo",
                client.name
            ))?;
        }
        Ok(line)
    }

    fn build_launch(&self, client: &SupportedClient) -> ProgramLaunch {
        let path = &self.config.codex.path;
        find_launch(&self.exe, path, client.started_from, self.places.platform)
    }

    fn build_entry(&self, client: &SupportedClient) -> Result<EntryMembers, InstallError> {
        let connection = if self.arguments.http {
            EntryConnection::Url(format!("http://127.0.0.1:{}/mcp", self.config.mcp_port))
        } else {
            let launch = self.build_launch(client);
            let program = launch.command.to_str();
            let command =
                program.ok_or_else(|| InstallError::Program(self.exe.clone()))?.to_owned();
            let auto_index = !self.choices.state.without_indexing.contains(client.id);
            let own = ["stdio"].into_iter().chain(auto_index.then_some(AUTO_INDEX));
            let args = launch.before.into_iter().chain(own.map(str::to_owned)).collect();
            EntryConnection::Program { command, args }
        };
        let path = client.server_file(&self.places);
        client.build_entry(connection, self.choices.permits_calls(client)).ok_or_else(|| {
            InstallError::unfit_file(
                path,
                "takes programs only, no URLs: leave `--http` out for it",
            )
        })
    }

    fn print_files(&self, clients: &[&'static SupportedClient]) -> Result<(), InstallError> {
        for client in clients {
            print_line(&format!("{}:", client.name))?;
            match self.list_files(client) {
                Err(error) => print_line(&format!("  {error}\n"))?,
                Ok(files) => {
                    for file in files.iter().filter(|file| file.is_wanted) {
                        file.print_for_pasting()?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Argument that indexes a repository when a client starts in it.
const AUTO_INDEX: &str = "--auto-index";
