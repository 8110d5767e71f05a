//! Toolkits as people write them: files, stored documents and what requests carry.

use std::{fmt::Write, path::Path, sync::LazyLock, time::Duration};

use codeinfo_codex::{NetworkAccess, OtherVariables};
use codeinfo_toolkits::spec::{
    AllowedTools, FILE_TEMPLATE, RequestedToolkits, SpecReader, ToolkitDocument,
    ToolkitDocumentEntry, ToolkitSandbox, ToolkitSpec, ToolkitTransport,
};
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Value, json};

fn spec_reader() -> &'static SpecReader {
    static READER: LazyLock<SpecReader> = LazyLock::new(|| SpecReader::new().unwrap());
    &READER
}

fn test_variables() -> OtherVariables {
    let pairs = [("TOKEN", "t0p"), ("EMPTY", ""), ("LINE", "a\nb"), ("SECRET_KEY", "ours")];
    let long = [("LONG".to_owned(), "x".repeat(16 * 1024))];
    OtherVariables::new(
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().chain(long),
    )
}

fn parse_stored(toolkit: &Value) -> Result<ToolkitDocument, Vec<String>> {
    spec_reader().read_stored(json!({"mcpServers": {"one": toolkit}}))
}

fn list_faults(toolkit: &Value) -> Vec<String> {
    parse_stored(toolkit).unwrap_err()
}

fn document_spec(document: &ToolkitDocument) -> &ToolkitSpec {
    match document.toolkits.as_deref() {
        Some([(_, ToolkitDocumentEntry::Is(spec))]) => spec,
        other => panic!("{other:?}"),
    }
}

fn parse_file(text: &str) -> Result<ToolkitDocument, Vec<String>> {
    spec_reader().read_file(text.as_bytes(), &test_variables(), None)
}

/// Returns the faults of the one toolkit of a file.
fn list_file_faults(toolkit: &Value) -> Vec<String> {
    let document = parse_file(&json!({"mcpServers": {"one": toolkit}}).to_string()).unwrap();
    match document.toolkits.as_deref() {
        Some([(_, ToolkitDocumentEntry::Broken(faults))]) => faults.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_toolkit_has_the_defaults_of_the_design() {
    let document = parse_stored(&json!({"command": "git-mcp"})).unwrap();
    let transport = ToolkitTransport::Stdio {
        command: "git-mcp".to_owned(),
        args: Vec::new(),
        env: std::collections::BTreeMap::new(),
        working_dir: None,
    };
    let expected = ToolkitSpec {
        transport,
        name: None,
        description: None,
        enabled: true,
        timeout: Duration::from_mins(1),
        sandbox: ToolkitSandbox::ReadOnly,
        network: NetworkAccess::Proxied,
        allow: AllowedTools::ReadOnly,
        cache: Duration::ZERO,
        parallel: false,
        memory_mb: None,
        home_mb: None,
        max_processes: None,
    };
    assert_eq!(*document_spec(&document), expected);
}

#[test]
fn every_member_is_read_and_written_back_and_lists_show_no_value() {
    let written = json!({
        "command": "npx",
        "args": ["-y", "server"],
        "env": {"KEY": "k3y", "LEVEL": "3", "ON": "true"},
        "workingDir": "/srv",
        "name": "One",
        "description": "does things",
        "enabled": false,
        "timeout": 5,
        "sandbox": "workspace-write",
        "network": false,
        "allow": ["read"],
        "cacheSecs": 7,
        "parallel": true,
        "memoryMb": 512,
    });
    let mut given = written.clone();
    given["env"] = json!({"KEY": "k3y", "LEVEL": 3, "ON": true});
    let document = parse_stored(&given).unwrap();
    assert_eq!(document_spec(&document).to_json(), written);
    let mut shown = written;
    shown["env"] = json!({"KEY": "(hidden)", "LEVEL": "(hidden)", "ON": "(hidden)"});
    assert_eq!(document_spec(&document).to_redacted_json(), shown);
    assert!(!format!("{document:?}").contains("k3y"), "not in logs either");

    let remote = json!({"url": "https://a.example/mcp?key=k3y", "headers": {"X-Key": "k3y"}});
    let document = parse_stored(&remote).unwrap();
    assert_eq!(document_spec(&document).to_json(), remote);
    let shown = json!({"url": "https://a.example/mcp?(hidden)", "headers": {"X-Key": "(hidden)"}});
    assert_eq!(document_spec(&document).to_redacted_json(), shown);
}

#[test]
fn what_is_wrong_is_named_with_its_toolkit() {
    let cases = [
        (json!({}), "`command` or `url` is missing"),
        (json!({"enabled": true}), "`command` or `url` is missing"),
        (json!({"command": "a", "url": "http://a"}), "`command` and `url` exclude one another"),
        (json!({"url": "http://a", "args": []}), "`args` goes with `command`"),
        (json!({"url": "http://a", "env": {}}), "`env` goes with `command`"),
        (json!({"url": "http://a", "workingDir": "/"}), "`workingDir` goes with `command`"),
        (json!({"command": "a", "headers": {}}), "`headers` goes with `url`"),
        (json!([]), "the value must be an object"),
        (json!(null), "the value must be an object"),
        (json!({"command": ""}), "`command` is empty"),
        (json!({"command": 1}), "`command` must be a string"),
        (json!({"command": "a", "args": "b"}), "`args` must be an array"),
        (json!({"command": "a", "args": [1]}), "`args/0` must be a string"),
        (json!({"command": "a", "cwd": "/"}), "`cwd` is not known here"),
        (json!({"command": "a", "type": "stdio"}), "`type` is not known here"),
        (json!({"command": "a", "timeout": 0}), "`timeout` must be at least 1"),
        (json!({"command": "a", "timeout": 3601}), "`timeout` must be at most 3600"),
        (json!({"command": "a", "timeout": "60"}), "`timeout` must be an integer"),
        (json!({"command": "a", "memoryMb": 1}), "`memoryMb` must be at least 16"),
        (json!({"command": "a", "enabled": "no"}), "`enabled` must be a boolean"),
        (
            json!({"command": "a", "sandbox": "none"}),
            r#"`sandbox` must be one of ["read-only","workspace-write","off"]"#,
        ),
        (json!({"command": "a", "workingDir": "b"}), "`workingDir` must be absolute here"),
        (json!({"url": "http://"}), "`url` is no address"),
        (
            json!({"url": "http://me:k3y@a"}),
            "`url` must not hold a name or a password; put them in `headers`",
        ),
    ];
    for (toolkit, expected) in cases {
        assert_eq!(list_faults(&toolkit), [format!("toolkit `one`: {expected}")], "{toolkit}");
    }
    // Several toolkits, several faults each.
    let document = json!({"mcpServers": {"a": {"x": 1, "command": "a", "y": 1}, "b": {}}});
    assert_eq!(
        spec_reader().read_stored(document).unwrap_err(),
        [
            "toolkit `a`: `x` is not known here",
            "toolkit `a`: `y` is not known here",
            "toolkit `b`: `command` or `url` is missing",
        ]
    );
}

#[test]
fn values_beyond_the_bounds_are_refused_without_being_repeated() {
    let many = |count: usize| (0..count).map(|n| format!("A{n}")).collect::<Vec<_>>();
    let object = |count| many(count).into_iter().map(|key| (key, json!("k3y"))).collect::<Value>();
    let long = |count: usize| "k3y".repeat(count);
    for toolkit in [
        json!({"command": long(2000)}),
        json!({"command": "a\0k3y"}),
        json!({"command": "a", "args": many(257)}),
        json!({"command": "a", "args": [long(6000)]}),
        json!({"command": "a", "args": ["\0k3y"]}),
        json!({"command": "a", "env": object(129)}),
        json!({"command": "a", "env": {"A": long(6000)}}),
        json!({"command": "a", "env": {"A": "\0k3y"}}),
        json!({"command": "a", "env": {"A": ["k3y"]}}),
        json!({"command": "a", "env": {"A=B": "k3y"}}),
        json!({"command": "a", "env": {"": "k3y"}}),
        json!({"url": "file:///k3y"}),
        json!({"url": "k3y"}),
        json!({"url": "http://a", "headers": object(65)}),
        json!({"url": "http://a", "headers": {"A": "k3y\r\nB: c"}}),
        json!({"url": "http://a", "headers": {"A B": "k3y"}}),
        json!({"url": "http://a", "headers": {"A": 1}}),
        json!({"command": "a", "allow": "k3y"}),
        json!({"command": "a", "allow": many(513)}),
        json!({"command": "a", "allow": [1]}),
        json!({"command": "a", "allow": {"k3y": true}}),
        json!({"command": "a", "cacheSecs": 604_801}),
        json!({"command": "a", "name": ""}),
        json!({"command": "a", "description": long(700)}),
        json!({"command": "a", "memoryMb": 1_048_577}),
        json!({"command": "a", "workingDir": ""}),
        json!({"command": "a", "workingDir": format!("/{}", long(2000))}),
        json!({"command": "a", "name": long(41)}),
        json!({"command": "a", "allow": [long(90)]}),
        json!({"command": "a", "allow": [""]}),
        json!({"command": "a", "$comment": long(3000)}),
        json!({"command": "a", "$comment": many(257)}),
        json!({"command": "a", "$comment": [long(400)]}),
        json!({"command": "a", "$comment": {"k3y": 1}}),
        json!({"url": format!("http://a/{}", long(2000))}),
        json!({"url": "http://a", "headers": {"A": long(6000)}}),
    ] {
        let faults = list_faults(&toolkit).join("\n");
        assert!(faults.starts_with("toolkit `one`: "), "{faults}");
        assert!(!faults.contains("k3y"), "{faults}");
        assert!(faults.len() < 2000, "{faults}");
    }
    let servers = |count| {
        let names = (0..count).map(|n| (format!("t{n}"), json!({"command": "a"})));
        json!({"mcpServers": names.collect::<Value>()})
    };
    assert_eq!(spec_reader().read_stored(servers(128)).unwrap().toolkits.unwrap().len(), 128);
    assert!(spec_reader().read_stored(servers(129)).is_err());
}

#[test]
fn invalid_names_are_refused() {
    let long = "a".repeat(49);
    for name in
        ["", "A", "../x", "a/b", "a b", "é", "a.b", "local", "codeinfo", "__proto__\u{0}", &long]
    {
        for faults in [
            spec_reader().read_stored(json!({"mcpServers": {name: {"command": "a"}}})).unwrap_err(),
            spec_reader().read_request(json!([name])).unwrap_err(),
            spec_reader()
                .read_request(
                    json!({name: {"transport": {"kind": "stdio", "spec": {"command": "a"}}}}),
                )
                .unwrap_err(),
        ] {
            let start = format!("`{name}` cannot be the name of a toolkit");
            assert!(faults[0].starts_with(&start), "{faults:?}");
        }
    }
    // Only allowed letters, and nothing special here.
    for name in ["__proto__", "constructor", "a", &"a".repeat(48), "-", "0"] {
        let document =
            spec_reader().read_stored(json!({"mcpServers": {name: {"command": "a"}}})).unwrap();
        assert_eq!(document.toolkits.unwrap()[0].0.as_str(), name);
    }
}

#[test]
fn a_document_has_toolkits_in_its_order_or_none_and_nothing_else() {
    assert_eq!(parse_file("{}").unwrap().toolkits, None);
    assert_eq!(parse_file(r#"{"mcpServers":{}}"#).unwrap().toolkits, Some(Vec::new()));
    let text = r#"{"$comment":"c","mcpServers":{
        "z":{"command":"a","$comment":["b","c"]},"a":{"enabled":false},"m":{"url":"http://a"}}}"#;
    let names: Vec<String> = parse_file(text)
        .unwrap()
        .toolkits
        .unwrap()
        .iter()
        .map(|(name, _)| name.to_string())
        .collect();
    assert_eq!(names, ["z", "a", "m"]);
    assert_eq!(parse_file(r#"{"servers":{}}"#).unwrap_err(), ["`servers` is not known here"]);
    assert_eq!(parse_file("[]").unwrap_err(), ["the value must be an object"]);
    assert_eq!(parse_file(r#"{"mcpServers":[]}"#).unwrap_err(), ["`mcpServers` must be an object"]);

    let agent = json!({"agent": {"tools": {"enabled": false, "maxSteps": 3, "systemPrompt": "p"}}});
    let read = spec_reader().read_stored(agent.clone()).unwrap().agent;
    assert_eq!(
        (read.enabled, read.max_steps, read.prompt.as_deref()),
        (Some(false), Some(3), Some("p"))
    );
    assert_eq!(parse_file(&agent.to_string()).unwrap_err(), ["`agent` is not known here"]);
    for (tools, fault) in [
        (json!({"steps": 3}), "`steps` is not known here"),
        (json!({"maxSteps": 0}), "`agent/tools/maxSteps` must be at least 1"),
        (json!({"maxSteps": 1001}), "`agent/tools/maxSteps` must be at most 1000"),
        (
            json!({"systemPrompt": "p".repeat(32_769)}),
            "`agent/tools/systemPrompt` has more than 32768 characters",
        ),
    ] {
        assert_eq!(
            spec_reader().read_stored(json!({"agent": {"tools": tools}})).unwrap_err(),
            [fault]
        );
    }
}

#[test]
fn a_file_that_is_not_json_is_refused_at_its_place() {
    for (text, output_text) in [
        ("", "EOF while parsing a value at line 1 column 0"),
        ("{\"mcpServers\":{},}", "trailing comma at line 1 column 18"),
        ("{} k3y", "trailing characters at line 1 column 4"),
        ("// a\n{}", "expected value at line 1 column 1"),
        (r#"{"mcpServers":{},"mcpServers":{}}"#, "duplicate key `mcpServers`"),
        (r#"{"mcpServers":{"a":{},"\u0061":{}}}"#, "duplicate key `a`"),
        (r#"{"mcpServers":{"a":{"command":"x","command":"k3y"}}}"#, "duplicate key `command`"),
    ] {
        let faults = parse_file(text).unwrap_err().join("\n");
        assert!(faults.contains(output_text), "{faults}");
        assert!(!faults.contains("k3y"), "{faults}");
    }
    let deep = format!("{{\"mcpServers\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(parse_file(&deep).unwrap_err()[0].contains("recursion limit exceeded"));
    assert!(parse_file("\u{feff}{}").is_ok());
    assert!(spec_reader().read_file(b"{\"a\":\"\xff\"}", &test_variables(), None).is_err());
}

#[test]
fn variables_are_read_in_files_and_nowhere_else() {
    let toolkit = json!({
        "command": "${NONE:-git}",
        "args": ["-t", "${TOKEN}${TOKEN}", "$TOKEN $ {TOKEN}", "${NONE:-}", "${NONE:-a:-b}"],
        "env": {"A": "<${TOKEN}>", "B": "${EMPTY}", "N": 1},
        "workingDir": "/${TOKEN}",
        "description": "${TOKEN}",
    });
    let whole = json!({"mcpServers": {"one": toolkit}});
    let document = parse_file(&whole.to_string()).unwrap();
    let expected = json!({
        "command": "git",
        "args": ["-t", "t0pt0p", "$TOKEN $ {TOKEN}", "", "a:-b"],
        "env": {"A": "<t0p>", "B": "", "N": "1"},
        "workingDir": "/t0p",
        "description": "${TOKEN}",
    });
    assert_eq!(document_spec(&document).to_json(), expected);
    let remote = json!({"url": "https://${TOKEN}.example", "headers": {"A": "Bearer ${TOKEN}"}});
    let document = parse_file(&json!({"mcpServers": {"one": remote}}).to_string()).unwrap();
    let expected = json!({"url": "https://t0p.example", "headers": {"A": "Bearer t0p"}});
    assert_eq!(document_spec(&document).to_json(), expected);

    let verbatim = json!({"command": "a", "args": ["${TOKEN}"], "env": {}});
    assert_eq!(document_spec(&parse_stored(&verbatim).unwrap()).to_json(), verbatim);
    let carried = json!({"x": {"transport": {"kind": "stdio", "spec": verbatim}}});
    assert_eq!(spec_reader().read_request(carried).unwrap().specs[0].1.to_json(), verbatim);
}

#[test]
fn a_variable_that_cannot_be_read_is_named_and_leaves_the_other_toolkits() {
    let args = |text: &str| list_file_faults(&json!({"command": "a", "args": [text]}));
    assert_eq!(args("${NONE}"), ["`args`: the variable `NONE` is not set"]);
    // The keys of the server are not passed on.
    assert_eq!(args("${SECRET_KEY}"), ["`args`: the variable `SECRET_KEY` is not set"]);
    assert_eq!(args("${TOKEN"), ["`args`: a `${` without `}`"]);
    for name in ["", " TOKEN", "1A", "A-B", "A:B"] {
        assert_eq!(
            args(&format!("${{{name}}}")),
            [format!("`args`: `{name}` is no name of a variable")]
        );
    }
    // Substituted values have the same bounds.
    assert_eq!(list_file_faults(&json!({"url": "http://a", "headers": {"A": "${LINE}"}})).len(), 1);
    for count in [2, 1000] {
        let long = args(&"${LONG}".repeat(count)).join("\n");
        assert!(long.contains("has more than 16384 characters"), "{long}");
    }
    // Long before it is as long as it would be.
    let early = args(&"${LONG}".repeat(1000)).join("\n");
    assert!(early.contains("with its variables"), "{early}");
    let text = r#"{"mcpServers":{"a":{"command":"${NONE}"},"b":{"command":"b"},
        "c":{"command":"${NONE}","enabled":false}}}"#;
    let toolkits = parse_file(text).unwrap().toolkits.unwrap();
    let kinds: Vec<bool> =
        toolkits.iter().map(|(_, entry)| matches!(entry, ToolkitDocumentEntry::Is(_))).collect();
    assert_eq!(kinds, [false, true, true], "of what is off no variable is missing");
}

#[test]
fn a_folder_is_below_that_of_the_repository() {
    let read = |folder: &str| {
        let text = json!({"mcpServers": {"one": {"command": "a", "workingDir": folder}}});
        let below = Some(Path::new("/repo"));
        let document =
            spec_reader().read_file(text.to_string().as_bytes(), &test_variables(), below).unwrap();
        document_spec(&document).to_json()["workingDir"].clone()
    };
    assert_eq!([read("sub"), read("/abs")], [json!("/repo/sub"), json!("/abs")]);
}

#[test]
fn a_request_names_toolkits_or_carries_them() {
    let requested = spec_reader().read_request(json!(["b", "a", "b"])).unwrap();
    let names: Vec<_> = requested.names.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["b", "a"]);
    let none = RequestedToolkits { names: Some(Vec::new()), specs: Vec::new() };
    assert_eq!(spec_reader().read_request(json!([])).unwrap(), none);
    assert_eq!(spec_reader().read_request(json!({})).unwrap(), RequestedToolkits::default());

    let carried = |spec: Value, tools: Value| json!({"git": {"transport": {"kind": "stdio", "spec": spec}, "tools": tools}});
    let full = json!({"command": "a", "args": ["b"], "env": {"N": 1}});
    let requested = spec_reader().read_request(carried(full, json!(["log"]))).unwrap();
    assert_eq!(requested.names, None);
    let expected = json!({"command": "a", "args": ["b"], "env": {"N": "1"}, "allow": ["log"]});
    assert_eq!(requested.specs[0].1.to_json(), expected);

    let faults = |value: Value| spec_reader().read_request(value).unwrap_err();
    assert_eq!(faults(json!("git")).len(), 1);
    assert_eq!(faults(json!([1])), ["`0` must be a string"]);
    assert_eq!(faults(json!({"git": {}})), ["toolkit `git`: `transport` is missing"]);
    assert_eq!(
        faults(json!({"git": {"transport": {"kind": "http", "spec": {"url": "http://a"}}}})),
        ["toolkit `git`: the transport `http` is not known here, only `stdio` is"]
    );
    assert_eq!(
        faults(json!({"git": {"transport": {"kind": "stdio", "spec": {}}}})),
        ["toolkit `git`: `command` is missing"]
    );
    for (member, value) in
        [("workingDir", json!("/")), ("sandbox", json!("off")), ("url", json!("http://a"))]
    {
        let mut spec = json!({"command": "a"});
        spec[member] = value;
        let expected = format!("toolkit `git`: `{member}` is not known here");
        assert_eq!(faults(carried(spec, json!([]))), [expected]);
    }
    assert_eq!(
        faults(json!({"git": {"transport": {"kind": "stdio", "spec": {"command": "a"}}, "x": 1}})),
        ["toolkit `git`: `x` is not known here"]
    );
    // Toolkits above the limit of a turn are left out with a warning, not refused.
    let many: Vec<String> = (0..256).map(|n| format!("t{n}")).collect();
    assert_eq!(spec_reader().read_request(json!(many)).unwrap().names.unwrap().len(), 256);
    let more: Vec<String> = (0..257).map(|n| format!("t{n}")).collect();
    assert_eq!(faults(json!(more)).len(), 1);
    let one = json!({"transport": {"kind": "stdio", "spec": {"command": "a"}}});
    let specs =
        |count: usize| (0..count).map(|n| (format!("t{n}"), one.clone())).collect::<Value>();
    assert_eq!(spec_reader().read_request(specs(256)).unwrap().specs.len(), 256);
    assert_eq!(faults(specs(257)).len(), 1);
    let tools: Vec<String> = (0..513).map(|n| format!("t{n}")).collect();
    assert_eq!(faults(carried(json!({"command": "a"}), json!(tools))).len(), 1);
}

#[test]
fn digests_distinguish_programs_and_specs() {
    let digests = |toolkit: &Value| {
        let document = parse_stored(toolkit).unwrap();
        (document_spec(&document).program_digest(), document_spec(&document).digest())
    };
    let one = digests(&json!({"command": "a", "args": ["b"], "env": {"K": "1"}, "timeout": 60}));
    assert_eq!(one, digests(&json!({"env": {"K": 1}, "args": ["b"], "command": "a"})));
    assert_eq!([one.0.len(), one.1.len()], [64, 64]);
    let renamed = json!({"command": "a", "args": ["b"], "env": {"K": "2"}, "timeout": 61});
    let other = digests(&renamed);
    assert_eq!(one.0, other.0, "a new key is no new program");
    assert_ne!(one.1, other.1);
    for program in [
        json!({"command": "a b", "env": {"K": "1"}}),
        json!({"command": "a", "args": ["b", ""]}),
        json!({"command": "a", "args": ["b"], "workingDir": "/"}),
        json!({"url": "http://a"}),
    ] {
        assert_ne!(one.0, digests(&program).0, "{program}");
    }
}

#[test]
fn the_first_file_is_read_and_has_two_examples_that_are_off() {
    let none = OtherVariables::default();
    let folder = Some(Path::new("/repo"));
    let document = spec_reader().read_file(FILE_TEMPLATE.as_bytes(), &none, folder).unwrap();
    let toolkits = document.toolkits.unwrap();
    let kinds: Vec<_> = toolkits
        .iter()
        .map(|(name, entry)| match entry {
            ToolkitDocumentEntry::Is(spec) => (name.as_str(), spec.transport.kind(), spec.enabled),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds, [("git", "stdio", false), ("issues", "http", false)]);
    // With the variable that it names, and switched on, it is whole.
    let pairs = [("ISSUES_TOKEN".to_owned(), "t".to_owned())];
    let on = FILE_TEMPLATE.replace(r#""enabled": false"#, r#""enabled": true"#);
    let folder = Some(Path::new("/repo"));
    let document =
        spec_reader().read_file(on.as_bytes(), &OtherVariables::new(pairs), folder).unwrap();
    for (_, entry) in document.toolkits.unwrap() {
        assert!(matches!(entry, ToolkitDocumentEntry::Is(spec) if spec.enabled));
    }
    let mut text = String::new();
    for (name, _) in toolkits {
        write!(text, "{name} ").unwrap();
    }
    assert_eq!(text, "git issues ");
}

/// Any toolkit that may be written.
fn any_toolkit() -> impl Strategy<Value = Value> {
    let texts = || "[ -~é\n]{0,12}";
    let plain = "[!-~]{1,8}";
    let keys = "[A-Z_]{1,6}";
    let stdio = (
        plain,
        vec(texts(), 0..4),
        prop::collection::btree_map(keys, texts(), 0..3),
        option::of("/[a-z/]{0,8}"),
    )
        .prop_map(|(command, args, env, folder)| {
            let mut written = json!({"command": command, "args": args, "env": env});
            if let Some(folder) = folder {
                written["workingDir"] = json!(folder);
            }
            written
        });
    let http = ("[a-z]{1,8}", prop::collection::btree_map(keys, "[ -~]{0,8}", 0..3)).prop_map(
        |(host, headers)| json!({"url": format!("https://{host}/mcp"), "headers": headers}),
    );
    let common = (
        option::of("[a-zé ]{1,9}"),
        any::<bool>(),
        option::of(1..=3600_u64),
        option::of(select(vec!["read-only", "workspace-write", "off"])),
        option::of(prop_oneof![
            Just(json!("readonly")),
            Just(json!("all")),
            vec("[a-z]{1,4}", 0..3).prop_map(|names| json!(names))
        ]),
        option::of(0..=604_800_u64),
        option::of(16..=4096_u64),
    );
    (prop_oneof![stdio, http], common, any::<[Option<bool>; 2]>()).prop_map(
        |(mut written, (name, enabled, timeout, sandbox, allow, cache, memory), switches)| {
            let members = [
                ("name", name.map(|it| json!(it))),
                ("enabled", Some(json!(enabled))),
                ("timeout", timeout.map(|it| json!(it))),
                ("sandbox", sandbox.map(|it| json!(it))),
                ("allow", allow),
                ("cacheSecs", cache.map(|it| json!(it))),
                ("memoryMb", memory.map(|it| json!(it))),
                ("homeMb", memory.map(|it| json!(it))),
                ("maxProcesses", memory.map(|it| json!(it))),
                ("network", switches[0].map(|it| json!(it))),
                ("parallel", switches[1].map(|it| json!(it))),
            ];
            for (name, value) in members {
                if let Some(value) = value {
                    written[name] = value;
                }
            }
            written
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn what_is_written_is_read_as_it_was(toolkit in any_toolkit()) {
        let first = parse_stored(&toolkit).unwrap();
        let written = document_spec(&first).to_json();
        let second = parse_stored(&written).unwrap();
        prop_assert_eq!(document_spec(&first), document_spec(&second));
        prop_assert_eq!(document_spec(&second).to_json(), written);
        prop_assert_eq!(document_spec(&first).digest(), document_spec(&second).digest());
        // As a file in which no variable is replaced.
        if !toolkit.to_string().contains("${") {
            let text = json!({"mcpServers": {"one": toolkit}}).to_string();
            prop_assert_eq!(&parse_file(&text).unwrap(), &first);
        }
    }

    #[test]
    fn a_member_that_is_not_known_is_always_refused_by_name(
        toolkit in any_toolkit(),
        name in "[a-z$_-]{1,12}",
    ) {
        const KNOWN: [&str; 19] = [
            "$comment", "command", "args", "env", "workingDir", "url", "headers", "name",
            "description", "enabled", "timeout", "sandbox", "network", "allow", "cacheSecs",
            "parallel", "memoryMb", "homeMb", "maxProcesses",
        ];
        prop_assume!(!KNOWN.contains(&name.as_str()));
        let mut toolkit = toolkit;
        toolkit[&name] = json!(1);
        prop_assert_eq!(list_faults(&toolkit), [format!("toolkit `one`: `{name}` is not known here")]);
    }

    #[test]
    fn no_bytes_crash_the_parser(text in vec(any::<u8>(), 0..200), json in "[{}\\[\\]\",:$a-z0-9 ]{0,60}") {
        drop(spec_reader().read_file(&text, &test_variables(), None));
        drop(parse_file(&json));
    }
}
