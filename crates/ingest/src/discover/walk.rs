//! Walks a root through folder handles, so that no link is followed; applies bounded ignore files.

use std::{collections::HashMap, path::Path};

use codeinfo_core::OmissionRule;
use codeinfo_lang::vendored::{self, FolderContents};
use codeinfo_secrets::SecretNameCertainty;
use codeinfo_worktree::{
    beneath::{self, FolderEntry, FolderEntryKind, FolderHandle, RootDir},
    decode,
    git::TrackedPaths,
    ignored::{IgnoreRules, IgnoreVerdict, PatternUsage},
};

use super::{
    DiscoveredFile, WalkResult, is_ignore_file,
    secret_search::{self, FolderOwnership, UnwalkedFolder},
    walk_entry::{FolderNameHint, GIT, WalkContext, WalkEntry},
};
use crate::{
    error::IngestError,
    skip::{SkipReason, SkippedPath},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WalkMode {
    /// Files, including secrets.
    Files {
        max_bytes: u64,
        /// Names every excluded path.
        keeps_all_paths: bool,
    },
    Folders,
}

#[derive(Debug, Clone, Copy)]
struct WalkLimits {
    /// Maximum number of entries, including excluded ones.
    entries: usize,
    files: usize,
    /// Maximum bytes of all paths: a commit may have the same folder in a million places.
    path_bytes: usize,
}

/// Limits that keep the list of files within a few hundred megabytes.
const LIMITS: WalkLimits =
    WalkLimits { entries: 4_000_000, files: 1_000_000, path_bytes: 512 << 20 };

/// Walks an opened root, or its part in the scope of `context`.
pub(crate) fn walk_root(
    root: &RootDir,
    context: WalkContext<'_>,
    mode: WalkMode,
) -> Result<WalkResult, IngestError> {
    walk_within_limits(root, context, mode, LIMITS)
}

fn walk_within_limits(
    root: &RootDir,
    context: WalkContext<'_>,
    mode: WalkMode,
    limits: WalkLimits,
) -> Result<WalkResult, IngestError> {
    if let Some(place) = context.private.find_place(context.root_path) {
        return Err(IngestError::Private { path: context.root_path.to_owned(), place });
    }
    let mut walk = RootWalk {
        limits,
        root,
        context,
        mode,
        result: WalkResult::default(),
        entries: 0,
        path_bytes: 0,
        usage: PatternUsage::default(),
        unwalked: Vec::new(),
        tracked: None,
    };
    walk.result.omitted.keeps_all_paths =
        matches!(mode, WalkMode::Files { keeps_all_paths: true, .. });
    let mut pending = vec![WalkEntry::default()];
    while let Some(folder) = pending.pop() {
        walk.walk_folder(folder, &mut pending)?;
    }
    if mode != WalkMode::Folders {
        let secrets =
            secret_search::search_secrets(root, context, std::mem::take(&mut walk.unwalked))?;
        walk.result.private.extend(secrets);
    }
    context.pulse.mark_idle();
    walk.result.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(walk.result)
}

pub(super) struct RootWalk<'a> {
    limits: WalkLimits,
    pub(super) root: &'a RootDir,
    pub(super) context: WalkContext<'a>,
    mode: WalkMode,
    result: WalkResult,
    entries: usize,
    path_bytes: usize,
    pub(super) usage: PatternUsage,
    unwalked: Vec<UnwalkedFolder>,
    /// Paths that git tracks, loaded on first use.
    tracked: Option<TrackedPaths>,
}

impl RootWalk<'_> {
    fn walk_folder(
        &mut self,
        folder: WalkEntry,
        pending: &mut Vec<WalkEntry>,
    ) -> Result<(), IngestError> {
        let Some((handle, entries)) = self.list_folder(&folder)? else { return Ok(()) };
        let is_git_file =
            |entry: &FolderEntry| entry.name == GIT && entry.kind == FolderEntryKind::File;
        if !folder.is_root() && entries.iter().any(is_git_file) {
            self.skip_nested_repository(folder);
            return Ok(());
        }
        if let Some(rule) = self.find_inner_rule(&folder, &entries) {
            self.omit_folder(folder, rule, pending);
            return Ok(());
        }
        let rules = self.read_rules(&folder, &entries);
        self.record_folder(&folder);
        let is_area = folder.hint.is_some_and(|hint| hint.kind == FolderContents::Packages);
        let folder = WalkEntry { is_among_packages: folder.is_among_packages || is_area, ..folder };
        for entry in &entries {
            self.count_entry(&folder)?;
            let child = folder.child(entry, &rules);
            self.path_bytes += child.path.len();
            if !self.is_in_scope(&child, entry.kind) {
                continue;
            }
            match entry.kind {
                FolderEntryKind::Other => self.omit_file(OmissionRule::Link, &child.path),
                FolderEntryKind::Module => self.skip_path(child.path, SkipReason::Module),
                FolderEntryKind::File => self.classify_file(&handle, entry, child),
                FolderEntryKind::Folder if entry.name == GIT => {
                    self.keep_nested_git_private(&folder, &child);
                }
                FolderEntryKind::Folder => {
                    let siblings = entries.iter().filter_map(|entry| entry.name.to_str());
                    self.classify_folder(entry, child, siblings, pending);
                }
            }
        }
        Ok(())
    }

    /// Counts an entry of a folder. Fails if the walk is cancelled or exceeds a limit.
    fn count_entry(&mut self, folder: &WalkEntry) -> Result<(), IngestError> {
        self.context.pulse.beat();
        self.entries += 1;
        if self.context.cancel.is_cancelled() {
            return Err(IngestError::Cancelled);
        }
        let files = self.result.files.len() + self.result.skipped.len();
        let limits = [
            (self.entries, self.limits.entries, "entries"),
            (files, self.limits.files, "files"),
            (self.path_bytes, self.limits.path_bytes, "bytes of paths"),
        ];
        match limits.into_iter().find(|(count, limit, _)| count > limit) {
            None => Ok(()),
            Some((_, limit, unit)) => Err(IngestError::TooManyFiles {
                path: self.context.root_path.to_owned(),
                limit,
                unit,
                largest: self.find_largest_folder(folder),
            }),
        }
    }

    /// Returns the top-level folder with the most files, or the current folder if none has files.
    fn find_largest_folder(&self, current: &WalkEntry) -> String {
        let mut counts = HashMap::<&str, usize>::new();
        for file in &self.result.files {
            if let Some((folder, _)) = file.path.split_once('/') {
                *counts.entry(folder).or_default() += 1;
            }
        }
        let largest = counts.into_iter().max_by_key(|(_, count)| *count);
        largest.map_or(current.path.as_str(), |(folder, _)| folder).to_owned()
    }

    fn classify_folder<'e>(
        &mut self,
        entry: &FolderEntry,
        mut child: WalkEntry,
        siblings: impl Iterator<Item = &'e str>,
        pending: &mut Vec<WalkEntry>,
    ) {
        if let Some(place) = self.context.private_place(&child.os_path) {
            self.keep_private(&child);
            let is_own = place.is_own();
            let rule = if is_own { OmissionRule::OwnData } else { OmissionRule::Secret };
            self.result.omitted.add_folder(rule, &child.path);
        } else if codeinfo_secrets::is_private_folder(&child.os_path) {
            self.keep_private(&child);
            self.result.omitted.add_folder(OmissionRule::Secret, &child.path);
        } else if child.rules.requests(&child.path, true) {
            let requested = WalkEntry {
                rule_unless_requested: None,
                is_among_packages: false,
                is_ignored_by_git: false,
                ..child
            };
            pending.push(requested);
        } else {
            let hint = vendored::expected_contents(&child.os_path).map(|kind| FolderNameHint {
                kind,
                has_siblings: vendored::fits_beside(&child.os_path, siblings),
            });
            let rule = self
                .find_own_rule(&mut child, entry, FolderEntryKind::Folder)
                .or(child.rule_unless_requested);
            match (rule, hint) {
                // The kind of the folder is more precise than an ignore file.
                (Some(_), Some(hint)) if hint.has_siblings => {
                    self.omit_folder(child, rule_for_contents(hint.kind), pending);
                }
                (Some(rule), _) => self.omit_folder(child, rule, pending),
                (None, hint) => pending.push(WalkEntry { hint, ..child }),
            }
        }
    }

    /// Returns the rule that excludes a folder because of its contents.
    fn find_inner_rule(
        &mut self,
        folder: &WalkEntry,
        entries: &[FolderEntry],
    ) -> Option<OmissionRule> {
        let is_open = folder.is_root() || folder.rule_unless_requested.is_some();
        if is_open || folder.rules.requests(&folder.path, true) {
            return None;
        }
        if vendored::has_cache_marker(|name| entries.iter().any(|entry| entry.name == name)) {
            return Some(OmissionRule::Built);
        }
        if folder.hint.is_none() && !folder.is_among_packages {
            return None;
        }
        let inside: Vec<&str> = entries.iter().filter_map(|entry| entry.name.to_str()).collect();
        let is_area = folder.hint.is_some_and(|hint| hint.kind == FolderContents::Packages);
        if (is_area || folder.is_among_packages) && vendored::is_package(&inside) {
            return Some(OmissionRule::Vendored);
        }
        let hint = folder.hint?;
        let fits = hint.has_siblings && vendored::fits_inside(&folder.os_path, &inside);
        let is_output = hint.kind == FolderContents::Outputs;
        let is_excluded = vendored::has_marker(&folder.os_path, &inside)
            || fits && !(is_output && self.is_tracked(&folder.path, FolderEntryKind::Folder));
        is_excluded.then(|| rule_for_contents(hint.kind))
    }

    /// Returns true if git tracks a file, or a file in a folder.
    fn is_tracked(&mut self, path: &str, kind: FolderEntryKind) -> bool {
        if self.root.is_fixed() {
            return true;
        }
        let root_path = self.context.root_path;
        let tracked = self.tracked.get_or_insert_with(|| TrackedPaths::read_worktree(root_path));
        if kind == FolderEntryKind::Folder {
            tracked.has_below(path)
        } else {
            tracked.has_file(path)
        }
    }

    /// Returns the rule by which ignore files or a hidden name exclude an entry. Ignore files of
    /// git do not affect the files that git tracks.
    fn find_own_rule(
        &mut self,
        child: &mut WalkEntry,
        entry: &FolderEntry,
        kind: FolderEntryKind,
    ) -> Option<OmissionRule> {
        let verdict = child.rules.match_path(&child.path, kind == FolderEntryKind::Folder);
        child.is_ignored_by_git |= verdict == IgnoreVerdict::IgnoredByGit;
        match verdict {
            IgnoreVerdict::Ignored => return Some(OmissionRule::Ignored),
            IgnoreVerdict::Kept => return None,
            IgnoreVerdict::Silent | IgnoreVerdict::IgnoredByGit => {}
        }
        if child.is_ignored_by_git && !self.is_tracked(&child.path, kind) {
            return Some(OmissionRule::Ignored);
        }
        let is_hidden = entry.name.as_encoded_bytes().starts_with(b".");
        let is_hidden = is_hidden && !codeinfo_secrets::is_settings_example(&child.path);
        is_hidden.then_some(OmissionRule::Hidden)
    }

    /// Skips a submodule or a worktree: its `.git` is a file, its files are another repository's.
    fn skip_nested_repository(&mut self, folder: WalkEntry) {
        // If that file is deleted, the folder becomes a normal one.
        self.record_folder(&folder);
        if self.is_covered(&folder) {
            self.skip_path(folder.path.clone(), SkipReason::Module);
        }
        self.search_later(folder, FolderOwnership::Own);
    }

    fn record_folder(&mut self, folder: &WalkEntry) {
        let is_named = folder.is_utf8 || folder.is_root();
        if self.mode == WalkMode::Folders && is_named && self.is_covered(folder) {
            self.result.folders.push(folder.os_path.clone());
        }
    }

    fn is_covered(&self, folder: &WalkEntry) -> bool {
        self.context.scope.is_none_or(|scope| scope.covers(&folder.path))
    }

    /// Excludes a folder by a rule, unless a pattern requests something in it.
    fn omit_folder(&mut self, folder: WalkEntry, rule: OmissionRule, pending: &mut Vec<WalkEntry>) {
        if folder.rules.requests_below(&folder.path) {
            pending.push(WalkEntry { rule_unless_requested: Some(rule), hint: None, ..folder });
            return;
        }
        self.result.omitted.add_folder(rule, &folder.path);
        let is_own = matches!(rule, OmissionRule::Ignored | OmissionRule::Hidden);
        self.search_later(
            folder,
            if is_own { FolderOwnership::Own } else { FolderOwnership::Vendored },
        );
    }

    fn omit_file(&mut self, rule: OmissionRule, path: &str) {
        if self.mode != WalkMode::Folders {
            self.result.omitted.add_file(rule, path);
        }
    }

    /// Adds a folder to the search for secrets, without its rules, which would only use memory.
    fn search_later(&mut self, folder: WalkEntry, ownership: FolderOwnership) {
        self.unwalked.push(UnwalkedFolder {
            folder: WalkEntry { rules: IgnoreRules::default(), ..folder },
            ownership,
        });
    }

    /// Opens and lists a folder; returns `None` if it is unreadable.
    fn list_folder(
        &mut self,
        folder: &WalkEntry,
    ) -> Result<Option<(FolderHandle, Vec<FolderEntry>)>, IngestError> {
        let listed = self.root.open_folder(&folder.os_path).and_then(|mut handle| {
            let mut entries = Vec::new();
            for entry in handle.list_entries() {
                self.context.pulse.beat();
                if self.context.cancel.is_cancelled() || entries.len() > self.limits.entries {
                    break;
                }
                entries.push(entry?);
            }
            Ok((handle, entries))
        });
        if self.context.cancel.is_cancelled() {
            return Err(IngestError::Cancelled);
        }
        match listed {
            Ok(listed) => Ok(Some(listed)),
            Err(_) if folder.is_root() => {
                let path = self.context.root_path.to_owned();
                Err(IngestError::Path { path, reason: "cannot be read" })
            }
            Err(error) => {
                self.skip_path(folder.path.clone(), SkipReason::from_io_error(&error));
                Ok(None)
            }
        }
    }

    fn is_in_scope(&self, child: &WalkEntry, kind: FolderEntryKind) -> bool {
        let Some(scope) = self.context.scope else { return true };
        // Scopes contain only UTF-8 names.
        let leads = kind == FolderEntryKind::Folder && scope.leads_through(&child.path);
        child.is_utf8 && (leads || scope.covers(&child.path))
    }

    pub(super) fn skip_path(&mut self, path: String, reason: SkipReason) {
        self.result.skipped.push(SkippedPath { path, reason });
    }

    /// Records the `.git` of a nested repository as a secret, as it may hold a remote's password.
    /// The root's own is judged by its content when the shell's sandbox is set up.
    fn keep_nested_git_private(&mut self, folder: &WalkEntry, git: &WalkEntry) {
        if !folder.is_root() {
            self.keep_private(git);
        }
    }

    fn keep_private(&mut self, secret: &WalkEntry) {
        self.result.private.extend(secret.nearest_utf8());
    }

    fn classify_file(&mut self, handle: &FolderHandle, entry: &FolderEntry, child: WalkEntry) {
        let WalkMode::Files { max_bytes, .. } = self.mode else { return };
        let name = codeinfo_secrets::secret_name(&child.path);
        if name == Some(SecretNameCertainty::Certain)
            || self.context.private_place(&child.os_path).is_some()
        {
            self.keep_private(&child);
            // The name itself may contain a secret.
            self.omit_file(
                OmissionRule::Secret,
                &codeinfo_secrets::redact_secrets("", None, &child.path).text,
            );
            return;
        }
        let (file, before) = (child.clone(), self.result.files.len());
        self.admit_file(handle, entry, child, max_bytes);
        if name == Some(SecretNameCertainty::Doubtful) {
            if before < self.result.files.len() {
                self.result.doubtful.insert(file.path);
            } else {
                // Its content will not be read.
                self.keep_private(&file);
            }
        }
    }

    /// Adds a file that is not certainly a secret to the files, the skipped or the excluded ones.
    fn admit_file(
        &mut self,
        handle: &FolderHandle,
        entry: &FolderEntry,
        mut child: WalkEntry,
        max_bytes: u64,
    ) {
        let name = entry.name.to_string_lossy();
        let is_requested = child.rules.requests(&child.path, false);
        let rule_unless_requested = child.rule_unless_requested.filter(|_| !is_requested);
        if let Some(rule) =
            self.find_own_rule(&mut child, entry, FolderEntryKind::File).or(rule_unless_requested)
        {
            // Ignore files are read but not indexed.
            if !is_ignore_file(&name) {
                self.omit_file(rule, &child.path);
            }
            return;
        }
        if !child.is_utf8 {
            self.skip_path(child.path, SkipReason::PathNotUtf8);
            return;
        }
        let is_generated = child.rules.is_generated(&child.path);
        let is_kept = |rule: &OmissionRule| {
            is_requested || (*rule == OmissionRule::Generated && is_generated == Some(false))
        };
        let is_marked = is_generated == Some(true);
        let rule =
            OmissionRule::for_file_name(&name).or(is_marked.then_some(OmissionRule::Generated));
        if let Some(rule) = rule.filter(|rule| !is_kept(rule)) {
            self.omit_file(rule, &child.path);
            return;
        }
        let path = child.path;
        match handle.read_facts(entry) {
            Ok(Some(facts)) if max_bytes < facts.size => {
                if self.is_binary(&path) {
                    self.omit_file(OmissionRule::Binary, &path);
                } else {
                    self.skip_path(path, SkipReason::TooLarge);
                }
            }
            // Files with a time of 0 are always read.
            Ok(Some(facts)) => self.result.files.push(DiscoveredFile {
                path,
                size: facts.size,
                modified_ns: facts.modified_ns,
                is_requested: is_requested || is_generated == Some(false),
            }),
            Ok(None) => {}
            Err(error) => self.skip_path(path, SkipReason::from_io_error(&error)),
        }
    }

    /// Returns true if a file begins with binary data; files of commits are not unpacked for this.
    fn is_binary(&self, path: &str) -> bool {
        let read = |(file, _)| {
            beneath::read_to_limit(file, decode::HEAD_BYTES as u64, || self.context.pulse.beat())
        };
        if self.root.is_fixed() {
            return false;
        }
        let head = self.root.open_file(Path::new(path)).and_then(read);
        head.is_ok_and(|head| decode::is_binary(&head))
    }
}

fn rule_for_contents(kind: FolderContents) -> OmissionRule {
    match kind {
        FolderContents::Packages => OmissionRule::Vendored,
        FolderContents::Outputs => OmissionRule::Built,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use codeinfo_worktree::{beneath::RootDir, private_places::ResolvedPlaces};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::io_watchdog::IoHeartbeat;

    const AMPLE: WalkLimits = WalkLimits { entries: 100, files: 100, path_bytes: 1_000 };

    #[test]
    fn a_root_above_a_limit_is_refused_with_its_largest_folder() {
        let root = tempfile::tempdir().unwrap();
        for (folder, files) in [("few", 1), ("many", 8), ("some", 2)] {
            fs::create_dir(root.path().join(folder)).unwrap();
            for file in 0..files {
                fs::write(root.path().join(format!("{folder}/{file}.rs")), "fn a() {}").unwrap();
            }
        }
        let walk = |limits| {
            let (cancel, pulse) = (CancellationToken::new(), IoHeartbeat::default());
            let private = &ResolvedPlaces::default();
            let root_path = root.path();
            let context =
                WalkContext { root_path, scope: None, private, cancel: &cancel, pulse: &pulse };
            let mode = WalkMode::Files { max_bytes: 100, keeps_all_paths: false };
            let walked =
                walk_within_limits(&RootDir::open(root.path()).unwrap(), context, mode, limits);
            walked.map(|result| result.files.len()).map_err(|error| error.to_string())
        };
        assert_eq!(walk(AMPLE), Ok(11));
        for (limits, limit) in [
            (WalkLimits { entries: 12, ..AMPLE }, "12 entries"),
            (WalkLimits { files: 9, ..AMPLE }, "9 files"),
            (WalkLimits { path_bytes: 90, ..AMPLE }, "90 bytes of paths"),
        ] {
            let refused = walk(limits).unwrap_err();
            assert!(
                refused.contains(&format!("holds more than {limit}, most of them below `many`")),
                "{refused}"
            );
        }
    }
}
