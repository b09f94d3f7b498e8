//! The open work of a folder without a todo list: the issues of a tracker that keeps them in the folder.
//!
//! Deliberately absent: asking the tracker itself. This is for the eye, once an iteration, and must not wait.

use crate::Folder;
use cycle::{TodoItem, TodoState};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};

/// Of the file: far above what people keep in one.
const BYTES_MAX: u64 = 4 * 1024 * 1024;
/// More than any screen shows.
const ITEMS_MAX: usize = 200;

/// The issues of `.beads/issues.jsonl`: what is worked on first, then what is open, then what is done.
pub(crate) fn items(folder: &Folder) -> Vec<TodoItem> {
    let path = folder.root().join(".beads/issues.jsonl");
    let Ok(file) = std::fs::File::open(path) else { return Vec::new() };
    let lines = BufReader::new(file.take(BYTES_MAX)).lines().map_while(Result::ok);
    let mut items: Vec<TodoItem> = lines.filter_map(|line| item(&serde_json::from_str(&line).ok()?)).collect();
    items.sort_by_key(|item| match item.state {
        TodoState::Active => 0,
        TodoState::Open => 1,
        TodoState::Done => 2,
    });
    items.truncate(ITEMS_MAX);
    items
}

/// The issues that somebody works on now.
pub(crate) fn in_work(folder: &Folder) -> Vec<String> {
    let active = items(folder).into_iter().filter(|item| item.state == TodoState::Active);
    active.map(|item| item.text).collect()
}

fn item(issue: &Value) -> Option<TodoItem> {
    let id = issue["id"].as_str()?;
    let state = match issue["status"].as_str() {
        Some("in_progress") => TodoState::Active,
        Some("closed") => TodoState::Done,
        Some("tombstone") => return None,
        _ => TodoState::Open,
    };
    Some(TodoItem { text: format!("{id} {}", issue["title"].as_str().unwrap_or_default()), state })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issues_are_sorted_by_what_they_want() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path());
        assert_eq!(items(&folder), []);
        std::fs::create_dir(dir.path().join(".beads")).unwrap();
        let issue = |id: &str, status: &str| format!(r#"{{"id":"{id}","title":"t","status":"{status}"}}"#);
        let lines = [
            issue("a", "closed"),
            issue("b", "open"),
            "broken".to_owned(),
            issue("c", "in_progress"),
            issue("d", "tombstone"),
            issue("e", "blocked"),
        ];
        std::fs::write(dir.path().join(".beads/issues.jsonl"), lines.join("\n")).unwrap();
        let shown: Vec<_> = items(&folder).into_iter().map(|item| (item.text, item.state)).collect();
        let expected =
            [("c t", TodoState::Active), ("b t", TodoState::Open), ("e t", TodoState::Open), ("a t", TodoState::Done)];
        assert_eq!(shown, expected.map(|(text, state)| (text.to_owned(), state)));
    }
}
