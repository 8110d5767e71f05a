//! `codeinfo install` and `uninstall`: sets up clients, each in its own file, and takes that back.
//!
//! What is done is planned first, shown, and written after a yes. No server and no data folder lock is needed.

mod args;
mod change;
mod clients;
mod edit;
mod entry;
mod error;
mod file;
mod instructions;
mod launch;
mod places;
mod record;
mod talk;

use std::path::{Path, PathBuf};

pub use args::{Install, Uninstall};
pub use clients::Client;
pub use error::InstallError;
pub use places::{Places, Platform, program};

use self::{
    change::{Change, Edit, Plan},
    clients::{CLIENTS, Connection},
    entry::Entry,
    talk::say,
};
use crate::config::Config;

/// What sets clients up.
struct Installer<'a> {
    asked: &'a Install,
    config: &'a Config,
    places: Places<'a>,
    exe: PathBuf,
    /// Whether repositories are indexed when a client starts in them.
    auto_index: bool,
}

/// Sets up the clients that are asked for.
pub fn install(asked: &Install, config: &Config, exe: PathBuf) -> Result<(), InstallError> {
    let places = places(config)?;
    let mut installer = Installer { asked, config, places, exe, auto_index: asked.auto_index };
    let clients = installer.clients()?;
    if asked.print_config {
        return installer.print(&clients);
    }
    let question = "Index repositories that are not indexed yet when a client is started in them?";
    if !(clients.is_empty() || asked.yes || asked.http || asked.auto_index) {
        installer.auto_index = talk::ask(question)?.unwrap_or(false);
    }
    let mut plan = Plan::default();
    let missed = if clients.is_empty() || asked.http { Vec::new() } else { set_here(config) };
    for client in clients {
        let path = client.file(&installer.places);
        match installer.planned(client, &path) {
            Ok(Some(change)) => plan.add(change)?,
            Ok(None) => {}
            Err(error) => {
                plan.fail(client.name, &error)?;
                installer.paste(client, &path)?;
            }
        }
    }
    if asked.instructions {
        plan_instructions(&mut plan, |name, path| {
            let edits = (&instructions::with as Edit<'_>, &instructions::without as Edit<'_>);
            Change::planned(name, path, config, edits)
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
        for path in (client.files)(&places) {
            let form = (client.syntax, client.section);
            let without = |text: &str| edit::without(form, text);
            match Change::undone(client.name, &path, config, &without) {
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
            Change::undone_or_none(name, path, config, &instructions::without)
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
    for path in instructions::documents(Path::new("."))? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match planned(&name, &path) {
            Ok(Some(change)) => plan.add(change)?,
            Ok(None) => {}
            Err(error) => plan.fail(&name, &error)?,
        }
    }
    Ok(())
}

impl Installer<'_> {
    /// The clients that are named, or else those that are found.
    fn clients(&self) -> Result<Vec<&'static Client>, InstallError> {
        let Install { clients, all, instructions, print_config, .. } = self.asked;
        if !clients.is_empty() {
            return Ok(clients.clone());
        }
        if *all || *print_config {
            return Ok(CLIENTS.iter().collect());
        }
        if *instructions {
            return Ok(Vec::new());
        }
        let path = &self.config.codex.path;
        let found: Vec<_> =
            CLIENTS.iter().filter(|client| client.is_found(&self.places, path)).collect();
        if found.is_empty() {
            let looked: Vec<_> = CLIENTS
                .iter()
                .map(|client| format!("  {}: {}", client.name, client.looked_for(&self.places)))
                .collect();
            return Err(InstallError::NoClient(looked.join("\n")));
        }
        Ok(found)
    }

    fn planned(&self, client: &Client, path: &Path) -> Result<Option<Change>, InstallError> {
        let form = (client.syntax, client.section);
        let text = file::read(path)?.text.unwrap_or_default();
        // Who agreed once is not asked for it with every update.
        let agreed = edit::args(form, &text).iter().any(|arg| arg == AUTO_INDEX);
        let entry = self.entry(client, agreed)?;
        let with = |text: &str| edit::with(form, text, &entry);
        let without = |text: &str| edit::without(form, text);
        Change::planned(client.name, path, self.config, (&with, &without))
    }

    fn entry(&self, client: &Client, agreed: bool) -> Result<Entry, InstallError> {
        let connection = if self.asked.http {
            Connection::Url(format!("http://127.0.0.1:{}/mcp", self.config.mcp_port))
        } else {
            let platform = self.places.platform;
            let path = &self.config.codex.path;
            let launch = launch::launch(&self.exe, path, client.started_from, platform);
            let command = launch.command.to_str();
            let command =
                command.ok_or_else(|| InstallError::Program(self.exe.clone()))?.to_owned();
            let auto_index = self.auto_index || agreed;
            let own = ["stdio"].into_iter().chain(auto_index.then_some(AUTO_INDEX));
            let args = launch.before.into_iter().chain(own.map(str::to_owned)).collect();
            Connection::Program { command, args }
        };
        let path = client.file(&self.places);
        client.entry(connection).ok_or_else(|| {
            InstallError::unfit(path, "takes programs only, no URLs: leave `--http` out for it")
        })
    }

    /// Prints what belongs into each file.
    fn print(&self, clients: &[&'static Client]) -> Result<(), InstallError> {
        for client in clients {
            say(&format!("{}:", client.name))?;
            self.paste(client, &client.file(&self.places))?;
        }
        Ok(())
    }

    fn paste(&self, client: &Client, path: &Path) -> Result<(), InstallError> {
        match self.entry(client, false) {
            Err(error) => say(&format!("  {error}\n")),
            Ok(entry) => {
                let whole = edit::with((client.syntax, client.section), "", &entry)
                    .map_err(|refusal| InstallError::refused(path, &refusal))?;
                say(&format!("paste into {}:\n\n{whole}", path.display()))
            }
        }
    }
}

/// The argument that has repositories indexed when a client starts in them.
const AUTO_INDEX: &str = "--auto-index";
