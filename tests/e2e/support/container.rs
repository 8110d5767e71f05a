//! A container as `compose.yaml` and `Dockerfile` describe it, without an engine and without an image: `runc`
//! runs commands in it, with this machine's `/usr` and `/etc` instead of the image's.

use std::{
    fs,
    io::Write,
    os::unix::fs::{PermissionsExt as _, chown, symlink},
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{codex, compose, install, process::repository_root};

/// The bit of the capability without which a process makes no containers.
const SYS_ADMIN: u64 = 1 << 21;
/// Paths below `/proc` and `/sys` that Docker covers or makes read-only in every container.
const COVERED: [&str; 7] = [
    "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
    "/proc/scsi", "/sys/firmware",
];
const UNCHANGED: [&str; 5] =
    ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

/// A container of the service `embedded`. `/opt/codex` is the Codex package and `/opt/codeinfo` the program
/// under test; the rest is as it is in the image.
pub(crate) struct TestContainer {
    folder: TempDir,
    runc: PathBuf,
    config: Value,
}

impl TestContainer {
    /// Returns a container that is run for each command, or `None` with a report where this process may not
    /// create any.
    pub(crate) fn new() -> Option<Self> {
        if let Some(reason) = find_obstacle() {
            report_skipped(&format!("a test needs containers, and {reason}"));
            return None;
        }
        let runc = install::unpack_debian_package("runc").join("usr/sbin/runc");
        let all = compose::read_compose(&["--profile", "embedded"], &[]);
        let service = all.pointer("/services/embedded").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("rootfs");
        fs::create_dir(&root).unwrap();
        for link in ["bin", "sbin", "lib", "lib64"] {
            symlink(Path::new("usr").join(link), root.join(link)).unwrap();
        }
        // The runtime gives a file system in memory the rights of the folder where it is mounted.
        fs::create_dir(root.join("tmp")).unwrap();
        fs::set_permissions(root.join("tmp"), fs::Permissions::from_mode(0o1777)).unwrap();
        let config = build_configuration(service, folder.path());
        Some(Self { folder, runc, config })
    }

    /// Returns the folder that is mounted at `target` inside.
    pub(crate) fn host_folder(&self, target: &str) -> PathBuf {
        mount_source(self.folder.path(), target)
    }

    /// The list of system calls as the engine hands it to the kernel, to be changed.
    pub(crate) fn seccomp_calls(&mut self) -> &mut Vec<Value> {
        self.config.pointer_mut("/linux/seccomp/syscalls").unwrap().as_array_mut().unwrap()
    }

    /// Allows `count` processes and threads instead of the number of Compose.
    pub(crate) fn limit_processes(&mut self, count: u32) {
        self.config["linux"]["resources"]["pids"]["limit"] = json!(count);
    }

    /// Runs a shell script inside.
    pub(crate) fn run_script(&self, script: &str) -> Output {
        let mut config = self.config.clone();
        config["process"]["args"] = json!(["/bin/sh", "-c", script]);
        fs::write(self.folder.path().join("config.json"), config.to_string()).unwrap();
        let name =
            self.folder.path().file_name().unwrap().to_str().unwrap().replace('.', "codeinfo");
        Command::new(&self.runc)
            .arg("--root")
            .arg(self.folder.path().join("state"))
            .args(["run", "--bundle"])
            .arg(self.folder.path())
            .arg(name)
            .output()
            .unwrap()
    }
}

/// Reports, past the capture of the test harness, that a test did nothing, so that it is not taken for one that passed.
pub(crate) fn report_skipped(reason: &str) {
    std::io::stderr().write_all(format!("NOT RUN: {reason}\n").as_bytes()).unwrap();
}

/// Returns why no container can be made here.
fn find_obstacle() -> Option<&'static str> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let rights = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let rights = rights.and_then(|rights| u64::from_str_radix(rights.trim(), 16).ok()).unwrap_or(0);
    match (rights & SYS_ADMIN, Path::new("/usr/bin/apt-get").is_file()) {
        (0, _) => Some("this process has no CAP_SYS_ADMIN; run it as root"),
        (_, false) => Some("this system is not a Debian that has `runc` as a package"),
        (_, true) => None,
    }
}

/// Returns what an engine makes of the service, for the runtime.
fn build_configuration(service: &Value, folder: &Path) -> Value {
    let guards: Vec<&str> = service["security_opt"]
        .as_array()
        .unwrap()
        .iter()
        .map(|guard| guard.as_str().unwrap())
        .collect();
    let profile = guards.iter().find_map(|guard| guard.strip_prefix("seccomp=")).unwrap();
    assert_eq!(service["cap_drop"], json!(["ALL"]), "this container has no capabilities");
    let user = image_user();
    let environment = service["environment"].as_object().unwrap().iter();
    let mut environment: Vec<String> = environment
        .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or("")))
        .collect();
    environment.push("PATH=/opt/codex/bin:/usr/local/bin:/usr/bin:/bin".to_owned());
    environment.push("HOME=/home/node".to_owned());
    let namespaces = ["pid", "network", "ipc", "uts", "mount"];
    json!({
        "ociVersion": "1.0.2",
        "process": {
            "user": { "uid": user, "gid": user },
            "env": environment,
            "cwd": "/",
            "capabilities": { "bounding": [], "effective": [], "permitted": [] },
            "noNewPrivileges": guards.contains(&"no-new-privileges=true"),
        },
        "root": { "path": "rootfs", "readonly": service["read_only"] },
        "mounts": build_mounts(service, folder, user),
        "linux": {
            "namespaces": namespaces.map(|kind| json!({ "type": kind })),
            "seccomp": read_seccomp_profile(profile),
            "resources": {
                "devices": [{ "allow": false, "access": "rwm" }],
                "pids": { "limit": service["pids_limit"] },
                "memory": { "limit": service["mem_limit"].as_str().unwrap().parse::<i64>().unwrap() },
            },
            "maskedPaths": COVERED,
            "readonlyPaths": UNCHANGED,
        },
    })
}

fn build_mounts(service: &Value, folder: &Path, user: u32) -> Vec<Value> {
    let system = |target: &str, kind: &str, options: &str| {
        let options: Vec<&str> = options.split(',').collect();
        json!({ "destination": target, "type": kind, "source": kind, "options": options })
    };
    let bind = |source: &Path, target: &str, access: &str| {
        let options = ["rbind", "rprivate", access];
        json!({ "destination": target, "type": "bind", "source": source, "options": options })
    };
    let mut mounts = vec![
        system("/proc", "proc", "nosuid,noexec,nodev"),
        system("/dev", "tmpfs", "nosuid,strictatime,mode=755,size=65536k"),
        system("/dev/pts", "devpts", "nosuid,noexec,newinstance,ptmxmode=0666,mode=0620,gid=5"),
        system("/dev/shm", "tmpfs", "nosuid,noexec,nodev,mode=1777,size=65536k"),
        system("/sys", "sysfs", "nosuid,noexec,nodev,ro"),
        bind(Path::new("/usr"), "/usr", "ro"),
        bind(Path::new("/etc"), "/etc", "ro"),
        bind(codex::codex_binary().parent().unwrap().parent().unwrap(), "/opt/codex", "ro"),
        bind(Path::new(env!("CARGO_BIN_EXE_codeinfo")), "/opt/codeinfo", "ro"),
    ];
    for tmpfs in service["tmpfs"].as_array().unwrap() {
        let (target, options) = tmpfs.as_str().unwrap().split_once(':').unwrap();
        mounts.push(system(target, "tmpfs", &format!("nosuid,nodev,noexec,{options}")));
    }
    for volume in service["volumes"].as_array().unwrap() {
        let target = volume["target"].as_str().unwrap();
        let source = mount_source(folder, target);
        fs::create_dir(&source).unwrap();
        // As in the image, from which Docker takes it.
        fs::set_permissions(&source, fs::Permissions::from_mode(0o700)).unwrap();
        chown(&source, Some(user), Some(user)).unwrap();
        let access = if volume["read_only"] == true { "ro" } else { "rw" };
        mounts.push(bind(&source, target, access));
    }
    mounts
}

/// Returns the folder of the host that is mounted as the volume at `target`.
fn mount_source(folder: &Path, target: &str) -> PathBuf {
    folder.join(format!("volume{}", target.replace('/', "-")))
}

/// Returns the user of the image.
fn image_user() -> u32 {
    let dockerfile = fs::read_to_string(repository_root().join("Dockerfile")).unwrap();
    let user = dockerfile.lines().find_map(|line| line.strip_prefix("USER ")).unwrap();
    user.split(':').next().unwrap().parse().unwrap()
}

/// Returns a profile as Docker hands it to the runtime of a container without capabilities: without the rules
/// whose conditions do not hold, and without the conditions of the others.
fn read_seccomp_profile(profile: &str) -> Value {
    let profile = fs::read_to_string(repository_root().join(profile)).unwrap();
    let profile: Value = serde_json::from_str(&profile).unwrap();
    let mut calls = profile["syscalls"].as_array().unwrap().clone();
    calls.retain(is_applicable);
    for rule in calls.iter_mut().map(|rule| rule.as_object_mut().unwrap()) {
        rule.retain(|part, _| ["names", "action", "errnoRet", "args"].contains(&part.as_str()));
    }
    let (own, _) = architecture_names();
    let architectures = profile["archMap"].as_array().unwrap();
    let family = architectures.iter().find(|family| family["architecture"] == own).unwrap();
    let mut architectures = vec![json!(own)];
    architectures.extend(family["subArchitectures"].as_array().into_iter().flatten().cloned());
    json!({
        "defaultAction": profile["defaultAction"],
        "defaultErrnoRet": profile["defaultErrnoRet"],
        "architectures": architectures,
        "syscalls": calls,
    })
}

/// Returns whether a rule applies to a container without capabilities on this machine.
fn is_applicable(rule: &Value) -> bool {
    let (_, own) = architecture_names();
    let list = |pointer: &str| rule.pointer(pointer).and_then(Value::as_array);
    let names_own = |list: &Vec<Value>| list.contains(&json!(own));
    list("/includes/caps").is_none()
        && list("/includes/arches").is_none_or(names_own)
        && !list("/excludes/arches").is_some_and(names_own)
        && rule
            .pointer("/includes/minKernel")
            .is_none_or(|version| version.as_str().unwrap() <= "4.8")
}

/// Returns what the runtime and what Docker call this machine's architecture.
fn architecture_names() -> (&'static str, &'static str) {
    match std::env::consts::ARCH {
        "x86_64" => ("SCMP_ARCH_X86_64", "amd64"),
        "aarch64" => ("SCMP_ARCH_AARCH64", "arm64"),
        other => panic!("the containers of this product do not run on {other}"),
    }
}
