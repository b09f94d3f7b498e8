//! The Landlock ruleset: which files may be read and written, and that nothing outside can be
//! signalled or spoken to by name.
//!
//! Landlock only ever grants, and a grant covers everything below. So a tree with something hidden in
//! it is granted entry by entry, and what must stay unchanged below a writable folder is not held here
//! but by mounts.

use crate::rules::Rules;
use crate::sys::{self, RulesetAttr};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const MAKE_CHAR: u64 = 1 << 6;
const MAKE_BLOCK: u64 = 1 << 11;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;
const FIRST_ABI: u64 = (1 << 13) - 1;

const SCOPE_ABSTRACT_SOCKETS: u64 = 1;
const SCOPE_SIGNALS: u64 = 1 << 1;

/// Rights that make sense on a file; the kernel refuses others there.
const ON_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;

/// Devices without memory or side effects, and terminals.
const DEVICES: [&str; 8] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts"];

/// Entries granted one by one. A home folder has some hundreds; a folder with more than this is not
/// searched through before every command.
const ENTRIES_MAX: usize = 16 * 1024;

/// The first interface that knows about emptying files, and about signals.
pub(crate) const ABI_TRUNCATE: u32 = 3;
pub(crate) const ABI_SCOPES: u32 = 6;

fn handled(abi: u32) -> u64 {
    let mut handled = FIRST_ABI;
    for (since, right) in [(2, REFER), (ABI_TRUNCATE, TRUNCATE), (5, IOCTL_DEV)] {
        if abi >= since {
            handled |= right;
        }
    }
    handled
}

/// What to grant where, for reading.
#[derive(Debug, PartialEq, Eq)]
struct Grants {
    paths: Vec<PathBuf>,
    left: usize,
}

impl Grants {
    /// Grants `folder` as a whole if nothing hidden is below it, else its entries.
    fn cover(&mut self, folder: &Path, hidden: &[PathBuf]) -> io::Result<()> {
        if hidden.iter().any(|path| folder.starts_with(path)) {
            return Ok(());
        }
        if !hidden.iter().any(|path| path.starts_with(folder)) {
            self.paths.push(folder.to_owned());
            return Ok(());
        }
        // What we cannot list the command cannot either.
        let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
        for entry in entries.filter_map(Result::ok) {
            self.left = self.left.checked_sub(1).ok_or_else(|| too_many(folder))?;
            self.cover(&entry.path(), hidden)?;
        }
        Ok(())
    }
}

fn too_many(folder: &Path) -> io::Error {
    io::Error::other(format!("{} and the folders around it have more than {ENTRIES_MAX} entries", folder.display()))
}

/// A ruleset for one command; `also` are single files it writes for us. In a namespace of processes (`apart`) there is
/// nobody else to signal, and commands of the same box may end each other's servers.
pub(crate) fn ruleset(rules: &Rules, also: &[PathBuf], abi: u32, apart: bool) -> io::Result<OwnedFd> {
    let handled = handled(abi);
    let signals = if apart { 0 } else { SCOPE_SIGNALS };
    let scoped = if abi >= ABI_SCOPES { SCOPE_ABSTRACT_SOCKETS | signals } else { 0 };
    let scoped = if rules.unix_sockets { scoped & !SCOPE_ABSTRACT_SOCKETS } else { scoped };
    let attr = RulesetAttr { fs: handled, net: 0, scoped };
    let size = if abi >= ABI_SCOPES { size_of::<RulesetAttr>() } else { size_of::<u64>() };
    let ruleset = owned(sys::landlock_create(&attr, size)?);
    let ruleset = Ruleset { fd: ruleset, handled };

    let mut grants = Grants { paths: Vec::new(), left: ENTRIES_MAX };
    grants.cover(Path::new("/"), &rules.hidden)?;
    for seen in &rules.seen {
        let inner: Vec<PathBuf> = rules.hidden.iter().filter(|path| path.starts_with(seen)).cloned().collect();
        grants.cover(seen, &inner)?;
    }
    ruleset.allow(Path::new("/"), READ_DIR)?;
    for path in grants.paths.iter().chain(&rules.shown) {
        ruleset.allow(path, EXECUTE | READ_FILE | READ_DIR)?;
    }
    for path in rules.write.iter().chain(also) {
        ruleset.allow(path, handled & !(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV))?;
    }
    for device in DEVICES {
        ruleset.allow(Path::new(device), READ_FILE | WRITE_FILE | READ_DIR | TRUNCATE | IOCTL_DEV)?;
    }
    Ok(ruleset.fd)
}

/// In the child: grants reading of the `/proc` that was just mounted. The ruleset was made when another one was there.
pub(crate) fn allow_proc(ruleset: RawFd) -> io::Result<()> {
    let proc = sys::open_place(c"/proc")?;
    sys::landlock_allow(ruleset, proc, EXECUTE | READ_FILE | READ_DIR)
}

struct Ruleset {
    fd: OwnedFd,
    handled: u64,
}

impl Ruleset {
    /// A path that is not there grants nothing, which is what it should.
    fn allow(&self, path: &Path, rights: u64) -> io::Result<()> {
        let flags = libc::O_PATH | libc::O_CLOEXEC | libc::O_NOFOLLOW;
        let Ok(file) = File::options().read(true).custom_flags(flags).open(path) else { return Ok(()) };
        let kind = file.metadata()?.file_type();
        if kind.is_symlink() {
            // What it leads to is judged by where that is.
            return Ok(());
        }
        let rights = rights & self.handled & if kind.is_dir() { u64::MAX } else { ON_FILES };
        sys::landlock_allow(self.fd.as_raw_fd(), file.as_raw_fd(), rights)
    }
}

#[expect(unsafe_code, reason = "the kernel's number becomes an owned descriptor")]
fn owned(fd: RawFd) -> OwnedFd {
    // SAFETY: the kernel has just returned it to us, and nobody else knows it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beside_a_hidden_path_is_granted_and_nothing_more() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["home/.ssh/keys", "home/work", "home/.config/gh", "home/.config/app", "other"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let at = |path: &str| root.path().join(path);
        let hidden = [at("home/.ssh"), at("home/.config/gh"), at("home/.aws")];
        let mut grants = Grants { paths: Vec::new(), left: 100 };
        grants.cover(root.path(), &hidden).unwrap();
        grants.paths.sort();
        assert_eq!(grants.paths, [at("home/.config/app"), at("home/work"), at("other")]);
    }

    #[test]
    fn a_search_without_end_is_an_error_and_not_a_grant() {
        let root = tempfile::tempdir().unwrap();
        for name in 0..10 {
            std::fs::write(root.path().join(name.to_string()), "").unwrap();
        }
        let mut grants = Grants { paths: Vec::new(), left: 5 };
        assert!(grants.cover(root.path(), &[root.path().join("x")]).is_err());
    }

    #[test]
    fn later_interfaces_know_more_rights() {
        assert_eq!(handled(1), 0x1fff);
        assert_eq!(handled(7), 0xffff);
        assert_eq!(handled(4), 0x7fff);
    }
}
