//! The identity and state of a file: enough to notice that another program wrote it since.

use rustix::fs::Stat;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub dev: u64,
    pub ino: u64,
    pub size: u64,
    /// Seconds and nanoseconds.
    pub modified: (i64, u64),
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl Stamp {
    pub fn of(meta: &Metadata) -> Self {
        Self {
            dev: meta.dev(),
            ino: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec() as u64),
            mode: meta.mode(),
            uid: meta.uid(),
            gid: meta.gid(),
        }
    }

    /// Field widths differ between systems, so each is brought to ours.
    #[expect(clippy::unnecessary_cast, reason = "the casts are needed on other systems than this one")]
    pub(crate) fn of_stat(stat: &Stat) -> Self {
        Self {
            dev: stat.st_dev as u64,
            ino: stat.st_ino as u64,
            size: stat.st_size as u64,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as u64),
            mode: stat.st_mode as u32,
            uid: stat.st_uid as u32,
            gid: stat.st_gid as u32,
        }
    }

    /// The same file with the same content, as far as the file system tells.
    pub fn same_state(&self, other: &Self) -> bool {
        self.dev == other.dev && self.ino == other.ino && self.size == other.size && self.modified == other.modified
    }
}
