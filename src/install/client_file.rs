//! Files of a client, some of which several clients share by links. They are read within bounds,
//! and replaced atomically with their mode and link preserved.

use std::{
    io,
    mem::discriminant,
    path::{Path, PathBuf},
};

use codeinfo_core::atomic::{self, FileAccess};

use super::{
    SupportedClient, UserFolders,
    clients::CLIENTS,
    content::FileContent,
    edit::{self, EntryMembers},
    messages::{InstallError, print_line},
    record::InstallState,
};

/// File of a client with its content from CodeInfo.
pub(super) struct ClientFile {
    pub(super) path: PathBuf,
    pub(super) content: FileContent,
    pub(super) is_wanted: bool,
}

impl ClientFile {
    /// Returns the files that `install` may have changed.
    pub(super) fn list_written(client: &SupportedClient, places: &UserFolders<'_>) -> Vec<Self> {
        let paths = client.server_files(places).into_iter();
        let mut files: Vec<_> =
            paths.map(|path| Self::for_server(client, path, EntryMembers::new(), false)).collect();
        let settings = FileContent::Settings { permission: false, hook: None };
        files.extend(Self::for_settings(client, places, settings, false));
        files.extend(Self::list_for_models(client, places, false));
        files
    }

    pub(super) fn for_server(
        client: &SupportedClient,
        path: PathBuf,
        entry: EntryMembers,
        revokes_trust: bool,
    ) -> Self {
        let SupportedClient { syntax, section, .. } = *client;
        let content = FileContent::Server { syntax, section, entry, revokes_trust };
        Self { path, content, is_wanted: true }
    }

    pub(super) fn for_settings(
        client: &SupportedClient,
        places: &UserFolders<'_>,
        content: FileContent,
        is_wanted: bool,
    ) -> Option<Self> {
        let path = client.settings_file(places)?;
        Some(Self { path, content, is_wanted })
    }

    /// Returns the files with lines for a client's model and with its sub-agent.
    pub(super) fn list_for_models(
        client: &SupportedClient,
        places: &UserFolders<'_>,
        is_wanted: bool,
    ) -> Vec<Self> {
        let documents = client.instructions_file(places).into_iter();
        let lines =
            documents.map(|path| Self { path, content: FileContent::Instructions, is_wanted });
        let sub_agent = client.sub_agent_file(places).into_iter();
        lines
            .chain(sub_agent.map(|(path, members)| {
                let content = FileContent::SubAgent(members);
                Self { path, content, is_wanted }
            }))
            .collect()
    }

    pub(super) fn print_for_pasting(&self) -> Result<(), InstallError> {
        let refused = |refusal| InstallError::refused_edit(&self.path, &refusal);
        let text = self.content.add_to("").map_err(refused)?;
        print_line(&format!("paste into {}:\n\n{text}", self.path.display()))
    }
}

/// Finds the clients that share a file by links.
pub(super) struct FileReaders<'a> {
    pub(super) places: &'a UserFolders<'a>,
    pub(super) state: &'a InstallState,
    pub(super) named: &'a [&'static SupportedClient],
    /// True if the command sets them up.
    pub(super) is_install: bool,
}

impl FileReaders<'_> {
    /// Returns whether a file must stay as it is for another client, and prints that.
    pub(super) fn keep_for_other(
        &self,
        client: &SupportedClient,
        file: &ClientFile,
    ) -> Result<bool, InstallError> {
        if !matches!(file.content, FileContent::Instructions | FileContent::SubAgent(_)) {
            return Ok(false);
        }
        let Some(other) = self.find_other_reader(client, file) else { return Ok(false) };
        // If two clients want different files in one place, the first one gets its own.
        let position =
            |client: &SupportedClient| CLIENTS.iter().position(|known| known.id == client.id);
        let is_given_up = file.is_wanted
            && client.sub_agent != other.sub_agent
            && file.content.is_whole_file()
            && position(client) > position(other);
        let is_kept = !file.is_wanted && file.path.try_exists().unwrap_or(false);
        if is_given_up || is_kept {
            let path = file.path.display();
            let name = client.name;
            print_line(&format!("{name}: {path} stays: {} reads it as well", other.name))?;
        }
        Ok(is_given_up || !file.is_wanted)
    }

    /// Returns another client whose model reads the same file after the command.
    fn find_other_reader(
        &self,
        client: &SupportedClient,
        file: &ClientFile,
    ) -> Option<&'static SupportedClient> {
        let real_path = resolve_links(&file.path).ok()?;
        let is_same = |other: &ClientFile| {
            discriminant(&other.content) == discriminant(&file.content)
                && resolve_links(&other.path).is_ok_and(|path| path == real_path)
        };
        let mut others =
            CLIENTS.iter().filter(|other| other.id != client.id && self.reads_instructions(other));
        others
            .find(|other| ClientFile::list_for_models(other, self.places, true).iter().any(is_same))
    }

    /// Returns whether a client has lines and a sub-agent after the command.
    fn reads_instructions(&self, client: &SupportedClient) -> bool {
        let is_named = self.named.iter().any(|named| named.id == client.id);
        let is_set_up = if is_named {
            self.is_install
        } else {
            contains_server(client, &client.server_file(self.places))
        };
        is_set_up && !self.state.without_instructions.contains(client.id)
    }
}

pub(super) fn contains_server(client: &SupportedClient, path: &Path) -> bool {
    let text = read_file(path).ok().and_then(|found| found.text).unwrap_or_default();
    edit::remove_server(client.syntax, client.section, &text).is_ok_and(|without| without != text)
}

/// Maximum bytes of an edited file. Claude Code stores its history in the file of its servers.
const MAX_BYTES: u64 = 8 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EditableFile {
    /// Path of the client's file, or the target of a link in its place.
    pub(super) path: PathBuf,
    pub(super) real_path: PathBuf,
    pub(super) is_linked: bool,
    /// Text of the file; `None` if it does not exist.
    pub(super) text: Option<String>,
}

/// Reads a file. Fails if the file could not be written afterwards.
pub(super) fn read_file(path: &Path) -> Result<EditableFile, InstallError> {
    let failed = |source| InstallError::for_file(path, source);
    let real_path = resolve_links(path)?;
    let is_linked = match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(EditableFile {
                path: path.to_owned(),
                real_path,
                is_linked: false,
                text: None,
            });
        }
        found => found.map_err(failed)?.is_symlink(),
    };
    let path = if is_linked { real_path.clone() } else { path.to_owned() };
    let metadata = path.symlink_metadata().map_err(failed)?;
    if metadata.is_file() {
        refuse_large(&path, metadata.len())?;
    }
    if metadata.is_file() && metadata.permissions().readonly() {
        return Err(InstallError::unfit_file(path, "is read-only"));
    }
    let bytes = atomic::read_if_exists(&path, FileAccess::AsUsual).map_err(failed)?;
    let decoded = bytes.map(String::from_utf8).transpose();
    let text = decoded.map_err(|_| InstallError::unfit_file(&path, "is not UTF-8"))?;
    Ok(EditableFile { path, real_path, is_linked, text })
}

/// Refuses a file that is too large to be read again.
pub(super) fn refuse_large(path: &Path, bytes: u64) -> Result<(), InstallError> {
    if bytes <= MAX_BYTES {
        return Ok(());
    }
    Err(InstallError::unfit_file(path, format!("is larger than {} MiB", MAX_BYTES >> 20)))
}

pub(super) fn resolve_links(path: &Path) -> Result<PathBuf, InstallError> {
    let absolute =
        std::path::absolute(path).map_err(|source| InstallError::for_file(path, source))?;
    let is_there = |part: &&Path| part.symlink_metadata().is_ok();
    let present = absolute.ancestors().find(is_there).unwrap_or(&absolute);
    let mut real_path = present.canonicalize().map_err(|error| {
        InstallError::unfit_file(present, format!("is a link to what cannot be opened: {error}"))
    })?;
    real_path.extend(absolute.strip_prefix(present).into_iter().flatten());
    Ok(real_path)
}

impl EditableFile {
    /// Writes `text` to the file, or removes the file, unless another program changed it meanwhile.
    pub(super) fn replace_text(&self, text: Option<&str>) -> Result<(), InstallError> {
        let failed = |source| InstallError::for_file(&self.path, source);
        if read_file(&self.path)?.text != self.text {
            let reason = "was changed by another program meanwhile; nothing was written to it";
            return Err(InstallError::unfit_file(&self.path, reason));
        }
        let Some(text) = text else { return atomic::remove_file(&self.path).map_err(failed) };
        let folder = self.path.parent().unwrap_or(Path::new("."));
        atomic::create_folders(folder, FileAccess::AsUsual).map_err(failed)?;
        atomic::replace_user_file(&self.path, text.as_bytes()).map_err(failed)
    }

    pub(super) fn missing_folders(&self) -> impl Iterator<Item = PathBuf> {
        let folders = self.real_path.ancestors().skip(1);
        folders.take_while(|folder| folder.symlink_metadata().is_err()).map(Path::to_owned)
    }
}
