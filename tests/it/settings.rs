//! Settings: defaults, and one clear line for each bad value.

use std::path::Path;

use codeinfo::config::{Config, from_pairs};

fn read(pairs: &[(&str, &str)]) -> Result<Config, String> {
    let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    from_pairs(pairs, "/usr/bin".into()).map_err(|error| error.to_string())
}

fn fault(name: &str, value: &str) -> String {
    match read(&[("DATA_DIR", "/data"), (name, value)]) {
        Ok(_) => panic!("`{name}={value}` is accepted"),
        Err(fault) => fault,
    }
}

#[test]
fn defaults_are_those_of_the_contract() {
    let config = read(&[("DATA_DIR", "/var/lib/codeinfo")]).unwrap();
    assert_eq!(config.main_address().to_string(), "127.0.0.1:5010");
    assert_eq!(config.mcp_address().to_string(), "127.0.0.1:5011");
    assert_eq!(config.codex.workdir, Path::new("/var/lib/codeinfo/codex-workdir"));
    assert_eq!(config.codex.effort, "high");
    assert_eq!(config.codex.turn_timeout.as_secs(), 1800);
    assert!(config.codex.network);
    assert_eq!(config.codex.web_search, codeinfo::config::WebSearch::Live);
    assert_eq!(config.codex.sandbox, codeinfo::config::Sandbox::WorkspaceWrite);
    assert_eq!(config.codex.approval, codeinfo::config::Approval::OnFailure);
}

#[test]
fn a_bad_value_is_refused_by_name() {
    let faults = [
        fault("PORT", "seventy"),
        fault("PORT", "70000"),
        fault("MCP_PORT", "5010"),
        fault("HOST", "localhost"),
        fault("CODEX_SANDBOX", "open"),
        fault("CODEX_NETWORK", "perhaps"),
        fault("CODEX_WEB_SEARCH", "sometimes"),
        fault("CODEX_TURN_TIMEOUT_SECS", "0"),
        fault("MAX_BODY_BYTES", "0"),
        fault("READ_TIMEOUT_SECS", "0"),
        fault("WRITE_TIMEOUT_SECS", "18446744073709551615"),
        fault("KEEP_ALIVE_MS", "0"),
        fault("KEEP_ALIVE_MS", "86400000"),
        fault("LOG_FORMAT", "xml"),
        fault("QDRANT_URL", "http://127.0.0.1:6334"),
        fault("EMBEDDING_URL", "http://127.0.0.1:11434/v1"),
    ];
    insta::assert_snapshot!(faults.join("\n"), @r"
    invalid digit found in string while parsing value 'seventy' provided by PORT
    number too large to fit in target type while parsing value '70000' provided by PORT
    `MCP_PORT` must differ from `PORT`
    `HOST` is `localhost`: invalid IP address syntax
    `CODEX_SANDBOX` is `open`: unknown variant `open`, expected one of `read-only`, `workspace-write`, `danger-full-access`
    `CODEX_NETWORK` is `perhaps`: unknown variant `perhaps`, expected one of `1`, `on`, `true`, `yes`, `0`, `false`, `no`, `off`
    `CODEX_WEB_SEARCH` is `sometimes`: unknown variant `sometimes`, expected one of `disabled`, `cached`, `live`
    `CODEX_TURN_TIMEOUT_SECS` must be at least 1 second
    `MAX_BODY_BYTES` must be at least 1
    `READ_TIMEOUT_SECS` must be at least 1 second
    `WRITE_TIMEOUT_SECS` must be less than a year
    `KEEP_ALIVE_MS` must be at least 1 millisecond
    `KEEP_ALIVE_MS` must be less than an hour
    `LOG_FORMAT` is `xml`: unknown variant `xml`, expected `text` or `json`
    `QDRANT_URL` is set, but the embedded store is the only one in this version
    `EMBEDDING_URL` is set, but the built-in model is the only one in this version
    ");
}

#[test]
fn blank_values_count_as_unset() {
    let config = read(&[("DATA_DIR", "/data"), ("PORT", ""), ("CODEX_MODEL", "  ")]).unwrap();
    assert_eq!(config.port, 5010);
    assert_eq!(config.codex.model, None);
}

#[test]
fn lists_and_switches_are_read_in_the_spellings_people_use() {
    let config = read(&[
        ("DATA_DIR", "/data"),
        ("ALLOWED_HOSTS", "Code.Example, other.example"),
        ("CODEX_NETWORK", "false"),
        ("HOST_INGEST_DIR", "/home/me/src"),
    ])
    .unwrap();
    assert_eq!(config.guard.hosts, ["code.example", "other.example"]);
    assert!(!config.codex.network);
    let (server, client) = (Path::new("/repos/a/b.rs"), Path::new("/home/me/src/a/b.rs"));
    assert_eq!(config.path_map.shown(server), client);
    assert_eq!(config.path_map.meant(client), server);
    assert_eq!(config.path_map.shown(Path::new("/elsewhere")), Path::new("/elsewhere"));
}

#[test]
fn every_setting_stands_in_the_example_and_in_the_readme() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let example = std::fs::read_to_string(root.join(".env.example")).unwrap();
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let source = std::fs::read_to_string(root.join("src/config/env.rs")).unwrap();
    let raw = source.split("struct Raw {").nth(1).unwrap().split("\n}").next().unwrap();
    let fields = raw.lines().filter_map(|line| line.trim().split_once(": "));
    let names: Vec<String> = fields.map(|(name, _)| name.to_uppercase()).collect();
    assert!(names.len() > 30, "{names:?}");
    // The last one is the environment's, not a setting of ours.
    let later = ["QDRANT_URL", "EMBEDDING_URL", "NO_PROXY"];
    for name in names.iter().filter(|name| !later.contains(&name.as_str())) {
        assert!(example.contains(&format!("\n{name}=")), ".env.example lacks {name}");
        assert!(readme.contains(&format!("`{name}`")), "README.md lacks {name}");
    }
}
