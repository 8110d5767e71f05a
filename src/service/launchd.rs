//! The service as an agent of launchd.

use std::fmt::Write as _;

use super::{Job, MARK, Manager, words};
use crate::install::Places;

const LABEL: &str = "codeinfo";

pub(super) fn manager(places: &Places<'_>) -> Manager {
    let file = places.home("Library/LaunchAgents").join(format!("{LABEL}.plist"));
    let domain = format!("gui/{}", user());
    let path = file.display().to_string();
    Manager {
        name: "launchctl",
        text: plist,
        // What is loaded cannot be loaded again.
        renew: vec![words(&format!("bootout {domain}/{LABEL}"))],
        start: vec![
            vec!["bootstrap".to_owned(), domain.clone(), path],
            words(&format!("kickstart -k {domain}/{LABEL}")),
        ],
        is_running: words(&format!("print {domain}/{LABEL}")),
        stop: vec![words(&format!("bootout {domain}/{LABEL}"))],
        forget: Vec::new(),
        file,
        hint: "after `codeinfo service remove`, run `codeinfo service install` again in a session with windows",
        log: "`codeinfo serve` on a terminal says why",
    }
}

#[cfg(unix)]
fn user() -> u32 {
    rustix::process::getuid().as_raw()
}

#[cfg(not(unix))]
fn user() -> u32 {
    0
}

fn plist(job: &Job) -> String {
    let (mut arguments, mut variables) = (String::new(), String::new());
    for argument in &job.command {
        // Writing to a `String` cannot fail.
        let _ = writeln!(arguments, "    <string>{}</string>", escaped(argument));
    }
    for (name, value) in &job.environment {
        let (name, value) = (escaped(name), escaped(value));
        let _ = writeln!(variables, "    <key>{name}</key>\n    <string>{value}</string>");
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

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_with_signs_of_xml_stay_what_they_are() {
        let job = Job {
            command: ["/a b/codeinfo", "serve", "/R&D <x>"].map(str::to_owned).into(),
            environment: vec![("PATH".to_owned(), "/a&b".to_owned())],
        };
        let text = plist(&job);
        assert!(text.contains("<string>/a b/codeinfo</string>\n    <string>serve</string>"));
        assert!(text.contains("<string>/R&amp;D &lt;x&gt;</string>"));
        assert!(text.contains("<key>PATH</key>\n    <string>/a&amp;b</string>"));
    }
}
