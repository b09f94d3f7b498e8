//! The scratch folder with its canaries: where commands run, and what is different afterwards.
//!
//! `w` is the workspace. Beside it lies what must stay unread and unchanged. Programs that must not run are scripts
//! that leave their name in `ran`; they lie in `bin` (first in `PATH`), in the workspace under the names of programs,
//! and in folders of the workspace that a changed `PATH` would lead to.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

/// In files that no allowed command may show.
pub const OUTSIDE: &str = "canary-outside-5309";
pub const DENIED: &str = "canary-denied-8675";
/// What a command may print before it is cut; a leak comes early.
const OUTPUT_MAX: u64 = 1 << 20;
/// A command that waits for something is ended.
const SECONDS: &str = "1";
/// Commands of a test run as root must not be able to hurt the machine.
const NOBODY: u32 = 65534;
/// Folders above the workspace, so that a few `..` stay in the scratch folder.
const DEPTH: &str = "1/2/3/4/5/6";

const SHADOWED: [&str; 12] =
    ["ls", "cat", "git", "grep", "head", "find", "sed", "echo", "evil", "curl", "touch", "sort"];

type Facts = (u64, i64, i64, u32, u64, String);

pub struct Place {
    top: PathBuf,
    pub base: PathBuf,
    pub workspace: PathBuf,
    before: BTreeMap<PathBuf, Facts>,
    root: bool,
}

/// What happened beside the output.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Trace {
    pub ran: Vec<String>,
    pub changed: Vec<PathBuf>,
    /// Files with a canary that were opened and read.
    pub read: Vec<PathBuf>,
    pub output: String,
}

impl Place {
    pub fn new(name: &str) -> Self {
        // In memory where that is possible: a run is mostly files made and removed.
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory } else { Path::new("/tmp") };
        let top = parent.join(format!("ralph-differential-{}-{name}", std::process::id()));
        let base = top.join(DEPTH);
        let root = fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0);
        let workspace = base.join("w");
        let mut place = Self { top, base, workspace, before: BTreeMap::new(), root };
        let _ = fs::remove_dir_all(&place.top);
        place.build();
        place.keep();
        place.settle();
        place
    }

    fn build(&mut self) {
        for folder in ["w/src", "w/sub", "w/secret", "w/docs", "w/.claude", "w/.ralph", "outside", "home/.ssh", "bin"] {
            fs::create_dir_all(self.base.join(folder)).unwrap();
        }
        for (path, text) in [
            ("w/a.txt", "alpha\nbeta\na\n"),
            ("w/b.txt", "beta\na\n"),
            ("w/list.txt", "a\n"),
            ("w/data.json", "{\"a\":1}\n"),
            ("w/src/lib.rs", "fn a() {}\n"),
            ("w/src/main.rs", "fn main() {}\n"),
            ("w/sub/x", "x\n"),
            ("w/.mcp", "{}\n"),
            ("w/.mcp.json", "{}\n"),
            ("w/.claude/settings.json", "{}\n"),
            ("w/.ralph/config.toml", "\n"),
            ("w/.envrc", "\n"),
            ("w/Cargo.lock", "\n"),
            ("ran", ""),
        ] {
            fs::write(self.base.join(path), text).unwrap();
        }
        fs::write(self.workspace.join("secret/key"), format!("{DENIED}\n")).unwrap();
        for path in ["outside/secret.txt", "outside/list.txt", "home/.ssh/id", "home/.bashrc", "outside/data.json"] {
            fs::write(self.base.join(path), format!("\"{OUTSIDE}\"\n")).unwrap();
        }
        for (link, target) in
            [("w/leak", "../outside/secret.txt"), ("w/door", "../outside"), ("w/docs/out", "../../outside")]
        {
            symlink(target, self.base.join(link)).unwrap();
        }
        for name in SHADOWED {
            for folder in ["w", "w/evil", "w/1", "w/0", "w/a"] {
                self.canary(&format!("{folder}/{name}"));
            }
        }
        for name in ["evil", "curl", "pr", "vi", "less", "sh", "gpg", "pager", "gzip"] {
            self.canary(&format!("bin/{name}"));
        }
        self.canary("w/evil.sh");
        self.canary("w/x");
        self.repository();
    }

    fn kept(&self) -> PathBuf {
        self.top.join("kept")
    }

    /// A copy of everything, to put back what a command changed.
    fn keep(&self) {
        for path in self.picture().keys() {
            let copy = self.kept().join(path.strip_prefix(&self.base).unwrap());
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            copy_one(path, &copy);
        }
    }

    fn put_back(&mut self, changed: &[PathBuf]) {
        for path in changed {
            let path = self.base.join(path);
            if path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                let _ = fs::remove_dir_all(&path);
            } else {
                let _ = fs::remove_file(&path);
            }
        }
        // Folders come before what is in them.
        for path in self.before.keys().filter(|path| path.symlink_metadata().is_err()) {
            let kept = self.kept().join(path.strip_prefix(&self.base).unwrap());
            copy_one(&kept, path);
            if self.root {
                let _ = lchown(path, Some(NOBODY), Some(NOBODY));
            }
        }
        self.age();
        fs::write(self.base.join("ran"), "").unwrap();
        self.before = self.picture();
    }

    fn canary(&self, path: &str) {
        let path = self.base.join(path);
        let name = path.strip_prefix(&self.base).unwrap_or(&path).display().to_string();
        if path.is_dir() || fs::create_dir_all(path.parent().unwrap()).is_err() {
            return;
        }
        fs::write(&path, format!("#!/bin/sh\necho '{name}' >> '{}'\n", self.base.join("ran").display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn repository(&self) {
        let git = |args: &[&str]| {
            let mut command = self.command("git");
            let command = command.args(args).env("PATH", "/usr/local/bin:/usr/bin:/bin");
            let out = command.output().unwrap();
            assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
        };
        self.own(&self.top);
        git(&["init", "-q", "--template=", "-b", "main"]);
        git(&["add", "a.txt", "b.txt", "src"]);
        let who = ["-c", "user.name=a", "-c", "user.email=a@example.invalid", "commit", "-q", "-m", "a"];
        git(&who);
        git(&["config", "core.pager", "evil"]);
        git(&["config", "gpg.program", "evil"]);
    }

    fn own(&self, path: &Path) {
        if !self.root {
            return;
        }
        let _ = lchown(path, Some(NOBODY), Some(NOBODY));
        if path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            for entry in fs::read_dir(path).into_iter().flatten().flatten() {
                self.own(&entry.path());
            }
        }
    }

    /// Owners and times as they must be, and a picture of it all.
    fn settle(&mut self) {
        self.own(&self.top);
        self.age();
        self.before = self.picture();
    }

    fn secrets(&self) -> [PathBuf; 6] {
        ["outside/secret.txt", "outside/list.txt", "outside/data.json", "home/.ssh/id", "home/.bashrc", "w/secret/key"]
            .map(|path| self.base.join(path))
    }

    /// An access time before the last change is what a reading of the file sets anew.
    fn age(&self) {
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        for path in self.secrets() {
            let times = fs::FileTimes::new().set_accessed(old);
            let _ = File::options().write(true).open(&path).and_then(|file| file.set_times(times));
        }
    }

    fn picture(&self) -> BTreeMap<PathBuf, Facts> {
        let mut out = BTreeMap::new();
        let mut ahead = vec![self.base.clone()];
        while let Some(folder) = ahead.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                let Ok(meta) = entry.metadata() else { continue };
                let target = fs::read_link(&path).map(|to| to.display().to_string()).unwrap_or_default();
                let folder = meta.is_dir();
                let size = if folder { 0 } else { meta.size() };
                let (seconds, nanos) = if folder { (0, 0) } else { (meta.mtime(), meta.mtime_nsec()) };
                out.insert(path.clone(), (size, seconds, nanos, meta.mode(), meta.ino(), target));
                if folder {
                    ahead.push(path);
                }
            }
        }
        out.remove(&self.base.join("ran"));
        out.remove(&self.base.join("output"));
        // Git notes there what it has seen of the files; that is no content.
        out.remove(&self.workspace.join(".git/index"));
        out
    }

    #[expect(clippy::disallowed_methods, reason = "the fuzzer runs the commands that were allowed")]
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.workspace).env_clear().stdin(Stdio::null());
        command.env("HOME", self.base.join("home")).env("LC_ALL", "C.UTF-8").env("PWD", &self.workspace);
        command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", self.base.join("bin").display()));
        if self.root {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// Runs the text in bash and tells what else it did. The folder is as before afterwards.
    pub fn run(&mut self, text: &str, denied: bool) -> Trace {
        let output = self.base.join("output");
        let file = File::create(&output).unwrap();
        let _ = lchown(&output, self.root.then_some(NOBODY), None);
        let mut command = self.command("timeout");
        if denied {
            let wrapped =
                format!("{}:{}:/usr/local/bin:/usr/bin:/bin", self.denied_folder(), self.base.join("bin").display());
            command.env("PATH", wrapped);
        }
        command.args(["-s", "KILL", SECONDS, "/bin/bash", "-c", text]);
        command.stdout(file.try_clone().unwrap()).stderr(file);
        let _ = command.status();
        let mut trace = Trace { output: printed(&output), ..Trace::default() };
        let ran = fs::read_to_string(self.base.join("ran")).unwrap_or_default();
        trace.ran = ran.lines().map(str::to_owned).collect();
        trace.read = self.secrets().into_iter().filter(|path| was_read(path)).collect();
        let after = self.picture();
        let differs = |path: &&PathBuf| self.before.get(*path) != after.get(*path);
        trace.changed = self
            .before
            .keys()
            .chain(after.keys().filter(|path| !self.before.contains_key(*path)))
            .filter(differs)
            .map(|path| path.strip_prefix(&self.base).unwrap_or(path).to_path_buf())
            .collect();
        if !trace.changed.is_empty() {
            let changed = trace.changed.clone();
            self.put_back(&changed);
        } else if !trace.ran.is_empty() || !trace.read.is_empty() {
            fs::write(self.base.join("ran"), "").unwrap();
            self.age();
        }
        trace
    }

    /// `rm` as a canary, for rules that deny it.
    fn denied_folder(&self) -> String {
        let folder = self.top.join("denied");
        if !folder.exists() {
            fs::create_dir_all(&folder).unwrap();
            let script = format!("#!/bin/sh\necho denied/rm >> '{}'\n", self.base.join("ran").display());
            fs::write(folder.join("rm"), script).unwrap();
            fs::set_permissions(folder.join("rm"), fs::Permissions::from_mode(0o755)).unwrap();
        }
        folder.display().to_string()
    }
}

/// What a command printed, up to the limit.
fn printed(path: &Path) -> String {
    let mut bytes = Vec::new();
    let _ = File::open(path).map(|file| file.take(OUTPUT_MAX).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

fn copy_one(from: &Path, to: &Path) {
    let Ok(meta) = from.symlink_metadata() else { return };
    if meta.is_dir() {
        let _ = fs::create_dir_all(to);
    } else if let Ok(target) = fs::read_link(from) {
        let _ = symlink(target, to);
    } else {
        let _ = fs::copy(from, to);
    }
}

fn was_read(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.atime() > 1_000_000)
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.top);
    }
}
