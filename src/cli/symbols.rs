//! Prints uses, callers, callees and call paths of definitions, effects of changes, and commits.

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
    let parameters = [("name", Some(arguments.name)), ("kind", Some(kind.to_owned()))];
    print_found(client, &["symbols"], parameters, arguments.repository, arguments.json).await
}

pub(super) async fn print_trace(
    client: &ApiClient,
    arguments: TraceCommand,
) -> Result<(), CliError> {
    let TraceCommand { from, to, callers, depth, repository, json } = arguments;
    let way = Some((if callers { "callers" } else { "callees" }).to_owned());
    let max = depth.map(|depth| depth.to_string());
    let parameters = [("from", Some(from)), ("direction", way), ("to", to), ("depth", max)];
    print_found(client, &["symbols", "trace"], parameters, repository, json).await
}

pub(super) async fn print_impact(
    client: &ApiClient,
    arguments: ImpactCommand,
) -> Result<(), CliError> {
    let ImpactCommand { since, depth, repository, json } = arguments;
    let parameters = [("since", Some(since)), ("depth", Some(depth.to_string()))];
    print_found(client, &["symbols", "impact"], parameters, repository, json).await
}

/// Prints what a route of the API finds.
pub(super) async fn print_found<const N: usize>(
    client: &ApiClient,
    path: &[&str],
    parameters: [(&str, Option<String>); N],
    repository: Option<String>,
    is_json: bool,
) -> Result<(), CliError> {
    let given = parameters.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let mut query: Vec<(String, String)> = given.collect();
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
        print_line(&line.replacen(prefix.as_deref().unwrap_or_default(), "", 1))?;
    }
    Ok(())
}
