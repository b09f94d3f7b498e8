//! The changes of a run as git reports them: since its start, or in one iteration. Every call goes through `process::Git`, which obeys
//! nothing that a repository says.

use super::{Found, apart};
use crate::app::App;
use crate::files::ServedFolders;
use crate::problem::Problem;
use crate::request;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use serde::Deserialize;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::sync::Arc;
use std::time::Duration;

const GIT_TIME: Duration = Duration::from_secs(30);
/// More than anybody reads; the rest is in the repository.
const DIFF_MAX: usize = 2 * 1024 * 1024;
/// New files that are not committed: how many are shown, and how much of each.
const NEW_FILES_MAX: usize = 50;
const NEW_FILE_MAX: usize = 64 * 1024;

#[derive(Deserialize)]
struct DiffQuery {
    iteration: Option<u32>,
}

/// Commits of a run, by what its recording says: where it began, its oldest and its newest, and files that it touched.
#[derive(Debug, Default)]
struct Touched {
    /// Of a whole run: the commit that it began with.
    head: Option<String>,
    oldest: Option<String>,
    newest: Option<String>,
    files: Vec<String>,
}

pub async fn diff(State(app): State<Arc<App>>, Path(id): Path<String>, uri: Uri) -> Result<Json<Value>, Problem> {
    let found = app.runs.find(&id)?;
    let DiffQuery { iteration } = request::query(&uri)?;
    let (book, reading) = (app.clone(), found.clone());
    let touched = apart(move || book.runs.read(&reading, |fold| touched(fold, iteration))).await??;
    let git = process::Git::find(&app.env).ok_or_else(|| Problem::unavailable("git is not on PATH"))?;
    let git = git.without_filters(found.folder.root(), GIT_TIME).await;
    let call = Call { git: &git, found: &found };
    let base = match (&touched.head, &touched.oldest) {
        (Some(head), _) => Some(head.clone()),
        (None, Some(commit)) => call.run(&["rev-parse", "--verify", "--quiet", &format!("{commit}^")]).await.ok(),
        (None, None) => None,
    };
    let base = base.map_or_else(|| "HEAD".to_owned(), |base| base.trim().to_owned());
    let mut words =
        vec!["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", base.as_str()];
    // An iteration ends with its last commit; a run, with what lies in the folder now.
    let newest = touched.newest.as_deref().filter(|_| iteration.is_some());
    words.extend(newest);
    words.extend(["--", ".", ":(exclude).ralph"]);
    let text = call.run(&words).await.map_err(|error| Problem::conflict(error.to_string()))?;
    let fresh = if newest.is_none() { call.untracked(&touched.files, &app.folders).await } else { String::new() };
    let text = text + &fresh;
    let cut = text.floor_char_boundary(DIFF_MAX.min(text.len()));
    Ok(Json(json!({
        "base": base,
        "files": touched.files,
        "diff": &text[..cut],
        "truncated": cut < text.len(),
        // Otherwise it is everything that differs from the last commit, whoever did it.
        "exact": touched.head.is_some() || touched.oldest.is_some(),
    })))
}

fn touched(fold: &super::fold::RunFold, iteration: Option<u32>) -> Touched {
    let head = fold.head.as_deref().and_then(hash);
    let mut touched = Touched { head: head.filter(|_| iteration.is_none()), ..Touched::default() };
    let wanted = fold.receipts.iter().filter(|ended| iteration.is_none_or(|number| ended.iteration == number));
    for ended in wanted {
        let changed = &ended.receipt.changed;
        // Newest first, as `hash subject`.
        let mut hashes = changed.commits.iter().filter_map(|line| hash(line));
        touched.newest = hashes.next().or(touched.newest);
        let oldest = changed.commits.iter().rev().find_map(|line| hash(line));
        touched.oldest = touched.oldest.or(oldest);
        touched.files.extend(changed.files.iter().map(|file| file.path.clone()));
    }
    touched.files.sort();
    touched.files.dedup();
    touched
}

/// A commit's hash, and nothing that git could take for an option.
fn hash(line: &str) -> Option<String> {
    let word = line.split_whitespace().next()?;
    (word.len() >= 4 && word.chars().all(|letter| letter.is_ascii_hexdigit())).then(|| word.to_owned())
}

struct Call<'a> {
    git: &'a process::Git,
    found: &'a Found,
}

impl Call<'_> {
    async fn run(&self, words: &[&str]) -> Result<String, process::GitError> {
        let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
        self.git.run(self.found.folder.root(), &words, GIT_TIME).await
    }

    /// New files of the run that git does not know yet, written as a diff.
    async fn untracked(&self, files: &[String], folders: &ServedFolders) -> String {
        let listed =
            self.run(&["ls-files", "-z", "--others", "--exclude-standard", "--", ".", ":(exclude).ralph"]).await;
        let listed = listed.unwrap_or_default();
        let mut text = String::new();
        let ours = listed.split('\0').filter(|path| files.iter().any(|file| file == path)).take(NEW_FILES_MAX);
        for path in ours {
            let place = folders.place(&self.found.folder.root().join(path).display().to_string());
            let Ok(bytes) = place.and_then(|served| served.read(NEW_FILE_MAX)) else { continue };
            text.push_str(&as_new_file(path, &bytes));
        }
        text
    }
}

fn as_new_file(path: &str, bytes: &[u8]) -> String {
    let Ok(content) = std::str::from_utf8(bytes) else {
        return format!("diff --git a/{path} b/{path}\nnew file\nBinary files /dev/null and b/{path} differ\n");
    };
    let lines: Vec<&str> = content.lines().collect();
    let body: String = lines.iter().map(|line| format!("+{line}\n")).collect();
    format!(
        "diff --git a/{path} b/{path}\nnew file\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{} @@\n{body}",
        lines.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hashes_reach_git() {
        assert_eq!(hash("abc1234 subject"), Some("abc1234".into()));
        for line in ["--output=/x subject", "HEAD", "", "ab"] {
            assert_eq!(hash(line), None, "{line}");
        }
    }

    #[test]
    fn a_new_file_is_shown_as_added_lines() {
        assert!(as_new_file("a.txt", b"one\ntwo\n").ends_with("@@ -0,0 +1,2 @@\n+one\n+two\n"));
        assert!(as_new_file("a.bin", &[0xff, 0]).contains("Binary files"));
    }
}
