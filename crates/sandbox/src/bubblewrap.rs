//! The box by bubblewrap: for systems that let it make namespaces and do not let us (Ubuntu's AppArmor
//! rules, a bubblewrap that is set-user-id).
//!
//! It mounts what `mounts` would, hides other processes by a process namespace, and applies our seccomp
//! program. Landlock is not possible then: it forbids mounting to whoever it holds. Deliberately absent:
//! lists of hosts, which need a socket inside; they become no network.

use crate::mounts::{attachments, between, existing};
use crate::rules::{Network, Rules};
use crate::run_sockets;
use process::Spec;
use process::tree;
use rustix::fs::{MemfdFlags, memfd_create};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// By their full names: the search path is no place to look for what holds us.
const PLACES: [&str; 3] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

/// It starts `true`; a machine that needs longer has stopped.
const TRIAL: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);

/// What root keeps, as `linux` has it.
const ROOT_KEEPS: [&str; 6] = ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_SETGID", "CAP_SETUID"];

#[derive(Debug)]
pub(crate) struct Bubblewrap {
    program: PathBuf,
}

impl Bubblewrap {
    /// Installed, and able to do here what it is for.
    pub(crate) fn find() -> Option<Self> {
        let program = PLACES.iter().map(PathBuf::from).find(|path| path.is_file())?;
        works(&program).then_some(Self { program })
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }
}

fn base() -> [&'static str; 12] {
    [
        "--ro-bind",
        "/",
        "/",
        "--dev-bind",
        "/dev",
        "/dev",
        "--unshare-pid",
        "--unshare-ipc",
        "--proc",
        "/proc",
        "--die-with-parent",
        "--cap-drop",
    ]
}

fn works(program: &Path) -> bool {
    #[expect(clippy::disallowed_methods, reason = "a trial run that is over before anything else is started")]
    let mut command = Command::new(program);
    command.args(base()).args(["ALL", "/bin/true"]).env_clear();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Nobody else may collect it.
    let _owned = tree::owned();
    let Ok(mut child) = command.spawn() else { return false };
    let patience = Instant::now() + TRIAL;
    while Instant::now() < patience {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(LOOK),
            Ok(Some(status)) => return status.success(),
            Err(_) => return false,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    false
}

/// The whole command line before the program: later words mount over earlier ones.
pub(crate) fn arguments(
    rules: &Rules,
    also: &[PathBuf],
    spec: &Spec,
    is_root: bool,
    filter: i32,
) -> io::Result<Vec<OsString>> {
    let mut words: Vec<OsString> = base().map(OsString::from).to_vec();
    words.push("ALL".into());
    if is_root {
        words.extend(ROOT_KEEPS.iter().flat_map(|name| ["--cap-add".into(), OsString::from(*name)]));
    }
    let mut mount = |how: &str, from: &Path, to: &Path| words.extend([how.into(), from.into(), to.into()]);
    let here = existing(rules);
    for item in attachments(rules, &here.trees, also, spec)? {
        mount(if item.read_only { "--ro-bind" } else { "--bind" }, &item.from, &item.to);
    }
    let guarded: Vec<&Path> = here.protected.iter().chain(&here.hidden).map(PathBuf::as_path).collect();
    for pin in between(&here.trees, &guarded) {
        mount("--bind", &pin, &pin);
    }
    for path in &here.protected {
        mount("--ro-bind", path, path);
    }
    for folder in &here.checkouts {
        mount("--bind", folder, folder);
    }
    for pin in here.fleeting_pins() {
        mount("--bind-try", &pin, &pin);
    }
    for path in &here.fleeting {
        mount("--ro-bind-try", path, path);
    }
    let sockets = run_sockets::find(rules);
    let (folders, files): (Vec<_>, Vec<_>) =
        rules.hidden.iter().chain(&sockets).filter(|path| path.exists()).partition(|path| path.is_dir());
    for path in files {
        mount("--ro-bind", Path::new("/dev/null"), path);
    }
    for folder in &folders {
        words.extend(["--tmpfs".into(), folder.into()]);
    }
    let mut mount = |how: &str, path: &Path| words.extend([how.into(), path.into(), path.into()]);
    for path in rules.shown.iter().filter(|path| path.exists()) {
        mount("--ro-bind", path);
    }
    for path in also.iter().filter(|path| path.exists()) {
        mount("--bind", path);
    }
    for folder in folders {
        words.extend(["--remount-ro".into(), folder.into()]);
    }
    if rules.network != Network::Open {
        words.push("--unshare-net".into());
    }
    words.extend([
        "--seccomp".into(),
        filter.to_string().into(),
        "--chdir".into(),
        spec.cwd.clone().into(),
        "--".into(),
    ]);
    Ok(words)
}

/// A seccomp program as the file that bubblewrap reads.
pub(crate) fn filter_file(program: &[libc::sock_filter]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("filter", MemfdFlags::CLOEXEC)?);
    for step in program {
        file.write_all(&step.code.to_ne_bytes())?;
        file.write_all(&[step.jt, step.jf])?;
        file.write_all(&step.k.to_ne_bytes())?;
    }
    file.rewind()?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_mounts_narrow_earlier_ones() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        for folder in ["w/.git/hooks", "h/.ssh"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        std::fs::write(at("h/.netrc"), "").unwrap();
        let rules = Rules {
            write: vec![at("w")],
            protected: vec![at("w/.git/hooks"), at("w/.gone")],
            hidden: vec![at("h/.ssh"), at("h/.netrc"), at("h/.aws")],
            network: Network::Off,
            ..Rules::default()
        };
        let words = arguments(&rules, &[], &crate::testing::spec("/bin/true", &at("w")), false, 9).unwrap();
        let text = words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let text = text.replace(&root.path().display().to_string(), "");
        let expected = "--bind /w /w --bind /w/.git /w/.git --ro-bind /w/.git/hooks /w/.git/hooks \
                        --ro-bind /dev/null /h/.netrc --tmpfs /h/.ssh --remount-ro /h/.ssh --unshare-net --seccomp 9 \
                        --chdir /w --";
        assert!(text.ends_with(expected), "{text}");
    }
}
