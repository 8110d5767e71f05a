//! Starts toolkit processes in the sandbox of Codex.
//!
//! A toolkit reads the indexed roots, the system's programs, its own program and its working folder. It writes its
//! `HOME` below the data folder, with the downloads of `npx` and `uvx`, and with `workspace-write` its working
//! folder. Its variables are set inside the sandbox, so that they neither affect it nor appear in the process list.

mod program;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use codeinfo_codex::{Codex, CodexError, CommandPermissions, NetworkAccess, ReadableRoot};
use codeinfo_core::{Principal, Root, Secret, task::Tasks};
use codeinfo_store::Store;
use codeinfo_worktree::private_places::{PrivatePlaces, ResolvedPlaces};
use futures_util::future::BoxFuture;
use uuid::Uuid;

pub use self::program::is_installed;
use crate::{
    connection::{LaunchRequest, ToolkitCommand, ToolkitLauncher},
    spec::{ToolkitSandbox, ToolkitSpec, ToolkitTransport},
};

const FOLDER: &str = "toolkits";
/// Names in it that no toolkit can have: the folder of Codex, and the one of toolkits with an owner.
const CODEX_FOLDER: &str = ".codex";
const CARRIED_FOLDER: &str = ".carried";
/// Prefix of variable names on their way into the sandbox.
const PREFIX: &str = "CODEINFO_ENV_";
/// Shell that sets the variables inside the sandbox.
const SHELL: &str = "/bin/sh";
/// Shell command that fails without Codex's proxy; an old Codex reads its setting as unrestricted network.
const DEMAND_PROXY: &str = "[ \"$CODEX_NETWORK_PROXY_ACTIVE\" = 1 ] || \
    { echo 'this Codex has no proxy for its network: update Codex' >&2; exit 1; }; ";
const CODEX_VARIABLES: &str = "CODEX_HOME CODEX_SANDBOX CODEX_SANDBOX_NETWORK_DISABLED \
    CODEX_NETWORK_ALLOW_LOCAL_BINDING CODEX_NETWORK_PROXY_ACTIVE";

/// Launcher that starts toolkits in the sandbox of Codex.
pub struct SandboxLauncher {
    codex: Codex,
    settings: codeinfo_codex::CodexSettings,
    store: Store,
    tasks: Tasks,
}

struct ToolkitFolders {
    home: PathBuf,
    temporary: PathBuf,
}

impl SandboxLauncher {
    pub fn new(
        codex: Codex,
        settings: codeinfo_codex::CodexSettings,
        store: Store,
        tasks: Tasks,
    ) -> Self {
        Self { codex, settings, store, tasks }
    }

    async fn prepare_command(&self, start: LaunchRequest<'_>) -> Result<ToolkitCommand, String> {
        let ToolkitTransport::Stdio { command, args, env, working_dir } = &start.spec.transport
        else {
            return Err("it has no process".to_owned());
        };
        let own = self.create_folders(start).await?;
        let dir = working_dir.clone().unwrap_or_else(|| own.home.clone());
        let search = program::ProgramSearch {
            path: self.settings.path.clone(),
            home: self.settings.environment.get("HOME").map(PathBuf::from),
            dir: dir.clone(),
            reads_scripts: start.owner.is_none_or(|owner| owner == Principal::owner().as_str()),
        };
        let command_name = command.clone();
        let command_args = args.clone();
        let is_fenced = start.spec.sandbox != ToolkitSandbox::Off;
        let own_home = own.home.clone();
        let private = self.private_places();
        let found = self.tasks.spawn_blocking(move || {
            let folder = dir
                .canonicalize()
                .ok()
                .filter(|folder| folder.is_dir())
                .ok_or("its `workingDir` is no folder")?;
            let found = program::find_program(&command_name, command_args, &search)?;
            if is_fenced {
                let folders =
                    std::iter::once(&folder).filter(|folder| !folder.starts_with(&own_home));
                refuse_private(folders.chain(&found.needs), &private.resolve())?;
            }
            Ok::<_, String>((found, folder))
        });
        let (found, dir) = found.await.map_err(|_| "the server is stopping".to_owned())??;
        let env = self.build_environment(start.spec, env, &own);
        if start.spec.sandbox == ToolkitSandbox::Off {
            return Ok(ToolkitCommand {
                program: found.program,
                args: found.args,
                env,
                dir,
                own: None,
            });
        }
        self.build_sandboxed_command(start.spec, found, env, own, dir).await
    }

    /// Returns the private places that may hold neither the working folder nor the program of a sandboxed toolkit.
    fn private_places(&self) -> PrivatePlaces {
        let home = self.settings.environment.get("HOME").map(PathBuf::from);
        let own = self.settings.home.iter().chain([&self.settings.data_dir]);
        PrivatePlaces::new(home, own.cloned().collect())
    }

    fn build_environment(
        &self,
        spec: &ToolkitSpec,
        named: &BTreeMap<String, Secret>,
        own: &ToolkitFolders,
    ) -> BTreeMap<String, String> {
        let environment = &self.settings.environment;
        let given = |name: &str| environment.get(name).map(str::to_owned);
        let text = |path: &Path| Some(path.to_string_lossy().into_owned());
        let (home, temporary) = match spec.sandbox {
            ToolkitSandbox::Off => (given("HOME"), given("TMPDIR")),
            ToolkitSandbox::ReadOnly | ToolkitSandbox::WorkspaceWrite => {
                (text(&own.home), text(&own.temporary))
            }
        };
        let path = Some(self.settings.path.to_string_lossy().into_owned());
        let standard =
            [("HOME", home), ("PATH", path), ("LANG", given("LANG")), ("TMPDIR", temporary)];
        let set = standard.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        set.chain(named.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())))
            .collect()
    }

    async fn build_sandboxed_command(
        &self,
        spec: &ToolkitSpec,
        found: program::ResolvedProgram,
        env: BTreeMap<String, String>,
        own: ToolkitFolders,
        dir: PathBuf,
    ) -> Result<ToolkitCommand, String> {
        let names: Vec<&str> = env.keys().map(String::as_str).collect();
        let is_proxied = spec.network != NetworkAccess::Open;
        let script = format!(
            "{}{}",
            if is_proxied { DEMAND_PROXY } else { "" },
            build_environment_script(&names)?
        );
        let mut args: Vec<OsString> = vec!["-c".into(), script.into()];
        args.push(found.program.into_os_string());
        args.extend(found.args);
        let folder = self.settings.data_dir.join(FOLDER);
        let mut readable = self.list_readable_roots().await?;
        let mut writable = vec![own.home.clone()];
        if dir != own.home {
            // Keys in the working folder are hidden, as in an indexed folder.
            readable.push(ReadableRoot { folder: dir.clone(), private_files: Vec::new() });
            if spec.sandbox == ToolkitSandbox::WorkspaceWrite {
                writable.push(dir.clone());
            }
        }
        let home = folder.join(CODEX_FOLDER);
        create_private_folder(&home).await.map_err(|error| describe_folder_error(&home, &error))?;
        let sandboxed = CommandPermissions {
            readable,
            programs: found.needs,
            writable,
            dir: dir.clone(),
            network: spec.network,
            hidden: list_other_folders(&folder, &own.home),
            home,
        };
        let boxed = self
            .codex
            .sandbox_command(sandboxed, Path::new(SHELL), &args)
            .await
            .map_err(|error| describe_sandbox_error(&error))?;
        let mut outside = boxed.env;
        outside.insert("HOME".to_owned(), own.home.to_string_lossy().into_owned());
        outside.extend(env.into_iter().map(|(name, value)| (format!("{PREFIX}{name}"), value)));
        Ok(ToolkitCommand {
            program: boxed.program,
            args: boxed.args,
            env: outside,
            own: Some(own.home.clone()),
            dir: own.home,
        })
    }

    /// Returns the indexed roots whose secrets are known.
    async fn list_readable_roots(&self) -> Result<Vec<ReadableRoot>, String> {
        let roots = self
            .store
            .roots()
            .await
            .map_err(|error| format!("the indexed roots are not known: {error}"))?;
        Ok(roots.into_iter().filter_map(readable_from_root).collect())
    }

    /// Creates the toolkit's own folders, separate for each owner and for configuration files.
    async fn create_folders(&self, start: LaunchRequest<'_>) -> Result<ToolkitFolders, String> {
        let folder = self.settings.data_dir.join(FOLDER);
        // A different program of the same name is another toolkit, which must not see the files of the first.
        let program: String = start.spec.program_digest().chars().take(8).collect();
        let name = format!("{}-{program}", start.name);
        let home = match start.owner {
            None => folder.join(name),
            Some(owner) => {
                let owner = Uuid::new_v5(&Uuid::NAMESPACE_OID, owner.as_bytes());
                folder.join(CARRIED_FOLDER).join(owner.to_string()).join(name)
            }
        };
        let temporary = home.join("tmp");
        create_private_folder(&temporary)
            .await
            .map_err(|error| describe_folder_error(&temporary, &error))?;
        // The sandbox compares paths literally, so links must be resolved.
        let home = tokio::fs::canonicalize(&home)
            .await
            .map_err(|error| describe_folder_error(&home, &error))?;
        Ok(ToolkitFolders { temporary: home.join("tmp"), home })
    }
}

impl ToolkitLauncher for SandboxLauncher {
    fn build_command<'a>(
        &'a self,
        start: LaunchRequest<'a>,
    ) -> BoxFuture<'a, Result<ToolkitCommand, String>> {
        Box::pin(self.prepare_command(start))
    }
}

/// The sandbox itself denies private places inside a path.
fn refuse_private<'a>(
    paths: impl Iterator<Item = &'a PathBuf>,
    private: &ResolvedPlaces,
) -> Result<(), String> {
    for path in paths {
        let shown = path.display();
        if let Some(place) = private.find_place(path) {
            return Err(format!(
                "it would work in, or read, `{shown}`, which is, or lies in, {place}; use another \
                 folder, or set `sandbox` to `off`"
            ));
        }
        if private.has_own_below(path) {
            return Err(format!(
                "it would work in, or read, `{shown}`, which lies around the data of CodeInfo or Codex"
            ));
        }
    }
    Ok(())
}

fn readable_from_root(root: Root) -> Option<ReadableRoot> {
    root.local_folder()?;
    let relative_paths = root.last_ingest_at.and(root.private_files)?;
    let private_files = relative_paths.iter().map(|path| root.path.join(path)).collect();
    Some(ReadableRoot { folder: root.path, private_files })
}

/// Returns a shell script that renames the prefixed variables and executes its arguments.
fn build_environment_script(names: &[&str]) -> Result<String, String> {
    let mut script = vec![format!("unset {CODEX_VARIABLES}; ")];
    for name in names {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !name.chars().all(is_word) || !name.starts_with(|c: char| !c.is_ascii_digit()) {
            return Err(format!("`{name}` in its `env` is no name of a variable"));
        }
        script.push(format!("export {name}=\"${PREFIX}{name}\"; unset {PREFIX}{name}; "));
    }
    script.push("exec \"$0\" \"$@\"".to_owned());
    Ok(script.concat())
}

/// Returns the folders of other toolkits, which an indexed root around the data folder would expose.
fn list_other_folders(folder: &Path, own: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let others = entries.map(|entry| entry.path());
    others.filter(|path| !own.starts_with(path) && !path.ends_with(CODEX_FOLDER)).collect()
}

async fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = tokio::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    builder.mode(0o700);
    builder.create(folder).await
}

fn describe_folder_error(folder: &Path, error: &io::Error) -> String {
    format!("its folder `{}` cannot be made: {error}", folder.display())
}

fn describe_sandbox_error(error: &CodexError) -> String {
    format!(
        "its sandbox is that of Codex, and {error}; install Codex, or set `sandbox` to `off` if it may \
         read and write all that you may"
    )
}
