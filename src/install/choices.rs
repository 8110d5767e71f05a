//! What a person agrees to beside the servers, asked once for all clients.

use super::{Client, Install, InstallError, Places, content, file, talk::ask};

/// The answers, from switches, from the terminal, or else the defaults.
#[derive(Debug, Clone, Copy)]
pub(super) struct InstallChoices {
    /// Whether repositories are indexed when a client starts in them.
    pub(super) auto_index: bool,
    /// Whether clients call the tool without a prompt.
    pub(super) permissions: bool,
    /// Whether what agents read in every folder says when to ask, and a sub-agent is there that does.
    pub(super) instructions: bool,
    /// Whether Claude Code runs `codeinfo hook` with each prompt; `None` leaves that as it is.
    pub(super) hook: Option<bool>,
}

impl InstallChoices {
    /// Nothing, for what is to be taken out again.
    pub(super) const NONE: Self =
        Self { auto_index: false, permissions: false, instructions: false, hook: Some(false) };

    /// Asks what the switches leave open and concerns these clients. `--yes` takes the defaults.
    /// `can_hook` is whether this program starts fast enough for a prompt.
    pub(super) fn ask(
        asked: &Install,
        clients: &[&Client],
        places: &Places<'_>,
        can_hook: bool,
    ) -> Result<Self, InstallError> {
        let is_quiet = asked.yes || asked.print_config;
        let choose = |question: &str, is_open: bool, default: bool| {
            let answer = if is_open && !is_quiet { ask(question, default)? } else { None };
            Ok::<_, InstallError>(answer.unwrap_or(default))
        };
        let asks = clients.iter().any(|client| client.asks_before_calls());
        let lacks_hook = clients
            .iter()
            .any(|client| client.settings_file(places).is_some() && !has_hook(client, places));
        let reads = clients.iter().any(|client| client.instructions_file(places).is_some());
        Ok(Self {
            auto_index: choose(
                "Index repositories that are not indexed yet when a client is started in them?",
                !(clients.is_empty() || asked.http || asked.auto_index),
                asked.auto_index,
            )?,
            permissions: choose(
                "Let clients call codebase_question, which only reads, without asking you each time?",
                !(asked.permissions || asked.no_permissions) && asks,
                !asked.no_permissions,
            )?,
            instructions: choose(
                "Add lines to what agents read in every folder, and a sub-agent, that say when to ask CodeInfo?",
                !(asked.instructions || asked.no_instructions) && reads,
                !asked.no_instructions,
            )?,
            hook: match (asked.hook, asked.no_hook) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ if is_quiet || !can_hook || !lacks_hook => None,
                _ => ask(
                    "Remind Claude Code's model of CodeInfo with each prompt where the folder is indexed?",
                    false,
                )?,
            },
        })
    }
}

/// Whether the settings of a client have the hook.
pub(super) fn has_hook(client: &Client, places: &Places<'_>) -> bool {
    let settings = client.settings_file(places).and_then(|path| file::read(&path).ok()?.text);
    settings.is_some_and(|text| content::has_hook(&text))
}
