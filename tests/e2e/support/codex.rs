//! The real Codex, and homes for it.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use super::{
    install::{self, PackageParts},
    process::ProgramEnvironment,
};

/// The version that the tests run against.
pub(crate) const VERSION: &str = "0.169.0";

/// Returns the path of the Codex binary. The whole package folder stays: the binary needs its
/// neighbours.
pub(crate) fn codex_binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let folder = codex_package();
        find_binary(&folder).unwrap_or_else(|| panic!("no codex binary below {}", folder.display()))
    })
}

/// Returns the folder of the package's own command, a Node script named `codex`.
pub(crate) fn shim_folder() -> PathBuf {
    codex_package().join("node_modules/.bin")
}

fn codex_package() -> PathBuf {
    let (folder, package) = (format!("codex-{VERSION}"), format!("@openai/codex@{VERSION}"));
    install::install_npm_package(&folder, &package, PackageParts::Whole)
}

/// Finds `vendor/<platform>/bin/codex` in the package of this platform.
fn find_binary(folder: &Path) -> Option<PathBuf> {
    let scope = folder.join("node_modules/@openai");
    let packages = fs::read_dir(scope).ok()?.flatten();
    packages.into_iter().find_map(|package| {
        let platforms = fs::read_dir(package.path().join("vendor")).ok()?.flatten();
        let mut binaries = platforms.map(|platform| platform.path().join("bin/codex"));
        binaries.find(|binary| binary.is_file())
    })
}

/// Writes a command that runs `script` with the path of the binary in `REAL`, beside the packages of
/// the real one as npm would put it.
pub(crate) fn write_wrapper(folder: &Path, script: &str) -> PathBuf {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let scope = folder.join("node_modules/@openai");
    let program = folder.join("node_modules/.bin/codex");
    fs::create_dir_all(&scope).unwrap();
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    let package = codex_binary().ancestors().nth(4).unwrap();
    symlink(package, scope.join(package.file_name().unwrap())).unwrap();
    let script = format!("#!/bin/bash\nREAL='{}'\n{script}\n", codex_binary().display());
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

/// Returns the environment of a server that has this Codex, with a home in `folder` and the model at
/// `model_url`, whose replies are scripted, none of them for the second reader.
pub(crate) fn codex_environment(folder: &Path, model_url: &str) -> ProgramEnvironment {
    let home = write_codex_home(folder, model_url, "").display().to_string();
    let binary = codex_binary().display().to_string();
    [("CODEX_BIN", binary), ("CODEX_HOME", home), ("CLAIM_CHECK", "off".to_owned())]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
}

/// Writes a Codex home whose model provider is the endpoint at `model_url`, with `more` appended
/// to its `config.toml`.
pub(crate) fn write_codex_home(folder: &Path, model_url: &str, more: &str) -> PathBuf {
    let home = folder.join("codex-home");
    fs::create_dir_all(&home).unwrap();
    let config = format!(
        r#"model = "mock-model"
model_provider = "mock"
[model_providers.mock]
name = "mock"
base_url = "{model_url}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 1
{more}"#
    );
    fs::write(home.join("config.toml"), config).unwrap();
    home
}
