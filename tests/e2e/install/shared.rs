//! Files that several clients share through links, and files that were created for them.

use super::*;

const AGENT: &str = "dotfiles/agents/code-investigator.md";

#[test]
fn clients_with_one_folder_of_agents_get_one_file() {
    let home = TestHome::with_program();
    fs::create_dir_all(home.path("dotfiles/agents")).unwrap();
    for folder in [".claude", ".qwen", ".config/opencode"] {
        fs::create_dir_all(home.path(folder)).unwrap();
        symlink(home.path("dotfiles/agents"), home.path(folder).join("agents")).unwrap();
    }
    let both = ["install", "claude-code", "qwen", "--yes"];
    home.run_successfully(&both);
    let agent = home.read_file(AGENT);
    assert!(agent.contains("mcp__codeinfo__codebase_question"), "{agent}");
    assert!(home.run_successfully(&both).contains("already set up in ~/.claude/agents/"));
    // One that wants another file in the same place goes without.
    let all = ["install", "claude-code", "qwen", "opencode", "--yes"];
    for _ in 0..2 {
        let output_text = home.run_successfully(&all);
        assert!(
            output_text.contains("code-investigator.md stays: Claude Code reads it as well"),
            "{output_text}"
        );
        assert_eq!(home.read_file(AGENT), agent);
    }
    home.run_successfully(&["uninstall", "--yes"]);
    assert!(!home.has_file(AGENT) && home.has_file("dotfiles/agents"));
}

#[test]
fn clients_with_one_file_of_servers_get_what_each_needs() {
    let home = TestHome::with_program();
    home.write(".gemini/settings.json", "{\"theme\": \"a\"}\n");
    symlink(".gemini", home.path(".qwen")).unwrap();
    let install = ["install", "gemini", "qwen", "--no-instructions", "--yes"];
    home.run_successfully(&install);
    let installed = home.read_file(".gemini/settings.json");
    assert!(installed.contains("\"trust\"") && installed.contains("\"alwaysLoadTools\""));
    assert_eq!(home.run_successfully(&install).matches("already set up").count(), 2);
    home.run_successfully(&["uninstall", "--yes"]);
    assert_eq!(home.read_file(".gemini/settings.json"), "{\"theme\": \"a\"}\n");
}

#[test]
fn lines_stay_while_another_client_reads_them() {
    let home = TestHome::with_program();
    home.write("dotfiles/agents.md", "mine\n");
    for (folder, name) in [(".codex", "AGENTS.md"), (".claude", "CLAUDE.md")] {
        fs::create_dir(home.path(folder)).unwrap();
        symlink("../dotfiles/agents.md", home.path(folder).join(name)).unwrap();
    }
    let has_lines = || home.read_file("dotfiles/agents.md").contains("codeinfo begin");
    home.run_successfully(&["install", "codex", "claude-code", "--yes"]);
    let output_text =
        home.run_successfully(&["install", "claude-code", "--no-instructions", "--yes"]);
    assert!(
        has_lines() && output_text.contains("CLAUDE.md stays: Codex reads it as well"),
        "{output_text}"
    );
    home.run_successfully(&["install", "claude-code", "--instructions", "--yes"]);
    let output_text = home.run_successfully(&["uninstall", "claude-code", "--yes"]);
    assert!(
        has_lines() && output_text.contains("CLAUDE.md stays: Codex reads it as well"),
        "{output_text}"
    );
    assert!(!home.read_file(".codex/config.toml").is_empty() && !home.has_file(".claude.json"));
    home.run_successfully(&["uninstall", "codex", "--yes"]);
    assert_eq!(home.read_file("dotfiles/agents.md"), "mine\n");
    // The same without a link: two clients with one folder.
    let run = |arguments: &[&str]| {
        let mut command = home.command(BINARY);
        let ended = home.finish_command(
            command.env("CODEX_HOME", home.path(".config/opencode")).args(arguments),
        );
        assert_eq!(ended.code, Some(0), "{ended:?}");
    };
    run(&["install", "codex", "opencode", "--yes"]);
    run(&["uninstall", "opencode", "--yes"]);
    assert!(home.read_file(".config/opencode/AGENTS.md").contains("codeinfo begin"));
    run(&["uninstall", "codex", "--yes"]);
    assert!(!home.has_file(".config/opencode"));
}

#[test]
fn folders_that_were_made_go_when_their_last_file_goes() {
    let home = TestHome::with_program();
    home.run_successfully(&["install", "claude-code", "--no-permissions", "--yes"]);
    home.run_successfully(&["install", "claude-code", "--permissions", "--yes"]);
    home.run_successfully(&["install", "claude-code", "--no-instructions", "--yes"]);
    assert!(home.has_file(".claude/settings.json"));
    home.run_successfully(&["uninstall", "--yes"]);
    assert!(!home.has_file(".claude"));
    assert_eq!(fs::read_dir(home.path("data/clients")).unwrap().count(), 0);
}

#[test]
fn files_that_were_made_go_when_nothing_is_left_in_them() {
    let home = TestHome::with_program();
    let clients = ["codex", "cursor", "claude-code"];
    let install = [&["install", "--yes"][..], &clients].concat();
    let files = [".codex/config.toml", ".cursor/mcp.json", ".claude/settings.json"];
    home.run_successfully(&install);
    // Changed since, and with an update in between.
    for file in files {
        home.write(file, home.read_file(file) + "\n");
    }
    home.run_successfully(&[&install[..], &["--http"]].concat());
    for file in files {
        home.write(file, home.read_file(file) + "\n");
    }
    home.write(".codex/AGENTS.md", "");
    home.run_successfully(&["uninstall", "--yes"]);
    assert_eq!(home.render_output(), "");
    // Content that the user had, or added, stays.
    home.write(".codex/AGENTS.md", "");
    home.run_successfully(&install);
    home.write(".codex/AGENTS.md", "");
    home.write(".cursor/mcp.json", home.read_file(".cursor/mcp.json") + "// mine\n");
    home.run_successfully(&["uninstall", "--yes"]);
    assert_eq!(home.read_file(".codex/AGENTS.md"), "");
    assert!(home.read_file(".cursor/mcp.json").contains("// mine"));
}

#[test]
fn a_file_behind_a_link_that_was_changed_and_broke_is_named() {
    let home = TestHome::with_program();
    home.write("dotfiles/mcp.json", "{}");
    fs::create_dir(home.path(".cursor")).unwrap();
    symlink("../dotfiles/mcp.json", home.path(".cursor/mcp.json")).unwrap();
    home.run_successfully(&["install", "cursor", "--yes"]);
    home.write("dotfiles/mcp.json", "{");
    let ended = home.run(&["uninstall", "--yes"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.output_text.contains("is not JSON"), "{ended:?}");
}
