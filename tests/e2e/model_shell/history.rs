//! The history of a repository in the model's shell: the output of git and `rg`.

use std::{fs, process::Command};

use super::{ask_first, ask_next, start_obedient_model};
use crate::support::harness::ChatHarness;

#[tokio::test]
async fn git_says_in_the_shell_who_changed_what() {
    let harness = ChatHarness::with_settings(start_obedient_model().await, "", |_| ()).await;
    let repository = harness.repository_folder();
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        let mut command = Command::new("git");
        let done =
            command.arg("-C").arg(&repository).args(identity).args(arguments).status().unwrap();
        assert!(done.success(), "{arguments:?}");
    };
    let commit = |message: &str| {
        git(&["add", "."]);
        git(&["commit", "--quiet", "--message", message]);
    };
    git(&["init", "--quiet"]);
    commit("Parse numbers");
    let parser = fs::read_to_string(repository.join("src/parse.rs")).unwrap();
    fs::write(repository.join("src/parse.rs"), parser.replace("NoNumber", "NotNumeric")).unwrap();
    commit("Rename a fault");
    let settings = repository.join(".git/config");
    let plain = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, format!("{plain}[remote \"o\"]\n\turl = https://me:hunter2@host/a.git\n"))
        .unwrap();
    let at = repository.display();
    let (conversation, log) = ask_first(&harness, &format!("git -C {at} log --oneline")).await;
    assert!(log.contains("Rename a fault") && log.contains("Parse numbers"), "{log}");
    for (command, expected) in [
        (format!("git -C {at} blame -L 5,5 src/parse.rs"), "(Ada "),
        (format!("git -C {at} diff HEAD~1 -- src"), "+    NotNumeric,"),
        (format!("rg -n NotNumeric {at}/src"), "5:"),
        // Its settings are a copy without credentials.
        (
            format!("git -C {at} config core.bare; cat {at}/.git/config | grep -c hunter2"),
            "false\n0",
        ),
    ] {
        let got = ask_next(&harness, conversation, &command).await;
        assert!(got.contains(expected), "{command}\n{got}");
    }
}
