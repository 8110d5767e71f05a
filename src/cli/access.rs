//! Access to the server: `codeinfo token`, and the page for its owner.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use codeinfo_server::replies::{CreateTokenReply, SessionCode, TokenList};
use serde_json::{Value, json};

use super::{
    ApiClient, CliError,
    args::TokenCommand,
    print::{align_columns, format_time, print_json, print_line, print_note},
};

const TOKENS: [&str; 2] = ["auth", "mcp-tokens"];

pub(super) async fn run_token_command(
    client: &ApiClient,
    command: TokenCommand,
) -> Result<(), CliError> {
    match command {
        TokenCommand::Create { name, overwrite, admin, json } => {
            let body = json!({ "name": name, "overwrite": overwrite, "admin": admin });
            create_token(client, &body, json).await
        }
        TokenCommand::List { json } => list_tokens(client, json).await,
        TokenCommand::Revoke { name, json } => revoke_token(client, &name, json).await,
    }
}

async fn create_token(client: &ApiClient, body: &Value, as_json: bool) -> Result<(), CliError> {
    if as_json {
        return print_json(&client.post(&TOKENS, body).await?);
    }
    let created: CreateTokenReply = client.post(&TOKENS, body).await?;
    print_line(&created.token)?;
    print_note(&format!(
        "this is shown once; clients send it as `Authorization: Bearer …`, and `codeinfo token revoke {}` \
         ends it",
        created.name
    ))
}

async fn list_tokens(client: &ApiClient, as_json: bool) -> Result<(), CliError> {
    if as_json {
        return print_json(&client.get(&TOKENS).await?);
    }
    let TokenList { tokens } = client.get(&TOKENS).await?;
    if tokens.is_empty() {
        return print_note("there are no tokens: `codeinfo token create NAME`");
    }
    let rows: Vec<[String; 4]> = tokens
        .into_iter()
        .map(|token| {
            let used = token.last_used_at.map(|at| format!("used {}", format_time(&at)));
            let rights = if token.admin { "admin" } else { "" };
            [
                token.name,
                format!("made {}", format_time(&token.created_at)),
                used.unwrap_or_else(|| "never used".to_owned()),
                rights.to_owned(),
            ]
        })
        .collect();
    align_columns(&rows).iter().try_for_each(|text| print_line(text))
}

async fn revoke_token(client: &ApiClient, name: &str, as_json: bool) -> Result<(), CliError> {
    let [auth, tokens] = TOKENS;
    let revoked: Value = client.delete(&[auth, tokens, name]).await?;
    if as_json {
        return print_json(&revoked);
    }
    print_line(&format!("revoked {name}"))
}

/// Prints the address of the page with a code for a single use. Opens it unless `is_only_printed`.
pub async fn open_page(client: &ApiClient, is_only_printed: bool) -> Result<(), CliError> {
    let SessionCode { code } = client.post(&["auth", "page-codes"], &json!({})).await?;
    let address = format!("{}/#/session/{code}", client.base_url());
    print_line(&address)?;
    if is_only_printed || !start_browser(&address) {
        print_note("open it in a browser within a minute; it works once")?;
    }
    Ok(())
}

fn start_browser(address: &str) -> bool {
    // On macOS, other accounts see arguments, and the server cannot tell their connections apart.
    let (program, arguments, input): (_, &[&str], _) = if cfg!(target_os = "macos") {
        ("osascript", &["-"], format!("open location \"{address}\"\n"))
    } else if cfg!(windows) {
        ("explorer", &[address], String::new())
    } else {
        ("xdg-open", &[address], String::new())
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    child.stdin.take().is_some_and(|mut stdin| stdin.write_all(input.as_bytes()).is_ok())
}
