//! Measures a process tree: resident memory, files in memory, processes and threads.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

/// Process list of this machine with the time of reading, shared by all toolkits.
static PROCESSES: Mutex<Option<(Instant, System)>> = Mutex::new(None);

/// Usage of a process and its descendants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ProcessTreeUsage {
    pub(super) bytes: u64,
    pub(super) processes: u64,
}

/// Measures the process `id` and its descendants. The process list is refreshed if it is at least `max_age`
/// old. Shared pages are divided among processes only if the sum exceeds `max_bytes`, because that takes
/// longer.
pub(super) fn measure_process_tree(id: u32, max_age: Duration, max_bytes: u64) -> ProcessTreeUsage {
    let mut table = PROCESSES.lock().unwrap_or_else(PoisonError::into_inner);
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

/// Returns the proportional resident memory of a process, which divides shared pages among its users, if
/// available.
fn read_share(id: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{id}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the number of threads of a process, at least 1.
fn count_threads(id: u32) -> u64 {
    #[cfg(target_os = "linux")]
    if let Ok(threads) = std::fs::metadata(format!("/proc/{id}/task")) {
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

    use super::super::folder::size_on_disk;

    /// Maximum bytes to read of a mount list, and maximum open files to inspect.
    const MAX_MOUNTS_BYTES: u64 = 1024 * 1024;
    const MAX_OPEN_FILES: usize = 100_000;
    /// Memory of a file without its content.
    const INODE_BYTES: u64 = 1024;

    /// Returns the bytes of in-memory file systems that these processes see and this one does not, and of their
    /// open deleted files.
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
