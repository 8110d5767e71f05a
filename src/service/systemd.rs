//! The service as a unit of the systemd user manager.

use super::{MARK, ServiceJob, ServiceManager, split_words};
use crate::install::UserFolders;

const UNIT: &str = "codeinfo.service";

pub(super) fn build_manager(places: &UserFolders<'_>) -> ServiceManager {
    ServiceManager {
        name: "systemctl",
        file: places.dot_config().join("systemd/user").join(UNIT),
        text: render_unit,
        // `start` restarts a running service.
        renew: Vec::new(),
        start: vec![
            split_words("--user daemon-reload"),
            split_words("--user enable codeinfo.service"),
            split_words("--user restart codeinfo.service"),
        ],
        is_running: split_words("--user is-active codeinfo.service"),
        stop: vec![split_words("--user disable --now codeinfo.service")],
        forget: vec![split_words("--user daemon-reload")],
        hint: "with a user session of systemd, run `codeinfo service install` again; elsewhere have your \
               init system run `codeinfo serve`",
        log: "`journalctl --user --unit codeinfo` says why",
    }
}

fn render_unit(job: &ServiceJob) -> String {
    let mut command = job.command.iter();
    let program = command.next().map(|program| quote_word(program, "$")).unwrap_or_default();
    let quoted_words = command.map(|argument| format!(" {}", quote_word(argument, "$$")));
    let arguments: String = quoted_words.collect();
    let lines = job.environment.iter().map(|(name, value)| {
        // Variables are not expanded in values of variables, so `$` needs no escape.
        format!("Environment={}\n", quote_word(&format!("{name}={value}"), "$"))
    });
    let variables: String = lines.collect();
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

/// Returns a word in quotes, with characters escaped that systemd would expand.
fn quote_word(word: &str, dollar: &str) -> String {
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
