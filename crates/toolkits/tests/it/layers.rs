//! The toolkits of a turn from every layer, and files with faults.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

use codeinfo_codex::OtherVariables;
use codeinfo_core::PathMap;
use codeinfo_toolkits::{
    AllowlistStatus, LayerInputs, ResolvedToolkits, ToolkitAllowlist, ToolkitLayers, ToolkitOrigin,
    spec::{RequestedToolkits, SpecReader, ToolkitSettings},
};
use proptest::{collection::vec, option, prelude::*};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// Made once: it compiles schemas.
static READER: LazyLock<Arc<SpecReader>> = LazyLock::new(|| Arc::new(SpecReader::new().unwrap()));

/// A data folder, a user's file and a repository.
struct LayerFixture {
    folder: TempDir,
    reader: Arc<SpecReader>,
    allowed: Arc<ToolkitAllowlist>,
    layers: ToolkitLayers,
}

impl LayerFixture {
    fn new() -> Self {
        Self::with_variables(16, &[])
    }

    fn with_variables(max: usize, variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("repo/.git")).unwrap();
        fs::create_dir_all(folder.path().join("repo/.codeinfo")).unwrap();
        fs::create_dir_all(folder.path().join("repo/deep/er")).unwrap();
        let settings = ToolkitSettings {
            enabled: true,
            file: Some(folder.path().join("user.json")),
            max,
            direct_max: 24,
            max_steps: 10,
            prompt: None,
        };
        let variables =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let reader = Arc::clone(&READER);
        let allowed = Arc::new(ToolkitAllowlist::new(&folder.path().join("data")));
        let layers = ToolkitLayers::new(
            Arc::clone(&reader),
            Arc::clone(&allowed),
            &settings,
            OtherVariables::new(variables),
            PathMap::default(),
        );
        Self { folder, reader, allowed, layers }
    }

    fn join(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write_user_file(&self, toolkits: &Value) {
        fs::write(self.join("user.json"), json!({"mcpServers": toolkits}).to_string()).unwrap();
    }

    fn write_repository_file(&self, text: &str) {
        fs::write(self.join("repo/.codeinfo/toolkits.json"), text).unwrap();
    }

    fn allow_repository(&self) {
        let proposal = self.allowed.build_proposal(&self.join("repo"), &self.reader).unwrap();
        self.allowed.accept_proposal(&proposal).unwrap();
    }

    fn resolve(&self, requested: Option<&Value>, stored: Option<&Value>) -> ResolvedToolkits {
        let requested = requested.map(|value| self.reader.read_request(value.clone()).unwrap());
        self.resolve_request(requested.as_ref(), Some(&self.join("repo/deep/er")), stored)
    }

    fn resolve_request(
        &self,
        requested: Option<&RequestedToolkits>,
        folder: Option<&Path>,
        stored: Option<&Value>,
    ) -> ResolvedToolkits {
        self.layers.resolve(LayerInputs { requested, folder, stored })
    }

    /// Warnings with this folder's path taken out.
    fn render_warnings(&self, resolved: &ResolvedToolkits) -> Vec<String> {
        let own = fs::canonicalize(self.folder.path()).unwrap();
        let texts = resolved.warnings.iter();
        texts
            .map(|text| {
                text.replace(own.to_str().unwrap(), "")
                    .replace(self.folder.path().to_str().unwrap(), "")
            })
            .collect()
    }
}

fn list_names(resolved: &ResolvedToolkits) -> Vec<String> {
    let shown = resolved.toolkits.iter().map(|one| format!("{} {}", one.name, one.origin.as_str()));
    shown.collect()
}

fn render_servers(toolkits: &Value) -> String {
    json!({"mcpServers": toolkits}).to_string()
}

fn make_requested(name: &str) -> Value {
    json!({name: {"transport": {"kind": "stdio", "spec": {"command": "carried", "args": []}}}})
}

const ALLOW: &str = "`codeinfo mcp allow /repo`";

#[test]
fn without_layers_there_are_no_toolkits() {
    let fixture = LayerFixture::new();
    assert_eq!(fixture.resolve(None, None), ResolvedToolkits::default());
    assert_eq!(fixture.resolve_request(None, None, None), ResolvedToolkits::default());
    let gone = fixture.resolve_request(None, Some(Path::new("/no/such/folder")), Some(&json!({})));
    assert_eq!(gone, ResolvedToolkits::default());
}

#[test]
fn the_first_layer_that_names_a_toolkit_wins() {
    let fixture = LayerFixture::new();
    fixture.write_user_file(&json!({"u": {"command": "user"}, "s": {"command": "user"}, "r": {"command": "user"}, "off": {"command": "user"}}));
    let stored = json!({"mcpServers": {"s": {"command": "stored"}, "r": {"command": "stored"}, "off": {"enabled": false}}});
    let resolved = fixture.resolve(Some(&make_requested("r")), Some(&stored));
    assert_eq!(list_names(&resolved), ["r request", "s stored", "u user"]);
    assert_eq!(resolved.warnings, [""; 0]);
    assert_eq!(resolved.toolkits[0].spec.to_json()["command"], "carried");
    assert_eq!(resolved.toolkits[1].spec.to_json()["command"], "stored");

    // A repository replaces both whole, not what the request carries.
    fixture.write_repository_file(&render_servers(
        &json!({"p": {"command": "p"}, "s": {"enabled": false}}),
    ));
    fixture.allow_repository();
    let resolved = fixture.resolve(Some(&make_requested("r")), Some(&stored));
    assert_eq!(list_names(&resolved), ["r request", "p repository"]);
    assert_eq!(resolved.warnings, [""; 0]);
    fixture.write_repository_file(&render_servers(
        &json!({"p": {"command": "p", "workingDir": "deep"}}),
    ));
    fixture.allow_repository();
    let folder = fixture.resolve(None, None).toolkits[0].spec.to_json()["workingDir"].clone();
    assert_eq!(folder, json!(fs::canonicalize(fixture.join("repo/deep")).unwrap()));
    // From outside of it, it is not there.
    let outside = fixture.resolve_request(None, Some(fixture.folder.path()), Some(&stored));
    assert_eq!(list_names(&outside), ["s stored", "r stored", "u user"]);
    // An empty list has no toolkits, a missing list has those of the lower layers.
    fixture.write_repository_file(&render_servers(&json!({})));
    fixture.allow_repository();
    assert_eq!(list_names(&fixture.resolve(None, Some(&stored))), [""; 0]);
    fixture.write_repository_file("{}");
    fixture.allow_repository();
    assert_eq!(
        list_names(&fixture.resolve(None, Some(&stored))),
        ["s stored", "r stored", "u user"]
    );
    assert_eq!(
        serde_json::to_value([
            ToolkitOrigin::Request,
            ToolkitOrigin::Repository,
            ToolkitOrigin::Stored,
            ToolkitOrigin::User
        ])
        .unwrap(),
        json!(["request", "repository", "stored", "user"])
    );
}

#[test]
fn a_repository_counts_only_while_its_content_is_allowed() {
    let fixture = LayerFixture::new();
    fixture.write_user_file(&json!({"u": {"command": "user"}}));
    fixture.write_repository_file(&render_servers(&json!({"p": {"command": "one"}})));
    let resolved = fixture.resolve(None, None);
    assert_eq!(list_names(&resolved), ["u user"]);
    let until = "until then toolkits that are configured elsewhere are used";
    assert_eq!(
        fixture.render_warnings(&resolved),
        [format!(
            "/repo/.codeinfo/toolkits.json is not allowed yet: look at it and run {ALLOW}; {until}"
        )]
    );
    fixture.allow_repository();
    assert_eq!(list_names(&fixture.resolve(None, None)), ["p repository"]);
    // A change of white space is a change.
    fixture.write_repository_file(&(render_servers(&json!({"p": {"command": "one"}})) + " "));
    let resolved = fixture.resolve(None, None);
    assert_eq!(list_names(&resolved), ["u user"]);
    assert_eq!(
        fixture.render_warnings(&resolved),
        [format!(
            "/repo/.codeinfo/toolkits.json changed since it was allowed: look at it and run {ALLOW} again; {until}"
        )]
    );
    // The content is allowed, so that the former content counts again.
    fixture.write_repository_file(&render_servers(&json!({"p": {"command": "one"}})));
    assert_eq!(list_names(&fixture.resolve(None, None)), ["p repository"]);
    // The same content elsewhere is not allowed there.
    fs::rename(fixture.join("repo"), fixture.join("moved")).unwrap();
    let moved = fixture.resolve_request(None, Some(&fixture.join("moved")), None);
    assert_eq!(list_names(&moved), ["u user"]);
    assert!(moved.warnings[0].contains("is not allowed yet"), "{:?}", moved.warnings);
}

#[test]
fn the_repository_is_the_innermost_one_whichever_way_it_is_reached() {
    let fixture = LayerFixture::new();
    fixture.write_repository_file(&render_servers(&json!({"p": {"command": "p"}})));
    fixture.allow_repository();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(fixture.join("repo"), fixture.join("link")).unwrap();
        let linked = fixture.resolve_request(None, Some(&fixture.join("link/deep")), None);
        assert_eq!(list_names(&linked), ["p repository"], "a link to it");
    }
    // A work tree has a file, and is a separate repository.
    fs::write(fixture.join("repo/deep/.git"), "gitdir: elsewhere").unwrap();
    assert_eq!(fixture.resolve(None, None), ResolvedToolkits::default());
    fs::create_dir(fixture.join("repo/deep/.codeinfo")).unwrap();
    let text = render_servers(&json!({"inner": {"command": "p"}}));
    fs::write(fixture.join("repo/deep/.codeinfo/toolkits.json"), text).unwrap();
    let resolved = fixture.resolve(None, None);
    assert_eq!(list_names(&resolved), [""; 0]);
    assert!(resolved.warnings[0].contains("/repo/deep/.codeinfo/toolkits.json"));
    let proposal =
        fixture.allowed.build_proposal(&fixture.join("repo/deep/er"), &fixture.reader).unwrap();
    fixture.allowed.accept_proposal(&proposal).unwrap();
    assert_eq!(list_names(&fixture.resolve(None, None)), ["inner repository"]);
    assert_eq!(
        list_names(&fixture.resolve_request(None, Some(&fixture.join("repo")), None)),
        ["p repository"]
    );
}

#[test]
fn what_is_seen_is_what_is_allowed() {
    let fixture = LayerFixture::new();
    let env = json!({"KEY": "${KEY}"});
    fixture.write_repository_file(&render_servers(&json!({
        "a": {"command": "sh", "args": ["-c", "rm -rf '~'\u{1b}[2K", "${HOME}"], "env": env},
        "b": {"url": "https://b.example/", "headers": {"X": "y"}, "enabled": false},
        "c": {"enabled": false},
    })));
    let proposal =
        fixture.allowed.build_proposal(&fixture.join("repo/deep"), &fixture.reader).unwrap();
    let shown: Vec<_> = proposal
        .toolkits
        .iter()
        .map(|one| {
            (one.name.as_str(), one.enabled, one.command_line.as_str(), one.variables.join(","))
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("a", true, r"sh -c 'rm -rf '\''~'\'' [2K' '${HOME}'", "KEY=${KEY}".to_owned()),
            ("b", false, "https://b.example/", "X=y".to_owned()),
            ("c", false, "", String::new()),
        ]
    );
    assert_eq!(proposal.status, AllowlistStatus::New);
    // It changes while the person reads.
    fixture.write_repository_file(&render_servers(&json!({"a": {"command": "evil"}})));
    fixture.allowed.accept_proposal(&proposal).unwrap();
    assert_eq!(list_names(&fixture.resolve(None, None)), [""; 0]);
    let again = fixture.allowed.build_proposal(&fixture.join("repo"), &fixture.reader).unwrap();
    assert_eq!(again.status, AllowlistStatus::Changed);
    // A file that cannot be read cannot be allowed.
    for (text, output_text) in
        [("{", "is not valid JSON"), (r#"{"mcpServers":{"a":{"x":1}}}"#, "toolkit `a`")]
    {
        fixture.write_repository_file(text);
        let error =
            fixture.allowed.build_proposal(&fixture.join("repo"), &fixture.reader).unwrap_err();
        assert!(error.to_string().contains(output_text), "{error}");
    }
    fs::remove_file(fixture.join("repo/.codeinfo/toolkits.json")).unwrap();
    assert!(fixture.allowed.build_proposal(&fixture.join("repo"), &fixture.reader).is_err());
    assert!(fixture.allowed.build_proposal(fixture.folder.path(), &fixture.reader).is_err());
}

#[test]
fn a_broken_toolkit_hides_others_of_its_name_and_is_named() {
    let fixture = LayerFixture::with_variables(16, &[("SET", "yes")]);
    fixture.write_user_file(&json!({
        "a": {"command": "a", "args": ["${UNSET}"]},
        "b": {"command": "b", "cwd": "/"},
        "c": {"command": "${SET}"},
    }));
    let resolved = fixture.resolve(None, None);
    assert_eq!(list_names(&resolved), ["c user"]);
    let expected = [
        "toolkit `a` of /user.json is left out: `args`: the variable `UNSET` is not set",
        "toolkit `b` of /user.json is left out: `cwd` is not known here",
    ];
    assert_eq!(fixture.render_warnings(&resolved), expected);
    // A request for other toolkits gets no warnings about these.
    assert_eq!(fixture.resolve(Some(&json!(["c"])), None).warnings, [""; 0]);
    assert_eq!(fixture.render_warnings(&fixture.resolve(Some(&json!(["b"])), None)), expected[1..]);
    // In a repository, it does not let the user's through.
    fixture.write_user_file(&json!({"a": {"command": "user"}}));
    fixture.write_repository_file(&render_servers(&json!({"a": {"command": "${UNSET}"}})));
    fixture.allow_repository();
    let resolved = fixture.resolve(None, None);
    assert_eq!(list_names(&resolved), [""; 0]);
    assert_eq!(resolved.warnings.len(), 1, "{:?}", resolved.warnings);
}

#[test]
fn a_broken_layer_is_named_and_fails_nothing() {
    let fixture = LayerFixture::new();
    fs::write(fixture.join("user.json"), "{").unwrap();
    let stored = json!({"mcpServers": {"s": {"command": "a", "x": 1}}});
    let resolved = fixture.resolve(Some(&make_requested("r")), Some(&stored));
    assert_eq!(list_names(&resolved), ["r request"]);
    assert_eq!(
        fixture.render_warnings(&resolved),
        [
            "no toolkit of the stored configuration is used: toolkit `s`: `x` is not known here",
            "no toolkit of /user.json is used: it is not valid JSON: EOF while parsing an object at line 1 column 1",
        ]
    );
    // Each is read again once it is corrected.
    fixture.write_user_file(&json!({"u": {"command": "u"}}));
    assert_eq!(list_names(&fixture.resolve(None, None)), ["u user"]);
    fixture.write_user_file(&json!({"v": {"command": "u"}}));
    assert_eq!(list_names(&fixture.resolve(None, None)), ["v user"]);
    fs::remove_file(fixture.join("user.json")).unwrap();
    assert_eq!(fixture.resolve(None, None), ResolvedToolkits::default());
}

#[test]
fn an_allowed_file_that_is_no_longer_understood_does_not_let_lower_layers_through() {
    let fixture = LayerFixture::new();
    fixture.write_user_file(&json!({"u": {"command": "u"}}));
    fixture.write_repository_file("{\"later\":1}");
    // As another version would have allowed it.
    let file = fs::canonicalize(fixture.join("repo/.codeinfo/toolkits.json")).unwrap();
    let digest = codeinfo_core::hash::sha256_hex(b"{\"later\":1}");
    fs::create_dir_all(fixture.join("data/toolkits")).unwrap();
    let kept = json!({"version": 1, "files": {file.to_str().unwrap(): digest}});
    fs::write(fixture.join("data/toolkits/allowed.json"), kept.to_string()).unwrap();
    let resolved = fixture.resolve(Some(&make_requested("r")), None);
    assert_eq!(list_names(&resolved), ["r request"]);
    assert_eq!(
        fixture.render_warnings(&resolved),
        [
            "no toolkit of /repo/.codeinfo/toolkits.json is used, nor one of a lower layer: `later` is not known here"
        ]
    );
}

#[test]
fn a_request_chooses_by_name_and_is_warned_of_unknown_ones() {
    let fixture = LayerFixture::new();
    fixture.write_user_file(&json!({"a": {"command": "a"}, "b": {"command": "b"}, "c": {"command": "c"}, "off": {"command": "c", "enabled": false}}));
    let resolved = fixture.resolve(Some(&json!(["c", "x", "a", "y"])), None);
    assert_eq!(list_names(&resolved), ["c user", "a user"]);
    assert_eq!(
        resolved.warnings,
        ["unknown toolkits were asked for: `x`, `y`; there are `a`, `b`, `c`"]
    );
    let resolved = fixture.resolve(Some(&json!(["off"])), None);
    assert_eq!(list_names(&resolved), [""; 0]);
    assert_eq!(fixture.render_warnings(&resolved), ["toolkit `off` is switched off in /user.json"]);
    let resolved = fixture.resolve(Some(&json!([])), None);
    assert_eq!((list_names(&resolved), resolved.warnings), (Vec::<String>::new(), Vec::new()));
    assert_eq!(resolved.disabled[0].name.as_str(), "off");
    fixture.write_user_file(&json!({}));
    let resolved = fixture.resolve(Some(&json!(["x"])), None);
    assert_eq!(resolved.warnings, ["unknown toolkits were asked for: `x`; there is none"]);
}

#[test]
fn the_first_sixteen_toolkits_are_used_and_others_named() {
    let fixture = LayerFixture::new();
    let many = |prefix: &str, count: usize| -> Value {
        (0..count).map(|n| (format!("{prefix}{n}"), json!({"command": "a"}))).collect()
    };
    fixture.write_user_file(&many("u", 17));
    let resolved = fixture.resolve(None, None);
    assert_eq!(resolved.toolkits.len(), 16);
    assert_eq!(resolved.warnings, ["a turn has at most 16 toolkits; left out: `u16`"]);
    let stored = json!({"mcpServers": many("s", 15)});
    let resolved = fixture.resolve(Some(&make_requested("r")), Some(&stored));
    assert_eq!(list_names(&resolved)[..2], ["r request", "s0 stored"]);
    assert_eq!(list_names(&resolved)[15], "s14 stored");
    assert!(resolved.warnings[0].contains("`u0`, `u1`"), "{:?}", resolved.warnings);
    let wanted: Vec<String> = (0..17).rev().map(|n| format!("u{n}")).collect();
    let resolved = fixture.resolve(Some(&json!(wanted)), None);
    assert_eq!(list_names(&resolved)[0], "u16 user");
    assert_eq!(resolved.warnings, ["a turn has at most 16 toolkits; left out: `u0`"]);
    let fixture = LayerFixture::with_variables(2, &[]);
    fixture.write_user_file(&many("u", 3));
    assert_eq!(list_names(&fixture.resolve(None, None)), ["u0 user", "u1 user"]);
}

#[cfg(unix)]
#[test]
fn hostile_files_of_a_repository_are_named_and_read_nothing() {
    use std::os::unix::fs::symlink;
    let fixture = LayerFixture::new();
    fixture.write_user_file(&json!({"u": {"command": "u"}}));
    let file = fixture.join("repo/.codeinfo/toolkits.json");
    let evil = render_servers(&json!({"evil": {"command": "evil"}}));
    let output_text = |what: &str| {
        let resolved = fixture.resolve(None, None);
        assert_eq!(list_names(&resolved), ["u user"], "{what}");
        assert_eq!(resolved.warnings.len(), 1, "{what}: {:?}", resolved.warnings);
        assert!(resolved.warnings[0].contains("toolkits that are configured elsewhere are used"));
        assert!(
            fixture.allowed.build_proposal(&fixture.join("repo"), &fixture.reader).is_err(),
            "{what}"
        );
        resolved.warnings[0].clone()
    };
    fs::write(fixture.join("evil.json"), &evil).unwrap();
    symlink(fixture.join("evil.json"), &file).unwrap();
    output_text("a link as the file");
    fs::remove_file(&file).unwrap();

    rustix::fs::mkfifoat(rustix::fs::CWD, &file, 0o600.into()).unwrap();
    assert!(output_text("a pipe").contains("it is no regular file"));
    fs::remove_file(&file).unwrap();

    fs::create_dir(&file).unwrap();
    output_text("a folder");
    fs::remove_dir(&file).unwrap();

    fs::File::create(&file).unwrap().set_len(1 << 30).unwrap();
    assert!(output_text("a gigabyte").contains("larger than 256 KiB"));
    fs::remove_file(&file).unwrap();

    fs::remove_dir(fixture.join("repo/.codeinfo")).unwrap();
    fs::create_dir(fixture.join("elsewhere")).unwrap();
    fs::write(fixture.join("elsewhere/toolkits.json"), &evil).unwrap();
    symlink(fixture.join("elsewhere"), fixture.join("repo/.codeinfo")).unwrap();
    output_text("a link as the folder");
    fs::remove_file(fixture.join("repo/.codeinfo")).unwrap();
    fs::write(fixture.join("repo/.codeinfo"), "").unwrap();
    output_text("a file as the folder");
    fs::remove_file(fixture.join("repo/.codeinfo")).unwrap();
    assert_eq!(fixture.resolve(None, None).warnings, [""; 0]);
}

#[cfg(unix)]
#[test]
fn the_users_file_may_be_a_link_but_not_a_pipe_nor_huge() {
    use std::os::unix::fs::symlink;
    let fixture = LayerFixture::new();
    let file = fixture.join("user.json");
    fs::write(fixture.join("kept.json"), render_servers(&json!({"u": {"command": "u"}}))).unwrap();
    symlink(fixture.join("kept.json"), &file).unwrap();
    assert_eq!(list_names(&fixture.resolve(None, None)), ["u user"]);
    fs::remove_file(&file).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &file, 0o600.into()).unwrap();
    let expected = "no toolkit of /user.json is used: it is no regular file";
    assert_eq!(fixture.render_warnings(&fixture.resolve(None, None)), [expected]);
    fs::remove_file(&file).unwrap();
    fs::File::create(&file).unwrap().set_len(1 << 30).unwrap();
    let expected = "no toolkit of /user.json is used: it is larger than 256 KiB";
    assert_eq!(fixture.render_warnings(&fixture.resolve(None, None)), [expected]);
    fs::remove_file(&file).unwrap();
    symlink(&file, &file).unwrap();
    assert_eq!(fixture.resolve(None, None).warnings.len(), 1, "a link to itself");
}

#[test]
fn what_was_allowed_is_kept_for_its_user_alone_and_never_taken_for_empty() {
    let fixture = LayerFixture::new();
    fixture.write_repository_file(&render_servers(&json!({"p": {"command": "p"}})));
    fixture.allow_repository();
    let kept = fixture.join("data/toolkits/allowed.json");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(kept.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let folder = kept.parent().unwrap().metadata().unwrap().permissions();
        assert_eq!(folder.mode() & 0o777, 0o700);
    }
    let good = fs::read(&kept).unwrap();
    for damaged in ["", "{}", "{\"version\":1}", "[]", r#"{"version":2,"files":{}}"#] {
        fs::write(&kept, damaged).unwrap();
        let resolved = fixture.resolve(None, None);
        assert_eq!(list_names(&resolved), [""; 0], "{damaged}");
        assert!(resolved.warnings[0].contains("allowed.json"), "{:?}", resolved.warnings);
        assert!(fixture.allowed.build_proposal(&fixture.join("repo"), &fixture.reader).is_err());
        assert_eq!(fs::read_to_string(&kept).unwrap(), damaged, "it is left as it is");
    }
    fs::write(&kept, good).unwrap();
    assert_eq!(list_names(&fixture.resolve(None, None)), ["p repository"]);
}

#[test]
fn repositories_that_are_allowed_at_once_are_all_kept() {
    let fixture = LayerFixture::new();
    let repositories: Vec<PathBuf> = (0..24).map(|n| fixture.join(&format!("r{n}"))).collect();
    for path in &repositories {
        fs::create_dir_all(path.join(".git")).unwrap();
        fs::create_dir_all(path.join(".codeinfo")).unwrap();
        let text = render_servers(&json!({"p": {"command": "p"}}));
        fs::write(path.join(".codeinfo/toolkits.json"), text).unwrap();
    }
    std::thread::scope(|threads| {
        for path in &repositories {
            threads.spawn(|| {
                let proposal = fixture.allowed.build_proposal(path, &fixture.reader).unwrap();
                fixture.allowed.accept_proposal(&proposal).unwrap();
            });
        }
    });
    for path in &repositories {
        assert_eq!(list_names(&fixture.resolve_request(None, Some(path), None)), ["p repository"]);
    }
}

/// The entry of a layer for a name.
#[derive(Debug, Clone, Copy, PartialEq)]
enum LayerEntry {
    On,
    Off,
    OffWhole,
    Broken,
}

type LayerEntries = Vec<(u8, LayerEntry)>;

fn any_layer() -> impl Strategy<Value = Option<LayerEntries>> {
    let says = prop_oneof![4 => Just(LayerEntry::On), 1 => Just(LayerEntry::Off), 1 => Just(LayerEntry::OffWhole), 1 => Just(LayerEntry::Broken)];
    let unique = vec((0..24_u8, says), 0..20).prop_map(|entries| {
        let mut seen = HashSet::new();
        entries.into_iter().filter(|(name, _)| seen.insert(*name)).collect::<LayerEntries>()
    });
    option::of(unique)
}

fn render_layer(layer: &LayerEntries, command: &str) -> Value {
    let mut members = Map::new();
    for (name, says) in layer {
        let written = match says {
            LayerEntry::On => json!({"command": command}),
            LayerEntry::Off => json!({"enabled": false}),
            LayerEntry::OffWhole => json!({"enabled": false, "command": command}),
            LayerEntry::Broken => json!({"command": "${UNSET}"}),
        };
        members.insert(format!("t{name}"), written);
    }
    Value::Object(members)
}

/// The rule again, in another form.
fn expect_toolkits(
    request: &[u8],
    sections: &[(ToolkitOrigin, &LayerEntries)],
) -> Vec<(String, ToolkitOrigin)> {
    let mut winners: HashMap<u8, Option<ToolkitOrigin>> = HashMap::new();
    let mut order = request.to_vec();
    for (origin, layer) in sections.iter().rev() {
        for (name, says) in *layer {
            winners.insert(*name, (*says == LayerEntry::On).then_some(*origin));
        }
    }
    for name in request {
        winners.insert(*name, Some(ToolkitOrigin::Request));
    }
    order.extend(sections.iter().flat_map(|(_, layer)| layer.iter().map(|(name, _)| *name)));
    let mut seen = HashSet::new();
    order.retain(|name| seen.insert(*name));
    let chosen = order.into_iter().filter_map(|name| Some((format!("t{name}"), winners[&name]?)));
    chosen.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn any_layers_follow_the_rule(
        request in prop::collection::hash_set(0..24_u8, 0..6),
        repository in any_layer(),
        is_allowed in any::<bool>(),
        stored in any_layer(),
        user in any_layer(),
    ) {
        let fixture = LayerFixture::new();
        let request: Vec<u8> = request.into_iter().collect();
        // Stored toolkits have no variables, and so none of them is broken.
        let stored: Option<LayerEntries> = stored
            .map(|layer| layer.into_iter().filter(|(_, says)| *says != LayerEntry::Broken).collect());
        if let Some(layer) = &user {
            fixture.write_user_file(&render_layer(layer, "user"));
        }
        if let Some(layer) = &repository {
            fixture.write_repository_file(&render_servers(&render_layer(layer, "repository")));
            if is_allowed {
                fixture.allow_repository();
            }
        }
        let mut members = Map::new();
        for name in &request {
            members.extend(make_requested(&format!("t{name}")).as_object().unwrap().clone());
        }
        let document = stored.as_ref().map(|layer| json!({"mcpServers": render_layer(layer, "stored")}));
        let members = Value::Object(members);
        let resolved = fixture.resolve(Some(&members), document.as_ref());

        let lower = || {
            let stored = stored.iter().map(|layer| (ToolkitOrigin::Stored, layer));
            stored.chain(user.iter().map(|layer| (ToolkitOrigin::User, layer))).collect()
        };
        let counts = repository.as_ref().filter(|_| is_allowed);
        let sections = counts.map_or_else(lower, |layer| vec![(ToolkitOrigin::Repository, layer)]);
        let all = expect_toolkits(&request, &sections);
        let got: Vec<_> =
            resolved.toolkits.iter().map(|one| (one.name.to_string(), one.origin)).collect();
        prop_assert_eq!(&got[..], &all[..all.len().min(16)]);
        for one in &resolved.toolkits {
            let command = one.spec.to_json()["command"].clone();
            let own = if one.origin == ToolkitOrigin::Request { "carried" } else { one.origin.as_str() };
            prop_assert_eq!(command, json!(own));
        }
        let rest: Vec<&(String, ToolkitOrigin)> = all.iter().skip(16).collect();
        let of_rest = resolved.warnings.iter().find(|text| text.starts_with("a turn has at most 16"));
        prop_assert_eq!(of_rest.is_some(), !rest.is_empty());
        for (name, _) in rest {
            let named = of_rest.unwrap().contains(&format!("`{name}`"));
            prop_assert!(named, "{}", name);
        }
        // The same again, from the stored state.
        let again = fixture.resolve(Some(&members), document.as_ref());
        prop_assert_eq!(again, resolved);
    }
}
