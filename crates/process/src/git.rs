//! Calls of git that obey no configuration: neither a repository's nor a person's configuration can start a program.
//!
//! Repositories are data that somebody else wrote. git is called by its full path, with arguments and never a
//! shell, in an environment of its own; configuration that could start a program is pinned to nothing.
//! Deliberately absent: credentials. A repository that needs them is fetched by its owner.

use crate::capture::{CaptureLimits, capture, capture_inside};
use crate::confine::Confine;
use crate::detached::start_detached;
use crate::spec::{Env, Output, SpawnError, Spec, Stdin};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Answers of git that we read are lists of names; more is a repository gone wild.
const OUTPUT_MAX: usize = 4 * 1024 * 1024;
/// Between asking git to end and killing it.
const GRACE: Duration = Duration::from_millis(500);
/// Of git's complaint: it ends in one line.
const COMPLAINT_MAX: usize = 500;

/// Configuration that could run something, or look elsewhere, set to nothing.
const PINS: [(&str, &str); 17] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.attributesFile", "/dev/null"),
    ("core.quotePath", "false"),
    ("core.askPass", ""),
    ("credential.helper", ""),
    ("diff.external", ""),
    ("gpg.program", "false"),
    ("log.showSignature", "false"),
    ("commit.gpgSign", "false"),
    ("init.templateDir", ""),
    ("protocol.ext.allow", "never"),
    ("safe.bareRepository", "explicit"),
    ("submodule.recurse", "false"),
    // A commit may start a collection, which asks a program of the repository's what to keep.
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
];

/// Variables of ours that git may see.
const KEPT: [&str; 12] = [
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "TZ",
    "SSH_AUTH_SOCK",
    "http_proxy",
    "https_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
];

/// Why git gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error(transparent)]
    Start(#[from] SpawnError),
    #[error("git did not finish within {0} s")]
    Late(u64),
    /// In git's own words.
    #[error("{0}")]
    Refused(String),
}

/// A git that was found on the search path.
#[derive(Debug, Clone)]
pub struct Git {
    program: PathBuf,
    env: Env,
    /// More pins, for one repository.
    pins: Vec<(String, String)>,
    /// Where it runs, for repositories that somebody else may have written.
    sandbox: Option<Arc<dyn Confine>>,
}

impl Git {
    /// `None` where there is none. Entries of the search path that depend on the working folder do not count.
    pub fn find(env: &Env) -> Option<Self> {
        let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str())?;
        let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
        let program = folders.map(|folder| folder.join("git")).find(|program| program.is_file())?;
        let kept = env.iter().filter(|(name, _)| KEPT.iter().any(|known| name == known)).cloned();
        let mut env: Env = kept.collect();
        for (name, value) in [
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
            ("GIT_LFS_SKIP_SMUDGE", "1"),
        ] {
            env.push((name.into(), value.into()));
        }
        Some(Self { program, env, pins: Vec::new(), sandbox: None })
    }

    /// For a repository that is there already: filters run on content as files are checked out, and their names
    /// are the repository's to choose, so each is emptied by name. To be done anew after anyone has worked there.
    pub async fn without_filters(mut self, folder: &Path, deadline: Duration) -> Self {
        self.pins.clear();
        if has_plain_config(folder) {
            return self;
        }
        let listing = ["config", "--includes", "--name-only", "-z", "--get-regexp", r"^(filter|diff|merge|hook)\."];
        let listed = self.run(folder, &listing.map(OsStr::new), deadline).await.unwrap_or_default();
        for name in listed.split('\0').filter(|name| !name.is_empty()) {
            match name.rsplit('.').next().unwrap_or_default() {
                "clean" | "smudge" | "process" | "textconv" | "command" | "driver" => {
                    self.pins.push((name.to_owned(), String::new()));
                }
                "required" => self.pins.push((name.to_owned(), "false".to_owned())),
                _ => {}
            }
            if let Some((hook, _)) = name.rsplit_once('.').filter(|_| name.starts_with("hook.")) {
                self.pins.push((format!("{hook}.enabled"), "false".to_owned()));
            }
        }
        self
    }

    /// The same in a sandbox: whatever a repository makes git run, runs there.
    #[must_use]
    pub fn inside(mut self, sandbox: Arc<dyn Confine>) -> Self {
        self.sandbox = Some(sandbox);
        self
    }

    /// The same, with a name for the commits it makes.
    #[must_use]
    pub fn signing_as(mut self, name: &str) -> Self {
        let address = format!("{name}@localhost");
        for (variable, value) in [
            ("GIT_AUTHOR_NAME", name),
            ("GIT_AUTHOR_EMAIL", &address),
            ("GIT_COMMITTER_NAME", name),
            ("GIT_COMMITTER_EMAIL", &address),
        ] {
            self.env.push((variable.into(), value.into()));
        }
        self
    }

    /// The same, with its objects in another repository's folder of objects: what it writes is there.
    #[must_use]
    pub fn with_objects(mut self, objects: &Path) -> Self {
        self.env.push(("GIT_OBJECT_DIRECTORY".into(), objects.into()));
        self
    }

    /// The same, with the name and address that the person or the repository has set for commits. Where none are set
    /// the name given by [`Self::signing_as`] stays. Reading two settings starts nothing.
    pub async fn with_identity(mut self, folder: &Path, deadline: Duration) -> Self {
        let hidden = ["GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL"];
        let env = self.env.iter().filter(|(name, _)| hidden.iter().all(|other| name != other)).cloned().collect();
        let open = Self { env, ..self.clone() };
        let keys = r"^user\.(name|email)$";
        let listing = ["config", "--includes", "-z", "--get-regexp", keys];
        let listed = open.run(folder, &listing.map(OsStr::new), deadline).await.unwrap_or_default();
        let mut set = Vec::new();
        for (key, variables) in [
            ("user.name", ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"]),
            ("user.email", ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"]),
        ] {
            // The last one counts.
            let mut entries = listed.split('\0').filter_map(|entry| entry.split_once('\n'));
            let value = entries.rfind(|(name, _)| *name == key).map_or("", |(_, value)| value.trim());
            if value.is_empty() {
                return self;
            }
            set.extend(variables.map(|variable| (variable, value.to_owned())));
        }
        for (variable, value) in set {
            self.env.retain(|(name, _)| name != variable);
            self.env.push((variable.into(), value.into()));
        }
        self
    }

    /// What git says on stdout, or why it failed.
    pub async fn run(&self, folder: &Path, args: &[&OsStr], deadline: Duration) -> Result<String, GitError> {
        self.run_with(folder, args, Stdin::Null, deadline).await
    }

    /// The same, with something on stdin.
    pub async fn run_with(
        &self,
        folder: &Path,
        args: &[&OsStr],
        stdin: Stdin,
        deadline: Duration,
    ) -> Result<String, GitError> {
        let spec = self.spec(folder, args, stdin, Output::Pipes);
        let limits = CaptureLimits { deadline, max_output: OUTPUT_MAX, grace: GRACE };
        let done = match &self.sandbox {
            Some(sandbox) => capture_inside(spec, limits, sandbox.as_ref()).await,
            None => capture(spec, limits).await,
        };
        let done = done?;
        if done.timed_out {
            return Err(GitError::Late(deadline.as_secs()));
        }
        if !done.exit.success() {
            return Err(GitError::Refused(complaint(&done.stderr)));
        }
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    }

    /// A command that changes somebody's repository and says nothing: it comes to its end even if we are killed meanwhile.
    /// A git that is killed leaves its lock behind, and after that nobody can change that branch or that tree any more.
    /// Not in a sandbox, which ends with us.
    pub async fn run_to_its_end(&self, folder: &Path, args: &[&OsStr], deadline: Duration) -> Result<(), GitError> {
        let unopened = |cause| SpawnError::new(self.program.clone().into_os_string(), folder.to_owned(), cause);
        // A file: on a pipe that nobody reads any more, a complaint would end it.
        let mut said = complaint_file().map_err(unopened)?;
        let output = Output::Merged(said.try_clone().map_err(unopened)?);
        let mut running = start_detached(self.spec(folder, args, Stdin::Null, output))?;
        let Some(exit) = running.wait(deadline).await else {
            running.kill();
            return Err(GitError::Late(deadline.as_secs()));
        };
        if exit.success() {
            return Ok(());
        }
        let mut text = Vec::new();
        let _ = said.rewind().and_then(|()| said.take(OUTPUT_MAX as u64).read_to_end(&mut text));
        Err(GitError::Refused(complaint(&text)))
    }

    fn spec(&self, folder: &Path, args: &[&OsStr], stdin: Stdin, output: Output) -> Spec {
        let words = [OsStr::new("--no-optional-locks"), OsStr::new("--no-pager")];
        Spec {
            program: self.program.clone().into_os_string(),
            args: words.iter().chain(args).map(|word| (*word).to_owned()).collect(),
            cwd: folder.to_owned(),
            env: self.pinned(),
            stdin,
            output,
            arg0: None,
        }
    }

    fn pinned(&self) -> Env {
        let own = PINS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let pins: Vec<(String, String)> = own.chain(self.pins.iter().cloned()).collect();
        let mut env = self.env.clone();
        env.push(("GIT_CONFIG_COUNT".into(), pins.len().to_string().into()));
        for (at, (name, value)) in pins.into_iter().enumerate() {
            env.push((OsString::from(format!("GIT_CONFIG_KEY_{at}")), name.into()));
            env.push((OsString::from(format!("GIT_CONFIG_VALUE_{at}")), value.into()));
        }
        env
    }
}

/// Sections that could name a program, or another file that does. Letters of any case, never escaped.
const RUNNING_SECTIONS: [&str; 5] = ["filter", "diff", "merge", "hook", "include"];
/// Larger configurations are left to git.
const CONFIG_MAX: u64 = 64 * 1024;

/// Whether a repository's own configuration cannot name a filter: none of the words is anywhere in it. Seen without starting
/// git, which most repositories that nobody configured are spared so. Whatever looks unusual is git's to read.
fn has_plain_config(folder: &Path) -> bool {
    let git_folder = folder.join(".git");
    // What git takes for no repository is passed over, and the folders above count.
    let head = read_plain(&git_folder.join("HEAD")).is_ok_and(|text| text.starts_with("ref: refs/heads/"));
    let is_folder = |path: &Path| {
        path.symlink_metadata().is_ok_and(|data| data.is_dir())
            && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
    };
    let is_whole = head && ["", "objects", "refs"].iter().all(|name| is_folder(&git_folder.join(name)));
    let is_shared = git_folder.join("commondir").symlink_metadata().is_ok();
    is_whole
        && !is_shared
        && ["config", "config.worktree"].iter().all(|name| match read_plain(&git_folder.join(name)) {
            Ok(text) => RUNNING_SECTIONS.iter().all(|word| !text.contains(word)),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        })
}

/// A file's text in small letters. An agent may have put a link or a pipe there.
fn read_plain(path: &Path) -> io::Result<String> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let data = file.metadata()?;
    if !data.is_file() || data.len() > CONFIG_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = Vec::new();
    file.take(CONFIG_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).to_ascii_lowercase())
}

/// The line that says why: git's advice, where it gives some, comes after it.
fn complaint(stderr: &[u8]) -> String {
    let said = String::from_utf8_lossy(stderr);
    let lines = || said.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let why =
        lines().find(|line| line.starts_with("fatal: ") || line.starts_with("error: ")).or_else(|| lines().next());
    why.unwrap_or("git gave no reason").chars().filter(|c| !c.is_control()).take(COMPLAINT_MAX).collect()
}

#[cfg(target_os = "linux")]
fn complaint_file() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    Ok(File::from(memfd_create("complaint", MemfdFlags::CLOEXEC)?))
}

/// Where files cannot be had in memory, its reason stays unknown.
#[cfg(not(target_os = "linux"))]
fn complaint_file() -> io::Result<File> {
    File::options().read(true).write(true).open("/dev/null")
}

#[cfg(test)]
mod tests {
    use super::{complaint, has_plain_config};
    use std::path::Path;

    type Change = fn(&Path);

    #[test]
    fn only_a_whole_repository_without_a_word_of_programs_is_plain() {
        let write = |path: &Path, text: &str| std::fs::write(path, text).unwrap();
        let changes: [(&str, bool, Change); 9] = [
            ("as it is", true, |_| {}),
            ("a filter", false, |at| std::fs::write(at.join("config"), "[FILTER \"x\"]\n\tclean = rm\n").unwrap()),
            ("another file", false, |at| std::fs::write(at.join("config"), "[include]\n\tpath = x\n").unwrap()),
            ("of a worktree", false, |at| std::fs::write(at.join("config.worktree"), "[filter \"x\"]\n").unwrap()),
            ("shared", false, |at| std::fs::write(at.join("commondir"), "..").unwrap()),
            ("no objects", false, |at| std::fs::remove_dir(at.join("objects")).unwrap()),
            ("no head", false, |at| std::fs::write(at.join("HEAD"), "?").unwrap()),
            ("a link", false, |at| {
                std::fs::rename(at.join("config"), at.join("other")).unwrap();
                std::os::unix::fs::symlink("other", at.join("config")).unwrap();
            }),
            ("a pipe", false, |at| {
                std::fs::remove_file(at.join("config")).unwrap();
                let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
                rustix::fs::mknodat(rustix::fs::CWD, at.join("config"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
            }),
        ];
        for (what, is_plain, change) in changes {
            let folder = tempfile::tempdir().unwrap();
            let at = folder.path().join(".git");
            for name in ["objects", "refs"] {
                std::fs::create_dir_all(at.join(name)).unwrap();
            }
            write(&at.join("HEAD"), "ref: refs/heads/main\n");
            write(&at.join("config"), "[core]\n\tbare = false\n");
            change(&at);
            assert_eq!(has_plain_config(folder.path()), is_plain, "{what}");
        }
        let nothing = tempfile::tempdir().unwrap();
        assert!(!has_plain_config(nothing.path()), "the folders above count");
    }

    #[test]
    fn advice_after_a_reason_is_not_the_reason() {
        let lock =
            "fatal: cannot lock ref 'refs/heads/main': Unable to create '/r/.git/refs/heads/main.lock': File exists.";
        let advice = "\n\nAnother git process seems to be running.\nremove the file manually to continue.\n";
        for (said, why) in [
            (format!("{lock}{advice}"), lock),
            ("warning: a\n  ! [rejected] x\n".to_owned(), "! [rejected] x"),
            ("error: one\nerror: two\n".to_owned(), "error: two"),
            (String::new(), "git gave no reason"),
        ] {
            assert_eq!(complaint(said.as_bytes()), why);
        }
    }
}
