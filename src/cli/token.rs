//! Makes, lists and revokes tokens.

use codeinfo_server::replies::{TokenList, TokenMade};
use serde_json::{Value, json};

use super::{CliError, Client, args::Token, print};

const TOKENS: [&str; 2] = ["auth", "mcp-tokens"];

pub(super) async fn token(client: &Client, asked: Token) -> Result<(), CliError> {
    match asked {
        Token::Create { name, overwrite, admin, json } => {
            let body = json!({ "name": name, "overwrite": overwrite, "admin": admin });
            create(client, &body, json).await
        }
        Token::List { json } => list(client, json).await,
        Token::Revoke { name, json } => revoke(client, &name, json).await,
    }
}

async fn create(client: &Client, body: &Value, as_json: bool) -> Result<(), CliError> {
    if as_json {
        return print::json(&client.post(&TOKENS, body).await?);
    }
    let made: TokenMade = client.post(&TOKENS, body).await?;
    print::line(&made.token)?;
    print::note(&format!(
        "this is shown once; clients send it as `Authorization: Bearer …`, and `codeinfo token revoke {}` \
         ends it",
        made.name
    ))
}

async fn list(client: &Client, as_json: bool) -> Result<(), CliError> {
    if as_json {
        return print::json(&client.get(&TOKENS).await?);
    }
    let TokenList { tokens } = client.get(&TOKENS).await?;
    if tokens.is_empty() {
        return print::note("there are no tokens: `codeinfo token create NAME`");
    }
    let rows: Vec<[String; 4]> = tokens
        .into_iter()
        .map(|token| {
            let used = token.last_used_at.map(|at| format!("used {}", print::time(&at)));
            let rights = if token.admin { "admin" } else { "" };
            [
                token.name,
                format!("made {}", print::time(&token.created_at)),
                used.unwrap_or_else(|| "never used".to_owned()),
                rights.to_owned(),
            ]
        })
        .collect();
    print::align_columns(&rows).iter().try_for_each(|text| print::line(text))
}

async fn revoke(client: &Client, name: &str, as_json: bool) -> Result<(), CliError> {
    let [auth, tokens] = TOKENS;
    let revoked: Value = client.delete(&[auth, tokens, name]).await?;
    if as_json {
        return print::json(&revoked);
    }
    print::line(&format!("revoked {name}"))
}
