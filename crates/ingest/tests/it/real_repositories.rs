//! Lists the files of real repositories that git tracks and that are not indexed, each with the rule that leaves it
//! out. A person has read the lists line by line: no text that people of the repository wrote is in them without a
//! reason that its user would accept.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path, process::Command};

use codeinfo_ingest::explain_folder;
use codeinfo_worktree::private_places::PrivatePlaces;

/// `MAX_FILE_BYTES` by default.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Returns a line for each rule and path, a folder with its number of files.
fn list_omitted(folder: &Path) -> String {
    let explained =
        explain_folder(&folder.canonicalize().unwrap(), MAX_FILE_BYTES, &PrivatePlaces::default())
            .unwrap();
    assert!(explained.is_tracked, "{} is no repository of git", folder.display());
    let mut lines = String::new();
    for (rule, paths) in &explained.omitted {
        writeln!(lines, "{}:", rule.as_str()).unwrap();
        for (path, files) in paths {
            let count = if path.ends_with('/') { format!(" ({files})") } else { String::new() };
            writeln!(lines, "  {path}{count}").unwrap();
        }
    }
    lines
}

#[test]
fn what_is_left_out_of_this_repository_has_a_reason() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    // Packages of sources are no repository.
    if folder.join(".git").symlink_metadata().is_err() {
        return;
    }
    insta::assert_snapshot!(list_omitted(&folder), @r"
    hidden:
      .cargo/ (1)
      .ci/ (1)
      .dockerignore
      .gitattributes
      .github/ (5)
      .gitignore
      fuzz/.gitignore
      training/.gitignore
    drawing:
      crates/server/assets/page/icon.svg
    lock file:
      Cargo.lock
      fuzz/Cargo.lock
    no text:
      benches/discovery/tools.jsonl.gz
      crates/embed/assets/code-static-1/near_u16.npy
      crates/embed/assets/code-static-1/near_u8.npy
      crates/embed/assets/code-static-1/query_f32.npy
      crates/embed/assets/code-static-1/scale_f32.npy
      crates/embed/assets/code-static-1/table_i8.npy
      docs/pictures/answer.png
      docs/pictures/map.png
      fuzz/seeds/ignored/classes
      fuzz/seeds/ignored/lines
      fuzz/seeds/ignored/two-folders
    holds secrets:
      fuzz/secrets.dict
      tests/fixtures/tls/server.key
    link:
      fuzz/src/ignored.rs
    ");
}

/// Needs checkouts of the repositories that the list names, at its commits.
#[test]
fn what_is_left_out_of_real_repositories_has_a_reason() {
    let Some(checkouts) = std::env::var_os("REAL_REPOSITORIES") else { return };
    let list =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/real_repositories/left_out.txt");
    let known = fs::read_to_string(&list).unwrap();
    let mut now = BTreeMap::new();
    for heading in known.lines().filter(|line| line.contains('/') && !line.starts_with(' ')) {
        let (repository, commit) = heading.split_once(' ').unwrap();
        let folder = Path::new(&checkouts).join(repository.rsplit('/').next().unwrap());
        let run = Command::new("git").arg("-C").arg(&folder).args(["rev-parse", "HEAD"]).output();
        let head = String::from_utf8(run.unwrap().stdout).unwrap();
        assert_eq!(head.trim(), commit, "{} is no checkout of {heading}", folder.display());
        now.insert(heading, list_omitted(&folder));
    }
    assert!(now.len() > 20, "{} repositories", now.len());
    let now: Vec<String> =
        now.iter().map(|(heading, omitted)| format!("{heading}\n{omitted}")).collect();
    let now = now.join("\n");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&list, now).unwrap();
    } else {
        assert_same_lines(&known, &now);
    }
}

/// Fails with the lines that are in one of the texts alone.
fn assert_same_lines(known: &str, now: &str) {
    let only = |one: &str, other: &str, sign: char| -> Vec<String> {
        let other: Vec<&str> = other.lines().collect();
        let lines = one.lines().filter(|line| !other.contains(line));
        lines.map(|line| format!("{sign} {line}")).collect()
    };
    let differences = [only(known, now, '-'), only(now, known, '+')].concat();
    assert!(known == now, "{}", differences.join("\n"));
}
