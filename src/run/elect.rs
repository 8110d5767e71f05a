//! Finds the server of the data folder for a relay, or starts one; of several relays, one starts
//! it.

use std::{
    env,
    fs::{self, File, TryLockError},
    io,
    path::{self, Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use codeinfo_core::{error::format_error_chain, task::Tasks};
use codeinfo_server::relay::{ReachableServer, ServerLocator};
use codeinfo_store::LockHolder;
use futures_util::{FutureExt, future::BoxFuture};
use tokio::{
    process::{Child, Command},
    time::{Instant, sleep},
};
use tracing::warn;

use crate::{
    app::make_private,
    config::{Config, HANDOVER},
};

/// Lock file of the relay that starts a server, held until the server announces its address.
const STARTING: &str = "lock.starting";
/// Output of a server that a relay started; [`FORMER_LOG`] has that of the start before.
const LOG: &str = "server.log";
const FORMER_LOG: &str = "server.log.1";
/// Bytes at the end of the log in which the reason of a failed start is looked for.
const REASON_BYTES: usize = 2000;
/// Maximum time until a server announces its address. Opening a large index takes seconds.
pub(super) const START_TIMEOUT: Duration = Duration::from_mins(1);
/// Maximum time that another command uses the data folder, or a server stops, before the relay
/// reports it.
const BUSY_TIMEOUT: Duration = Duration::from_secs(15);
pub(super) const WAIT: Duration = Duration::from_millis(5);

/// The one server of a data folder.
pub(super) struct ElectedServer<'a> {
    pub(super) config: &'a Config,
    /// True for raw search instead of the question server.
    pub(super) search: bool,
    /// Owner of the task that notices the end of a server.
    pub(super) tasks: Tasks,
}

impl ServerLocator for ElectedServer<'_> {
    fn reach_server(&self) -> BoxFuture<'_, Result<ReachableServer, String>> {
        self.reach_or_start().boxed()
    }
}

impl ElectedServer<'_> {
    async fn reach_or_start(&self) -> Result<ReachableServer, String> {
        let folder = &self.config.data_dir;
        make_private(folder).await.map_err(|error| describe_unusable_path(folder, &error))?;
        let began = Instant::now();
        loop {
            let holder = codeinfo_store::find_lock_holder(folder)
                .map_err(|error| format_error_chain(&error))?;
            if let Some(reached) = holder.as_ref().and_then(|holder| self.check_holder(holder)) {
                return Ok(reached);
            }
            match (holder, began.elapsed()) {
                (None, _) => {
                    if let Some(starting) = try_lock_start(folder)? {
                        self.start_server().await?;
                        drop(starting);
                        continue;
                    }
                }
                // While another relay starts a server, only `START_TIMEOUT` applies.
                (Some(LockHolder { pid, .. }), waited)
                    if waited >= BUSY_TIMEOUT && try_lock_start(folder)?.is_some() =>
                {
                    return Err(format!(
                        "another command (process {pid}) uses `{}`; try again when it has ended",
                        folder.display()
                    ));
                }
                (Some(_), _) => {}
            }
            if began.elapsed() >= START_TIMEOUT {
                return Err("another process starts a server and does not get ready".to_owned());
            }
            sleep(WAIT).await;
        }
    }

    /// Returns the address of a server, once it is announced.
    fn check_holder(&self, holder: &LockHolder) -> Option<ReachableServer> {
        let announced = if self.search { &holder.main_url } else { &holder.mcp_url };
        let url = announced.clone()?;
        let own = env!("CARGO_PKG_VERSION");
        let announced_version = holder.version.as_deref();
        if announced_version != Some(own) {
            let version = announced_version.unwrap_or("an older version");
            warn!(
                "the server at {url} is {version} and this is {own}; stop it (process {}) to use this one",
                holder.pid
            );
        }
        Some(ReachableServer { url, key: super::owner_key(self.config) })
    }

    /// Starts a server and waits until it announces its address.
    async fn start_server(&self) -> Result<(), String> {
        let folder = &self.config.data_dir;
        // Another relay may have started one before this one got the lock.
        if codeinfo_store::find_lock_holder(folder)
            .map_err(|error| format_error_chain(&error))?
            .is_some()
        {
            return Ok(());
        }
        let mut child =
            self.spawn_server().map_err(|error| format!("cannot start a server: {error}"))?;
        let began = Instant::now();
        while began.elapsed() < START_TIMEOUT {
            let holder = codeinfo_store::find_lock_holder(folder)
                .map_err(|error| format_error_chain(&error))?;
            if holder.is_some_and(|holder| holder.main_url.is_some()) {
                // The server outlives this process; until then, a task notices its end.
                self.tasks.spawn(async move { drop(child.wait().await) });
                return Ok(());
            }
            match child.try_wait() {
                Ok(None) => sleep(WAIT).await,
                Ok(Some(status)) => {
                    // Another process started a server first.
                    if codeinfo_store::find_lock_holder(folder).is_ok_and(|holder| holder.is_some())
                    {
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
            "CODEX_BIN",
            "CODEX_HOME",
            "CODEX_WORKDIR",
            "TOOLKITS_FILE",
            "INGEST_DIR",
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

/// Detaches the server from signals of the client's terminal or process group, and from files that
/// the client left open.
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

/// Acquires the right to start a server, unless another process has it.
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
