//! Arguments of `codeinfo install` and `codeinfo uninstall`, and choices that a person is asked for.
#![expect(clippy::doc_markdown, reason = "doc comments are help texts here")]

use std::collections::BTreeSet;

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};

use super::{
    UserFolders,
    client_file::read_file,
    clients::{CLIENTS, SupportedClient},
    content,
    messages::{InstallError, ask_person},
    record::InstallState,
};

/// Arguments of `codeinfo install`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch that people type")]
pub struct InstallCommand {
    /// The clients [default: those found on this machine]; for other clients see --print-config
    #[arg(value_name = "CLIENT", value_parser = build_client_parser())]
    pub clients: Vec<&'static SupportedClient>,
    /// Set up every supported client, whether it is found or not
    #[arg(long, conflicts_with = "clients")]
    pub all: bool,
    /// Print the content for each file, and write nothing
    #[arg(long)]
    pub print_config: bool,
    /// Write without asking
    #[arg(long, short)]
    pub yes: bool,
    /// Let clients connect to a server that you start, at MCP_PORT (5011), instead of starting one
    #[arg(long, conflicts_with_all = ["auto_index", "no_auto_index"])]
    pub http: bool,
    /// Index the git repository in which a client starts, in the background, unless it is indexed [default: you are
    /// asked; with --yes, on]
    #[arg(long, conflicts_with = "no_auto_index")]
    pub auto_index: bool,
    /// Index repositories only by `codeinfo ingest`
    #[arg(long)]
    pub no_auto_index: bool,
    /// Let clients call the tool without asking you each time [default: you are asked; with --yes, on]
    #[arg(long, conflicts_with = "no_permissions")]
    pub permissions: bool,
    /// Let clients ask before each call of the tool, if they can, and revoke the permissions that `install` gave
    #[arg(long)]
    pub no_permissions: bool,
    /// Tell agents when to ask CodeInfo, by lines in the files that they read in every folder and by a sub-agent
    /// [default: you are asked; with --yes, on]. Without CLIENT or --all, adds the lines to AGENTS.md, CLAUDE.md and
    /// GEMINI.md of this repository instead, and allows no other switch than --yes
    #[arg(long, conflicts_with = "no_instructions")]
    pub instructions: bool,
    /// Add no such lines and no sub-agent, and remove existing ones
    #[arg(long)]
    pub no_instructions: bool,
    /// Let Claude Code run `codeinfo hook` with each prompt [default: you are asked; with --yes, unchanged]
    #[arg(long, conflicts_with = "no_hook")]
    pub hook: bool,
    /// Remove the hook
    #[arg(long)]
    pub no_hook: bool,
}

impl InstallCommand {
    /// Returns a switch that only applies to clients, for a command without clients.
    pub(super) fn find_client_switch(&self) -> Option<&'static str> {
        let switches = [
            ("--http", self.http),
            ("--auto-index", self.auto_index),
            ("--no-auto-index", self.no_auto_index),
            ("--permissions", self.permissions),
            ("--no-permissions", self.no_permissions),
            ("--hook", self.hook),
            ("--no-hook", self.no_hook),
        ];
        switches.into_iter().find(|(_, is_set)| *is_set).map(|(name, _)| name)
    }
}

/// Arguments of `codeinfo uninstall`.
#[derive(Debug, Args)]
pub struct UninstallCommand {
    /// The clients [default: all that have CodeInfo]
    #[arg(value_name = "CLIENT", value_parser = build_client_parser())]
    pub clients: Vec<&'static SupportedClient>,
    /// Write without asking
    #[arg(long, short)]
    pub yes: bool,
    /// Remove the lines from AGENTS.md, CLAUDE.md and GEMINI.md of this repository; without CLIENT, change nothing
    /// else
    #[arg(long)]
    pub instructions: bool,
}

/// Builds the parser of a client's name, which shells can complete.
fn build_client_parser() -> impl TypedValueParser<Value = &'static SupportedClient> {
    let ids = PossibleValuesParser::new(CLIENTS.iter().map(|client| client.id));
    ids.try_map(|id| CLIENTS.iter().find(|client| client.id == id).ok_or("unknown client"))
}

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
        arguments: &InstallCommand,
        clients: &[&SupportedClient],
        places: &UserFolders<'_>,
        can_hook: bool,
        mut state: InstallState,
    ) -> Result<Self, InstallError> {
        let is_quiet = arguments.yes || arguments.print_config;
        let starting = if arguments.http { BTreeSet::new() } else { list_ids(clients, |_| true) };
        let indexing = ChoiceQuestion {
            text: "When a client starts in a git repository that is not indexed, index it in the background? Any but \
                   a home folder, of up to a million files, without what `.gitignore` names; 4,000 files take a \
                   second or two and 30 MB of disk.",
            switches: (arguments.auto_index, arguments.no_auto_index),
            is_open: !starting.is_empty(),
            default: state.without_indexing.is_disjoint(&starting),
        };
        update_refusals(&mut state.without_indexing, starting, indexing.find_answer(is_quiet)?);
        let asking = list_ids(clients, SupportedClient::asks_before_calls);
        let permissions = ChoiceQuestion {
            text: "Let clients call codebase_question, which only reads, without asking you each time?",
            switches: (arguments.permissions, arguments.no_permissions),
            is_open: !asking.is_empty(),
            default: state.without_permissions.is_disjoint(&asking),
        };
        update_refusals(&mut state.without_permissions, asking, permissions.find_answer(is_quiet)?);
        let reading = list_ids(clients, |client| client.instructions_file(places).is_some());
        let instructions = ChoiceQuestion {
            text: "Add lines to what agents read in every folder, and a sub-agent, that say when to ask CodeInfo?",
            switches: (arguments.instructions, arguments.no_instructions),
            is_open: !reading.is_empty(),
            default: state.without_instructions.is_disjoint(&reading),
        };
        update_refusals(
            &mut state.without_instructions,
            reading,
            instructions.find_answer(is_quiet)?,
        );
        let hook = ask_for_hook(arguments, clients, places, is_quiet || !can_hook)?;
        Ok(Self { state, hook })
    }

    /// Returns whether a client may call the tool without a prompt.
    pub(super) fn permits_calls(&self, client: &SupportedClient) -> bool {
        !self.state.without_permissions.contains(client.id)
    }
}

fn ask_for_hook(
    arguments: &InstallCommand,
    clients: &[&SupportedClient],
    places: &UserFolders<'_>,
    is_quiet: bool,
) -> Result<Option<bool>, InstallError> {
    let lacks_hook = |client: &&SupportedClient| {
        client.settings_file(places).is_some() && !has_hook(client, places)
    };
    let question = ChoiceQuestion {
        text: "Remind Claude Code's model of CodeInfo with each prompt where the folder is indexed?",
        switches: (arguments.hook, arguments.no_hook),
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
    let settings = client.settings_file(places).and_then(|path| read_file(&path).ok()?.text);
    settings.is_some_and(|text| content::has_hook(&text))
}
