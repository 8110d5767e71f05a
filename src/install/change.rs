//! One change of one file, and all changes of a command: planned, shown, and written after a yes.

use std::path::Path;

use super::{
    content::FileContent,
    error::InstallError,
    file::{self, Found},
    record::{Before, Place},
    talk::{ask, say, show},
};
use crate::{config::Config, error::chain};

/// A change that is to be made.
#[derive(Debug)]
pub(super) struct Change {
    name: String,
    found: Found,
    place: Place,
    to: To,
}

#[derive(Debug)]
enum To {
    /// Something of ours is added to what was there before.
    Set { text: String, before: Before },
    /// It is as it was before, or without our part.
    Undone(Before),
}

impl Change {
    /// Plans to put `content` into a file; `None` where that changes nothing.
    pub(super) fn planned(
        name: &str,
        path: &Path,
        config: &Config,
        content: &FileContent,
    ) -> Result<Option<Self>, InstallError> {
        let found = file::read(path)?;
        let refused = |refusal| InstallError::refused(path, &refusal);
        let old = found.text.as_deref().unwrap_or_default();
        let place = Place::new(&config.data_dir, &found.path);
        let record = place.load();
        let original = record.as_ref().and_then(|record| place.original(record));
        let text = content.add_to(old, original.as_ref()).map_err(refused)?;
        let is_known = record.as_ref().is_some_and(|record| place.before(record, old).is_some());
        if content.is_whole_file() && !old.is_empty() && old != text && !is_known {
            say(&format!("{name}: {} stays: it was written or changed by hand", path.display()))?;
            return Ok(None);
        }
        say_remaining(name, path, content, &text)?;
        if found.text.as_ref() == Some(&text) {
            say(&format!("{name}: already set up in {}", path.display()))?;
            return Ok(None);
        }
        let before = match (record.as_ref().and_then(|record| place.before(record, old)), record) {
            (Some(before), _) => before,
            (None, _) if found.text.is_none() => Before::Nothing,
            // It changed since: what is there of ours is not to come back.
            (None, Some(_)) => rest(content.remove_from(old, original.as_ref()).map_err(refused)?),
            (None, None) => Before::Text(old.to_owned()),
        };
        Ok(Some(Self { name: name.to_owned(), found, place, to: To::Set { text, before } }))
    }

    /// Plans to put back what was there before, or else to take `content` out; `None` where there is none.
    pub(super) fn undone(
        name: &str,
        path: &Path,
        config: &Config,
        content: &FileContent,
    ) -> Result<Option<Self>, InstallError> {
        let found = file::read(path)?;
        let Some(now) = &found.text else { return Ok(None) };
        let place = Place::new(&config.data_dir, &found.path);
        let record = place.load();
        let kept = record.as_ref().and_then(|record| place.before(record, now));
        let refused = |refusal| InstallError::refused(path, &refusal);
        let our_part = || {
            let original = record.as_ref().and_then(|record| place.original(record));
            content.remove_from(now, original.as_ref()).map(rest).map_err(refused)
        };
        let before = kept.map_or_else(our_part, Ok)?;
        say_remaining(name, path, content, before.as_str())?;
        if before.as_str() == now {
            return Ok(None);
        }
        Ok(Some(Self { name: name.to_owned(), found, place, to: To::Undone(before) }))
    }

    /// Whether a file was changed by us.
    pub(super) fn was_made(path: &Path, config: &Config) -> bool {
        Place::new(&config.data_dir, path).load().is_some()
    }

    /// As [`Self::undone`], and says where there is nothing to take out.
    pub(super) fn undone_or_none(
        name: &str,
        path: &Path,
        config: &Config,
        content: &FileContent,
    ) -> Result<Option<Self>, InstallError> {
        let change = Self::undone(name, path, config, content)?;
        if change.is_none() {
            say(&format!("{name}: not set up"))?;
        }
        Ok(change)
    }

    fn text(&self) -> Option<&str> {
        match &self.to {
            To::Set { text, .. } | To::Undone(Before::Text(text)) => Some(text),
            To::Undone(Before::Nothing) => None,
        }
    }

    fn show(&self) -> Result<(), InstallError> {
        let Found { path, is_linked, text } = &self.found;
        let link = if *is_linked { " (a link leads there)" } else { "" };
        let what = match (text, self.text()) {
            (None, _) => "makes",
            (_, None) => "removes",
            _ => "changes",
        };
        say(&format!("{}: {what} {}{link}", self.name, path.display()))?;
        show(text.as_deref().unwrap_or_default(), self.text().unwrap_or_default())
    }

    fn make(&self) -> Result<(), InstallError> {
        match &self.to {
            To::Set { text, before } => {
                let mut record = self.place.keep(before, text)?;
                if let Some(made) = self.found.replace(Some(text))? {
                    record.made = Some(made);
                    self.place.store(&record)?;
                }
                say(&format!("{}: set up in {}", self.name, self.found.path.display()))?;
                if matches!(before, Before::Text(_)) {
                    let backup = self.place.backup();
                    say(&format!("  what was there before is kept in {}", backup.display()))?;
                }
                Ok(())
            }
            To::Undone(before) => {
                let made = self.place.load().and_then(|record| record.made);
                self.found.replace(self.text())?;
                if let (Before::Nothing, Some(made)) = (before, made) {
                    file::remove_folders(&self.found.path, &made);
                }
                self.place.forget()?;
                say(&format!("{}: removed from {}", self.name, self.found.path.display()))
            }
        }
    }
}

/// Says which permission stays in a file: it was there before, or nothing tells who gave it.
fn say_remaining(
    name: &str,
    path: &Path,
    content: &FileContent,
    text: &str,
) -> Result<(), InstallError> {
    let Some(permission) = content.remaining_permission(text) else { return Ok(()) };
    let path = path.display();
    say(&format!(
        "{name}: `{permission}` stays in {path}; remove it there to be asked before calls"
    ))
}

/// Returns what stays of a file without our part: no file where that was all.
fn rest(text: String) -> Before {
    if text.is_empty() { Before::Nothing } else { Before::Text(text) }
}

/// All changes of one command.
#[derive(Debug, Default)]
pub(super) struct Plan {
    changes: Vec<Change>,
    has_failed: bool,
}

impl Plan {
    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty() && !self.has_failed
    }

    /// Shows a change and takes it up.
    pub(super) fn add(&mut self, change: Change) -> Result<(), InstallError> {
        // A link may lead two clients to one file.
        if self.changes.iter().any(|other| other.found.path == change.found.path) {
            return Ok(());
        }
        change.show()?;
        self.changes.push(change);
        Ok(())
    }

    /// Says what cannot be done; the rest is.
    pub(super) fn fail(&mut self, name: &str, error: &InstallError) -> Result<(), InstallError> {
        self.has_failed = true;
        say(&format!("{name}: {}; nothing of it was changed", chain(error)))
    }

    /// Makes all changes after a yes.
    pub(super) fn carry_out(mut self, is_agreed: bool) -> Result<(), InstallError> {
        if !self.changes.is_empty() && !is_agreed {
            match ask("Write this?", false)? {
                None => return Err(InstallError::Unasked),
                Some(false) => return Err(InstallError::Declined),
                Some(true) => {}
            }
        }
        let mut changes = std::mem::take(&mut self.changes);
        // Folders that several files were made in are removed by the one that made them.
        changes.sort_by_key(|change| matches!(change.to, To::Undone(_)));
        let first_undone = changes.partition_point(|change| matches!(change.to, To::Set { .. }));
        changes.get_mut(first_undone..).unwrap_or_default().reverse();
        for change in changes {
            if let Err(error) = change.make() {
                self.fail(&change.name, &error)?;
            }
        }
        if self.has_failed { Err(InstallError::Some) } else { Ok(()) }
    }
}
