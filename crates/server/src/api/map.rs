//! `GET /map`: sizes of a repository's folders, or links between an answer's files, for a picture.

use std::collections::BTreeMap;

use codeinfo_chat::archive::ArchivedTurn;
use codeinfo_citations::CheckedCitation;
use codeinfo_core::{FileSummary, LineRange, Principal, TurnId};
use codeinfo_evidence::FileLink;
use codeinfo_http::{Response, reply};
use hyper::StatusCode;
use serde::Serialize;
use serde_json::Value;

use super::{
    ApiServices,
    error::ApiError,
    parameters::{invalid_argument, parse_query, unknown_parameter},
};

/// Maximum number of folders; a picture of more cannot be read.
const MAX_FOLDERS: usize = 2000;
/// Maximum number of files of one answer; the last ones are dropped.
const MAX_FILES: usize = 40;

#[derive(Serialize)]
struct FolderMap {
    repo: String,
    folders: Vec<MapFolder>,
    truncated: bool,
}

/// Folder with the files directly in it.
#[derive(Serialize)]
struct MapFolder {
    /// Path below the root; empty for the root.
    path: String,
    files: usize,
    bytes: u64,
    /// Sum, over the files, of the conversations whose answers cite the file.
    cited: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FileMap {
    turn_id: TurnId,
    /// Files, the cited ones first.
    files: Vec<MapFile>,
    links: Vec<FileLink>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MapFile {
    path: String,
    rel_path: String,
    repo: String,
    /// True if the answer cites the file; otherwise a search found it.
    cited: bool,
    ranges: Vec<LineRange>,
}

pub(super) async fn draw_map(
    services: &ApiServices,
    query: Option<&str>,
    principal: Option<&Principal>,
) -> Result<Response, ApiError> {
    let mut repository = None;
    let mut turn = None;
    for (name, value) in parse_query(query) {
        match &*name {
            "repository" => repository = Some(value),
            "turn" => turn = Some(value.parse()?),
            _ => return Err(unknown_parameter(&name, "`repository` and `turn`")),
        }
    }
    match (repository, turn) {
        (Some(repository), None) => draw_folders(services, &repository, principal).await,
        (None, Some(turn)) => draw_files(services, turn, principal).await,
        _ => Err(invalid_argument("name a `repository` or a `turn`")),
    }
}

async fn draw_folders(
    services: &ApiServices,
    named: &str,
    principal: Option<&Principal>,
) -> Result<Response, ApiError> {
    let root = services.resolve_root(named).await?;
    let sizes = services.evidence.measure_folders(&root).await?;
    let mut citations: BTreeMap<String, usize> = BTreeMap::new();
    for summary in services.turns.archive().list_summaries(principal) {
        for file in summary.cited.iter().filter(|file| file.repo == root.name) {
            let folder = file.rel_path.rsplit_once('/').map_or("", |(folder, _)| folder);
            *citations.entry(folder.to_owned()).or_default() += 1;
        }
    }
    let truncated = sizes.len() > MAX_FOLDERS;
    let mut folders: Vec<MapFolder> = sizes
        .into_iter()
        .map(|(path, size)| {
            let cited = citations.get(&path).copied().unwrap_or_default();
            MapFolder { path, files: size.files, bytes: size.bytes, cited }
        })
        .collect();
    if truncated {
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.bytes));
        folders.truncate(MAX_FOLDERS);
        folders.sort_by(|a, b| a.path.cmp(&b.path));
    }
    let drawn = FolderMap { repo: root.name, folders, truncated };
    Ok(reply::json_response(StatusCode::OK, &drawn))
}

async fn draw_files(
    services: &ApiServices,
    turn: TurnId,
    principal: Option<&Principal>,
) -> Result<Response, ApiError> {
    let files = list_turn_files(&services.turns.find_turn(turn, principal).await?);
    let paths: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
    let links = services.evidence.find_links(&paths).await?;
    let drawn = FileMap { turn_id: turn, files, links };
    Ok(reply::json_response(StatusCode::OK, &drawn))
}

/// Returns the files that the answer of a turn cites, then those that its searches found.
fn list_turn_files(turn: &ArchivedTurn) -> Vec<MapFile> {
    let mut files: Vec<MapFile> = Vec::new();
    let mut add = |file: MapFile| match files.iter_mut().find(|one| one.path == file.path) {
        Some(known) if known.cited == file.cited => known.ranges.extend(file.ranges),
        Some(_) => {}
        None => files.push(file),
    };
    let members = |name: &'static str, member: &'static str| {
        let frames = turn.frames.iter().filter(move |frame| frame.name == name);
        frames.filter_map(move |frame| frame.data.get(member)?.as_array()).flatten().cloned()
    };
    let citations = members("final", "citations").filter_map(parse_json_value::<CheckedCitation>);
    // Files of commits have other lines than those of the index.
    for citation in citations.filter(|citation| citation.commit.is_none()) {
        let (Some(rel_path), Some(repo)) = (citation.rel_path, citation.repo) else { continue };
        let ranges = if citation.moved_to.is_empty() { citation.lines } else { citation.moved_to };
        add(MapFile { path: citation.path, rel_path, repo, cited: true, ranges });
    }
    for found in members("vector_summary", "files").filter_map(parse_json_value::<FileSummary>) {
        let FileSummary { path, rel_path, repo, ranges, .. } = found;
        add(MapFile { path, rel_path, repo, cited: false, ranges });
    }
    files.truncate(MAX_FILES);
    for file in &mut files {
        file.ranges.sort_by_key(|range: &LineRange| (range.first, range.last));
        file.ranges.dedup();
    }
    files
}

fn parse_json_value<T: serde::de::DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}
