//! The command line: reads arguments, talks to a server over its HTTP API, and prints for people.
//!
//! When no server holds the data folder, the process starts one on free loopback ports for the one
//! command: there is no second way to do anything. `doctor` also starts one with a store that
//! cannot be opened, so that the rest is checked.

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
mod serve;
mod token;
mod toolkits;

pub use args::{Arguments, Check, Command, Hook, Search, Stdio, Switch, Toolkits, completions};
pub use citations::{Verdict, citations};
pub use client::Client;
pub use docs::docs;
pub use doctor::{check, remark};
pub use error::CliError;
pub use explain::explain;
pub use ingest::{ingest_for_search, reembed};
pub use open::open;
pub use print::{harmless, note, reference};
pub use serve::{banner, damaged, stopping, taking_over};
pub use toolkits::init;

/// Runs one command against the server at `client`. Of `serve`, this is the indexing of its folders.
pub async fn run(command: Command, client: &Client) -> Result<(), CliError> {
    match command {
        Command::Serve { paths, .. } => ingest::all(client, &paths).await,
        Command::Ingest { paths, name, description, .. } => {
            ingest::each(client, &paths, name, description).await?;
            print::next_step(
                "`codeinfo search WORDS`, `codeinfo ask QUESTION`, or `codeinfo serve` for the page",
            )
        }
        Command::Search(asked) => search::search(client, asked).await,
        Command::Ask { words, conversation, repository, claim_check, json } => {
            let repository = repository.as_deref().map(reference);
            let claim_check = claim_check.map(|switch| switch == Switch::On);
            let body = answer::body(&words.join(" "), conversation, repository, claim_check);
            answer::ask(client, &body, json).await
        }
        Command::Repos { json } => repos::list(client, json).await,
        Command::Remove { name } => print::remove(client, &name).await,
        Command::Mcp(asked) => toolkits::toolkits(client, asked).await,
        Command::Token(asked) => token::token(client, asked).await,
        Command::Doctor => doctor::server(client).await,
        // These need no server, so that they run before there is one.
        Command::Check(_)
        | Command::Completions { .. }
        | Command::Docs { .. }
        | Command::Hook(_)
        | Command::Install(_)
        | Command::Open { .. }
        | Command::Service(_)
        | Command::Stdio(_)
        | Command::Uninstall(_) => Ok(()),
    }
}
