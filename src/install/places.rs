//! Folders in which the programs of a person keep their settings, on each platform.

use std::path::PathBuf;

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

/// Folders of one person, from the environment.
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
pub fn find_program(name: &str, path: &std::ffi::OsStr) -> Option<PathBuf> {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    // A relative folder would depend on the working folder.
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders
        .map(|folder| folder.join(&name))
        .find(|file| file.metadata().is_ok_and(|found| is_executable(&found)))
}
