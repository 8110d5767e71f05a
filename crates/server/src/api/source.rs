//! `GET /source`: lines of an indexed file to look at.

use codeinfo_core::Within;
use codeinfo_http::{Response, reply};
use codeinfo_search::evidence::{Asked, Source, State};
use hyper::StatusCode;

use super::{
    Services,
    error::ApiError,
    parameters::{invalid, pairs, unknown},
};
use crate::replies::{LineShown, SourceShown};

/// What may stand in the query of the address.
#[derive(Default)]
struct Parameters {
    path: String,
    repository: Option<String>,
    asked: Asked,
}

impl Parameters {
    fn of(query: Option<&str>) -> Result<Self, ApiError> {
        let mut read = Self::default();
        for (name, value) in pairs(query) {
            let number = || {
                let number = value.parse().ok().filter(|number| *number >= 1);
                number.ok_or_else(|| invalid(&format!("`{name}` must be the number of a line")))
            };
            match &*name {
                "first" => read.asked.first = Some(number()?),
                "last" => read.asked.last = Some(number()?),
                "path" => read.path = value,
                "repository" => read.repository = Some(value),
                _ => return Err(unknown(&name, "`path`, `repository`, `first` and `last`")),
            }
        }
        if read.path.is_empty() {
            return Err(invalid("`path` is missing: give that of an indexed file"));
        }
        Ok(read)
    }
}

pub(super) async fn show(services: &Services, query: Option<&str>) -> Result<Response, ApiError> {
    let Parameters { path, repository, asked } = Parameters::of(query)?;
    let within = match repository {
        Some(named) => Within::Only(services.root(&named).await?.id),
        None => Within::Everything,
    };
    let source = services.evidence.source(&path, asked, within).await?;
    Ok(reply::json(StatusCode::OK, &shown(source)))
}

fn shown(Source { lines, marks, language, on_disk, permalink }: Source) -> SourceShown {
    let (state, changed) = match lines.state {
        State::Indexed => ("same", Vec::new()),
        State::Changed(changed) => ("changed", changed),
        State::Gone => ("gone", Vec::new()),
        State::Unreadable => ("unreadable", Vec::new()),
        State::Elsewhere(_) => ("elsewhere", Vec::new()),
    };
    let is_changed =
        |number: u32| changed.iter().any(|range| range.first <= number && number <= range.last);
    let first = lines.asked.first;
    let last = lines.lines.last().map_or(first, |(number, _)| *number);
    let line = |((number, text), marks): ((u32, String), Vec<codeinfo_chunk::Mark>)| LineShown {
        changed: is_changed(number),
        marks: marks.iter().map(mark).collect(),
        text,
    };
    SourceShown {
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

/// Writes a mark as the page reads it.
pub(super) fn mark(mark: &codeinfo_chunk::Mark) -> (u32, u32, char) {
    (mark.start, mark.end, mark.class.letter())
}
