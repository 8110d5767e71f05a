//! `codeinfo service`: has the server started with the session of a person, by systemd or launchd.

mod launchd;
mod systemd;

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Subcommand;
use codeinfo_core::atomic::{self, Readers};
use codeinfo_store::LockHolder;
use tokio::{
    process::Command,
    time::{Instant, sleep},
};

use crate::{
    config::{Config, HANDOVER},
    install::{InstallError, Places, Platform, program},
};

/// Settings that a service starts with as they are now. Keys are not among them: they would stand in a file
/// that backups and other programs read.
const SETTINGS: &[&str] = &[
    "PATH",
    "HOST",
    "PORT",
    "MCP_PORT",
    "DATA_DIR",
    "CODEX_BIN",
    "CODEX_HOME",
    "CODEX_MODEL",
    "CODEX_EFFORT",
    "CLAIM_CHECK",
    "QDRANT_URL",
    "EMBEDDING_URL",
    "EMBEDDING_MODEL",
    "LOG_LEVEL",
    "LOG_FORMAT",
    "AUTH",
    "ALLOWED_HOSTS",
    "ALLOWED_ORIGINS",
    "CODEX_PRIVATE",
    "CODEX_NETWORK",
    "CODEX_WEB_SEARCH",
    "CODEX_SANDBOX",
    "CODEX_APPROVAL",
    "CODEX_SHELL",
    "TOOLKITS_ENABLED",
    "TOOLKITS_FILE",
    "QDRANT_COLLECTION",
    "EMBEDDING_DIMENSIONS",
    "EMBEDDING_QUERY_PREFIX",
    "EMBEDDING_DOCUMENT_PREFIX",
];
/// Says in each file who wrote it.
const MARK: &str = "Written by `codeinfo service install`";
/// Longest wait for the manager of services, and for the server that it starts.
const WAIT: Duration = Duration::from_mins(1);
/// How often the server is looked for.
const STEP: Duration = Duration::from_millis(200);

/// What to do with the service.
#[derive(Debug, Subcommand)]
pub enum Service {
    /// Start the server now and with every session, and keep it running
    Install {
        /// Folders to index first
        paths: Vec<PathBuf>,
        /// Keep every repository's index up to date while its files change
        #[arg(long)]
        watch: bool,
    },
    /// Say whether the service is installed and running
    Status,
    /// Stop the server and do not start it again
    Remove,
}

/// A failed command of `service`.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    #[error(transparent)]
    File(#[from] InstallError),
    #[error("`{0}` is not UTF-8 or has a line break, so that no service can be given it")]
    Unfit(String),
    #[error("`{command}` failed: {reason}")]
    Manager { command: String, reason: String },
    #[error("there is no `{manager}` here to start services with; {hint}")]
    NoManager { manager: &'static str, hint: &'static str },
    #[error("`{}` was not written by `codeinfo service install`; move it away first", .0.display())]
    NotOurs(PathBuf),
    #[error("the service is installed but its server is not up: {reason}; {log}")]
    NotUp { reason: String, log: &'static str },
    #[error("the service is not {0}")]
    Not(&'static str),
    #[error("cannot write to the terminal: {0}")]
    Terminal(#[from] io::Error),
}

/// What a service runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Job {
    /// The program and its arguments.
    command: Vec<String>,
    /// Variables by name.
    environment: Vec<(String, String)>,
}

/// The manager of services of a platform: its file, and what it is asked.
struct Manager {
    name: &'static str,
    file: PathBuf,
    text: fn(&Job) -> String,
    /// Ends one that was installed before. There may be none.
    renew: Vec<Vec<String>>,
    start: Vec<Vec<String>>,
    is_running: Vec<String>,
    stop: Vec<Vec<String>>,
    /// After the file is gone.
    forget: Vec<Vec<String>>,
    hint: &'static str,
    /// Where it is said why a server does not come up.
    log: &'static str,
}

/// Does what is asked with the service.
pub async fn service(asked: Service, config: &Config, exe: &Path) -> Result<(), ServiceError> {
    let environment = &config.codex.environment;
    let places = Places::new(Platform::HERE, environment).ok_or(InstallError::Homeless)?;
    let manager = match Platform::HERE {
        Platform::Linux => systemd::manager(&places),
        Platform::MacOs => launchd::manager(&places),
        Platform::Windows => {
            let hint = "have the Task Scheduler run `codeinfo serve` at log on";
            return Err(ServiceError::NoManager { manager: "systemd or launchd", hint });
        }
    };
    let path = config.codex.path.as_os_str();
    match asked {
        Service::Install { paths, watch } => {
            let job = job(config, exe, &paths, watch)?;
            manager.install(&job, program(manager.name, path), &config.data_dir).await
        }
        Service::Status => manager.status(program(manager.name, path), &config.data_dir).await,
        Service::Remove => manager.remove(program(manager.name, path)).await,
    }
}

fn job(config: &Config, exe: &Path, paths: &[PathBuf], watch: bool) -> Result<Job, ServiceError> {
    // The one on `PATH` may be a link that outlives this version.
    let on_path = program("codeinfo", &config.codex.path)
        .filter(|found| found.canonicalize().ok() == exe.canonicalize().ok());
    let mut command = vec![text(&on_path.unwrap_or_else(|| exe.to_owned()))?, "serve".to_owned()];
    if watch {
        command.push("--watch".to_owned());
    }
    for path in paths {
        let failed = |source| InstallError::File { path: path.clone(), source };
        command.push(text(&path.canonicalize().map_err(failed)?)?);
    }
    let environment = SETTINGS
        .iter()
        .filter_map(|name| {
            let value = config.codex.environment.get(name)?;
            Some(fit(value).map(|value| ((*name).to_owned(), value)))
        })
        .collect::<Result<_, _>>()?;
    Ok(Job { command, environment })
}

fn text(path: &Path) -> Result<String, ServiceError> {
    path.to_str().map_or_else(|| Err(ServiceError::Unfit(path.display().to_string())), fit)
}

fn fit(text: &str) -> Result<String, ServiceError> {
    if text.chars().any(char::is_control) {
        return Err(ServiceError::Unfit(text.escape_default().to_string()));
    }
    Ok(text.to_owned())
}

impl Manager {
    async fn install(
        &self,
        job: &Job,
        program: Option<PathBuf>,
        data_dir: &Path,
    ) -> Result<(), ServiceError> {
        let text = (self.text)(job);
        let Some(program) = program else {
            say(&format!("a service would be {}:\n\n{text}", self.file.display()))?;
            return Err(ServiceError::NoManager { manager: self.name, hint: self.hint });
        };
        self.is_ours()?;
        let failed = |source| InstallError::File { path: self.file.clone(), source };
        if let Some(folder) = self.file.parent() {
            atomic::create_folders(folder, Readers::AsUsual).map_err(failed)?;
        }
        atomic::exchange(&self.file, text.as_bytes()).map_err(failed)?;
        say(&format!("wrote {}", self.file.display()))?;
        let former = holder(data_dir).map(|former| former.pid);
        for arguments in &self.renew {
            drop(ask(&program, arguments).await);
        }
        for arguments in &self.start {
            if let Err(error) = ask(&program, arguments).await {
                say(&format!("the service is written but not started; {}", self.hint))?;
                return Err(error);
            }
        }
        let url = self.up(&program, data_dir, former).await?;
        say(&format!("the server runs at {url}, and starts with your sessions"))
    }

    /// Waits until the server is up that the manager was asked to start, and returns where. The `former` one
    /// was ended for it, if it was that of a service.
    async fn up(
        &self,
        program: &Path,
        data_dir: &Path,
        former: Option<u32>,
    ) -> Result<String, ServiceError> {
        let failed = |reason| ServiceError::NotUp { reason, log: self.log };
        let began = Instant::now();
        loop {
            let others =
                || former.filter(|former| holder(data_dir).is_some_and(|now| now.pid == *former));
            let held = |pid| format!("process {pid} serves the same data folder; end it first");
            if let Err(error) = ask(program, &self.is_running).await {
                return Err(failed(others().map_or_else(|| error.to_string(), held)));
            }
            let now = holder(data_dir).filter(|now| former != Some(now.pid));
            if let Some(LockHolder { main_url: Some(url), until_idle: false, .. }) = now {
                return Ok(url);
            }
            if began.elapsed() >= WAIT {
                let late = || format!("it took more than {} s", WAIT.as_secs());
                return Err(failed(others().map_or_else(late, held)));
            }
            sleep(STEP).await;
        }
    }

    async fn status(&self, program: Option<PathBuf>, data_dir: &Path) -> Result<(), ServiceError> {
        if !self.is_installed()? {
            say(&format!("not installed: no {}", self.file.display()))?;
            return Err(ServiceError::Not("installed"));
        }
        say(&format!("installed: {}", self.file.display()))?;
        let Some(program) = program else {
            return Err(ServiceError::NoManager { manager: self.name, hint: self.hint });
        };
        if let Err(error) = ask(&program, &self.is_running).await {
            say(&format!("not running: {error}"))?;
            return Err(ServiceError::Not("running"));
        }
        let own = holder(data_dir).filter(|holder| !holder.until_idle);
        if let Some(url) = own.and_then(|holder| holder.main_url) {
            return say(&format!("running at {url}"));
        }
        say("running, but the server is not up")?;
        let reason = "it starts, or does not come up".to_owned();
        Err(ServiceError::NotUp { reason, log: self.log })
    }

    async fn remove(&self, program: Option<PathBuf>) -> Result<(), ServiceError> {
        if !self.is_installed()? {
            return say(&format!("not installed: no {}", self.file.display()));
        }
        self.is_ours()?;
        let mut ended = Ok(());
        for arguments in self.stop.iter().filter(|_| program.is_some()) {
            // One that does not run, or that is unknown, is removed all the same.
            ended = ended.and(ask(program.as_deref().unwrap_or(&self.file), arguments).await);
        }
        let failed = |source| InstallError::File { path: self.file.clone(), source };
        atomic::remove(&self.file).map_err(failed)?;
        for arguments in self.forget.iter().filter(|_| program.is_some()) {
            ended = ended.and(ask(program.as_deref().unwrap_or(&self.file), arguments).await);
        }
        if let Err(error) = ended {
            say(&format!("note: {error}"))?;
        }
        say(&format!("removed {}", self.file.display()))
    }

    /// Refuses a file that somebody else wrote.
    fn is_ours(&self) -> Result<(), ServiceError> {
        let failed = |source| InstallError::File { path: self.file.clone(), source };
        let text = atomic::read(&self.file, Readers::AsUsual).map_err(failed)?;
        let text = text.as_deref().map(String::from_utf8_lossy);
        match text {
            Some(text) if !text.contains(MARK) => Err(ServiceError::NotOurs(self.file.clone())),
            Some(_) | None => Ok(()),
        }
    }

    fn is_installed(&self) -> Result<bool, ServiceError> {
        let failed = |source| InstallError::File { path: self.file.clone(), source };
        Ok(self.file.try_exists().map_err(failed)?)
    }
}

/// Has the manager do something, and waits for it.
async fn ask(program: &Path, arguments: &[String]) -> Result<(), ServiceError> {
    let failed = |reason: String| {
        let command = format!("{} {}", program.display(), arguments.join(" "));
        ServiceError::Manager { command, reason }
    };
    let mut command = Command::new(program);
    // It is about this process.
    command.env_remove(HANDOVER);
    command.args(arguments).stdin(std::process::Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(WAIT, command.output()).await;
    let output = output.map_err(|_| failed(format!("no answer in {} s", WAIT.as_secs())))?;
    let output = output.map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stderr, output.stdout].concat();
    let said = String::from_utf8_lossy(&said);
    let first = said.lines().find(|line| !line.trim().is_empty());
    Err(failed(first.map_or_else(|| output.status.to_string(), str::to_owned)))
}

/// Returns the server of the data folder, as far as it can be known.
fn holder(data_dir: &Path) -> Option<LockHolder> {
    codeinfo_store::find_lock_holder(data_dir).ok().flatten()
}

fn say(line: &str) -> Result<(), ServiceError> {
    Ok(writeln!(io::stdout().lock(), "{line}")?)
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}
