//! `GET /map`: a repository by its folders, or an answer by its files, for a picture.

use std::collections::BTreeMap;

use codeinfo_chat::archive::KeptTurn;
use codeinfo_citations::Checked;
use codeinfo_core::{FileSummary, LineRange, Principal, TurnId};
use codeinfo_http::{Response, reply};
use codeinfo_search::evidence::How;
use hyper::StatusCode;
use serde_json::Value;

use super::{
    Services,
    error::ApiError,
    parameters::{invalid, pairs, unknown},
};
use crate::replies::{DrawnFile, DrawnFolder, DrawnLink, FilesDrawn, FoldersDrawn};

/// More folders are in no picture that one can read.
const MAX_FOLDERS: usize = 2000;
/// More files of one answer are left out, those that are cited last.
const MAX_FILES: usize = 40;

/// Draws what the address names: `repository` or `turn`.
pub(super) async fn draw(
    services: &Services,
    query: Option<&str>,
    principal: Option<&Principal>,
) -> Result<Response, ApiError> {
    let (mut repository, mut turn) = (None, None);
    for (name, value) in pairs(query) {
        match &*name {
            "repository" => repository = Some(value),
            "turn" => turn = Some(value.parse()?),
            _ => return Err(unknown(&name, "`repository` and `turn`")),
        }
    }
    match (repository, turn) {
        (Some(repository), None) => folders(services, &repository, principal).await,
        (None, Some(turn)) => files(services, turn, principal).await,
        _ => Err(invalid("name a `repository` or a `turn`")),
    }
}

async fn folders(
    services: &Services,
    named: &str,
    principal: Option<&Principal>,
) -> Result<Response, ApiError> {
    let root = services.root(named).await?;
    let sizes = services.evidence.sizes(&root).await?;
    let mut cited: BTreeMap<String, usize> = BTreeMap::new();
    for summary in services.turns.archive().list(principal) {
        for one in summary.cited.iter().filter(|one| one.repo == root.name) {
            let folder = one.rel_path.rsplit_once('/').map_or("", |(folder, _)| folder);
            *cited.entry(folder.to_owned()).or_default() += 1;
        }
    }
    let truncated = sizes.len() > MAX_FOLDERS;
    let mut folders: Vec<DrawnFolder> = sizes
        .into_iter()
        .map(|(path, size)| {
            let cited = cited.get(&path).copied().unwrap_or_default();
            DrawnFolder { path, files: size.files, bytes: size.bytes, cited }
        })
        .collect();
    if truncated {
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.bytes));
        folders.truncate(MAX_FOLDERS);
        folders.sort_by(|a, b| a.path.cmp(&b.path));
    }
    let drawn = FoldersDrawn { repo: root.name, folders, truncated };
    Ok(reply::json(StatusCode::OK, &drawn))
}

async fn files(
    services: &Services,
    turn: TurnId,
    principal: Option<&Principal>,
) -> Result<Response, ApiError> {
    let files = files_of(&services.turns.find(turn, principal).await?);
    let paths: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
    let links = services.evidence.links(&paths).await?;
    let links = links.into_iter().map(|link| {
        let kind = match link.how {
            How::Calls => "calls",
            How::Imports => "imports",
        };
        DrawnLink { from: link.from, to: link.to, kind: kind.to_owned(), names: link.names }
    });
    let drawn = FilesDrawn { turn_id: turn, links: links.collect(), files };
    Ok(reply::json(StatusCode::OK, &drawn))
}

/// Returns the files that the answer of a turn cites, and then those that its searches found.
fn files_of(turn: &KeptTurn) -> Vec<DrawnFile> {
    let mut files: Vec<DrawnFile> = Vec::new();
    let mut add = |file: DrawnFile| match files.iter_mut().find(|one| one.path == file.path) {
        Some(known) if known.cited == file.cited => known.ranges.extend(file.ranges),
        Some(_) => {}
        None => files.push(file),
    };
    let of = |name: &'static str, member: &'static str| {
        let frames = turn.frames.iter().filter(move |frame| frame.name == name);
        frames.filter_map(move |frame| frame.data.get(member)?.as_array()).flatten().cloned()
    };
    for citation in of("final", "citations").filter_map(read::<Checked>) {
        let (Some(rel_path), Some(repo)) = (citation.rel_path, citation.repo) else { continue };
        let ranges = if citation.moved_to.is_empty() { citation.lines } else { citation.moved_to };
        add(DrawnFile { path: citation.path, rel_path, repo, cited: true, ranges });
    }
    for found in of("vector_summary", "files").filter_map(read::<FileSummary>) {
        let FileSummary { path, rel_path, repo, ranges, .. } = found;
        add(DrawnFile { path, rel_path, repo, cited: false, ranges });
    }
    files.truncate(MAX_FILES);
    for file in &mut files {
        file.ranges.sort_by_key(|range: &LineRange| (range.first, range.last));
        file.ranges.dedup();
    }
    files
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}
