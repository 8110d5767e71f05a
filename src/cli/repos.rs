//! Lists the indexed repositories, one a line in columns.

use std::{collections::HashMap, io::IsTerminal};

use codeinfo_server::replies::{Adds, Repo, Repos};

use super::{
    CliError, Client,
    print::{align_columns, count_things, explain_gone, json, line, name, note, time},
};

/// Cells of a line: name, size, time, place.
type Cells = [String; 4];

pub(super) async fn list(client: &Client, as_json: bool) -> Result<(), CliError> {
    let path = ["tools", "ingested-repos"];
    if as_json {
        return json(&client.get(&path).await?);
    }
    let Repos { repos, .. } = client.get(&path).await?;
    if repos.is_empty() {
        return note("nothing is indexed yet: `codeinfo ingest PATH`");
    }
    let is_read_by_person = std::io::stdout().is_terminal();
    let repos = order_trees(repos);
    let rows: Vec<Cells> = repos.iter().map(describe_repo).collect();
    for (text, repo) in align_columns(&rows).into_iter().zip(repos) {
        line(&text)?;
        if repo.folder_gone {
            line(&format!("    {}", explain_gone(&repo)))?;
        }
        // What agents choose by, which a person wrote.
        let description = repo.description.filter(|_| !is_read_by_person);
        let error = repo.last_error.map(|error| format!("error: {error}"));
        for detail in description.into_iter().chain(error) {
            line(&format!("    {}", name(&detail)))?;
        }
    }
    Ok(())
}

/// Puts trees below the first one of their repository.
fn order_trees(repos: Vec<Repo>) -> Vec<Repo> {
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
    rows
}

fn describe_repo(repo: &Repo) -> Cells {
    let indent = if repo.tree_of.is_some() { "  " } else { "" };
    let size = |files, chunks| {
        format!("{}, {}", count_things(files, "file"), count_things(chunks, "chunk"))
    };
    let adds = repo.adds.filter(|_| repo.tree_of.is_some());
    let adds = adds.map(|Adds { files, chunks }| format!(" ({} of its own)", size(files, chunks)));
    let indexed = repo.last_ingest_at.as_deref().map(|at| format!("indexed {}", time(at)));
    let host = repo.host.as_deref().map(|host| format!("on {}  ", name(host)));
    [
        format!("{indent}{}", name(&repo.name)),
        size(repo.counts.files, repo.counts.chunks) + &adds.unwrap_or_default(),
        indexed.unwrap_or_else(|| "never completed".to_owned()),
        host.unwrap_or_default() + &name(&repo.path.to_string_lossy()),
    ]
}
