//! Describes the paths left out of an index, so that a reader does not take unindexed code for
//! missing code.

use codeinfo_core::{
    OmissionRule, OmittedPaths, Root, RootFilter, count_paths, explain_omission, list_omissions,
};
use codeinfo_lang::detect::{MachineFile, detect_machine_file};

use super::Evidence;

impl Evidence {
    /// Describes the paths that were left out of the index and therefore not searched for `names`.
    pub async fn describe_unsearched(&self, names: &[&str], within: RootFilter) -> Option<String> {
        let roots = self.store.roots().await.ok()?;
        describe_unsearched_roots(&within.select_roots(&roots), names)
    }
}

/// Describes the left-out paths of some roots; `None` if none of them may contain code.
pub(super) fn describe_unsearched_roots(roots: &[Root], names: &[&str]) -> Option<String> {
    let mut unsearched = OmittedPaths::default();
    for root in roots {
        let prefix = if roots.len() == 1 { String::new() } else { format!("{}/", root.name) };
        unsearched.add_groups(&root.omitted, &prefix, OmissionRule::may_hide_code);
    }
    let mut files = 0;
    let mut folders = 0;
    for (_, group) in unsearched.groups() {
        files += group.files;
        folders += group.folders;
    }
    let listed = list_omissions(unsearched.groups(), names);
    let counts = count_paths(folders, files);
    (!listed.is_empty()).then(|| format!("not searched, as left out: {counts}: {listed}"))
}

/// Explains why a path below a root is not in its index; `None` if it was not left out.
pub(super) fn explain_unindexed_path(root: &Root, path: &str) -> Option<String> {
    root.omitted.explain_path(path).or_else(|| {
        // Only the first paths of each rule are stored, but a name shows its rule.
        let rule = rule_of_name(path)?;
        let is_used = root.omitted.groups().any(|(known, _)| known == rule);
        is_used.then(|| explain_omission(rule, path))
    })
}

fn rule_of_name(path: &str) -> Option<OmissionRule> {
    if path.split('/').any(|part| part.starts_with('.')) {
        return Some(OmissionRule::Hidden);
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    detect_machine_file(name).map(|found| match found {
        MachineFile::Binary => OmissionRule::Binary,
        MachineFile::LockFile => OmissionRule::LockFile,
        MachineFile::Generated => OmissionRule::Generated,
    })
}
