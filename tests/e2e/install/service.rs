//! The server as a service, with a stand-in of `systemctl`.
#![cfg(target_os = "linux")]

use std::{ops::Deref, time::Duration};

use codeinfo_store::find_lock_holder;
use tokio::time::{Instant, sleep};

use super::*;

const UNIT: &str = ".config/systemd/user/codeinfo.service";

/// A home with a `systemctl` that runs the server, and ends it.
struct Managed(Home);

impl Managed {
    fn new() -> Self {
        let home = Home::with_program();
        home.program(
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

    fn run(&self, arguments: &[&str]) -> Ended {
        self.end(free(&mut self.command(BINARY)).arg("service").args(arguments))
    }

    fn well(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!((ended.code, ended.failed.as_str()), (Some(0), ""), "{}", ended.said);
        ended.said
    }

    /// Starts a server by hand, and waits until it is up.
    async fn started(&self, arguments: &[&str]) -> std::process::Child {
        let mut command = self.command(BINARY);
        let child = free(&mut command).arg("serve").args(arguments).spawn().unwrap();
        let began = Instant::now();
        let holder = || find_lock_holder(&self.path("data")).unwrap();
        while holder().is_none_or(|holder| holder.main_url.is_none()) {
            assert!(began.elapsed() < Duration::from_mins(1));
            sleep(Duration::from_millis(20)).await;
        }
        child
    }
}

impl Deref for Managed {
    type Target = Home;

    fn deref(&self) -> &Home {
        &self.0
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        let pid = fs::read_to_string(self.path("pid")).unwrap_or_default();
        if !pid.trim().is_empty() {
            drop(Command::new("kill").args(["-KILL", pid.trim()]).status());
        }
    }
}

/// Ports that nobody has.
fn free(command: &mut Command) -> &mut Command {
    command.env("PORT", "0").env("MCP_PORT", "0")
}

#[test]
fn a_service_is_installed_asked_for_and_removed() {
    let home = Managed::new();
    let folder = home.path("odd 100% $HOME \"name\" \\back");
    fs::create_dir(&folder).unwrap();
    let said = home.well(&["install", "--watch", folder.to_str().unwrap()]);
    assert!(said.contains("the server runs at http://127.0.0.1:"), "{said}");
    let unit = home.text(UNIT).replace(home.0.0.path().to_str().unwrap(), "~");
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
    let asked = home.text("asked").replace("--user is-active codeinfo.service\n", "");
    assert_eq!(
        asked,
        "--user daemon-reload\n--user enable codeinfo.service\n--user restart codeinfo.service\n"
    );
    let running = home.well(&["status"]);
    assert!(running.contains("\nrunning at http://127.0.0.1:"), "{running}");
    // Again: what runs is replaced.
    let first = find_lock_holder(&home.path("data")).unwrap().unwrap().pid;
    home.well(&["install", "--watch", folder.to_str().unwrap()]);
    assert_ne!(find_lock_holder(&home.path("data")).unwrap().unwrap().pid, first);
    fs::write(home.path("fails"), "").unwrap();
    let status = home.run(&["status"]);
    assert_eq!(status.code, Some(1), "{status:?}");
    assert!(status.said.contains("not running"), "{status:?}");
    fs::remove_file(home.path("fails")).unwrap();
    fs::remove_file(home.path("asked")).unwrap();
    home.well(&["remove"]);
    assert!(!home.has(UNIT));
    let asked = home.text("asked");
    assert_eq!(asked, "--user disable --now codeinfo.service\n--user daemon-reload\n");
    assert!(home.well(&["remove"]).contains("not installed"));
    // What somebody else wrote stays.
    home.write(UNIT, "[Unit]\nDescription=mine\n");
    for action in ["install", "remove"] {
        let refused = home.run(&[action]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.failed.contains("was not written by `codeinfo service install`"));
        assert!(home.text(UNIT).contains("mine"));
    }
    fs::remove_file(home.path(UNIT)).unwrap();
    assert_eq!(home.run(&["status"]).code, Some(1));
}

#[test]
fn keys_do_not_come_into_the_unit() {
    let home = Managed::new();
    let mut command = home.command(BINARY);
    command.env("EMBEDDING_API_KEY", "very-secret").env("CODEX_MODEL", "large");
    let ended = home.end(free(&mut command).args(["service", "install"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let unit = home.text(UNIT);
    assert!(
        unit.contains("Environment=\"CODEX_MODEL=large\"") && !unit.contains("secret"),
        "{unit}"
    );
}

#[test]
fn where_no_manager_is_the_unit_is_printed() {
    let home = Home::new();
    let ended = home.run(&["service", "install"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.said.contains("ExecStart=\"CODEINFO\" \"serve\"\n"), "{ended:?}");
    assert!(ended.failed.contains("init system"), "{ended:?}");
    assert!(!home.has(UNIT));
    // One that fails, as without a session, leaves the unit and says what to do.
    let home = Managed::new();
    fs::write(home.path("fails"), "").unwrap();
    let ended = home.run(&["install"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.said.contains("not started") && home.has(UNIT), "{ended:?}");
    assert_eq!(home.run(&["install", "/nonexistent"]).code, Some(1));
}

#[tokio::test]
async fn a_service_takes_the_place_of_a_server_for_relays_and_of_no_other() {
    let home = Managed::new();
    let mut for_relays = home.started(&["--until-idle"]).await;
    let said = home.well(&["install"]);
    assert!(said.contains("the server runs at"), "{said}");
    assert!(for_relays.wait().unwrap().success());
    assert!(home.text("said").contains("taking the place of"), "{}", home.text("said"));
    home.well(&["remove"]);

    let mut other = home.started(&[]).await;
    let ended = home.run(&["install"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.failed.contains("its server is not up"), "{ended:?}");
    assert!(ended.failed.contains("`journalctl --user --unit codeinfo` says why"), "{ended:?}");
    assert!(home.text("said").contains(&format!("process {}", other.id())));
    let status = home.run(&["status"]);
    assert!(status.code == Some(1) && status.said.contains("not running"), "{status:?}");
    other.kill().unwrap();
    other.wait().unwrap();
}
