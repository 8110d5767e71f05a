//! The packages that `packaging/build` makes, of this build: installed without a network, they do what
//! the program does, and the tools and schemas of those who take them find no fault.

use codeinfo_test_support::sources::list_files;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Output, Stdio},
    time::Duration,
};

use codeinfo_mcp::Schema;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    sync::OnceCell,
    time::timeout,
};

use crate::support::{
    install::{self, PackageParts},
    process::{
        ProgramEnvironment, apply_environment, create_scratch_folder, repository_root, run_command,
        send_signal,
    },
};

const TIMEOUT: Duration = Duration::from_mins(2);
const VERSION: &str = env!("CARGO_PKG_VERSION");
const REPOSITORY: &str = "https://github.com/somebody/codeinfo";

#[tokio::test]
async fn the_package_of_npm_does_what_the_program_does() {
    let folder = install_npm_packages().await;
    for way in [WrapperMode::Replacing, WrapperMode::Starting] {
        let command = || wrapper_command(folder.path(), way);
        assert_works_like_the_program(&command).await;
    }
}

#[tokio::test]
async fn the_wheel_does_what_the_program_does() {
    let folder = create_scratch_folder();
    let wheel = find_package(build_packages().await, ".whl");
    run_successfully(Command::new("python3").args(["-m", "venv"]).arg(folder.path())).await;
    let mut pip = Command::new(folder.path().join("bin/pip"));
    pip.args(["install", "--quiet", "--no-index", "--disable-pip-version-check"]).arg(wheel);
    run_successfully(&mut pip).await;
    assert_works_like_the_program(&|| Command::new(folder.path().join("bin/codeinfo"))).await;
    let mut shown = Command::new(folder.path().join("bin/pip"));
    shown.args(["show", "--verbose", "--disable-pip-version-check", "codeinfo"]);
    let shown = run_successfully(&mut shown).await;
    assert!(shown.contains(&format!("Version: {VERSION}\n")), "{shown}");
    assert!(shown.contains(&format!("Source, {REPOSITORY}\n")), "{shown}");
}

#[tokio::test]
async fn the_archive_does_what_the_program_does() {
    let folder = create_scratch_folder();
    let archive = find_package(build_packages().await, ".tar.gz");
    run_successfully(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(folder.path()))
        .await;
    let inside = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    assert_works_like_the_program(&|| Command::new(inside.join("codeinfo"))).await;
    let licences = fs::read_to_string(inside.join("LICENSES-THIRD-PARTY")).unwrap();
    assert!(licences.contains("tokio 1."), "libraries are missing");
    assert!(licences.contains("Permission is hereby granted"), "texts are missing");
    assert!(!licences.contains("qdrant-edge"), "what only tests use is not in the program");
}

/// Checks `--version`, the output and exit code of `doctor`, and a search.
async fn assert_works_like_the_program(command: &dyn Fn() -> Command) {
    let folder = create_scratch_folder();
    let source = folder.path().join("valves");
    fs::create_dir_all(source.join("src")).unwrap();
    fs::write(source.join("src/valve.rs"), "/// Opens the valve.\npub fn open_valve() {}\n")
        .unwrap();
    let data = folder.path().join("data");
    let no_codex: ProgramEnvironment = vec![("CODEX_BIN".to_owned(), "/nonexistent".to_owned())];
    let source = source.to_str().unwrap();
    let ask = |arguments: &[&str]| {
        let mut command = apply_environment(command(), &data, &no_codex);
        command.args(arguments);
        async move { command.output().await.unwrap() }
    };
    let version = ask(&["--version"]).await;
    assert_eq!(output_text(&version), format!("codeinfo {VERSION}\n"));
    let ingested = ask(&["ingest", source]).await;
    assert!(ingested.status.success(), "{ingested:?}");
    let found = ask(&["search", "open the valve"]).await;
    assert!(output_text(&found).contains("src/valve.rs"), "{found:?}");
    let (wrapped, direct) =
        (ask(&["doctor"]).await, run_command(&data, &no_codex, &["doctor"]).await);
    assert_eq!(wrapped.status.code(), direct.status.code());
    assert_eq!(wrapped.status.code(), Some(1));
    assert_eq!(first_words(&wrapped), first_words(&direct));
    let wrong = ask(&["no such command"]).await;
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
    assert!(wrong.stdout.is_empty(), "{wrong:?}");
}

#[tokio::test]
async fn a_signal_to_the_package_of_npm_reaches_the_program() {
    let folder = install_npm_packages().await;
    for way in [WrapperMode::Replacing, WrapperMode::Starting] {
        for name in ["TERM", "INT"] {
            let (mut server, _, _data) = start_serving(wrapper_command(folder.path(), way)).await;
            send_signal(name, server.id().unwrap()).await;
            let ended = timeout(TIMEOUT, server.wait()).await.unwrap().unwrap();
            assert_eq!(ended.code(), Some(0), "{way:?} {name}: {ended:?}");
        }
    }
}

#[tokio::test]
async fn a_program_that_a_signal_ends_ends_its_wrapper_by_that_signal() {
    use std::os::unix::process::ExitStatusExt;

    let folder = install_npm_packages().await;
    for way in [WrapperMode::Replacing, WrapperMode::Starting] {
        let (mut server, mut output, _data) =
            start_serving(wrapper_command(folder.path(), way)).await;
        let wrapper = server.id().unwrap();
        let program = match way {
            WrapperMode::Replacing => wrapper,
            WrapperMode::Starting => {
                let children = format!("/proc/{wrapper}/task/{wrapper}/children");
                fs::read_to_string(children).unwrap().trim().parse().unwrap()
            }
        };
        let run = fs::read_link(format!("/proc/{program}/exe")).unwrap();
        assert!(run.ends_with("bin/codeinfo"), "{way:?}: {}", run.display());
        send_signal("KILL", program).await;
        let ended = timeout(TIMEOUT, server.wait()).await.unwrap().unwrap();
        assert_eq!(ended.signal(), Some(9), "{way:?}: {ended:?}");
        // No process has the output open any more.
        while timeout(TIMEOUT, output.next_line()).await.unwrap().unwrap().is_some() {}
    }
}

#[tokio::test]
async fn the_package_of_npm_says_when_there_is_none_for_the_platform() {
    let folder = install_npm_packages().await;
    for one in fs::read_dir(folder.path().join("node_modules")).unwrap() {
        let path = one.unwrap().path();
        if path.file_name().unwrap().to_str().unwrap().starts_with("codeinfo-") {
            fs::remove_dir_all(path).unwrap();
        }
    }
    let output = wrapper_command(folder.path(), WrapperMode::Starting).output().await.unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.starts_with("codeinfo: no package codeinfo-"), "{error}");
}

#[tokio::test]
async fn the_bundle_is_valid_for_its_own_tool_and_starts_the_program() {
    let folder = create_scratch_folder();
    let bundle = find_package(build_packages().await, ".mcpb");
    let tool = install::install_npm_package(
        "mcpb-2.1.2",
        "@anthropic-ai/mcpb@2.1.2",
        PackageParts::Needed,
    );
    let tool = tool.join("node_modules/@anthropic-ai/mcpb/dist/cli/cli.js");
    let mcpb = || {
        let mut command = Command::new(install::find_node());
        command.arg(&tool);
        command
    };
    run_successfully(mcpb().arg("unpack").arg(&bundle).arg(folder.path())).await;
    let manifest = folder.path().join("manifest.json");
    run_successfully(mcpb().arg("validate").arg(&manifest)).await;
    let manifest = read_json(&manifest);
    let server = &manifest["server"]["mcp_config"];
    assert_eq!(server["args"], serde_json::json!(["stdio"]));
    let program = server["command"].as_str().unwrap();
    let program = program.replace("${__dirname}", folder.path().to_str().unwrap());
    let version = run_successfully(Command::new(program).arg("--version")).await;
    assert_eq!(version, format!("codeinfo {VERSION}\n"));
}

#[tokio::test]
async fn server_json_is_valid_for_the_registry() {
    let folder = build_packages().await;
    let schema =
        read_json(&repository_root().join("tests/fixtures/mcp-registry/server.schema.json"));
    let described = read_json(&folder.join("server.json"));
    assert_eq!(described["$schema"], schema["$id"]);
    let schema = Schema::from_untrusted(schema).unwrap();
    schema.validate_and_parse::<Value>(described.clone()).unwrap();
    // A schema that accepted everything would prove nothing.
    let mut wrong = described;
    wrong["packages"][0]["transport"]["type"] = "carrier pigeon".into();
    assert!(schema.validate_and_parse::<Value>(wrong).is_err());
}

#[tokio::test]
async fn server_json_of_a_release_names_its_bundles_and_their_hashes() {
    let (folder, release) = (create_scratch_folder(), "https://example.com/releases/1");
    let bundle = find_package(build_packages().await, ".mcpb");
    let name = bundle.file_name().unwrap().to_str().unwrap();
    fs::copy(&bundle, folder.path().join(name)).unwrap();
    let mut build = Command::new(repository_root().join("packaging/build"));
    build.args(["--server-json", "--release-url", release, "--out"]).arg(folder.path());
    let failed = build.output().await.unwrap();
    assert!(String::from_utf8_lossy(&failed.stderr).contains("--repository"), "{failed:?}");
    run_successfully(build.args(["--repository", REPOSITORY])).await;
    let described = read_json(&folder.path().join("server.json"));
    let listed = &described["packages"][2];
    assert_eq!(listed["identifier"], format!("{release}/{name}"));
    assert_eq!(listed["fileSha256"], hash_file(&bundle));
    let schema =
        read_json(&repository_root().join("tests/fixtures/mcp-registry/server.schema.json"));
    Schema::from_untrusted(schema).unwrap().validate_and_parse::<Value>(described).unwrap();
}

#[tokio::test]
async fn every_package_has_the_version_of_cargo_toml() {
    let folder = build_packages().await;
    let mut names = BTreeSet::new();
    for one in fs::read_dir(folder).unwrap() {
        names.insert(one.unwrap().file_name().into_string().unwrap());
    }
    let packed =
        names.iter().filter(|name| !["SHA256SUMS", "server.json"].contains(&name.as_str()));
    for name in packed {
        assert!(name.contains(&format!("-{VERSION}")), "{name}");
    }
    let described = read_json(&folder.join("server.json"));
    assert_eq!(described["version"], VERSION);
    assert!(described["packages"].as_array().unwrap().iter().all(|one| one["version"] == VERSION));
    let installed = install_npm_packages().await;
    let main = read_json(&installed.path().join("node_modules/codeinfo/package.json"));
    assert_eq!(main["version"], VERSION);
    assert_eq!(described["name"], "io.github.somebody/codeinfo");
    assert_eq!(described["repository"]["url"], REPOSITORY);
    assert_eq!(main["mcpName"], described["name"]);
    assert_eq!(main["repository"]["url"], format!("git+{REPOSITORY}.git"));
    let holders = main["optionalDependencies"].as_object().unwrap();
    assert_eq!(holders.len(), 5, "{holders:?}");
    assert!(holders.values().all(|version| version == VERSION), "{holders:?}");
    let sums = fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    let listed: BTreeSet<String> = sums
        .lines()
        .map(|line| {
            let (sum, name) = line.split_once("  ").unwrap();
            assert_eq!(sum, hash_file(&folder.join(name)), "{name}");
            name.to_owned()
        })
        .collect();
    names.remove("SHA256SUMS");
    assert_eq!(listed, names);
}

/// The published sources contain every file that the build reads.
#[tokio::test]
async fn the_package_of_cargo_holds_every_file_of_the_build() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["package", "--list", "--allow-dirty", "--offline", "--package", "codeinfo"]);
    let listed = run_successfully(cargo.current_dir(repository_root())).await;
    let listed: BTreeSet<&str> = listed.lines().collect();
    for needed in ["Cargo.lock", "LICENSE-MIT", "LICENSE-APACHE", "NOTICE", "README.md"] {
        assert!(listed.contains(needed), "{needed} is missing");
    }
    for path in list_files(&repository_root().join("src")) {
        let text = fs::read_to_string(&path).unwrap();
        let path = path.strip_prefix(repository_root()).unwrap();
        assert!(listed.contains(path.to_str().unwrap()), "{} is missing", path.display());
        for included in text.split("include_bytes!(\"").chain(text.split("include_str!(\"")).skip(1)
        {
            let Some((name, _)) = included.split_once("\")") else { continue };
            let Some(asset) = name.find("assets/").map(|at| name.split_at(at).1) else { continue };
            assert!(listed.contains(asset), "{asset} is missing");
        }
    }
}

/// How the wrapper runs the program: newer versions of Node can replace the wrapper by it.
#[derive(Debug, Clone, Copy)]
enum WrapperMode {
    Replacing,
    Starting,
}

fn wrapper_command(folder: &Path, way: WrapperMode) -> Command {
    let mut command = Command::new(install::find_node());
    if matches!(way, WrapperMode::Starting) {
        let without = folder.join("without.js");
        fs::write(&without, "delete process.execve;").unwrap();
        command.arg("--require").arg(without);
    }
    command.arg(folder.join("node_modules/codeinfo/bin/codeinfo.js"));
    command
}

/// Starts `serve` and waits until it is up.
async fn start_serving(
    command: Command,
) -> (Child, Lines<BufReader<ChildStdout>>, tempfile::TempDir) {
    let data = create_scratch_folder();
    let no_codex: ProgramEnvironment = vec![("CODEX_BIN".to_owned(), "/nonexistent".to_owned())];
    let mut command = apply_environment(command, data.path(), &no_codex);
    let mut server =
        command.arg("serve").stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap()).lines();
    loop {
        let line = timeout(TIMEOUT, output.next_line()).await.unwrap().unwrap();
        if line.expect("the server ended").starts_with("Ctrl-C") {
            return (server, output, data);
        }
    }
}

/// An empty folder into which the packages of npm were installed, as by a machine without a network.
async fn install_npm_packages() -> tempfile::TempDir {
    let made = build_packages().await;
    let folder = create_scratch_folder();
    fs::write(folder.path().join("package.json"), "{}").unwrap();
    let mut npm = Command::new("npm");
    npm.args(["install", "--offline", "--no-audit", "--no-fund", "--prefix"])
        .arg(folder.path())
        .args(list_npm_packages(made))
        .env("npm_config_cache", folder.path().join("cache"))
        .current_dir(folder.path());
    run_successfully(&mut npm).await;
    folder
}

fn list_npm_packages(folder: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(folder).unwrap().map(|one| one.unwrap().path());
    found.filter(|path| path.extension().is_some_and(|extension| extension == "tgz")).collect()
}

/// The folder with the packages of the program under test, without what debuggers read.
async fn build_packages() -> &'static Path {
    static MADE: OnceCell<PathBuf> = OnceCell::const_new();
    MADE.get_or_init(|| async {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages");
        fs::remove_dir_all(&folder).ok();
        fs::create_dir_all(&folder).unwrap();
        let program = folder.join("codeinfo");
        let mut strip = Command::new("strip");
        run_successfully(strip.arg("-o").arg(&program).arg(env!("CARGO_BIN_EXE_codeinfo"))).await;
        let out = folder.join("made");
        let mut build = Command::new(repository_root().join("packaging/build"));
        build.args(["--repository", REPOSITORY]);
        run_successfully(build.arg("--binary").arg(&program).arg("--out").arg(&out)).await;
        out
    })
    .await
}

/// Returns the one package whose name has this end.
fn find_package(folder: &Path, end: &str) -> PathBuf {
    let found = fs::read_dir(folder).unwrap().map(|one| one.unwrap().path());
    let mut found = found.filter(|path| path.to_str().unwrap().ends_with(end));
    let first = found.next().unwrap_or_else(|| panic!("no package `{end}`"));
    assert_eq!(found.next(), None);
    first
}

async fn run_successfully(command: &mut Command) -> String {
    let output = command.kill_on_drop(true).output().await.unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn output_text(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

/// The first two words of each line: times, ports and places differ.
fn first_words(output: &Output) -> Vec<String> {
    let words = |line: &str| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    output_text(output).lines().map(words).collect()
}

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn hash_file(path: &Path) -> String {
    use std::fmt::Write;

    let hash = Sha256::digest(fs::read(path).unwrap());
    hash.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}
