//! The git directory of a workspace, and the parts of it that commands may write.
//!
//! A commit writes nearly everywhere in it. Not to be touched is what makes git run something or look
//! elsewhere: configuration, hooks, and the files that tie worktrees and submodules together. A `.git`
//! file is believed only if what it points to points back: otherwise it would open any folder.

use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Longer than any of git's small files.
const TEXT_MAX: u64 = 64 * 1024;

/// Worktrees and submodules looked at; each costs a few mounts per command.
const PARTS_MAX: usize = 64;

/// What may stand in for a missing file of a repository.
#[cfg(target_os = "linux")]
pub(crate) const TIES: [&str; 3] = [".git/commondir", ".git/hooks", ".git/config.worktree"];

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Repository {
    pub(crate) write: Vec<PathBuf>,
    pub(crate) protected: Vec<PathBuf>,
}

/// The repository that `workspace` lies in, if there is one.
pub(crate) fn find(workspace: &Path) -> Option<Repository> {
    let root = workspace.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
    let dot_git = root.join(".git");
    let kind = dot_git.symlink_metadata().ok()?;
    if kind.is_dir() {
        return is_git_dir(&dot_git).then(|| ordinary(root, &dot_git));
    }
    let mut repository = if kind.is_file() { linked(root, &dot_git) } else { None }.unwrap_or_default();
    repository.protected.push(dot_git);
    Some(repository)
}

fn ordinary(root: &Path, git: &Path) -> Repository {
    let mut protected = guarded(root, git);
    for folder in parts(&git.join("worktrees")) {
        protected.extend(["gitdir", "commondir", "config.worktree"].map(|name| folder.join(name)));
    }
    for folder in parts(&git.join("modules")) {
        protected.extend(["config", "hooks"].map(|name| folder.join(name)));
    }
    Repository { write: vec![git.to_owned()], protected }
}

/// A worktree or a submodule: its `.git` is a file that names the folder.
fn linked(root: &Path, dot_git: &Path) -> Option<Repository> {
    let text = small_text(dot_git)?;
    let git = root.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    if let Some(back) = small_text(&git.join("gitdir")) {
        let points_back = git.join(back.trim()).canonicalize().ok()? == dot_git.canonicalize().ok()?;
        let common = git.join(small_text(&git.join("commondir"))?.trim()).canonicalize().ok()?;
        let belongs = git.parent() == Some(&common.join("worktrees")) && is_git_dir(&common);
        return (points_back && belongs).then(|| ordinary(root, &common));
    }
    // A submodule's configuration says where its files are.
    let config = small_text(&git.join("config"))?;
    let worktree = value_of(&config, "worktree")?;
    let points_back = git.join(worktree).canonicalize().ok()? == root.canonicalize().ok()?;
    (points_back && is_git_dir(&git)).then(|| ordinary(root, &git))
}

fn guarded(root: &Path, git: &Path) -> Vec<PathBuf> {
    let mut protected: Vec<PathBuf> = ["config", "hooks", "commondir"].map(|name| git.join(name)).to_vec();
    let config = small_text(&git.join("config")).unwrap_or_default();
    // Read by git only where the configuration says so.
    if value_of(&config, "worktreeconfig").is_some() {
        protected.push(git.join("config.worktree"));
    }
    if let Some(hooks) = value_of(&config, "hookspath").filter(|hooks| !hooks.starts_with('~')) {
        protected.push(root.join(hooks));
    }
    protected
}

fn is_git_dir(folder: &Path) -> bool {
    folder.join("HEAD").symlink_metadata().is_ok() && folder.join("objects").is_dir()
}

/// The last value of a key, whatever section it is in: for this purpose too much is better than too little.
fn value_of<'a>(config: &'a str, key: &str) -> Option<&'a str> {
    let pair = |line: &'a str| {
        let (name, value) = line.split_once('=')?;
        name.trim().eq_ignore_ascii_case(key).then(|| value.trim().trim_matches('"'))
    };
    config.lines().filter_map(pair).next_back().filter(|value| !value.is_empty())
}

fn small_text(path: &Path) -> Option<String> {
    let mut text = String::new();
    std::fs::File::open(path).ok()?.take(TEXT_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

fn parts(folder: &Path) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    listed.take(PARTS_MAX).map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// The folders in a folder, links not counted, unless there are more than `most`.
#[cfg(target_os = "linux")]
pub(crate) fn entries(folder: &Path, most: usize) -> Option<Vec<PathBuf>> {
    let listed = std::fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let folders = listed.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let folders: Vec<PathBuf> = folders.take(most + 1).map(|entry| entry.path()).collect();
    (folders.len() <= most).then_some(folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(root: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }

    fn scratch() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        (dir, root)
    }

    #[test]
    fn an_ordinary_repository_is_found_from_below() {
        let (_dir, root) = scratch();
        let config = "[core]\n\thooksPath = .husky\n";
        make(&root, &[("r/.git/HEAD", ""), ("r/.git/objects/x", ""), ("r/.git/config", config), ("r/a/b", "")]);
        make(&root, &[("r/.git/worktrees/w/gitdir", "")]);
        let found = find(&root.join("r/a")).unwrap();
        assert_eq!(found.write, [root.join("r/.git")]);
        for name in [".git/config", ".git/hooks", ".git/commondir", ".husky", ".git/worktrees/w/commondir"] {
            assert!(found.protected.contains(&root.join("r").join(name)), "{name}");
        }
        assert_eq!(find(&root), None);
    }

    #[test]
    fn a_worktree_opens_the_repository_that_knows_it() {
        let (_dir, root) = scratch();
        make(&root, &[("m/.git/HEAD", ""), ("m/.git/objects/x", ""), ("m/.git/config", "")]);
        let back = root.join("w/.git").display().to_string();
        make(&root, &[("m/.git/worktrees/w/gitdir", &back), ("m/.git/worktrees/w/commondir", "../..")]);
        make(&root, &[("w/.git", &format!("gitdir: {}/m/.git/worktrees/w\n", root.display()))]);
        let found = find(&root.join("w")).unwrap();
        assert_eq!(found.write, [root.join("m/.git")]);
        assert!(found.protected.contains(&root.join("w/.git")) && found.protected.contains(&root.join("m/.git/hooks")));
    }

    #[test]
    fn a_file_that_points_anywhere_opens_nothing() {
        let (_dir, root) = scratch();
        make(&root, &[("secret/HEAD", ""), ("secret/objects/x", ""), ("secret/config", "worktree = ../other")]);
        make(&root, &[("w/.git", "gitdir: ../secret"), ("other/x", "")]);
        let found = find(&root.join("w")).unwrap();
        assert_eq!((found.write, found.protected), (Vec::new(), vec![root.join("w/.git")]));
    }

    #[test]
    fn a_submodule_opens_its_own_folder() {
        let (_dir, root) = scratch();
        make(&root, &[("s/.git/modules/lib/HEAD", ""), ("s/.git/modules/lib/objects/x", ""), ("s/lib/x", "")]);
        make(&root, &[("s/.git/modules/lib/config", "[core]\n\tworktree = ../../../lib\n")]);
        make(&root, &[("s/lib/.git", "gitdir: ../.git/modules/lib\n")]);
        assert_eq!(find(&root.join("s/lib")).unwrap().write, [root.join("s/.git/modules/lib")]);
    }
}
