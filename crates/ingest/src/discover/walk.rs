//! Walks a root through handles of its folders, so that no link is followed, and applies bounded
//! ignore files.

use std::path::Path;

use codeinfo_lang::{
    detect::{MachineFile, detect_machine_file},
    vendored::{self, FolderContents},
};

use super::{
    DiscoveredFile, WalkResult,
    ignored::{IgnoreRules, IgnoreVerdict, PatternUsage},
    is_ignore_file,
    search::{self, FolderOwnership, UnwalkedFolder},
    way::{FolderNameHint, GIT, WalkContext, WalkEntry},
};
use crate::{
    error::IngestError,
    skip::{SkipReason, SkippedPath},
};

mod bounds;
mod rules;

use bounds::{BOUNDS, WalkLimits};
use codeinfo_core::OmissionRule;
use codeinfo_secrets::SecretNameCertainty;
use codeinfo_worktree::{
    beneath::{self, FolderEntry, FolderEntryKind, FolderHandle, RootDir},
    decode,
    git::TrackedPaths,
};

/// Kind of result of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WalkMode {
    /// Files, including secrets.
    Files {
        max_bytes: u64,
        /// Names every excluded path.
        keeps_all_paths: bool,
    },
    /// Only folders.
    Folders,
}

/// Walks the part of a root that `way` covers.
pub(super) fn walk_in_scope(
    root: &RootDir,
    way: WalkContext<'_>,
    wanted: WalkMode,
) -> Result<WalkResult, IngestError> {
    walk_within_limits(root, way, wanted, BOUNDS)
}

fn walk_within_limits(
    root: &RootDir,
    way: WalkContext<'_>,
    wanted: WalkMode,
    bounds: WalkLimits,
) -> Result<WalkResult, IngestError> {
    if let Some(place) = way.private.find_place(way.place) {
        return Err(IngestError::Private { path: way.place.to_owned(), place });
    }
    let mut walk = RootWalk {
        bounds,
        root,
        way,
        wanted,
        found: WalkResult::default(),
        entries: 0,
        path_bytes: 0,
        spent: PatternUsage::default(),
        left_out: Vec::new(),
        tracked: None,
    };
    walk.found.omitted.keeps_all_paths =
        matches!(wanted, WalkMode::Files { keeps_all_paths: true, .. });
    let mut pending = vec![WalkEntry::default()];
    while let Some(step) = pending.pop() {
        walk.walk_folder(step, &mut pending)?;
    }
    if wanted != WalkMode::Folders {
        let secrets = search::search_secrets(root, way, std::mem::take(&mut walk.left_out))?;
        walk.found.private.extend(secrets);
    }
    way.pulse.mark_idle();
    let mut found = walk.found;
    found.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

struct RootWalk<'a> {
    bounds: WalkLimits,
    root: &'a RootDir,
    way: WalkContext<'a>,
    wanted: WalkMode,
    found: WalkResult,
    entries: usize,
    path_bytes: usize,
    /// Pattern usage of all folders.
    spent: PatternUsage,
    left_out: Vec<UnwalkedFolder>,
    /// Paths that git tracks, loaded on first use.
    tracked: Option<TrackedPaths>,
}

impl RootWalk<'_> {
    /// Walks one folder: records its files and adds its subfolders to `pending`.
    fn walk_folder(
        &mut self,
        step: WalkEntry,
        pending: &mut Vec<WalkEntry>,
    ) -> Result<(), IngestError> {
        let Some((opened, entries)) = self.open_and_list(&step)? else { return Ok(()) };
        let is_git_file =
            |entry: &FolderEntry| entry.name == GIT && entry.kind == FolderEntryKind::File;
        if !step.is_root() && entries.iter().any(is_git_file) {
            self.skip_nested_repository(step);
            return Ok(());
        }
        if let Some(rule) = self.rule_inside(&step, &entries) {
            self.leave_out(step, rule, pending);
            return Ok(());
        }
        let rules = self.read_rules(&step, &entries);
        self.note_folder(&step);
        let is_area = step.told.is_some_and(|told| told.kind == FolderContents::Packages);
        let around = WalkEntry { is_among_packages: step.is_among_packages || is_area, ..step };
        for entry in &entries {
            self.count_entry(&around)?;
            let next = around.child_with_rules(entry, &rules);
            self.path_bytes += next.text.len();
            if !self.is_in_scope(&next, entry.kind) {
                continue;
            }
            match entry.kind {
                FolderEntryKind::Other => self.omit_file(OmissionRule::Link, &next.text),
                FolderEntryKind::Module => self.skip_path(next.text, SkipReason::Module),
                FolderEntryKind::File => self.classify_file(&opened, entry, next),
                FolderEntryKind::Folder if entry.name == GIT => self.nested_git(&around, &next),
                FolderEntryKind::Folder => {
                    let beside = entries.iter().filter_map(|entry| entry.name.to_str());
                    self.next_folder(entry, next, beside, pending);
                }
            }
        }
        Ok(())
    }

    /// Classifies a folder by its path and its siblings.
    fn next_folder<'e>(
        &mut self,
        entry: &FolderEntry,
        mut next: WalkEntry,
        beside: impl Iterator<Item = &'e str>,
        pending: &mut Vec<WalkEntry>,
    ) {
        if let Some(place) = self.way.private_place(&next.path) {
            self.keep_private(&next);
            let is_own = place.is_own();
            let rule = if is_own { OmissionRule::OwnData } else { OmissionRule::Secret };
            self.found.omitted.add_folder(rule, &next.text);
        } else if codeinfo_secrets::is_private_folder(&next.path) {
            self.keep_private(&next);
            self.found.omitted.add_folder(OmissionRule::Secret, &next.text);
        } else if next.rules.asks_for(&next.text, true) {
            let is_asked_for = WalkEntry {
                unless_asked_for: None,
                is_among_packages: false,
                is_ignored_by_git: false,
                ..next
            };
            pending.push(is_asked_for);
        } else {
            let told = vendored::expected_contents(&next.path).map(|kind| FolderNameHint {
                kind,
                is_beside: vendored::fits_beside(&next.path, beside),
            });
            let rule =
                self.own_rule(&mut next, entry, FolderEntryKind::Folder).or(next.unless_asked_for);
            match (rule, told) {
                // The kind of the folder is more precise than an ignore file.
                (Some(_), Some(told)) if told.is_beside => {
                    self.leave_out(next, told_rule(told.kind), pending);
                }
                (Some(rule), _) => self.leave_out(next, rule, pending),
                (None, told) => pending.push(WalkEntry { told, ..next }),
            }
        }
    }

    /// Returns the rule that excludes a folder because of its contents.
    fn rule_inside(&mut self, step: &WalkEntry, entries: &[FolderEntry]) -> Option<OmissionRule> {
        let is_open = step.is_root() || step.unless_asked_for.is_some();
        if is_open || step.rules.asks_for(&step.text, true) {
            return None;
        }
        if vendored::has_cache_marker(|name| entries.iter().any(|entry| entry.name == name)) {
            return Some(OmissionRule::Built);
        }
        if step.told.is_none() && !step.is_among_packages {
            return None;
        }
        let inside: Vec<&str> = entries.iter().filter_map(|entry| entry.name.to_str()).collect();
        let is_area = step.told.is_some_and(|told| told.kind == FolderContents::Packages);
        if (is_area || step.is_among_packages) && vendored::is_package(&inside) {
            return Some(OmissionRule::Vendored);
        }
        let told = step.told?;
        let fits = told.is_beside && vendored::fits_inside(&step.path, &inside);
        let is_output = told.kind == FolderContents::Outputs;
        let is_so = vendored::has_marker(&step.path, &inside)
            || fits && !(is_output && self.is_tracked(&step.text, FolderEntryKind::Folder));
        is_so.then(|| told_rule(told.kind))
    }

    /// Returns true if git tracks a file, or a file in a folder.
    fn is_tracked(&mut self, path: &str, kind: FolderEntryKind) -> bool {
        if self.root.is_fixed() {
            return true;
        }
        let place = self.way.place;
        let tracked = self.tracked.get_or_insert_with(|| TrackedPaths::read_worktree(place));
        if kind == FolderEntryKind::Folder {
            tracked.has_below(path)
        } else {
            tracked.has_file(path)
        }
    }

    /// Returns the rule by which ignore files or a hidden name exclude an entry. Ignore files of
    /// git do not affect the files that git tracks.
    fn own_rule(
        &mut self,
        next: &mut WalkEntry,
        entry: &FolderEntry,
        kind: FolderEntryKind,
    ) -> Option<OmissionRule> {
        let verdict = next.rules.match_path(&next.text, kind == FolderEntryKind::Folder);
        next.is_ignored_by_git |= verdict == IgnoreVerdict::IgnoredByGit;
        match verdict {
            IgnoreVerdict::Ignored => return Some(OmissionRule::Ignored),
            IgnoreVerdict::Kept => return None,
            IgnoreVerdict::Silent | IgnoreVerdict::IgnoredByGit => {}
        }
        if next.is_ignored_by_git && !self.is_tracked(&next.text, kind) {
            return Some(OmissionRule::Ignored);
        }
        let is_hidden = entry.name.as_encoded_bytes().starts_with(b".");
        let is_hidden = is_hidden && !codeinfo_secrets::is_settings_example(&next.text);
        is_hidden.then_some(OmissionRule::Hidden)
    }

    /// Skips a folder whose `.git` is a file: a submodule or a worktree, whose files belong to
    /// another repository.
    fn skip_nested_repository(&mut self, step: WalkEntry) {
        // If that file is deleted, the folder becomes a normal one.
        self.note_folder(&step);
        if self.is_covered(&step) {
            self.skip_path(step.text.clone(), SkipReason::Module);
        }
        self.search_later(step, FolderOwnership::Own);
    }

    fn note_folder(&mut self, step: &WalkEntry) {
        let is_named = step.is_utf8 || step.is_root();
        if self.wanted == WalkMode::Folders && is_named && self.is_covered(step) {
            self.found.folders.push(step.path.clone());
        }
    }

    fn is_covered(&self, step: &WalkEntry) -> bool {
        self.way.scope.is_none_or(|scope| scope.covers(&step.text))
    }

    /// Excludes a folder by a rule, unless a pattern asks for something in it.
    fn leave_out(&mut self, step: WalkEntry, rule: OmissionRule, pending: &mut Vec<WalkEntry>) {
        if step.rules.asks_below(&step.text) {
            pending.push(WalkEntry { unless_asked_for: Some(rule), told: None, ..step });
            return;
        }
        self.found.omitted.add_folder(rule, &step.text);
        let is_own = matches!(rule, OmissionRule::Ignored | OmissionRule::Hidden);
        self.search_later(
            step,
            if is_own { FolderOwnership::Own } else { FolderOwnership::Vendored },
        );
    }

    /// Excludes a file by a rule.
    fn omit_file(&mut self, rule: OmissionRule, path: &str) {
        if self.wanted != WalkMode::Folders {
            self.found.omitted.add_file(rule, path);
        }
    }

    /// Adds a folder to the search for secrets. Drops its rules, which the search does not need and
    /// which would use memory.
    fn search_later(&mut self, step: WalkEntry, whose: FolderOwnership) {
        self.left_out.push(UnwalkedFolder {
            step: WalkEntry { rules: IgnoreRules::default(), ..step },
            whose,
        });
    }

    /// Opens and lists a folder; returns `None` if it is unreadable.
    fn open_and_list(
        &mut self,
        step: &WalkEntry,
    ) -> Result<Option<(FolderHandle, Vec<FolderEntry>)>, IngestError> {
        let listed = self.root.open_folder(&step.path).and_then(|mut folder| {
            let mut entries = Vec::new();
            for entry in folder.list_entries() {
                self.way.pulse.beat();
                if self.way.cancel.is_cancelled() || entries.len() > self.bounds.entries {
                    break;
                }
                entries.push(entry?);
            }
            Ok((folder, entries))
        });
        if self.way.cancel.is_cancelled() {
            return Err(IngestError::Cancelled);
        }
        match listed {
            Ok(listed) => Ok(Some(listed)),
            Err(_) if step.is_root() => {
                let path = self.way.place.to_owned();
                Err(IngestError::Path { path, reason: "cannot be read" })
            }
            Err(error) => {
                self.skip_path(step.text.clone(), SkipReason::from_io_error(&error));
                Ok(None)
            }
        }
    }

    fn is_in_scope(&self, next: &WalkEntry, kind: FolderEntryKind) -> bool {
        let Some(scope) = self.way.scope else { return true };
        // Scopes contain only UTF-8 names.
        let leads = kind == FolderEntryKind::Folder && scope.leads_through(&next.text);
        next.is_utf8 && (leads || scope.covers(&next.text))
    }

    fn skip_path(&mut self, path: String, reason: SkipReason) {
        self.found.skipped.push(SkippedPath { path, reason });
    }

    /// Records the `.git` of a nested repository as a secret, because its configuration may contain
    /// the password of a remote. The root's own is judged by its content when the shell's sandbox
    /// is set up.
    fn nested_git(&mut self, around: &WalkEntry, git: &WalkEntry) {
        if !around.is_root() {
            self.keep_private(git);
        }
    }

    fn keep_private(&mut self, secret: &WalkEntry) {
        self.found.private.extend(secret.nearest_utf8());
    }

    /// Adds a file to the files, the secrets or the skipped ones, or excludes it.
    fn classify_file(&mut self, folder: &FolderHandle, entry: &FolderEntry, next: WalkEntry) {
        let WalkMode::Files { max_bytes, .. } = self.wanted else { return };
        let name = codeinfo_secrets::secret_name(&next.text);
        if name == Some(SecretNameCertainty::Certain)
            || self.way.private_place(&next.path).is_some()
        {
            self.keep_private(&next);
            // The name itself may contain a secret.
            self.omit_file(
                OmissionRule::Secret,
                &codeinfo_secrets::redact_secrets("", None, &next.text).text,
            );
            return;
        }
        let (step, before) = (next.clone(), self.found.files.len());
        self.admit_file(folder, entry, next, max_bytes);
        if name == Some(SecretNameCertainty::Doubtful) {
            if before < self.found.files.len() {
                self.found.doubtful.insert(step.text);
            } else {
                // Its content will not be read.
                self.keep_private(&step);
            }
        }
    }

    /// Adds a file that is not certainly a secret to the files, the skipped or the excluded ones.
    fn admit_file(
        &mut self,
        folder: &FolderHandle,
        entry: &FolderEntry,
        mut next: WalkEntry,
        max_bytes: u64,
    ) {
        let name = entry.name.to_string_lossy();
        let is_asked_for = next.rules.asks_for(&next.text, false);
        let unasked_rule = next.unless_asked_for.filter(|_| !is_asked_for);
        if let Some(rule) = self.own_rule(&mut next, entry, FolderEntryKind::File).or(unasked_rule)
        {
            // Ignore files are read but not indexed.
            if !is_ignore_file(&name) {
                self.omit_file(rule, &next.text);
            }
            return;
        }
        if !next.is_utf8 {
            self.skip_path(next.text, SkipReason::PathNotUtf8);
            return;
        }
        let is_generated = next.rules.is_generated(&next.text);
        let is_kept = |rule: &OmissionRule| {
            is_asked_for || (*rule == OmissionRule::Generated && is_generated == Some(false))
        };
        let is_marked = is_generated == Some(true);
        let rule = name_rule(&name).or(is_marked.then_some(OmissionRule::Generated));
        if let Some(rule) = rule.filter(|rule| !is_kept(rule)) {
            self.omit_file(rule, &next.text);
            return;
        }
        let path = next.text;
        match folder.read_facts(entry) {
            Ok(Some(facts)) if max_bytes < facts.size => {
                if self.is_binary(&path) {
                    self.omit_file(OmissionRule::Binary, &path);
                } else {
                    self.skip_path(path, SkipReason::TooLarge);
                }
            }
            // Files with a time of 0 are always read.
            Ok(Some(facts)) => self.found.files.push(DiscoveredFile {
                path,
                size: facts.size,
                modified_ns: facts.modified_ns,
                is_asked_for: is_asked_for || is_generated == Some(false),
            }),
            Ok(None) => {}
            Err(error) => self.skip_path(path, SkipReason::from_io_error(&error)),
        }
    }

    /// Returns true if the first bytes of a file are binary. Files of a commit are not unpacked for
    /// this.
    fn is_binary(&self, path: &str) -> bool {
        let read = |(file, _)| {
            beneath::read_to_limit(file, decode::HEAD_BYTES as u64, || self.way.pulse.beat())
        };
        if self.root.is_fixed() {
            return false;
        }
        let head = self.root.open_file(Path::new(path)).and_then(read);
        head.is_ok_and(|head| decode::is_binary(&head))
    }
}

fn told_rule(kind: FolderContents) -> OmissionRule {
    match kind {
        FolderContents::Packages => OmissionRule::Vendored,
        FolderContents::Outputs => OmissionRule::Built,
    }
}

/// Returns the rule that excludes files of a name.
fn name_rule(name: &str) -> Option<OmissionRule> {
    detect_machine_file(name).map(|found| match found {
        MachineFile::Binary => OmissionRule::Binary,
        MachineFile::LockFile => OmissionRule::LockFile,
        MachineFile::Generated => OmissionRule::Generated,
    })
}
