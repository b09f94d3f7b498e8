//! Sessions by their age, with what a person needs to choose one.

use crate::peek::Peek;
use crate::store::{Store, sessions_by_age};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// One session of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    pub id: String,
    /// Where it worked; `None` where the file does not say.
    pub cwd: Option<PathBuf>,
    /// The title that a user gave, or else the first prompt.
    pub title: Option<String>,
    pub modified: SystemTime,
}

/// One page of a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    pub sessions: Vec<Listed>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<usize>,
}

impl Store {
    /// The sessions of this project, or of all projects, the newest first. Files that hold no conversation are passed
    /// over, so a page may be shorter than `count`.
    pub fn list(&self, is_all: bool, offset: usize, count: usize) -> Page {
        let folders = if is_all { self.folders() } else { vec![self.project_dir().to_owned()] };
        let mut files: Vec<(SystemTime, PathBuf)> = folders.iter().flat_map(|folder| sessions_by_age(folder)).collect();
        files.sort_by(|one, other| other.cmp(one));
        let end = offset.saturating_add(count);
        let page = files.iter().skip(offset).take(count);
        let sessions = page.filter_map(|(modified, path)| listed(path, *modified)).collect();
        Page { sessions, next: (end < files.len()).then_some(end) }
    }

    /// Removes a session with all that belongs to it. One that is not there is removed already.
    pub fn remove(&self, id: &str) -> std::io::Result<()> {
        if !crate::is_session_id(id) {
            return Ok(());
        }
        let Some(file) = self.find(id) else { return Ok(()) };
        std::fs::remove_file(&file)?;
        match std::fs::remove_dir_all(file.with_extension("")) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

fn listed(path: &Path, modified: SystemTime) -> Option<Listed> {
    let peek = Peek::at(path).filter(Peek::is_conversation)?;
    let id = path.file_stem()?.to_str()?.to_owned();
    let entries: Vec<Value> = peek.first_entries().collect();
    let cwd = entries.iter().find_map(|entry| entry["cwd"].as_str()).map(PathBuf::from);
    let title = peek.title().or_else(|| entries.iter().find_map(first_prompt));
    Some(Listed { id, cwd, title, modified })
}

fn first_prompt(entry: &Value) -> Option<String> {
    if entry["type"] != "user" || entry["isMeta"] == true || entry["isSidechain"] == true {
        return None;
    }
    let content = &entry["message"]["content"];
    let mut blocks = content.as_array().into_iter().flatten();
    let text = content.as_str().or_else(|| blocks.find_map(|block| block["text"].as_str()))?;
    if let Some(command) = command(text) {
        return Some(command);
    }
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('<'))?;
    Some(line.to_owned())
}

/// A command as it was typed.
fn command(text: &str) -> Option<String> {
    let tagged = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        Some(rest.split_once(&format!("</{tag}>"))?.0.trim().to_owned())
    };
    let name = tagged("command-name").filter(|_| text.starts_with("<command-"))?;
    Some(format!("{name} {}", tagged("command-args").unwrap_or_default()).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ONE: &str = "00000000-0000-4000-8000-000000000001";
    const TWO: &str = "00000000-0000-4000-8000-000000000002";

    fn write(store: &Store, id: &str, entries: &[Value], age_s: u64) {
        let path = store.path(id);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let lines: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
        std::fs::write(&path, lines).unwrap();
        let time = SystemTime::now() - std::time::Duration::from_secs(age_s);
        std::fs::File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
    }

    #[test]
    fn sessions_are_listed_by_age_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let here = Store::new(dir.path(), Path::new("/w"), None);
        let there = Store::new(dir.path(), Path::new("/x"), None);
        let prompt = |cwd: &str, text: &str| json!({"type": "user", "cwd": cwd, "message": {"content": text}});
        write(&here, ONE, &[prompt("/w", "<hint>\nmake it\nnow")], 100);
        let title = json!({"type": "custom-title", "customTitle": "named"});
        write(&there, TWO, &[prompt("/x", "other"), title], 10);
        let all = here.list(true, 0, 10);
        let short: Vec<_> = all.sessions.iter().map(|one| (one.id.as_str(), one.title.as_deref())).collect();
        assert_eq!((short, all.next), (vec![(TWO, Some("named")), (ONE, Some("make it"))], None));
        assert_eq!(here.list(false, 0, 10).sessions[0].cwd.as_deref(), Some(Path::new("/w")));
        let first = here.list(true, 0, 1);
        assert_eq!((first.sessions.len(), first.next), (1, Some(1)));
        std::fs::create_dir_all(here.side_dir(ONE)).unwrap();
        for _ in 0..2 {
            here.remove(ONE).unwrap();
        }
        here.remove("../../etc").unwrap();
        assert!(!here.path(ONE).exists() && !here.side_dir(ONE).exists() && there.path(TWO).exists());
    }
}
