//! The service as a unit of systemd's user manager.

use super::{Job, MARK, Manager, words};
use crate::install::Places;

const UNIT: &str = "codeinfo.service";

pub(super) fn manager(places: &Places<'_>) -> Manager {
    Manager {
        name: "systemctl",
        file: places.dot_config().join("systemd/user").join(UNIT),
        text: unit,
        // What runs is restarted below.
        renew: Vec::new(),
        start: vec![
            words("--user daemon-reload"),
            words("--user enable codeinfo.service"),
            words("--user restart codeinfo.service"),
        ],
        is_running: words("--user is-active codeinfo.service"),
        stop: vec![words("--user disable --now codeinfo.service")],
        forget: vec![words("--user daemon-reload")],
        hint: "with a user session of systemd, run `codeinfo service install` again; elsewhere have your \
               init system run `codeinfo serve`",
        log: "`journalctl --user --unit codeinfo` says why",
    }
}

fn unit(job: &Job) -> String {
    let mut command = job.command.iter();
    let program = command.next().map(|program| quoted(program, "$")).unwrap_or_default();
    let arguments = command.map(|argument| format!(" {}", quoted(argument, "$$")));
    let arguments: String = arguments.collect();
    let variables = job.environment.iter().map(|(name, value)| {
        // No variables are put into variables, so that `$` stands for itself.
        format!("Environment={}\n", quoted(&format!("{name}={value}"), "$"))
    });
    let variables: String = variables.collect();
    format!(
        "# {MARK}.\n\
         [Unit]\n\
         Description=CodeInfo, answers about the code of repositories\n\
         \n\
         [Service]\n\
         ExecStart={program}{arguments}\n\
         {variables}\
         Restart=on-failure\n\
         RestartSec=5\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n"
    )
}

/// Returns a word in quotes, with what systemd would expand as itself.
fn quoted(word: &str, dollar: &str) -> String {
    let mut quoted = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '%' => quoted.extend(['%', '%']),
            '$' => quoted.push_str(dollar),
            _ => quoted.push(c),
        }
    }
    quoted + "\""
}
