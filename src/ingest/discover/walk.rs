//! Walks a root through handles of its folders, so that no link is followed, and by our own reading of
//! ignore files, so that none of them can cost more than a bound.

use std::{io, path::Path};

use codeinfo_lang::{
    names::{self, MachineFile},
    vendored,
};

use super::{
    Discovered, Found, MAX_FILES,
    ignored::{self, IgnoreError, Rules, Spent, Verdict},
    is_ignore_file,
    search::{self, LeftOut, Whose},
    way::{GIT, Step, Way},
};
use crate::{
    beneath::{self, Beneath, Entry, Folder, Kind},
    decode,
    domain::OmissionRule,
    ingest::{
        error::IngestError,
        skip::{Reason, Skipped},
    },
    secret,
};

/// The most entries one walk goes through, those left out included.
const MAX_ENTRIES: usize = 4 * MAX_FILES;

/// What a walk is to bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ingest) enum Wanted {
    /// Files, with those that are secrets.
    Files { max_bytes: u64 },
    /// Folders alone.
    Folders,
}

/// Walks what `way` covers of a root.
pub(super) fn walk(
    root: &Beneath,
    way: Way<'_>,
    wanted: Wanted,
) -> Result<Discovered, IngestError> {
    let mut walk = Walk {
        root,
        way,
        wanted,
        found: Discovered::default(),
        entries: 0,
        spent: Spent::default(),
        left_out: Vec::new(),
    };
    let mut pending = vec![Step::default()];
    while let Some(step) = pending.pop() {
        walk.folder(step, &mut pending)?;
    }
    if wanted != Wanted::Folders {
        let secrets = search::search(root, way, std::mem::take(&mut walk.left_out))?;
        walk.found.private.extend(secrets);
    }
    way.pulse.rest();
    let mut found = walk.found;
    found.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

struct Walk<'a> {
    root: &'a Beneath,
    way: Way<'a>,
    wanted: Wanted,
    found: Discovered,
    entries: usize,
    /// What the patterns of all folders cost.
    spent: Spent,
    left_out: Vec<LeftOut>,
}

impl Walk<'_> {
    /// Goes through one folder: notes its files, and which folders come next.
    fn folder(&mut self, step: Step, pending: &mut Vec<Step>) -> Result<(), IngestError> {
        let Some((opened, entries)) = self.open(&step)? else { return Ok(()) };
        let is_inside = |name: &str| entries.iter().any(|entry| entry.name == name);
        let is_git_file = |entry: &Entry| entry.name == GIT && entry.kind == Kind::File;
        if !step.is_root() && entries.iter().any(is_git_file) {
            self.module(step);
            return Ok(());
        }
        let is_marked = !step.is_root() && vendored::is_marked(&step.path, is_inside);
        if is_marked && !step.rules.asks_for(&step.text, true) {
            self.leave_out(step, OmissionRule::Vendored);
            return Ok(());
        }
        let rules = self.rules(&step, &entries);
        self.note_folder(&step);
        for entry in &entries {
            self.step()?;
            let next = step.to(entry, &rules);
            if !self.is_in_scope(&next, entry.kind) {
                continue;
            }
            match entry.kind {
                Kind::Other => self.omit(OmissionRule::Link, &next.text),
                Kind::Module => self.skip(next.text, Reason::Module),
                Kind::File => self.file(&opened, entry, next),
                Kind::Folder if entry.name == GIT => self.nested_git(&step, &next),
                Kind::Folder
                    if vendored::is_proved(&next.path, is_inside)
                        && !rules.asks_for(&next.text, true) =>
                {
                    self.leave_out(next, OmissionRule::Vendored);
                }
                Kind::Folder if secret::is_private_folder(&next.path) => {
                    self.keep_private(&next);
                    self.found.omitted.add_folder(OmissionRule::Secret, &next.text);
                }
                Kind::Folder => match own_rule(&next, entry, Kind::Folder) {
                    Some(rule) => self.leave_out(next, rule),
                    None => pending.push(next),
                },
            }
        }
        Ok(())
    }

    /// Names a folder whose `.git` is a file: a submodule or a worktree, whose files are those of another repository.
    fn module(&mut self, step: Step) {
        // When that file goes away, the folder is one like others.
        self.note_folder(&step);
        if self.is_covered(&step) {
            self.skip(step.text.clone(), Reason::Module);
        }
        self.search_later(step, Whose::Own);
    }

    fn note_folder(&mut self, step: &Step) {
        let is_named = step.is_utf8 || step.is_root();
        if self.wanted == Wanted::Folders && is_named && self.is_covered(step) {
            self.found.folders.push(step.path.clone());
        }
    }

    fn is_covered(&self, step: &Step) -> bool {
        self.way.scope.is_none_or(|scope| scope.covers(&step.text))
    }

    /// Leaves out a folder by a rule.
    fn leave_out(&mut self, step: Step, rule: OmissionRule) {
        self.found.omitted.add_folder(rule, &step.text);
        let is_own = matches!(rule, OmissionRule::Ignored | OmissionRule::Hidden);
        self.search_later(step, if is_own { Whose::Own } else { Whose::Vendored });
    }

    /// Leaves out a file by a rule.
    fn omit(&mut self, rule: OmissionRule, path: &str) {
        if self.wanted != Wanted::Folders {
            self.found.omitted.add_file(rule, path);
        }
    }

    /// Notes a folder that is not walked. Nothing asks what its rules say, and the patterns of all such
    /// folders would stay in memory.
    fn search_later(&mut self, step: Step, whose: Whose) {
        self.left_out.push(LeftOut { step: Step { rules: Rules::default(), ..step }, whose });
    }

    /// Opens and lists a folder, unless it cannot be read.
    fn open(&mut self, step: &Step) -> Result<Option<(Folder, Vec<Entry>)>, IngestError> {
        let listed = self.root.folder(&step.path).and_then(|mut folder| {
            let mut entries = Vec::new();
            for entry in folder.entries() {
                self.way.pulse.beat();
                if self.way.cancel.is_cancelled() || MAX_ENTRIES < entries.len() {
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
                self.skip(step.text.clone(), Reason::of(&error));
                Ok(None)
            }
        }
    }

    /// Counts an entry; ends a walk that is cancelled, or never ends.
    fn step(&mut self) -> Result<(), IngestError> {
        self.way.pulse.beat();
        self.entries += 1;
        if self.way.cancel.is_cancelled() {
            return Err(IngestError::Cancelled);
        }
        let too_many = |limit| IngestError::TooManyFiles { path: self.way.place.to_owned(), limit };
        if self.entries > MAX_ENTRIES {
            return Err(too_many(MAX_ENTRIES));
        }
        if self.found.files.len() + self.found.skipped.len() > MAX_FILES {
            return Err(too_many(MAX_FILES));
        }
        Ok(())
    }

    fn is_in_scope(&self, next: &Step, kind: Kind) -> bool {
        let Some(scope) = self.way.scope else { return true };
        // A name that is not UTF-8 is never part of a scope.
        let leads = kind == Kind::Folder && scope.leads_through(&next.text);
        next.is_utf8 && (leads || scope.covers(&next.text))
    }

    /// Reads the ignore files of a folder.
    fn rules(&mut self, step: &Step, entries: &[Entry]) -> Rules {
        let mut contents = ignored::Contents::default();
        for (name, content) in ignored::NAMES.into_iter().zip(&mut contents) {
            let first = name.split('/').next().unwrap_or_default();
            let Some(entry) = entries.iter().find(|entry| entry.name == first) else { continue };
            let read = match entry.kind {
                Kind::File if first == name => self.ignore_file(&step.path.join(name)),
                // In a worktree `.git` is a file that names a folder elsewhere, which is not read.
                Kind::Folder if first != name => match self.ignore_file(&step.path.join(name)) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    read => read,
                },
                _ if first != name => continue,
                _ => Err(io::ErrorKind::InvalidInput.into()),
            };
            match read {
                Ok(_) if self.spent.is_all() => {
                    self.skip_patterns(step, name, IgnoreError::TooManyInAll);
                }
                Ok(read) => *content = Some(read),
                Err(_) => self.skip_patterns(step, name, IgnoreError::NotRegular),
            }
        }
        if contents.iter().all(Option::is_none) {
            return step.rules.clone();
        }
        let (rules, errors) = step.rules.with(&step.text, &contents);
        self.spent.add(&rules, &step.rules);
        for (name, error) in errors {
            self.skip_patterns(step, name, error);
        }
        rules
    }

    /// Reads an ignore file to one byte above the bound, which shows that it is too large.
    fn ignore_file(&self, path: &Path) -> io::Result<Vec<u8>> {
        let (file, _) = self.root.file(path)?;
        beneath::read(file, ignored::MAX_BYTES as u64 + 1, || self.way.pulse.beat())
    }

    /// Reports an ignore file of a folder that does not count, or not as a whole.
    fn skip_patterns(&mut self, step: &Step, name: &str, error: IgnoreError) {
        let path = if step.is_root() { name.to_owned() } else { format!("{}/{name}", step.text) };
        self.skip(path, Reason::IgnoreFile(error));
    }

    fn skip(&mut self, path: String, reason: Reason) {
        self.found.skipped.push(Skipped { path, reason });
    }

    /// Notes the `.git` of a repository in the root, whose configuration may hold the password of a remote.
    /// That of the root itself is judged by its content where the fence of the model's shell is made.
    fn nested_git(&mut self, around: &Step, git: &Step) {
        if !around.is_root() {
            self.keep_private(git);
        }
    }

    fn keep_private(&mut self, secret: &Step) {
        self.found.private.extend(secret.nearest_utf8());
    }

    /// Puts a file where it belongs: among the files, the secrets, the skipped, or nowhere.
    fn file(&mut self, folder: &Folder, entry: &Entry, next: Step) {
        let Wanted::Files { max_bytes } = self.wanted else { return };
        if secret::is_secret_path(&next.text) {
            self.keep_private(&next);
            self.omit(OmissionRule::Secret, &next.text);
            return;
        }
        let name = entry.name.to_string_lossy();
        if let Some(rule) = own_rule(&next, entry, Kind::File) {
            // Ignore files are read, though not indexed.
            if !is_ignore_file(&name) {
                self.omit(rule, &next.text);
            }
            return;
        }
        if !next.is_utf8 {
            self.skip(next.text, Reason::PathNotUtf8);
            return;
        }
        let is_asked_for = next.rules.asks_for(&next.text, false);
        let rule = name_rule(&name).filter(|_| !is_asked_for);
        if let Some(rule) = rule {
            self.omit(rule, &next.text);
            return;
        }
        let path = next.text;
        match folder.facts(entry) {
            Ok(Some(facts)) if max_bytes < facts.size => {
                if self.is_binary(&path) {
                    self.omit(OmissionRule::Binary, &path);
                } else {
                    self.skip(path, Reason::TooLarge);
                }
            }
            // Files of time 0 are always read.
            Ok(Some(facts)) => self.found.files.push(Found {
                path,
                size: facts.size,
                modified_ns: facts.modified_ns,
                is_asked_for,
            }),
            Ok(None) => {}
            Err(error) => self.skip(path, Reason::of(&error)),
        }
    }

    /// Whether a file is no text, by its first bytes. Those of a commit are not unpacked for that.
    fn is_binary(&self, path: &str) -> bool {
        let read =
            |(file, _)| beneath::read(file, decode::HEAD_BYTES as u64, || self.way.pulse.beat());
        if self.root.is_fixed() {
            return false;
        }
        let head = self.root.file(Path::new(path)).and_then(read);
        head.is_ok_and(|head| decode::is_binary(&head))
    }
}

/// Returns whether ignore files leave an entry out, or its name hides it.
fn own_rule(next: &Step, entry: &Entry, kind: Kind) -> Option<OmissionRule> {
    let is_hidden = entry.name.as_encoded_bytes().starts_with(b".");
    match next.rules.verdict(&next.text, kind == Kind::Folder) {
        Verdict::Ignored => Some(OmissionRule::Ignored),
        Verdict::Kept => None,
        Verdict::Silent => is_hidden.then_some(OmissionRule::Hidden),
    }
}

/// Returns the rule that leaves out files of a name.
fn name_rule(name: &str) -> Option<OmissionRule> {
    names::detect_machine_file(name).map(|found| match found {
        MachineFile::Binary => OmissionRule::Binary,
        MachineFile::LockFile => OmissionRule::LockFile,
        MachineFile::Generated => OmissionRule::Generated,
    })
}
