//! Settings: defaults, and one clear line for each bad value.

use std::path::Path;

use codeinfo::config::{Config, from_pairs};
use codeinfo_codex::OtherVariables;
use codeinfo_core::{PathMap, Root};
use codeinfo_embed::EmbeddingSettings;
use codeinfo_server::api::SettingSource;

fn load_settings(pairs: &[(&str, &str)]) -> Result<Config, String> {
    let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    from_pairs(pairs, "/usr/bin".into()).map_err(|error| error.to_string())
}

fn find_fault(name: &str, value: &str) -> String {
    match load_settings(&[("DATA_DIR", "/data"), (name, value)]) {
        Ok(_) => panic!("`{name}={value}` is accepted"),
        Err(fault) => fault,
    }
}

/// The fault of a setting that counts only when a server is set.
fn find_fault_with_qdrant(name: &str, value: &str) -> String {
    let server = ("QDRANT_URL", "http://127.0.0.1:6334");
    match load_settings(&[("DATA_DIR", "/data"), server, (name, value)]) {
        Ok(_) => panic!("`{name}={value}` is accepted"),
        Err(fault) => fault,
    }
}

#[test]
fn defaults_are_those_of_the_contract() {
    let config = load_settings(&[("DATA_DIR", "/var/lib/codeinfo")]).unwrap();
    assert_eq!(config.main_address().to_string(), "127.0.0.1:5010");
    assert_eq!(config.mcp_address().to_string(), "127.0.0.1:5011");
    assert_eq!(config.codex.workdir, Path::new("/var/lib/codeinfo/codex-workdir"));
    assert_eq!(config.codex.effort, "high");
    assert_eq!(config.codex.turn_timeout.as_secs(), 1800);
    assert!(config.codex.network);
    assert_eq!(config.codex.web_search, codeinfo_codex::WebSearchMode::Live);
    assert_eq!(config.codex.sandbox, codeinfo_codex::SandboxMode::WorkspaceWrite);
    assert_eq!(config.codex.approval, codeinfo_codex::ApprovalPolicy::OnFailure);
}

#[test]
fn one_setting_keeps_private_code_on_the_machine() {
    let pairs = [("CODEX_PRIVATE", "true"), ("CODEX_NETWORK", "on"), ("CODEX_WEB_SEARCH", "live")];
    let config = load_settings(&[&[("DATA_DIR", "/data")], pairs.as_slice()].concat()).unwrap();
    assert!(!config.codex.network);
    assert_eq!(config.codex.web_search, codeinfo_codex::WebSearchMode::Disabled);
    let unfenced = [("CODEX_PRIVATE", "true"), ("CODEX_SANDBOX", "danger-full-access")];
    assert_eq!(
        load_settings(&[&[("DATA_DIR", "/data")], unfenced.as_slice()].concat()).unwrap_err(),
        "`CODEX_PRIVATE` needs a sandbox: with `CODEX_SANDBOX=danger-full-access` nothing keeps the \
         model's shell from the network"
    );
}

#[test]
fn keys_of_the_server_are_not_passed_to_codex() {
    let pairs = [("EMBEDDING_API_KEY", "k"), ("QDRANT_API_KEY", "k"), ("MODEL_KEY", "k")];
    let config = load_settings(&[&[("DATA_DIR", "/data")], pairs.as_slice()].concat()).unwrap();
    let names: Vec<&str> = config.codex.environment.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["DATA_DIR", "MODEL_KEY"]);
    assert!(!format!("{config:?}").contains("\"k\""), "{config:?}");
}

#[test]
fn a_bad_value_is_refused_by_name() {
    let faults = [
        find_fault("PORT", "seventy"),
        find_fault("PORT", "70000"),
        find_fault("MCP_PORT", "5010"),
        find_fault("HOST", "localhost"),
        find_fault("CODEX_SANDBOX", "open"),
        find_fault("CODEX_EFFORT", "extreme"),
        find_fault("CODEX_NETWORK", "perhaps"),
        find_fault("CODEX_WEB_SEARCH", "sometimes"),
        find_fault("CODEX_TURN_TIMEOUT_SECS", "0"),
        find_fault("MAX_BODY_BYTES", "0"),
        find_fault("READ_TIMEOUT_SECS", "0"),
        find_fault("WRITE_TIMEOUT_SECS", "18446744073709551615"),
        find_fault("KEEP_ALIVE_MS", "0"),
        find_fault("KEEP_ALIVE_MS", "86400000"),
        find_fault("LOG_FORMAT", "xml"),
        find_fault("SECRET_KEY", "swordfish"),
        load_settings(&[("DATA_DIR", "reldata")]).unwrap_err(),
        load_settings(&[("DATA_DIR", "~/data")]).unwrap_err(),
        load_settings(&[("DATA_DIR", "./.codeinfo")]).unwrap_err(),
        find_fault("CODEX_WORKDIR", "work"),
        find_fault("TOOLKITS_MAX", "0"),
        find_fault("QDRANT_URL", "qdrant:6334"),
        find_fault("QDRANT_URL", "http://127.0.0.1:6333"),
        find_fault("QDRANT_URL", "https://me:secret@qdrant.example"),
        find_fault("QDRANT_URL", "http://a:6334,http://b:6334/collections"),
        find_fault_with_qdrant("QDRANT_API_KEY", "se cret"),
        find_fault_with_qdrant("QDRANT_COLLECTION", "my/index"),
        find_fault_with_qdrant("QDRANT_SHARDS", "0"),
        find_fault_with_qdrant("QDRANT_REPLICATION", "many"),
        find_fault_with_qdrant("QDRANT_WRITE_CONSISTENCY", "2"),
        find_fault_with_qdrant("QDRANT_TIMEOUT_SECS", "0"),
        find_fault_with_qdrant("QDRANT_RETRY_SECS", "300"),
    ];
    insta::assert_snapshot!(faults.join("\n"), @r"
    invalid digit found in string while parsing value 'seventy' provided by PORT
    number too large to fit in target type while parsing value '70000' provided by PORT
    `MCP_PORT` must differ from `PORT`
    `HOST` is `localhost`: invalid IP address syntax
    `CODEX_SANDBOX` is `open`: unknown variant `open`, expected one of `read-only`, `workspace-write`, `danger-full-access`
    `CODEX_EFFORT` is `extreme`: expected one of `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`, `ultra`
    `CODEX_NETWORK` is `perhaps`: unknown variant `perhaps`, expected one of `1`, `on`, `true`, `yes`, `0`, `false`, `no`, `off`
    `CODEX_WEB_SEARCH` is `sometimes`: unknown variant `sometimes`, expected one of `disabled`, `cached`, `live`
    `CODEX_TURN_TIMEOUT_SECS` must be at least 1 second
    `MAX_BODY_BYTES` must be at least 1
    `READ_TIMEOUT_SECS` must be at least 1 second
    `WRITE_TIMEOUT_SECS` must be less than a year
    `KEEP_ALIVE_MS` must be at least 1 millisecond
    `KEEP_ALIVE_MS` must be less than an hour
    `LOG_FORMAT` is `xml`: unknown variant `xml`, expected `text` or `json`
    `SECRET_KEY` must be 32 bytes in base64 or hex, such as `openssl rand -base64 32` prints
    `DATA_DIR` must be an absolute path, such as `/var/lib/codeinfo`; `reldata` is not
    `DATA_DIR` must be an absolute path, such as `/var/lib/codeinfo`; `~/data` is not; only shells replace `~`, where it is not quoted
    `DATA_DIR` must be an absolute path, such as `/var/lib/codeinfo`; `./.codeinfo` is not
    `CODEX_WORKDIR` must be an absolute path, such as `/var/lib/codeinfo`; `work` is not
    `TOOLKITS_MAX` must be at least 1
    `QDRANT_URL` is `qdrant:6334`: an address begins with http:// or https://
    `QDRANT_URL` is `http://127.0.0.1:6333`: 6333 is Qdrant's REST port; give its gRPC port, 6334 unless it was changed
    `QDRANT_URL` must not hold a name or password; set `QDRANT_API_KEY`
    `QDRANT_URL` is `http://b:6334/collections`: after the host and its port there must be nothing
    `QDRANT_API_KEY` holds a character that no key has
    `QDRANT_COLLECTION` must be at most 64 letters, digits, `-` and `_`
    `QDRANT_SHARDS` must be between 1 and 4096
    invalid digit found in string while parsing value 'many' provided by QDRANT_REPLICATION
    `QDRANT_WRITE_CONSISTENCY` is 2, more than the copies of `QDRANT_REPLICATION`
    `QDRANT_TIMEOUT_SECS` must be at least 1 second
    `QDRANT_RETRY_SECS` must be at most 30 seconds
    ");
}

#[test]
fn a_bad_setting_of_the_page_is_refused_by_name() {
    let faults = [
        find_fault("FOLDER_ROOTS", "src:/home"),
        find_fault("EDITOR_LINK", "emacs"),
        find_fault("EDITOR_LINK", "JavaScript:alert('{path}{line}')"),
        find_fault("EDITOR_LINK", "https://example.com/{path}?{line}"),
        find_fault("EDITOR_LINK", "edit://{path}"),
        find_fault("EDITOR_LINK", "edit://{path}:{line}:{column}"),
        find_fault("EDITOR_LINK", "edit://{path} {line}"),
    ];
    insta::assert_snapshot!(faults.join("\n"), @r"
    `FOLDER_ROOTS` has `src`, which is not absolute
    `EDITOR_LINK` is `emacs`: expected one of `none`, `vscode`, `cursor`, `idea`, `zed`, or a link such as `vscode://file{path}:{line}`
    `EDITOR_LINK` begins with `JavaScript:`, which no editor opens
    `EDITOR_LINK` begins with `https:`, which no editor opens
    `EDITOR_LINK` must have `{path}` and `{line}` once each, and no other braces
    `EDITOR_LINK` must have `{path}` and `{line}` once each, and no other braces
    `EDITOR_LINK` must be at most 500 plain characters, without blanks
    ");
}

#[test]
fn a_public_address_requires_a_setting_for_authentication() {
    let required = |pairs: &[(&str, &str)]| {
        let data = [("DATA_DIR", "/data")];
        load_settings(&[&data, pairs].concat()).map(|config| config.auth_required)
    };
    for (pairs, wanted) in [
        (&[][..], false),
        (&[("HOST", "::1")], false),
        (&[("AUTH", "required")], true),
        (&[("HOST", "0.0.0.0"), ("AUTH", "required")], true),
        (&[("HOST", "0.0.0.0"), ("AUTH", "optional")], false),
    ] {
        assert_eq!(required(pairs), Ok(wanted), "{pairs:?}");
    }
    for host in ["0.0.0.0", "192.168.1.7", "::"] {
        let fault = required(&[("HOST", host)]).unwrap_err();
        assert!(fault.starts_with("`AUTH` must be set where `HOST` is not loopback"), "{fault}");
    }
    let fault = required(&[("AUTH", "never")]).unwrap_err();
    assert!(fault.starts_with("`AUTH` is `never`"), "{fault}");
}

fn load_service_settings(pairs: &[(&str, &str)]) -> Result<EmbeddingSettings, String> {
    let mut all = vec![("DATA_DIR", "/data"), ("EMBEDDING_MODEL", "nomic-embed-text")];
    all.extend(pairs);
    load_settings(&all).map(|config| config.embedding.unwrap())
}

#[test]
fn an_embedding_service_is_named_by_its_base_or_by_the_whole_address() {
    let url = |text| load_service_settings(&[("EMBEDDING_URL", text)]).unwrap().url;
    for (set, wanted) in [
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434/v1/embeddings"),
        ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1/embeddings"),
        (" http://localhost:1234/v1/ ", "http://localhost:1234/v1/embeddings"),
        ("https://api.openai.com/v1/embeddings", "https://api.openai.com/v1/embeddings"),
        ("https://x.example/a/embeddings?v=2", "https://x.example/a/embeddings?v=2"),
    ] {
        assert_eq!(url(set), wanted);
    }
    assert!(load_settings(&[("DATA_DIR", "/data")]).unwrap().embedding.is_none());
    let mut settings = load_service_settings(&[
        ("EMBEDDING_URL", "http://[::1]:8080/v1"),
        ("EMBEDDING_API_KEY", "sk-secret"),
        ("EMBEDDING_QUERY_PREFIX", "Instruct: find code\\nQuery: "),
    ])
    .unwrap();
    assert!(!format!("{settings:?}").contains("sk-secret"));
    settings.url.clear();
    insta::assert_debug_snapshot!(settings, @r#"
    EmbeddingSettings {
        url: "",
        is_local: true,
        model: "nomic-embed-text",
        key: Some(
            (secret),
        ),
        dimensions: None,
        query_prefix: "Instruct: find code\nQuery: ",
        document_prefix: "",
        batch: 32,
        batch_tokens: 100000,
        max_tokens: 2048,
        concurrency: 4,
        timeout: 120s,
        backoff: 500ms,
    }
    "#);
}

#[test]
fn a_bad_embedding_setting_is_refused_by_name() {
    let local = ("EMBEDDING_URL", "http://127.0.0.1:11434/v1");
    let fault = |pairs: &[(&str, &str)]| load_service_settings(pairs).unwrap_err();
    let faults = [
        load_settings(&[("DATA_DIR", "/data"), local]).unwrap_err(),
        load_settings(&[("DATA_DIR", "/data"), ("EMBEDDING_MODEL", "a")]).unwrap_err(),
        fault(&[("EMBEDDING_URL", "127.0.0.1:11434")]),
        fault(&[("EMBEDDING_URL", "ftp://host/v1")]),
        fault(&[("EMBEDDING_URL", "https://me:secret@host/v1")]),
        fault(&[("EMBEDDING_URL", "http://gpu.example/v1"), ("EMBEDDING_API_KEY", "sk-1")]),
        fault(&[local, ("EMBEDDING_API_KEY", "sk 1")]),
        fault(&[local, ("EMBEDDING_DIMENSIONS", "0")]),
        fault(&[local, ("EMBEDDING_DIMENSIONS", "many")]),
        fault(&[local, ("EMBEDDING_BATCH", "0")]),
        fault(&[local, ("EMBEDDING_BATCH_TOKENS", "0")]),
        fault(&[local, ("EMBEDDING_MAX_TOKENS", "0")]),
        fault(&[local, ("EMBEDDING_CONCURRENCY", "65")]),
        fault(&[local, ("EMBEDDING_TIMEOUT_SECS", "0")]),
    ];
    insta::assert_snapshot!(faults.join("\n"), @r"
    `EMBEDDING_MODEL` must name the model when `EMBEDDING_URL` is set
    `EMBEDDING_MODEL` is of no use without `EMBEDDING_URL`, the service
    `EMBEDDING_URL` is not a URL: relative URL without a base
    `EMBEDDING_URL` must begin with `http://` or `https://`
    `EMBEDDING_URL` holds a password; put keys into `EMBEDDING_API_KEY`
    `EMBEDDING_API_KEY` would be sent unencrypted to `gpu.example`; use `https://` in `EMBEDDING_URL`, or leave the key out
    `EMBEDDING_API_KEY` holds characters that no key has
    `EMBEDDING_DIMENSIONS` must be between 1 and 65536
    invalid digit found in string while parsing value 'many' provided by EMBEDDING_DIMENSIONS
    `EMBEDDING_BATCH` must be at least 1
    `EMBEDDING_BATCH_TOKENS` must be at least 1
    `EMBEDDING_MAX_TOKENS` must be at least 1
    `EMBEDDING_CONCURRENCY` must be at most 64
    `EMBEDDING_TIMEOUT_SECS` must be at least 1 second
    ");
}

#[test]
fn a_server_keeps_the_index_when_its_address_is_set() {
    let qdrant = |pairs: &[(&str, &str)]| {
        let data = [("DATA_DIR", "/data")];
        load_settings(&[&data, pairs].concat()).unwrap().qdrant
    };
    assert!(qdrant(&[("QDRANT_API_KEY", "secret"), ("QDRANT_URL", " ")]).is_none());
    let alone = qdrant(&[("QDRANT_URL", "http://localhost")]).unwrap();
    assert_eq!(alone.urls, ["http://localhost:6334"]);
    assert_eq!((alone.api_key, alone.collection.as_str()), (None, "codeinfo"));
    assert_eq!((alone.shards, alone.replication, alone.write_consistency), (None, 1, 1));
    assert!(!alone.shared_paths);
    // A holder that cannot write any more must know it before the lease ends.
    assert!(alone.retry <= alone.lease * 2 / 3);
    let cluster = qdrant(&[
        ("QDRANT_URL", "https://a.example/, https://b.example:7000,http://[::1]"),
        ("QDRANT_API_KEY", " secret\n"),
        ("QDRANT_COLLECTION", "team_1"),
        ("QDRANT_SHARDS", "6"),
        ("QDRANT_REPLICATION", "3"),
        ("QDRANT_WRITE_CONSISTENCY", "2"),
        ("QDRANT_TIMEOUT_SECS", "9"),
        ("QDRANT_RETRY_SECS", "8"),
        ("QDRANT_SHARED_PATHS", "yes"),
    ])
    .unwrap();
    let urls = ["https://a.example:6334", "https://b.example:7000", "http://[::1]:6334"];
    assert_eq!(cluster.urls, urls);
    assert_eq!(cluster.api_key.as_ref().unwrap().expose(), "secret");
    assert!(!format!("{cluster:?}").contains("secret\""), "{cluster:?}");
    assert_eq!(cluster.collection, "team_1");
    assert_eq!((cluster.shards, cluster.replication, cluster.write_consistency), (Some(6), 3, 2));
    assert_eq!((cluster.timeout.as_secs(), cluster.retry.as_secs()), (9, 8));
    assert!(cluster.shared_paths);
}

#[test]
fn blank_values_count_as_unset() {
    let config =
        load_settings(&[("DATA_DIR", "/data"), ("PORT", ""), ("CODEX_MODEL", "  ")]).unwrap();
    assert_eq!(config.port, 5010);
    assert_eq!(config.codex.model, None);
}

#[test]
fn lists_and_switches_are_read_in_the_spellings_people_use() {
    let config = load_settings(&[
        ("DATA_DIR", "/data"),
        ("ALLOWED_HOSTS", "Code.Example, other.example"),
        ("CODEX_NETWORK", "false"),
        ("CODEX_SHELL", "off"),
        ("HOST_INGEST_DIR", "/home/me/src"),
        ("INGEST_DIR", "/repos"),
    ])
    .unwrap();
    assert_eq!(config.guard.hosts, ["code.example", "other.example"]);
    assert!(!config.codex.network && !config.codex.shell);
    let (server, client) = (Path::new("/repos/a/b.rs"), Path::new("/home/me/src/a/b.rs"));
    assert_eq!(config.path_map.to_client_path(server), client);
    assert_eq!(config.path_map.to_server_path(client), server);
    assert_eq!(config.path_map.to_client_path(Path::new("/elsewhere")), Path::new("/elsewhere"));
    // Exported for the container, and the program started without one.
    let config =
        load_settings(&[("DATA_DIR", "/data"), ("HOST_INGEST_DIR", "/home/me/src")]).unwrap();
    assert_eq!(config.path_map.to_server_path(client), client);
}

#[test]
fn a_root_is_found_by_name_then_id_then_the_path_of_clients_then_that_of_the_server() {
    let root =
        |name: &str, path: &str| Root { name: name.to_owned(), ..Root::from_folder(path.into()) };
    let moved = root("moved", "/repos/app");
    let former = root("former", "/home/me/src/app");
    let by_id = moved.id.to_string();
    let (by_name, by_path) = (root(&by_id, "/repos/a"), root("/repos/app", "/repos/b"));
    let paths = PathMap::new("/repos".into(), "/home/me/src".into());
    let found = |roots: &[&Root], reference: &str| {
        let roots: Vec<Root> = roots.iter().map(|root| (*root).clone()).collect();
        paths.find_root(&roots, reference).map(|root| root.name.clone())
    };
    let is = |root: &Root| Some(root.name.clone());
    assert_eq!(found(&[&moved, &by_name], &by_id), is(&by_name));
    assert_eq!(found(&[&by_path, &moved], &by_id), is(&moved));
    assert_eq!(found(&[&moved, &by_path], "/repos/app"), is(&by_path));
    assert_eq!(found(&[&former, &moved], "/home/me/src/app"), is(&moved));
    assert_eq!(found(&[&former], "/home/me/src/app"), is(&former));
    assert_eq!(found(&[&former, &moved], "/repos/app"), is(&moved));
    assert_eq!(found(&[&former, &moved], "app"), None);
}

/// A documented default is the value of an unset setting.
#[test]
fn shown_defaults_are_the_effective_ones() {
    let others = [
        ("DATA_DIR", "/data"),
        ("QDRANT_URL", "http://127.0.0.1:6334"),
        ("EMBEDDING_URL", "http://127.0.0.1:9/v1"),
        ("EMBEDDING_MODEL", "m"),
    ];
    let plain = load_settings(&others).unwrap();
    let defaults = plain.settings.iter().filter(|setting| setting.source == SettingSource::Default);
    let shown: Vec<(&str, &str)> = defaults
        .filter_map(|setting| Some((setting.name.as_str(), setting.value.as_deref()?)))
        .collect();
    assert!(shown.len() > 40, "{shown:?}");
    let alike = |mut config: Config| {
        (config.settings, config.log.chosen) = (Vec::new(), false);
        config.codex.environment = OtherVariables::default();
        format!("{config:#?}")
    };
    let set = load_settings(&[&others[..], &shown].concat()).unwrap();
    assert_eq!(alike(set), alike(plain));
}

#[test]
fn every_setting_is_in_the_example_and_on_the_settings_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let example = std::fs::read_to_string(root.join(".env.example")).unwrap();
    let page = std::fs::read_to_string(root.join("docs/settings.md")).unwrap();
    let settings = load_settings(&[("DATA_DIR", "/data")]).unwrap().settings;
    let names: Vec<&str> = settings.iter().map(|setting| setting.name.as_str()).collect();
    assert!(names.len() > 30, "{names:?}");
    let assigned = example.lines().filter_map(|line| line.split_once('='));
    let assigned = assigned.filter(|(name, _)| !name.starts_with('#'));
    for (name, default) in assigned {
        let setting = settings.iter().find(|setting| setting.name == name);
        let setting = setting.unwrap_or_else(|| panic!(".env.example has {name}, which is none"));
        let value = setting.value.as_deref().unwrap_or_default();
        assert!(default.is_empty() || value == default, "{setting:?} is {default} in .env.example");
    }
    for name in &names {
        assert!(example.contains(&format!("\n{name}=")), ".env.example lacks {name}");
        let row =
            page.lines().find(|line| line.starts_with('|') && line.contains(&format!("`{name}`")));
        let row = row.unwrap_or_else(|| panic!("docs/settings.md lacks {name}"));
        let default = example.split(&format!("\n{name}=")).nth(1).unwrap().lines().next().unwrap();
        assert!(
            default.is_empty() || row.contains(&format!("`{default}`")),
            "not {default}: {row}"
        );
    }
}
