//! Finds the program of a toolkit and the paths that it must read.
//!
//! System folders are always readable. For a program elsewhere, such as in the user's home, the readable path is
//! its installation: the outermost `node_modules` around it; else the folder above `bin` or `shims` (a virtual
//! environment, a version of Node or Python), unless that is a home folder or `.local`; else the file alone. The
//! same applies to each link on the way and to the interpreter of its first line. A script that an interpreter
//! gets as an argument is readable with the nearest project folder above it, else with its own folder.

use std::{
    ffi::{OsStr, OsString},
    fs,
    io::Read,
    path::{Path, PathBuf},
};

#[derive(Debug, Clone)]
pub(super) struct ProgramSearch {
    pub(super) path: OsString,
    pub(super) home: Option<PathBuf>,
    /// Base folder of relative paths in the command.
    pub(super) dir: PathBuf,
    /// Permits paths as commands and reading scripts; false for a token's commands, which could read files by them.
    pub(super) reads_scripts: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ResolvedProgram {
    pub(super) program: PathBuf,
    pub(super) args: Vec<OsString>,
    /// Paths that must be readable, in addition to the system's folders.
    pub(super) needs: Vec<PathBuf>,
}

/// Maximum links and interpreters to follow.
const MAX_STEPS: usize = 16;
const MAX_FIRST_LINE_BYTES: u64 = 512;
/// Folders that each sandboxed command can read.
const SYSTEM: [&str; 7] = ["/bin", "/sbin", "/lib", "/lib64", "/usr", "/etc", "/opt"];
/// Names, without version, of programs that run the file in their arguments.
const INTERPRETERS: [&str; 10] =
    ["node", "deno", "bun", "python", "pypy", "ruby", "php", "java", "bash", "sh"];
/// Files and folders that identify a project.
const PROJECT: [&str; 3] = ["package.json", "pyproject.toml", "node_modules"];

/// Finds `command`; an error tells what to do.
pub(super) fn find_program(
    command: &str,
    args: Vec<String>,
    search: &ProgramSearch,
) -> Result<ResolvedProgram, String> {
    if !search.reads_scripts && command.contains(std::path::is_separator) {
        return Err(
            "its `command` must be a name on PATH: only the owner of the server gives paths"
                .to_owned(),
        );
    }
    let missing = || format!("`{command}` not found: install it, or put its folder on PATH");
    let program = search.locate_command(command).ok_or_else(missing)?;
    let mut needs = Vec::new();
    search.add_installation(&program, &mut needs);
    if search.reads_scripts && is_interpreter(&program) {
        let mut files = args.iter().filter(|arg| !arg.starts_with('-'));
        let script = files.next().map(|file| search.dir.join(file));
        if let Some(script) = script.filter(|script| script.is_file()) {
            search.add_script_folder(&script, &mut needs);
        }
    }
    needs.retain(|path| !is_system_path(path));
    needs.sort_unstable();
    needs.dedup();
    Ok(ResolvedProgram { program, args: args.into_iter().map(OsString::from).collect(), needs })
}

/// Returns true if `command` is a program, as a path or on this process's `PATH`.
pub fn is_installed(command: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_path = command.contains(std::path::is_separator);
    if is_path { is_program(Path::new(command)) } else { find_on_path(command, &path).is_some() }
}

fn find_on_path(command: &str, path: &OsStr) -> Option<PathBuf> {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(command)).find(|path| is_program(path))
}

impl ProgramSearch {
    fn locate_command(&self, command: &str) -> Option<PathBuf> {
        if command.contains(std::path::is_separator) {
            return Some(self.dir.join(command)).filter(|path| is_program(path));
        }
        find_on_path(command, &self.path)
    }

    /// Adds the installations of `program`, of its link targets and of its interpreter.
    fn add_installation(&self, program: &Path, needs: &mut Vec<PathBuf>) {
        let mut next = Some(program.to_owned());
        for _ in 0..MAX_STEPS {
            let Some(file) = next.take() else { return };
            // The folder itself may be reached through a link.
            let folder = file.parent().and_then(|folder| folder.canonicalize().ok());
            let file = match (folder, file.file_name()) {
                (Some(folder), Some(name)) => folder.join(name),
                _ => return,
            };
            needs.push(self.find_installation_root(&file));
            next = match fs::read_link(&file) {
                Ok(target) => file.parent().map(|folder| folder.join(target)),
                Err(_) => self.read_interpreter(&file),
            };
        }
    }

    fn find_installation_root(&self, file: &Path) -> PathBuf {
        let modules = file.ancestors().filter(|folder| folder.ends_with("node_modules")).last();
        if let Some(modules) = modules {
            return modules.to_owned();
        }
        let folder = file
            .parent()
            .filter(|folder| ["bin", "shims"].iter().any(|name| folder.ends_with(name)));
        match folder.and_then(Path::parent) {
            Some(above) if self.is_own(above) => above.to_owned(),
            _ => file.to_owned(),
        }
    }

    fn add_script_folder(&self, script: &Path, needs: &mut Vec<PathBuf>) {
        let Ok(script) = script.canonicalize() else { return };
        let around = self.find_installation_root(&script);
        if around != script {
            needs.push(around);
            return;
        }
        let mut folders = script.ancestors().skip(1).filter(|folder| self.is_own(folder));
        let own = folders.clone().next();
        let project = folders.find(|folder| {
            PROJECT.iter().any(|name| folder.join(name).try_exists().unwrap_or(false))
        });
        needs.push(project.or(own).unwrap_or(&script).to_owned());
    }

    /// Excludes homes, folders around them, `.local` and folders near the root.
    fn is_own(&self, folder: &Path) -> bool {
        let holds_home = self.home.as_ref().is_some_and(|home| home.starts_with(folder));
        let is_local = folder.ends_with(".local");
        !holds_home && !is_local && folder.components().count() > 2
    }

    fn read_interpreter(&self, file: &Path) -> Option<PathBuf> {
        let mut start = Vec::new();
        fs::File::open(file).ok()?.take(MAX_FIRST_LINE_BYTES).read_to_end(&mut start).ok()?;
        let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
        let line = String::from_utf8_lossy(line).into_owned();
        let mut words = line.split_whitespace();
        let program = words.next()?;
        if program.ends_with("/env") {
            return self.locate_command(words.find(|word| !word.starts_with('-'))?);
        }
        Some(PathBuf::from(program))
    }
}

fn is_interpreter(program: &Path) -> bool {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&base)
}

fn is_system_path(path: &Path) -> bool {
    SYSTEM.iter().any(|folder| path.starts_with(folder))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| codeinfo_core::paths::is_executable(&found))
}
