//! Shortens lists of secret paths by naming folders instead of the secrets in them.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

/// Replaces secrets by their folders, the fullest first, until at most `max` paths remain or no
/// more can be folded. Only folders that `may_stand` accepts replace their contents.
pub fn fold_paths(named: &mut BTreeSet<String>, max: usize, may_stand: impl Fn(&str) -> bool) {
    while max < named.len() && fold_once(named, max, &may_stand) {}
}

/// Folds folders with several paths, or else the deepest ones, until at most `max` paths remain.
/// Returns whether a folder was found.
fn fold_once(named: &mut BTreeSet<String>, max: usize, may_stand: impl Fn(&str) -> bool) -> bool {
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    for (folder, _) in named.iter().filter_map(|path| path.rsplit_once('/')) {
        *folders.entry(folder).or_default() += 1;
    }
    folders.retain(|folder, _| may_stand(folder));
    let depth = |folder: &str| folder.split('/').count();
    let mut fullest: Vec<(usize, String)> = folders
        .iter()
        .filter(|(_, count)| 1 < **count)
        .map(|(f, n)| (*n, (*f).to_owned()))
        .collect();
    if fullest.is_empty() {
        let deepest = folders.keys().map(|folder| depth(folder)).max();
        let deepest = folders.keys().filter(|folder| Some(depth(folder)) == deepest);
        fullest = deepest.map(|folder| (1, (*folder).to_owned())).collect();
    }
    fullest.sort_by_key(|(count, folder)| Reverse((*count, depth(folder))));
    let has_any = !fullest.is_empty();
    for (_, folder) in fullest {
        if named.len() <= max {
            break;
        }
        let inside = format!("{folder}/");
        let within: Vec<String> = named
            .range(inside.clone()..)
            .take_while(|path| path.starts_with(&inside))
            .cloned()
            .collect();
        for path in &within {
            named.remove(path);
        }
        // A folder above may have replaced the paths already.
        if !within.is_empty() {
            named.insert(folder);
        }
    }
    has_any
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = 1_000;

    fn folded(many: &BTreeSet<String>) -> Vec<String> {
        let mut named = many.clone();
        fold_paths(&mut named, MAX, |_| true);
        named.into_iter().collect()
    }

    #[test]
    fn too_many_secrets_are_folded_into_folders_without_loss() {
        let few: BTreeSet<String> = (0..MAX).map(|number| format!("z/{number}.pem")).collect();
        assert!(folded(&few).iter().eq(&few));

        let mut many = few.clone();
        many.extend(["a/.env", "a/b/.env", ".env"].map(str::to_owned));
        assert_eq!(folded(&many), [".env", "a/.env", "a/b/.env", "z"]);
        many.insert("a/key.pem".to_owned());
        assert_eq!(folded(&many), [".env", "a/.env", "a/b/.env", "a/key.pem", "z"]);

        // A path inside a folder that is listed itself is not listed again.
        let mut deep: BTreeSet<String> = (0..MAX).map(|number| format!("{number}/.env")).collect();
        for (folder, count) in [("p", 800), ("p/q", 300)] {
            deep.extend((0..count).map(|number| format!("{folder}/{number}.pem")));
        }
        deep.extend(["x/1.pem", "x/2.pem"].map(str::to_owned));
        let folders = folded(&deep);
        assert!(!folders.contains(&"p/q".to_owned()), "{folders:?}");

        let apart: BTreeSet<String> =
            (0..=MAX).map(|number| format!("{}/{number}/.env", number % 7)).collect();
        let folders = folded(&apart);
        assert!(folders.len() <= MAX);
        let is_named = |path: &String| {
            folders
                .iter()
                .any(|folder| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
        };
        assert!(apart.iter().all(|path| is_named(path) || folders.contains(path)), "{folders:?}");
    }

    #[test]
    fn only_accepted_folders_replace_their_contents() {
        let many = ["a/v/x/1", "a/v/x/2", "a/v/y/1", "b/1", "b/2", "b/3"];
        let mut named: BTreeSet<String> = many.map(str::to_owned).into();
        fold_paths(&mut named, 1, |folder| folder.starts_with("a/v"));
        assert_eq!(named.into_iter().collect::<Vec<_>>(), ["a/v", "b/1", "b/2", "b/3"]);
    }
}
