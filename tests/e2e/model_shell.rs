//! Files and addresses that the model's shell can reach, with the real Codex and a model that obeys every question.

mod history;
mod private_places;

use std::{fs, os::unix::fs::symlink, path::Path};

use codeinfo_codex::{OtherVariables, SandboxMode, ShellConfinement, ShellNetwork};
use codeinfo_core::{ConversationId, error::ErrorCode};
use codeinfo_ingest::discover::discover_files;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{
    codex::{codex_binary, write_wrapper},
    harness::{ChatHarness, make_root},
    model::{FakeModel, ModelReply, OutputItem, message_item},
};

/// A model that runs each question as a command.
async fn start_obedient_model() -> FakeModel {
    FakeModel::answer_with(|request| {
        let last = request["input"].as_array().unwrap().last().unwrap();
        let Some(text) = last["content"][0]["text"].as_str() else {
            return ModelReply::Items(vec![message_item("Done.")]);
        };
        let arguments = json!({ "cmd": text, "yield_time_ms": 20_000 });
        ModelReply::Items(vec![OutputItem::Calls(
            String::new(),
            "exec_command".to_owned(),
            arguments,
        )])
    })
    .await
}

/// Returns the output of the command in `question`, as the model received it.
fn printed_output(harness: &ChatHarness) -> String {
    let requests = harness.model.requests();
    let last = requests.last().unwrap()["input"].as_array().unwrap().last().unwrap().clone();
    match last["output"].clone() {
        Value::String(text) => text,
        Value::Null => panic!("no output in {last}"),
        parts => parts.to_string(),
    }
}

/// Asks in a new conversation; returns it and what was printed.
async fn ask_first(harness: &ChatHarness, command: &str) -> (ConversationId, String) {
    let outcome = harness.ask(command).await;
    assert_eq!(outcome.failure, None, "{command}");
    (outcome.conversation, printed_output(harness))
}

async fn ask_next(harness: &ChatHarness, conversation: ConversationId, command: &str) -> String {
    let outcome = harness.follow_up(conversation, command).await;
    assert_eq!(outcome.failure, None, "{command}");
    printed_output(harness)
}

/// Puts `text` at the start of the user's configuration.
fn prepend_configuration(harness: &ChatHarness, text: &str) {
    let file = harness.codex_home().join("config.toml");
    let rest = fs::read_to_string(&file).unwrap();
    fs::write(file, format!("{text}\n{rest}")).unwrap();
}

fn write_file(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Returns a harness whose user has secrets all around the repository.
async fn start_among_secrets() -> ChatHarness {
    let harness = ChatHarness::with_settings(start_obedient_model().await, "", |settings| {
        let home = settings.data_dir.parent().unwrap().join("user");
        settings.environment =
            OtherVariables::new([("HOME".to_owned(), home.to_string_lossy().into_owned())]);
    })
    .await;
    let repository = harness.repository_folder();
    let folder = repository.parent().unwrap();
    write_file(&repository.join("src/main.rs"), "fn main() {}\n");
    write_file(&repository.join("config/.env"), "SECRET=1\n");
    write_file(&repository.join("app/[slug]/.env"), "SECRET=2\n");
    write_file(&repository.join("app/s/.env"), "NOT-HIDDEN=1\n");
    write_file(
        &repository.join(".git/config"),
        "[remote \"o\"]\n\turl = https://me:SECRET@host/a.git\n",
    );
    write_file(&harness.codex_home().join("auth.json"), r#"{"OPENAI_API_KEY":"SECRET"}"#);
    write_file(&folder.join("user/.ssh/id_rsa"), "SECRET\n");
    write_file(&folder.join("data/store/SECRET"), "SECRET\n");
    symlink(folder.join("user/.ssh"), repository.join("link")).unwrap();
    let mut root = make_root(&repository);
    root.private_files = Some(vec!["config/.env".to_owned(), "app/[slug]/.env".to_owned()]);
    harness.store.put_root(root).await.unwrap();
    harness
}

/// A configuration of the user that would lift every restriction.
const LIFTED: &str = r#"
sandbox_mode = "danger-full-access"
default_permissions = "open"
permissions.open.filesystem = { ":root" = "write" }
permissions.open.network = { enabled = true }
features.use_legacy_landlock = true
features.network_proxy = false
features.multi_agent_v2 = true
sandbox_workspace_write.network_access = true
sandbox_workspace_write.writable_roots = ["/"]
"#;

#[tokio::test]
async fn the_shell_reads_only_the_indexed_repositories_of_the_user() {
    for configuration in ["", LIFTED] {
        let harness = start_among_secrets().await;
        prepend_configuration(&harness, configuration);
        let before = fs::read_to_string(harness.codex_home().join("config.toml")).unwrap();
        let (repository, home) = (harness.repository_folder(), harness.codex_home());
        let (repository, home) = (repository.display(), home.display());
        let (conversation, read) = ask_first(
            &harness,
            &format!("cat {repository}/src/main.rs; sed -n 1p {repository}/src/main.rs; rg -n main {repository}/src"),
        )
        .await;
        assert_eq!(read.matches("fn main() {}").count(), 3, "{read}");
        let attacks = [
            format!("cat {home}/auth.json {home}/config.toml; ls {home}"),
            format!(
                "cat {repository}/../user/.ssh/id_rsa; ls -a {repository}/.. {repository}/../user"
            ),
            "cat ~/.ssh/id_rsa; echo ~; ls ~".to_owned(),
            format!("ls -R {repository}/../data; cat {repository}/../data/store/*"),
            format!(
                "cat {repository}/config/.env; cat {repository}/app/'[slug]'/.env; cat {repository}/.git/config"
            ),
            format!("ls -l {repository}/link/; cat {repository}/link/id_rsa"),
            format!("ln -s {repository}/../user mine; cat mine/.ssh/id_rsa"),
            "cat /etc/shadow | tr : '\\n' | sed 's/^root$/SECRET/'".to_owned(),
            "cat /proc/*/environ | tr '\\0' '\\n' | grep CODEX_HOME | sed 's/^/SECRET/'".to_owned(),
        ];
        for attack in attacks {
            let got = ask_next(&harness, conversation, &attack).await;
            assert!(!got.contains("SECRET"), "{attack}\n{got}");
        }
        let beside =
            ask_next(&harness, conversation, &format!("cat {repository}/app/s/.env")).await;
        assert!(beside.contains("NOT-HIDDEN"), "{beside}");
        let write =
            format!("echo x > {repository}/new; echo x > ../new; echo kept > here; cat here");
        let own = ask_next(&harness, conversation, &write).await;
        assert!(own.contains("kept"), "{own}");
        assert!(!harness.repository_folder().join("new").try_exists().unwrap());
        assert_eq!(fs::read_to_string(harness.codex_home().join("config.toml")).unwrap(), before);
    }
}

#[tokio::test]
async fn secrets_in_folders_that_are_not_indexed_are_kept_from_the_shell_and_the_rest_is_not() {
    let harness = ChatHarness::with_settings(start_obedient_model().await, "", |_| ()).await;
    let repository = harness.repository_folder();
    let secrets = [
        ".venv/lib/python3/site-packages/ours/.netrc",
        "app/dist/.env.production",
        "env/lib/python3/.pypirc",
        "node_modules/ours/.env",
        "node_modules/ours/.git/config",
        "node_modules/ours/test/fixtures/key.pem",
        "target/classes/keystore.p12",
        "vendor/host/ours/id_rsa",
    ];
    let plain = [
        "app/dist/index.js",
        "node_modules/ours/index.js",
        "node_modules/ours/test/index.js",
        "target/classes/a.txt",
        "vendor/host/ours/a.go",
    ];
    for path in secrets {
        write_file(&repository.join(path), "SECRET\n");
    }
    for path in plain {
        write_file(&repository.join(path), "PLAIN\n");
    }
    let proofs = ["app/package.json", "env/pyvenv.cfg", "target/CACHEDIR.TAG", "go.mod"];
    for proof in proofs.into_iter().chain(["node_modules/ours/package.json"]) {
        write_file(&repository.join(proof), "");
    }
    let mut root = make_root(&repository);
    let found = discover_files(&root.path, 1 << 20, &CancellationToken::new()).unwrap();
    root.private_files = Some(found.private.into_iter().collect());
    harness.store.put_root(root).await.unwrap();
    let (conversation, got) =
        ask_first(&harness, &format!("cat $(find {} -type f)", repository.display())).await;
    assert_eq!(got.matches("PLAIN").count(), plain.len(), "{got}");
    assert!(!got.contains("SECRET"), "{got}");
    for secret in secrets {
        let got =
            ask_next(&harness, conversation, &format!("cat {}/{secret}", repository.display()))
                .await;
        assert!(!got.contains("SECRET"), "{secret}: {got}");
    }
}

#[tokio::test]
async fn a_root_in_a_folder_that_is_kept_from_the_shell_is_not_read_and_all_others_are() {
    let harness = ChatHarness::with_settings(start_obedient_model().await, "", |_| ()).await;
    let repository = harness.repository_folder();
    write_file(&repository.join("code"), "the code\n");
    write_file(&repository.join("vendor/.env"), "SECRET\n");
    write_file(&repository.join("vendor/in/code"), "SECRET\n");
    let mut outer = make_root(&repository);
    // One lies in the other, as a run may leave them.
    outer.private_files = Some(vec!["vendor".to_owned(), "vendor/.env".to_owned()]);
    harness.store.put_root(outer).await.unwrap();
    harness.store.put_root(make_root(&repository.join("vendor/in"))).await.unwrap();
    let at = repository.display();
    let (_, got) =
        ask_first(&harness, &format!("cat {at}/code {at}/vendor/in/code {at}/vendor/.env")).await;
    assert!(got.contains("the code") && !got.contains("SECRET"), "{got}");
    let unread = harness.chat.list_excluded_repositories().await.unwrap();
    let unread: Vec<&str> = unread.iter().map(|unread| unread.name.as_str()).collect();
    assert_eq!(unread, ["in"]);
}

#[tokio::test]
async fn addresses_that_stand_for_those_of_this_machine_and_its_network_are_refused() {
    let harness = ChatHarness::with_settings(start_obedient_model().await, "", |_| ()).await;
    let (conversation, _) = ask_first(&harness, "true").await;
    let asked = async |host: &str| {
        let ask = format!("curl -sS -g -m 10 http://{host}:9/; echo");
        ask_next(&harness, conversation, &ask).await
    };
    for host in [
        "[::ffff:10.0.0.1]",
        "[::192.168.0.1]",
        "[::ffff:0:127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[64:FF9B:0:0:0:0:a9fe:a9fe]",
        "[64:ff9b:1::7f00:1]",
        "[2002:7f00:1::1]",
        "[2002:c0a8:1:2:3:4:5:6]",
        "[fe80::1]",
        "[fd00::1]",
    ] {
        let got = asked(host).await;
        assert!(got.contains("was blocked"), "{host}: {got}");
    }
    // Others are tried, whether or not they can be reached from here.
    let got = asked("[2001:db8::1]").await;
    assert!(!got.contains("was blocked"), "{got}");
}

#[tokio::test]
async fn the_shell_reaches_neither_this_server_nor_anything_else_on_the_machine() {
    let harness = ChatHarness::with_settings(start_obedient_model().await, "", |_| ()).await;
    prepend_configuration(&harness, LIFTED);
    // The scripted search answers any request; it is in place of the main port.
    let address = harness.search.url.strip_prefix("http://127.0.0.1").unwrap().to_owned();
    let port = address.trim_start_matches(':').split('/').next().unwrap();
    let (conversation, found) = ask_first(&harness, "command -v curl && curl --version").await;
    assert!(found.contains("libcurl"), "{found}");
    let before = harness.search.count_messages();
    let call = r#"-H 'content-type: application/json' -d '{"method":"attack"}'"#;
    for host in [
        "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0.0.0.0", "localhost", "[::1]",
        "[::ffff:127.0.0.1]",
    ] {
        for way in ["", "--noproxy '*'"] {
            let attack = format!("curl -sS -m 5 {way} {call} http://{host}:{port}/mcp");
            ask_next(&harness, conversation, &attack).await;
        }
    }
    let raw = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port} && printf 'POST /mcp HTTP/1.1\\r\\nHost: \
                       127.0.0.1\\r\\nContent-Type: application/json\\r\\nContent-Length: 19\\r\\n\
                       \\r\\n{{\"method\":\"attack\"}}' >&3 && head -1 <&3"
    );
    ask_next(&harness, conversation, &raw).await;
    // Each follow-up may ask for the tools again, but none of these calls came.
    let methods = harness.search.methods();
    assert!(!methods.contains(&"attack".to_owned()), "{methods:?} after {before}");
    let confinement = harness.codex.confinement().unwrap();
    let expected = ShellConfinement {
        sandbox: SandboxMode::WorkspaceWrite,
        network: ShellNetwork::Proxied,
        error: None,
    };
    assert_eq!(confinement, expected);
}

#[tokio::test]
async fn a_shell_without_a_network_has_no_sockets() {
    let harness = ChatHarness::with_settings(start_obedient_model().await, "", |settings| {
        settings.network = false;
    })
    .await;
    prepend_configuration(&harness, LIFTED);
    let port = harness.search.url.rsplit(':').next().unwrap().split('/').next().unwrap().to_owned();
    let (_, got) =
        ask_first(&harness, &format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo open")).await;
    assert!(!got.contains("open"), "{got}");
    harness.codex.check_availability().await;
    assert_eq!(harness.codex.confinement().unwrap().network, ShellNetwork::Off);
}

#[tokio::test]
async fn each_conversation_has_a_scratch_folder_that_goes_with_it() {
    let mut harness = ChatHarness::with_settings(start_obedient_model().await, "", |_| ()).await;
    let (one, _) = ask_first(&harness, "echo planted > note; mkdir -p a/b; chmod 000 a; pwd").await;
    let (_, got) = ask_first(&harness, "pwd; ls -a .. ../*; cat ../*/note; echo $TMPDIR").await;
    assert!(!got.contains("planted") && !got.contains("/note:"), "{got}");
    let own = got.lines().find(|line| line.starts_with('/')).unwrap().rsplit('/').next().unwrap();
    assert!(got.contains(&format!("..:\n.\n..\n{own}\n\n")), "no folder beside it: {got}");
    let kept = ask_next(&harness, one, "cat note; mktemp").await;
    assert!(kept.contains("planted") && kept.contains("/tmp."), "{kept}");
    let processes = || fs::read_dir(&harness.settings.workdir).unwrap().count();
    assert_eq!(processes(), 1);
    // Left over by a process that was killed, and held by one that lives.
    let workdir = harness.settings.workdir.clone();
    write_file(&workdir.join("process-gone/lock"), "");
    write_file(&workdir.join("process-gone/x/note"), "planted");
    write_file(&workdir.join("process-lives/lock"), "");
    let lives = fs::File::open(workdir.join("process-lives/lock")).unwrap();
    lives.lock().unwrap();
    harness.restart().await;
    let again = ask_next(&harness, one, "cat note; ls").await;
    assert!(!again.contains("planted"), "{again}");
    let mut left: Vec<_> = fs::read_dir(&workdir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left.contains(&"process-lives".to_owned()), "{left:?}");
}

#[tokio::test]
async fn a_root_that_comes_and_goes_in_a_conversation_comes_and_goes_for_its_shell() {
    let harness = ChatHarness::with_settings(start_obedient_model().await, "", |_| ()).await;
    let added = harness.repository_folder().parent().unwrap().join("added");
    write_file(&added.join("code"), "added code\n");
    let read = format!("cat {}/code", added.display());
    let (conversation, before) = ask_first(&harness, &read).await;
    assert!(!before.contains("added code"), "{before}");
    harness.store.put_root(make_root(&added)).await.unwrap();
    let with = ask_next(&harness, conversation, &read).await;
    assert!(with.contains("added code"), "{with}");
    harness.store.remove_root(make_root(&added).id).await.unwrap();
    let without = ask_next(&harness, conversation, &read).await;
    assert!(!without.contains("added code"), "{without}");
}

#[tokio::test]
async fn roots_around_and_inside_hidden_folders_are_readable() {
    let harness = start_among_secrets().await;
    let folder = harness.repository_folder().canonicalize().unwrap().parent().unwrap().to_owned();
    // In the home folder, in the data folder, and in Codex's own.
    for (place, code) in [("user/in", "one"), ("data/in", "two"), ("codex-home/in", "three")] {
        write_file(&folder.join(place).join("code"), code);
        harness.store.put_root(make_root(&folder.join(place))).await.unwrap();
    }
    let at = folder.display();
    let (conversation, inside) = ask_first(
        &harness,
        &format!("cat {at}/user/in/code {at}/data/in/code {at}/codex-home/in/code"),
    )
    .await;
    assert!(["one", "two", "three"].iter().all(|code| inside.contains(code)), "{inside}");
    let attack = format!(
        "cat {at}/user/.ssh/id_rsa {at}/codex-home/auth.json {at}/repo/config/.env; \
         cat {at}/data/store/*; ls {at}/workdir/*/*"
    );
    let got = ask_next(&harness, conversation, &attack).await;
    assert!(!got.contains("SECRET"), "{got}");
    // Around them all.
    write_file(&folder.join("top"), "the top");
    harness.store.put_root(make_root(&folder)).await.unwrap();
    let (_, other) = ask_first(&harness, "echo SECRET > note; cat note").await;
    assert!(other.contains("SECRET"), "{other}");
    let read =
        ask_next(&harness, conversation, &format!("cat {at}/top; echo mine > n; cat n")).await;
    assert!(read.contains("the top") && read.contains("mine"), "{read}");
    let got =
        ask_next(&harness, conversation, &format!("{attack}; cat {at}/workdir/*/*/note")).await;
    assert!(!got.contains("SECRET"), "{got}");
}

#[tokio::test]
async fn scratch_folders_in_the_data_folder_work_where_everything_around_is_indexed() {
    for sandbox in [SandboxMode::ReadOnly, SandboxMode::WorkspaceWrite] {
        let harness = ChatHarness::with_settings(start_obedient_model().await, "", |settings| {
            settings.sandbox = sandbox;
            settings.workdir = settings.data_dir.join("codex-workdir");
        })
        .await;
        let folder = harness.repository_folder().parent().unwrap().to_owned();
        write_file(&folder.join("top"), "the top");
        write_file(&folder.join("data/key"), "a secret\n");
        harness.store.put_root(make_root(&folder)).await.unwrap();
        let at = folder.display();
        let (_, noted) = ask_first(&harness, "echo noted > note; cat note").await;
        // Without a scratch folder, what a command writes is gone with it.
        assert!(noted.contains("noted"), "{noted}");
        let attack = format!("cat note {at}/top {at}/data/key {at}/data/codex-workdir/*/*/note");
        let (_, got) = ask_first(&harness, &format!("echo x > {at}/new; {attack}")).await;
        assert!(got.contains("the top") && !got.contains("a secret"), "{got}");
        assert!(!got.contains("noted") && !folder.join("new").try_exists().unwrap(), "{got}");
    }
}

#[tokio::test]
async fn a_resumed_conversation_is_confined() {
    let mut harness = start_among_secrets().await;
    prepend_configuration(&harness, LIFTED);
    let (conversation, _) = ask_first(&harness, "true").await;
    harness.restart().await;
    let (repository, home) = (harness.repository_folder(), harness.codex_home());
    let attack =
        format!("cat {}/auth.json; cat {}/src/main.rs", home.display(), repository.display());
    let got = ask_next(&harness, conversation, &attack).await;
    assert!(!got.contains("SECRET") && got.contains("fn main"), "{got}");
}

#[tokio::test]
async fn a_codex_that_does_not_confirm_the_sandbox_is_not_used() {
    // They ignore the permissions of a thread, of the process, or of an open thread.
    let of_a_thread =
        r#"sed -u 's/"default_permissions"/"a"/; s/"permissions"/"b"/' | "$REAL" "$@""#;
    let of_the_process = r#"set -- "${@/default_permissions=/a=}"
set -- "${@/permissions./b.}"
exec "$REAL" "$@""#;
    let set_later = r#"sed -u '/thread.settings.update/ s/"permissions"/"b"/' | "$REAL" "$@""#;
    for script in [of_a_thread, of_the_process, set_later] {
        let harness = ChatHarness::with_settings(start_obedient_model().await, "", |settings| {
            settings.bin = Some(write_wrapper(settings.data_dir.parent().unwrap(), script));
        })
        .await;
        let error = harness.begin_turn("true", None).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::LlmUnavailable);
        assert_eq!(
            error.to_string(),
            "Codex cannot be used: the installed Codex 0.169.0 does not keep the model's shell from \
             files that are not indexed",
            "{script}"
        );
        assert_eq!(harness.model.requests().len(), 0);
    }
}

#[tokio::test]
async fn a_codex_that_sets_no_permissions_of_open_threads_is_used_and_confined() {
    let former = r#"sed -u 's/"thread.settings.update"/"thread\/set"/' | "$REAL" "$@""#;
    let harness = ChatHarness::with_settings(start_obedient_model().await, "", |settings| {
        settings.bin = Some(write_wrapper(settings.data_dir.parent().unwrap(), former));
    })
    .await;
    let attack = format!("cat {0}/config.toml; ls {0}; echo done", harness.codex_home().display());
    let (conversation, got) = ask_first(&harness, &attack).await;
    assert!(got.contains("done") && !got.contains("model_provider"), "{got}");
    let got = ask_next(&harness, conversation, &attack).await;
    assert!(got.contains("done") && !got.contains("model_provider"), "{got}");
}

#[tokio::test]
async fn a_codex_that_does_not_confirm_the_sandbox_of_a_resumed_thread_is_not_used() {
    let deaf = r#"sed -u '/thread\/resume/ {
s/"default_permissions"/"a"/
s/"permissions"/"b"/
}' | "$REAL" "$@""#;
    let mut harness = ChatHarness::with_settings(start_obedient_model().await, "", |settings| {
        settings.bin = Some(write_wrapper(settings.data_dir.parent().unwrap(), deaf));
    })
    .await;
    let (conversation, _) = ask_first(&harness, "true").await;
    harness.restart().await;
    let asked = harness.model.requests().len();
    let error = harness.begin_turn("true", Some(conversation)).await.unwrap_err().to_string();
    assert!(error.contains("does not keep the model's shell from files"), "{error}");
    assert_eq!(harness.model.requests().len(), asked);
}

#[tokio::test]
async fn a_codex_that_keeps_a_thread_loaded_does_not_keep_its_sandbox() {
    let deaf = r#"sed -u 's/"thread.unsubscribe"/"thread\/keep"/' | "$REAL" "$@""#;
    let harness = ChatHarness::with_settings(start_obedient_model().await, "", |settings| {
        settings.bin = Some(write_wrapper(settings.data_dir.parent().unwrap(), deaf));
    })
    .await;
    let added = harness.repository_folder().parent().unwrap().join("added");
    write_file(&added.join("code"), "added code\n");
    harness.store.put_root(make_root(&added)).await.unwrap();
    let read = format!("cat {}/code", added.display());
    let (conversation, with) = ask_first(&harness, &read).await;
    assert!(with.contains("added code"), "{with}");
    harness.store.remove_root(make_root(&added).id).await.unwrap();
    let asked = harness.model.requests().len();
    let error = harness.begin_turn(&read, Some(conversation)).await.unwrap_err().to_string();
    assert!(error.contains("refused `thread/unsubscribe`"), "{error}");
    assert_eq!(harness.model.requests().len(), asked);
}

#[tokio::test]
async fn a_script_that_leads_to_no_native_binary_is_not_used() {
    let harness = ChatHarness::with_settings(start_obedient_model().await, "", |settings| {
        let folder = settings.data_dir.parent().unwrap();
        let program = write_wrapper(folder, r#"exec "$REAL" "$@""#);
        fs::remove_dir_all(folder.join("node_modules/@openai")).unwrap();
        settings.bin = Some(program);
    })
    .await;
    let error = harness.begin_turn("true", None).await.unwrap_err().to_string();
    assert!(error.contains("does not lead to the native binary"), "{error}");
}

#[tokio::test]
async fn a_repository_with_very_many_secrets_keeps_them_all() {
    let harness = ChatHarness::with_settings(start_obedient_model().await, "", |_| ()).await;
    let repository = harness.repository_folder();
    write_file(&repository.join("src/code"), "the code\n");
    let mut root = make_root(&repository);
    for number in 0..300 {
        let path = format!("certs/{}/key{number}", number % 7);
        write_file(&repository.join(&path), "SECRET\n");
        root.private_files.get_or_insert_default().push(path);
    }
    harness.store.put_root(root).await.unwrap();
    let at = repository.display();
    let (_, got) = ask_first(&harness, &format!("cat {at}/src/code; cat {at}/certs/*/*")).await;
    assert!(got.contains("the code") && !got.contains("SECRET"), "{got}");
}

#[tokio::test]
async fn a_codex_installed_in_its_own_folder_works_where_that_is_indexed() {
    let harness = ChatHarness::with_settings(start_obedient_model().await, "", |settings| {
        let package = codex_binary().ancestors().nth(2).unwrap();
        let at = settings.home.as_ref().unwrap().join("packages");
        fs::create_dir(&at).unwrap();
        let mut copy = std::process::Command::new("cp");
        assert!(copy.arg("-al").arg(package).arg(&at).status().unwrap().success());
        settings.bin = Some(at.join(package.file_name().unwrap()).join("bin/codex"));
    })
    .await;
    let folder = harness.repository_folder().parent().unwrap().to_owned();
    write_file(&folder.join("top"), "the top");
    write_file(&harness.codex_home().join("auth.json"), r#"{"OPENAI_API_KEY":"SECRET"}"#);
    harness.store.put_root(make_root(&folder)).await.unwrap();
    let at = folder.display();
    let (_, got) =
        ask_first(&harness, &format!("cat {at}/top; cat {at}/codex-home/auth.json")).await;
    assert!(got.contains("the top") && !got.contains("SECRET"), "{got}");
}
