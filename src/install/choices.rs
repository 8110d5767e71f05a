//! Choices of a person besides the servers, asked once for all clients.

use std::collections::BTreeSet;

use super::{
    InstallCommand, InstallError, SupportedClient, UserFolders, content, file, state::InstallState,
    talk::ask_person,
};

/// Answers from switches, from the terminal, from earlier commands, or by default.
#[derive(Debug)]
pub(super) struct InstallChoices {
    /// Refusals for each client.
    pub(super) state: InstallState,
    /// True if Claude Code runs `codeinfo hook` with each prompt; `None` keeps the current state.
    pub(super) hook: Option<bool>,
}

/// A question with the switches that answer it.
struct ChoiceQuestion {
    text: &'static str,
    /// Switches for yes and for no.
    switches: (bool, bool),
    /// True if it concerns a client.
    is_open: bool,
    default: bool,
}

impl ChoiceQuestion {
    /// Returns an explicit answer from a switch, or from the terminal unless `is_quiet`.
    fn find_answer(&self, is_quiet: bool) -> Result<Option<bool>, InstallError> {
        match self.switches {
            (true, _) => Ok(Some(true)),
            (_, true) => Ok(Some(false)),
            _ if is_quiet || !self.is_open => Ok(None),
            _ => Ok(ask_person(self.text, self.default)?),
        }
    }
}

impl InstallChoices {
    /// Asks the questions that concern these clients and that no switch answers. `--yes` keeps
    /// earlier answers, or else takes the defaults. `can_hook` is true if this program starts fast
    /// enough for a prompt.
    pub(super) fn ask_open_choices(
        asked: &InstallCommand,
        clients: &[&SupportedClient],
        places: &UserFolders<'_>,
        can_hook: bool,
        mut state: InstallState,
    ) -> Result<Self, InstallError> {
        let is_quiet = asked.yes || asked.print_config;
        let starting = if asked.http { BTreeSet::new() } else { list_ids(clients, |_| true) };
        let indexing = ChoiceQuestion {
            text: "When a client starts in a git repository that is not indexed, index it in the background? Any but \
                   a home folder, of up to a million files, without what `.gitignore` names; 4,000 files take a \
                   second or two and 30 MB of disk.",
            switches: (asked.auto_index, asked.no_auto_index),
            is_open: !starting.is_empty(),
            default: state.without_indexing.is_disjoint(&starting),
        };
        update_refusals(&mut state.without_indexing, starting, indexing.find_answer(is_quiet)?);
        let asking = list_ids(clients, SupportedClient::asks_before_calls);
        let permissions = ChoiceQuestion {
            text: "Let clients call codebase_question, which only reads, without asking you each time?",
            switches: (asked.permissions, asked.no_permissions),
            is_open: !asking.is_empty(),
            default: state.without_permissions.is_disjoint(&asking),
        };
        update_refusals(&mut state.without_permissions, asking, permissions.find_answer(is_quiet)?);
        let reading = list_ids(clients, |client| client.instructions_file(places).is_some());
        let instructions = ChoiceQuestion {
            text: "Add lines to what agents read in every folder, and a sub-agent, that say when to ask CodeInfo?",
            switches: (asked.instructions, asked.no_instructions),
            is_open: !reading.is_empty(),
            default: state.without_instructions.is_disjoint(&reading),
        };
        update_refusals(
            &mut state.without_instructions,
            reading,
            instructions.find_answer(is_quiet)?,
        );
        let hook = ask_for_hook(asked, clients, places, is_quiet || !can_hook)?;
        Ok(Self { state, hook })
    }

    /// Returns whether a client may call the tool without a prompt.
    pub(super) fn permits_calls(&self, client: &SupportedClient) -> bool {
        !self.state.without_permissions.contains(client.id)
    }
}

fn ask_for_hook(
    asked: &InstallCommand,
    clients: &[&SupportedClient],
    places: &UserFolders<'_>,
    is_quiet: bool,
) -> Result<Option<bool>, InstallError> {
    let lacks_hook = |client: &&SupportedClient| {
        client.settings_file(places).is_some() && !has_hook(client, places)
    };
    let question = ChoiceQuestion {
        text: "Remind Claude Code's model of CodeInfo with each prompt where the folder is indexed?",
        switches: (asked.hook, asked.no_hook),
        is_open: clients.iter().any(lacks_hook),
        default: false,
    };
    question.find_answer(is_quiet)
}

fn list_ids(
    clients: &[&SupportedClient],
    is_listed: impl Fn(&SupportedClient) -> bool,
) -> BTreeSet<String> {
    let listed = clients.iter().filter(|client| is_listed(client));
    listed.map(|client| client.id.to_owned()).collect()
}

/// Updates the refusals of these clients by an explicit answer.
fn update_refusals(refusals: &mut BTreeSet<String>, ids: BTreeSet<String>, answer: Option<bool>) {
    match answer {
        Some(true) => refusals.retain(|id| !ids.contains(id)),
        Some(false) => refusals.extend(ids),
        None => {}
    }
}

/// Returns whether the settings of a client contain the hook.
pub(super) fn has_hook(client: &SupportedClient, places: &UserFolders<'_>) -> bool {
    let settings = client.settings_file(places).and_then(|path| file::read_file(&path).ok()?.text);
    settings.is_some_and(|text| content::has_hook(&text))
}
