//! Finds the files of Codex itself that its sandbox must let it read, from the binary that is started.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Files that stand beside `bin` in a package of Codex.
const MARKS: [&str; 2] = ["codex-package.json", "codex-resources"];

/// Returns what must be readable for `program` to run commands in its sandbox: the folder two above
/// the native binary where that is a package of Codex, with the search tool and the sandbox in it,
/// else the binary alone. `None` if `program` is a script that does not lead to a native binary.
pub(super) fn find_codex_files(program: &Path) -> io::Result<Option<Vec<PathBuf>>> {
    let program = program.canonicalize()?;
    if !is_script(&program)? {
        return Ok(Some(vec![find_package(&program).unwrap_or(program)]));
    }
    let mut packages: Vec<PathBuf> = program
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

/// Returns the package that `native` is the binary of.
fn find_package(native: &Path) -> Option<PathBuf> {
    let folder = native.parent()?.parent()?;
    MARKS.iter().any(|mark| is_there(&folder.join(mark))).then(|| folder.to_owned())
}

/// Returns the native binaries for this machine in the packages `codex-*` of `scope`.
fn find_native_binaries(scope: &Path) -> Vec<PathBuf> {
    let packages = list_entries(scope).into_iter().filter(|entry| {
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("codex-") && entry.parent().is_some_and(|scope| scope.ends_with("@openai"))
    });
    packages
        .flat_map(|package| list_entries(&package.join("vendor")))
        .filter(|triple| {
            let triple = triple.file_name().unwrap_or_default().to_string_lossy();
            triple.starts_with(std::env::consts::ARCH)
        })
        .filter_map(|triple| triple.join("bin/codex").canonicalize().ok())
        .collect()
}

/// Returns what is in `folder`; nothing where it is none.
fn list_entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// What cannot be read is of no use either.
fn is_there(path: &Path) -> bool {
    path.try_exists().unwrap_or(false)
}
