//! The container from the inside: the real Codex confines a command in it, and what Docker refuses to every
//! container is refused in this one.

use std::{collections::BTreeSet, fs, path::Path, process::Output};

use serde_json::{Value, json};

use crate::support::{
    compose::REPOSITORIES,
    container::{TestContainer, report_skipped},
    install,
    process::repository_root,
};

/// Calls that bubblewrap needs, and that Docker's list has for containers with `CAP_SYS_ADMIN` only.
const ADDED: [&str; 5] = ["clone", "mount", "pivot_root", "umount2", "unshare"];
/// Calls that Docker allowed after 20.10, the oldest version in a supported Debian.
const NEWER: [&str; 21] = [
    "bpf",
    "cachestat",
    "clock_settime64",
    "clone3",
    "fchmodat2",
    "futex_requeue",
    "futex_wait",
    "futex_wake",
    "map_shadow_stack",
    "name_to_handle_at",
    "perf_event_open",
    "pkey_alloc",
    "pkey_free",
    "pkey_mprotect",
    "process_vm_readv",
    "process_vm_writev",
    "riscv_flush_icache",
    "set_mempolicy_home_node",
    "socket",
    "swapcontext",
    "sync_file_range2",
];
/// A permission profile of Codex such as a turn gets.
const CONFINED: &str = r#"default_permissions = "confined"
[permissions.confined.filesystem]
":minimal" = "read"
"/opt/codex" = "read"
"/home/me/src" = "read"
"/data" = "write"
[permissions.confined.network]
enabled = false
"#;
const SANDBOX: &str = "codex sandbox --permission-profile confined --cd /data --";

#[test]
fn the_models_shell_reads_repositories_and_writes_to_its_scratch_folder_only() {
    let Some(container) = create_container() else { return };
    let script = format!(
        r#"{SANDBOX} sh -c '
        try() {{ if "$@" >/dev/null 2>&1; then echo "may: $*"; else echo "may not: $*"; fi; }}
        try true
        try cat {REPOSITORIES}/main.rs
        try touch /data/note
        try touch {REPOSITORIES}/planted
        try touch /var/lib/codeinfo/planted
        try ls /var/lib/codeinfo
        try cat /var/lib/codex/config.toml
        try touch /usr/planted
        try ls /proc/1/root/var/lib/codeinfo
        '"#
    );
    let expected = [
        "may: true",
        "may: cat /home/me/src/main.rs",
        "may: touch /data/note",
        "may not: touch /home/me/src/planted",
        "may not: touch /var/lib/codeinfo/planted",
        "may not: ls /var/lib/codeinfo",
        "may not: cat /var/lib/codex/config.toml",
        "may not: touch /usr/planted",
        "may not: ls /proc/1/root/var/lib/codeinfo",
    ];
    assert_eq!(output_lines(&container.run_script(&script)), expected);
    assert!(container.host_folder("/data").join("note").is_file());
}

#[test]
fn the_program_indexes_and_searches_with_the_calls_that_are_left() {
    let Some(container) = create_container() else { return };
    let script = format!("/opt/codeinfo ingest {REPOSITORIES} && /opt/codeinfo search 'fn main'");
    let done = container.run_script(&script);
    assert!(done.status.success() && done.stderr.is_empty(), "{done:?}");
    let output_text = output_lines(&done).join("\n");
    assert!(
        output_text.contains("main.rs") && output_text.contains("fn main() {}"),
        "{output_text}"
    );
}

#[test]
fn every_call_that_is_added_to_dockers_list_is_needed() {
    let Some(mut container) = create_container() else { return };
    let whole = container.seccomp_calls().clone();
    for call in ADDED {
        *container.seccomp_calls() = whole.iter().map(|rule| remove_call(rule, call)).collect();
        let done = container.run_script(&format!("{SANDBOX} true"));
        assert!(!done.status.success(), "Codex's sandbox works without {call}");
    }
    *container.seccomp_calls() = whole;
    let done = container.run_script(&format!("{SANDBOX} true"));
    assert!(done.status.success(), "{done:?}");
}

#[test]
fn what_docker_refuses_to_a_container_is_refused_in_this_one() {
    let Some(container) = create_container() else { return };
    let script =
        fs::read_to_string(repository_root().join("tests/fixtures/containers/calls.pl")).unwrap();
    let done = container.run_script(&format!("perl - <<'SCRIPT'\n{script}\nSCRIPT"));
    let output_text = output_lines(&done);
    let refused = [
        "AF_ALG socket", "AF_VSOCK socket", "odd personality", "keyctl", "add_key", "bpf",
        "io_uring_setup", "userfaultfd", "perf_event_open", "open_by_handle_at", "setns", "chroot",
        "open_tree", "fsopen",
    ];
    let mut expected =
        vec!["AF_INET socket: allowed".to_owned(), "personality: allowed".to_owned()];
    expected.extend(refused.map(|call| format!("{call}: Operation not permitted")));
    // The runtime answers so for calls newer than the list; programs then work without them.
    expected.extend(["statmount", "mseal"].map(|call| format!("{call}: Function not implemented")));
    expected.push("clone3: Function not implemented".to_owned());
    assert_eq!(output_text, expected, "{done:?}");
}

#[test]
fn a_command_without_room_for_its_threads_fails_with_one_line_that_says_what_to_do() {
    let Some(mut container) = create_container() else { return };
    let search = "/opt/codeinfo search valve";
    // Fewer than the threads of a command on any machine, and enough for the runtime to begin.
    container.limit_processes(10);
    let done = container.run_script(search);
    let output_text = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{output_text}");
    let reason = "codeinfo: cannot start a thread: Resource temporarily unavailable (os error 11)";
    let advice = "raise the limit of processes: `ulimit -u`, or `pids_limit` of the container";
    assert_eq!(output_text.trim_end(), format!("{reason}; {advice}"));
    container.limit_processes(2048);
    let done = container.run_script(search);
    let output_text = String::from_utf8_lossy(&done.stderr);
    assert!(!output_text.contains("thread"), "{output_text}");
}

#[test]
fn the_list_of_calls_is_dockers_and_what_codex_needs() {
    let text = fs::read_to_string(repository_root().join("containers/seccomp.json")).unwrap();
    let profile: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(profile["defaultAction"], "SCMP_ACT_ERRNO");
    let (added, own) = profile["syscalls"].as_array().unwrap().split_first().unwrap();
    let comment =
        "Added for bubblewrap, by which Codex confines the model's shell: namespaces and mounts.";
    let rule = json!({ "comment": comment, "names": ADDED, "action": "SCMP_ACT_ALLOW" });
    assert_eq!(*added, rule);
    if !Path::new("/usr/bin/apt-get").is_file() {
        return report_skipped("Docker's list comes from a package of Debian, and this is none");
    }
    let docker = install::unpack_debian_package("golang-github-docker-docker-dev")
        .join("usr/share/gocode/src/github.com/docker/docker/profiles/seccomp/default.json");
    let docker: Value = serde_json::from_str(&fs::read_to_string(docker).unwrap()).unwrap();
    let (ours, theirs) = (list_rules(own), list_rules(docker["syscalls"].as_array().unwrap()));
    let newer: BTreeSet<&str> = ours.difference(&theirs).map(|(name, _)| name.as_str()).collect();
    let unknown: Vec<_> = newer.iter().filter(|name| !NEWER.contains(name)).collect();
    assert!(unknown.is_empty(), "not on Docker's list: {unknown:?}");
    let older: BTreeSet<&str> = theirs.difference(&ours).map(|(name, _)| name.as_str()).collect();
    // Docker refuses `io_uring` since version 25.
    let is_gone = |name: &&&str| !name.starts_with("io_uring_") && !NEWER.contains(*name);
    let missing: Vec<_> = older.iter().filter(is_gone).collect();
    assert!(missing.is_empty(), "on Docker's list only: {missing:?}");
}

/// Returns a container with a repository and a Codex that has a profile for commands.
fn create_container() -> Option<TestContainer> {
    let container = TestContainer::new()?;
    fs::write(container.host_folder(REPOSITORIES).join("main.rs"), "fn main() {}\n").unwrap();
    fs::write(container.host_folder("/var/lib/codex").join("config.toml"), CONFINED).unwrap();
    Some(container)
}

/// Returns a rule of the list without an unconditional leave for `call`.
fn remove_call(rule: &Value, call: &str) -> Value {
    let mut rule = rule.clone();
    if rule.get("args").is_none() {
        rule["names"].as_array_mut().unwrap().retain(|name| name != call);
    }
    rule
}

/// Returns each call of a list with all its conditions.
fn list_rules(list: &[Value]) -> BTreeSet<(String, String)> {
    let mut rules = BTreeSet::new();
    for rule in list {
        let mut output_text = rule.as_object().unwrap().clone();
        output_text.retain(|part, value| {
            let says_nothing = value.is_null() || *value == json!([]) || *value == json!({});
            !says_nothing && !["names", "comment"].contains(&part.as_str())
        });
        for name in rule["names"].as_array().unwrap() {
            rules.insert((name.as_str().unwrap().to_owned(), json!(output_text).to_string()));
        }
    }
    rules
}

fn output_lines(done: &Output) -> Vec<String> {
    String::from_utf8_lossy(&done.stdout).lines().map(str::to_owned).collect()
}
