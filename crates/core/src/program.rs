//! Detection of executable files.

use std::fs::Metadata;

/// Returns whether a file is executable, judged by its rights.
#[cfg(unix)]
pub fn is_program(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
}

/// Returns whether the path is a file. On this platform file names, not rights, mark executables.
#[cfg(not(unix))]
pub fn is_program(metadata: &Metadata) -> bool {
    metadata.is_file()
}
