//! `GET /repositories/{repo}`: what is known of one repository.

use codeinfo_http::{Response, reply};
use codeinfo_ingest::{About, LanguageCount, PastRun, Watching};
use hyper::StatusCode;

use super::{Services, error::ApiError, ingest};
use crate::replies::{EndedRun, LanguageShare, SkippedFile, WatchState, WholeRepository};

/// Shows a repository, by name, id or path.
pub(super) async fn read(services: &Services, reference: &str) -> Result<Response, ApiError> {
    let About { status, languages, last_run, watching, size } =
        services.ingest.about(reference).await?;
    let repository = WholeRepository {
        root: ingest::listed(status, services),
        languages: languages.into_iter().map(share).collect(),
        last_run: last_run.map(ended),
        watch: watch(watching),
        bytes: size.map(|size| size.bytes),
        bytes_estimated: size.is_some_and(|size| size.is_estimate),
    };
    Ok(reply::json(StatusCode::OK, &repository))
}

fn share(LanguageCount { language, files, chunks }: LanguageCount) -> LanguageShare {
    LanguageShare { language: language.map(str::to_owned), files, chunks }
}

fn ended(run: PastRun) -> EndedRun {
    let named = run.missing.named.into_iter();
    EndedRun {
        state: run.state,
        started_at: run.started_at.to_string(),
        ended_at: run.ended_at.to_string(),
        counts: run.counts,
        message: run.message,
        skipped: named.map(|(path, reason)| SkippedFile { path, reason }).collect(),
        skipped_total: run.missing.total,
    }
}

fn watch(watching: Watching) -> WatchState {
    let (state, reason) = match watching {
        Watching::On => ("watching", None),
        Watching::Off => ("off", None),
        Watching::Failed(reason) => ("failed", Some(reason)),
    };
    WatchState { state: state.to_owned(), reason }
}
