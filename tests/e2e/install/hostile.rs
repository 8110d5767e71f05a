//! Files that cannot be edited stay as they are, and the text to paste is printed.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::*;

const CODEX: &str = ".codex/config.toml";
const GEMINI: &str = ".gemini/settings.json";

/// Installs, which must fail for `client` alone and soon, and returns the output.
fn install_refused(home: &TestHome, client: &str) -> String {
    let ended = home.run(&["install", client, "windsurf", "--yes"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.output_text.contains("nothing of it was changed"), "{}", ended.output_text);
    assert!(ended.output_text.contains("paste into"), "{}", ended.output_text);
    // The other clients are set up nevertheless.
    assert!(home.read_file(".codeium/windsurf/mcp_config.json").contains("codeinfo"));
    home.run_successfully(&["uninstall", "--yes"]);
    ended.output_text
}

#[test]
fn texts_that_are_not_what_clients_read_stay_as_they_are() {
    let deep =
        |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    let json = [
        ("{\"a\": }", "is not JSON"),
        ("{} {}", "is not JSON"),
        ("{'a': 1}", "is not JSON"),
        ("[]", "no object"),
        ("{\"mcpServers\": []}", "mcpServers is no object"),
        ("{\"mcpServers\": {}, \"mcpServers\": {}}", "twice"),
        ("{\"mcpServers\": {\"codeinfo\": {}, \"code\\u0069nfo\": {}}}", "twice"),
        (&deep("[", "]"), "depth"),
        (&deep("{\"a\":", "1}"), "is not JSON"),
    ];
    for (text, reason) in json {
        let home = TestHome::with_program();
        home.write(GEMINI, text);
        let output_text = install_refused(&home, "gemini");
        assert!(
            output_text.contains(reason),
            "{reason}: {}",
            output_text.get(..300).unwrap_or(&output_text)
        );
        assert_eq!(home.read_file(GEMINI), text);
    }
    let toml = [
        ("a = ", "is not TOML"),
        ("a = 1\na = 2\n", "is not TOML"),
        ("mcp_servers = 1\n", "no table"),
        ("[[mcp_servers]]\n", "no table"),
        ("[mcp_servers]\ncodeinfo = 1\n", "no table"),
        ("a.b = 1\nc = 2\na.d = 3\n[mcp_servers.codeinfo]\n", "edited safely"),
        (&format!("a = {}", deep("[", "]")), "is not TOML"),
    ];
    for (text, reason) in toml {
        let home = TestHome::with_program();
        home.write(CODEX, text);
        let output_text = install_refused(&home, "codex");
        assert!(
            output_text.contains(reason),
            "{reason}: {}",
            output_text.get(..300).unwrap_or(&output_text)
        );
        assert_eq!(home.read_file(CODEX), text);
    }
}

#[test]
fn bytes_that_are_no_text_stay_as_they_are() {
    let home = TestHome::with_program();
    home.write(GEMINI, b"{\"a\": \"\xff\"}");
    assert!(install_refused(&home, "gemini").contains("not UTF-8"));
    assert_eq!(fs::read(home.path(GEMINI)).unwrap(), b"{\"a\": \"\xff\"}");
}

#[test]
fn special_files_are_neither_waited_for_nor_replaced() {
    let home = TestHome::with_program();
    fs::create_dir_all(home.path(CODEX)).unwrap();
    install_refused(&home, "codex");
    assert!(home.path(CODEX).is_dir());

    fs::create_dir_all(home.path(".gemini")).unwrap();
    let made = Command::new("mkfifo").arg(home.path(GEMINI)).status().unwrap();
    assert!(made.success());
    assert!(install_refused(&home, "gemini").contains("not a regular file"));

    fs::create_dir_all(home.path(".qwen")).unwrap();
    symlink("nowhere", home.path(".qwen/settings.json")).unwrap();
    assert!(install_refused(&home, "qwen").contains("is a link to what cannot be opened"));
    symlink("settings.json", home.path(".cursor")).unwrap();
    let ended = home.run(&["install", "cursor", "--yes"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
}

#[test]
fn read_only_and_huge_files_stay() {
    let home = TestHome::with_program();
    home.write(CODEX, "a = 1\n");
    fs::set_permissions(home.path(CODEX), fs::Permissions::from_mode(0o444)).unwrap();
    assert!(install_refused(&home, "codex").contains("is read-only"));
    assert_eq!(home.read_file(CODEX), "a = 1\n");

    home.write(GEMINI, "{}");
    fs::File::options().write(true).open(home.path(GEMINI)).unwrap().set_len(100 << 20).unwrap();
    assert!(install_refused(&home, "gemini").contains("larger than 8 MiB"));
    // A file that would become too deep by the addition is not changed either, because nothing could undo it.
    let comment = format!("# {}\n", "x".repeat((8 << 20) - 8));
    fs::set_permissions(home.path(CODEX), fs::Permissions::from_mode(0o644)).unwrap();
    home.write(CODEX, &comment);
    assert!(install_refused(&home, "codex").contains("larger than 8 MiB"));
    assert!(home.read_file(CODEX) == comment);
}

#[tokio::test]
async fn many_elements_of_ours_are_taken_out_in_one_pass() {
    let home = TestHome::with_program();
    let hook = json!({"hooks": [{"type": "command", "command": "x # codeinfo"}]});
    let mut hooks = vec![hook; 20_000];
    hooks.insert(7, json!("mine"));
    let settings = json!({"hooks": {"UserPromptSubmit": hooks}});
    home.write(".claude/settings.json", serde_json::to_string_pretty(&settings).unwrap());
    let mut command = tokio::process::Command::from(home.command(BINARY));
    command.args(["uninstall", "claude-code", "--yes"]).kill_on_drop(true);
    let ended = timeout(Duration::from_mins(1), command.output()).await.expect("it ends").unwrap();
    assert!(ended.status.success(), "{:?}", ended.status);
    let left: Value = serde_json::from_str(&home.read_file(".claude/settings.json")).unwrap();
    assert_eq!(left, json!({"hooks": {"UserPromptSubmit": ["mine"]}}));
}

#[test]
fn a_record_that_was_tampered_with_puts_nothing_back() {
    let home = TestHome::with_program();
    home.write(CODEX, "a = 1\n");
    home.run_successfully(&["install", "codex", "--yes"]);
    let backup = fs::read_dir(home.path("data/clients")).unwrap().map(|one| one.unwrap().path());
    let backup = backup.into_iter().find(|path| path.extension().unwrap() == "before").unwrap();
    assert_eq!(fs::read(&backup).unwrap(), b"a = 1\n");
    fs::write(&backup, "b = 2\n").unwrap();
    home.run_successfully(&["uninstall", "codex", "--yes"]);
    assert_eq!(home.read_file(CODEX), "a = 1\n");
}

#[test]
fn a_home_that_is_unknown_is_an_error() {
    let home = TestHome::new();
    let mut command = home.command(BINARY);
    let ended = home.finish_command(command.env_remove("HOME").args(["install", "--all", "--yes"]));
    assert_eq!(ended.code, Some(1));
    assert!(ended.failed.contains("`HOME`"), "{ended:?}");
}
