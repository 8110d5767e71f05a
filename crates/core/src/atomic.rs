//! Atomic replacement and safe opening of small files.
//!
//! A reader or a crash sees the old content or the new. Only regular files are opened, so that a
//! pipe or device in their place cannot block or be read without end.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

/// Maximum bytes read of a file: many times the size of the largest list that CodeInfo writes.
const MAX_BYTES: u64 = 64 << 20;
/// `FILE_FLAG_OPEN_REPARSE_POINT`: opens a link itself, which is not a regular file.
#[cfg(windows)]
const NO_FOLLOW: u32 = 0x0020_0000;

/// Accounts that may read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAccess {
    /// The system's default for new files of this process.
    AsUsual,
    /// Only the user of this process.
    Owner,
}

/// Creates a folder that only its user can access. Fails if something, or a link, exists there.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    match folder_builder(FileAccess::Owner).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => folder_exists(path).map(drop),
        Ok(()) => path.parent().map_or(Ok(()), sync_folder),
        Err(error) => Err(error),
    }
}

/// Returns whether a folder exists at `path`. Fails if something else exists there.
pub fn folder_exists(path: &Path) -> io::Result<bool> {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => Ok(true),
        Ok(_) => {
            let reason = "it is not a folder; move it away";
            Err(io::Error::new(io::ErrorKind::InvalidData, reason))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Writes `bytes` to `path` through a temporary file; the data is on disk when this returns.
pub fn write_atomically(path: &Path, bytes: &[u8], readers: FileAccess) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    // Removes the leftover of an earlier process.
    ignore_not_found(match temporary.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(&temporary),
        Ok(_) => fs::remove_file(&temporary),
        Err(error) => Err(error),
    })?;
    let mut options = File::options();
    options.write(true).create_new(true);
    restrict_access(&mut options, readers);
    let mut file = options.open(&temporary)?;
    give_to_folder_owner(&file, path)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    path.parent().map_or(Ok(()), sync_folder)
}

/// Creates a folder and its missing parents, accessible to `readers`.
pub fn create_folders(path: &Path, readers: FileAccess) -> io::Result<()> {
    let builder = folder_builder(readers);
    let is_missing =
        |folder: &&Path| !folder.as_os_str().is_empty() && fs::metadata(folder).is_err();
    let missing: Vec<_> = path.ancestors().take_while(is_missing).collect();
    for folder in missing.into_iter().rev() {
        match builder.create(folder) {
            Ok(()) => give_folder(folder)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Gives a file that root created to its folder's owner, who could not change it otherwise.
#[cfg(unix)]
fn give_to_folder_owner(made: &File, path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    copy_owner(made, &fs::metadata(folder.unwrap_or(Path::new(".")))?)
}

#[cfg(not(unix))]
fn give_to_folder_owner(_: &File, _: &Path) -> io::Result<()> {
    Ok(())
}

/// Does nothing unless the process runs as root.
#[cfg(unix)]
fn copy_owner(made: &File, like: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let own = made.metadata()?;
    let is_theirs = (own.uid(), own.gid()) == (like.uid(), like.gid());
    if !is_theirs && rustix::process::geteuid().is_root() {
        std::os::unix::fs::fchown(made, Some(like.uid()), Some(like.gid()))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn copy_owner(_: &File, _: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// Gives a folder that root created to its parent's owner. Fails if a link has replaced it.
#[cfg(unix)]
fn give_folder(path: &Path) -> io::Result<()> {
    let mut options = File::options();
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::DIRECTORY).bits();
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.cast_signed());
    give_to_folder_owner(&options.read(true).open(path)?, path)
}

#[cfg(not(unix))]
fn give_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn folder_builder(readers: FileAccess) -> fs::DirBuilder {
    let mut builder = fs::DirBuilder::new();
    if readers == FileAccess::Owner {
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    }
    builder
}

/// A new folder inherits the rights of its parent, which lies in the user's profile.
#[cfg(not(unix))]
fn folder_builder(_: FileAccess) -> fs::DirBuilder {
    fs::DirBuilder::new()
}

/// Removes other accounts' rights to a folder of the process; returns its former mode if they had
/// any. Fails for a folder of another account, which could put its own files there.
#[cfg(unix)]
pub fn restrict_folder(folder: &Path) -> io::Result<Option<u32>> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let found = fs::metadata(folder)?;
    let own = rustix::process::geteuid();
    if found.uid() != own.as_raw() && !own.is_root() {
        let reason = "it belongs to another account";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    }
    let mode = found.mode() & 0o777;
    let rights_of_others = mode & 0o077;
    if rights_of_others == 0 {
        return Ok(None);
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    Ok(Some(mode))
}

/// A folder inherits the rights of its parent, which lies in the user's profile.
#[cfg(not(unix))]
pub fn restrict_folder(_: &Path) -> io::Result<Option<u32>> {
    Ok(None)
}

#[cfg(unix)]
fn restrict_access(options: &mut OpenOptions, readers: FileAccess) {
    if readers == FileAccess::Owner {
        std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    }
}

#[cfg(not(unix))]
fn restrict_access(_: &mut OpenOptions, _: FileAccess) {}

/// Replaces or creates a user's file through a temporary file beside it, whose name no user's file
/// has, with the mode and the owner of the old file. The data is on disk when this returns.
pub fn replace_user_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = temporary_path(path);
    remove_file(&temporary)?;
    let written = (|| {
        let mut file = File::options().write(true).create_new(true).open(&temporary)?;
        match path.symlink_metadata() {
            Ok(old) => {
                // A change of owner clears some rights, so the mode is set afterwards.
                copy_owner(&file, &old)?;
                file.set_permissions(old.permissions())?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                give_to_folder_owner(&file, path)?;
            }
            Err(error) => return Err(error),
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    })();
    if written.is_err() {
        // The caller gets the write error; an error of the cleanup adds nothing.
        drop(remove_file(&temporary));
    }
    written?;
    path.parent().map_or(Ok(()), sync_folder)
}

/// Returns the constant temporary path of [`replace_user_file`], which removes a leftover there.
pub fn temporary_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    path.with_file_name(format!(".{name}.codeinfo.tmp"))
}

/// Writes a folder's list of files to disk; does nothing outside Unix, where it cannot be synced.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Removes a file. A missing file is no error.
pub fn remove_file(path: &Path) -> io::Result<()> {
    ignore_not_found(fs::remove_file(path))
}

/// Removes a folder with its content. A missing folder is no error.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    ignore_not_found(fs::remove_dir_all(path))
}

/// Reads a file; returns `None` if it does not exist. Fails if the path is not a regular file, if
/// the file is larger than [`MAX_BYTES`], or if accounts outside `readers` may read it.
pub fn read_if_exists(path: &Path, readers: FileAccess) -> io::Result<Option<Vec<u8>>> {
    match read_file(path, readers) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn read_file(path: &Path, readers: FileAccess) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = open_regular_file(path, File::options().read(true))?;
    if readers == FileAccess::Owner {
        refuse_others(path, &file)?;
    }
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("it is larger than {} MiB; move it away", MAX_BYTES >> 20),
        ));
    }
    Ok(bytes)
}

/// Opens a regular file; on Unix, one that this creates is only for its user. Fails without
/// blocking, with [`io::ErrorKind::InvalidData`], if the path is a link, pipe, device or folder.
pub fn open_regular_file(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let no_file = || {
        let reason = "it is not a regular file; move it away";
        io::Error::new(io::ErrorKind::InvalidData, reason)
    };
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags.bits().cast_signed());
        restrict_access(options, FileAccess::Owner);
    }
    #[cfg(windows)]
    std::os::windows::fs::OpenOptionsExt::custom_flags(options, NO_FOLLOW);
    let file = match options.open(path) {
        Ok(file) => file,
        // The error for links, folders and sockets differs by platform.
        Err(_) if path.symlink_metadata().is_ok_and(|found| !found.is_file()) => {
            return Err(no_file());
        }
        Err(error) => return Err(error),
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(no_file()) }
}

/// Fails if other accounts may read or write the file, or if its owner is neither this process's
/// user nor the owner of its folder. The owner of a file knows its content.
#[cfg(unix)]
fn refuse_others(path: &Path, file: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    const OTHERS: u32 = 0o077;
    let found = file.metadata()?;
    let is_ours = found.uid() == rustix::process::geteuid().as_raw();
    if !is_ours
        && path.parent().map_or(Ok(true), |folder| {
            folder.metadata().map(|parent| parent.uid() != found.uid())
        })?
    {
        let reason = "it belongs to another account; remove it";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    }
    if found.permissions().mode() & OTHERS == 0 {
        return Ok(());
    }
    let reason = "other accounts may read or change it; run `chmod 600` on it";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, reason))
}

#[cfg(not(unix))]
fn refuse_others(_: &Path, _: &File) -> io::Result<()> {
    Ok(())
}

fn ignore_not_found(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
