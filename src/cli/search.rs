//! Searches and prints the results, for people or as JSON.

use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
};

use codeinfo_core::Hit;
use codeinfo_evidence::{FoundCommits, render};
use codeinfo_search::SearchResults;
use codeinfo_server::replies::SourceLines;
use serde_json::json;

use super::{
    ApiClient, CliError, SearchCommand,
    print::{
        print_json, print_line, print_note, print_title, resolve_reference, scope_parameter,
        single_line,
    },
};

pub(super) async fn run_search(
    client: &ApiClient,
    arguments: SearchCommand,
) -> Result<(), CliError> {
    let mut body = json!({ "query": arguments.words.join(" ") });
    if let Some(body) = body.as_object_mut() {
        if let Some(trees) = &arguments.between {
            let resolved: Vec<String> = trees.iter().map(|tree| resolve_reference(tree)).collect();
            body.extend([("between".to_owned(), resolved.into())]);
        } else {
            let location = scope_parameter(arguments.repository.as_deref().map(resolve_reference));
            body.extend(location.map(|(name, location)| (name, location.into())));
        }
        body.extend(arguments.limit.map(|limit| ("limit".to_owned(), limit.into())));
        body.extend(arguments.commits.then(|| ("in".to_owned(), "history".into())));
    }
    let path = ["tools", "vector-search"];
    if arguments.json {
        return print_json(&client.post(&path, &body).await?);
    }
    if arguments.commits {
        let found: FoundCommits = client.post(&path, &body).await?;
        return render::render_commits(&found).lines().try_for_each(print_line);
    }
    let found: SearchResults = client.post(&path, &body).await?;
    let SearchResults { hits, absent, notice, diffs, also_differ, .. } = found;
    let has_notice = notice.is_some();
    if let Some(notice) = notice {
        print_note(&single_line(&notice))?;
    }
    if !absent.is_empty() {
        let names: Vec<String> = absent.iter().map(|absent| single_line(absent)).collect();
        print_note(&format!("not in the index: {}", names.join(", ")))?;
    }
    if hits.is_empty() && !has_notice {
        return print_note("nothing found");
    }
    // Programs get whole paths.
    let folder = std::io::stdout().is_terminal().then(std::env::current_dir);
    let printer = HitPrinter { client, arguments, folder: folder.and_then(Result::ok) };
    if !printer.arguments.locations && printer.arguments.context == 0 && !diffs.is_empty() {
        for diff in &diffs {
            print_title(&printer.short_path(&diff.path), "")?;
            diff.list_lines().iter().try_for_each(|line| print_line(line))?;
            print_line("")?;
        }
    } else {
        for hit in hits {
            printer.print_hit(&hit).await?;
        }
    }
    match also_differ {
        Some(files) => print_note(&files.describe_files()),
        None => Ok(()),
    }
}

struct HitPrinter<'a> {
    client: &'a ApiClient,
    arguments: SearchCommand,
    /// Working folder of a person who reads the results.
    folder: Option<PathBuf>,
}

impl HitPrinter<'_> {
    async fn print_hit(&self, hit: &Hit) -> Result<(), CliError> {
        let location =
            format!("{}:{}-{}", self.short_path(&hit.path), hit.start_line, hit.end_line);
        if self.arguments.locations {
            return print_line(&location);
        }
        let symbol = hit.symbol.as_ref().map(|symbol| format!("  {}", single_line(symbol)));
        let only = hit.only_in.as_ref().map(|tree| format!("  (only in {})", single_line(tree)));
        let host = hit.host.as_ref().map(|host| format!("  (on {})", single_line(host)));
        let details: String = [symbol, only, host].into_iter().flatten().collect();
        print_title(&location, &format!("  {:.2}{details}", hit.score))?;
        match self.read_surroundings(hit).await? {
            Some(lines) => {
                for (number, text) in lines {
                    print_line(&format!("{number:>6}  {text}"))?;
                }
            }
            None => {
                for text in hit.chunk.lines() {
                    print_line(&format!("    {text}"))?;
                }
            }
        }
        print_line("")
    }

    /// Returns the numbered lines of a result and those around it, if requested.
    async fn read_surroundings(&self, hit: &Hit) -> Result<Option<Vec<(u32, String)>>, CliError> {
        let context_lines = self.arguments.context;
        if context_lines == 0 {
            return Ok(None);
        }
        let first = hit.start_line.saturating_sub(context_lines).max(1);
        let last = hit.end_line.saturating_add(context_lines);
        let parameters =
            [("path", hit.path.clone()), ("first", first.to_string()), ("last", last.to_string())];
        let query = parameters.map(|(name, value)| (name.to_owned(), value));
        let SourceLines { first, lines, .. } = self.client.get_with(&["source"], &query).await?;
        Ok(Some((first..).zip(lines.into_iter().map(|line| line.text)).collect()))
    }

    /// Returns a path relative to the person's working folder, if it is below that.
    fn short_path(&self, path: &str) -> String {
        let below =
            self.folder.as_ref().and_then(|folder| Path::new(path).strip_prefix(folder).ok());
        single_line(&below.map_or(path.into(), Path::to_string_lossy))
    }
}
