//! `codeinfo ingest`: starts runs and shows their progress, or explains what is not indexed.

use std::{
    ffi::OsString,
    fs,
    path::{Component, Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use codeinfo_core::{OmissionRule, RunId, atomic, count_paths, error::ErrorCode};
use codeinfo_ingest::{
    FolderExplanation, RunCounts, RunState, RunStatus, discover, explain_folder, explain_form,
};
use codeinfo_server::replies::{ListedRoot, RootsReply, StartRunReply, StoredScip};
use codeinfo_worktree::{git::find_work_tree, private_places::PrivatePlaces};
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use serde_json::json;

use super::{
    ApiClient, CliError,
    print::{count_things, print_line, print_note, single_line},
};

const POLL: Duration = Duration::from_millis(100);
const UNKNOWN: u64 = u64::MAX;

/// Indexes folders one after the other. Only reports failures: the earlier index is still served.
pub async fn ingest_served_folders(client: &ApiClient, paths: &[PathBuf]) -> Result<(), CliError> {
    for path in paths {
        match ingest_folder(client, path, None, None, None).await {
            Err(error @ CliError::Run { .. }) => print_note(&error.to_string())?,
            Err(CliError::Refused { code, message })
                if code == ErrorCode::StoreUnavailable.as_str() =>
            {
                let folder = path.display();
                print_note(&format!("`{folder}` was not indexed: {message}"))?;
            }
            ended => ended?,
        }
    }
    Ok(())
}

/// Indexes the named folders one after the other, past failures; returns the last error.
pub(super) async fn ingest_named_folders(
    client: &ApiClient,
    paths: &[PathBuf],
    name: Option<String>,
    description: Option<String>,
    scip: Option<OsString>,
) -> Result<(), CliError> {
    if let [path] = paths {
        return ingest_folder(client, path, name, description, scip).await;
    }
    if name.is_some() || description.is_some() || scip.is_some() {
        return Err(CliError::SeveralFolders);
    }
    let mut failed = None;
    for path in paths {
        match ingest_folder(client, path, None, None, None).await {
            Err(CliError::Run { state, path, reason }) if state == RunState::Cancelled => {
                return Err(CliError::Run { state, path, reason });
            }
            Err(
                error @ (CliError::Run { .. } | CliError::Refused { .. } | CliError::Path { .. }),
            ) => {
                if let Some(earlier) = failed.replace(error) {
                    print_note(&earlier.to_string())?;
                }
            }
            ended => ended?,
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Indexes one folder with a progress bar, then gives it a SCIP index. Interrupts cancel it.
pub(super) async fn ingest_folder(
    client: &ApiClient,
    path: &Path,
    name: Option<String>,
    description: Option<String>,
    scip: Option<OsString>,
) -> Result<(), CliError> {
    if let Some(advice) = path.to_str().and_then(explain_form)
        && !path.try_exists().unwrap_or(false)
    {
        let message = format!("`{}` {advice}", path.display());
        let code = ErrorCode::ValidationFailed.as_str().to_owned();
        return Err(CliError::Refused { code, message });
    }
    let unusable =
        |path: &Path, source| CliError::Path { path: path.display().to_string(), source };
    let absolute = std::path::absolute(path).map_err(|source| unusable(path, source))?;
    let scip_path = scip.as_deref().map(Path::new).filter(|file| !file.as_os_str().is_empty());
    let open = |file: &Path| {
        let opened = atomic::open_regular_file(file, fs::File::options().read(true));
        opened.map_err(|source| unusable(file, source))
    };
    let scip_file = scip_path.map(open).transpose()?;
    let mut body = json!({ "path": absolute });
    for (key, value) in [("name", name), ("description", description)] {
        if let (Some(value), Some(body)) = (value, body.as_object_mut()) {
            body.insert(key.to_owned(), value.into());
        }
    }
    let StartRunReply { run_id } = client.post(&["ingest", "start"], &body).await?;
    let shown = clean_path(&absolute).display().to_string();
    let root = finish_run(client, &shown, run_id, print_line).await?;
    let Some(name) = scip else { return Ok(()) };
    let route = ["ingest", "scip", &root];
    let Some(file) = scip_file else {
        let StoredScip { .. } = client.delete(&route).await?;
        return print_line(&format!("{root} has no given SCIP index now"));
    };
    let StoredScip { files } = client.put_file(&route, file.into()).await?;
    let described = count_things(files as u64, "file");
    print_line(&format!("{} has {described} of {root}", name.display()))
}

/// Indexes a folder before it is searched; the summary goes to standard error, apart from results.
///
/// # Errors
///
/// The run is refused or does not complete.
pub async fn ingest_for_search(client: &ApiClient, folder: &Path) -> Result<(), CliError> {
    let StartRunReply { run_id } =
        client.post(&["ingest", "start"], &json!({ "path": folder })).await?;
    finish_run(client, &folder.display().to_string(), run_id, print_note).await.map(drop)
}

/// Returns an absolute path without `.` and `..`; also cleans `.@NAME`, a commit of the folder.
fn clean_path(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match (part, part.as_os_str().to_str().and_then(|part| part.strip_prefix(".@"))) {
            (Component::ParentDir, _) => drop(clean.pop()),
            (Component::Normal(_), Some(commit)) => {
                clean.as_mut_os_string().push(format!("@{commit}"));
            }
            _ => clean.push(part),
        }
    }
    clean
}

/// Embeds every repository again, one after the other, and reports failures without stopping.
pub async fn reembed_all(client: &ApiClient) -> Result<(), CliError> {
    let RootsReply { roots } = client.get(&["ingest", "roots"]).await?;
    for ListedRoot { id, path, .. } in roots {
        let shown = path.to_string_lossy();
        let reembedding = async {
            let route = ["ingest", "reembed", &id.to_string()];
            let StartRunReply { run_id } = client.post(&route, &json!({})).await?;
            finish_run(client, &shown, run_id, print_line).await
        };
        match reembedding.await {
            Err(error @ CliError::Run { .. }) => print_note(&error.to_string())?,
            Err(CliError::Refused { message, .. }) => {
                print_note(&format!("`{shown}` was not embedded again: {message}"))?;
            }
            ended => drop(ended?),
        }
    }
    Ok(())
}

type LinePrinter = fn(&str) -> Result<(), CliError>;

/// Follows a run to its end and prints its summary by `print_summary`. Returns the name of the root.
async fn finish_run(
    client: &ApiClient,
    path: &str,
    run: RunId,
    print_summary: LinePrinter,
) -> Result<String, CliError> {
    let id = run.to_string();
    let left = Arc::new(AtomicU64::new(UNKNOWN));
    let bar = build_progress_bar(&left);
    let ended = tokio::select! {
        ended = follow_run(client, &id, &bar, &left) => ended,
        _ = tokio::signal::ctrl_c() => {
            let path = ["ingest", "cancel", &id];
            client.post::<serde_json::Value>(&path, &json!({})).await?;
            follow_run(client, &id, &bar, &left).await
        }
    };
    let elapsed = bar.elapsed();
    bar.finish_and_clear();
    let status = ended?;
    report_run(path, &status, elapsed, print_summary)?;
    Ok(status.root)
}

async fn follow_run(
    client: &ApiClient,
    run: &str,
    bar: &ProgressBar,
    left: &AtomicU64,
) -> Result<RunStatus, CliError> {
    let mut shown = None;
    loop {
        let status: RunStatus = client.get(&["ingest", "status", run]).await?;
        left.store(status.eta_ms.unwrap_or(UNKNOWN), Ordering::Relaxed);
        // Without a length the bar is empty; with length 0 it would be full.
        if status.file_total > 0 {
            bar.set_length(status.file_total);
        }
        bar.set_position(status.file_index);
        bar.set_prefix(status.state.to_string());
        let now = status.message.as_ref().or(status.current_file.as_ref());
        bar.set_message(now.map(|now| single_line(now)).unwrap_or_default());
        match status.state {
            RunState::Queued | RunState::Scanning | RunState::Embedding => {}
            // The message was printed before.
            RunState::Completed | RunState::Skipped
                if shown.is_some() && status.message == shown =>
            {
                return Ok(RunStatus { message: None, ..status });
            }
            RunState::Completed | RunState::Skipped | RunState::Cancelled | RunState::Error => {
                return Ok(status);
            }
        }
        if bar.is_hidden() && status.message.is_some() && status.message != shown {
            shown = status.message;
            print_note(shown.as_deref().unwrap_or_default())?;
        }
        tokio::time::sleep(POLL).await;
    }
}

fn report_run(
    path: &str,
    status: &RunStatus,
    elapsed: Duration,
    print_summary: LinePrinter,
) -> Result<(), CliError> {
    let RunCounts { files, chunks, .. } = status.counts;
    let seconds = elapsed.as_secs_f64();
    let changes = match status.state {
        RunState::Completed => describe_changes(&status.counts),
        RunState::Skipped => ", nothing changed".to_owned(),
        state @ (RunState::Queued
        | RunState::Scanning
        | RunState::Embedding
        | RunState::Cancelled
        | RunState::Error) => {
            let reason = status.last_error.as_ref().or(status.message.as_ref());
            return Err(CliError::Run {
                path: path.to_owned(),
                state,
                reason: reason.cloned().unwrap_or_else(|| "earlier content is kept".to_owned()),
            });
        }
    };
    print_summary(&format!(
        "indexed {path} in {seconds:.1} s: {}, {}{changes}",
        count_things(files, "file"),
        count_things(chunks, "chunk")
    ))?;
    match &status.message {
        Some(message) => print_note(message),
        None => Ok(()),
    }
}

/// Describes the changes of a run: ` (12 new chunks, 1 deleted file)`.
fn describe_changes(counts: &RunCounts) -> String {
    let counted = [(counts.embedded, "new chunk"), (counts.deleted, "deleted file")];
    let nonzero = counted.into_iter().filter(|(count, _)| *count > 0);
    let changes: Vec<String> = nonzero.map(|(count, thing)| count_things(count, thing)).collect();
    if changes.is_empty() { String::new() } else { format!(" ({})", changes.join(", ")) }
}

/// Builds a progress bar on standard error, with the remaining time that the server estimates.
fn build_progress_bar(left: &Arc<AtomicU64>) -> ProgressBar {
    let left = Arc::clone(left);
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let template = "{prefix:9} [{bar:30}]{pace} {wide_msg}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        let pace = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let left_ms = left.load(Ordering::Relaxed);
            // Writing to the buffer of `indicatif` cannot fail.
            if let Some(files) = state.len().filter(|files| *files > 0) {
                write!(out, " {}/{files} files", state.pos()).ok();
            }
            if (1_000..UNKNOWN).contains(&left_ms) && state.pos() > 0 {
                let left = HumanDuration(Duration::from_millis(left_ms));
                write!(out, ", {left} left").ok();
            }
        };
        bar.set_style(style.with_key("pace", pace).progress_chars("=> "));
    }
    bar
}

pub fn explain_paths(
    paths: &[PathBuf],
    max_file_bytes: u64,
    private: &PrivatePlaces,
) -> Result<(), CliError> {
    for path in paths {
        let unreadable =
            |reason: String| CliError::Unreadable { path: path.display().to_string(), reason };
        let canonical_path =
            fs::canonicalize(path).map_err(|error| unreadable(error.to_string()))?;
        let is_folder = canonical_path.is_dir();
        let root = if is_folder {
            canonical_path.as_path()
        } else {
            find_repository_folder(&canonical_path)
        };
        let explained = explain_folder(root, max_file_bytes, private)
            .map_err(|error| unreadable(error.to_string()))?;
        if is_folder {
            print_all(root, &explained)?;
        } else {
            let below = discover::relative_path(root, &canonical_path).unwrap_or_default();
            print_one(&below, &explained)?;
        }
    }
    Ok(())
}

fn find_repository_folder(file: &Path) -> &Path {
    let folder = file.parent().unwrap_or(file);
    find_work_tree(folder).unwrap_or(folder)
}

fn print_all(root: &Path, explained: &FolderExplanation) -> Result<(), CliError> {
    let left_out = explained.count_omitted();
    let what = if explained.is_tracked { "files that git tracks" } else { "files and folders" };
    let folder = root.display();
    let total = explained.total;
    print_line(&format!("{folder}: {left_out} of {total} {what} are not indexed"))?;
    for (rule, paths) in &explained.omitted {
        let files = paths.values().sum::<usize>();
        print_line(&format!("{}: {files}{}", rule.as_str(), overrule_hint(*rule)))?;
        for (path, files) in paths {
            let is_counted = explained.is_tracked && path.ends_with('/');
            let count = is_counted.then(|| format!(" ({})", count_paths(0, *files as u64)));
            print_line(&format!("  {}{}", single_line(path), count.unwrap_or_default()))?;
        }
    }
    Ok(())
}

fn print_one(path: &str, explained: &FolderExplanation) -> Result<(), CliError> {
    let mut rules = explained.omitted.iter();
    let is_in = |known: &String| known == path || known.ends_with('/') && path.starts_with(known);
    match rules.find(|(_, paths)| paths.keys().any(is_in)) {
        Some((rule, _)) => {
            print_line(&format!("{path} is not indexed: {}{}", rule.as_str(), overrule_hint(*rule)))
        }
        None => print_line(&format!("{path} is indexed")),
    }
}

fn overrule_hint(rule: OmissionRule) -> &'static str {
    if rule.can_be_overruled() { "; `!PATH` in `.codeinfoignore` brings it in" } else { "" }
}

#[cfg(all(test, unix))]
mod tests {
    use super::{Path, clean_path};

    #[test]
    fn printed_paths_have_no_detours() {
        for (path, clean) in [
            ("/a/gin/../gin-wt", "/a/gin-wt"),
            ("/a/./gin/.@v1.9.1", "/a/gin@v1.9.1"),
            ("/a/gin@main", "/a/gin@main"),
            ("/../.config", "/.config"),
        ] {
            assert_eq!(clean_path(Path::new(path)), Path::new(clean));
        }
    }
}
