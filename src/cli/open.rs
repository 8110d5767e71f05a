//! Opens the page of the server in a browser, as its owner.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use codeinfo_server::replies::SessionCode;
use serde_json::json;

use super::{ApiClient, CliError, print};

/// Prints the address of the page with a code for a single use. Opens it unless `is_only_printed`.
pub async fn open_page(client: &ApiClient, is_only_printed: bool) -> Result<(), CliError> {
    let SessionCode { code } = client.post(&["auth", "page-codes"], &json!({})).await?;
    let address = format!("{}/#/session/{code}", client.base_url());
    print::print_line(&address)?;
    if is_only_printed || !start_browser(&address) {
        print::print_note("open it in a browser within a minute; it is good once")?;
    }
    Ok(())
}

/// Starts the preferred browser of the system; returns whether it could be started.
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
