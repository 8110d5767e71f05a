//! Commands that list the indexed repositories, one a line, and remove them.

use std::{collections::HashMap, io::IsTerminal};

use codeinfo_server::replies::{IngestedRepo, IngestedRepos, TreeAdditions};
use serde_json::{Value, json};

use super::{
    ApiClient, CliError,
    print::{
        align_columns, count_things, format_time, print_json, print_line, print_note,
        resolve_reference, single_line,
    },
};

/// Cells of a line: name, size, time and place.
type RepoCells = [String; 4];

pub(super) async fn list_repos(client: &ApiClient, as_json: bool) -> Result<(), CliError> {
    let path = ["tools", "ingested-repos"];
    if as_json {
        return print_json(&client.get(&path).await?);
    }
    let IngestedRepos { repos, .. } = client.get(&path).await?;
    if repos.is_empty() {
        return print_note("nothing is indexed yet: `codeinfo ingest PATH`");
    }
    let is_read_by_person = std::io::stdout().is_terminal();
    let repos = order_trees(repos);
    let rows: Vec<RepoCells> = repos.iter().map(describe_repo).collect();
    for (text, repo) in align_columns(&rows).into_iter().zip(repos) {
        print_line(&text)?;
        if repo.folder_gone {
            print_line(&format!("    {}", explain_gone(&repo)))?;
        }
        // Only programs get the description: an agent chooses a repository by it.
        let description = repo.description.filter(|_| !is_read_by_person);
        let error = repo.last_error.map(|error| format!("error: {error}"));
        for detail in description.into_iter().chain(error) {
            print_line(&format!("    {}", single_line(&detail)))?;
        }
    }
    Ok(())
}

fn order_trees(repos: Vec<IngestedRepo>) -> Vec<IngestedRepo> {
    let mut rows: Vec<IngestedRepo> = Vec::new();
    let (others, firsts): (Vec<IngestedRepo>, Vec<IngestedRepo>) =
        repos.into_iter().partition(|repo| repo.tree_of.is_some());
    let mut below: HashMap<String, Vec<IngestedRepo>> = HashMap::new();
    for repo in others {
        below.entry(repo.tree_of.clone().unwrap_or_default()).or_default().push(repo);
    }
    for first in firsts {
        let trees = below.remove(&first.name).unwrap_or_default();
        rows.push(first);
        rows.extend(trees);
    }
    rows
}

fn describe_repo(repo: &IngestedRepo) -> RepoCells {
    let indent = if repo.tree_of.is_some() { "  " } else { "" };
    let size = |files, chunks| {
        format!("{}, {}", count_things(files, "file"), count_things(chunks, "chunk"))
    };
    let adds = repo.adds.filter(|_| repo.tree_of.is_some());
    let adds = adds
        .map(|TreeAdditions { files, chunks }| format!(" ({} of its own)", size(files, chunks)));
    let indexed = repo.last_ingest_at.as_deref().map(|at| format!("indexed {}", format_time(at)));
    let host = repo.host.as_deref().map(|host| format!("on {}  ", single_line(host)));
    [
        format!("{indent}{}", single_line(&repo.name)),
        size(repo.counts.files, repo.counts.chunks) + &adds.unwrap_or_default(),
        indexed.unwrap_or_else(|| "never completed".to_owned()),
        host.unwrap_or_default() + &single_line(&repo.path.to_string_lossy()),
    ]
}

pub(super) async fn remove_repository(client: &ApiClient, name: &str) -> Result<(), CliError> {
    client.post::<Value>(&["ingest", "remove", &resolve_reference(name)], &json!({})).await?;
    print_line(&format!("removed {name} from the index"))
}

pub(super) fn explain_gone(repo: &IngestedRepo) -> String {
    format!(
        "the folder is gone: if it was moved, `codeinfo ingest` where it is now, then `codeinfo remove {}`",
        single_line(&repo.name)
    )
}
