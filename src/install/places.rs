//! Folders of programs' settings on this machine, and the command by which clients start this one.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use codeinfo_codex::OtherVariables;
use codeinfo_core::paths::is_executable;

/// Platform whose rules for folders apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostPlatform {
    Linux,
    MacOs,
    Windows,
}

impl HostPlatform {
    pub const HERE: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_os = "macos") {
        Self::MacOs
    } else {
        Self::Linux
    };
}

#[derive(Debug)]
pub struct UserFolders<'a> {
    pub platform: HostPlatform,
    environment: &'a OtherVariables,
    home: PathBuf,
}

impl<'a> UserFolders<'a> {
    /// Creates the folders; `None` if the environment has no home folder.
    pub fn new(platform: HostPlatform, environment: &'a OtherVariables) -> Option<Self> {
        let variable = if platform == HostPlatform::Windows { "USERPROFILE" } else { "HOME" };
        let home = environment.get(variable)?.into();
        Some(Self { platform, environment, home })
    }

    pub fn in_home(&self, path: &str) -> PathBuf {
        self.home.join(path)
    }

    /// Returns the folder in a variable, or `path` in the home folder.
    pub(super) fn variable_or_home(&self, variable: &str, path: &str) -> PathBuf {
        self.environment.get(variable).map_or_else(|| self.in_home(path), PathBuf::from)
    }

    /// Returns the settings folder of command line programs, on all platforms `XDG_CONFIG_HOME` or
    /// `~/.config`.
    pub fn dot_config(&self) -> PathBuf {
        let set = self.environment.get("XDG_CONFIG_HOME").map(PathBuf::from);
        // The specification requires to ignore a relative folder.
        set.filter(|folder| folder.is_absolute()).unwrap_or_else(|| self.in_home(".config"))
    }

    /// Returns the settings folder of desktop programs.
    pub(super) fn application_folder(&self, name: &str) -> PathBuf {
        match self.platform {
            HostPlatform::Linux => self.dot_config(),
            HostPlatform::MacOs => self.in_home("Library/Application Support"),
            HostPlatform::Windows => self.variable_or_home("APPDATA", "AppData/Roaming"),
        }
        .join(name)
    }
}

/// Returns the file of the program `name`, as a shell finds it on `path`.
pub fn find_program(name: &str, path: &OsStr) -> Option<PathBuf> {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    // A relative folder would depend on the working folder.
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders
        .map(|folder| folder.join(&name))
        .find(|file| file.metadata().is_ok_and(|found| is_executable(&found)))
}

/// Comment that marks a shell line of CodeInfo; to `cmd.exe`, ignored arguments of the command.
pub(super) const HOOK_MARK: &str = " # codeinfo";

/// Program from which a client is started. A desktop does not pass on the `PATH` of a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LaunchContext {
    Terminal,
    Desktop,
}

/// Command that runs this program, and the arguments before those of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProgramLaunch {
    pub(super) command: PathBuf,
    pub(super) before: Vec<String>,
}

impl ProgramLaunch {
    fn new(command: impl Into<PathBuf>, before: &[&str]) -> Self {
        Self {
            command: command.into(),
            before: before.iter().map(|&argument| argument.to_owned()).collect(),
        }
    }
}

/// Returns the command for the program at `exe`, started by a client.
pub(super) fn find_launch(
    exe: &Path,
    path: &OsStr,
    from: LaunchContext,
    platform: HostPlatform,
) -> ProgramLaunch {
    let is_below = |is_cache: fn(&str) -> bool| {
        exe.components().any(|part| part.as_os_str().to_str().is_some_and(is_cache))
    };
    // Runners cache programs only for a while, so the command starts the runner.
    if is_below(|folder| folder == "_npx") {
        return build_npx_launch(path, from, platform);
    }
    // `UV_CACHE_DIR` may be anywhere.
    if is_below(|folder| folder.starts_with("archive-v")) {
        let runner = find_program("uvx", path).filter(|_| from == LaunchContext::Desktop);
        return ProgramLaunch::new(runner.unwrap_or_else(|| "uvx".into()), &["codeinfo"]);
    }
    let is_this = |found: &PathBuf| match (found.canonicalize(), exe.canonicalize()) {
        (Ok(found), Ok(this)) => found == this,
        _ => false,
    };
    // The program on `PATH` may be a link that outlives this version.
    let command = match (find_program("codeinfo", path).filter(is_this), from) {
        (Some(_), LaunchContext::Terminal) => "codeinfo".into(),
        (Some(found), LaunchContext::Desktop) => found,
        (None, _) => exe.to_owned(),
    };
    ProgramLaunch::new(command, &[])
}

/// Returns the shell line that runs a command of this program, and succeeds if the program is gone;
/// `None` for a program that a runner must unpack first, which takes seconds.
pub(super) fn shell_line(
    launch: &ProgramLaunch,
    command: &str,
    platform: HostPlatform,
) -> Option<String> {
    let program = launch.command.to_str().filter(|_| launch.before.is_empty())?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let quoted = match platform {
        HostPlatform::Windows => format!("\"{program}\""),
        _ if program.chars().all(is_plain) => program.to_owned(),
        _ => format!("'{}'", program.replace('\'', r"'\''")),
    };
    // `cmd.exe` has no command `true`.
    Some(format!("{quoted} {command} || exit 0{HOOK_MARK}"))
}

fn build_npx_launch(path: &OsStr, from: LaunchContext, platform: HostPlatform) -> ProgramLaunch {
    // On Windows, `npx` is a shell script, which clients do not start.
    if platform == HostPlatform::Windows {
        return ProgramLaunch::new("cmd.exe", &["/c", "npx", "-y", "codeinfo"]);
    }
    let found = find_program("npx", path).filter(|_| from == LaunchContext::Desktop);
    match found.as_deref().and_then(Path::parent).and_then(Path::to_str) {
        // `npx` finds Node on `PATH`, which version managers set only for shells.
        Some(folder) => ProgramLaunch::new("/bin/sh", &["-c", WITH_FOLDER, folder]),
        None => ProgramLaunch::new("npx", &["-y", "codeinfo"]),
    }
}

/// Script whose name is the folder of `npx`.
const WITH_FOLDER: &str = r#"PATH="$0:$PATH" exec npx -y codeinfo "$@""#;

#[cfg(test)]
mod tests {
    use super::*;

    const NPX: &str = "/home/a/.npm/_npx/0f3/node_modules/codeinfo-linux-x64/bin/codeinfo";

    fn at(exe: &str, platform: HostPlatform) -> ProgramLaunch {
        find_launch(Path::new(exe), OsStr::new(""), LaunchContext::Terminal, platform)
    }

    #[test]
    fn a_program_that_a_runner_keeps_for_a_while_is_run_by_it_again() {
        assert_eq!(at(NPX, HostPlatform::Linux), ProgramLaunch::new("npx", &["-y", "codeinfo"]));
        let windows = ProgramLaunch::new("cmd.exe", &["/c", "npx", "-y", "codeinfo"]);
        assert_eq!(at(NPX, HostPlatform::Windows), windows);
        for cache in
            ["/home/a/.cache/uv/archive-v0", "/var/ours/archive-v1", "/a/uv/cache/archive-v0"]
        {
            let uvx = at(&format!("{cache}/Zq1/bin/codeinfo"), HostPlatform::Linux);
            assert_eq!(uvx, ProgramLaunch::new("uvx", &["codeinfo"]));
        }
        for own in ["/opt/uv/codeinfo", "/a/lib/node_modules/codeinfo-linux-x64/bin/codeinfo"] {
            assert_eq!(at(own, HostPlatform::Linux), ProgramLaunch::new(own, &[]));
        }
    }

    #[test]
    fn lines_of_every_shell_have_a_guard_and_the_mark() {
        let line =
            |program, platform| shell_line(&ProgramLaunch::new(program, &[]), "hook", platform);
        for (program, platform, expected) in [
            ("/a/codeinfo", HostPlatform::Linux, "/a/codeinfo hook || exit 0 # codeinfo"),
            (
                "/it's/codeinfo",
                HostPlatform::MacOs,
                r"'/it'\''s/codeinfo' hook || exit 0 # codeinfo",
            ),
            (
                r"C:\a b\codeinfo.exe",
                HostPlatform::Windows,
                r#""C:\a b\codeinfo.exe" hook || exit 0 # codeinfo"#,
            ),
        ] {
            assert_eq!(line(program, platform).unwrap(), expected);
        }
        assert_eq!(
            shell_line(&ProgramLaunch::new("npx", &["codeinfo"]), "hook", HostPlatform::Linux),
            None
        );
    }

    #[cfg(unix)]
    #[test]
    fn what_a_desktop_starts_has_node_on_its_path() {
        use std::{fs, os::unix::fs::PermissionsExt, process::Command};

        let folder = tempfile::tempdir().unwrap();
        let npx = folder.path().join("npx");
        fs::write(&npx, "#!/usr/bin/env of-the-same-folder\n").unwrap();
        let node = folder.path().join("of-the-same-folder");
        fs::write(&node, "#!/bin/sh\nshift\necho \"$@\"\n").unwrap();
        for file in [npx, node] {
            fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let path = folder.path().as_os_str();
        let made = find_launch(Path::new(NPX), path, LaunchContext::Desktop, HostPlatform::Linux);
        let output = Command::new(made.command).args(made.before).arg("stdio").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "-y codeinfo stdio\n", "{output:?}");
    }
}
