//! A clone that one attempt, landing or review works in.
//!
//! An agent may have changed everything in it, git's own files too: nothing in here follows a link of the agent's or waits
//! for a pipe.

use crate::error::GoalError;
use crate::git_folder::{config, write_git_folder};
use crate::repository::{LOCAL, is_branch_name, words};
use process::Stdin;
use rustix::fs::OFlags;
use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Of HEAD and of refs: a name, or an object's id.
const SHORT_MAX: u64 = 1024;

/// A working copy of ours.
#[derive(Debug, Clone)]
pub struct Checkout {
    pub(crate) git: process::Git,
    pub folder: PathBuf,
    pub(crate) mirror: PathBuf,
}

impl Checkout {
    pub(crate) async fn git(&self, args: &[&OsStr], what: &'static str) -> Result<String, GoalError> {
        self.tell(args, Stdin::Null, what).await
    }

    pub(crate) async fn tell(&self, args: &[&OsStr], stdin: Stdin, what: &'static str) -> Result<String, GoalError> {
        let git_dir = self.folder.join(".git");
        self.git
            .run_with(&self.folder, &self.placed(&git_dir, args), stdin, LOCAL)
            .await
            .map_err(|error| GoalError::Git { what, why: error.to_string() })
    }

    /// For what changes another repository of this machine, see [`crate::repository::Repository::change_source`].
    pub(crate) async fn to_its_end(&self, args: &[&OsStr], what: &'static str) -> Result<(), GoalError> {
        let git_dir = self.folder.join(".git");
        let done = self.git.run_to_its_end(&self.folder, &self.placed(&git_dir, args), LOCAL).await;
        done.map_err(|error| GoalError::Git { what, why: error.to_string() })
    }

    fn placed<'a>(&'a self, git_dir: &'a Path, args: &[&'a OsStr]) -> Vec<&'a OsStr> {
        let place = [OsStr::new("--git-dir"), git_dir.as_os_str(), OsStr::new("--work-tree"), self.folder.as_os_str()];
        place.iter().chain(args).copied().collect()
    }

    /// The names of objects, `None` for each that does not exist. One process for all of them.
    pub(crate) async fn object_names(&self, objects: &[String]) -> Result<Vec<Option<String>>, GoalError> {
        let asked: String = objects.iter().map(|object| format!("{object}\n")).collect();
        let check = words!["cat-file", "--batch-check=%(objectname)"];
        let said = self.tell(check, Stdin::Bytes(asked.into_bytes()), "cat-file").await?;
        let names: Vec<_> =
            said.lines().map(|line| (!line.ends_with(" missing")).then(|| line.trim().to_owned())).collect();
        if names.len() != objects.len() {
            let why = format!("git answered {} of {} questions", names.len(), objects.len());
            return Err(GoalError::Git { what: "cat-file", why });
        }
        Ok(names)
    }

    /// Puts its files there.
    pub(crate) async fn fill(&self) -> Result<(), GoalError> {
        self.git(words!["reset", "--hard", "--quiet"], "checkout").await?;
        let fail = |source| GoalError::File { path: self.folder.clone(), verb: "made", source };
        clear_loop_files(&self.folder).map_err(fail)
    }

    /// For a clone that nobody has worked in yet.
    pub(crate) fn set_branch(&self, branch: &str, commit: &str) -> Result<(), GoalError> {
        let place = self.folder.join(".git/refs/heads").join(branch);
        let fail = |source| GoalError::File { path: place.clone(), verb: "written", source };
        if let Some(parent) = place.parent() {
            std::fs::create_dir_all(parent).map_err(fail)?;
        }
        std::fs::write(&place, format!("{commit}\n")).map_err(fail)
    }

    /// Our own configuration again, whatever somebody has made of it; and no hooks.
    pub fn disarm(&self) -> Result<(), GoalError> {
        let git_folder = self.folder.join(".git");
        let fail = |source| GoalError::File { path: git_folder.clone(), verb: "put in order", source };
        let data = git_folder.symlink_metadata().map_err(fail)?;
        if !data.is_dir() {
            let why = ".git of the clone was replaced; its work cannot be taken over".into();
            return Err(GoalError::Git { what: "status", why });
        }
        for name in ["hooks", "commondir", "config", "config.worktree", "info", "objects/info/alternates"] {
            let path = git_folder.join(name);
            let gone = match path.symlink_metadata() {
                Ok(data) if data.is_dir() => std::fs::remove_dir_all(&path),
                Ok(_) => std::fs::remove_file(&path),
                Err(_) => Ok(()),
            };
            gone.map_err(fail)?;
        }
        let format = std::fs::read_to_string(self.mirror.join("config")).unwrap_or_default().contains("sha256");
        write_git_folder(&git_folder, &config(false, if format { 64 } else { 40 }), Some((&self.mirror, "")))
            .map_err(fail)
    }

    pub async fn head(&self) -> Result<String, GoalError> {
        if let Some(head) = head_file(&self.folder.join(".git")) {
            return Ok(head);
        }
        let head = self.git(words!["rev-parse", "--verify", "HEAD^{commit}"], "rev-parse").await?;
        Ok(head.trim().to_owned())
    }

    /// Commits what lies about, but for our own files.
    pub async fn commit_rest(&self, message: &str) -> Result<(), GoalError> {
        const REST: [&str; 3] = ["--", ".", ":(exclude).ralph"];
        let status = ["status", "--porcelain", "--untracked-files=all", "--ignore-submodules=all"];
        let args: Vec<&OsStr> = status.iter().chain(&REST).map(OsStr::new).collect();
        if self.git(&args, "status").await?.trim().is_empty() {
            return Ok(());
        }
        let args: Vec<&OsStr> = ["add", "-A"].iter().chain(&REST).map(OsStr::new).collect();
        self.git(&args, "add").await?;
        self.git(words!["commit", "--quiet", "--no-verify", "--allow-empty", "-m", message], "commit").await.map(drop)
    }

    pub fn remove(&self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The commit that HEAD is at, where two files say so. A process costs more than all else that a small goal needs; `None`
/// means that git has to be asked.
fn head_file(git_folder: &Path) -> Option<String> {
    let head = short_text(&git_folder.join("HEAD"))?;
    let name = head.trim_end().strip_prefix("ref: refs/heads/")?;
    if !is_branch_name(name) {
        return None;
    }
    loose_ref(git_folder, &format!("refs/heads/{name}"))
}

/// Where a ref is, if it stands in a file of its own; such a file wins over packed refs.
pub(crate) fn loose_ref(git_folder: &Path, name: &str) -> Option<String> {
    let text = short_text(&git_folder.join(name))?;
    let value = text.trim_end();
    let is_id = matches!(value.len(), 40 | 64) && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| value.to_owned())
}

/// A short file's text. Links are not followed, and a pipe is no file.
fn short_text(path: &Path) -> Option<String> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    file.take(SHORT_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Takes away from a clone what an earlier agent may have committed where the loop keeps its files: links would lead it
/// elsewhere.
pub(crate) fn clear_loop_files(clone: &Path) -> std::io::Result<()> {
    let ralph = clone.join(".ralph");
    let Ok(data) = ralph.symlink_metadata() else { return Ok(()) };
    if !data.is_dir() {
        return std::fs::remove_file(ralph);
    }
    for entry in ralph.read_dir()? {
        let entry = entry?;
        let ours = ["runs", "attached", "lock", "day.json"].iter().any(|name| entry.file_name() == *name);
        let kind = entry.file_type()?;
        match (kind.is_symlink() || (ours && kind.is_file()), ours && kind.is_dir()) {
            (true, _) => std::fs::remove_file(entry.path())?,
            (_, true) => std::fs::remove_dir_all(entry.path())?,
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_is_read_from_files_and_from_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let (git, id) = (dir.path(), "0123456789abcdef0123456789abcdef01234567");
        std::fs::create_dir_all(git.join("refs/heads/ralph")).unwrap();
        let file = git.join("refs/heads/ralph/goal-1");
        let head = |text: &str| {
            std::fs::write(git.join("HEAD"), text).unwrap();
            head_file(git)
        };
        std::fs::write(&file, format!("{id}\n")).unwrap();
        assert_eq!(head("ref: refs/heads/ralph/goal-1\n").as_deref(), Some(id));
        for text in ["ref: refs/heads/other\n", "ref: refs/heads/../ralph/goal-1\n", "ref: refs/tags/x\n", id, ""] {
            assert_eq!(head(text), None, "{text}");
        }
        for value in ["ref: refs/heads/main\n", "0123", ""] {
            std::fs::write(&file, value).unwrap();
            assert_eq!(head("ref: refs/heads/ralph/goal-1\n"), None, "{value}");
        }
        std::fs::remove_file(&file).unwrap();
        std::fs::write(git.join("elsewhere"), id).unwrap();
        std::os::unix::fs::symlink(git.join("elsewhere"), &file).unwrap();
        assert_eq!(head("ref: refs/heads/ralph/goal-1\n"), None, "a link");
        std::fs::remove_file(&file).unwrap();
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
        rustix::fs::mknodat(rustix::fs::CWD, &file, kind, mode, 0).unwrap();
        assert_eq!(head("ref: refs/heads/ralph/goal-1\n"), None, "a pipe");
    }

    #[test]
    fn links_in_place_of_the_loops_files_go() {
        let dir = tempfile::tempdir().unwrap();
        let ralph = dir.path().join(".ralph");
        std::fs::create_dir_all(ralph.join("attached")).unwrap();
        std::os::unix::fs::symlink("/etc", ralph.join("runs")).unwrap();
        std::fs::write(ralph.join("prompt.md"), "x").unwrap();
        clear_loop_files(dir.path()).unwrap();
        let left: Vec<_> = ralph.read_dir().unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["prompt.md"]);
        std::fs::remove_dir_all(&ralph).unwrap();
        std::os::unix::fs::symlink("/etc", &ralph).unwrap();
        clear_loop_files(dir.path()).unwrap();
        assert!(ralph.symlink_metadata().is_err());
    }
}
