//! Searches and prints what is found, for people or as JSON.

use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
};

use codeinfo_core::Hit;
use codeinfo_search::Found;
use codeinfo_server::replies::SourceShown;
use serde_json::json;

use super::{
    CliError, Client, Search,
    print::{confined, json, line, name, note, reference, title},
};

/// Searches over `POST /tools/vector-search`.
pub(super) async fn search(client: &Client, asked: Search) -> Result<(), CliError> {
    let mut body = json!({ "query": asked.words.join(" ") });
    if let Some(body) = body.as_object_mut() {
        if let Some(trees) = &asked.between {
            let trees: Vec<String> = trees.iter().map(|tree| reference(tree)).collect();
            body.extend([("between".to_owned(), trees.into())]);
        } else {
            let place = confined(asked.repository.as_deref().map(reference));
            body.extend(place.map(|(name, place)| (name, place.into())));
        }
        body.extend(asked.limit.map(|limit| ("limit".to_owned(), limit.into())));
    }
    let path = ["tools", "vector-search"];
    if asked.json {
        return json(&client.post(&path, &body).await?);
    }
    let Found { hits, absent, notice, .. } = client.post(&path, &body).await?;
    let has_notice = notice.is_some();
    if let Some(notice) = notice {
        note(&name(&notice))?;
    }
    if !absent.is_empty() {
        let names: Vec<String> = absent.iter().map(|absent| name(absent)).collect();
        note(&format!("not in the index: {}", names.join(", ")))?;
    }
    if hits.is_empty() && !has_notice {
        return note("nothing found");
    }
    // Programs read whole paths.
    let folder = std::io::stdout().is_terminal().then(std::env::current_dir);
    let printer = Printer { client, asked, folder: folder.and_then(Result::ok) };
    for hit in hits {
        printer.print(&hit).await?;
    }
    Ok(())
}

struct Printer<'a> {
    client: &'a Client,
    asked: Search,
    /// Where a person is who reads the results.
    folder: Option<PathBuf>,
}

impl Printer<'_> {
    async fn print(&self, hit: &Hit) -> Result<(), CliError> {
        let place = format!("{}:{}-{}", self.short_path(&hit.path), hit.start_line, hit.end_line);
        if self.asked.locations {
            return line(&place);
        }
        let symbol = hit.symbol.as_ref().map(|symbol| format!("  {}", name(symbol)));
        let only = hit.only_in.as_ref().map(|tree| format!("  (only in {})", name(tree)));
        let host = hit.host.as_ref().map(|host| format!("  (on {})", name(host)));
        let about: String = [symbol, only, host].into_iter().flatten().collect();
        title(&place, &format!("  {:.2}{about}", hit.score))?;
        match self.surroundings(hit).await? {
            Some(lines) => {
                for (number, text) in lines {
                    line(&format!("{number:>6}  {text}"))?;
                }
            }
            None => {
                for text in hit.chunk.lines() {
                    line(&format!("    {text}"))?;
                }
            }
        }
        line("")
    }

    /// Returns the lines of a result and those around it with their numbers, where such are wanted.
    async fn surroundings(&self, hit: &Hit) -> Result<Option<Vec<(u32, String)>>, CliError> {
        let around = self.asked.context;
        if around == 0 {
            return Ok(None);
        }
        let first = hit.start_line.saturating_sub(around).max(1);
        let last = hit.end_line.saturating_add(around);
        let query =
            [("path", hit.path.clone()), ("first", first.to_string()), ("last", last.to_string())];
        let query = query.map(|(name, value)| (name.to_owned(), value));
        let SourceShown { first, lines, .. } = self.client.get_with(&["source"], &query).await?;
        Ok(Some((first..).zip(lines.into_iter().map(|line| line.text)).collect()))
    }

    /// Returns a path as short as it can be typed where the person is.
    fn short_path(&self, path: &str) -> String {
        let below =
            self.folder.as_ref().and_then(|folder| Path::new(path).strip_prefix(folder).ok());
        name(&below.map_or(path.into(), Path::to_string_lossy))
    }
}
