//! Arguments of `codeinfo install` and `codeinfo uninstall`.
#![expect(clippy::doc_markdown, reason = "doc comments are help texts here")]

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};

use super::clients::{CLIENTS, SupportedClient};

/// Arguments of `codeinfo install`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch that people type")]
pub struct InstallCommand {
    /// The clients [default: those that are found on this machine]; for others see --print-config
    #[arg(value_name = "CLIENT", value_parser = build_client_parser())]
    pub clients: Vec<&'static SupportedClient>,
    /// Set up every client that is known, found or not
    #[arg(long, conflicts_with = "clients")]
    pub all: bool,
    /// Print what belongs into each file, and write nothing
    #[arg(long)]
    pub print_config: bool,
    /// Write without asking
    #[arg(long, short)]
    pub yes: bool,
    /// Have clients connect to the server at MCP_PORT (5011), which you start, instead of starting it
    #[arg(long, conflicts_with_all = ["auto_index", "no_auto_index"])]
    pub http: bool,
    /// Index the git repository that a client starts in, in the background, unless it is indexed [default: asked;
    /// with --yes it is]
    #[arg(long, conflicts_with = "no_auto_index")]
    pub auto_index: bool,
    /// Index repositories by `codeinfo ingest` alone
    #[arg(long)]
    pub no_auto_index: bool,
    /// Let clients call the tool without asking you each time [default: asked; with --yes they may]
    #[arg(long, conflicts_with = "no_permissions")]
    pub permissions: bool,
    /// Have clients that can ask before each call of the tool, and take back what `install` permitted
    #[arg(long)]
    pub no_permissions: bool,
    /// Add lines that say when to ask CodeInfo to what agents read in every folder, and a sub-agent that asks it
    /// [default: asked; with --yes they are added]; without CLIENT or --all, to AGENTS.md, CLAUDE.md and GEMINI.md of this repository
    /// instead, without any other switch but --yes
    #[arg(long, conflicts_with = "no_instructions")]
    pub instructions: bool,
    /// Add no such lines and no sub-agent, and take out those that are there
    #[arg(long)]
    pub no_instructions: bool,
    /// Have Claude Code run `codeinfo hook` with each prompt [default: asked; with --yes as it is]
    #[arg(long, conflicts_with = "no_hook")]
    pub hook: bool,
    /// Take the hook out where it is
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
    /// The clients [default: all that have it]
    #[arg(value_name = "CLIENT", value_parser = build_client_parser())]
    pub clients: Vec<&'static SupportedClient>,
    /// Write without asking
    #[arg(long, short)]
    pub yes: bool,
    /// Take the lines out of AGENTS.md, CLAUDE.md and GEMINI.md of this repository; without CLIENT nothing
    /// else is done
    #[arg(long)]
    pub instructions: bool,
}

/// Builds the parser of a client's name, which shells can complete.
fn build_client_parser() -> impl TypedValueParser<Value = &'static SupportedClient> {
    let ids = PossibleValuesParser::new(CLIENTS.iter().map(|client| client.id));
    ids.try_map(|id| CLIENTS.iter().find(|client| client.id == id).ok_or("unknown client"))
}
