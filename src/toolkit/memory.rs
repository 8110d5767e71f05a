//! How much memory a process and all that it started use.

use std::collections::{BTreeSet, HashMap};

use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

/// Returns the resident memory of the process `id` and of its descendants, in bytes. Reads the list of
/// all processes.
pub(super) fn of_tree(id: u32) -> u64 {
    let mut system = System::new();
    let memory = ProcessRefreshKind::nothing().with_memory().without_tasks();
    system.refresh_processes_specifics(ProcessesToUpdate::All, true, memory);
    let mut children: HashMap<Pid, Vec<Pid>> = HashMap::new();
    for (child, process) in system.processes() {
        if let Some(parent) = process.parent() {
            children.entry(parent).or_default().push(*child);
        }
    }
    let (mut tree, mut next) = (BTreeSet::new(), vec![Pid::from_u32(id)]);
    while let Some(process) = next.pop() {
        if tree.insert(process) {
            next.extend(children.remove(&process).unwrap_or_default());
        }
    }
    tree.iter().filter_map(|process| system.process(*process)).map(sysinfo::Process::memory).sum()
}
