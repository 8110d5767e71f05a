//! The command line: parses arguments, calls a server over its HTTP API, and prints for people.
//!
//! If no server holds the data folder, the process starts one on free loopback ports for the one
//! command. `doctor` starts one even if the store cannot be opened, and checks the rest.

mod access;
mod answer;
mod args;
mod check;
mod client;
mod doctor;
mod ingest;
mod print;
mod repos;
mod search;
mod symbols;
mod toolkits;

use codeinfo_citations::DocumentError;
use codeinfo_ingest::RunState;

use crate::install::ConsoleError;

pub use access::open_page;
pub use args::{
    CheckCommand, CliArguments, CliCommand, HookCommand, ImpactCommand, SearchCommand,
    StdioCommand, SwitchArgument, SymbolCommand, ToolkitsCommand, TraceCommand,
    generate_completions,
};
pub use check::{CheckOutcome, check_citations};
pub use client::ApiClient;
pub use doctor::{print_check, print_remark};
pub use ingest::{explain_paths, ingest_for_search, ingest_served_folders, reembed_all};
pub use print::{
    print_docs, print_line, print_note, replace_control_characters, resolve_reference,
};
pub use toolkits::create_toolkits_file;

/// Failure of a command, in words for the person who typed it.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The server could not be reached or closed the connection.
    #[error("cannot talk to the server at {url}: {reason}")]
    Unreachable { url: String, reason: String },
    #[error("{message}")]
    Refused { code: String, message: String },
    #[error("cannot use the path `{path}`: {source}")]
    Path {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("`--name`, `--description` and `--scip` need a single folder")]
    SeveralFolders,
    #[error("indexing `{path}` ended as {state}: {reason}")]
    Run { path: String, state: RunState, reason: String },
    #[error("no answer ({code}): {message}")]
    Unanswered { code: String, message: String },
    /// The person pressed Ctrl-C.
    #[error("the question was stopped")]
    Interrupted,
    /// No server runs whose page could be opened.
    #[error("no server runs on this DATA_DIR; start it with `codeinfo serve`")]
    NoServer,
    /// A check failed; the details are already printed.
    #[error("some checks failed")]
    Checks,
    #[error("cannot check `{path}`: {reason}")]
    Unreadable { path: String, reason: String },
    #[error("{0}")]
    Usage(String),
    #[error("the server sent an unexpected reply: {0}")]
    Reply(#[from] serde_json::Error),
    #[error(transparent)]
    Document(#[from] DocumentError),
    #[error(transparent)]
    Console(#[from] ConsoleError),
}

/// Runs one command against the server at `client`.
pub async fn run(command: CliCommand, client: &ApiClient) -> Result<(), CliError> {
    match command {
        CliCommand::Ingest { paths, name, description, scip, .. } => {
            ingest::ingest_named_folders(client, &paths, name, description, scip).await?;
            print::print_next_step(
                "`codeinfo search WORDS`, `codeinfo ask QUESTION`, or `codeinfo serve` for the page",
            )
        }
        CliCommand::Search(arguments) => search::run_search(client, arguments).await,
        CliCommand::Uses(arguments) => symbols::print_relations(client, "uses", arguments).await,
        CliCommand::Callers(arguments) => {
            symbols::print_relations(client, "callers", arguments).await
        }
        CliCommand::Callees(arguments) => {
            symbols::print_relations(client, "callees", arguments).await
        }
        CliCommand::Trace(arguments) => symbols::print_trace(client, arguments).await,
        CliCommand::History { path, commit, repository } => {
            let given = [("path", path), ("commit", commit)];
            symbols::print_found(client, &["symbols", "history"], given, repository, false).await
        }
        CliCommand::Impact(arguments) => symbols::print_impact(client, arguments).await,
        CliCommand::Ask { words, conversation, repository, claim_check, json } => {
            let resolved = repository.as_deref().map(resolve_reference);
            let is_checked = claim_check.map(|switch| switch == SwitchArgument::On);
            let body =
                answer::build_turn_body(&words.join(" "), conversation, resolved, is_checked);
            answer::ask_question(client, &body, json).await
        }
        CliCommand::Repos { json } => repos::list_repos(client, json).await,
        CliCommand::Remove { name } => repos::remove_repository(client, &name).await,
        CliCommand::Mcp(arguments) => toolkits::run_toolkits_command(client, arguments).await,
        CliCommand::Token(arguments) => access::run_token_command(client, arguments).await,
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
