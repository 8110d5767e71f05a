//! Where the programs of a person keep their settings, on each platform.

use std::path::PathBuf;

use codeinfo_codex::OtherVariables;
use codeinfo_core::program::is_program;

/// Which rules for folders hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostPlatform {
    Linux,
    MacOs,
    Windows,
}

impl HostPlatform {
    /// The platform of this program.
    pub const HERE: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_os = "macos") {
        Self::MacOs
    } else {
        Self::Linux
    };
}

/// The folders of one person, as the environment names them.
#[derive(Debug)]
pub struct UserFolders<'a> {
    pub platform: HostPlatform,
    environment: &'a OtherVariables,
    home: PathBuf,
}

impl<'a> UserFolders<'a> {
    /// Returns `None` where the environment names no home folder.
    pub fn new(platform: HostPlatform, environment: &'a OtherVariables) -> Option<Self> {
        let variable = if platform == HostPlatform::Windows { "USERPROFILE" } else { "HOME" };
        let home = environment.get(variable)?.into();
        Some(Self { platform, environment, home })
    }

    pub fn in_home(&self, path: &str) -> PathBuf {
        self.home.join(path)
    }

    /// The folder that a variable names, or `path` in the home folder.
    pub(super) fn variable_or_home(&self, variable: &str, path: &str) -> PathBuf {
        self.environment.get(variable).map_or_else(|| self.in_home(path), PathBuf::from)
    }

    /// The folder of settings as command line programs have it: `XDG_CONFIG_HOME` everywhere.
    pub fn dot_config(&self) -> PathBuf {
        let set = self.environment.get("XDG_CONFIG_HOME").map(PathBuf::from);
        // A relative one is to be ignored.
        set.filter(|folder| folder.is_absolute()).unwrap_or_else(|| self.in_home(".config"))
    }

    /// The folder of settings as programs with windows have it.
    pub(super) fn application_folder(&self, name: &str) -> PathBuf {
        match self.platform {
            HostPlatform::Linux => self.dot_config(),
            HostPlatform::MacOs => self.in_home("Library/Application Support"),
            HostPlatform::Windows => self.variable_or_home("APPDATA", "AppData/Roaming"),
        }
        .join(name)
    }
}

/// Returns the file that `name` runs, as a shell finds it on `path`.
pub fn find_program(name: &str, path: &std::ffi::OsStr) -> Option<PathBuf> {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    // A relative folder would mean another file elsewhere.
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders
        .map(|folder| folder.join(&name))
        .find(|file| file.metadata().is_ok_and(|found| is_program(&found)))
}
