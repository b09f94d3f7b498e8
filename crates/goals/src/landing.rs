//! Putting a goal's work on its branch: rebased onto the branch as it is now, checked, and then the branch moves.
//!
//! The branch's new value is the commit point. Each step can be cut off at any moment; whoever comes next finds out
//! from the branch and the recorded intents what is left to do. Deliberately absent: the store, and running checks.

use crate::checkout::Checkout;
use crate::error::GoalError;
use crate::goal::{Goal, LandingMode};
use crate::replay::{Replay, replay};
use crate::repository::{Repository, words};
use crate::store::Intent;
use std::ffi::OsStr;
use std::path::Path;

/// Of a conflict, for the agent: enough to see both sides.
const CONFLICT_MAX: usize = 8 * 1024;

/// A program that a branch brings and that every landing on it must pass.
const CHECK_FILE: &str = ".ralph/check";

#[derive(Debug)]
pub enum Prepared {
    /// The branch has all of it already.
    Nothing,
    /// For the agent: what is in the way.
    Conflict(String),
    Ready(Ready),
}

/// Work that fits onto the branch, in a clean clone.
#[derive(Debug)]
pub struct Ready {
    pub checkout: Checkout,
    pub commit: String,
    /// The branch when the work was put onto it.
    pub onto: String,
    /// Whether that branch brings a check of its own.
    pub has_check: bool,
    /// Whether the clone has its files; only checks need them.
    has_files: bool,
    /// Whether the source has the commit already, though no ref of it does.
    is_in_source: bool,
}

/// The ref that a landing moves.
pub fn target(goal: &Goal) -> String {
    let branch = if goal.spec.land == LandingMode::Push { goal.base.clone() } else { goal.branch() };
    format!("refs/heads/{branch}")
}

/// Puts the work onto the branch, in a clone of its own.
pub async fn prepare(repo: &Repository, goal: &Goal, onto: String, folder: &Path) -> Result<Prepared, GoalError> {
    let Some(head) = &goal.head else { return Ok(Prepared::Nothing) };
    if !goal.spec.squash {
        match replay(repo, goal, (head, &onto), folder, CHECK_FILE).await? {
            Replay::Nothing => return Ok(Prepared::Nothing),
            Replay::Done { checkout, commit, has_check } => {
                let is_in_source = repo.lends_itself();
                return Ok(Prepared::Ready(Ready {
                    checkout,
                    commit,
                    onto,
                    has_check,
                    has_files: false,
                    is_in_source,
                }));
            }
            Replay::Unusual => {}
        }
    }
    rebase(repo, goal, head, onto, folder).await
}

async fn rebase(
    repo: &Repository,
    goal: &Goal,
    head: &str,
    onto: String,
    folder: &Path,
) -> Result<Prepared, GoalError> {
    let contained = repo.at_mirror(words!["merge-base", "--is-ancestor", head, &onto], "merge-base").await;
    if contained.is_ok() {
        return Ok(Prepared::Nothing);
    }
    let checkout = repo.check_out(folder, head, &goal.branch()).await?;
    let trailer = format!("Ralph-Goal: {}", goal.id);
    // Git runs this in a shell; there is nothing in it but our own words and a number.
    let mark = format!("git commit --amend --quiet --no-edit --no-verify --allow-empty --trailer '{trailer}'");
    let rebase = words!["rebase", "--quiet", "--force-rebase", "--no-verify", "--exec", &mark, &onto];
    if let Err(error) = checkout.git(rebase, "rebase").await {
        return conflict(&checkout, &goal.base, error).await;
    }
    if goal.spec.squash {
        checkout.git(words!["reset", "--soft", &onto], "reset").await?;
        let message = format!("{}\n\n{}\n\n{trailer}\n", goal.title, goal.spec.text.trim());
        let commit = words!["commit", "--quiet", "--no-verify", "--allow-empty", "-m", &message];
        checkout.git(commit, "commit").await?;
    }
    let commit = checkout.head().await?;
    let asked = [format!("{onto}^{{tree}}"), format!("{commit}^{{tree}}"), format!("{onto}:{CHECK_FILE}")];
    let names = checkout.object_names(&asked).await?;
    if names[0].is_some() && names[0] == names[1] {
        checkout.remove();
        return Ok(Prepared::Nothing);
    }
    let has_check = names[2].is_some();
    Ok(Prepared::Ready(Ready { checkout, commit, onto, has_check, has_files: true, is_in_source: false }))
}

async fn conflict(checkout: &Checkout, base: &str, error: GoalError) -> Result<Prepared, GoalError> {
    let files = checkout.git(words!["diff", "--name-only", "--diff-filter=U"], "diff").await.unwrap_or_default();
    if files.trim().is_empty() {
        return Err(error);
    }
    let mut sides = checkout.git(words!["diff", "--no-ext-diff", "--no-textconv"], "diff").await.unwrap_or_default();
    sides.truncate(sides.floor_char_boundary(CONFLICT_MAX));
    checkout.remove();
    Ok(Prepared::Conflict(format!(
        "Your work conflicts with what has landed on '{base}' since you began, in:\n{files}\nThe conflict:\n{sides}\n\
         Do your change again so that it fits onto what is there now."
    )))
}

/// The checks of a landing are the branch's, not the work's. Where there are none at all (`more` are the goal's own), no files
/// are needed either.
pub async fn bring_check(ready: &Ready, more: bool) -> Result<bool, GoalError> {
    if !ready.has_files && !ready.has_check && !more {
        return Ok(false);
    }
    if !ready.has_files {
        ready.checkout.fill().await?;
    }
    let file = ready.checkout.folder.join(CHECK_FILE);
    let _ = std::fs::remove_file(&file);
    if ready.has_check {
        ready.checkout.git(words!["checkout", "--quiet", &ready.onto, "--", CHECK_FILE], "checkout").await?;
    }
    Ok(ready.has_check)
}

/// What the target is now, in the source.
pub async fn target_value(repo: &Repository, name: &str) -> Result<Option<String>, GoalError> {
    let seen = if repo.is_local() { repo.loose_at_source(name) } else { None };
    if seen.is_some() {
        return Ok(seen);
    }
    let said = if repo.is_local() {
        repo.at_source(words!["for-each-ref", "--format=%(objectname)", name], "for-each-ref").await?
    } else {
        repo.at_mirror(words!["ls-remote", "--refs", "--", &repo.source, name], "ls-remote").await?
    };
    Ok(said.split_whitespace().next().map(str::to_owned))
}

/// Whether one of the earlier intents has reached the target.
pub async fn find_landed(repo: &Repository, goal: &Goal, intents: &[Intent]) -> Result<Option<Intent>, GoalError> {
    if intents.is_empty() {
        return Ok(None);
    }
    let name = target(goal);
    let Some(now) = target_value(repo, &name).await? else { return Ok(None) };
    if !repo.is_local() {
        repo.refresh(&goal.base, &[name]).await?;
    }
    for intent in intents {
        let ancestor = words!["merge-base", "--is-ancestor", &intent.new_value, &now];
        let reached = if repo.is_local() {
            repo.at_source(ancestor, "merge-base").await.is_ok()
        } else {
            repo.at_mirror(ancestor, "merge-base").await.is_ok()
        };
        if reached {
            return Ok(Some(intent.clone()));
        }
    }
    Ok(None)
}

#[derive(Debug, PartialEq, Eq)]
pub enum MoveOutcome {
    Yes,
    /// Somebody else moved it first: all over again.
    Raced,
    /// A person's uncommitted work is in the way.
    Unclean(String),
}

/// Moves the target from `old` to the commit, or says why not. The commit point.
/// `step` is told between the branch and the tree that has it checked out.
pub async fn move_target(
    repo: &Repository,
    goal: &Goal,
    ready: &Ready,
    old: Option<&str>,
    step: impl Fn(&str),
) -> Result<MoveOutcome, GoalError> {
    // The checks ran what an agent wrote.
    ready.checkout.disarm()?;
    let name = target(goal);
    let tree = if repo.is_local() { checked_out(repo, &name).await? } else { None };
    match tree {
        Some(tree) => fast_forward(repo, goal, ready, old, &tree, step).await,
        None => push(repo, ready, &name, old).await,
    }
}

async fn push(repo: &Repository, ready: &Ready, name: &str, old: Option<&str>) -> Result<MoveOutcome, GoalError> {
    let lease = format!("--force-with-lease={name}:{}", old.unwrap_or_default());
    let refspec = format!("{}:{name}", ready.commit);
    let words = words!["push", "--quiet", &lease, "--", &repo.source, &refspec];
    let pushed = if repo.is_local() {
        ready.checkout.to_its_end(words, "push").await
    } else {
        ready.checkout.git(words, "push").await.map(drop)
    };
    match pushed {
        Ok(()) => Ok(MoveOutcome::Yes),
        Err(error) => {
            let now = target_value(repo, name).await?;
            match now.as_deref() {
                Some(now) if now == ready.commit => Ok(MoveOutcome::Yes),
                now if now != old => Ok(MoveOutcome::Raced),
                _ => Err(error),
            }
        }
    }
}

/// The folder that has the branch checked out.
async fn checked_out(repo: &Repository, name: &str) -> Result<Option<String>, GoalError> {
    let said = repo.at_source(words!["for-each-ref", "--format=%(worktreepath)", name], "for-each-ref").await?;
    Ok(Some(said.trim().to_owned()).filter(|path| !path.is_empty()))
}

async fn in_tree(repo: &Repository, tree: &str, args: &[&OsStr], what: &'static str) -> Result<String, GoalError> {
    let repo = Repository { source: tree.to_owned(), ..repo.clone() };
    repo.at_source(args, what).await
}

async fn fast_forward(
    repo: &Repository,
    goal: &Goal,
    ready: &Ready,
    old: Option<&str>,
    tree: &str,
    step: impl Fn(&str),
) -> Result<MoveOutcome, GoalError> {
    let name = &target(goal);
    let Some(old) = old else { return Ok(MoveOutcome::Raced) };
    let dirty = in_tree(repo, tree, words!["status", "--porcelain", "--untracked-files=no"], "status").await?;
    if !dirty.trim().is_empty() {
        return Ok(MoveOutcome::Unclean(format!("{tree} has '{}' checked out with uncommitted changes", goal.base)));
    }
    if !ready.is_in_source {
        bring_objects(repo, goal, ready).await?;
    }
    if let Err(error) = repo.change_source(words!["update-ref", name, &ready.commit, old], "update-ref").await {
        let now = target_value(repo, name).await?;
        // Where nobody moved it, something is in the way: the person who has to remove it reads what.
        return if now.as_deref() == Some(old) { Err(error) } else { Ok(MoveOutcome::Raced) };
    }
    step("branch-moved");
    update_tree(repo, tree, old, &ready.commit).await?;
    Ok(MoveOutcome::Yes)
}

/// A ref holds them until the branch does.
async fn bring_objects(repo: &Repository, goal: &Goal, ready: &Ready) -> Result<(), GoalError> {
    let holder = repo.landing_ref(goal.id, goal.fence);
    let (from, refspec) = (ready.checkout.folder.join(".git"), format!("+{}:{holder}", ready.commit));
    let fetch = words![
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--no-auto-maintenance",
        "--",
        &from,
        &refspec
    ];
    repo.at_source(fetch, "fetch").await.map(drop)
}

/// Brings a checked-out tree from one commit to the next; changes that a person has made since stay, and are an error.
async fn update_tree(repo: &Repository, tree: &str, old: &str, new: &str) -> Result<(), GoalError> {
    let repo = Repository { source: tree.to_owned(), ..repo.clone() };
    repo.change_source(words!["read-tree", "-m", "-u", old, new], "read-tree").await
}

/// After a lander died between the branch and the tree that has it checked out: the tree follows.
pub async fn finish_tree(repo: &Repository, goal: &Goal, intent: &Intent) -> Result<(), GoalError> {
    let (true, Some(old)) = (repo.is_local(), &intent.old_value) else { return Ok(()) };
    let name = target(goal);
    let Some(tree) = checked_out(repo, &name).await? else { return Ok(()) };
    let at_new = target_value(repo, &name).await?.as_deref() == Some(intent.new_value.as_str());
    // Only a tree that is exactly as it was before the branch moved.
    let untouched = in_tree(repo, &tree, words!["diff-index", "--quiet", old, "--"], "diff-index").await.is_ok();
    if at_new && untouched {
        update_tree(repo, &tree, old, &intent.new_value).await?;
    }
    Ok(())
}
