//! The service managers: systemd for a user, and launchd.

use std::fmt::Write as _;

use super::{MARK, ServiceJob, ServiceManager, split_words};
use crate::install::UserFolders;

const UNIT: &str = "codeinfo.service";

pub(super) fn build_systemd(places: &UserFolders<'_>) -> ServiceManager {
    ServiceManager {
        name: "systemctl",
        file: places.dot_config().join("systemd/user").join(UNIT),
        text: render_unit,
        // Not needed, because `start` restarts a running service.
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

const LABEL: &str = "codeinfo";

pub(super) fn build_launchd(places: &UserFolders<'_>) -> ServiceManager {
    let file = places.in_home("Library/LaunchAgents").join(format!("{LABEL}.plist"));
    let domain = format!("gui/{}", current_user_id());
    let path = file.display().to_string();
    ServiceManager {
        name: "launchctl",
        text: render_plist,
        // An agent that is loaded cannot be loaded again.
        renew: vec![split_words(&format!("bootout {domain}/{LABEL}"))],
        start: vec![
            vec!["bootstrap".to_owned(), domain.clone(), path],
            split_words(&format!("kickstart -k {domain}/{LABEL}")),
        ],
        is_running: split_words(&format!("print {domain}/{LABEL}")),
        stop: vec![split_words(&format!("bootout {domain}/{LABEL}"))],
        forget: Vec::new(),
        file,
        hint: "after `codeinfo service remove`, run `codeinfo service install` again in a desktop session",
        log: "`codeinfo serve` on a terminal says why",
    }
}

#[cfg(unix)]
fn current_user_id() -> u32 {
    rustix::process::getuid().as_raw()
}

#[cfg(not(unix))]
fn current_user_id() -> u32 {
    0
}

fn render_plist(job: &ServiceJob) -> String {
    let mut arguments = String::new();
    let mut variables = String::new();
    for argument in &job.command {
        // Writing to a `String` cannot fail.
        let _ = writeln!(arguments, "    <string>{}</string>", escape_xml(argument));
    }
    for (name, value) in &job.environment {
        let key = escape_xml(name);
        let text = escape_xml(value);
        let _ = writeln!(variables, "    <key>{key}</key>\n    <string>{text}</string>");
    }
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- {MARK}. -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>{LABEL}</string>
  <key>ProgramArguments</key>
  <array>
{arguments}  </array>
  <key>EnvironmentVariables</key>
  <dict>
{variables}  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
</dict>
</plist>
"#
    )
}

fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_with_signs_of_xml_stay_what_they_are() {
        let job = ServiceJob {
            command: ["/a b/codeinfo", "serve", "/R&D <x>"].map(str::to_owned).into(),
            environment: vec![("PATH".to_owned(), "/a&b".to_owned())],
        };
        let text = render_plist(&job);
        assert!(text.contains("<string>/a b/codeinfo</string>\n    <string>serve</string>"));
        assert!(text.contains("<string>/R&amp;D &lt;x&gt;</string>"));
        assert!(text.contains("<key>PATH</key>\n    <string>/a&amp;b</string>"));
    }
}
