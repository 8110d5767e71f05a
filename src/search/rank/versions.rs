//! Folders that hold older versions of what stands beside them: `v3` where there is a `v4`.

use std::collections::{HashMap, HashSet};

use super::super::{
    candidate::Candidate,
    intent::{Intent, version},
};
use crate::domain::RootId;

/// Returns the files, by root and path, that lie in the folder of an older version while something
/// was found in that of a newer one, unless the query names the older.
pub(super) fn superseded(candidates: &[Candidate], intent: &Intent) -> HashSet<(RootId, String)> {
    let mut newest: HashMap<(RootId, &str), u32> = HashMap::new();
    for candidate in candidates {
        for (above, number) in versions(&candidate.record.path) {
            let known = newest.entry((candidate.record.root, above)).or_default();
            *known = number.max(*known);
        }
    }
    let is_old = |candidate: &&Candidate| {
        versions(&candidate.record.path).any(|(above, number)| {
            let newest = newest.get(&(candidate.record.root, above));
            newest.is_some_and(|newest| number < *newest) && !intent.versions.contains(&number)
        })
    };
    candidates.iter().filter(is_old).map(Candidate::file).collect()
}

/// Returns the numbers of the versions that folders of a path are named after, each with what stands
/// above that folder.
fn versions(path: &str) -> impl Iterator<Item = (&str, u32)> {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    let mut start = 0;
    folders.split('/').filter_map(move |folder| {
        let above = path.get(..start)?;
        start += folder.len() + 1;
        Some((above, version(folder)?))
    })
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::{super::super::fixture::record, *};

    fn old(paths: &[&str], query: &str) -> Vec<String> {
        let candidate = |(path, id): (&&str, u128)| Candidate {
            id: Uuid::from_u128(id),
            record: record(path, None, ""),
            score: 0.5,
        };
        let candidates: Vec<Candidate> = paths.iter().zip(0..).map(candidate).collect();
        let old = superseded(&candidates, &Intent::of(query));
        let mut old: Vec<String> = old.into_iter().map(|(_, path)| path).collect();
        old.sort_unstable();
        old
    }

    #[test]
    fn an_older_version_beside_a_newer_one_is_superseded_unless_asked_for() {
        let paths = ["src/v3/types.ts", "src/v4/core/types.ts", "src/v10/types.ts", "src/main.ts"];
        assert_eq!(old(&paths, "types"), ["src/v3/types.ts", "src/v4/core/types.ts"]);
        assert_eq!(old(&paths, "types of v3, V4"), [""; 0]);
        assert_eq!(old(&paths, "the v4 types"), ["src/v3/types.ts"]);
    }

    #[test]
    fn versions_of_different_things_and_names_of_files_are_left_alone() {
        assert_eq!(old(&["a/v1/x.go", "b/v2/x.go", "v3", "a/vm/x.go"], "x"), [""; 0]);
    }
}
