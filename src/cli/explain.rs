//! Prints the files of a folder that are not indexed, with reasons.

use std::{
    fs,
    path::{Path, PathBuf},
};

use codeinfo_core::{OmissionRule, count_paths};
use codeinfo_ingest::{FolderExplanation, discover, explain_folder};
use codeinfo_worktree::{git::find_work_tree, private_places::PrivatePlaces};

use super::{CliError, print};

/// Explains folders, or whether a single file is indexed.
pub fn explain_paths(
    paths: &[PathBuf],
    max_file_bytes: u64,
    private: &PrivatePlaces,
) -> Result<(), CliError> {
    for path in paths {
        let unreadable =
            |reason: String| CliError::Unreadable { path: path.display().to_string(), reason };
        let whole = fs::canonicalize(path).map_err(|error| unreadable(error.to_string()))?;
        let is_folder = whole.is_dir();
        let root = if is_folder { whole.as_path() } else { find_repository_folder(&whole) };
        let explained = explain_folder(root, max_file_bytes, private)
            .map_err(|error| unreadable(error.to_string()))?;
        if is_folder {
            print_all(root, &explained)?;
        } else {
            let below = discover::relative_path(root, &whole).unwrap_or_default();
            print_one(&below, &explained)?;
        }
    }
    Ok(())
}

/// Returns the repository around a file, or its folder.
fn find_repository_folder(file: &Path) -> &Path {
    let folder = file.parent().unwrap_or(file);
    find_work_tree(folder).unwrap_or(folder)
}

fn print_all(root: &Path, explained: &FolderExplanation) -> Result<(), CliError> {
    let left_out = explained.count_omitted();
    let what = if explained.is_tracked { "files that git tracks" } else { "files and folders" };
    let folder = root.display();
    let total = explained.total;
    print::print_line(&format!("{folder}: {left_out} of {total} {what} are not indexed"))?;
    for (rule, paths) in &explained.omitted {
        let files = paths.values().sum::<usize>();
        print::print_line(&format!("{}: {files}{}", rule.as_str(), overrule_hint(*rule)))?;
        for (path, files) in paths {
            let is_counted = explained.is_tracked && path.ends_with('/');
            let count = is_counted.then(|| format!(" ({})", count_paths(0, *files as u64)));
            print::print_line(&format!(
                "  {}{}",
                print::single_line(path),
                count.unwrap_or_default()
            ))?;
        }
    }
    Ok(())
}

fn print_one(path: &str, explained: &FolderExplanation) -> Result<(), CliError> {
    let mut rules = explained.omitted.iter();
    let is_in = |known: &String| known == path || known.ends_with('/') && path.starts_with(known);
    match rules.find(|(_, paths)| paths.keys().any(is_in)) {
        Some((rule, _)) => print::print_line(&format!(
            "{path} is not indexed: {}{}",
            rule.as_str(),
            overrule_hint(*rule)
        )),
        None => print::print_line(&format!("{path} is indexed")),
    }
}

fn overrule_hint(rule: OmissionRule) -> &'static str {
    if rule.can_be_overruled() { "; `!PATH` in `.codeinfoignore` brings it in" } else { "" }
}
