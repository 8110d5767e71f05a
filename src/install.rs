//! `codeinfo install` and `uninstall`: sets up clients, each in its own file, and takes that back.
//!
//! What is done is planned first, shown, and written after a yes. No server and no data folder lock is needed.

mod args;
mod change;
mod choices;
mod clients;
mod content;
mod edit;
mod entry;
mod error;
mod file;
mod instructions;
mod launch;
mod places;
mod record;
mod sub_agent;
mod talk;

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

pub use args::{Install, Uninstall};
pub use clients::Client;
pub use error::InstallError;
pub use places::{Places, Platform, program};

use self::{
    change::{Change, Plan},
    choices::InstallChoices,
    clients::{CLIENTS, Connection, StartedFrom},
    content::FileContent,
    entry::Entry,
    launch::Launch,
    talk::say,
};
use crate::config::Config;

/// What sets clients up.
struct Installer<'a> {
    asked: &'a Install,
    config: &'a Config,
    places: Places<'a>,
    exe: PathBuf,
    choices: InstallChoices,
}

/// A file of a client and what of ours belongs into it.
struct ClientFile {
    path: PathBuf,
    content: FileContent,
    is_wanted: bool,
}

/// Sets up the clients that are asked for.
pub fn install(asked: &Install, config: &Config, exe: PathBuf) -> Result<(), InstallError> {
    let places = places(config)?;
    let clients = find_clients(asked, &places, &config.codex.path)?;
    let launch = launch::launch(&exe, &config.codex.path, StartedFrom::Terminal, places.platform);
    let can_hook = launch::shell_line(&launch, "hook", places.platform).is_some();
    let choices = InstallChoices::ask(asked, &clients, &places, can_hook)?;
    let installer = Installer { asked, config, places, exe, choices };
    if asked.print_config {
        return installer.print(&clients);
    }
    let mut plan = Plan::default();
    let missed = if clients.is_empty() || asked.http { Vec::new() } else { set_here(config) };
    let is_for_repository = clients.is_empty();
    for client in clients {
        installer.plan_client(client, &mut plan)?;
    }
    if is_for_repository {
        plan_instructions(&mut plan, |name, path| {
            Change::planned(name, path, config, &FileContent::Instructions)
        })?;
    }
    plan.carry_out(asked.yes)?;
    if missed.is_empty() {
        return Ok(());
    }
    say(&format!(
        "note: clients may start CodeInfo without {}, which this shell sets: add what matters to `env` of the entries",
        missed.join(", ")
    ))
}

/// Returns the settings of this shell that say which index and which Codex are meant.
fn set_here(config: &Config) -> Vec<&'static str> {
    const NAMES: [&str; 5] = ["DATA_DIR", "CODEX_BIN", "CODEX_HOME", "QDRANT_URL", "EMBEDDING_URL"];
    let environment = &config.codex.environment;
    NAMES.into_iter().filter(|name| environment.get(name).is_some()).collect()
}

/// Takes CodeInfo out of the clients that are asked for.
pub fn uninstall(asked: &Uninstall, config: &Config) -> Result<(), InstallError> {
    let places = places(config)?;
    let mut plan = Plan::default();
    let all = asked.clients.is_empty() && !asked.instructions;
    let clients = if all { CLIENTS.iter().collect() } else { asked.clients.clone() };
    for client in &clients {
        let mut is_set_up = false;
        for ClientFile { path, content, .. } in written_files(client, &places) {
            match Change::undone(client.name, &path, config, &content) {
                Ok(Some(change)) => {
                    is_set_up = true;
                    plan.add(change)?;
                }
                Ok(None) => {}
                // What stands in files of others that nobody named is none of our business.
                Err(_) if all && !Change::was_made(&path, config) => {}
                Err(error) => {
                    is_set_up = true;
                    plan.fail(client.name, &error)?;
                }
            }
        }
        if !is_set_up && !all {
            say(&format!("{}: not set up", client.name))?;
        }
    }
    if asked.instructions {
        plan_instructions(&mut plan, |name, path| {
            Change::undone_or_none(name, path, config, &FileContent::Instructions)
        })?;
    }
    if all && plan.is_empty() {
        return say("no client is set up");
    }
    plan.carry_out(asked.yes)
}

fn places(config: &Config) -> Result<Places<'_>, InstallError> {
    Places::new(Platform::HERE, &config.codex.environment).ok_or(InstallError::Homeless)
}

fn plan_instructions(
    plan: &mut Plan,
    planned: impl Fn(&str, &Path) -> Result<Option<Change>, InstallError>,
) -> Result<(), InstallError> {
    let (root, documents) = instructions::documents(Path::new("."))?;
    for path in documents {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Whoever made the repository says where its links lead.
        let leads_out = path.canonicalize().is_ok_and(|real| !real.starts_with(&root));
        let change = if leads_out {
            Err(InstallError::unfit(&path, "is a link that leads out of the repository"))
        } else {
            planned(&name, &path)
        };
        match change {
            Ok(Some(change)) => plan.add(change)?,
            Ok(None) => {}
            Err(error) => plan.fail(&name, &error)?,
        }
    }
    Ok(())
}

/// Returns the clients that are named, or else those that are found.
fn find_clients(
    asked: &Install,
    places: &Places<'_>,
    path: &OsStr,
) -> Result<Vec<&'static Client>, InstallError> {
    if !asked.clients.is_empty() {
        return Ok(asked.clients.clone());
    }
    if asked.all || asked.print_config {
        return Ok(CLIENTS.iter().collect());
    }
    if asked.instructions {
        let switch = asked.find_client_switch().map(InstallError::ClientSwitch);
        return switch.map_or(Ok(Vec::new()), Err);
    }
    let found: Vec<_> = CLIENTS.iter().filter(|client| client.is_found(places, path)).collect();
    if found.is_empty() {
        let looked: Vec<_> = CLIENTS
            .iter()
            .map(|client| format!("  {}: {}", client.name, client.looked_for(places)))
            .collect();
        return Err(InstallError::NoClient(looked.join("\n")));
    }
    Ok(found)
}

/// Returns the files in which an `install` may have left something.
fn written_files(client: &Client, places: &Places<'_>) -> Vec<ClientFile> {
    let paths = (client.files)(places).into_iter();
    let servers = paths.map(|path| ClientFile::server(client, path, Entry::new(), false));
    servers.chain(ClientFile::further(client, places, InstallChoices::NONE, None)).collect()
}

impl ClientFile {
    fn server(client: &Client, path: PathBuf, entry: Entry, revokes_trust: bool) -> Self {
        let Client { syntax, section, .. } = *client;
        let content = FileContent::Server { syntax, section, entry, revokes_trust };
        Self { path, content, is_wanted: true }
    }

    /// Returns the files beside that of the server. `hook` is what Claude Code runs with each prompt.
    fn further(
        client: &Client,
        places: &Places<'_>,
        choices: InstallChoices,
        hook: Option<String>,
    ) -> Vec<Self> {
        let InstallChoices { permissions: permission, instructions, .. } = choices;
        let mut files = Vec::new();
        let mut add = |path, content, is_wanted| files.push(Self { path, content, is_wanted });
        if let Some(path) = client.settings_file(places) {
            let is_wanted = permission || hook.is_some();
            add(path, FileContent::Settings { permission, hook }, is_wanted);
        }
        if let Some(path) = client.instructions_file(places) {
            add(path, FileContent::Instructions, instructions);
        }
        if let Some((path, members)) = client.sub_agent(places) {
            add(path, FileContent::SubAgent(members), instructions);
        }
        files
    }

    fn paste(&self) -> Result<(), InstallError> {
        let refused = |refusal| InstallError::refused(&self.path, &refusal);
        let whole = self.content.add_to("", None).map_err(refused)?;
        say(&format!("paste into {}:\n\n{whole}", self.path.display()))
    }
}

impl Installer<'_> {
    fn plan_client(&self, client: &Client, plan: &mut Plan) -> Result<(), InstallError> {
        let files = match self.files(client) {
            Ok(files) => files,
            Err(error) => return plan.fail(client.name, &error),
        };
        for file in files {
            let ClientFile { path, content, is_wanted } = &file;
            let change = if *is_wanted { Change::planned } else { Change::undone };
            match change(client.name, path, self.config, content) {
                Ok(Some(change)) => plan.add(change)?,
                Ok(None) => {}
                Err(error) => {
                    plan.fail(client.name, &error)?;
                    if *is_wanted {
                        file.paste()?;
                    }
                    // Without the server the rest is of no use.
                    if matches!(content, FileContent::Server { .. }) {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the files of a client, that of the server first.
    fn files(&self, client: &Client) -> Result<Vec<ClientFile>, InstallError> {
        let permissions = self.choices.permissions;
        let path = client.file(&self.places);
        // What cannot be read is refused when the change is planned.
        let text = file::read(&path).ok().and_then(|found| found.text).unwrap_or_default();
        // Who agreed once is not asked for it with every update.
        let agreed = edit::args((client.syntax, client.section), &text);
        let entry = self.entry(client, agreed.iter().any(|arg| arg == AUTO_INDEX))?;
        let revokes_trust = client.has_trust() && !permissions;
        let mut files = vec![ClientFile::server(client, path, entry, revokes_trust)];
        let hook = self.hook_command(client)?;
        files.extend(ClientFile::further(client, &self.places, self.choices, hook));
        Ok(files)
    }

    /// Returns the command of the hook where it is agreed to, now or before.
    fn hook_command(&self, client: &Client) -> Result<Option<String>, InstallError> {
        let is_wanted =
            self.choices.hook.unwrap_or_else(|| choices::has_hook(client, &self.places));
        if !is_wanted || client.settings_file(&self.places).is_none() {
            return Ok(None);
        }
        let line = launch::shell_line(&self.launch(client), "hook", self.places.platform);
        if line.is_none() {
            say(&format!(
                "{}: no reminder with each prompt: a runner such as npx or uvx takes seconds to start CodeInfo",
                client.name
            ))?;
        }
        Ok(line)
    }

    fn launch(&self, client: &Client) -> Launch {
        let path = &self.config.codex.path;
        launch::launch(&self.exe, path, client.started_from, self.places.platform)
    }

    fn entry(&self, client: &Client, agreed: bool) -> Result<Entry, InstallError> {
        let connection = if self.asked.http {
            Connection::Url(format!("http://127.0.0.1:{}/mcp", self.config.mcp_port))
        } else {
            let launch = self.launch(client);
            let command = launch.command.to_str();
            let command =
                command.ok_or_else(|| InstallError::Program(self.exe.clone()))?.to_owned();
            let auto_index = self.choices.auto_index || agreed;
            let own = ["stdio"].into_iter().chain(auto_index.then_some(AUTO_INDEX));
            let args = launch.before.into_iter().chain(own.map(str::to_owned)).collect();
            Connection::Program { command, args }
        };
        let path = client.file(&self.places);
        client.entry(connection, self.choices.permissions).ok_or_else(|| {
            InstallError::unfit(path, "takes programs only, no URLs: leave `--http` out for it")
        })
    }

    /// Prints what belongs into each file.
    fn print(&self, clients: &[&'static Client]) -> Result<(), InstallError> {
        for client in clients {
            say(&format!("{}:", client.name))?;
            match self.files(client) {
                Err(error) => say(&format!("  {error}\n"))?,
                Ok(files) => {
                    for file in files.iter().filter(|file| file.is_wanted) {
                        file.paste()?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The argument that has repositories indexed when a client starts in them.
const AUTO_INDEX: &str = "--auto-index";
