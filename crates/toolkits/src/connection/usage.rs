//! Limits of a toolkit's process tree: memory, number of processes and the size of its folder.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fs::{self, Metadata},
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use codeinfo_core::task::Tasks;
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};
use tokio::time::sleep;

use super::{ConnectionTiming, ToolkitCommand};
use crate::spec::{ToolkitSandbox, ToolkitSpec};

const MIB: u64 = 1024 * 1024;
/// Default limits in the sandbox. Published servers on Node and Python take 60 to 500 MiB and up to 100
/// threads; one that compiles or downloads at its start takes more of both.
const MEMORY_MIB: u64 = 2048;
const HOME_MIB: u64 = 4096;
const PROCESSES: u64 = 1024;
/// Pause after a measurement, as a multiple of its duration, and its maximum, so that load hides no excess.
const PAUSE_FACTOR: u32 = 20;
const MAX_PAUSE: Duration = Duration::from_secs(3);

/// Maximum usage of a toolkit; `None` is unlimited.
#[derive(Debug, Clone)]
pub(super) struct ResourceLimits {
    memory_mib: Option<u64>,
    processes: Option<u64>,
    folder: Option<(PathBuf, u64)>,
    /// Minimum time between two measurements.
    tick: Duration,
    pub(super) tasks: Tasks,
}

impl ResourceLimits {
    pub(super) fn new(
        spec: &ToolkitSpec,
        launch: &ToolkitCommand,
        timing: &ConnectionTiming,
        tasks: &Tasks,
    ) -> Self {
        let default = |value| (spec.sandbox != ToolkitSandbox::Off).then_some(value);
        let home_mib = spec.home_mb.unwrap_or(HOME_MIB);
        Self {
            memory_mib: spec.memory_mb.or(default(MEMORY_MIB)),
            processes: spec.max_processes.or(default(PROCESSES)),
            folder: launch.own.clone().map(|folder| (folder, home_mib)),
            tick: timing.tick,
            tasks: tasks.clone(),
        }
    }

    /// Waits for an excess of process `id` and its descendants; returns the limit and the setting that raises it.
    pub(super) async fn wait_for_excess(&self, id: Option<u32>) -> String {
        let Some(id) = id else { return std::future::pending().await };
        tokio::select! {
            excess = self.measure_repeatedly(move |bounds| bounds.find_process_excess(id)) => excess,
            excess = self.measure_repeatedly(Self::find_folder_excess) => excess,
        }
    }

    /// Measures repeatedly, with longer pauses if measuring takes long.
    async fn measure_repeatedly(
        &self,
        find: impl Fn(&Self) -> Option<String> + Copy + Send + 'static,
    ) -> String {
        loop {
            let bounds = self.clone();
            let measured = self.tasks.spawn_blocking(move || {
                let started = Instant::now();
                (find(&bounds), started.elapsed())
            });
            match measured.await {
                Ok((Some(excess), _)) => return excess,
                Ok((None, took)) => sleep(self.tick.max(MAX_PAUSE.min(took * PAUSE_FACTOR))).await,
                // The server is stopping, and the toolkit with it.
                Err(_) => return std::future::pending().await,
            }
        }
    }

    fn find_process_excess(&self, id: u32) -> Option<String> {
        if self.memory_mib.is_none() && self.processes.is_none() {
            return None;
        }
        let max_bytes = self.memory_mib.map_or(u64::MAX, |most| most.saturating_mul(MIB));
        let usage = measure_process_tree(id, self.tick / 2, max_bytes);
        if let Some(most) = self.processes.filter(|most| usage.processes > *most) {
            return Some(format!(
                "it had more than {most} processes and threads; set `maxProcesses` if it needs more"
            ));
        }
        let most = self.memory_mib.filter(|_| usage.bytes > max_bytes)?;
        Some(format!(
            "it used more than {most} MiB of memory, with the files that it has there; set `memoryMb` if it needs more"
        ))
    }

    fn find_folder_excess(&self) -> Option<String> {
        let (folder, most) = self.folder.as_ref()?;
        find_excess(folder, *most).map(|excess| {
            format!("its HOME {excess}; remove what it does not need there, or set `homeMb`")
        })
    }
}

/// Maximum number of files and folders to count, which takes one or two seconds.
const MAX_ENTRIES: usize = 500_000;

/// Returns a description of the excess if `folder` takes more than `max_mib` on disk or cannot be measured.
/// Follows no links, and counts a file with several names once.
pub(super) fn find_excess(folder: &Path, max_mib: u64) -> Option<String> {
    let max_bytes = max_mib.saturating_mul(MIB);
    let mut bytes = 0;
    let mut entries = 0;
    let mut linked = HashSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let listed = match fs::read_dir(&folder).map_err(|error| error.kind()) {
            Ok(listed) => listed,
            Err(ErrorKind::PermissionDenied | ErrorKind::InvalidFilename) => {
                return Some("holds folders that cannot be read to measure them".to_owned());
            }
            // The folder was removed in the meantime.
            Err(_) => continue,
        };
        for entry in listed.flatten() {
            entries += 1;
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                folders.push(entry.path());
            }
            if is_first_name(&metadata, &mut linked) {
                bytes += size_on_disk(&metadata);
            }
            if bytes > max_bytes {
                return Some(format!("holds more than {max_mib} MiB"));
            }
            if entries > MAX_ENTRIES {
                return Some(format!("holds more than {MAX_ENTRIES} files"));
            }
        }
    }
    None
}

#[cfg(unix)]
fn is_first_name(metadata: &Metadata, linked: &mut HashSet<u64>) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.nlink() < 2 || linked.insert(metadata.ino())
}

#[cfg(not(unix))]
fn is_first_name(_: &Metadata, _: &mut HashSet<u64>) -> bool {
    true
}

/// Returns the allocated bytes of a file, which are less than its length if it has holes.
pub(super) fn size_on_disk(metadata: &Metadata) -> u64 {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::blocks(metadata) * 512;
    #[cfg(not(unix))]
    return metadata.len();
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_is_measured_without_links_and_with_each_file_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("a")).unwrap();
        fs::write(at("a/file"), vec![1; 2 << 20]).unwrap();
        for name in ["b", "c", "d"] {
            fs::hard_link(at("a/file"), at(name)).unwrap();
        }
        symlink("/usr", at("usr")).unwrap();
        fs::File::create(at("hole")).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(find_excess(folder.path(), 3), None);
        assert_eq!(find_excess(folder.path(), 1).as_deref(), Some("holds more than 1 MiB"));
    }

    #[test]
    fn what_lies_deeper_than_paths_reach_is_not_overlooked() {
        let folder = tempfile::tempdir().unwrap();
        let name = "d".repeat(250);
        // Nests folders deeper than the maximum path length by changing into each of them.
        let script = format!("for i in $(seq 20); do mkdir {name} && cd -P {name} || exit 1; done");
        let made = std::process::Command::new("bash")
            .args(["-c", &script])
            .current_dir(folder.path())
            .status()
            .unwrap();
        assert!(made.success());
        assert!(find_excess(folder.path(), 1 << 10).unwrap().contains("cannot be read"));
    }
}

/// Process list of this machine with the time of reading, shared by all toolkits.
static PROCESS_LIST: Mutex<Option<(Instant, System)>> = Mutex::new(None);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ProcessTreeUsage {
    pub(super) bytes: u64,
    pub(super) processes: u64,
}

/// Measures the process `id` and its descendants. The process list is refreshed if it is at least `max_age` old.
/// Shared pages are divided among processes only if the sum exceeds `max_bytes`, because that takes longer.
pub(super) fn measure_process_tree(id: u32, max_age: Duration, max_bytes: u64) -> ProcessTreeUsage {
    let mut table = PROCESS_LIST.lock().unwrap_or_else(PoisonError::into_inner);
    let (read_at, system) = table.get_or_insert_with(|| (Instant::now(), System::new()));
    if system.processes().is_empty() || read_at.elapsed() >= max_age {
        let memory = ProcessRefreshKind::nothing().with_memory().without_tasks();
        system.refresh_processes_specifics(ProcessesToUpdate::All, true, memory);
        *read_at = Instant::now();
    }
    let mut children: HashMap<Pid, Vec<Pid>> = HashMap::new();
    for (child, process) in system.processes() {
        if let Some(parent) = process.parent() {
            children.entry(parent).or_default().push(*child);
        }
    }
    let mut tree = BTreeSet::new();
    let mut next = vec![Pid::from_u32(id)];
    while let Some(process) = next.pop() {
        if tree.insert(process) {
            next.extend(children.remove(&process).unwrap_or_default());
        }
    }
    let memory = |process: &Pid| system.process(*process).map_or(0, sysinfo::Process::memory);
    let resident: Vec<(u32, u64)> = tree.iter().map(|id| (id.as_u32(), memory(id))).collect();
    drop(table);
    let ids: Vec<u32> = resident.iter().map(|(id, _)| *id).collect();
    let processes = ids.iter().map(|id| count_threads(*id)).sum();
    let files = files::measure_memory_files(&ids);
    let mut bytes = resident.iter().map(|(_, bytes)| bytes).sum::<u64>() + files;
    if bytes > max_bytes {
        let shares = resident.iter().map(|(id, bytes)| read_share(*id).unwrap_or(*bytes));
        bytes = shares.sum::<u64>() + files;
    }
    ProcessTreeUsage { bytes, processes }
}

/// Returns the resident memory of a process, with shared pages divided among their users.
fn read_share(id: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the number of threads of a process, at least 1.
fn count_threads(id: u32) -> u64 {
    #[cfg(target_os = "linux")]
    if let Ok(threads) = fs::metadata(format!("/proc/{id}/task")) {
        // A folder has one link for each subfolder and two of its own.
        return std::os::unix::fs::MetadataExt::nlink(&threads).saturating_sub(2).max(1);
    }
    let _ = id;
    1
}

/// Measures files in memory that no process has mapped, which resident memory does not include.
#[cfg(target_os = "linux")]
mod files {
    use std::{
        collections::HashSet,
        fs::{self, File},
        io::Read,
        os::unix::fs::MetadataExt,
        path::Path,
    };

    use rustix::fs::{major, minor, statvfs};

    use super::size_on_disk;

    /// Maximum bytes to read of a mount list, and maximum open files to inspect.
    const MAX_MOUNTS_BYTES: u64 = 1024 * 1024;
    const MAX_OPEN_FILES: usize = 100_000;
    /// Memory of a file without its content.
    const INODE_BYTES: u64 = 1024;

    /// Returns the bytes of file systems in memory that only these processes see, and of their open deleted files.
    pub(super) fn measure_memory_files(ids: &[u32]) -> u64 {
        let mut counted: HashSet<String> =
            mounts_in_memory("self").into_iter().map(|(device, _)| device).collect();
        let mut namespaces = HashSet::new();
        let mut files = HashSet::new();
        let mut bytes = 0;
        for id in ids {
            let namespace = fs::read_link(format!("/proc/{id}/ns/mnt"));
            if namespace.is_ok_and(|namespace| namespaces.insert(namespace)) {
                for (device, folder) in mounts_in_memory(&id.to_string()) {
                    let folder = format!("/proc/{id}/root{folder}");
                    if !counted.contains(&device)
                        && let Some(used) = used_bytes(&folder, &device)
                    {
                        bytes += used;
                        counted.insert(device);
                    }
                }
            }
            let open = fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().flatten();
            for file in open.take(MAX_OPEN_FILES.saturating_sub(files.len())) {
                let Ok(file) = fs::metadata(file.path()) else { continue };
                let is_new = file.is_file()
                    && file.nlink() == 0
                    && !counted.contains(&device_of(&file))
                    && files.insert((file.dev(), file.ino()));
                bytes += if is_new { size_on_disk(&file) } else { 0 };
            }
        }
        bytes
    }

    /// Returns device and folder of the in-memory file systems that a process sees.
    fn mounts_in_memory(process: &str) -> Vec<(String, String)> {
        let mut text = Vec::new();
        let file = File::open(format!("/proc/{process}/mountinfo"));
        let read = file.and_then(|file| file.take(MAX_MOUNTS_BYTES).read_to_end(&mut text));
        if read.is_err() {
            return Vec::new();
        }
        let text = String::from_utf8_lossy(&text);
        let mounts = text.lines().filter_map(|line| {
            let (mount, kind) = line.split_once(" - ")?;
            let mut fields = mount.split(' ').skip(2);
            let device = fields.next()?;
            let folder = fields.nth(1)?;
            kind.starts_with("tmpfs ").then(|| (device.to_owned(), folder.to_owned()))
        });
        mounts.collect()
    }

    /// Returns the used bytes of the file system of `device`, or `None` if another one covers it.
    fn used_bytes(folder: &str, device: &str) -> Option<u64> {
        let metadata = fs::symlink_metadata(folder).ok()?;
        if device_of(&metadata) != device {
            return None;
        }
        let held = statvfs(Path::new(folder)).ok()?;
        let blocks = held.f_blocks.saturating_sub(held.f_bfree).saturating_mul(held.f_frsize);
        let inodes = held.f_files.saturating_sub(held.f_ffree).saturating_mul(INODE_BYTES);
        Some(blocks.saturating_add(inodes))
    }

    fn device_of(metadata: &fs::Metadata) -> String {
        format!("{}:{}", major(metadata.dev()), minor(metadata.dev()))
    }
}

#[cfg(not(target_os = "linux"))]
mod files {
    pub(super) fn measure_memory_files(_: &[u32]) -> u64 {
        0
    }
}
