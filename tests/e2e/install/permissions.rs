//! Clients call the tool without a prompt where a person agreed, and lose that again.

use serde_json::{Value, json};

use super::*;

const CLAUDE: &str = ".claude/settings.json";
const GEMINI: &str = ".gemini/settings.json";
const QWEN: &str = ".qwen/settings.json";
const RULE: &str = "mcp__codeinfo__codebase_question";

fn read_json(home: &TestHome, path: &str) -> Value {
    serde_json::from_str(&home.read_file(path)).unwrap()
}

fn run_install(home: &TestHome, switches: &[&str]) -> String {
    let clients = ["install", "claude-code", "gemini", "qwen", "--no-instructions"];
    home.run_successfully(&[&clients[..], switches].concat())
}

#[test]
fn one_question_permits_all_clients_and_a_no_permits_none() {
    for (answer, is_permitted) in [("", true), ("y", true), ("n", false), ("later", false)] {
        let home = TestHome::with_program();
        let mut terminal = TerminalSession::start(
            &home,
            "install claude-code gemini qwen cursor --no-instructions",
        );
        terminal.answer_question("index it in the background", "n");
        terminal.answer_question("without asking you each time?", answer);
        terminal.answer_question("with each prompt", "");
        terminal.answer_question("Write this?", "y");
        let (code, output_text) = terminal.wait_for_end();
        assert_eq!(code, Some(0), "{output_text}");
        assert_eq!(home.has_file(CLAUDE), is_permitted, "{output_text}");
        for path in [GEMINI, QWEN] {
            let server = &read_json(&home, path)["mcpServers"]["codeinfo"];
            assert_eq!(server["trust"] == json!(true), is_permitted, "{answer}: {server}");
            assert_eq!(server["command"], "codeinfo");
        }
        assert!(home.read_file(".claude.json").contains("codeinfo"));
    }
    // A user without such a client gets no question about it.
    let home = TestHome::with_program();
    let mut terminal = TerminalSession::start(&home, "install cursor");
    terminal.answer_question("index it in the background", "n");
    terminal.answer_question("Write this?", "y");
    let (code, output_text) = terminal.wait_for_end();
    assert!(code == Some(0) && !output_text.contains("each time"), "{output_text}");
}

#[test]
fn a_permission_is_shown_and_comes_beside_those_of_the_user() {
    let home = TestHome::with_program();
    let text = "// Mine.\n{\n\t\"permissions\": {\n\t\t\"allow\": [\n\t\t\t\"Bash(ls:*)\", // keep\n\t\t],\n\t\t\
                \"deny\": []\n\t},\n\t\"model\": \"a\"\n}\n";
    home.write(CLAUDE, text);
    let shown = run_install(&home, &["--yes"]);
    assert!(shown.contains(&format!("+ \t\t\t\"{RULE}\"")), "{shown}");
    assert_eq!(
        home.read_file(CLAUDE),
        text.replace("// keep\n", &format!("// keep\n\t\t\t\"{RULE}\",\n"))
    );
    assert_eq!(run_install(&home, &["--yes"]).matches("already set up").count(), 4);
    home.run_successfully(&["uninstall", "--yes"]);
    assert_eq!(home.read_file(CLAUDE), text);
    // Lists of every form take it.
    for text in [
        "",
        "{}",
        "{ \"permissions\": { } }",
        "{\"permissions\": {\"allow\": []}}\r\n",
        "{\"permissions\": {\"allow\": [\"a\"]}, \"z\": 1}",
        "{\n  \"permissions\": {\n    \"allow\": []\n  }\n}",
        "{\n  \"permissions\": {\n    \"allow\": [\"a\", \"b\"]\n  }\n}",
    ] {
        home.write(CLAUDE, text);
        run_install(&home, &["--yes"]);
        let allowed = read_json(&home, CLAUDE)["permissions"]["allow"].as_array().unwrap().clone();
        assert_eq!(allowed.last().unwrap(), RULE, "{text}");
        home.run_successfully(&["uninstall", "--yes"]);
        assert_eq!(home.read_file(CLAUDE), text);
    }
}

#[test]
fn a_permission_that_the_user_gave_stays() {
    let home = TestHome::with_program();
    let own = format!("{{\"permissions\": {{\"allow\": [\"{RULE}\"]}}}}");
    let trusted = r#"{"mcpServers": {"codeinfo": {"command": "old", "trust": true}}}"#;
    home.write(CLAUDE, &own);
    home.write(GEMINI, trusted);
    run_install(&home, &["--yes"]);
    assert_eq!(home.read_file(CLAUDE), own);
    run_install(&home, &["--yes", "--no-permissions"]);
    assert_eq!(home.read_file(CLAUDE), own);
    assert_eq!(read_json(&home, GEMINI)["mcpServers"]["codeinfo"]["trust"], true);
    home.run_successfully(&["uninstall", "--yes"]);
    assert_eq!(home.read_file(CLAUDE), own);
    assert_eq!(home.read_file(GEMINI), trusted);
    // Without the record of the install, its origin is unknown.
    fs::remove_dir_all(home.path("data")).unwrap();
    home.run_successfully(&["uninstall", "--yes"]);
    assert_eq!(home.read_file(CLAUDE), own);
}

#[test]
fn permissions_are_removed_from_files_that_changed_since() {
    let home = TestHome::with_program();
    home.write(CLAUDE, "{\"permissions\": {\"allow\": [\"a\"]}}");
    run_install(&home, &["--yes"]);
    home.write(CLAUDE, home.read_file(CLAUDE).replace("\"a\", ", "\"a\", \"b\", "));
    let qwen = home.read_file(QWEN);
    run_install(&home, &["--yes", "--no-permissions"]);
    assert_eq!(read_json(&home, CLAUDE), json!({"permissions": {"allow": ["a", "b"]}}));
    for path in [GEMINI, QWEN] {
        assert!(!home.read_file(path).contains("trust"), "{}", home.read_file(path));
    }
    assert!(home.read_file(QWEN).contains("alwaysLoadTools"), "to be shown is no permission");
    run_install(&home, &["--yes", "--permissions"]);
    assert!(home.read_file(CLAUDE).contains(RULE));
    let sorted = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(sorted(&home.read_file(QWEN)), sorted(&qwen));
    home.run_successfully(&["uninstall", "--yes"]);
    assert_eq!(read_json(&home, CLAUDE), json!({"permissions": {"allow": ["a", "b"]}}));
    assert!(!home.has_file(GEMINI) && !home.has_file(QWEN));
}

#[test]
fn settings_that_cannot_be_edited_stay_and_the_servers_are_set_up() {
    for (text, reason) in [
        ("{\"a\": }", "is not JSON"),
        ("[]", "no object"),
        ("{\"permissions\": []}", "permissions is no object"),
        ("{\"permissions\": {\"allow\": {}}}", "allow is no list"),
        ("{\"permissions\": {\"allow\": [], \"allow\": []}}", "twice"),
        ("{\"permissions\": {}, \"permissions\": {}}", "twice"),
    ] {
        let home = TestHome::with_program();
        home.write(CLAUDE, text);
        let ended = home.run(&["install", "claude-code", "--yes"]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.output_text.contains(reason), "{reason}: {}", ended.output_text);
        assert!(
            ended.output_text.contains("paste into ~/.claude/settings.json"),
            "{}",
            ended.output_text
        );
        assert_eq!(home.read_file(CLAUDE), text);
        assert!(home.read_file(".claude.json").contains("codeinfo"));
        home.run_successfully(&["uninstall", "--yes"]);
        assert_eq!(home.read_file(CLAUDE), text);
    }
    let home = TestHome::with_program();
    fs::create_dir(home.path(".claude")).unwrap();
    symlink("nowhere", home.path(CLAUDE)).unwrap();
    assert_eq!(home.run(&["install", "claude-code", "--yes"]).code, Some(1));
    assert!(home.path(CLAUDE).is_symlink() && !home.has_file(".claude/nowhere"));
}

#[test]
fn a_permission_that_cannot_be_removed_is_named() {
    let home = TestHome::with_program();
    run_install(&home, &["--yes"]);
    // Nothing shows any more who gave it.
    fs::remove_dir_all(home.path("data")).unwrap();
    let output_text = run_install(&home, &["--no-permissions", "--yes"]);
    for line in [
        "`mcp__codeinfo__codebase_question` stays in ~/.claude/settings.json; remove it there",
        "`trust` stays in ~/.gemini/settings.json; remove it there",
    ] {
        assert!(output_text.contains(line), "{output_text}");
    }
}

#[test]
fn a_refusal_stays_until_the_permission_is_requested() {
    let home = TestHome::with_program();
    let install = |switches: &[&str]| {
        home.run_successfully(&[&["install", "claude-code", "gemini", "--yes"], switches].concat())
    };
    let has_trust = || read_json(&home, GEMINI)["mcpServers"]["codeinfo"]["trust"] == true;
    install(&["--no-permissions", "--no-instructions"]);
    let output_text = install(&[]);
    assert!(
        !has_trust() && !home.has_file(".gemini/GEMINI.md") && !home.has_file(CLAUDE),
        "{output_text}"
    );
    for client in ["Claude Code", "Gemini CLI"] {
        let permissions = format!("{client}: asks before calls, as you chose; `--permissions`");
        let lines = format!("{client}: has no lines, as you chose; `--instructions`");
        assert!(
            output_text.contains(&permissions) && output_text.contains(&lines),
            "{output_text}"
        );
    }
    let output_text = install(&["--permissions"]);
    assert!(
        has_trust() && home.has_file(CLAUDE) && !home.has_file(".gemini/GEMINI.md"),
        "{output_text}"
    );
    install(&["--instructions"]);
    assert!(
        has_trust() && home.has_file(".gemini/GEMINI.md") && home.has_file(".claude/CLAUDE.md")
    );
    // A client that was removed starts again.
    install(&["--no-permissions"]);
    home.run_successfully(&["uninstall", "gemini", "--yes"]);
    let output_text = install(&[]);
    assert!(has_trust() && !home.has_file(CLAUDE), "{output_text}");
}

#[test]
fn a_permission_that_the_user_adds_later_stays_after_an_update() {
    let home = TestHome::with_program();
    home.run_successfully(&[
        "install", "claude-code", "gemini", "--hook", "--no-permissions", "--yes",
    ]);
    let older = home.read_file(CLAUDE).replace("codeinfo hook", "/old/codeinfo hook");
    let own = format!("{{\n  \"permissions\": {{\"allow\": [\"{RULE}\"]}},");
    home.write(CLAUDE, older.replacen('{', &own, 1));
    let trusted = home.read_file(GEMINI).replace("\"timeout\"", "\"trust\": true, \"timeout\"");
    home.write(GEMINI, trusted);
    let output_text = run_install(&home, &["--http", "--no-permissions", "--yes"]);
    assert!(
        output_text.contains(&format!("`{RULE}` stays")) && output_text.contains("`trust` stays"),
        "{output_text}"
    );
    assert!(!home.read_file(CLAUDE).contains("/old/"), "{output_text}");
    run_install(&home, &["--permissions", "--yes"]);
    run_install(&home, &["--no-permissions", "--yes"]);
    assert_eq!(read_json(&home, GEMINI)["mcpServers"]["codeinfo"]["trust"], true);
    home.run_successfully(&["uninstall", "--yes"]);
    assert_eq!(read_json(&home, CLAUDE)["permissions"]["allow"], json!([RULE]));
    assert!(!home.read_file(CLAUDE).contains("codeinfo hook"));
}

#[test]
fn a_run_that_only_removes_permissions_says_so() {
    let home = TestHome::with_program();
    run_install(&home, &["--hook", "--yes"]);
    let output_text = run_install(&home, &["--no-permissions", "--yes"]);
    for (client, path) in [("Claude Code", CLAUDE), ("Gemini CLI", GEMINI), ("Qwen Code", QWEN)] {
        assert!(
            output_text.contains(&format!("{client}: removed from ~/{path} what you do not want"))
        );
        assert!(!output_text.contains(&format!("{client}: set up in")), "{output_text}");
    }
    let output_text = run_install(&home, &["--permissions", "--yes"]);
    assert!(output_text.contains("Gemini CLI: set up in"), "{output_text}");
}

#[test]
fn a_rule_that_wins_over_the_permission_is_named() {
    let home = TestHome::with_program();
    for (list, rule) in [("deny", RULE), ("deny", "mcp__codeinfo"), ("ask", "mcp__codeinfo__*")] {
        home.write(CLAUDE, json!({"permissions": {list: [rule]}}).to_string());
        let named = format!("`permissions.{list}` names the tool in ~/{CLAUDE}; remove it there");
        for _ in 0..2 {
            let output_text = run_install(&home, &["--permissions", "--yes"]);
            assert!(output_text.contains(&named), "{output_text}");
        }
        assert!(!run_install(&home, &["--no-permissions", "--yes"]).contains("names the tool"));
    }
    home.write(CLAUDE, json!({"permissions": {"deny": ["mcp__other"]}}).to_string());
    assert!(!run_install(&home, &["--permissions", "--yes"]).contains("names the tool"));
}
