//! Finds the files of Codex that its sandbox must let it read, starting from the binary.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Files next to `bin` that identify a package of Codex.
const MARKS: [&str; 2] = ["codex-package.json", "codex-resources"];

/// Returns the paths that must be readable for `program` to run commands in its sandbox. This is the package
/// folder, two levels above the native binary, with the search tool and the sandbox in it, else the binary
/// alone. Returns `None` if `program` is a script that does not lead to a native binary.
pub(super) fn find_codex_files(program: &Path) -> io::Result<Option<Vec<PathBuf>>> {
    let resolved = program.canonicalize()?;
    if !is_script(&resolved)? {
        return Ok(Some(vec![find_package(&resolved).unwrap_or(resolved)]));
    }
    let mut packages: Vec<PathBuf> = resolved
        .ancestors()
        .flat_map(|folder| [folder.to_owned(), folder.join("node_modules/@openai")])
        .flat_map(|folder| find_native_binaries(&folder))
        .filter_map(|native| find_package(&native))
        .collect();
    packages.sort_unstable();
    packages.dedup();
    Ok((!packages.is_empty()).then_some(packages))
}

fn is_script(program: &Path) -> io::Result<bool> {
    use io::Read;
    let mut start = Vec::new();
    fs::File::open(program)?.take(2).read_to_end(&mut start)?;
    Ok(start == b"#!")
}

/// Returns the package folder of the binary `native`.
fn find_package(native: &Path) -> Option<PathBuf> {
    let folder = native.parent()?.parent()?;
    MARKS.iter().any(|mark| path_exists(&folder.join(mark))).then(|| folder.to_owned())
}

/// Returns the native binaries for this machine in the `codex-*` packages of `scope`.
fn find_native_binaries(scope: &Path) -> Vec<PathBuf> {
    let packages = list_entries(scope).into_iter().filter(|entry| {
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("codex-") && entry.parent().is_some_and(|scope| scope.ends_with("@openai"))
    });
    packages
        .flat_map(|package| list_entries(&package.join("vendor")))
        .filter(|triple| {
            let name = triple.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(std::env::consts::ARCH)
        })
        .filter_map(|triple| triple.join("bin/codex").canonicalize().ok())
        .collect()
}

/// Returns the entries of `folder`, or nothing if it cannot be read.
fn list_entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Returns true if `path` exists; an unreadable path counts as absent.
fn path_exists(path: &Path) -> bool {
    path.try_exists().unwrap_or(false)
}
