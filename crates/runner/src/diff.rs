//! The changes of a run as text for a report: git's diff from the run's first commit to its last one, or to the files as they are.

use crate::git::Git;
use crate::{Folder, RunInfo, files, list};
use process::Env;
use sandbox::Rules;
use std::io::Read as _;

/// New files that are shown, and how much of each.
const NEW_FILES_MAX: usize = 50;
const NEW_FILE_BYTES: u64 = 64 * 1024;

/// The diff of a run; `None` where there is no repository, or the run does not say where it began. Files that are not committed count for the
/// newest run only: nobody knows whose they are after another one.
pub async fn run_diff(folder: &Folder, info: &RunInfo, env: &Env, rules: Option<&Rules>) -> Option<String> {
    let since = info.head.as_deref().filter(|head| is_hash(head))?;
    let git = Git::open(folder.root(), env, rules).await?;
    if list(folder).first() == Some(&info.id) {
        let mut text = git.diff(since, None).await?;
        for path in git.untracked().await.iter().take(NEW_FILES_MAX) {
            text.push_str(&new_file(folder, path));
        }
        return Some(text);
    }
    // Newest first, in every iteration.
    let last = info.receipts.iter().rev().find_map(|(_, receipt)| receipt.changed.commits.first())?;
    let until = last.split(' ').next().filter(|hash| is_hash(hash))?;
    git.diff(since, Some(until)).await
}

/// Recordings lie where agents work: nothing but a hash becomes an argument.
fn is_hash(text: &str) -> bool {
    (7..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// As git would print it. Links, and files that are no text, are only named.
fn new_file(folder: &Folder, path: &str) -> String {
    let mut bytes = Vec::new();
    let read = files::source(folder.root(), &folder.root().join(path))
        .and_then(|file| file.take(NEW_FILE_BYTES).read_to_end(&mut bytes));
    let head = format!("diff --git a/{path} b/{path}\nnew file\n");
    match (read, std::str::from_utf8(&bytes)) {
        (Ok(_), Ok(text)) => {
            let lines: String = text.lines().map(|line| format!("+{line}\n")).collect();
            format!("{head}--- /dev/null\n+++ b/{path}\n@@ new file @@\n{lines}")
        }
        _ => format!("{head}Binary file, or longer than is shown here\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hashes_are_commits() {
        for (text, fine) in [("4da300d", true), ("--output=x", false), ("", false), ("HEAD", false), ("abc", false)] {
            assert_eq!(is_hash(text), fine, "{text}");
        }
    }

    #[test]
    fn new_files_are_shown_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path().join("w"));
        std::fs::create_dir(folder.root()).unwrap();
        std::fs::write(folder.root().join("a"), "one\ntwo\n").unwrap();
        std::fs::write(dir.path().join("secret"), "SECRET").unwrap();
        std::os::unix::fs::symlink("../secret", folder.root().join("link")).unwrap();
        assert!(new_file(&folder, "a").ends_with("@@ new file @@\n+one\n+two\n"));
        assert!(!new_file(&folder, "link").contains("SECRET"));
    }
}
