//! Plugins that come as archives: unpacked once, under a name that their content gives, and used from there.

use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::archive::{self, ArchiveError};
use settings::Places;

/// A plugin is text and a few programs; a larger archive is something else.
pub const ARCHIVE_MAX: u64 = 64 * 1024 * 1024;

/// The folder that an archive stands for. One that was unpacked before is there already: the same content has the
/// same name, and nothing else gets that name.
pub fn unpack_plugin(places: &Places, archive: &[u8]) -> Result<PathBuf, ArchiveError> {
    let name: String = Sha256::digest(archive).iter().map(|byte| format!("{byte:02x}")).collect();
    let parent = places.config_dir.join("plugins/unpacked");
    let folder = parent.join(name);
    if !folder.is_dir() {
        let files = archive::read(archive)?;
        let failed = |error: io::Error| ArchiveError::Unpack { folder: folder.clone(), reason: error.to_string() };
        write(&files, &parent, &folder).map_err(failed)?;
    }
    Ok(root(&folder))
}

/// Whole or not at all; another process may be doing the same.
fn write(files: &[archive::File], parent: &Path, folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(parent)?;
    let fresh = tempfile::Builder::new().prefix(".ralph-").tempdir_in(parent)?;
    for file in files {
        let path = fresh.path().join(&file.path);
        if let Some(inner) = path.parent() {
            std::fs::create_dir_all(inner)?;
        }
        let mode = if file.is_program { 0o755 } else { 0o644 };
        let mut to = std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&path)?;
        io::Write::write_all(&mut to, &file.content)?;
    }
    match std::fs::rename(fresh.path(), folder) {
        Err(_) if folder.is_dir() => Ok(()),
        moved => moved,
    }
}

/// Archives of repositories have everything in one folder.
fn root(folder: &Path) -> PathBuf {
    let mut inner = folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    match (inner.next(), inner.next()) {
        (Some(only), None) if only.is_dir() && !only.ends_with(".claude-plugin") => only,
        _ => folder.to_owned(),
    }
}

/// Why a file of a plugin is no archive that can be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArchiveFileError {
    #[error("{} cannot be read: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is larger than {} MiB", .0.display(), ARCHIVE_MAX / 1024 / 1024)]
    TooLarge(PathBuf),
    #[error("{}: {source}", path.display())]
    Archive { path: PathBuf, source: ArchiveError },
}

/// An archive where a folder is expected: the folder it stands for. Everything else is left as it is.
pub(crate) fn or_folder(places: &Places, path: &Path) -> Result<PathBuf, ArchiveFileError> {
    let is_archive = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("zip")) && path.is_file();
    if !is_archive {
        return Ok(path.to_owned());
    }
    let failed = |source: io::Error| ArchiveFileError::Read { path: path.to_owned(), source };
    if std::fs::metadata(path).map_err(failed)?.len() > ARCHIVE_MAX {
        return Err(ArchiveFileError::TooLarge(path.to_owned()));
    }
    let archive = std::fs::read(path).map_err(failed)?;
    unpack_plugin(places, &archive).map_err(|source| ArchiveFileError::Archive { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::Bed;

    fn file(path: &str, is_program: bool) -> archive::File {
        archive::File { path: path.into(), content: b"x".to_vec(), is_program }
    }

    #[test]
    fn programs_stay_programs_and_a_single_folder_is_the_plugin() {
        use std::os::unix::fs::PermissionsExt as _;
        let bed = Bed::new();
        let parent = bed.places.config_dir.join("plugins/unpacked");
        let folder = parent.join("abc");
        for _ in 0..2 {
            write(&[file("kit/bin/run", true), file("kit/a.md", false)], &parent, &folder).unwrap();
        }
        assert_eq!(root(&folder), folder.join("kit"));
        let mode = |path: &str| folder.join(path).metadata().unwrap().permissions().mode() & 0o111;
        assert!(mode("kit/bin/run") != 0 && mode("kit/a.md") == 0);
        assert_eq!(parent.read_dir().unwrap().count(), 1, "nothing half done is left");
        let flat = parent.join("flat");
        write(&[file(".claude-plugin/plugin.json", false)], &parent, &flat).unwrap();
        assert_eq!(root(&flat), flat);
    }
}
