//! The server as a service, with a fake `systemctl`.
#![cfg(target_os = "linux")]

use std::{ops::Deref, time::Duration};

use codeinfo_store::find_lock_holder;
use tokio::time::{Instant, sleep};

use super::*;

const UNIT: &str = ".config/systemd/user/codeinfo.service";

/// A home with a `systemctl` that runs the server, and ends it.
struct ManagedHome(TestHome);

impl ManagedHome {
    fn new() -> Self {
        let home = TestHome::with_program();
        home.add_program(
            "systemctl",
            r#"echo "$*" >> "$HOME/asked"
            test ! -e "$HOME/fails" || exit 1
            runs() { test -n "$pid" && read -r _ _ state _ < "/proc/$pid/stat" && test "$state" != Z; } 2> "$HOME/asks"
            test ! -e "$HOME/pid" || read -r pid < "$HOME/pid"
            case "$2" in
            is-active) runs ;;
            disable | restart)
                test -z "$pid" || kill "$pid"
                while runs; do /bin/sleep 0.05; done
                : > "$HOME/pid" ;;
            esac || exit
            test "$2" != restart || {
                "$HOME/bin/codeinfo" serve < /dev/null > "$HOME/said" 2>&1 &
                echo $! > "$HOME/pid"
            }"#,
        );
        Self(home)
    }

    fn run_with_systemctl(&self, arguments: &[&str]) -> CommandResult {
        self.finish_command(
            use_free_ports(&mut self.command(BINARY)).arg("service").args(arguments),
        )
    }

    fn run_successfully(&self, arguments: &[&str]) -> String {
        let ended = self.run_with_systemctl(arguments);
        assert_eq!((ended.code, ended.failed.as_str()), (Some(0), ""), "{}", ended.output_text);
        ended.output_text
    }

    /// Starts a server by hand, and waits until it is up.
    async fn start_server(&self, arguments: &[&str]) -> std::process::Child {
        let mut command = self.command(BINARY);
        let child = use_free_ports(&mut command).arg("serve").args(arguments).spawn().unwrap();
        let began = Instant::now();
        let holder = || find_lock_holder(&self.path("data")).unwrap();
        while holder().is_none_or(|holder| holder.main_url.is_none()) {
            assert!(began.elapsed() < Duration::from_mins(1));
            sleep(Duration::from_millis(20)).await;
        }
        child
    }
}

impl Deref for ManagedHome {
    type Target = TestHome;

    fn deref(&self) -> &TestHome {
        &self.0
    }
}

impl Drop for ManagedHome {
    fn drop(&mut self) {
        let pid = fs::read_to_string(self.path("pid")).unwrap_or_default();
        if !pid.trim().is_empty() {
            drop(Command::new("kill").args(["-KILL", pid.trim()]).status());
        }
    }
}

/// Sets ports that are free.
fn use_free_ports(command: &mut Command) -> &mut Command {
    command.env("PORT", "0").env("MCP_PORT", "0")
}

#[test]
fn a_service_is_installed_asked_for_and_removed() {
    let home = ManagedHome::new();
    let folder = home.path("odd 100% $HOME \"name\" \\back");
    fs::create_dir(&folder).unwrap();
    let output_text = home.run_successfully(&["install", "--watch", folder.to_str().unwrap()]);
    assert!(output_text.contains("the server runs at http://127.0.0.1:"), "{output_text}");
    let unit = home.read_file(UNIT).replace(home.0.0.path().to_str().unwrap(), "~");
    assert_snapshot!(unit, @r#"
    # Written by `codeinfo service install`.
    [Unit]
    Description=CodeInfo, answers about the code of repositories

    [Service]
    ExecStart="~/bin/codeinfo" "serve" "--watch" "~/odd 100%% $$HOME \"name\" \\back"
    Environment="PATH=~/bin"
    Environment="PORT=0"
    Environment="MCP_PORT=0"
    Environment="DATA_DIR=~/data"
    Restart=on-failure
    RestartSec=5

    [Install]
    WantedBy=default.target
    "#);
    let asked = home.read_file("asked").replace("--user is-active codeinfo.service\n", "");
    assert_eq!(
        asked,
        "--user daemon-reload\n--user enable codeinfo.service\n--user restart codeinfo.service\n"
    );
    let running = home.run_successfully(&["status"]);
    assert!(running.contains("\nrunning at http://127.0.0.1:"), "{running}");
    // Again: what runs is replaced.
    let first = find_lock_holder(&home.path("data")).unwrap().unwrap().pid;
    home.run_successfully(&["install", "--watch", folder.to_str().unwrap()]);
    assert_ne!(find_lock_holder(&home.path("data")).unwrap().unwrap().pid, first);
    fs::write(home.path("fails"), "").unwrap();
    let status = home.run_with_systemctl(&["status"]);
    assert_eq!(status.code, Some(1), "{status:?}");
    assert!(status.output_text.contains("not running"), "{status:?}");
    fs::remove_file(home.path("fails")).unwrap();
    fs::remove_file(home.path("asked")).unwrap();
    home.run_successfully(&["remove"]);
    assert!(!home.has_file(UNIT));
    let asked = home.read_file("asked");
    assert_eq!(asked, "--user disable --now codeinfo.service\n--user daemon-reload\n");
    assert!(home.run_successfully(&["remove"]).contains("not installed"));
    // A unit of another program stays.
    home.write(UNIT, "[Unit]\nDescription=mine\n");
    for action in ["install", "remove"] {
        let refused = home.run_with_systemctl(&[action]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.failed.contains("was not written by `codeinfo service install`"));
        assert!(home.read_file(UNIT).contains("mine"));
    }
    fs::remove_file(home.path(UNIT)).unwrap();
    assert_eq!(home.run_with_systemctl(&["status"]).code, Some(1));
}

#[test]
fn the_unit_contains_no_keys() {
    let home = ManagedHome::new();
    let mut command = home.command(BINARY);
    command.env("EMBEDDING_API_KEY", "very-secret").env("CODEX_MODEL", "large");
    let ended = home.finish_command(use_free_ports(&mut command).args(["service", "install"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let unit = home.read_file(UNIT);
    assert!(
        unit.contains("Environment=\"CODEX_MODEL=large\"") && !unit.contains("secret"),
        "{unit}"
    );
}

#[test]
fn without_a_service_manager_the_unit_is_printed() {
    let home = TestHome::new();
    let ended = home.run(&["service", "install"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.output_text.contains("ExecStart=\"CODEINFO\" \"serve\"\n"), "{ended:?}");
    assert!(ended.failed.contains("init system"), "{ended:?}");
    assert!(!home.has_file(UNIT));
    // A failure, as without a session, leaves the unit and gives advice.
    let home = ManagedHome::new();
    fs::write(home.path("fails"), "").unwrap();
    let ended = home.run_with_systemctl(&["install"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.output_text.contains("not started") && home.has_file(UNIT), "{ended:?}");
    assert_eq!(home.run_with_systemctl(&["install", "/nonexistent"]).code, Some(1));
}

#[tokio::test]
async fn a_service_replaces_a_server_for_relays_and_no_other() {
    let home = ManagedHome::new();
    let mut for_relays = home.start_server(&["--until-idle"]).await;
    let output_text = home.run_successfully(&["install"]);
    assert!(output_text.contains("the server runs at"), "{output_text}");
    assert!(for_relays.wait().unwrap().success());
    assert!(home.read_file("said").contains("taking the place of"), "{}", home.read_file("said"));
    home.run_successfully(&["remove"]);

    let mut other = home.start_server(&[]).await;
    let ended = home.run_with_systemctl(&["install"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.failed.contains("its server is not up"), "{ended:?}");
    assert!(ended.failed.contains("`journalctl --user --unit codeinfo` says why"), "{ended:?}");
    assert!(home.read_file("said").contains(&format!("process {}", other.id())));
    let status = home.run_with_systemctl(&["status"]);
    assert!(status.code == Some(1) && status.output_text.contains("not running"), "{status:?}");
    other.kill().unwrap();
    other.wait().unwrap();
}
