//! Prints the uses, callers and callees of a definition, the calls between two, and what a change
//! reaches.

use std::io::IsTerminal;

use serde::Deserialize;
use serde_json::Value;

use super::{
    ApiClient, CliError, ImpactCommand, SymbolCommand, TraceCommand,
    print::{print_json, print_line, resolve_reference, scope_parameter},
};

/// Found places as text, in the form that tools return to models.
#[derive(Deserialize)]
struct FoundText {
    text: String,
}

pub(super) async fn print_relations(
    client: &ApiClient,
    kind: &str,
    arguments: SymbolCommand,
) -> Result<(), CliError> {
    let SymbolCommand { name, repository, json } = arguments;
    let parameters = vec![("name", name), ("kind", kind.to_owned())];
    print_found(client, &["symbols"], parameters, repository, json).await
}

pub(super) async fn print_trace(
    client: &ApiClient,
    arguments: TraceCommand,
) -> Result<(), CliError> {
    let TraceCommand { from, to, callers, depth, repository, json } = arguments;
    let direction = if callers { "callers" } else { "callees" };
    let mut parameters = vec![("from", from), ("direction", direction.to_owned())];
    parameters.extend(to.map(|to| ("to", to)));
    parameters.extend(depth.map(|depth| ("depth", depth.to_string())));
    print_found(client, &["symbols", "trace"], parameters, repository, json).await
}

pub(super) async fn print_impact(
    client: &ApiClient,
    arguments: ImpactCommand,
) -> Result<(), CliError> {
    let ImpactCommand { since, depth, repository, json } = arguments;
    let parameters = vec![("since", since), ("depth", depth.to_string())];
    print_found(client, &["symbols", "impact"], parameters, repository, json).await
}

async fn print_found(
    client: &ApiClient,
    path: &[&str],
    parameters: Vec<(&str, String)>,
    repository: Option<String>,
    is_json: bool,
) -> Result<(), CliError> {
    let mut query: Vec<(String, String)> =
        parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    query.extend(scope_parameter(repository.as_deref().map(resolve_reference)));
    if is_json {
        return print_json(&client.get_with::<Value>(path, &query).await?);
    }
    query.push(("format".to_owned(), "text".to_owned()));
    let FoundText { text } = client.get_with(path, &query).await?;
    // Programs get whole paths.
    let folder = std::io::stdout().is_terminal().then(std::env::current_dir).and_then(Result::ok);
    let prefix = folder.map(|folder| format!("{}{}", folder.display(), std::path::MAIN_SEPARATOR));
    for line in text.lines() {
        match &prefix {
            Some(prefix) => print_line(&line.replacen(prefix.as_str(), "", 1))?,
            None => print_line(line)?,
        }
    }
    Ok(())
}
