//! Lines for agents: in what they read in every folder, and in the documents of a repository.

use super::*;

/// Instructions of each client for its model in every folder.
const OWN_LINES: [(&str, &str); 7] = [
    ("claude-code", ".claude/CLAUDE.md"),
    ("codex", ".codex/AGENTS.md"),
    ("gemini", ".gemini/GEMINI.md"),
    ("opencode", ".config/opencode/AGENTS.md"),
    ("qwen", ".qwen/QWEN.md"),
    ("copilot", ".copilot/copilot-instructions.md"),
    ("cline", ".cline/rules/codeinfo.md"),
];
const MAX_BYTES: usize = 600;

#[test]
fn global_instructions_say_when_to_ask_until_they_are_removed() {
    let home = TestHome::with_program();
    for (at, (_, path)) in OWN_LINES.into_iter().enumerate() {
        // The last one is created.
        if at + 1 < OWN_LINES.len() {
            home.write(path, format!("# Mine {at}\r\n\r\n- be kind\r\n"));
        }
    }
    let before = home.list_files();
    home.run_successfully(&["install", "--all", "--yes"]);
    for (at, (client, path)) in OWN_LINES.into_iter().enumerate() {
        let text = home.read_file(path);
        let block = text.get(text.find("<!-- codeinfo begin -->").unwrap()..).unwrap();
        assert!(text.starts_with(&format!("# Mine {at}\r\n")) || at == 6, "{client}: {text}");
        assert!(block.replace("\r\n", "\n").len() <= MAX_BYTES, "{} bytes", block.len());
        for needed in [
            "Before grep or reading files",
            "`codebase_question` (server `codeinfo`)",
            "If it is listed but deferred, load it by name.",
            "Sub-agents do the same",
            "and if you have no such tool.",
        ] {
            assert!(block.contains(needed), "{client}: {needed}: {block}");
        }
    }
    let installed = home.list_files();
    home.run_successfully(&["install", "--all", "--yes"]);
    assert_eq!(home.list_files(), installed);
    // One that changed since keeps its change, and older lines are replaced in their place.
    let (_, codex) = OWN_LINES[1];
    let older = home.read_file(codex).replace("Before grep", "Instead of grep") + "# More\r\n";
    home.write(codex, &older);
    home.run_successfully(&["install", "codex", "--yes"]);
    assert_eq!(home.read_file(codex), older.replace("Instead of grep", "Before grep"));
    home.run_successfully(&["uninstall", "--yes"]);
    assert_eq!(home.read_file(codex), "# Mine 1\r\n\r\n- be kind\r\n# More\r\n");
    home.write(codex, "# Mine 1\r\n\r\n- be kind\r\n");
    assert_eq!(home.list_files(), before);
}

#[test]
fn lines_are_offered_once_and_a_no_adds_none() {
    for (answer, is_added) in [("", true), ("n", false)] {
        let home = TestHome::with_program();
        let mut terminal = TerminalSession::start(&home, "install codex opencode cursor");
        terminal.answer_question("index it in the background", "n");
        terminal.answer_question("what agents read in every folder", answer);
        terminal.answer_question("Write this?", "y");
        let (code, output_text) = terminal.wait_for_end();
        assert_eq!(code, Some(0), "{output_text}");
        for (_, path) in [OWN_LINES[1], OWN_LINES[3]] {
            assert_eq!(home.has_file(path), is_added, "{path}: {output_text}");
        }
        // A further run does not ask.
        home.run_successfully(&["install", "codex", "opencode", "--yes"]);
        assert_eq!(home.has_file(OWN_LINES[1].1), is_added);
        assert!(home.read_file(".codex/config.toml").contains("codeinfo"));
    }
    // Those that were added go again.
    let home = TestHome::with_program();
    home.run_successfully(&["install", "codex", "--instructions", "--yes"]);
    home.write(".codex/AGENTS.md", home.read_file(".codex/AGENTS.md") + "mine\n");
    home.run_successfully(&["install", "codex", "--no-instructions", "--yes"]);
    assert_eq!(home.read_file(".codex/AGENTS.md"), "mine\n");
    assert_eq!(home.run(&["install", "--instructions", "--no-instructions"]).code, Some(2));
}

#[test]
fn one_file_that_links_lead_two_clients_to_gets_the_lines_once() {
    let home = TestHome::with_program();
    home.write("dotfiles/agents.md", "mine\n");
    for folder in [".codex", ".claude"] {
        fs::create_dir(home.path(folder)).unwrap();
    }
    symlink("../dotfiles/agents.md", home.path(".codex/AGENTS.md")).unwrap();
    symlink("../dotfiles/agents.md", home.path(".claude/CLAUDE.md")).unwrap();
    let output_text = home.run_successfully(&["install", "codex", "claude-code", "--yes"]);
    assert!(output_text.contains("~/dotfiles/agents.md (a link leads there)"), "{output_text}");
    assert_eq!(home.read_file("dotfiles/agents.md").matches("codeinfo begin").count(), 1);
    home.run_successfully(&["uninstall", "--yes"]);
    assert_eq!(home.read_file("dotfiles/agents.md"), "mine\n");
    assert!(home.path(".codex/AGENTS.md").is_symlink());
}

/// The files of the sub-agent, with what makes the tool its only one.
const SUB_AGENTS: [(&str, &str); 4] = [
    (".claude/agents/code-investigator.md", "tools:\n  - mcp__codeinfo__codebase_question\n---\n"),
    (".gemini/agents/code-investigator.md", "tools:\n  - mcp_codeinfo_codebase_question\n---\n"),
    (
        ".config/opencode/agents/code-investigator.md",
        "permission:\n  \"*\": deny\n  codeinfo_codebase_question: allow\n---\n",
    ),
    (".qwen/agents/code-investigator.md", "tools:\n  - mcp__codeinfo__codebase_question\n---\n"),
];

#[test]
fn a_sub_agent_that_has_the_tool_alone_comes_and_goes() {
    let home = TestHome::with_program();
    home.run_successfully(&["install", "--all", "--yes"]);
    for (path, tools) in SUB_AGENTS {
        let text = home.read_file(path);
        assert!(text.starts_with("---\n") && text.contains(tools), "{path}: {text}");
        assert!(text.len() <= 800, "{path}: {} bytes", text.len());
    }
    home.run_successfully(&["install", "--all", "--no-instructions", "--yes"]);
    assert!(SUB_AGENTS.iter().all(|(path, _)| !home.has_file(path)), "{}", home.render_files());
    home.run_successfully(&["install", "--all", "--instructions", "--yes"]);
    assert!(SUB_AGENTS.iter().all(|(path, _)| home.has_file(path)), "{}", home.render_files());
    // Without what was remembered it goes as well.
    fs::remove_dir_all(home.path("data")).unwrap();
    home.run_successfully(&["uninstall", "--yes"]);
    assert!(SUB_AGENTS.iter().all(|(path, _)| !home.has_file(path)), "{}", home.render_files());

    // One that the user changed, or wrote, stays, and all else is set up.
    home.run_successfully(&["install", "claude-code", "--yes"]);
    let (path, _) = SUB_AGENTS[0];
    for own in [&*(home.read_file(path) + "more\n"), "---\nname: code-investigator\n---\nmine\n"] {
        home.write(path, own);
        let output_text = home.run_successfully(&["install", "claude-code", "--yes"]);
        assert!(
            output_text.contains("code-investigator.md stays: it was written or changed by hand"),
            "{output_text}"
        );
        assert!(home.read_file(".claude.json").contains("codeinfo"));
        home.run_successfully(&["uninstall", "--yes"]);
        assert_eq!(home.read_file(path), own);
    }
}

#[test]
fn a_link_of_a_repository_that_leads_out_of_it_is_not_followed() {
    let home = TestHome::with_program();
    home.write(".profile", "mine\n");
    fs::create_dir_all(home.path("repo/.git")).unwrap();
    symlink("../.profile", home.path("repo/AGENTS.md")).unwrap();
    for command in ["install", "uninstall"] {
        let mut program = home.command(BINARY);
        program.current_dir(home.path("repo")).args([command, "--instructions", "--yes"]);
        let ended = home.finish_command(&mut program);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.output_text.contains("leads out of the repository"), "{ended:?}");
    }
    assert_eq!(home.read_file(".profile"), "mine\n");
    // Git's own files are no files of the repository.
    home.write("repo/.git/config", "[core]\n");
    fs::remove_file(home.path("repo/AGENTS.md")).unwrap();
    symlink(".git/config", home.path("repo/AGENTS.md")).unwrap();
    let mut program = home.command(BINARY);
    program.current_dir(home.path("repo")).args(["install", "--instructions", "--yes"]);
    let ended = home.finish_command(&mut program);
    assert!(ended.output_text.contains("leads out of the repository"), "{ended:?}");
    assert_eq!(home.read_file("repo/.git/config"), "[core]\n");
}

#[test]
fn lines_for_agents_come_into_the_documents_of_a_repository_and_out_again() {
    let home = TestHome::new();
    let documents = [
        ("repo/AGENTS.md", "# Rules\r\n\r\n- be kind\r\n"),
        ("repo/CLAUDE.md", "no end"),
        ("repo/sub/keep.md", "x\n"),
    ];
    for (name, text) in documents {
        home.write(name, text);
    }
    fs::create_dir(home.path("repo/.git")).unwrap();
    symlink("AGENTS.md", home.path("repo/GEMINI.md")).unwrap();
    let run = |folder: &str, arguments: &[&str]| {
        home.finish_command(home.command(BINARY).current_dir(home.path(folder)).args(arguments))
    };
    let ended = run("repo/sub", &["install", "--instructions", "--yes"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let agents = home.read_file("repo/AGENTS.md");
    assert!(
        agents.starts_with("# Rules\r\n\r\n- be kind\r\n\r\n<!-- codeinfo begin -->\r\n- Before")
    );
    assert_eq!(agents.matches("codeinfo begin").count(), 1, "{agents}");
    assert!(!agents.replace("\r\n", "").contains('\n'), "{agents:?}");
    assert!(agents.contains("Sub-agents") && agents.contains("`codebase_question`"), "{agents}");
    assert!(home.read_file("repo/CLAUDE.md").starts_with("no end\n\n<!-- codeinfo begin -->\n"));
    let ended = run("repo", &["install", "--instructions", "--yes"]);
    assert_eq!(ended.output_text.matches("already set up").count(), 2, "{ended:?}");

    // One that changed since keeps its change.
    home.write("repo/CLAUDE.md", home.read_file("repo/CLAUDE.md") + "more\n");
    let ended = run("repo/sub", &["uninstall", "--instructions", "--yes"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(home.read_file("repo/AGENTS.md"), documents[0].1);
    assert_eq!(home.read_file("repo/CLAUDE.md"), "no end\nmore\n");
    let ended = run("repo", &["uninstall", "--instructions", "--yes"]);
    assert!(ended.output_text.contains("AGENTS.md: not set up"), "{ended:?}");

    for name in ["AGENTS.md", "CLAUDE.md", "GEMINI.md"] {
        fs::remove_file(home.path("repo").join(name)).unwrap();
    }
    assert_eq!(run("repo", &["install", "--instructions", "--yes"]).code, Some(0));
    assert!(home.has_file("repo/AGENTS.md") && !home.has_file("repo/CLAUDE.md"));
    assert_eq!(run("repo", &["uninstall", "--instructions", "--yes"]).code, Some(0));
    assert!(!home.has_file("repo/AGENTS.md"));

    // In the folder of temporary files: this checkout is a repository.
    let outside = tempfile::TempDir::new().unwrap();
    let mut command = home.command(BINARY);
    command.current_dir(outside.path()).args(["install", "--instructions", "--yes"]);
    let ended = home.finish_command(&mut command);
    assert!(ended.failed.contains("no `.git`"), "{ended:?}");
}

#[test]
fn older_lines_for_agents_are_replaced_and_broken_marks_are_refused() {
    let home = TestHome::new();
    fs::create_dir(home.path(".git")).unwrap();
    let run = |arguments: &[&str]| {
        home.finish_command(home.command(BINARY).current_dir(home.0.path()).args(arguments))
    };
    home.write("AGENTS.md", "a\n\n<!-- codeinfo begin -->\nold\n<!-- codeinfo end -->\nb\n");
    assert_eq!(run(&["install", "--instructions", "--yes"]).code, Some(0));
    let text = home.read_file("AGENTS.md");
    assert!(
        text.starts_with("a\n\n<!-- codeinfo begin -->\n- Before")
            && text.ends_with("end -->\nb\n")
    );
    for broken in ["<!-- codeinfo begin -->\n", "<!-- codeinfo end -->\n<!-- codeinfo begin -->\n"]
    {
        home.write("AGENTS.md", broken);
        assert_eq!(run(&["install", "--instructions", "--yes"]).code, Some(1));
        assert_eq!(run(&["uninstall", "--instructions", "--yes"]).code, Some(1));
        assert_eq!(home.read_file("AGENTS.md"), broken);
    }
}

#[test]
fn markers_within_a_sentence_are_text() {
    let home = TestHome::new();
    fs::create_dir(home.path(".git")).unwrap();
    let run = |arguments: &[&str]| {
        home.finish_command(home.command(BINARY).current_dir(home.0.path()).args(arguments))
    };
    let text = "Lines between `<!-- codeinfo begin -->` and `<!-- codeinfo end -->` are not ours:\n\
                keep <!-- codeinfo begin --> as it is.\n";
    home.write("AGENTS.md", text);
    assert_eq!(run(&["install", "--instructions", "--yes"]).code, Some(0));
    let installed = home.read_file("AGENTS.md");
    assert!(installed.starts_with(text) && installed.ends_with("<!-- codeinfo end -->\n"));
    home.write("AGENTS.md", installed + "more\n");
    assert_eq!(run(&["uninstall", "--instructions", "--yes"]).code, Some(0));
    assert_eq!(home.read_file("AGENTS.md"), format!("{text}more\n"));
}

#[test]
fn lines_after_a_text_that_ends_with_a_carriage_return_are_written_once() {
    let home = TestHome::with_program();
    for text in ["mine\r", "mine\r\nyours\r", "\r", "mine\rno end"] {
        home.write(".codex/AGENTS.md", text);
        home.run_successfully(&["install", "codex", "--yes"]);
        let installed = home.read_file(".codex/AGENTS.md");
        assert!(installed.starts_with(text), "{installed:?}");
        let output_text = home.run_successfully(&["install", "codex", "--yes"]);
        assert!(
            output_text.contains("already set up in ~/.codex/AGENTS.md"),
            "{text:?}: {output_text}"
        );
        assert_eq!(home.read_file(".codex/AGENTS.md"), installed);
        home.run_successfully(&["uninstall", "--yes"]);
        assert_eq!(home.read_file(".codex/AGENTS.md"), text);
    }
}

#[test]
fn switches_for_clients_are_refused_beside_lines_for_a_repository() {
    let home = TestHome::with_program();
    fs::create_dir(home.path(".git")).unwrap();
    for switch in [
        "--http", "--auto-index", "--no-auto-index", "--permissions", "--no-permissions", "--hook",
        "--no-hook",
    ] {
        let mut command = home.command(BINARY);
        command.current_dir(home.0.path()).args(["install", "--instructions", "--yes", switch]);
        let ended = home.finish_command(&mut command);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.failed.contains(&format!("`{switch}` concerns clients")), "{ended:?}");
        assert!(!home.has_file("AGENTS.md"));
    }
}
