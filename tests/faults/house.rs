//! The home of one run, with a disk of its own where its disk is what fails.
#![expect(clippy::disallowed_methods, reason = "tests make namespaces with the system's own tools")]

use crate::plan::Home;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// The whole of the small disk; what a schedule does not leave free is filled.
const DISK_KIB: u32 = 2048;

pub struct House {
    home: PathBuf,
    kind: Home,
    /// Holds the namespace in which the small disk is mounted.
    keeper: Option<Child>,
}

impl House {
    /// Prepares `home`, an empty folder. Where namespaces are not allowed the small disk is a limit on file
    /// sizes instead, and a read-only home one with a file in the way.
    pub fn new(home: &Path, wanted: Home) -> Self {
        let kind = match wanted {
            Home::Full(left) if !can_mount() => Home::Limited(left * 2),
            Home::ReadOnly if !can_mount() => Home::InTheWay(".claude"),
            kind => kind,
        };
        let keeper = matches!(kind, Home::Full(_) | Home::ReadOnly).then(|| keeper(home, kind));
        if let Home::InTheWay(name) = kind {
            let path = home.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "in the way").unwrap();
        }
        Self { home: home.into(), kind, keeper }
    }

    /// A command for `program` that lives in this house and starts in `folder`.
    pub fn command(&self, program: &Path, folder: &Path) -> Command {
        testkit::reset_ignored_signals();
        let mut command = match (&self.keeper, self.kind) {
            (Some(keeper), _) => {
                let mut command = Command::new("nsenter");
                command.args(["--preserve-credentials", "-U", "-m", "-t", &keeper.id().to_string()]);
                command.arg(format!("--wdns={}", folder.display())).arg(program);
                command
            }
            (None, Home::Limited(blocks)) => {
                let mut command = Command::new("/bin/sh");
                command.args(["-c", &format!("ulimit -f {blocks}; exec \"$0\" \"$@\"")]).arg(program);
                command
            }
            (None, _) => Command::new(program),
        };
        command
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        command
    }

    /// Where its files are seen from outside.
    pub fn seen(&self) -> PathBuf {
        match &self.keeper {
            Some(keeper) => {
                PathBuf::from(format!("/proc/{}/root", keeper.id())).join(self.home.strip_prefix("/").unwrap())
            }
            None => self.home.clone(),
        }
    }

    /// Whether a transcript must be whole: on a disk that takes everything.
    pub fn is_sound(&self) -> bool {
        self.kind == Home::Normal
    }

    /// Somebody made room again.
    pub fn mend(&mut self) {
        match self.kind {
            Home::Full(_) => drop(std::fs::remove_file(self.seen().join("filler"))),
            Home::Limited(_) => self.kind = Home::Normal,
            _ => {}
        }
    }
}

impl Drop for House {
    fn drop(&mut self) {
        if let Some(keeper) = &mut self.keeper {
            // It may have been ended already.
            let _ = keeper.kill();
            let _ = keeper.wait();
        }
    }
}

fn keeper(home: &Path, kind: Home) -> Child {
    let home = home.display();
    let (options, fill) = match kind {
        Home::Full(left) => ("", format!("head -c {}k /dev/zero > {home}/filler", DISK_KIB - left)),
        // From the start: without privileges it cannot be made so later.
        _ => (",ro", "true".into()),
    };
    let mount = format!("mount -t tmpfs -o size={DISK_KIB}k{options} tmpfs {home}");
    let script = format!("{mount} && {fill} && echo ready && exec sleep 600");
    let mut child = Command::new("unshare")
        .args(["-r", "-m", "/bin/sh", "-c", &script])
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    assert_eq!(ready.trim(), "ready", "the small disk could not be made");
    child
}

/// Asked once: containers often forbid it.
fn can_mount() -> bool {
    static ALLOWED: OnceLock<bool> = OnceLock::new();
    *ALLOWED.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let script = format!("mount -t tmpfs -o size=64k tmpfs {}", folder.path().display());
        let mut command = Command::new("unshare");
        command.args(["-r", "-m", "/bin/sh", "-c", &script]).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}
