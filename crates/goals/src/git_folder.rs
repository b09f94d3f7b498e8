//! Git's own folder as we write it, and where clones lie on the disk.

use std::fs::File;
use std::path::Path;

pub(crate) fn config(bare: bool, hash_length: usize) -> String {
    let mut text = format!("[core]\n\tbare = {bare}\n\tfilemode = true\n\tlogallrefupdates = false\n");
    if hash_length == 64 {
        text.push_str("\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n");
    } else {
        text.push_str("\trepositoryformatversion = 0\n");
    }
    text
}

/// What git needs to see a repository in a folder. An empty branch leaves HEAD as it is.
pub(crate) fn write_git_folder(folder: &Path, config: &str, clone: Option<(&Path, &str)>) -> std::io::Result<()> {
    for name in ["objects/info", "objects/pack", "refs/heads", "info"] {
        std::fs::create_dir_all(folder.join(name))?;
    }
    std::fs::write(folder.join("config"), config)?;
    let mut branch = "none";
    if let Some((mirror, on)) = clone {
        std::fs::write(folder.join("objects/info/alternates"), format!("{}\n", mirror.join("objects").display()))?;
        // Our files beside the work are nobody's changes.
        std::fs::write(
            folder.join("info/exclude"),
            "/.ralph/runs/\n/.ralph/attached/\n/.ralph/lock\n/.ralph/day.json\n",
        )?;
        branch = on;
    }
    if branch.is_empty() {
        return Ok(());
    }
    std::fs::write(folder.join("HEAD"), format!("ref: refs/heads/{branch}\n"))
}

/// Tells the file system that folders in this one have nothing to do with each other. ext4 does not use the place of a
/// removed file again for a minute, and steps over each of them to find a free one: beside clones that were just removed,
/// that was a third of the time a goal takes. Elsewhere it has no effect.
pub(crate) fn keep_subfolders_apart(folder: &Path) {
    #[cfg(target_os = "linux")]
    if let Ok(file) = File::open(folder)
        && let Ok(flags) = rustix::fs::ioctl_getflags(&file)
        && !flags.contains(rustix::fs::IFlags::TOPDIR)
    {
        let _ = rustix::fs::ioctl_setflags(&file, flags | rustix::fs::IFlags::TOPDIR);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = folder;
}
