//! A box's own temporary folders: what a command sees at `/tmp` is a folder that no other program has.
//!
//! They lie below the machine's own temporary folders, in one that only we can look into, and go when the box goes.
//! Those of a process that was killed are removed by the next box. Deliberately absent: the mounts that put them in place.

use crate::rules::{OwnTemp, Rules};
use process::table;
use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Boxes of killed processes that one start looks at.
const OLD_MAX: usize = 256;

/// As everybody's temporary folder: programs that change their user want to write there, too.
const MODE: u32 = 0o1777;

static COUNT: AtomicU32 = AtomicU32::new(0);

/// The folders of one box; dropping it removes them with what is in them.
#[derive(Debug, Default)]
pub(crate) struct Temporary(Vec<PathBuf>);

impl Temporary {
    /// Makes one for each temporary folder of the rules, and says so in them.
    pub(crate) fn make(rules: &mut Rules) -> Self {
        let mut made = Self::default();
        for at in std::mem::take(&mut rules.temp) {
            rules.write.retain(|path| *path != at);
            // Where we cannot make a folder, the box cannot write either.
            let Ok(folder) = fresh(&at) else { continue };
            made.0.push(folder.clone());
            rules.write.push(folder.clone());
            rules.own_temp.push(OwnTemp { at, folder });
        }
        rules.write.sort();
        made
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        for folder in &self.0 {
            // What cannot be removed now is removed by the next box.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

fn fresh(at: &Path) -> io::Result<PathBuf> {
    let all = at.join(format!("ralph-boxes-{}", rustix::process::geteuid().as_raw()));
    match DirBuilder::new().mode(0o700).create(&all) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let data = all.symlink_metadata()?;
    let is_private = data.permissions().mode() & 0o777 == 0o700;
    let is_ours = data.is_dir() && data.uid() == rustix::process::geteuid().as_raw() && is_private;
    if !is_ours {
        return Err(io::Error::other(format!("{} belongs to somebody else; remove it", all.display())));
    }
    remove_old(&all);
    let me = table::row(rustix::process::getpid().as_raw_nonzero().get());
    let (pid, started) = me.map_or((0, 0), |row| (row.pid, row.started));
    let folder = all.join(format!("{pid}-{started}-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
    std::fs::create_dir(&folder)?;
    std::fs::set_permissions(&folder, Permissions::from_mode(MODE))?;
    Ok(folder)
}

fn remove_old(all: &Path) {
    for entry in std::fs::read_dir(all).into_iter().flatten().filter_map(Result::ok).take(OLD_MAX) {
        if entry.file_name().to_str().and_then(owner).is_some_and(|(pid, started)| !is_alive(pid, started)) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Whose folder this is, by its name.
fn owner(name: &str) -> Option<(i32, u64)> {
    let mut parts = name.split('-');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn is_alive(pid: i32, started: u64) -> bool {
    table::row(pid).is_some_and(|row| row.started == started && !row.zombie)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_with_its_box_and_so_do_those_of_the_dead() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path().to_owned();
        let mut rules = Rules { temp: vec![at.clone()], write: vec![at.clone()], ..Rules::default() };
        let made = Temporary::make(&mut rules);
        let own = rules.own_temp[0].folder.clone();
        assert_eq!(rules.write, std::slice::from_ref(&own));
        assert!(own.starts_with(&at) && own.is_dir());
        std::fs::write(own.join("x"), "").unwrap();
        let dead = own.parent().unwrap().join("999999999-1-0");
        std::fs::create_dir(&dead).unwrap();
        let mut other = Rules { temp: vec![at.clone()], ..Rules::default() };
        let second = Temporary::make(&mut other);
        assert!(own.is_dir() && !dead.exists());
        drop((made, second));
        assert!(!own.exists());
    }

    #[test]
    fn a_folder_that_somebody_else_prepared_is_not_used() {
        let root = tempfile::tempdir().unwrap();
        let name = format!("ralph-boxes-{}", rustix::process::geteuid().as_raw());
        std::fs::create_dir(root.path().join("theirs")).unwrap();
        std::os::unix::fs::symlink("theirs", root.path().join(name)).unwrap();
        assert!(fresh(root.path()).is_err());
    }
}
