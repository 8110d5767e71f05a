//! Removes keys from the environment that the system shows of this process, by restarting it.

use std::io;

/// Variable of a restarted process: the file descriptor of its keys.
pub const VARIABLE: &str = "CODEINFO_HANDOVER";

/// Restarts this program if its environment contains keys, which `/proc` shows to other processes
/// of the user; an in-memory file passes them on. Returns only without keys, or on failure.
#[cfg(target_os = "linux")]
pub fn hide_keys() -> io::Result<()> {
    use std::{
        env,
        fs::File,
        io::Write,
        os::{fd::AsRawFd, unix::process::CommandExt},
        path::Path,
        process::Command,
    };

    use nix::sys::memfd::{MFdFlags, memfd_create};

    // Without `/proc`, nothing shows the environment.
    if env::var_os(VARIABLE).is_some() || !Path::new("/proc/self/fd").is_dir() {
        return Ok(());
    }
    let keys: Vec<(String, String)> = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, value)| is_key(name, value))
        .collect();
    if keys.is_empty() {
        return Ok(());
    }
    let mut file = File::from(memfd_create("keys", MFdFlags::empty())?);
    file.write_all(&serde_json::to_vec(&keys)?)?;
    let mut program = env::current_exe()?;
    if !program.try_exists()? {
        // An update has replaced the program since it started.
        program = "/proc/self/exe".into();
    }
    let mut arguments = env::args_os();
    let mut again = Command::new(program);
    if let Some(name) = arguments.next() {
        again.arg0(name);
    }
    again.args(arguments).env(VARIABLE, file.as_raw_fd().to_string());
    for (name, _) in &keys {
        again.env_remove(name);
    }
    Err(again.exec())
}

/// Other systems do not show the environment of a process.
#[cfg(not(target_os = "linux"))]
pub fn hide_keys() -> io::Result<()> {
    Ok(())
}

/// Returns the variables that were passed on at the restart, once. Afterwards, no other process of
/// the user can read the memory or the environment of this one.
#[cfg(target_os = "linux")]
pub(super) fn take_handed_variables() -> io::Result<Vec<(String, String)>> {
    use std::{env, fs};

    nix::sys::prctl::set_dumpable(false)?;
    let Some(number) = env::var_os(VARIABLE) else { return Ok(Vec::new()) };
    let number: i32 = number
        .to_str()
        .and_then(|number| number.parse().ok())
        .ok_or_else(|| io::Error::other("it is for this program alone to set"))?;
    let keys = fs::read(format!("/proc/self/fd/{number}"))?;
    nix::unistd::close(number)?;
    Ok(serde_json::from_slice(&keys)?)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn take_handed_variables() -> io::Result<Vec<(String, String)>> {
    Ok(Vec::new())
}

/// Returns whether a variable contains a key of any program, or an address with a password.
#[cfg(target_os = "linux")]
fn is_key(name: &str, value: &str) -> bool {
    !value.is_empty() && (is_key_name(name) || value.contains("://") && value.contains('@'))
}

/// Returns whether a variable's name says that it contains a key.
pub(super) fn is_key_name(name: &str) -> bool {
    const ENDS: [&str; 7] =
        ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "CREDENTIALS"];
    let upper_case = name.to_ascii_uppercase();
    ENDS.iter().any(|end| upper_case.ends_with(end))
}
