//! Files that have content already: all of it stays, and is restored.

use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use proptest::{prelude::any, proptest, test_runner::Config};
use serde_json::{Value, json};

use super::*;

const CODEX: &str = ".codex/config.toml";
const CURSOR: &str = ".cursor/mcp.json";

/// Installs into a file, twice, and uninstalls; returns the text in between.
fn install_and_uninstall(client: &str, file: &str, text: &str) -> String {
    let home = TestHome::with_program();
    home.write(file, text);
    home.run_successfully(&["install", client, "--yes"]);
    let installed = home.read_file(file);
    assert!(is_subsequence(text, &installed), "{text:?} is not whole in {installed:?}");
    let output_text = home.run_successfully(&["install", client, "--yes"]);
    assert!(output_text.contains("already set up"), "{output_text}");
    assert_eq!(home.read_file(file), installed);
    home.run_successfully(&["uninstall", client, "--yes"]);
    assert_eq!(home.read_file(file), text, "{installed}");
    assert!(home.run_successfully(&["uninstall", client, "--yes"]).contains("not set up"));
    installed.replace(home.0.path().to_str().unwrap(), "~")
}

fn parse_json(text: &str) -> Value {
    let text = text.trim_start_matches('\u{feff}');
    let read = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default()).unwrap();
    read.value.unwrap().into()
}

/// Returns whether every character of a text is in another, in order.
fn is_subsequence(text: &str, whole: &str) -> bool {
    let mut rest = whole.chars();
    text.chars().all(|c| rest.any(|other| other == c))
}

#[test]
fn comments_order_and_indentation_of_json_stay() {
    let text = r#"// My servers.
{
     "z": 1, /* odd */
     "mcpServers": {
          // The first.
          "other": { "command": "x" }, // keep
     },
     "a": [1,2 , 3],
}
"#;
    assert_snapshot!(install_and_uninstall("cursor", CURSOR, text), @r#"
    // My servers.
    {
         "z": 1, /* odd */
         "mcpServers": {
              // The first.
              "other": { "command": "x" }, // keep
              "codeinfo": {
                   "command": "~/bin/codeinfo",
                   "args": ["stdio", "--auto-index"]
              },
         },
         "a": [1,2 , 3],
    }
    "#);
}

#[test]
fn tabs_ends_of_lines_and_the_mark_at_the_start_stay_in_json() {
    let text = "\u{feff}{\r\n\t\"mcpServers\": {\r\n\t\t\"other\": {\"url\": \"x\"}\r\n\t}\r\n}";
    let installed = install_and_uninstall("cursor", CURSOR, text);
    let expected = "\u{feff}{\r\n\t\"mcpServers\": {\r\n\t\t\"other\": {\"url\": \"x\"},\r\n\t\t\
                    \"codeinfo\": {\r\n\t\t\t\"command\": \"~/bin/codeinfo\",\r\n\t\t\t\
                    \"args\": [\"stdio\", \"--auto-index\"]\r\n\t\t}\r\n\t}\r\n}";
    assert_eq!(installed, expected);
    for text in
        ["", " \n", "// nothing yet\n", "{}", "{\"a\":1}", "{ // c\n}", "{\"mcpServers\":{}}"]
    {
        let installed = install_and_uninstall("cursor", CURSOR, text);
        let read: Value = parse_json(&installed);
        assert_eq!(
            read["mcpServers"]["codeinfo"]["args"],
            json!(["stdio", "--auto-index"]),
            "{installed}"
        );
    }
}

#[test]
fn comments_order_and_ends_of_lines_of_toml_stay() {
    let text = "# Mine.\r\nmodel   = 'x'  # why\n\n[ mcp_servers . other ]\r\ncommand=\"a\"\n[[z]]\nq = [\n 1, # one\n]";
    assert_eq!(
        install_and_uninstall("codex", CODEX, text),
        format!(
            "{text}\r\n\r\n[mcp_servers.codeinfo]\r\ncommand = \"codeinfo\"\r\nargs = [\"stdio\", \"--auto-index\"]\r\n\
             tool_timeout_sec = 1800\r\n"
        )
    );
    for text in [
        "",
        "\n",
        "\u{feff}a = 1\n",
        "mcp_servers.other.command = 'a'\n",
        "[mcp_servers]\n",
        "mcp_servers = { other = { command = 'a' } } # here\nb = 2\n",
        "mcp_servers = {}",
        "a.b = 1\nc = 2\na.d = 3\n",
    ] {
        let installed = install_and_uninstall("codex", CODEX, text);
        let read: toml::Table = installed.trim_start_matches('\u{feff}').parse().unwrap();
        assert_eq!(read["mcp_servers"]["codeinfo"]["command"].as_str(), Some("codeinfo"));
    }
}

#[test]
fn an_older_entry_is_brought_up_to_date_and_keeps_what_people_added() {
    let home = TestHome::with_program();
    let text = "[mcp_servers.codeinfo]\nurl = \"http://127.0.0.1:5011/mcp\" # old\n\
                enabled_tools = [\"codebase_question\"]\ntool_timeout_sec = 60 # short\r\n\n\
                [mcp_servers.codeinfo.env]\nDATA_DIR = \"/data\"\n# About z.\n[z]\n";
    home.write(CODEX, text);
    home.run_successfully(&["install", "codex", "--yes"]);
    assert_eq!(
        home.read_file(CODEX),
        "[mcp_servers.codeinfo]\r\nenabled_tools = [\"codebase_question\"]\n\
         tool_timeout_sec = 1800 # short\r\ncommand = \"codeinfo\"\r\nargs = [\"stdio\", \"--auto-index\"]\r\n\n\
         [mcp_servers.codeinfo.env]\nDATA_DIR = \"/data\"\n# About z.\n[z]\n"
            .replacen("\r\n", "\n", 1)
    );
    home.run_successfully(&["uninstall", "codex", "--yes"]);
    assert_eq!(home.read_file(CODEX), text);

    let text =
        r#"{"servers": {"codeinfo": {"url": "http://old", "type": "http", "env": {"A": "1"}}}}"#;
    home.write(".config/Code/User/mcp.json", text);
    home.run_successfully(&["install", "vscode", "--yes"]);
    let read: Value = serde_json::from_str(&home.read_file(".config/Code/User/mcp.json")).unwrap();
    let program = home.path("bin/codeinfo");
    let expected = json!({"type": "stdio", "command": program, "args": ["stdio", "--auto-index"], "env": {"A": "1"}});
    assert_eq!(read["servers"]["codeinfo"], expected);
    home.run_successfully(&["uninstall", "vscode", "--yes"]);
    assert_eq!(home.read_file(".config/Code/User/mcp.json"), text);
}

#[test]
fn what_changed_since_stays_and_only_the_entry_goes() {
    let home = TestHome::with_program();
    home.write(CODEX, "a = 1\r\n");
    home.write(CURSOR, "{\n  // c\n  \"mcpServers\": {\n    \"x\": {}\n  }\n}\n");
    home.run_successfully(&["install", "codex", "cursor", "--yes"]);
    let codex = home.read_file(CODEX).replace("\r\n\r\n[mcp", "\r\n# About a.\r\n\r\n[mcp");
    home.write(CODEX, codex + "startup_timeout_sec = 9\n\n# About b.\n[b]\nc = 1\n");
    home.write(CURSOR, home.read_file(CURSOR).replace("\"x\": {}", "\"x\": {\"url\": \"u\"}"));
    home.run_successfully(&["uninstall", "--yes"]);
    assert_eq!(home.read_file(CODEX), "a = 1\r\n# About a.\r\n\r\n\n# About b.\n[b]\nc = 1\n");
    assert_eq!(
        home.read_file(CURSOR),
        "{\n  // c\n  \"mcpServers\": {\n    \"x\": {\"url\": \"u\"}\n  }\n}\n"
    );

    // Another install between two changes: the restored text has no entry.
    home.write(CURSOR, "{}\n");
    home.run_successfully(&["install", "cursor", "--http", "--yes"]);
    home.write(CURSOR, home.read_file(CURSOR) + "// later\n");
    home.run_successfully(&["install", "cursor", "--yes"]);
    home.run_successfully(&["uninstall", "cursor", "--yes"]);
    let left: Value = parse_json(&home.read_file(CURSOR));
    assert_eq!(left, json!({"mcpServers": {}}));
    assert!(home.read_file(CURSOR).ends_with("// later\n"));
}

#[test]
fn uninstalling_restores_the_first_text_after_any_number_of_changes() {
    let home = TestHome::with_program();
    let text = "{ \"mcpServers\": { } }";
    home.write(CURSOR, text);
    home.run_successfully(&["install", "cursor", "--yes"]);
    home.run_successfully(&["install", "cursor", "--http", "--yes"]);
    home.run_successfully(&["install", "cursor", "--yes", "--auto-index"]);
    home.run_successfully(&["uninstall", "--yes"]);
    assert_eq!(home.read_file(CURSOR), text);
    // Without the record of the install, the entry is removed nevertheless.
    home.run_successfully(&["install", "cursor", "--yes"]);
    fs::remove_dir_all(home.path("data")).unwrap();
    home.run_successfully(&["uninstall", "--yes"]);
    assert!(!home.read_file(CURSOR).contains("codeinfo"));
}

#[test]
fn a_path_with_any_character_is_written_whole_into_every_file() {
    let home = TestHome::new();
    let program = home.path("a \"b\" \\c ü $D %E #f/codeinfo");
    fs::create_dir(program.parent().unwrap()).unwrap();
    fs::hard_link(BINARY, &program).unwrap();
    let mut command = home.command(program.to_str().unwrap());
    assert_eq!(
        home.finish_command(command.args(["install", "codex", "cursor", "--yes"])).code,
        Some(0)
    );
    let codex: toml::Table = home.read_file(CODEX).parse().unwrap();
    assert_eq!(codex["mcp_servers"]["codeinfo"]["command"].as_str(), program.to_str());
    let cursor: Value = serde_json::from_str(&home.read_file(CURSOR)).unwrap();
    assert_eq!(cursor["mcpServers"]["codeinfo"]["command"].as_str(), program.to_str());
}

#[test]
fn the_file_that_a_link_leads_to_is_edited_and_keeps_its_mode() {
    let home = TestHome::with_program();
    home.write("dotfiles/codex.toml", "a = 1\n");
    let mode = |path: &str| fs::metadata(home.path(path)).unwrap().permissions().mode() & 0o777;
    let only_owner = fs::Permissions::from_mode(0o640);
    fs::set_permissions(home.path("dotfiles/codex.toml"), only_owner).unwrap();
    fs::create_dir(home.path(".codex")).unwrap();
    symlink("../dotfiles/codex.toml", home.path(CODEX)).unwrap();
    let output_text = home.run_successfully(&["install", "codex", "--yes"]);
    assert!(output_text.contains("~/dotfiles/codex.toml (a link leads there)"), "{output_text}");
    assert!(home.path(CODEX).is_symlink());
    assert!(home.read_file("dotfiles/codex.toml").contains("codeinfo"));
    assert_eq!(mode("dotfiles/codex.toml"), 0o640);
    // A copy that may contain keys is readable for its owner alone.
    for entry in fs::read_dir(home.path("data/clients")).unwrap() {
        assert_eq!(entry.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    home.run_successfully(&["uninstall", "codex", "--yes"]);
    assert_eq!(home.read_file("dotfiles/codex.toml"), "a = 1\n");
    assert!(home.path(CODEX).is_symlink());
    assert_eq!(mode("dotfiles/codex.toml"), 0o640);
}

/// Random documents of one seed.
struct RandomDocuments(fastrand::Rng);

impl RandomDocuments {
    fn pick_one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.0.usize(..of.len())]
    }

    fn random_space(&mut self) -> String {
        let one = [
            "", "", "", " ", "  ", "\n", "\r\n", "\n\t", "\n     ", "/* c */", "// {\n", "// é\r\n",
        ];
        (0..self.0.usize(..3)).map(|_| self.pick_one(&one)).collect()
    }

    fn random_json(&mut self, depth: usize) -> String {
        let words = ["1", "-2.5e3", "true", "null", "\"\"", "\"a\\\"b\\u00e9\"", "\"//\"", "\"{\""];
        match self.0.usize(..if depth == 0 { 1 } else { 3 }) {
            0 => self.pick_one(&words).to_owned(),
            1 => {
                let inner: Vec<_> =
                    (0..self.0.usize(..3)).map(|_| self.random_json(depth - 1)).collect();
                self.join_list('[', inner, ']')
            }
            _ => {
                let inner = self.random_members(depth);
                self.join_list('{', inner, '}')
            }
        }
    }

    fn random_members(&mut self, depth: usize) -> Vec<String> {
        let count = self.0.usize(..3);
        (0..count)
            .map(|at| format!("\"k{at}\"{}:{}", self.random_space(), self.random_json(depth - 1)))
            .collect()
    }

    fn join_list(&mut self, open: char, inner: Vec<String>, close: char) -> String {
        let last = inner.len();
        let mut text = String::from(open);
        for (at, one) in inner.into_iter().enumerate() {
            text += &(self.random_space() + &one + &self.random_space());
            if at + 1 < last || self.0.u8(..4) == 0 {
                text.push(',');
            }
        }
        text + &self.random_space() + &close.to_string()
    }

    fn random_file(&mut self, section: &str) -> String {
        let mut members = self.random_members(3);
        if self.0.bool() {
            let mut servers = self.random_members(3);
            if self.0.u8(..3) == 0 {
                let own =
                    "\"codeinfo\": {\"command\": \"old\", \"url\": \"u\", \"env\": {}}".to_owned();
                servers.insert(self.0.usize(..=servers.len()), own);
            }
            let servers = self.join_list('{', servers, '}');
            let at = self.0.usize(..=members.len());
            members.insert(at, format!("\"{section}\":{}{servers}", self.random_space()));
        }
        self.random_space() + &self.join_list('{', members, '}') + &self.random_space()
    }

    fn random_toml(&mut self) -> String {
        let values = [
            "1", "'a'", "[1, 2]", "\"\"\"\n[x]\r\n\"\"\"", "{ a = 1 }", "1979-05-27", "[\n # c\n]",
        ];
        let ends = ["\n", "\n", "\r\n", " # é\n", "\n\n", "\n# [mcp_servers.codeinfo]\n"];
        let mut text = String::from(self.pick_one(&["", "# top\n", "\u{feff}"]));
        let keys = |random: &mut Self, text: &mut String| {
            for at in 0..random.0.usize(..3) {
                let parts = [
                    random.pick_one(&["=", " = "]),
                    random.pick_one(&values),
                    random.pick_one(&ends),
                ];
                *text += &(format!("k{at}") + &parts.concat());
            }
        };
        keys(self, &mut text);
        let mut tables = vec!["[t]", "[[u]]", "[[u]]", "[ 'w x' . y ]"];
        match self.0.u8(..4) {
            0 => tables.push("[mcp_servers.other]"),
            1 => tables.push("[mcp_servers.codeinfo]"),
            2 => tables.extend([
                "[mcp_servers.a]",
                "[mcp_servers.codeinfo]",
                "[mcp_servers.codeinfo.env]",
            ]),
            _ => {}
        }
        self.0.shuffle(&mut tables);
        for table in tables {
            text += &[table, self.pick_one(&ends)].concat();
            keys(self, &mut text);
        }
        if self.0.bool() { text.trim_end_matches(['\r', '\n']).to_owned() } else { text }
    }
}

/// Returns the content of a file beside our entry.
fn read_other_entries(file: &str, section: &str, text: &str) -> Value {
    let text = text.trim_start_matches('\u{feff}');
    let mut read: Value = if file == CODEX {
        serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap()
    } else {
        parse_json(text)
    };
    if let Some(servers) = read.get_mut(section).and_then(Value::as_object_mut) {
        servers.remove("codeinfo");
        if servers.is_empty() {
            read.as_object_mut().unwrap().remove(section);
        }
    }
    read
}

proptest! {
    // Each case runs the program six times; `PROPTEST_CASES` makes them more.
    #![proptest_config(Config { cases: Config::default().cases / 20, ..Config::default() })]

    #[test]
    fn any_document_keeps_its_content_and_is_restored(seed in any::<u64>()) {
        let mut random = RandomDocuments(fastrand::Rng::with_seed(seed));
        let home = TestHome::with_program();
        let files = [
            ("codex", CODEX, "mcp_servers"),
            ("claude-code", ".claude.json", "mcpServers"),
            ("vscode", ".config/Code/User/mcp.json", "servers"),
            ("opencode", ".config/opencode/opencode.jsonc", "mcp"),
            ("zed", ".config/zed/settings.json", "context_servers"),
        ];
        for (_, file, section) in files {
            let text = if file == CODEX { random.random_toml() } else { random.random_file(section) };
            home.write(file, text);
        }
        let before = home.list_files();
        let clients = files.map(|(client, ..)| client);
        let install = [&["install", "--no-instructions", "--yes"][..], &clients].concat();
        home.run_successfully(&install);
        let installed = home.list_files();
        for (_, file, section) in files {
            let text = |of: &[(String, Vec<u8>)]| {
                let bytes = of.iter().find(|(name, _)| name == file).unwrap().1.clone();
                String::from_utf8(bytes).unwrap()
            };
            let (old, new) = (text(&before), text(&installed));
            assert_eq!(read_other_entries(file, section, &new), read_other_entries(file, section, &old), "{old:?} {new:?}");
            assert!(new.contains("codeinfo"));
            // Only members of an older entry of CodeInfo may be removed.
            let may_go = ["\"old\"", "\"codeinfo\"", "mcp_servers.codeinfo]"];
            if !may_go.iter().any(|own| old.contains(own)) {
                assert!(is_subsequence(&old, &new), "{old:?} is not whole in {new:?}");
            }
        }
        assert_eq!(home.run_successfully(&install).matches("already set up").count(), 6);
        assert_eq!(home.list_files(), installed);
        home.run_successfully(&["uninstall", "--yes"]);
        assert_eq!(home.list_files(), before);

        // With a change in between, all but the entry stays.
        home.run_successfully(&install);
        for (_, file, _) in files {
            let comment = if file == CODEX { "\n# changed\n" } else { "\n// changed\n" };
            home.write(file, home.read_file(file) + comment);
        }
        home.run_successfully(&["uninstall", "--yes"]);
        for ((_, file, section), (_, old)) in
            files.iter().flat_map(|file| before.iter().filter(|(name, _)| name == file.1).map(move |old| (file, old)))
        {
            let (now, old) = (home.read_file(file), String::from_utf8(old.clone()).unwrap());
            assert!(now.contains(" changed"), "{now}");
            assert_eq!(read_other_entries(file, section, &now), read_other_entries(file, section, &old), "{old:?} {now:?}");
        }
    }
}
