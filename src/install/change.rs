//! Changes of files by one command: planned, shown, and written after confirmation.

use std::path::Path;

use codeinfo_core::error::format_error_chain;

use super::{
    client_file::{EditableFile, read_file, refuse_large, resolve_links},
    content::FileContent,
    messages::{InstallError, ask_person, print_diff, print_line},
    record::{ChangeRecord, InstallState, OriginalContent, RecordFile},
};

#[derive(Debug)]
struct PlannedChange {
    name: String,
    file: EditableFile,
    record_file: RecordFile,
    /// The file before the first change, or without the content of CodeInfo.
    before: OriginalContent,
    to: ChangeTarget,
}

#[derive(Debug)]
enum ChangeTarget {
    /// Adds content of CodeInfo, or only revokes some if `is_added` is false.
    Set {
        text: String,
        is_added: bool,
        is_permitted: bool,
    },
    Undone,
}

struct KnownFile {
    file: EditableFile,
    record_file: RecordFile,
    record: Option<ChangeRecord>,
    /// The file before the first change, if nothing else has changed it since.
    before: Option<OriginalContent>,
    /// True if an earlier change of the command affects it, because links lead two clients to it.
    is_planned: bool,
}

impl KnownFile {
    fn text(&self) -> &str {
        self.file.text.as_deref().unwrap_or_default()
    }

    fn is_permitted(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.is_permitted)
    }

    /// Returns the file without CodeInfo's content, or no file if CodeInfo created it for that.
    fn remove_content(
        &self,
        path: &Path,
        content: &FileContent,
    ) -> Result<OriginalContent, InstallError> {
        let refused = |refusal| InstallError::refused_edit(path, &refusal);
        let text = content.remove_from(self.text(), self.is_permitted()).map_err(refused)?;
        let is_ours = match &self.record {
            Some(record) => record.is_made && content.is_emptied(&text),
            None => text.is_empty() && !self.text().is_empty(),
        };
        Ok(if is_ours { OriginalContent::Nothing } else { OriginalContent::Text(text) })
    }
}

impl PlannedChange {
    fn new_text(&self) -> Option<&str> {
        match &self.to {
            ChangeTarget::Set { text, .. } => Some(text),
            ChangeTarget::Undone => self.before.text(),
        }
    }

    fn show_diff(&self) -> Result<(), InstallError> {
        let EditableFile { path, is_linked, text, .. } = &self.file;
        let link = if *is_linked { " (a link leads there)" } else { "" };
        let what = match (text, self.new_text()) {
            (None, _) => "makes",
            (_, None) => "removes",
            _ => "changes",
        };
        print_line(&format!("{}: {what} {}{link}", self.name, path.display()))?;
        print_diff(text.as_deref().unwrap_or_default(), self.new_text().unwrap_or_default())
    }

    fn apply_change(&self) -> Result<(), InstallError> {
        let name = &self.name;
        let path = self.file.path.display();
        match &self.to {
            ChangeTarget::Set { text, is_added, is_permitted } => {
                self.record_file.save_change(&self.before, text, *is_permitted)?;
                self.file.replace_text(Some(text))?;
                if !is_added {
                    return print_line(&format!(
                        "{name}: removed from {path} what you do not want"
                    ));
                }
                print_line(&format!("{name}: set up in {path}"))?;
                if self.before.text().is_some() {
                    let backup = self.record_file.backup_path();
                    print_line(&format!(
                        "  what was there before is kept in {}",
                        backup.display()
                    ))?;
                }
                Ok(())
            }
            ChangeTarget::Undone => {
                self.file.replace_text(self.new_text())?;
                self.record_file.remove_files()?;
                print_line(&format!("{name}: removed from {path}"))
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct ChangePlan<'a> {
    data_dir: &'a Path,
    changes: Vec<PlannedChange>,
    has_failed: bool,
}

impl<'a> ChangePlan<'a> {
    pub(super) fn new(data_dir: &'a Path) -> Self {
        Self { data_dir, changes: Vec::new(), has_failed: false }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty() && !self.has_failed
    }

    pub(super) fn changes_client(&self, name: &str) -> bool {
        self.changes.iter().any(|change| change.name == name)
    }

    pub(super) fn is_remembered(&self, path: &Path) -> bool {
        let real_path = resolve_links(path).ok();
        real_path.is_some_and(|path| RecordFile::new(self.data_dir, &path).load_record().is_some())
    }

    pub(super) fn add_content(
        &mut self,
        name: &str,
        path: &Path,
        content: &FileContent,
    ) -> Result<(), InstallError> {
        let known = self.inspect_file(path)?;
        let refused = |refusal| InstallError::refused_edit(path, &refusal);
        let old = known.text();
        let added = content.add_to(old).map_err(refused)?;
        let text = content.revoke_from(&added, known.is_permitted()).map_err(refused)?;
        refuse_large(path, text.len() as u64)?;
        let is_foreign = known.before.is_none() && !old.is_empty();
        if content.is_whole_file() && is_foreign && old != text {
            let shown = path.display();
            return print_line(&format!(
                "{name}: {shown} stays: it was written or changed by hand"
            ));
        }
        print_permission(name, path, content, &text)?;
        if known.file.text.as_ref() == Some(&text) {
            if known.is_planned {
                return Ok(());
            }
            return print_line(&format!("{name}: already set up in {}", path.display()));
        }
        let had_permission = content.has_permission(old) && !known.is_permitted();
        let is_permitted = content.has_permission(&text) && !had_permission;
        let is_added = added != old || known.file.text.is_none();
        let before = match &known.before {
            Some(before) => before.clone(),
            None if known.file.text.is_none() => OriginalContent::Nothing,
            // The file has changed since, so the content of CodeInfo is removed from the original.
            None if known.record.is_some() => known.remove_content(path, content)?,
            None => OriginalContent::Text(old.to_owned()),
        };
        self.add_change(name, known, before, ChangeTarget::Set { text, is_added, is_permitted })
    }

    /// Plans to restore a file's original, or to remove `content`. Returns whether the file has it.
    pub(super) fn remove_content(
        &mut self,
        name: &str,
        path: &Path,
        content: &FileContent,
    ) -> Result<bool, InstallError> {
        let known = self.inspect_file(path)?;
        if known.file.text.is_none() {
            return Ok(known.is_planned);
        }
        let before = match &known.before {
            Some(before) => before.clone(),
            None => known.remove_content(path, content)?,
        };
        print_permission(name, path, content, before.text().unwrap_or_default())?;
        if before.text() == known.file.text.as_deref() {
            return Ok(known.is_planned);
        }
        self.add_change(name, known, before, ChangeTarget::Undone).map(|()| true)
    }

    /// Reads a file as it will be after the changes planned before.
    fn inspect_file(&self, path: &Path) -> Result<KnownFile, InstallError> {
        let mut file = read_file(path)?;
        let record_file = RecordFile::new(self.data_dir, &file.real_path);
        let record = record_file.load_record();
        let is_same = |change: &&PlannedChange| change.file.real_path == file.real_path;
        let planned = self.changes.iter().rfind(is_same);
        let before = match (planned, &record) {
            (Some(change), _) => {
                file.text = change.new_text().map(str::to_owned);
                Some(change.before.clone())
            }
            (None, Some(record)) => {
                record_file.load_original(record, file.text.as_deref().unwrap_or_default())
            }
            (None, None) => None,
        };
        Ok(KnownFile { file, record_file, record, before, is_planned: planned.is_some() })
    }

    fn add_change(
        &mut self,
        name: &str,
        known: KnownFile,
        before: OriginalContent,
        to: ChangeTarget,
    ) -> Result<(), InstallError> {
        let KnownFile { file, record_file, .. } = known;
        let change = PlannedChange { name: name.to_owned(), file, record_file, before, to };
        change.show_diff()?;
        self.changes.push(change);
        Ok(())
    }

    /// Prints a failure; other changes continue.
    pub(super) fn report_failure(
        &mut self,
        name: &str,
        error: &InstallError,
    ) -> Result<(), InstallError> {
        self.has_failed = true;
        print_line(&format!("{name}: {}; nothing of it was changed", format_error_chain(error)))
    }

    /// Applies all changes after confirmation, and stores `state`.
    pub(super) fn apply_changes(
        mut self,
        is_agreed: bool,
        mut state: InstallState,
    ) -> Result<(), InstallError> {
        if !self.changes.is_empty() && !is_agreed {
            match ask_person("Write this?", false)? {
                None => return Err(InstallError::Unasked),
                Some(false) => return Err(InstallError::Declined),
                Some(true) => {}
            }
        }
        let folders = self.changes.iter().flat_map(|change| change.file.missing_folders());
        state.made_folders.extend(folders);
        state.store(self.data_dir)?;
        for change in std::mem::take(&mut self.changes) {
            if let Err(error) = change.apply_change() {
                self.report_failure(&change.name, &error)?;
            }
        }
        state.remove_empty_folders();
        state.store(self.data_dir)?;
        if self.has_failed { Err(InstallError::Some) } else { Ok(()) }
    }
}

/// Prints a permission that remains although unwanted, or has no effect although wanted.
fn print_permission(
    name: &str,
    path: &Path,
    content: &FileContent,
    text: &str,
) -> Result<(), InstallError> {
    let Some((remark, advice)) = content.describe_permission(text) else { return Ok(()) };
    print_line(&format!("{name}: {remark} in {}; {advice}", path.display()))
}
