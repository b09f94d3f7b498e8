//! The commit that a folder's repository is at, and its remote, read from its files: starting git for a record would cost more than the record
//! is worth.
//!
//! An agent may have written any of these files, so each is read within a bound, and what is not a commit's name counts as
//! nothing. Packed references are not looked at: a commit that was made just now is in none.

use rustix::fs::OFlags;
use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// The files have one line each.
const FILE_MAX: u64 = 4096;
/// A configuration of git's is longer; the remote is near its beginning.
const CONFIG_MAX: u64 = 64 * 1024;
/// Digits of a commit's whole name, by the two ways that git makes one.
const DIGITS: [usize; 2] = [40, 64];

pub(crate) fn head_commit(folder: &Path) -> Option<String> {
    let git = folder.ancestors().find_map(git_folder)?;
    let head = line(&git.join("HEAD"))?;
    let Some(name) = head.strip_prefix("ref: ") else { return commit(head) };
    if !name.starts_with("refs/") || name.split('/').any(|part| part.is_empty() || part == "..") {
        return None;
    }
    // A worktree has its head for itself, and its references with the others.
    let common = line(&git.join("commondir")).map_or_else(|| git.clone(), |common| git.join(common));
    line(&common.join(name)).and_then(commit)
}

/// The address of the remote `origin`. The repository of a whole home is none that a session works in.
pub fn origin(folder: &Path, home: Option<&Path>) -> Option<String> {
    let root = folder.ancestors().find(|folder| git_folder(folder).is_some())?;
    if Some(root) == home {
        return None;
    }
    let git = git_folder(root)?;
    let common = line(&git.join("commondir")).map_or_else(|| git.clone(), |common| git.join(common));
    origin_in(&read(&common.join("config"), CONFIG_MAX)?)
}

fn origin_in(config: &str) -> Option<String> {
    let mut is_origin = false;
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            is_origin = line == "[remote \"origin\"]";
        } else if let Some((name, value)) = line.split_once('=').filter(|_| is_origin)
            && name.trim().eq_ignore_ascii_case("url")
        {
            return Some(value.trim().trim_matches('"').to_owned());
        }
    }
    None
}

fn commit(text: String) -> Option<String> {
    let is_commit = DIGITS.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_commit.then_some(text)
}

fn git_folder(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    line(&git)?.strip_prefix("gitdir: ").map(|other| folder.join(other))
}

/// The first line of a small file.
fn line(path: &Path) -> Option<String> {
    read(path, FILE_MAX)?.lines().next().map(|line| line.trim_end().to_owned())
}

fn read(path: &Path, most: u64) -> Option<String> {
    // Without NONBLOCK a pipe that somebody put there would hang the run.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut text = String::new();
    file.take(most).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    fn write(folder: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn the_remote_is_the_one_that_is_named_origin() {
        let scratch = tempfile::tempdir().unwrap();
        let config =
            "[core]\n\turl = no\n[remote \"fork\"]\n\turl = fork\n[remote \"origin\"]\n\tfetch = x\n\tURL = there\n";
        write(scratch.path(), &[(".git/config", config), (".git/HEAD", "x"), ("below/a", ""), ("bare/.git/HEAD", "x")]);
        let of = |name: &str, home: Option<&Path>| origin(&scratch.path().join(name), home);
        assert_eq!(of("below", None).as_deref(), Some("there"));
        assert_eq!(of("below", Some(scratch.path())), None);
        assert_eq!(of("bare", None), None);
        assert_eq!(origin_in("[remote \"origin\"]\n[core]\nurl = no"), None);
    }

    #[test]
    fn a_head_is_read_in_a_folder_below_in_a_worktree_and_on_no_branch() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path();
        let line = format!("{COMMIT}\n");
        write(
            root,
            &[
                ("r/.git/HEAD", "ref: refs/heads/a/b\n"),
                ("r/.git/refs/heads/a/b", &line),
                ("r/below/x", ""),
                ("w/.git", "gitdir: ../r/.git/worktrees/w\n"),
                ("r/.git/worktrees/w/HEAD", "ref: refs/heads/a/b\n"),
                ("r/.git/worktrees/w/commondir", "../..\n"),
                ("detached/.git/HEAD", &line),
            ],
        );
        for folder in ["r", "r/below", "w", "detached"] {
            assert_eq!(head_commit(&root.join(folder)).as_deref(), Some(COMMIT), "{folder}");
        }
    }

    #[test]
    fn what_is_no_commit_counts_as_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path();
        write(root, &[("secret", COMMIT), ("a/.git/HEAD", "ref: refs/../../../secret\n")]);
        write(root, &[("b/.git/HEAD", "the secret of a file\n"), ("c/.git/HEAD", "ref: refs/heads/none\n")]);
        write(root, &[("d/.git/HEAD", &COMMIT[..39])]);
        for folder in ["a", "b", "c", "d"] {
            assert_eq!(head_commit(&root.join(folder)), None, "{folder}");
        }
        std::fs::remove_file(root.join("b/.git/HEAD")).unwrap();
        std::os::unix::fs::symlink(root.join("secret"), root.join("b/.git/HEAD")).unwrap();
        assert_eq!(head_commit(&root.join("b")), None, "a link is not followed");
    }
}
