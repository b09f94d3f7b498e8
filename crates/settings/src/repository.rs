//! Which repository a folder belongs to, read from files: no git is started, and nothing of it is obeyed.
//!
//! A repository is a folder with a `.git`, or one that holds a repository's files itself (`HEAD`, `objects`, `refs`):
//! git takes plain files that came with an archive or another repository for a repository, so this does too.

use std::path::{Path, PathBuf};

use crate::files;
use crate::places::main_checkout;

/// A pointer file of git is one short line; anything longer is not one.
const POINTER_MAX: u64 = 8 * 1024;

/// The folder that trust is recorded for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Top {
    /// The main checkout of a repository, or a bare repository.
    Repository(PathBuf),
    /// A folder that no repository holds.
    Folder(PathBuf),
}

impl Top {
    /// The nearest repository upwards; of a linked worktree its main checkout, where that points back.
    pub(crate) fn of(folder: &Path) -> Self {
        match folder.ancestors().find(|dir| is_repository(dir)) {
            Some(top) => Self::Repository(main_checkout(top).unwrap_or_else(|| top.to_owned())),
            None => Self::Folder(folder.to_owned()),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Repository(path) | Self::Folder(path) => path,
        }
    }
}

/// Whether the nearest repository upwards from `folder` is at `top`.
pub(crate) fn is_top_of(folder: &Path, top: &Path) -> bool {
    folder.ancestors().find(|dir| is_repository(dir)) == Some(top)
}

/// A `.git` of any kind counts, also a broken one: what git would make of it is not guessed.
fn is_repository(dir: &Path) -> bool {
    dir.join(".git").symlink_metadata().is_ok() || is_git_dir(dir)
}

fn is_git_dir(dir: &Path) -> bool {
    let has_files = || dir.join("objects").is_dir() && dir.join("refs").is_dir();
    dir.join("HEAD").symlink_metadata().is_ok() && (has_files() || dir.join("commondir").is_file())
}

/// Where the objects and references of the repository at `top` are.
pub(crate) fn git_dir(top: &Path) -> Option<PathBuf> {
    let pointer = top.join(".git");
    let dir = match pointer.metadata() {
        Ok(metadata) if metadata.is_dir() => pointer,
        Ok(_) => {
            let line = files::read_text(&pointer, POINTER_MAX).ok()??;
            top.join(line.strip_prefix("gitdir:")?.trim())
        }
        Err(_) => top.to_owned(),
    };
    is_git_dir(&dir).then_some(dir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::Bed;

    #[test]
    fn the_nearest_repository_is_found_also_one_of_plain_files() {
        let bed = Bed::new();
        let repository = |path: &str| Top::Repository(bed.path(path));
        assert_eq!(Top::of(&bed.path("work")), Top::Folder(bed.path("work")));
        bed.dir("work/.git");
        bed.dir("work/a/b");
        for name in ["bare/objects", "bare/refs", "bare/deep", "half/objects", "half/deep", "linked/deep"] {
            bed.dir(&format!("work/{name}"));
        }
        bed.file("work/bare/HEAD", "ref: refs/heads/main\n");
        bed.file("work/half/HEAD", "ref: refs/heads/main\n");
        bed.file("work/linked/HEAD", "ref: refs/heads/main\n");
        bed.file("work/linked/commondir", "../.git\n");
        bed.file("work/module/.git", "gitdir: ../.git/modules/module\n");
        bed.link(Path::new("/nowhere"), "work/odd/.git");
        for (folder, top) in [
            ("work/a/b", "work"),
            ("work/bare", "work/bare"),
            ("work/bare/deep", "work/bare"),
            ("work/half/deep", "work"),
            ("work/linked/deep", "work/linked"),
            ("work/module", "work/module"),
            ("work/odd", "work/odd"),
        ] {
            assert_eq!(Top::of(&bed.path(folder)), repository(top), "{folder}");
        }
    }
}
