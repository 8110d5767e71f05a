//! Installs the real Codex below `target` and writes homes for it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// The version that the tests run against.
const VERSION: &str = "0.169.0";

/// Returns the path of the Codex binary, installing its package once per checkout with `npm`. The
/// whole package folder is kept: the binary needs its neighbours.
pub(crate) fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let folder = tools().join(format!("codex-{VERSION}"));
        fs::create_dir_all(&folder).unwrap();
        // Test processes may run at the same time; the first one installs.
        let lock = fs::File::create(folder.join("lock")).unwrap();
        lock.lock().unwrap();
        let marker = folder.join("installed");
        if !marker.is_file() {
            install(&folder);
            fs::write(&marker, VERSION).unwrap();
        }
        find(&folder).unwrap_or_else(|| panic!("no codex binary below {}", folder.display()))
    })
}

/// Returns the folder of the package's own command, a Node script named `codex`.
pub(crate) fn shim_folder() -> PathBuf {
    binary();
    tools().join(format!("codex-{VERSION}/node_modules/.bin"))
}

fn install(folder: &Path) {
    let package = format!("@openai/codex@{VERSION}");
    let installed = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--no-save", "--prefix"])
        .arg(folder)
        .arg(&package)
        .output()
        .unwrap_or_else(|error| panic!("cannot run `npm` to install {package}: {error}"));
    let said = String::from_utf8_lossy(&installed.stderr);
    assert!(installed.status.success(), "`npm install {package}` failed: {said}");
}

/// Finds `vendor/<platform>/bin/codex` in the package of this platform.
fn find(folder: &Path) -> Option<PathBuf> {
    let scope = folder.join("node_modules/@openai");
    let packages = fs::read_dir(scope).ok()?.flatten();
    packages.into_iter().find_map(|package| {
        let platforms = fs::read_dir(package.path().join("vendor")).ok()?.flatten();
        let mut binaries = platforms.map(|platform| platform.path().join("bin/codex"));
        binaries.find(|binary| binary.is_file())
    })
}

/// Writes a Codex home whose model provider is the endpoint at `model_url`, with `more` appended
/// to its `config.toml`.
pub(crate) fn home(folder: &Path, model_url: &str, more: &str) -> PathBuf {
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

fn tools() -> PathBuf {
    // Beside the build, so that it outlives cleaning of temporary folders.
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("test-tools")
}
