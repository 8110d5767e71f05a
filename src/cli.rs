//! The command line: parses arguments, calls a server over its HTTP API, and prints for people.
//!
//! If no server holds the data folder, the process starts one on free loopback ports for the one
//! command, so that everything works in the same way. `doctor` also starts one with a store that
//! cannot be opened, to check the remaining parts.

mod answer;
mod args;
mod citations;
mod client;
mod docs;
mod doctor;
mod error;
mod explain;
mod ingest;
mod open;
mod print;
mod repos;
mod search;
mod token;
mod toolkits;

pub use args::{
    CheckCommand, CliArguments, CliCommand, HookCommand, SearchCommand, StdioCommand,
    SwitchArgument, ToolkitsCommand, generate_completions,
};
pub use citations::{CheckOutcome, check_citations};
pub use client::ApiClient;
pub use docs::print_docs;
pub use doctor::{print_check, print_remark};
pub use error::CliError;
pub use explain::explain_paths;
pub use ingest::{ingest_for_search, ingest_served_folders, reembed_all};
pub use open::open_page;
pub use print::{print_line, print_note, replace_control_characters, resolve_reference};
pub use toolkits::create_toolkits_file;

/// Runs one command against the server at `client`.
pub async fn run(command: CliCommand, client: &ApiClient) -> Result<(), CliError> {
    match command {
        CliCommand::Ingest { paths, name, description, .. } => {
            ingest::ingest_named_folders(client, &paths, name, description).await?;
            print::next_step(
                "`codeinfo search WORDS`, `codeinfo ask QUESTION`, or `codeinfo serve` for the page",
            )
        }
        CliCommand::Search(asked) => search::run_search(client, asked).await,
        CliCommand::Ask { words, conversation, repository, claim_check, json } => {
            let resolved = repository.as_deref().map(resolve_reference);
            let is_checked = claim_check.map(|switch| switch == SwitchArgument::On);
            let body =
                answer::build_turn_body(&words.join(" "), conversation, resolved, is_checked);
            answer::ask_question(client, &body, json).await
        }
        CliCommand::Repos { json } => repos::list_repos(client, json).await,
        CliCommand::Remove { name } => print::remove_repository(client, &name).await,
        CliCommand::Mcp(asked) => toolkits::run_toolkits_command(client, asked).await,
        CliCommand::Token(asked) => token::run_token_command(client, asked).await,
        CliCommand::Doctor => doctor::check_server(client).await,
        // These commands ran before, because they need no server.
        CliCommand::Check(_)
        | CliCommand::Completions { .. }
        | CliCommand::Docs { .. }
        | CliCommand::Hook(_)
        | CliCommand::Install(_)
        | CliCommand::Open { .. }
        | CliCommand::Serve { .. }
        | CliCommand::Service(_)
        | CliCommand::Stdio(_)
        | CliCommand::Uninstall(_) => Ok(()),
    }
}
