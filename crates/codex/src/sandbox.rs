//! Runs a command of another program in Codex's sandbox, with access to its permitted files only.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{
    Codex, CodexError, ReadableRoot, bubblewrap, cell,
    codex_config::{command_network, to_inline_toml},
    fence::{SandboxContext, SandboxRules, is_plain},
    files, inherit,
    server::find_program_files,
};
use crate::NetworkAccess;

/// Permissions of a sandboxed command.
#[derive(Debug, Clone)]
pub struct CommandPermissions {
    /// Indexed folders that it may read, without their secrets.
    pub readable: Vec<ReadableRoot>,
    /// Files and folders of the command itself, which it may read.
    pub programs: Vec<PathBuf>,
    pub writable: Vec<PathBuf>,
    pub dir: PathBuf,
    pub network: NetworkAccess,
    /// Folders that stay hidden even inside granted ones.
    pub hidden: Vec<PathBuf>,
    /// Codex home for this command; the user's own has settings and keys.
    pub home: PathBuf,
}

/// Command line that runs the command in the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxedCommand {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// Variables for Codex, in addition to those of the command.
    pub env: BTreeMap<String, String>,
}

impl Codex {
    /// Returns the command line that runs `command` with `args` in the sandbox. The command line does not
    /// contain the command's variables.
    pub async fn sandbox_command(
        &self,
        sandboxed: CommandPermissions,
        command: &Path,
        args: &[OsString],
    ) -> Result<SandboxedCommand, CodexError> {
        let inner = &self.0;
        let binary = files::find_binary(&inner.settings).await?;
        let codex = find_program_files(&binary, &inner.tasks).await.ok_or(CodexError::NoNative)?;
        let CommandPermissions { readable, programs, writable, dir, network, hidden, home } =
            sandboxed;
        let paths = programs.iter().chain(&writable).chain([&dir, &home]);
        if let Some(path) = paths.into_iter().find(|path| !is_plain(path)) {
            return Err(CodexError::Pattern { path: path.clone() });
        }
        // Writable folders may lie inside denied ones, so the denied paths are split around them.
        let own = codex.iter().chain(&programs).chain(&writable).chain([&home]).cloned();
        let hidden = inherit::codex_home(&inner.settings).into_iter().chain(hidden);
        let surroundings = SandboxContext {
            program: own.collect(),
            private: inherit::private_places(&inner.settings, hidden),
        };
        let (readable, _) = inner.sight.locate_secrets(readable, &inner.tasks).await;
        let settings = inner.settings.clone();
        let built = inner.tasks.spawn_blocking(move || {
            let (mut fence, _) = SandboxRules::build(&readable, &surroundings);
            for path in &writable {
                fence.allow_writing(path);
            }
            let path = bubblewrap::install_wrapper(&settings, &codex);
            bubblewrap::save_copies(&settings.data_dir, &fence.copy_git_settings());
            (fence, path)
        });
        let (fence, path) = built.await.map_err(|_| CodexError::Stopping)?;
        let name = cell::profile_name();
        let profile = format!("permissions.{name}");
        let filesystem = Value::Object(fence.with_scratch(None));
        let settings = [("filesystem", filesystem), ("network", command_network(network))];
        let mut boxed: Vec<OsString> = ["sandbox", "-P", &name, "-C"].map(OsString::from).into();
        boxed.push(dir.into_os_string());
        let is_proxied = network != NetworkAccess::Open;
        boxed.push("-c".into());
        boxed.push(format!("features.network_proxy={is_proxied}").into());
        for (key, value) in settings {
            boxed.push("-c".into());
            boxed.push(format!("{profile}.{key}={}", to_inline_toml(&value)).into());
        }
        boxed.push("--".into());
        boxed.push(command.as_os_str().to_owned());
        boxed.extend(args.iter().cloned());
        let text = |text: &OsStr| text.to_string_lossy().into_owned();
        let variables = [("CODEX_HOME", text(home.as_os_str())), ("PATH", text(&path))];
        let env = variables.map(|(name, value)| (name.to_owned(), value)).into();
        Ok(SandboxedCommand { program: binary, args: boxed, env })
    }
}
