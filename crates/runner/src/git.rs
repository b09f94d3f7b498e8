//! Changes of the repository as git reports them. Every call goes through `process::Git`: the repository's configuration is data that
//! an agent may have written, and none of it may run anything. Where the loop has a sandbox, git runs in one, too. No
//! call looks into repositories inside this one, whose filters nobody can name beforehand.

use crate::git_files::{FileContents, as_new, lines, print};
use cycle::{Changes, FileChange};
use process::{Env, Stdin};
use sandbox::{Network, Rules, Sandbox};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A status of a huge tree takes seconds; more than this is a broken disk.
const DEADLINE: Duration = Duration::from_mins(1);
/// Of a diff; new files beyond it are left out.
const DIFF_MAX: usize = 1024 * 1024;
const COMMITS_MAX: &str = "--max-count=20";

/// A repository to ask. `None` where there is none, or no git.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    calls: process::Git,
    folder: PathBuf,
    /// Where the folder is in its repository; git names some paths from the top.
    prefix: String,
    /// Of the box that git runs in.
    rules: Option<Rules>,
}

/// The state of the files at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub head: Option<String>,
    pub tree: u64,
    /// What lay about uncommitted, by content.
    dirty: BTreeMap<String, u64>,
    /// The contents of it, as far as they are kept.
    kept: FileContents,
}

impl Git {
    pub(crate) async fn open(folder: &Path, env: &Env, rules: Option<&Rules>) -> Option<Self> {
        let git = process::Git::find(env)?.signing_as("ralph");
        // It works on files only.
        let rules = rules.map(|rules| Rules { network: Network::Off, unix_sockets: false, ..rules.clone() });
        let mut git = Self { calls: git, folder: folder.to_owned(), prefix: String::new(), rules };
        let answers = git.run(&["rev-parse", "--is-inside-work-tree", "--show-prefix"]).await?;
        let (is_inside, prefix) = answers.split_once('\n')?;
        if is_inside != "true" {
            return None;
        }
        prefix.trim_end_matches('\n').clone_into(&mut git.prefix);
        Some(git)
    }

    /// Anew each time: the agent that has just worked here may have added filters. `None` where no box can be made.
    async fn without_filters(&self) -> Option<Self> {
        let calls = match &self.rules {
            Some(rules) => self.calls.clone().inside(Arc::new(Sandbox::new(rules.clone()).ok()?)),
            None => self.calls.clone(),
        };
        Some(Self { calls: calls.without_filters(&self.folder, DEADLINE).await, ..self.clone() })
    }

    async fn run(&self, args: &[&str]) -> Option<String> {
        let words: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
        self.calls.run(&self.folder, &words, DEADLINE).await.ok()
    }

    async fn head(&self) -> Option<String> {
        self.run(&["rev-parse", "--verify", "-q", "HEAD"]).await.map(|head| head.trim().to_owned())
    }

    pub(crate) async fn snapshot(&self) -> Option<Snapshot> {
        let git = self.without_filters().await?;
        let head = git.head().await;
        let changed = git.dirty().await?;
        let mut hasher = DefaultHasher::new();
        head.hash(&mut hasher);
        let dirty: BTreeMap<String, u64> =
            changed.into_iter().map(|path| (path.clone(), print(&self.folder.join(&path)))).collect();
        dirty.hash(&mut hasher);
        let kept = FileContents::of(&self.folder, dirty.keys());
        Some(Snapshot { head, tree: hasher.finish(), dirty, kept })
    }

    /// Paths that differ from the last commit, without our own files.
    async fn dirty(&self) -> Option<Vec<String>> {
        let status =
            ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty"];
        let listed = self.run(&[&status[..], &["--", ".", ":(exclude).ralph"]].concat()).await?;
        let paths = listed.split('\0').filter_map(|entry| entry.get(3..)?.strip_prefix(&self.prefix));
        let mut paths: Vec<String> = paths.map(str::to_owned).collect();
        paths.sort();
        Some(paths)
    }

    /// What is different now from `before`, committed or not.
    pub(crate) async fn changes(&self, before: &Snapshot) -> Changes {
        match self.without_filters().await {
            Some(git) => git.changes_since(before).await,
            None => Changes::default(),
        }
    }

    async fn changes_since(&self, before: &Snapshot) -> Changes {
        let since = before.head.as_deref().unwrap_or(EMPTY_TREE);
        let numstat = ["diff", "--numstat", "-z", "--relative", "--no-renames", "--no-ext-diff", "--no-textconv"];
        let what = ["--ignore-submodules=dirty", since, "--", ".", ":(exclude).ralph"];
        let listed = self.run(&[&numstat[..], &what].concat()).await.unwrap_or_default();
        let mut files: Vec<FileChange> = listed.split('\0').filter_map(numstat_entry).collect();
        let untracked =
            self.run(&["ls-files", "-z", "--others", "--exclude-standard", "--", ".", ":(exclude).ralph"]).await;
        for path in untracked.unwrap_or_default().split('\0').filter(|path| !path.is_empty()) {
            files.push(FileChange { path: path.to_owned(), added: lines(&self.folder.join(path)), removed: 0 });
        }
        // What lay about before and is still the same is not this iteration's doing.
        files.retain(|file| before.dirty.get(&file.path) != Some(&print(&self.folder.join(&file.path))));
        before.kept.correct(&self.folder, &mut files);
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let more_files = files.len().saturating_sub(Changes::FILES_MAX) as u64;
        files.truncate(Changes::FILES_MAX);
        Changes { known: true, files, more_files, commits: self.commits(before).await }
    }

    async fn commits(&self, before: &Snapshot) -> Vec<String> {
        let range = before.head.as_ref().map_or_else(|| "HEAD".to_owned(), |head| format!("{head}..HEAD"));
        let listed = self.run(&["log", "--no-show-signature", "--format=%h %s", COMMITS_MAX, &range, "--"]).await;
        listed.unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// Like `git add -A`, which would start a git in every repository inside this one.
    async fn add_all(&self) -> Option<()> {
        let mut paths = String::new();
        for path in self.dirty().await? {
            // A repository that is new here has a slash at its end.
            paths.push_str(path.trim_end_matches('/'));
            paths.push('\0');
        }
        let args = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"].map(OsStr::new);
        let input = Stdin::Bytes(paths.into_bytes());
        self.calls.run_with(&self.folder, &args, input, DEADLINE).await.ok().map(drop)
    }

    /// Repositories inside this one, and the file that names them, among changed files: the user's own git obeys them.
    pub(crate) fn nested(&self, changes: &Changes) -> Vec<String> {
        let paths = changes.files.iter().map(|file| file.path.as_str());
        let is_nested = |path: &&str| path.ends_with('/') || *path == ".gitmodules" || self.folder.join(path).is_dir();
        paths.filter(is_nested).map(str::to_owned).collect()
    }

    /// What changed between two commits, or since a commit in the files as they are; as git prints it. Files that git does not
    /// know yet are in [`Git::untracked`].
    pub(crate) async fn diff(&self, since: &str, until: Option<&str>) -> Option<String> {
        let how = ["diff", "--no-color", "--relative", "--no-renames", "--no-ext-diff", "--no-textconv", "--unified=3"];
        let commits = [since].into_iter().chain(until);
        let what = ["--ignore-submodules=dirty"].into_iter().chain(commits).chain(["--", ".", ":(exclude).ralph"]);
        let words: Vec<&str> = how.into_iter().chain(what).collect();
        self.without_filters().await?.run(&words).await
    }

    /// Files that git neither knows nor ignores.
    pub(crate) async fn untracked(&self) -> Vec<String> {
        let listed = ["ls-files", "-z", "--others", "--exclude-standard", "--", ".", ":(exclude).ralph"];
        let listed = match self.without_filters().await {
            Some(git) => git.run(&listed).await.unwrap_or_default(),
            None => String::new(),
        };
        listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect()
    }

    /// A file as it is in a commit.
    pub(crate) async fn file_at(&self, commit: &str, path: &Path) -> Option<String> {
        let name = format!("{commit}:{}{}", self.prefix, path.display());
        self.without_filters().await?.run(&["cat-file", "blob", &name]).await
    }

    /// Everything that is different now from this commit, committed or not; for people and reviewers.
    pub(crate) async fn diff_since(&self, commit: Option<&str>) -> Option<String> {
        let git = self.without_filters().await?;
        let diff = ["diff", "--relative", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty"];
        let what = [commit.unwrap_or(EMPTY_TREE), "--", ".", ":(exclude).ralph"];
        let mut text = git.run(&[&diff[..], &what].concat()).await?;
        let new = ["ls-files", "-z", "--others", "--exclude-standard", "--", ".", ":(exclude).ralph"];
        for path in git.run(&new).await?.split('\0').filter(|path| !path.is_empty()) {
            if text.len() > DIFF_MAX {
                break;
            }
            text.push_str(&as_new(&self.folder, path));
        }
        Some(text)
    }

    /// Commits everything but our own files. Hooks do not run.
    pub(crate) async fn commit(&self, message: &str) -> Result<(), &'static str> {
        let mut git = self.without_filters().await.ok_or("nothing is committed: no sandbox for git can be made")?;
        git.calls = git.calls.with_identity(&self.folder, DEADLINE).await;
        git.add_all().await.ok_or("git could not add the changed files")?;
        if git.run(&["diff", "--cached", "--quiet", "--no-ext-diff", "--no-textconv"]).await.is_some() {
            return Ok(());
        }
        let args = ["commit", "-q", "--no-verify", "--no-gpg-sign", "-m", message];
        git.run(&args).await.map(drop).ok_or("git commit failed; are user.name and user.email set in this repository?")
    }
}

/// What every repository compares its first commit with.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

fn numstat_entry(entry: &str) -> Option<FileChange> {
    let mut parts = entry.splitn(3, '\t');
    let (added, removed, path) = (parts.next()?, parts.next()?, parts.next()?);
    // Binary files have a dash.
    let count = |text: &str| text.parse().unwrap_or(0);
    Some(FileChange { path: path.to_owned(), added: count(added), removed: count(removed) })
}

#[cfg(test)]
#[path = "git_tests.rs"]
mod tests;
