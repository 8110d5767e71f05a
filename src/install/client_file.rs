//! Files of a client, and those that several clients share by links.

use std::{mem::discriminant, path::PathBuf};

use super::{
    InstallError, SupportedClient, UserFolders, clients::CLIENTS, content::FileContent, edit,
    entry::EntryMembers, file, state::InstallState, talk::print_line,
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
        let whole = self.content.add_to("").map_err(refused)?;
        print_line(&format!("paste into {}:\n\n{whole}", self.path.display()))
    }
}

/// Finds the clients that share a file by links.
pub(super) struct FileReaders<'a> {
    pub(super) places: &'a UserFolders<'a>,
    pub(super) state: &'a InstallState,
    /// Clients that the command affects.
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
        let is_after = |one: &SupportedClient| CLIENTS.iter().position(|known| known.id == one.id);
        let is_given_up = file.is_wanted
            && client.sub_agent != other.sub_agent
            && file.content.is_whole_file()
            && is_after(client) > is_after(other);
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
        let real_path = file::resolve_links(&file.path).ok()?;
        let is_same = |other: &ClientFile| {
            discriminant(&other.content) == discriminant(&file.content)
                && file::resolve_links(&other.path).is_ok_and(|path| path == real_path)
        };
        let mut others =
            CLIENTS.iter().filter(|other| other.id != client.id && self.reads_instructions(other));
        others
            .find(|other| ClientFile::list_for_models(other, self.places, true).iter().any(is_same))
    }

    /// Returns whether a client has lines and a sub-agent after the command.
    fn reads_instructions(&self, client: &SupportedClient) -> bool {
        let is_named = self.named.iter().any(|named| named.id == client.id);
        let is_set_up = if is_named { self.is_install } else { has_server(client, self.places) };
        is_set_up && !self.state.without_instructions.contains(client.id)
    }
}

fn has_server(client: &SupportedClient, places: &UserFolders<'_>) -> bool {
    let found = file::read_file(&client.server_file(places)).ok();
    let text = found.and_then(|found| found.text).unwrap_or_default();
    edit::remove_server(client.syntax, client.section, &text).is_ok_and(|without| without != text)
}
