//! Installs what the tests run but Cargo does not know, each once per checkout, below `target`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// Returns the folder that holds `node_modules` with `package`, which is `name@version`. Packages
/// that run on Node alone do without their optional parts; `Whole` takes everything.
pub(crate) fn install_npm_package(folder: &str, package: &str, parts: PackageParts) -> PathBuf {
    run_once(folder, package, |folder| {
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--no-save", "--prefix"]).arg(folder);
        if parts == PackageParts::Needed {
            npm.arg("--omit=optional");
        }
        npm.arg(package);
        vec![npm]
    })
}

/// Amount of a package that is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PackageParts {
    Whole,
    Needed,
}

/// Returns the Python of an environment that has `requirement`, which is `name==version`.
pub(crate) fn install_python_package(folder: &str, requirement: &str) -> PathBuf {
    let folder = run_once(folder, requirement, |folder| {
        let mut environment = Command::new("python3");
        environment.args(["-m", "venv"]).arg(folder);
        let mut pip = Command::new(folder.join("bin/pip"));
        pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-compile"]);
        pip.arg(requirement);
        vec![environment, pip]
    });
    folder.join("bin/python")
}

/// Returns the folder into which `package` of the machine's own Debian was unpacked, where nothing else
/// of the system uses it.
pub(crate) fn unpack_debian_package(package: &str) -> PathBuf {
    run_once(&format!("debian-{package}"), package, |folder| {
        let mut shell = Command::new("sh");
        // The lists of packages may be missing, or older than the archive.
        shell.arg("-ec").arg(
            r#"cd "$1"
            rm --force "$2"_*.deb
            apt-get --quiet=2 download "$2" || { apt-get --quiet=2 update && apt-get --quiet=2 download "$2"; }
            dpkg-deb --extract "$2"_*.deb ."#,
        );
        shell.arg("sh").arg(folder).arg(package);
        vec![shell]
    })
}

/// Returns a Node that is new enough for the clients and for the conformance suite.
pub(crate) fn find_node() -> &'static Path {
    static NODE: OnceLock<PathBuf> = OnceLock::new();
    NODE.get_or_init(|| {
        install_npm_package("node-22.23.3", "node@22.23.3", PackageParts::Whole)
            .join("node_modules/node/bin/node")
    })
}

/// Runs `steps` in a separate folder, unless that was done before.
fn run_once(folder: &str, what: &str, steps: impl FnOnce(&Path) -> Vec<Command>) -> PathBuf {
    // Beside the build, so that it outlives cleaning of temporary folders.
    let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("test-tools");
    let folder = tools.join(folder);
    fs::create_dir_all(&folder).unwrap();
    // Test processes may run at the same time; the first one installs.
    let lock = fs::File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let marker = folder.join("installed");
    if !marker.is_file() {
        for mut step in steps(&folder) {
            let done = step
                .output()
                .unwrap_or_else(|error| panic!("cannot run {step:?} to install {what}: {error}"));
            let output_text = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success(), "cannot install {what}: {step:?} failed: {output_text}");
        }
        fs::write(&marker, what).unwrap();
    }
    folder
}
