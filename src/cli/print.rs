//! Prints search results and repositories, for people or as JSON.

use std::{
    collections::HashMap,
    fmt::Write as _,
    io::{IsTerminal, Write},
};

use serde_json::{Value, json};

use super::{CliError, Client};
use crate::{
    domain::plain_name,
    replies::{Adds, Repo, Repos},
};

/// Returns a number of things in words: `1 file`, `2 files`.
pub(super) fn counted(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// Writes a line to standard output.
pub(super) fn line(text: &str) -> Result<(), CliError> {
    Ok(writeln!(std::io::stdout().lock(), "{}", harmless(text))?)
}

/// Takes out what would drive a terminal: code, names and answers come from elsewhere.
pub fn harmless(text: &str) -> String {
    let is_driving = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    text.replace(is_driving, "\u{fffd}")
}

/// Writes the head of a result to standard output; on a terminal its name is bold and the rest is dimmed.
pub(super) fn title(name: &str, rest: &str) -> Result<(), CliError> {
    let (name, rest, mut out) = (harmless(name), harmless(rest), std::io::stdout().lock());
    if out.is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        writeln!(out, "\u{1b}[1m{name}\u{1b}[0m\u{1b}[2m{rest}\u{1b}[0m")?;
    } else {
        writeln!(out, "{name}{rest}")?;
    }
    Ok(())
}

/// Writes a line to standard error, dimmed on a terminal.
pub(super) fn note(text: &str) -> Result<(), CliError> {
    let (text, mut err) = (harmless(text), std::io::stderr().lock());
    if err.is_terminal() {
        writeln!(err, "\u{1b}[2m{text}\u{1b}[0m")?;
    } else {
        writeln!(err, "{text}")?;
    }
    Ok(())
}

/// Writes a value as indented JSON to standard output. Control characters in it, which JSON may hold
/// as they are, are written as escapes: the same value, and nothing for a terminal.
pub(super) fn json(value: &Value) -> Result<(), CliError> {
    let mut text = String::new();
    for c in format!("{value:#}").chars() {
        if c.is_control() && c != '\n' {
            // Writing to a `String` cannot fail.
            let _ = write!(text, "\\u{:04x}", u32::from(c));
        } else {
            text.push(c);
        }
    }
    Ok(writeln!(std::io::stdout().lock(), "{text}")?)
}

/// Returns a name or path of somebody else as one line.
pub(super) fn name(name: &str) -> String {
    plain_name(name, usize::MAX)
}

/// Returns the member of a request that says what it is about: the repository that is named, or where the person
/// stands.
pub(super) fn confined(repository: Option<String>) -> Option<(String, String)> {
    let here = || {
        let folder = std::env::current_dir().ok()?;
        Some(("folder".to_owned(), folder.to_str()?.to_owned()))
    };
    let named = repository.map(|name| ("repository".to_owned(), name));
    named.or_else(here)
}

/// Says what to do about a repository whose folder is gone.
pub(super) fn explain_gone(repo: &Repo) -> String {
    format!(
        "the folder is gone: if it was moved, `codeinfo ingest` where it is now, then `codeinfo remove {}`",
        name(&repo.name)
    )
}

pub(super) async fn repos(client: &Client, as_json: bool) -> Result<(), CliError> {
    let path = ["tools", "ingested-repos"];
    if as_json {
        return json(&client.get(&path).await?);
    }
    let Repos { repos, .. } = client.get(&path).await?;
    if repos.is_empty() {
        return note("nothing is indexed yet: `codeinfo ingest PATH`");
    }
    // Trees stand below the first one of their repository.
    let mut rows: Vec<Repo> = Vec::new();
    let (others, firsts): (Vec<Repo>, Vec<Repo>) =
        repos.into_iter().partition(|repo| repo.tree_of.is_some());
    let mut below: HashMap<String, Vec<Repo>> = HashMap::new();
    for repo in others {
        below.entry(repo.tree_of.clone().unwrap_or_default()).or_default().push(repo);
    }
    for first in firsts {
        let trees = below.remove(&first.name).unwrap_or_default();
        rows.push(first);
        rows.extend(trees);
    }
    for repo in rows {
        let (indent, adds) = match (&repo.tree_of, repo.adds) {
            (Some(_), Some(Adds { files, chunks })) => {
                let (files, chunks) = (counted(files, "file"), counted(chunks, "chunk"));
                ("  ", format!(" ({files}, {chunks} of its own)"))
            }
            (Some(_), None) => ("  ", String::new()),
            (None, _) => ("", String::new()),
        };
        let host = repo.host.as_deref().map(|host| format!("on {}  ", name(host)));
        let host = host.unwrap_or_default();
        let when = repo.last_ingest_at.as_deref().unwrap_or("never completed");
        line(&format!(
            "{indent}{}  {}  {host}{}, {}{adds}, indexed {when}",
            name(&repo.name),
            name(&repo.path.to_string_lossy()),
            counted(repo.counts.files, "file"),
            counted(repo.counts.chunks, "chunk")
        ))?;
        if repo.folder_gone {
            line(&format!("{indent}  {}", explain_gone(&repo)))?;
        }
        let error = repo.last_error.map(|error| format!("error: {error}"));
        for detail in repo.description.into_iter().chain(error) {
            line(&format!("{indent}    {}", name(&detail)))?;
        }
    }
    Ok(())
}

pub(super) async fn remove(client: &Client, name: &str) -> Result<(), CliError> {
    client.post::<Value>(&["ingest", "remove", &reference(name)], &json!({})).await?;
    line(&format!("removed {name} from the index"))
}

/// Returns what a person calls a repository as the server knows it. Names hold no `/`; what does, or
/// is `.` or `..`, is a path, known to the server in full.
pub(super) fn reference(name: &str) -> String {
    let is_path = name.contains(std::path::MAIN_SEPARATOR) || matches!(name, "." | "..");
    let whole = is_path.then(|| std::fs::canonicalize(name).ok()).flatten();
    whole.map_or(name.to_owned(), |path| path.to_string_lossy().into_owned())
}
