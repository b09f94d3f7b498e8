//! A repository that goals are worked on in: its mirror here, and clones that borrow the mirror's objects.
//!
//! A clone's git folder is written by hand: it has no remote, no hooks, and a configuration that nobody but us wrote.
//! All git goes through `process::Git`. Deliberately absent: landing (`landing`), and who may use which clone.

use crate::checkout::{Checkout, loose_ref};
use crate::error::GoalError;
use crate::git_folder::{config, keep_subfolders_apart, write_git_folder};
use crate::goal::{Fence, GoalId};
use process::Stdin;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Over a network, a first fetch of a large repository takes minutes.
const FETCH: Duration = Duration::from_mins(30);
/// On this machine.
pub(crate) const LOCAL: Duration = Duration::from_mins(2);
/// Others fetch into the same mirror; a first fetch is waited for.
const MIRROR_LOCK: Duration = Duration::from_mins(30);
const LOCK_LOOK: Duration = Duration::from_millis(10);

/// Whose name is on commits that we make.
const AUTHOR: &str = "ralph";

#[derive(Debug, Clone)]
pub struct Repository {
    pub(crate) git: process::Git,
    /// A path on this machine, or an address.
    pub source: String,
    pub(crate) mirror: PathBuf,
    /// Of the store: two of them may share a repository, and number their goals alike.
    pub(crate) store: String,
}

/// Words for git, short to write.
macro_rules! words {
    ($($word:expr),* $(,)?) => { &[$(std::ffi::OsStr::new($word)),*] };
}
pub(crate) use words;

impl Repository {
    /// `state` holds the mirrors; `store` is the id of the store whose goals these are.
    pub fn new(git: &process::Git, source: &str, state: &Path, store: &str) -> Self {
        let mirror = Self::mirror_folder(source, state);
        Self { git: git.clone().signing_as(AUTHOR), source: source.to_owned(), mirror, store: store.to_owned() }
    }

    /// Refs of a goal begin with this.
    fn refs_of(&self, id: GoalId) -> String {
        format!("refs/ralph/{}/{id}/", self.store)
    }

    /// Where a claim with this number keeps its commits.
    fn checkpoint_ref(&self, id: GoalId, fence: Fence) -> String {
        format!("{}{fence}", self.refs_of(id))
    }

    /// What a landing holds its objects by, until the branch does.
    pub(crate) fn landing_ref(&self, id: GoalId, fence: Fence) -> String {
        format!("{}landing-{fence}", self.refs_of(id))
    }

    pub fn mirror_folder(source: &str, state: &Path) -> PathBuf {
        state.join("mirrors").join(format!("{}.git", short_name(source)))
    }

    pub fn is_local(&self) -> bool {
        is_local(&self.source)
    }

    /// Runs git in the source itself, which must be on this machine.
    pub(crate) async fn at_source(&self, args: &[&OsStr], what: &'static str) -> Result<String, GoalError> {
        self.tell_source(args, String::new(), what).await
    }

    /// Changes the source itself: a killed worker does not cut it off, because a git that is killed leaves a lock in the
    /// person's repository, and nothing could land there until the person removes it.
    pub(crate) async fn change_source(&self, args: &[&OsStr], what: &'static str) -> Result<(), GoalError> {
        let (folder, git_dir) = (Path::new(&self.source), self.source_git_folder());
        let all = at_folder(folder, &git_dir, args);
        let done = self.git.run_to_its_end(folder, &all, LOCAL).await;
        done.map_err(|error| GoalError::Git { what, why: error.to_string() })
    }

    /// The same as [`Self::at_source`], with lines on stdin.
    async fn tell_source(&self, args: &[&OsStr], lines: String, what: &'static str) -> Result<String, GoalError> {
        let (folder, git_dir) = (Path::new(&self.source), self.source_git_folder());
        let all = at_folder(folder, &git_dir, args);
        let stdin = if lines.is_empty() { Stdin::Null } else { Stdin::Bytes(lines.into_bytes()) };
        self.git
            .run_with(folder, &all, stdin, LOCAL)
            .await
            .map_err(|error| GoalError::Git { what, why: error.to_string() })
    }

    /// Of a source on this machine.
    fn source_git_folder(&self) -> PathBuf {
        let folder = Path::new(&self.source);
        let inside = folder.join(".git");
        if inside.exists() { inside } else { folder.to_owned() }
    }

    pub(crate) async fn at_mirror(&self, args: &[&OsStr], what: &'static str) -> Result<String, GoalError> {
        let all: Vec<&OsStr> =
            [OsStr::new("--git-dir"), self.mirror.as_os_str()].into_iter().chain(args.iter().copied()).collect();
        self.git.run(&self.mirror, &all, FETCH).await.map_err(|error| GoalError::Git { what, why: error.to_string() })
    }

    /// The commit that a branch is at now, with all its objects in the mirror; and those of `more` refs.
    pub async fn refresh(&self, base: &str, more: &[String]) -> Result<String, GoalError> {
        let gone = || GoalError::BaseGone { repo: self.source.clone(), base: base.to_owned() };
        if !is_branch_name(base) {
            return Err(gone());
        }
        let branch = format!("refs/heads/{base}");
        let tip = if self.is_local() { self.local_tip(&branch).await?.ok_or_else(gone)? } else { String::new() };
        if more.is_empty() && !tip.is_empty() && self.mirrored(&branch).as_deref() == Some(&tip) {
            return Ok(tip);
        }
        let _lock = self.lock_mirror().await?;
        self.make_mirror(&tip).await?;
        let mut refs = vec![format!("+{branch}:{branch}")];
        refs.extend(more.iter().map(|name| format!("+{name}:{name}")));
        let mut args: Vec<&OsStr> =
            words!["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--"].to_vec();
        args.push(OsStr::new(&self.source));
        args.extend(refs.iter().map(OsStr::new));
        if let Err(GoalError::Git { why, .. }) = self.fetch_locked(&args).await {
            let missing = why.contains("couldn't find remote ref") && why.contains(&branch);
            return Err(if missing { gone() } else { GoalError::Repository { repo: self.source.clone(), why } });
        }
        self.mirrored(&branch).ok_or_else(gone)
    }

    /// The same repository, lending its own objects instead of the mirror's; and where the branch is. For clones that are
    /// gone in a moment and that no agent works in: nothing has to be fetched. `None` for repositories elsewhere.
    pub(crate) async fn lending_itself(&self, base: &str) -> Result<Option<(Self, String)>, GoalError> {
        let folder = Path::new(&self.source);
        let git_dir = [folder.join(".git"), folder.to_owned()].into_iter().find(|dir| dir.join("objects").is_dir());
        let Some(mirror) = git_dir.filter(|_| self.is_local() && is_branch_name(base)) else { return Ok(None) };
        let tip = self.local_tip(&format!("refs/heads/{base}")).await?;
        let gone = || GoalError::BaseGone { repo: self.source.clone(), base: base.to_owned() };
        Ok(Some((Self { mirror, ..self.clone() }, tip.ok_or_else(gone)?)))
    }

    /// Where a ref of the mirror is; we never pack them.
    pub(crate) fn mirrored(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.mirror.join(name)).ok().map(|text| text.trim().to_owned())
    }

    async fn local_tip(&self, branch: &str) -> Result<Option<String>, GoalError> {
        if !Path::new(&self.source).is_dir() {
            let why = "there is no such folder".to_owned();
            return Err(GoalError::Repository { repo: self.source.clone(), why });
        }
        if let Some(tip) = self.loose_at_source(branch) {
            return Ok(Some(tip));
        }
        match self.at_source(words!["rev-parse", "--verify", "--quiet", "--end-of-options", branch], "rev-parse").await
        {
            Ok(tip) => Ok(Some(tip.trim().to_owned())),
            Err(GoalError::Git { why, .. })
                if why.contains("not a git repository") || why.contains("dubious ownership") =>
            {
                Err(GoalError::Repository { repo: self.source.clone(), why })
            }
            Err(_) => Ok(None),
        }
    }

    /// Where a ref of a local source is, if that can be seen without git.
    pub(crate) fn loose_at_source(&self, name: &str) -> Option<String> {
        if !is_branch_name(name.strip_prefix("refs/heads/")?) {
            return None;
        }
        loose_ref(&self.source_git_folder(), name)
    }

    /// Removes refs of ours that stand in files of their own. Git would lock all packed refs of the repository meanwhile, and
    /// a git that is killed leaves its lock behind. False where git has to do it: packed refs, or another kind of store.
    fn remove_loose_refs(&self, prefix: &str) -> bool {
        let git_folder = self.source_git_folder();
        if !git_folder.join("HEAD").is_file() || git_folder.join("reftable").exists() {
            return false;
        }
        match std::fs::read(git_folder.join("packed-refs")) {
            Ok(packed) if String::from_utf8_lossy(&packed).contains(prefix) => return false,
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return false,
            _ => {}
        }
        match std::fs::remove_dir_all(git_folder.join(prefix)) {
            Ok(()) => true,
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        }
    }

    async fn lock_mirror(&self) -> Result<File, GoalError> {
        let path = self.mirror.with_extension("lock");
        let fail = |source| GoalError::File { path: path.clone(), verb: "locked", source };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(fail)?;
        }
        let file = File::create(&path).map_err(fail)?;
        let patience = Instant::now() + MIRROR_LOCK;
        while file.try_lock().is_err() {
            if Instant::now() > patience {
                return Err(fail(std::io::ErrorKind::TimedOut.into()));
            }
            tokio::time::sleep(LOCK_LOOK).await;
        }
        Ok(file)
    }

    /// Fetches into the mirror, which must be locked by us: git's own locks in it can only be those of a git that was killed.
    async fn fetch_locked(&self, args: &[&OsStr]) -> Result<String, GoalError> {
        match self.at_mirror(args, "fetch").await {
            Err(GoalError::Git { why, .. }) if why.contains(".lock': ") => {
                remove_locks(&self.mirror.join("refs"));
                let _ = std::fs::remove_file(self.mirror.join("packed-refs.lock"));
                self.at_mirror(args, "fetch").await
            }
            done => done,
        }
    }

    async fn make_mirror(&self, tip: &str) -> Result<(), GoalError> {
        if self.mirror.join("HEAD").is_file() {
            return Ok(());
        }
        let fail = |source| GoalError::File { path: self.mirror.clone(), verb: "made", source };
        let format = match tip {
            "" => {
                let asked = self.git.run(Path::new("/"), words!["ls-remote", "--", &self.source, "HEAD"], FETCH).await;
                let said = asked
                    .map_err(|error| GoalError::Repository { repo: self.source.clone(), why: error.to_string() })?;
                said.split_whitespace().next().unwrap_or_default().len()
            }
            tip => tip.len(),
        };
        write_git_folder(&self.mirror, &config(true, format), None).map_err(fail)
    }

    /// A working copy at this commit, on a branch of its own. Costs as much as its files.
    pub async fn check_out(&self, folder: &Path, commit: &str, branch: &str) -> Result<Checkout, GoalError> {
        let checkout = self.empty_checkout(folder, commit, branch)?;
        checkout.fill().await?;
        Ok(checkout)
    }

    /// The same without its files.
    pub(crate) fn empty_checkout(&self, folder: &Path, commit: &str, branch: &str) -> Result<Checkout, GoalError> {
        let fail = |source| GoalError::File { path: folder.to_owned(), verb: "made", source };
        let _ = std::fs::remove_dir_all(folder);
        if let Some(parent) = folder.parent() {
            std::fs::create_dir_all(parent).map_err(fail)?;
            keep_subfolders_apart(parent);
        }
        let git_folder = folder.join(".git");
        write_git_folder(&git_folder, &config(false, commit.len()), Some((&self.mirror, branch))).map_err(fail)?;
        let checkout = Checkout { git: self.git.clone(), folder: folder.to_owned(), mirror: self.mirror.clone() };
        checkout.set_branch(branch, commit)?;
        Ok(checkout)
    }

    /// Whose name is on commits that we make, as git writes it.
    pub(crate) fn committer() -> String {
        format!("{AUTHOR} <{AUTHOR}@localhost>")
    }

    /// Whether clones borrow from the source itself, see [`Self::lending_itself`].
    pub(crate) fn lends_itself(&self) -> bool {
        self.is_local() && self.mirror == self.source_git_folder()
    }

    /// Keeps the commits of a clone, up to `head`, where the next worker finds them. Returns a bundle for the store where
    /// the repository takes no refs of ours.
    pub async fn save(
        &self,
        clone: &Checkout,
        head: &str,
        id: GoalId,
        fence: Fence,
    ) -> Result<Option<Vec<u8>>, GoalError> {
        let name = self.checkpoint_ref(id, fence);
        let refspec = format!("+{head}:{name}");
        let from = clone.folder.join(".git");
        let quiet = words!["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--"];
        // We fetch, instead of letting the clone push: an agent may have written there where pushes go to.
        let args: Vec<&OsStr> = quiet.iter().copied().chain([from.as_os_str(), OsStr::new(&refspec)]).collect();
        if self.is_local() && self.at_source(&args, "fetch").await.is_ok() {
            return Ok(None);
        }
        {
            let _lock = self.lock_mirror().await?;
            self.fetch_locked(&args).await?;
        }
        let pushed = if self.is_local() {
            Err(())
        } else {
            let refspec = format!("+{name}:{name}");
            self.at_mirror(words!["push", "--quiet", "--", &self.source, &refspec], "push").await.map_err(drop)
        };
        Ok(if pushed.is_ok() { None } else { Some(self.bundle(&name).await?) })
    }

    /// For a repository that takes no refs of ours.
    async fn bundle(&self, name: &str) -> Result<Vec<u8>, GoalError> {
        let file = self.mirror.with_extension(format!("{}.bundle", name.replace('/', "-")));
        let made =
            self.at_mirror(words!["bundle", "create", "--quiet", &file, name, "--not", "--branches"], "bundle").await;
        let read =
            |_| std::fs::read(&file).map_err(|source| GoalError::File { path: file.clone(), verb: "read", source });
        let bytes = match made {
            // Nothing but what the branches have.
            Err(GoalError::Git { why, .. }) if why.contains("empty bundle") => Ok(Vec::new()),
            made => made.and_then(read),
        };
        let _ = std::fs::remove_file(&file);
        bytes
    }

    /// Brings the commits of an earlier worker into the mirror.
    pub async fn fetch_saved(
        &self,
        id: GoalId,
        fence: Fence,
        base: &str,
        bundle: Option<&[u8]>,
    ) -> Result<String, GoalError> {
        let name = self.checkpoint_ref(id, fence);
        let Some(bytes) = bundle else {
            // The second name is that of programs which did not tell stores apart.
            let mut asked = self.refresh(base, std::slice::from_ref(&name)).await;
            if is_missing(&asked) {
                asked = self.refresh(base, &[format!("refs/ralph/{id}/{fence}")]).await;
            }
            if is_missing(&asked) {
                return Err(GoalError::WorkGone { goal: id, repo: self.source.clone(), name });
            }
            return asked;
        };
        let tip = self.refresh(base, &[]).await?;
        if !bytes.is_empty() {
            let file = self.mirror.with_extension(format!("{id}-{fence}.bundle"));
            let fail = |source| GoalError::File { path: file.clone(), verb: "written", source };
            std::fs::write(&file, bytes).map_err(fail)?;
            let refspec = format!("+{name}:{name}");
            let _lock = self.lock_mirror().await?;
            let fetched =
                self.fetch_locked(words!["fetch", "--quiet", "--no-write-fetch-head", "--", &file, &refspec]).await;
            let _ = std::fs::remove_file(&file);
            fetched?;
        }
        Ok(tip)
    }

    /// Takes our refs of a goal away, here and in the source.
    pub async fn forget(&self, id: GoalId) {
        let prefix = self.refs_of(id);
        let folder = self.mirror.join(&prefix);
        let _ = std::fs::remove_dir_all(folder);
        if self.is_local() {
            if self.remove_loose_refs(&prefix) {
                return;
            }
            let listed = self.at_source(words!["for-each-ref", "--format=%(refname)", &prefix], "for-each-ref").await;
            let listed = listed.unwrap_or_default();
            let deletions: String = listed.lines().map(|name| format!("delete {name}\n")).collect();
            if !deletions.is_empty() {
                let _ = self.tell_source(words!["update-ref", "--stdin"], deletions, "update-ref").await;
            }
        } else {
            let pattern = format!("{prefix}*");
            let listed = self.at_mirror(words!["ls-remote", "--refs", "--", &self.source, &pattern], "ls-remote").await;
            for name in listed.unwrap_or_default().lines().filter_map(|line| line.split_whitespace().nth(1)) {
                let _ = self.at_mirror(words!["push", "--quiet", "--delete", "--", &self.source, name], "push").await;
            }
        }
    }
}

fn remove_locks(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_locks(&path);
        } else if path.extension().is_some_and(|ending| ending == "lock") {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The words that send git to a repository, before the others.
fn at_folder<'a>(folder: &'a Path, git_dir: &'a Path, args: &[&'a OsStr]) -> Vec<&'a OsStr> {
    let mut all = vec![OsStr::new("--git-dir"), git_dir.as_os_str()];
    if git_dir != folder {
        all.extend([OsStr::new("--work-tree"), folder.as_os_str()]);
    }
    all.extend(args);
    all
}

fn is_missing(fetched: &Result<String, GoalError>) -> bool {
    matches!(fetched, Err(GoalError::Repository { why, .. }) if why.contains("couldn't find remote ref refs/ralph/"))
}

/// Whether a text can stand in a refspec and in a path as a branch: stricter than git, since stores are shared.
pub fn is_branch_name(text: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || "._-/+#@".contains(letter);
    let part = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['.', '-'])
            && !part.to_lowercase().ends_with(".lock")
            && !part.ends_with('.')
    };
    text.chars().all(plain) && !text.contains("..") && text.split('/').all(part)
}

/// Whether a repository is named by a path of this machine.
pub fn is_local(source: &str) -> bool {
    source.starts_with('/')
}

/// A name for a folder: what people recognise, and a number that tells two of the same name apart.
pub fn short_name(source: &str) -> String {
    // FNV-1a: the same in every version of every program that looks for the folder.
    let hash = source
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let last = source.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
    let clean: String =
        last.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-').take(24).collect();
    format!("{clean}-{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_mean_something_else_are_no_branches() {
        for (name, fine) in [
            ("main", true),
            ("feature/x-1", true),
            ("release/2.0", true),
            ("", false),
            ("-f", false),
            ("a:b", false),
            ("a*", false),
            ("../x", false),
            ("a/../b", false),
            ("a//b", false),
            ("x.lock", false),
            ("a b", false),
        ] {
            assert_eq!(is_branch_name(name), fine, "{name}");
        }
    }
}
