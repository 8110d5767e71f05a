//! `check`: checks citations in documents against their repository, for people, editors and CI.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    path::{Path, PathBuf},
};

use codeinfo_citations::{
    ChangedLinesPolicy, DocumentChecker, DocumentCitationState, DocumentError, DocumentFinding,
    DocumentTree, LOCK_FILE, is_markdown,
};
use codeinfo_core::paths::is_below;
use codeinfo_ingest::discover;
use codeinfo_worktree::{git::find_work_tree, ignore_files::IgnoreFiles};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    CliError,
    args::CheckCommand,
    print::{count_things, print_json, print_line, print_note, single_line},
};

/// Maximum size of a listed file; larger ones are not read.
const MAX_LISTED_BYTES: u64 = 8 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckOutcome {
    Right,
    Wrong,
    /// A file could not be read or written; the reason is already printed.
    Failed,
}

#[derive(Default)]
struct CheckTargets {
    documents: Vec<String>,
    /// Folders below the root whose documents are all checked.
    folders: Vec<String>,
}

#[derive(Default)]
struct CheckFindings {
    findings: Vec<(PathBuf, DocumentFinding)>,
    documents: usize,
    unchecked: usize,
    /// Number of citations that the lock files lack.
    unlocked: usize,
    failures: Vec<DocumentError>,
}

/// Checks documents. Blocks on the file system.
pub fn check_citations(arguments: &CheckCommand) -> Result<CheckOutcome, CliError> {
    let here = canonicalize_path(Path::new("."))?;
    let mut roots: BTreeMap<PathBuf, CheckTargets> = BTreeMap::new();
    if arguments.paths.is_empty() {
        let root = find_root_folder(&here);
        roots
            .insert(root, CheckTargets { folders: vec![String::new()], ..CheckTargets::default() });
    }
    for path in &arguments.paths {
        let canonical_path = canonicalize_path(path)?;
        let is_folder = canonical_path.is_dir();
        let folder = if is_folder {
            &canonical_path
        } else {
            canonical_path.parent().unwrap_or(&canonical_path)
        };
        let root = find_root_folder(folder);
        let relative = discover::relative_path(&root, &canonical_path);
        let below =
            relative.ok_or_else(|| unreadable_path(path, "its name is not UTF-8".to_owned()))?;
        let targets = roots.entry(root).or_default();
        if is_folder { targets.folders.push(below) } else { targets.documents.push(below) }
    }
    let mut found = CheckFindings::default();
    for (root, targets) in roots {
        check_repository(&root, targets, arguments, &mut found)?;
    }
    print_report(&here, &found, arguments)
}

fn check_repository(
    root: &Path,
    targets: CheckTargets,
    arguments: &CheckCommand,
    found: &mut CheckFindings,
) -> Result<(), CliError> {
    let discovered = discover::discover_files(root, MAX_LISTED_BYTES, &CancellationToken::new());
    let listed = discovered.map_err(|error| unreadable_path(root, error.to_string()))?;
    let files: Vec<String> = listed.files.into_iter().map(|file| file.path).collect();
    let is_wanted = |path: &&String| {
        is_markdown(path) && targets.folders.iter().any(|folder| is_below(path, folder))
    };
    let mut documents: Vec<String> = files.iter().filter(is_wanted).cloned().collect();
    documents.extend(targets.documents);
    documents.sort_unstable();
    documents.dedup();

    let ignores =
        IgnoreFiles::open(root).map_err(|error| unreadable_path(root, error.to_string()))?;
    let opened = DocumentTree::open(root, files, Box::new(move |path| ignores.is_ignored(path)));
    let tree = opened.map_err(|error| unreadable_path(root, error.to_string()))?;
    let on_change =
        if arguments.accept { ChangedLinesPolicy::Accept } else { ChangedLinesPolicy::Report };
    let fixes_files = arguments.fix || arguments.accept;
    let open = if fixes_files { DocumentChecker::open_to_fix } else { DocumentChecker::open };
    let mut checker = open(tree, on_change)?;
    if arguments.json {
        checker = checker.with_hashes();
    }
    let mut examined = Vec::new();
    let mut findings = Vec::<DocumentFinding>::new();
    for path in &documents {
        match checker.check_document(path) {
            Ok(mut document) => {
                found.documents += 1;
                found.unchecked += document.unchecked;
                found.unlocked += document.unlocked;
                findings.append(&mut document.findings);
                examined.push(document);
            }
            Err(error) => found.failures.push(error),
        }
    }
    if fixes_files {
        let failures = checker.apply_fixes(examined);
        let unwritten: HashSet<&str> = failures.iter().filter_map(DocumentError::path).collect();
        for finding in &mut findings {
            let needed = [finding.document.as_str(), LOCK_FILE];
            finding.is_fixable &= !needed.iter().any(|path| unwritten.contains(path));
        }
        found.failures.extend(failures);
    }
    found
        .findings
        .extend(findings.into_iter().map(|finding| (root.join(&finding.document), finding)));
    Ok(())
}

/// Prints each problem in a line, or all citations as JSON, then a summary.
fn print_report(
    here: &Path,
    found: &CheckFindings,
    arguments: &CheckCommand,
) -> Result<CheckOutcome, CliError> {
    let fixes_files = arguments.fix || arguments.accept;
    let mut counts = BTreeMap::<&str, u64>::new();
    let mut has_open_problems = false;
    for (document, finding) in &found.findings {
        let state = match finding.checked.state {
            DocumentCitationState::Verified => "verified",
            DocumentCitationState::Moved => "moved",
            DocumentCitationState::Changed => "changed",
            DocumentCitationState::Missing => "missing",
        };
        *counts.entry(state).or_default() += 1;
        let Some(message) = &finding.message else { continue };
        let is_fixed = fixes_files && finding.is_fixable;
        has_open_problems |= !is_fixed;
        if !arguments.json {
            let relative = document.strip_prefix(here).unwrap_or(document).to_string_lossy();
            let mut shown = single_line(&relative);
            let written = single_line(&finding.written);
            if shown.starts_with("::") {
                // CI services would read such a line as a command.
                shown.insert_str(0, "./");
            }
            let note = if is_fixed { " (mended)" } else { "" };
            let DocumentFinding { line, column, .. } = finding;
            print_line(&format!("{shown}:{line}:{column}: {written}: {message}{note}"))?;
        }
    }
    if arguments.json {
        let list: Vec<&DocumentFinding> =
            found.findings.iter().map(|(_, finding)| finding).collect();
        print_json(&json!(list))?;
    }
    let counted_states = ["verified", "moved", "changed", "missing"]
        .into_iter()
        .filter_map(|state| counts.get(state).map(|count| format!("{count} {state}")));
    let mut parts: Vec<String> = counted_states.collect();
    if found.unchecked > 0 {
        parts.push(format!("{} not read", found.unchecked));
    }
    let citations = count_things((found.findings.len() + found.unchecked) as u64, "citation");
    let documents = count_things(found.documents as u64, "document");
    let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    print_note(&format!("{documents}, {citations}{parts}"))?;
    if found.unlocked > 0 && !fixes_files {
        let count = found.unlocked;
        print_note(&format!("{count} not in {LOCK_FILE} yet; `codeinfo check --fix` adds them"))?;
    }
    for failure in &found.failures {
        print_note(&format!("codeinfo: {}", single_line(&failure.to_string())))?;
    }
    if !found.failures.is_empty() {
        return Ok(CheckOutcome::Failed);
    }
    Ok(if has_open_problems { CheckOutcome::Wrong } else { CheckOutcome::Right })
}

/// Returns the Git work tree around a folder, or the folder itself.
fn find_root_folder(folder: &Path) -> PathBuf {
    find_work_tree(folder).unwrap_or(folder).to_owned()
}

fn canonicalize_path(path: &Path) -> Result<PathBuf, CliError> {
    fs::canonicalize(path).map_err(|error| unreadable_path(path, error.to_string()))
}

fn unreadable_path(path: &Path, reason: String) -> CliError {
    CliError::Unreadable { path: path.display().to_string(), reason }
}
