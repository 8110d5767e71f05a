//! Commands on a terminal: one voice, with the lines that matter to a person; the log is in a file.

use std::{fs, path::Path, process::Stdio};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use crate::support::{
    process::{create_scratch_folder, program_command, run_command, send_signal, without_codex},
    terminal::{strip_escapes, terminal_command},
};

/// Runs a command line to its end; returns its exit code and what a person then sees, without colours.
async fn run_on_terminal(
    data: &Path,
    folder: &Path,
    columns: u16,
    line: &str,
) -> (Option<i32>, String) {
    let output =
        terminal_command(data, folder, columns, &without_codex(), line).output().await.unwrap();
    (output.status.code(), strip_escapes(&String::from_utf8(output.stdout).unwrap()))
}

fn create_repository() -> tempfile::TempDir {
    let folder = create_scratch_folder();
    let code =
        "use std::io;\n\n/// Opens the valve.\npub fn relieve_pressure() {\n    open();\n}\n";
    for part in ["src", ".git"] {
        fs::create_dir(folder.path().join(part)).unwrap();
    }
    fs::write(folder.path().join("src/valve.rs"), code).unwrap();
    folder
}

#[tokio::test]
async fn a_failure_is_printed_once_and_logged_in_a_file() {
    let (data, folder) = (create_scratch_folder(), create_scratch_folder());
    let (code, seen) = run_on_terminal(data.path(), folder.path(), 100, "ingest missing").await;
    assert_eq!(code, Some(1), "{seen}");
    assert_eq!(seen.matches("does not exist").count(), 1, "{seen}");
    assert!(seen.starts_with("codeinfo: ") && seen.trim_end().lines().count() == 1, "{seen}");
    let (code, seen) =
        run_on_terminal(data.path(), folder.path(), 60, "--log ingest missing").await;
    assert_eq!(code, Some(1), "{seen}");
    assert!(seen.contains(" INFO "), "{seen}");
    // Programs read standard error as before.
    let mut environment = without_codex();
    environment.push(("LOG_LEVEL".to_owned(), "info".to_owned()));
    let output = run_command(data.path(), &environment, &["ingest", "missing"]).await;
    assert!(String::from_utf8(output.stderr).unwrap().contains(" INFO "));
}

#[tokio::test]
async fn a_server_prints_what_a_person_needs_and_names_its_log() {
    let (data, repository) = (create_scratch_folder(), create_repository());
    let line = format!("serve {}", repository.path().display());
    let mut server = terminal_command(data.path(), repository.path(), 100, &without_codex(), &line)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut seen = String::new();
    while !seen.contains("Ctrl-C") {
        let line = lines.next_line().await.unwrap().expect("the server ended");
        seen += &(strip_escapes(&line) + "\n");
    }
    let log = data.path().join("codeinfo.log");
    assert!(seen.contains(&format!("Log         {}", log.display())), "{seen}");
    for noise in [" INFO ", " WARN ", "0/0", "0 seconds"] {
        assert!(!seen.contains(noise), "{noise}: {seen}");
    }
    assert!(seen.contains("1 file, 1 chunk"), "{seen}");
    // Another server reports at once which one runs, and gives advice.
    let (code, refused) = run_on_terminal(data.path(), repository.path(), 100, "serve").await;
    assert_eq!(code, Some(1), "{refused}");
    assert!(refused.contains("other commands use that server"), "{refused}");
    let logged = fs::read_to_string(log).unwrap();
    assert!(logged.contains("listening") && !logged.contains('\u{1b}'), "{logged}");
    let holder = fs::read(data.path().join("lock.json")).unwrap();
    let holder: serde_json::Value = serde_json::from_slice(&holder).unwrap();
    send_signal("TERM", holder["pid"].as_u64().unwrap().try_into().unwrap()).await;
    server.wait().await.unwrap();
}

#[tokio::test]
async fn wrong_usage_says_what_to_do() {
    let (data, folder) = (create_scratch_folder(), create_repository());
    let file = folder.path().join("src/valve.rs");
    let (code, seen) = run_on_terminal(&file, folder.path(), 60, "search valve").await;
    let unusable = format!(
        "codeinfo: cannot use the data folder `{}`: Not a directory (os error 20); set `DATA_DIR` to a folder that \
         you can write\n",
        file.display()
    );
    assert_eq!((code, seen), (Some(1), unusable));
    let (_, seen) =
        run_on_terminal(data.path(), folder.path(), 60, "ingest https://host/o/r").await;
    let advice = "codeinfo: `https://host/o/r` is the address of a repository; clone it first: \
                  `git clone https://host/o/r`, then give the folder, as in `codeinfo ingest FOLDER`\n";
    assert_eq!(seen, advice);
    run_on_terminal(data.path(), folder.path(), 60, "token create ci").await;
    let (_, seen) = run_on_terminal(data.path(), folder.path(), 60, "token create ci").await;
    assert_eq!(
        seen,
        "codeinfo: there is a token `ci`; `--overwrite`, or `overwrite` over HTTP, revokes it and makes it again\n"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_codex_that_does_not_run_is_reported_with_what_it_lacks() {
    use std::os::unix::fs::PermissionsExt;
    let (data, folder) = (create_scratch_folder(), create_repository());
    let ingest = ["ingest", folder.path().to_str().unwrap()];
    assert!(run_command(data.path(), &without_codex(), &ingest).await.status.success());
    let program = folder.path().join("codex");
    let environment = [
        ("CODEX_BIN".to_owned(), program.display().to_string()),
        ("LOG_LEVEL".to_owned(), "off".to_owned()),
    ];
    for (script, output_text) in [
        (
            "#!/usr/bin/env no-such-node\n",
            "`codex` is a script that needs `no-such-node`, which is missing; install it (`node` is Node.js)",
        ),
        ("#!/nowhere/node --x\n", "`codex` is a script that needs `node`, which is missing"),
        (
            "#!/usr/bin/env -S A=1 sh\nexit 2\n",
            "with exit status 2; see that `codex --version` prints 0.169",
        ),
    ] {
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        for command in [&["ask", "why"][..], &["doctor"]] {
            let output = run_command(data.path(), &environment.to_vec(), command).await;
            let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            assert!(printed.contains(output_text), "{printed}");
        }
    }
}

#[tokio::test]
async fn repositories_are_listed_in_columns_with_ages_for_a_person() {
    let (data, boiler, other) =
        (create_scratch_folder(), create_repository(), create_scratch_folder());
    fs::write(other.path().join("a.rs"), "fn a() {}\n").unwrap();
    let (code, seen) =
        run_on_terminal(data.path(), boiler.path(), 100, "ingest src/.. --name boiler").await;
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains(&format!("indexed {} in ", boiler.path().display())), "{seen}");
    assert!(
        seen.trim_end().lines().last().unwrap().starts_with("next: `codeinfo search"),
        "{seen}"
    );
    let ingest =
        ["ingest", other.path().to_str().unwrap(), "--name", "tap", "--description", "A tap"];
    let output = run_command(data.path(), &without_codex(), &ingest).await;
    assert!(!String::from_utf8(output.stderr).unwrap().contains("next: "));
    let (_, seen) = run_on_terminal(data.path(), boiler.path(), 100, "repos").await;
    let path = |folder: &tempfile::TempDir| folder.path().canonicalize().unwrap();
    let (boiler, other) = (path(&boiler), path(&other));
    assert_eq!(
        seen,
        format!(
            "boiler  1 file, 1 chunk  indexed just now  {}\ntap     1 file, 1 chunk  indexed just now  {}\n",
            boiler.display(),
            other.display()
        )
    );
    let piped = run_command(data.path(), &without_codex(), &["repos"]).await;
    let piped = String::from_utf8(piped.stdout).unwrap();
    assert!(piped.contains("indexed 2") && piped.ends_with("\n    A tap\n"), "{piped}");
}

/// Runs a command line to its end, and types `answer` when it asks whether to index; `None` ends the input.
async fn answer_prompt(
    data: &Path,
    folder: &Path,
    line: &str,
    answer: Option<&str>,
) -> (Option<i32>, String) {
    let mut command = terminal_command(data, folder, 100, &without_codex(), line);
    let mut script = command.stdin(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (script.stdin.take(), script.stdout.take().unwrap());
    let mut seen = Vec::new();
    while output.read_buf(&mut seen).await.unwrap() > 0 {
        if !seen.ends_with(b"[Y/n] ") {
            continue;
        }
        let Some(mut keys) = input.take() else { continue };
        if let Some(answer) = answer {
            keys.write_all(answer.as_bytes()).await.unwrap();
            input = Some(keys);
        }
    }
    let code = script.wait().await.unwrap().code();
    (code, strip_escapes(&String::from_utf8(seen).unwrap()))
}

#[tokio::test]
async fn a_search_offers_to_index_the_repository_around_it_and_continues() {
    for typed in ["\n", "y\n", "YES\n"] {
        let (data, folder) = (create_scratch_folder(), create_repository());
        let path = folder.path().canonicalize().unwrap();
        let question = format!("`{}` is not indexed; index it now? [Y/n] ", path.display());
        let (code, seen) =
            answer_prompt(data.path(), &path.join("src"), "search -l pressure", Some(typed)).await;
        assert!(code == Some(0) && seen.starts_with(&question), "{seen}");
        let indexed = format!("indexed {} in ", path.display());
        assert!(seen.contains(&indexed) && seen.ends_with("\nvalve.rs:1-6\n"), "{seen}");
        // The question is not repeated.
        let (_, seen) = answer_prompt(data.path(), &path, "search -l pressure", Some(typed)).await;
        assert_eq!(seen, "src/valve.rs:1-6\n");
    }
}

#[tokio::test]
async fn a_no_ends_in_a_line_or_searches_the_other_repositories() {
    let (data, folder, other) = (create_scratch_folder(), create_repository(), create_repository());
    let path = folder.path().canonicalize().unwrap();
    let question = format!("`{}` is not indexed; index it now? [Y/n] ", path.display());
    let refusal =
        "codeinfo: nothing is indexed yet; index a repository with `codeinfo ingest PATH`\n";
    for typed in [Some("n\n"), Some("later\n"), None] {
        let (code, seen) = answer_prompt(data.path(), &path, "search pressure", typed).await;
        let output_text = seen.strip_prefix(&question).unwrap();
        let output_text =
            output_text.trim_start_matches(typed.unwrap_or_default().trim()).trim_start();
        assert_eq!((code, output_text), (Some(1), refusal), "{seen}");
    }
    // A folder that is named is all that is searched.
    for (line, typed) in [("search -r . pressure", "n\n"), ("search -r ../missing/.. pressure", "")]
    {
        let (code, seen) = answer_prompt(data.path(), &path, line, Some(typed)).await;
        assert!(code == Some(1) && seen.trim_end().lines().count() <= 2, "{seen}");
        let advice =
            format!("`{0}` is not indexed; `codeinfo ingest {0}` indexes it", path.display());
        assert_eq!(seen.contains(&advice), !typed.is_empty(), "{seen}");
    }
    run_command(data.path(), &without_codex(), &["ingest", other.path().to_str().unwrap()]).await;
    let (code, seen) = answer_prompt(data.path(), &path, "search -l pressure", Some("n\n")).await;
    assert!(code == Some(0) && seen.starts_with(&question), "{seen}");
    let found = format!("{}/src/valve.rs:1-6\n", other.path().display());
    assert!(
        seen.ends_with(&format!("what follows is about other repositories\n{found}")),
        "{seen}"
    );
}

#[tokio::test]
async fn a_named_folder_is_offered_and_is_then_all_that_is_searched() {
    let (data, folder, other) = (create_scratch_folder(), create_repository(), create_repository());
    run_command(data.path(), &without_codex(), &["ingest", other.path().to_str().unwrap()]).await;
    let (code, seen) = answer_prompt(
        data.path(),
        &folder.path().join("src"),
        "search -l -r .. pressure",
        Some("\n"),
    )
    .await;
    assert!(code == Some(0) && seen.ends_with("\nvalve.rs:1-6\n"), "{seen}");
    assert_eq!(seen.matches("valve.rs").count(), 1, "{seen}");
}

#[tokio::test]
async fn no_question_is_asked_about_homes_private_places_and_other_folders() {
    let (data, home, plain) =
        (create_scratch_folder(), create_repository(), tempfile::tempdir().unwrap());
    let private = home.path().join(".ssh/keys");
    fs::create_dir_all(private.join(".git")).unwrap();
    let mut environment = without_codex();
    environment.push(("HOME".to_owned(), home.path().display().to_string()));
    for folder in [home.path(), &home.path().join("src"), &private, plain.path(), Path::new("/")] {
        for line in ["search pressure", "search -r ~ pressure", "search -r / pressure"] {
            let mut command = terminal_command(data.path(), folder, 100, &environment, line);
            let output = command.output().await.unwrap();
            let seen = strip_escapes(&String::from_utf8(output.stdout).unwrap());
            assert_eq!(seen.lines().count(), 1, "{}: {line}: {seen}", folder.display());
            assert!(seen.starts_with("codeinfo: ") && !seen.contains("[Y/n]"), "{seen}");
        }
    }
    // A question that Codex could not answer anyhow is no reason to index.
    let folder = create_repository();
    let (_, seen) = run_on_terminal(data.path(), folder.path(), 100, "ask why").await;
    assert!(seen.starts_with("codeinfo: the Codex command line is not found"), "{seen}");
}

#[tokio::test]
async fn programs_get_the_command_instead_of_a_question() {
    let (data, folder, other) = (create_scratch_folder(), create_repository(), create_repository());
    let at = async |arguments: &[&str]| {
        let mut command = program_command(data.path(), &without_codex());
        let output = command.args(arguments).current_dir(folder.path()).output().await.unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, _, noted) = at(&["search", "pressure"]).await;
    let refusal =
        "codeinfo: nothing is indexed yet; index a repository with `codeinfo ingest PATH`\n";
    assert_eq!((code, noted.as_str()), (Some(1), refusal));
    at(&["ingest", other.path().to_str().unwrap()]).await;
    let path = folder.path().canonicalize().unwrap();
    let advice =
        format!("`{0}` is not indexed; `codeinfo ingest {0}` indexes it\n", path.display());
    let (code, found, noted) = at(&["search", "-l", "pressure"]).await;
    assert_eq!((code, noted), (Some(0), advice.clone()));
    assert_eq!(found, format!("{}/src/valve.rs:1-6\n", other.path().display()));
    let (code, found, noted) = at(&["search", "-l", "-r", ".", "pressure"]).await;
    assert_eq!((code, found.as_str(), noted), (Some(1), "", format!("codeinfo: {advice}")));
}

#[tokio::test]
async fn results_can_be_listed_by_place_and_with_the_lines_around_them() {
    let (data, repository) = (create_scratch_folder(), create_repository());
    let path = repository.path();
    run_command(data.path(), &without_codex(), &["ingest", path.to_str().unwrap()]).await;
    let (code, seen) = run_on_terminal(data.path(), path, 100, "search -l relieve pressure").await;
    assert_eq!((code, seen.as_str()), (Some(0), "src/valve.rs:1-6\n"));
    let (_, whole) = run_on_terminal(data.path(), path, 60, "search relieve pressure").await;
    let head = whole.lines().next().unwrap();
    assert!(
        head.starts_with("src/valve.rs:1-6  ") && head.ends_with("  relieve_pressure"),
        "{whole}"
    );
    let (_, around) = run_on_terminal(data.path(), path, 60, "search -C 2 relieve pressure").await;
    let numbered = "     1  use std::io;\n     2  \n     3  /// Opens the valve.\n";
    assert!(around.contains(numbered), "{around}");
    // Elsewhere the whole path is printed.
    let elsewhere = tempfile::tempdir().unwrap();
    let (_, seen) =
        run_on_terminal(data.path(), elsewhere.path(), 100, "search -l relieve pressure").await;
    assert_eq!(seen, format!("{}/src/valve.rs:1-6\n", path.display()));
}
