//! Commands on a terminal: one voice, which says what matters to a person; the log is in a file.

use std::{fs, path::Path};

use tokio::io::{AsyncBufReadExt, BufReader};

use crate::support::{
    process::{Environment, fresh, run, signal},
    terminal::{on_terminal, strip_escapes},
};

fn without_codex() -> Environment {
    vec![("CODEX_BIN".to_owned(), "/nonexistent/codex".to_owned())]
}

/// Runs a command line to its end; returns its exit code and what a person then sees, without colours.
async fn see(data: &Path, folder: &Path, columns: u16, line: &str) -> (Option<i32>, String) {
    let output = on_terminal(data, folder, columns, &without_codex(), line).output().await.unwrap();
    (output.status.code(), strip_escapes(&String::from_utf8(output.stdout).unwrap()))
}

fn repository() -> tempfile::TempDir {
    let folder = fresh();
    let code =
        "use std::io;\n\n/// Opens the valve.\npub fn relieve_pressure() {\n    open();\n}\n";
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("src/valve.rs"), code).unwrap();
    folder
}

#[tokio::test]
async fn a_failure_is_said_once_and_logged_in_a_file() {
    let (data, folder) = (fresh(), fresh());
    let (code, seen) = see(data.path(), folder.path(), 100, "ingest missing").await;
    assert_eq!(code, Some(1), "{seen}");
    assert_eq!(seen.matches("does not exist").count(), 1, "{seen}");
    assert!(seen.starts_with("codeinfo: ") && seen.trim_end().lines().count() == 1, "{seen}");
    let (code, seen) = see(data.path(), folder.path(), 60, "--log ingest missing").await;
    assert_eq!(code, Some(1), "{seen}");
    assert!(seen.contains(" INFO "), "{seen}");
    // Programs read standard error as before.
    let mut environment = without_codex();
    environment.push(("LOG_LEVEL".to_owned(), "info".to_owned()));
    let output = run(data.path(), &environment, &["ingest", "missing"]).await;
    assert!(String::from_utf8(output.stderr).unwrap().contains(" INFO "));
}

#[tokio::test]
async fn a_server_prints_what_a_person_needs_and_names_its_log() {
    let (data, repository) = (fresh(), repository());
    let line = format!("serve {}", repository.path().display());
    let mut server =
        on_terminal(data.path(), repository.path(), 100, &without_codex(), &line).spawn().unwrap();
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
    // Another one says at once who is there, and what to do.
    let (code, refused) = see(data.path(), repository.path(), 100, "serve").await;
    assert_eq!(code, Some(1), "{refused}");
    assert!(refused.contains("other commands use that server"), "{refused}");
    let logged = fs::read_to_string(log).unwrap();
    assert!(logged.contains("listening") && !logged.contains('\u{1b}'), "{logged}");
    let holder = fs::read(data.path().join("lock.json")).unwrap();
    let holder: serde_json::Value = serde_json::from_slice(&holder).unwrap();
    signal("TERM", holder["pid"].as_u64().unwrap().try_into().unwrap()).await;
    server.wait().await.unwrap();
}

#[tokio::test]
async fn wrong_usage_says_what_to_do() {
    let (data, folder) = (fresh(), repository());
    let file = folder.path().join("src/valve.rs");
    let (code, seen) = see(&file, folder.path(), 60, "search valve").await;
    let unusable = format!(
        "codeinfo: cannot use the data folder `{}`: Not a directory (os error 20); set `DATA_DIR` to a folder that \
         you can write\n",
        file.display()
    );
    assert_eq!((code, seen), (Some(1), unusable));
    let (_, seen) = see(data.path(), folder.path(), 60, "ingest https://host/o/r").await;
    let advice = "codeinfo: `https://host/o/r` is the address of a repository; clone it first: \
                  `git clone https://host/o/r`, then give the folder, as in `codeinfo ingest FOLDER`\n";
    assert_eq!(seen, advice);
    see(data.path(), folder.path(), 60, "token create ci").await;
    let (_, seen) = see(data.path(), folder.path(), 60, "token create ci").await;
    assert_eq!(
        seen,
        "codeinfo: there is a token `ci`; `--overwrite`, or `overwrite` over HTTP, revokes it and makes it again\n"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_codex_that_does_not_run_is_said_to_lack_what_it_lacks() {
    use std::os::unix::fs::PermissionsExt;
    let (data, folder) = (fresh(), repository());
    let ingest = ["ingest", folder.path().to_str().unwrap()];
    assert!(run(data.path(), &without_codex(), &ingest).await.status.success());
    let program = folder.path().join("codex");
    let environment = [
        ("CODEX_BIN".to_owned(), program.display().to_string()),
        ("LOG_LEVEL".to_owned(), "off".to_owned()),
    ];
    for (script, said) in [
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
            let output = run(data.path(), &environment.to_vec(), command).await;
            let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            assert!(printed.contains(said), "{printed}");
        }
    }
}

#[tokio::test]
async fn repositories_are_listed_in_columns_with_ages_for_a_person() {
    let (data, boiler, other) = (fresh(), repository(), fresh());
    fs::write(other.path().join("a.rs"), "fn a() {}\n").unwrap();
    let (code, seen) = see(data.path(), boiler.path(), 100, "ingest src/.. --name boiler").await;
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains(&format!("indexed {} in ", boiler.path().display())), "{seen}");
    assert!(
        seen.trim_end().lines().last().unwrap().starts_with("next: `codeinfo search"),
        "{seen}"
    );
    let ingest =
        ["ingest", other.path().to_str().unwrap(), "--name", "tap", "--description", "A tap"];
    let output = run(data.path(), &without_codex(), &ingest).await;
    assert!(!String::from_utf8(output.stderr).unwrap().contains("next: "));
    let (_, seen) = see(data.path(), boiler.path(), 100, "repos").await;
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
    let piped = run(data.path(), &without_codex(), &["repos"]).await;
    let piped = String::from_utf8(piped.stdout).unwrap();
    assert!(piped.contains("indexed 2") && piped.ends_with("\n    A tap\n"), "{piped}");
}

#[tokio::test]
async fn results_can_be_listed_by_place_and_with_the_lines_around_them() {
    let (data, repository) = (fresh(), repository());
    let path = repository.path();
    run(data.path(), &without_codex(), &["ingest", path.to_str().unwrap()]).await;
    let (code, seen) = see(data.path(), path, 100, "search -l relieve pressure").await;
    assert_eq!((code, seen.as_str()), (Some(0), "src/valve.rs:1-6\n"));
    let (_, whole) = see(data.path(), path, 60, "search relieve pressure").await;
    let head = whole.lines().next().unwrap();
    assert!(
        head.starts_with("src/valve.rs:1-6  ") && head.ends_with("  relieve_pressure"),
        "{whole}"
    );
    let (_, around) = see(data.path(), path, 60, "search -C 2 relieve pressure").await;
    let numbered = "     1  use std::io;\n     2  \n     3  /// Opens the valve.\n";
    assert!(around.contains(numbered), "{around}");
    // Elsewhere the whole path is printed.
    let (_, seen) = see(data.path(), data.path(), 100, "search -l relieve pressure").await;
    assert_eq!(seen, format!("{}/src/valve.rs:1-6\n", path.display()));
}
