//! `GET /repositories/{repo}`: details of one repository.

use codeinfo_http::{Response, reply};
use codeinfo_ingest::{LanguageCount, PastRun, RootDetails, WatchStatus};
use hyper::StatusCode;

use super::{ApiServices, error::ApiError, ingest};
use crate::replies::{EndedRun, LanguageShare, SkippedFile, WatchState, WholeRepository};

/// Shows the repository with a name, id or path.
pub(super) async fn show_repository(
    services: &ApiServices,
    reference: &str,
) -> Result<Response, ApiError> {
    let RootDetails { status, languages, last_run, watching, size } =
        services.ingest.describe_root(reference).await?;
    let repository = WholeRepository {
        root: ingest::build_listed_root(status, services),
        languages: languages.into_iter().map(build_language_share).collect(),
        last_run: last_run.map(build_ended_run),
        watch: build_watch_state(watching),
        bytes: size.map(|size| size.bytes),
        bytes_estimated: size.is_some_and(|size| size.is_estimate),
    };
    Ok(reply::json_response(StatusCode::OK, &repository))
}

fn build_language_share(LanguageCount { language, files, chunks }: LanguageCount) -> LanguageShare {
    LanguageShare { language: language.map(str::to_owned), files, chunks }
}

fn build_ended_run(run: PastRun) -> EndedRun {
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

fn build_watch_state(watching: WatchStatus) -> WatchState {
    let (state, reason) = match watching {
        WatchStatus::On => ("watching", None),
        WatchStatus::Off => ("off", None),
        WatchStatus::Failed(reason) => ("failed", Some(reason)),
    };
    WatchState { state: state.to_owned(), reason }
}
