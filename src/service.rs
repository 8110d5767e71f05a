//! `codeinfo service`: starts the server with a person's sessions, by systemd or launchd.

mod managers;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Subcommand;
use codeinfo_core::atomic::{self, FileAccess};
use codeinfo_store::LockHolder;
use tokio::{
    process::Command,
    time::{Instant, sleep},
};

use crate::{
    config::{Config, HANDOVER},
    install::{
        ConsoleError, HostPlatform, InstallError, UserFolders, find_program, write_to_stdout,
    },
};

/// Settings that a service takes from the environment, without keys: other programs read its file.
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
/// Mark in each file that this command wrote.
const MARK: &str = "Written by `codeinfo service install`";
const WAIT: Duration = Duration::from_mins(1);
const STEP: Duration = Duration::from_millis(200);

#[derive(Debug, Subcommand)]
pub enum ServiceCommand {
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

#[derive(Debug, thiserror::Error)]
pub enum ServiceCommandError {
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
    #[error(transparent)]
    Console(#[from] ConsoleError),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServiceJob {
    command: Vec<String>,
    environment: Vec<(String, String)>,
}

/// Service manager of a platform, with its file and its commands.
struct ServiceManager {
    name: &'static str,
    file: PathBuf,
    text: fn(&ServiceJob) -> String,
    /// Commands that end an earlier installation, which may be missing.
    renew: Vec<Vec<String>>,
    start: Vec<Vec<String>>,
    is_running: Vec<String>,
    stop: Vec<Vec<String>>,
    /// Commands after the removal of the file.
    forget: Vec<Vec<String>>,
    hint: &'static str,
    /// Advice on finding the reason of a failed start.
    log: &'static str,
}

pub async fn run_service_command(
    command: ServiceCommand,
    config: &Config,
    exe: &Path,
) -> Result<(), ServiceCommandError> {
    let environment = &config.codex.environment;
    let places = UserFolders::new(HostPlatform::HERE, environment).ok_or(InstallError::Homeless)?;
    let manager = match HostPlatform::HERE {
        HostPlatform::Linux => managers::build_systemd(&places),
        HostPlatform::MacOs => managers::build_launchd(&places),
        HostPlatform::Windows => {
            let hint = "have the Task Scheduler run `codeinfo serve` at log on";
            return Err(ServiceCommandError::NoManager { manager: "systemd or launchd", hint });
        }
    };
    let path = config.codex.path.as_os_str();
    match command {
        ServiceCommand::Install { paths, watch } => {
            let job = build_service_job(config, exe, &paths, watch)?;
            manager.install_service(&job, find_program(manager.name, path), &config.data_dir).await
        }
        ServiceCommand::Status => {
            manager.print_status(find_program(manager.name, path), &config.data_dir).await
        }
        ServiceCommand::Remove => manager.remove_service(find_program(manager.name, path)).await,
    }
}

fn build_service_job(
    config: &Config,
    exe: &Path,
    paths: &[PathBuf],
    watch: bool,
) -> Result<ServiceJob, ServiceCommandError> {
    // The program on `PATH` may be a link that outlives this version.
    let on_path = find_program("codeinfo", &config.codex.path)
        .filter(|found| found.canonicalize().ok() == exe.canonicalize().ok());
    let mut command =
        vec![path_to_text(&on_path.unwrap_or_else(|| exe.to_owned()))?, "serve".to_owned()];
    if watch {
        command.push("--watch".to_owned());
    }
    for path in paths {
        let failed = |source| InstallError::File { path: path.clone(), source };
        command.push(path_to_text(&path.canonicalize().map_err(failed)?)?);
    }
    let environment = SETTINGS
        .iter()
        .filter_map(|name| {
            let value = config.codex.environment.get(name)?;
            Some(check_text(value).map(|value| ((*name).to_owned(), value)))
        })
        .collect::<Result<_, _>>()?;
    Ok(ServiceJob { command, environment })
}

fn path_to_text(path: &Path) -> Result<String, ServiceCommandError> {
    path.to_str()
        .map_or_else(|| Err(ServiceCommandError::Unfit(path.display().to_string())), check_text)
}

fn check_text(text: &str) -> Result<String, ServiceCommandError> {
    if text.chars().any(char::is_control) {
        return Err(ServiceCommandError::Unfit(text.escape_default().to_string()));
    }
    Ok(text.to_owned())
}

impl ServiceManager {
    async fn install_service(
        &self,
        job: &ServiceJob,
        program: Option<PathBuf>,
        data_dir: &Path,
    ) -> Result<(), ServiceCommandError> {
        let text = (self.text)(job);
        let Some(program) = program else {
            print_line(&format!("a service would be {}:\n\n{text}", self.file.display()))?;
            return Err(ServiceCommandError::NoManager { manager: self.name, hint: self.hint });
        };
        self.check_ownership()?;
        let failed = |source| InstallError::File { path: self.file.clone(), source };
        if let Some(folder) = self.file.parent() {
            atomic::create_folders(folder, FileAccess::AsUsual).map_err(failed)?;
        }
        atomic::replace_user_file(&self.file, text.as_bytes()).map_err(failed)?;
        print_line(&format!("wrote {}", self.file.display()))?;
        let former = find_holder(data_dir).map(|former| former.pid);
        for arguments in &self.renew {
            drop(run_manager(&program, arguments).await);
        }
        for arguments in &self.start {
            if let Err(error) = run_manager(&program, arguments).await {
                print_line(&format!("the service is written but not started; {}", self.hint))?;
                return Err(error);
            }
        }
        let url = self.wait_until_up(&program, data_dir, former).await?;
        print_line(&format!("the server runs at {url}, and starts with your sessions"))
    }

    /// Waits until the manager's server is up, and returns its address. `former` held the data
    /// folder before, and ends if it belonged to the service.
    async fn wait_until_up(
        &self,
        program: &Path,
        data_dir: &Path,
        former: Option<u32>,
    ) -> Result<String, ServiceCommandError> {
        let failed = |reason| ServiceCommandError::NotUp { reason, log: self.log };
        let began = Instant::now();
        loop {
            let others = || {
                former.filter(|former| find_holder(data_dir).is_some_and(|now| now.pid == *former))
            };
            let held = |pid| format!("process {pid} serves the same data folder; end it first");
            if let Err(error) = run_manager(program, &self.is_running).await {
                return Err(failed(others().map_or_else(|| error.to_string(), held)));
            }
            let now = find_holder(data_dir).filter(|now| former != Some(now.pid));
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

    async fn print_status(
        &self,
        program: Option<PathBuf>,
        data_dir: &Path,
    ) -> Result<(), ServiceCommandError> {
        if !self.is_installed()? {
            print_line(&format!("not installed: no {}", self.file.display()))?;
            return Err(ServiceCommandError::Not("installed"));
        }
        print_line(&format!("installed: {}", self.file.display()))?;
        let Some(program) = program else {
            return Err(ServiceCommandError::NoManager { manager: self.name, hint: self.hint });
        };
        if let Err(error) = run_manager(&program, &self.is_running).await {
            print_line(&format!("not running: {error}"))?;
            return Err(ServiceCommandError::Not("running"));
        }
        let own = find_holder(data_dir).filter(|holder| !holder.until_idle);
        if let Some(url) = own.and_then(|holder| holder.main_url) {
            return print_line(&format!("running at {url}"));
        }
        print_line("running, but the server is not up")?;
        let reason = "it starts, or does not come up".to_owned();
        Err(ServiceCommandError::NotUp { reason, log: self.log })
    }

    async fn remove_service(&self, program: Option<PathBuf>) -> Result<(), ServiceCommandError> {
        if !self.is_installed()? {
            return print_line(&format!("not installed: no {}", self.file.display()));
        }
        self.check_ownership()?;
        let mut ended = Ok(());
        for arguments in self.stop.iter().filter(|_| program.is_some()) {
            // A service that is stopped or unknown is removed as well.
            ended =
                ended.and(run_manager(program.as_deref().unwrap_or(&self.file), arguments).await);
        }
        let failed = |source| InstallError::File { path: self.file.clone(), source };
        atomic::remove_file(&self.file).map_err(failed)?;
        for arguments in self.forget.iter().filter(|_| program.is_some()) {
            ended =
                ended.and(run_manager(program.as_deref().unwrap_or(&self.file), arguments).await);
        }
        if let Err(error) = ended {
            print_line(&format!("note: {error}"))?;
        }
        print_line(&format!("removed {}", self.file.display()))
    }

    /// Refuses a file that this command did not write.
    fn check_ownership(&self) -> Result<(), ServiceCommandError> {
        let failed = |source| InstallError::File { path: self.file.clone(), source };
        let bytes = atomic::read_if_exists(&self.file, FileAccess::AsUsual).map_err(failed)?;
        let text = bytes.as_deref().map(String::from_utf8_lossy);
        match text {
            Some(text) if !text.contains(MARK) => {
                Err(ServiceCommandError::NotOurs(self.file.clone()))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn is_installed(&self) -> Result<bool, ServiceCommandError> {
        let failed = |source| InstallError::File { path: self.file.clone(), source };
        Ok(self.file.try_exists().map_err(failed)?)
    }
}

async fn run_manager(program: &Path, arguments: &[String]) -> Result<(), ServiceCommandError> {
    let failed = |reason: String| {
        let command = format!("{} {}", program.display(), arguments.join(" "));
        ServiceCommandError::Manager { command, reason }
    };
    let mut command = Command::new(program);
    // The variable belongs to this process only.
    command.env_remove(HANDOVER);
    command.args(arguments).stdin(std::process::Stdio::null()).kill_on_drop(true);
    let ended = tokio::time::timeout(WAIT, command.output())
        .await
        .map_err(|_| failed(format!("no answer in {} s", WAIT.as_secs())))?;
    let output = ended.map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let bytes = [output.stderr, output.stdout].concat();
    let text = String::from_utf8_lossy(&bytes);
    let first = text.lines().find(|line| !line.trim().is_empty());
    Err(failed(first.map_or_else(|| output.status.to_string(), str::to_owned)))
}

/// Returns the server of the data folder; `None` if it cannot be determined.
fn find_holder(data_dir: &Path) -> Option<LockHolder> {
    codeinfo_store::find_lock_holder(data_dir).ok().flatten()
}

fn print_line(line: &str) -> Result<(), ServiceCommandError> {
    Ok(write_to_stdout(line)?)
}

fn split_words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}
