//! The server as a service, with a stand-in of `systemctl`.
#![cfg(target_os = "linux")]

use super::*;

const UNIT: &str = ".config/systemd/user/codeinfo.service";

fn with_manager() -> Home {
    let home = Home::with_program();
    home.program("systemctl", r#"echo "$*" >> "$HOME/asked"; test ! -e "$HOME/fails""#);
    home
}

#[test]
fn a_service_is_installed_asked_for_and_removed() {
    let home = with_manager();
    let folder = home.path("odd 100% $HOME \"name\" \\back");
    fs::create_dir(&folder).unwrap();
    let said = home.well(&["service", "install", "--watch", folder.to_str().unwrap()]);
    assert!(said.contains("the server runs"), "{said}");
    let unit = home.text(UNIT).replace(home.0.path().to_str().unwrap(), "~");
    assert_snapshot!(unit, @r#"
    # Written by `codeinfo service install`.
    [Unit]
    Description=CodeInfo, answers about the code of repositories

    [Service]
    ExecStart="~/bin/codeinfo" "serve" "--watch" "~/odd 100%% $$HOME \"name\" \\back"
    Environment="PATH=~/bin"
    Environment="DATA_DIR=~/data"
    Restart=on-failure
    RestartSec=5

    [Install]
    WantedBy=default.target
    "#);
    assert_eq!(
        home.text("asked"),
        "--user daemon-reload\n--user enable codeinfo.service\n--user restart codeinfo.service\n"
    );
    assert!(home.well(&["service", "status"]).ends_with("running\n"));
    fs::write(home.path("fails"), "").unwrap();
    let status = home.run(&["service", "status"]);
    assert_eq!(status.code, Some(1), "{status:?}");
    assert!(status.said.contains("not running"), "{status:?}");
    fs::remove_file(home.path("fails")).unwrap();
    fs::remove_file(home.path("asked")).unwrap();
    home.well(&["service", "remove"]);
    assert!(!home.has(UNIT));
    let asked = home.text("asked");
    assert_eq!(asked, "--user disable --now codeinfo.service\n--user daemon-reload\n");
    assert!(home.well(&["service", "remove"]).contains("not installed"));
    // What somebody else wrote stays.
    home.write(UNIT, "[Unit]\nDescription=mine\n");
    for action in ["install", "remove"] {
        let refused = home.run(&["service", action]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.failed.contains("was not written by `codeinfo service install`"));
        assert!(home.text(UNIT).contains("mine"));
    }
    fs::remove_file(home.path(UNIT)).unwrap();
    assert_eq!(home.run(&["service", "status"]).code, Some(1));
}

#[test]
fn keys_do_not_come_into_the_unit() {
    let home = with_manager();
    let mut command = home.command(BINARY);
    command.env("EMBEDDING_API_KEY", "very-secret").env("PORT", "7010").env("MCP_PORT", "7011");
    let ended = home.end(command.args(["service", "install"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let unit = home.text(UNIT);
    assert!(unit.contains("Environment=\"MCP_PORT=7011\"") && !unit.contains("secret"), "{unit}");
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
    let home = with_manager();
    fs::write(home.path("fails"), "").unwrap();
    let ended = home.run(&["service", "install"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.said.contains("not started") && home.has(UNIT), "{ended:?}");
    assert_eq!(home.run(&["service", "install", "/nonexistent"]).code, Some(1));
}
