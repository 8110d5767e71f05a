//! Which files are programs.

use std::fs::Metadata;

/// Whether what is known of a file says that it can be run.
#[cfg(unix)]
pub fn is_program(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
}

/// Here names say it, not rights.
#[cfg(not(unix))]
pub fn is_program(metadata: &Metadata) -> bool {
    metadata.is_file()
}
