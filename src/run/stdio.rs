//! `codeinfo stdio`: relays standard streams to the data folder's server, and starts one if needed.

use std::{
    env,
    fs::{self, File, TryLockError},
    io,
    path::{self, Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use codeinfo_core::{error::format_error_chain, task::Tasks};
use codeinfo_server::{
    relay::{ReachableServer, ServerLocator, run_relay},
    takeover::RelayHandshake,
    takeover::{RelayPlan, START_TIMEOUT, plan_relay},
};
use codeinfo_store::{LockHolder, find_lock_holder};
use codeinfo_worktree::git::find_repository;
use futures_util::{FutureExt, future::BoxFuture};
use tokio::{
    process::{Child, Command},
    time::{Instant, sleep},
};
use tracing::warn;

use super::{home_folder, owner_key};
use crate::{
    app::make_private,
    cli::StdioCommand,
    config::{Config, HANDOVER},
};

/// Lock file of the process that starts a server, held until the server announces its address.
const STARTING: &str = "lock.starting";
/// Output of a server that a relay started; [`FORMER_LOG`] has that of the start before.
const LOG: &str = "server.log";
const FORMER_LOG: &str = "server.log.1";
/// Bytes at the end of the log in which the reason of a failed start is looked for.
const REASON_BYTES: usize = 2000;
pub(super) const WAIT: Duration = Duration::from_millis(5);

pub(super) async fn run_stdio_relay(arguments: &StdioCommand, config: &Config) -> io::Result<()> {
    let working_dir = env::current_dir().ok();
    let home = home_folder();
    let folder = working_dir.and_then(|folder| find_repository(&folder, home.as_deref()));
    let auto_index = arguments.auto_index || config.relays.auto_index;
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let own = RelayHandshake { version, folder, auto_index, ..RelayHandshake::default() };
    let tasks = Tasks::default();
    let servers = DataDirServer { config, search: arguments.search, tasks: tasks.clone() };
    run_relay(&servers, own, home.as_deref(), config.http.max_body_bytes, &tasks).await
}

struct DataDirServer<'a> {
    config: &'a Config,
    /// True for raw search instead of the question server.
    search: bool,
    /// Owner of the task that notices the end of a server.
    tasks: Tasks,
}

impl ServerLocator for DataDirServer<'_> {
    fn reach_server(&self) -> BoxFuture<'_, Result<ReachableServer, String>> {
        self.reach_or_start().boxed()
    }
}

impl DataDirServer<'_> {
    async fn reach_or_start(&self) -> Result<ReachableServer, String> {
        let folder = &self.config.data_dir;
        make_private(folder).await.map_err(|error| describe_unusable_path(folder, &error))?;
        let began = Instant::now();
        loop {
            let holder = find_holder(folder)?;
            match plan_relay(holder.as_ref(), self.search, began.elapsed()) {
                RelayPlan::Connect(url) => {
                    warn_of_other_version(url, holder.as_ref());
                    return Ok(ReachableServer {
                        url: url.to_owned(),
                        key: owner_key(self.config),
                    });
                }
                RelayPlan::Start => {
                    if let Some(start_lock) = try_lock_start(folder)? {
                        self.start_server().await?;
                        drop(start_lock);
                        continue;
                    }
                }
                RelayPlan::FailBusy(pid) if try_lock_start(folder)?.is_some() => {
                    return Err(format!(
                        "another command (process {pid}) uses `{}`; try again when it has ended",
                        folder.display()
                    ));
                }
                RelayPlan::FailBusy(_) | RelayPlan::Wait => {}
            }
            if began.elapsed() >= START_TIMEOUT {
                return Err("another process starts a server and does not get ready".to_owned());
            }
            sleep(WAIT).await;
        }
    }

    /// Starts a server and waits until it announces its address.
    async fn start_server(&self) -> Result<(), String> {
        let folder = &self.config.data_dir;
        // Another relay may have started one before this one got the lock.
        if find_holder(folder)?.is_some() {
            return Ok(());
        }
        let mut child =
            self.spawn_server().map_err(|error| format!("cannot start a server: {error}"))?;
        let began = Instant::now();
        while began.elapsed() < START_TIMEOUT {
            if find_holder(folder)?.is_some_and(|holder| holder.main_url.is_some()) {
                // The server outlives this process; until then, a task notices its end.
                self.tasks.spawn(async move { drop(child.wait().await) });
                return Ok(());
            }
            match child.try_wait() {
                Ok(None) => sleep(WAIT).await,
                Ok(Some(status)) => {
                    // Another process started a server first.
                    if find_holder(folder).is_ok_and(|holder| holder.is_some()) {
                        return Ok(());
                    }
                    return Err(format!(
                        "the server ended ({status}): {}",
                        read_failure_reason(folder)
                    ));
                }
                Err(error) => return Err(error.to_string()),
            }
        }
        // The server may still start, for the next message.
        Err(format!("the server is not ready yet; see `{}`", folder.join(LOG).display()))
    }

    /// Returns the settings with paths, resolved against this process's working folder.
    fn list_path_settings(&self) -> Vec<(&'static str, PathBuf)> {
        const NAMES: [&str; 6] = [
            "CODEX_BIN", "CODEX_HOME", "CODEX_WORKDIR", "TOOLKITS_FILE", "INGEST_DIR",
            "HOST_INGEST_DIR",
        ];
        let environment = &self.config.codex.environment;
        let set = NAMES.into_iter().filter_map(|name| Some((name, environment.get(name)?)));
        // A bare name is searched on `PATH`.
        let given = set.filter(|(_, path)| Path::new(path).components().count() > 1);
        let paths = given.filter_map(|(name, path)| Some((name, path::absolute(path).ok()?)));
        paths.chain([("DATA_DIR", self.config.data_dir.clone())]).collect()
    }

    fn spawn_server(&self) -> io::Result<Child> {
        let folder = &self.config.data_dir;
        let log = folder.join(LOG);
        match fs::rename(&log, folder.join(FORMER_LOG)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut command = Command::new(env::current_exe()?);
        command
            .args(["serve", "--until-idle"])
            // The variable belongs to this process only.
            .env_remove(HANDOVER)
            .envs(self.config.handed.iter().map(|(name, value)| (name, value.expose())))
            .envs(self.list_path_settings())
            // The folder of the client may be removed.
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?);
        detach_process(&mut command);
        command.spawn()
    }
}

/// Detaches the server from the client's terminal, process group and open files.
#[cfg(unix)]
fn detach_process(command: &mut Command) {
    command.process_group(0);
    // Rust marks the files of this process when it opens them.
    close_fds::set_fds_cloexec_threadsafe(3, &[]);
}

#[cfg(windows)]
fn detach_process(command: &mut Command) {
    /// `CREATE_NO_WINDOW | CREATE_NEW_PROCESS_GROUP`.
    const FLAGS: u32 = 0x0800_0000 | 0x0000_0200;
    command.creation_flags(FLAGS);
}

#[cfg(not(any(unix, windows)))]
fn detach_process(_: &mut Command) {}

/// Acquires the lock of starting a server, unless another process has it.
pub(super) fn try_lock_start(folder: &Path) -> Result<Option<File>, String> {
    let path = folder.join(STARTING);
    let opened = File::options().read(true).write(true).create(true).truncate(false).open(&path);
    let file = opened.map_err(|error| describe_unusable_path(&path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(describe_unusable_path(&path, &error)),
    }
}

fn find_holder(folder: &Path) -> Result<Option<LockHolder>, String> {
    find_lock_holder(folder).map_err(|error| format_error_chain(&error))
}

fn warn_of_other_version(url: &str, holder: Option<&LockHolder>) {
    let own = env!("CARGO_PKG_VERSION");
    let Some(LockHolder { pid, version, .. }) = holder else { return };
    if version.as_deref() != Some(own) {
        let version = version.as_deref().unwrap_or("an older version");
        warn!(
            "the server at {url} is {version} and this is {own}; stop it (process {pid}) to use this one"
        );
    }
}

/// Returns the last line of the server's output.
fn read_failure_reason(folder: &Path) -> String {
    let output = fs::read(folder.join(LOG)).unwrap_or_default();
    let end = output.get(output.len().saturating_sub(REASON_BYTES)..).unwrap_or_default();
    let text = String::from_utf8_lossy(end);
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(
        || "it said nothing".to_owned(),
        |line| line.trim_start_matches("codeinfo: ").to_owned(),
    )
}

fn describe_unusable_path(path: &Path, error: &io::Error) -> String {
    format!("cannot use `{}`: {error}", path.display())
}
