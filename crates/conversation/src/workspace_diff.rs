//! What was changed in a working folder since its last commit, as clients show it. Git is asked disarmed; reading its answer is
//! pure. Files that a rule denies to read are left out.

use process::{Env, Git};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;
use tools::Denied;

/// For git, in a repository of any size; a client waits.
const GIT: Duration = Duration::from_secs(10);

/// What git is asked for. Programs and submodules of the repository are left alone.
const DIFF: [&str; 9] = [
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--ignore-submodules=all",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "HEAD",
];
const UNTRACKED: [&str; 4] = ["ls-files", "--others", "--exclude-standard", "-z"];

/// Lines that are shown in all; of the others only the numbers are told. A line on the wire stays below a mebibyte.
const LINES_MAX: usize = 5_000;
/// Characters of one line.
const LINE_MAX: usize = 500;
/// Files that are listed.
const FILES_MAX: usize = 1_000;

/// One changed file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ChangedFile {
    path: String,
    added: usize,
    removed: usize,
    is_binary: bool,
    is_untracked: bool,
    hunks: Vec<Hunk>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Hunk {
    old: (usize, usize),
    new: (usize, usize),
    lines: Vec<String>,
}

/// In the form of `get_workspace_diff`. Null where there is no repository, or git takes too long.
pub async fn workspace_diff(env: &Env, folder: &Path, denied: &Denied) -> Value {
    let Some(git) = Git::find(env) else { return Value::Null };
    let git = git.without_filters(folder, GIT).await;
    let run = async |words: &[&str]| {
        let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
        git.run(folder, &words, GIT).await
    };
    // Only a repository can tell its new files; one without a commit has no changed ones.
    let Ok(new) = run(&UNTRACKED).await else { return Value::Null };
    let mut files = changed_files(&run(&DIFF).await.unwrap_or_default(), &new);
    files.retain(|file| !denied(&folder.join(&file.path)));
    diff_value(&files)
}

/// The files that git's answers name.
fn changed_files(diff: &str, untracked: &str) -> Vec<ChangedFile> {
    let mut reader = Reader::default();
    for line in diff.lines() {
        reader.line(line);
    }
    let new = untracked.split('\0').filter(|path| !path.is_empty());
    let new = new.map(|path| ChangedFile { path: path.to_owned(), is_untracked: true, ..ChangedFile::default() });
    reader.files.into_iter().filter(|file| !file.path.is_empty()).chain(new).take(FILES_MAX).collect()
}

fn diff_value(files: &[ChangedFile]) -> Value {
    let sum = |number: fn(&ChangedFile) -> usize| files.iter().map(number).sum::<usize>();
    let stats = |file: &ChangedFile| {
        json!({
            "path": file.path,
            "added": file.added,
            "removed": file.removed,
            "isBinary": file.is_binary,
            "isUntracked": file.is_untracked,
        })
    };
    let hunk = |hunk: &Hunk| {
        let ((old_start, old_lines), (new_start, new_lines)) = (hunk.old, hunk.new);
        json!({"oldStart": old_start, "oldLines": old_lines, "newStart": new_start, "newLines": new_lines, "lines": hunk.lines})
    };
    let shown = files.iter().filter(|file| !file.hunks.is_empty());
    json!({
        "stats": {"filesCount": files.len(), "linesAdded": sum(|file| file.added), "linesRemoved": sum(|file| file.removed)},
        "perFileStats": files.iter().map(stats).collect::<Vec<_>>(),
        "hunks": shown.map(|file| json!({"path": file.path, "hunks": file.hunks.iter().map(hunk).collect::<Vec<_>>()})).collect::<Vec<_>>(),
    })
}

#[derive(Default)]
struct Reader {
    files: Vec<ChangedFile>,
    /// Lines of the old and the new file that the hunk still has.
    left: (usize, usize),
    shown: usize,
}

impl Reader {
    fn line(&mut self, line: &str) {
        if self.left != (0, 0) {
            return self.content(line);
        }
        if line.starts_with("diff --git ") {
            return self.files.push(ChangedFile::default());
        }
        let Some(file) = self.files.last_mut() else { return };
        if let Some(path) = line.strip_prefix("--- ").or_else(|| line.strip_prefix("+++ ")) {
            // A file that is new or gone has its name on one side only.
            if let Some(path) = plain(path) {
                file.path = path;
            }
        } else if let Some(names) = line.strip_prefix("Binary files ").and_then(|rest| rest.strip_suffix(" differ")) {
            file.is_binary = true;
            let sides = names.split(" and ").filter_map(plain);
            file.path = sides.last().unwrap_or_default();
        } else if let Some((old, new)) = line.strip_prefix("@@ ").and_then(hunk_head) {
            self.left = (old.1, new.1);
            file.hunks.push(Hunk { old, new, lines: Vec::new() });
        }
    }

    fn content(&mut self, line: &str) {
        let Some(file) = self.files.last_mut() else { return };
        let (old, new) = &mut self.left;
        match line.as_bytes().first() {
            Some(b'+') => {
                file.added += 1;
                *new = new.saturating_sub(1);
            }
            Some(b'-') => {
                file.removed += 1;
                *old = old.saturating_sub(1);
            }
            Some(b'\\') => return,
            _ => (*old, *new) = (old.saturating_sub(1), new.saturating_sub(1)),
        }
        if self.shown < LINES_MAX
            && let Some(hunk) = file.hunks.last_mut()
        {
            self.shown += 1;
            hunk.lines.push(line.chars().take(LINE_MAX).collect());
        }
    }
}

/// `-1,2 +3,4 @@ …`
fn hunk_head(rest: &str) -> Option<((usize, usize), (usize, usize))> {
    let side = |word: &str, sign: char| {
        let numbers = word.strip_prefix(sign)?;
        let (start, count) = numbers.split_once(',').unwrap_or((numbers, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let mut words = rest.split(' ');
    Some((side(words.next()?, '-')?, side(words.next()?, '+')?))
}

/// A path without its prefix. Git writes one with unusual letters in quotes.
fn plain(side: &str) -> Option<String> {
    let side = side.trim_end_matches('\t').trim_matches('"');
    let path = side.strip_prefix("a/").or_else(|| side.strip_prefix("b/"))?;
    Some(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "diff --git a/a.txt b/a.txt\nindex 1..2 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@ head\n one\n--- two\n+++ zwei\n three\n\\ No newline at end of file\ndiff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\ndiff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ\ndiff --git a/mode b/mode\nold mode 100644\n";

    #[test]
    fn a_diff_becomes_files_with_their_hunks() {
        let files = changed_files(TEXT, "new one.txt\0");
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["a.txt", "gone", "p.png", "new one.txt"]);
        let value = diff_value(&files);
        assert_eq!(value["stats"], json!({"filesCount": 4, "linesAdded": 1, "linesRemoved": 2}));
        assert_eq!(value["hunks"][0]["hunks"][0]["lines"], json!([" one", "--- two", "+++ zwei", " three"]));
        assert_eq!(
            value["perFileStats"][2],
            json!({"path": "p.png", "added": 0, "removed": 0, "isBinary": true, "isUntracked": false})
        );
        assert_eq!(value["perFileStats"][3]["isUntracked"], true);
    }

    #[test]
    fn long_diffs_are_counted_and_cut() {
        let lines = "+x\n".repeat(LINES_MAX + 7);
        let text = format!("diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -0,0 +1,{} @@\n{lines}", LINES_MAX + 7);
        let value = diff_value(&changed_files(&text, ""));
        assert_eq!(value["stats"]["linesAdded"], LINES_MAX + 7);
        assert_eq!(value["hunks"][0]["hunks"][0]["lines"].as_array().unwrap().len(), LINES_MAX);
    }

    #[test]
    fn strange_text_is_no_panic() {
        for text in
            ["", "@@ -1 +1 @@\n+x", "diff --git\n@@ -x +y @@\n--- q\n", "diff --git a/f b/f\n@@ -1,9 +1,9 @@\né"]
        {
            diff_value(&changed_files(text, "\0\0"));
        }
    }
}
