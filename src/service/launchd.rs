//! The service as a launchd agent.

use std::fmt::Write as _;

use super::{MARK, ServiceJob, ServiceManager, split_words};
use crate::install::UserFolders;

const LABEL: &str = "codeinfo";

pub(super) fn build_manager(places: &UserFolders<'_>) -> ServiceManager {
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
        hint: "after `codeinfo service remove`, run `codeinfo service install` again in a session with windows",
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
