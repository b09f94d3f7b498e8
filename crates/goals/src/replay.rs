//! Puts a goal's commits onto its branch as it is now, without a working tree: git merges what is stored, and only new
//! objects are written, to where the branch's own objects are. A landing without checks needs no more than that.
//!
//! Deliberately absent: conflicts, merges, and whatever else is unusual. Those are rebased in a clone (`landing`), which also says
//! what is in the way.

use crate::checkout::Checkout;
use crate::error::GoalError;
use crate::goal::Goal;
use crate::repository::{Repository, words};
use process::Stdin;
use std::ffi::OsStr;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Each costs a few processes; from here on a rebase is as good.
const COMMITS_MAX: usize = 20;

#[derive(Debug)]
pub(crate) enum Replay {
    /// The branch has all of it already.
    Nothing,
    Done {
        checkout: Checkout,
        commit: String,
        has_check: bool,
    },
    /// Nothing is done: this takes a rebase.
    Unusual,
}

/// A commit, as far as it is taken over.
#[derive(Debug, PartialEq, Eq)]
struct Stored<'a> {
    tree: &'a str,
    /// With name, address and time.
    author: &'a str,
    message: &'a str,
}

/// `lender` is where the objects are read and written. `check` is the file whose presence on the branch is asked for.
pub(crate) async fn replay(
    lender: &Repository,
    goal: &Goal,
    (head, onto): (&str, &str),
    folder: &Path,
    check: &str,
) -> Result<Replay, GoalError> {
    let checkout = lender.empty_checkout(folder, onto, &goal.branch())?;
    let store = Checkout { git: checkout.git.clone().with_objects(&lender.mirror.join("objects")), ..checkout.clone() };
    let (range, most) = (format!("{onto}..{head}"), format!("-n{}", COMMITS_MAX + 1));
    let listed =
        store.git(words!["rev-list", "--reverse", "--topo-order", "--parents", &most, &range], "rev-list").await?;
    let Some(commits) = chain(&listed) else { return Ok(Replay::Unusual) };
    if commits.is_empty() {
        return Ok(Replay::Nothing);
    }
    let mut asked = format!("contents {onto}\n");
    asked.extend(commits.iter().map(|(commit, _)| format!("contents {commit}\n")));
    asked.push_str(&format!("info {onto}:{check}\n"));
    let batch = store.tell(words!["cat-file", "--batch-command"], Stdin::Bytes(asked.into_bytes()), "cat-file").await;
    let Some((stored, has_check)) = batch.as_deref().ok().and_then(|said| contents(said, commits.len() + 1)) else {
        return Ok(Replay::Unusual);
    };
    let Some((base, stored)) = stored.split_first() else { return Ok(Replay::Unusual) };
    let (mut tip, mut tree) = (onto.to_owned(), base.tree.to_owned());
    for ((commit, parent), stored) in commits.iter().zip(stored) {
        let from = format!("--merge-base={parent}");
        let merge = words!["merge-tree", "--write-tree", "--no-messages", &from, &tip, commit];
        // A conflict, or a git that cannot do this yet.
        let Ok(merged) = store.git(merge, "merge-tree").await else { return Ok(Replay::Unusual) };
        let merged = merged.trim();
        if merged == tree {
            return Ok(Replay::Unusual);
        }
        merged.clone_into(&mut tree);
        let message = marked(&store, stored.message, &format!("Ralph-Goal: {}", goal.id)).await?;
        let text = format!(
            "tree {tree}\nparent {tip}\nauthor {}\ncommitter {} {} +0000\n\n{message}",
            stored.author,
            Repository::committer(),
            SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
        );
        let hash = words!["hash-object", "-t", "commit", "-w", "--stdin"];
        let written = store.tell(hash, Stdin::Bytes(text.into_bytes()), "hash-object").await?;
        written.trim().clone_into(&mut tip);
    }
    if tree == base.tree {
        return Ok(Replay::Nothing);
    }
    checkout.set_branch(&goal.branch(), &tip)?;
    Ok(Replay::Done { checkout, commit: tip, has_check })
}

/// Each commit with its parent; `None` where one is no plain change of one other, or there are many.
fn chain(listed: &str) -> Option<Vec<(&str, &str)>> {
    let commits: Option<Vec<(&str, &str)>> = listed.lines().map(|line| line.split_once(' ')).collect();
    commits.filter(|commits| commits.len() <= COMMITS_MAX && commits.iter().all(|(_, parent)| !parent.contains(' ')))
}

/// So many commits, and whether the object after them exists.
fn contents(said: &str, count: usize) -> Option<(Vec<Stored<'_>>, bool)> {
    let mut rest = said;
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        let (header, after) = rest.split_once('\n')?;
        let (kind, size) = header.split_once(' ')?.1.split_once(' ')?;
        // Text that is not UTF-8 has another size by now, or is cut in a letter.
        let (text, after) = (after.get(..size.parse().ok()?)?, after.get(size.parse::<usize>().ok()?..)?);
        rest = after.strip_prefix('\n')?;
        all.push(stored(text).filter(|_| kind == "commit")?);
    }
    Some((all, !rest.trim_end().ends_with(" missing")))
}

/// `None` where a commit says more than most: a signature, an encoding.
fn stored(text: &str) -> Option<Stored<'_>> {
    let (head, message) = text.split_once("\n\n")?;
    let mut found = Stored { tree: "", author: "", message };
    for line in head.lines() {
        match line.split_once(' ')? {
            ("tree", tree) => found.tree = tree,
            ("author", author) => found.author = author,
            ("parent" | "committer", _) => {}
            _ => return None,
        }
    }
    (!found.tree.is_empty() && !found.author.is_empty() && !text.contains('\u{fffd}')).then_some(found)
}

/// The message with the trailer. Where it is a title alone the trailer stands by itself; git knows about the others.
async fn marked(store: &Checkout, message: &str, trailer: &str) -> Result<String, GoalError> {
    if !message.trim().contains("\n\n") {
        return Ok(format!("{}\n\n{trailer}\n", message.trim()));
    }
    let words = [OsStr::new("interpret-trailers"), OsStr::new("--trailer"), OsStr::new(trailer)];
    store.tell(&words, Stdin::Bytes(message.as_bytes().to_vec()), "interpret-trailers").await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_commits_are_taken() {
        let plain = "tree t1\nparent p\nauthor A <a@b> 1 +0100\ncommitter C <c@d> 2 +0000\n\ntitle\n\nbody\n";
        let expected = Stored { tree: "t1", author: "A <a@b> 1 +0100", message: "title\n\nbody\n" };
        assert_eq!(stored(plain), Some(expected));
        for unusual in [
            plain.replace("\n\ntitle", "\nencoding latin1\n\ntitle"),
            plain.replace("\n\ntitle", "\ngpgsig -----BEGIN\n AAAA\n\n\ntitle"),
            plain.replace("body", "b\u{fffd}dy"),
            plain.replace("author", "autor"),
            "tree t1".to_owned(),
        ] {
            assert_eq!(stored(&unusual), None, "{unusual}");
        }
    }

    #[test]
    fn answers_are_read_by_their_size() {
        let one = "tree t\nauthor a\n\nsays\n\n0123 commit 9\n";
        let said = format!("{} commit {}\n{one}\nmain:.ralph/check missing\n", "0".repeat(40), one.len());
        let (all, has_check) = contents(&said, 1).unwrap();
        assert_eq!((all[0].message, has_check), ("says\n\n0123 commit 9\n", false));
        let there = said.replace("main:.ralph/check missing", "4567 blob 7");
        assert!(contents(&there, 1).unwrap().1);
        for broken in [said.replace(" commit ", " blob "), said.replace("tree t\n", "tree t€€€\n"), String::new()]
        {
            assert!(contents(&broken, 1).is_none(), "{broken}");
        }
    }

    #[test]
    fn merges_and_long_lists_are_left_to_a_rebase() {
        assert_eq!(chain("c2 c1\nc3 c2\n"), Some(vec![("c2", "c1"), ("c3", "c2")]));
        assert_eq!(chain(""), Some(Vec::new()));
        assert_eq!(chain("c2 c1 b1\n"), None, "two parents");
        assert_eq!(chain("c1\n"), None, "none");
        assert_eq!(chain(&"c2 c1\n".repeat(COMMITS_MAX + 1)), None);
    }
}
