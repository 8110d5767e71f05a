//! `GET /source`: highlighted lines of an indexed file.

use codeinfo_core::RootFilter;
use codeinfo_evidence::{HighlightedSource, IndexedFileState, RequestedLines};
use codeinfo_http::{Response, reply};
use hyper::StatusCode;
use serde::{Deserialize, Serialize};

use super::{
    ApiServices,
    error::ApiError,
    parameters::{invalid_argument, parse_query, unknown_parameter},
};

/// Start, end and letter of the class of a mark, in UTF-16 code units.
pub(super) type EncodedMark = (u32, u32, char);

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceLines {
    /// Absolute path as the client sees it.
    pub path: String,
    pub rel_path: String,
    pub repo: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    pub total: u32,
    pub first: u32,
    pub last: u32,
    pub lines: Vec<SourceLine>,
    /// One of `same`, `changed`, `gone`, `unreadable`, `elsewhere` and `committed`.
    pub state: String,
    /// True if there is a file at `path`.
    pub on_disk: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permalink: Option<String>,
    /// Text to append to `permalink` for the lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_anchor: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct SourceLine {
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<EncodedMark>,
    /// True if the line differs from the indexed one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
}

#[derive(Default)]
struct SourceParameters {
    path: String,
    repository: Option<String>,
    commit: Option<String>,
    asked: RequestedLines,
}

impl SourceParameters {
    fn parse(query: Option<&str>) -> Result<Self, ApiError> {
        let mut read = Self::default();
        for (name, value) in parse_query(query) {
            let number = || {
                let number = value.parse().ok().filter(|number| *number >= 1);
                number.ok_or_else(|| {
                    invalid_argument(&format!("`{name}` must be the number of a line"))
                })
            };
            match &*name {
                "first" => read.asked.first = Some(number()?),
                "last" => read.asked.last = Some(number()?),
                "path" => read.path = value,
                "repository" => read.repository = Some(value),
                "commit" => read.commit = Some(value),
                _ => {
                    return Err(unknown_parameter(
                        &name,
                        "`path`, `repository`, `commit`, `first` and `last`",
                    ));
                }
            }
        }
        if read.path.is_empty() {
            return Err(invalid_argument("`path` is missing: give that of an indexed file"));
        }
        Ok(read)
    }
}

pub(super) async fn show_source(
    services: &ApiServices,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    let SourceParameters { path, repository, commit, asked } = SourceParameters::parse(query)?;
    let within = match repository {
        Some(named) => RootFilter::Only(services.resolve_root(&named).await?.id),
        None => RootFilter::Everything,
    };
    let source = match commit {
        Some(commit) => {
            services.evidence.read_committed_source(&path, commit, asked, within).await?
        }
        None => services.evidence.read_highlighted_source(&path, asked, within).await?,
    };
    Ok(reply::json_response(StatusCode::OK, &build_source_lines(source)))
}

fn build_source_lines(
    HighlightedSource { lines, marks, language, on_disk, permalink }: HighlightedSource,
) -> SourceLines {
    let (state, changed) = match lines.state {
        IndexedFileState::Indexed => ("same", Vec::new()),
        IndexedFileState::Changed(changed) => ("changed", changed),
        IndexedFileState::Deleted => ("gone", Vec::new()),
        IndexedFileState::Unreadable => ("unreadable", Vec::new()),
        IndexedFileState::OnOtherHost(_) => ("elsewhere", Vec::new()),
        IndexedFileState::Committed => ("committed", Vec::new()),
    };
    let is_changed =
        |number: u32| changed.iter().any(|range| range.first <= number && number <= range.last);
    let first = lines.asked.first;
    let last = lines.lines.last().map_or(first, |(number, _)| *number);
    let line =
        |((number, text), marks): ((u32, String), Vec<codeinfo_chunk::HighlightMark>)| SourceLine {
            changed: is_changed(number),
            marks: marks.iter().map(encode_mark).collect(),
            text,
        };
    SourceLines {
        path: lines.file.path,
        rel_path: lines.file.rel_path,
        repo: lines.file.repo,
        language: language.map(str::to_owned),
        total: lines.total,
        first,
        last,
        lines: lines.lines.into_iter().zip(marks).map(line).collect(),
        state: state.to_owned(),
        on_disk,
        line_anchor: permalink.as_ref().map(|link| link.lines.to_owned()),
        permalink: permalink.map(|link| link.address),
    }
}

pub(super) fn encode_mark(mark: &codeinfo_chunk::HighlightMark) -> EncodedMark {
    (mark.start, mark.end, mark.class.letter())
}
