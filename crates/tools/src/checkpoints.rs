//! Files as they were before each prompt, so that a client can take the agent's edits back.
//!
//! Only files that our own tools change are kept; what commands do is not seen. Backups and a list of
//! them lie beside the transcripts, so that a resumed session can rewind too.

use crate::stamp::Stamp;
use crate::workspace::{PathError, Target, Workspace};
use sandbox::{PathRefusal, Rules};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

/// A larger file is not kept: an agent edits source, not disk images.
const FILE_MAX: u64 = 64 * 1024 * 1024;

#[derive(Serialize, Deserialize)]
struct Entry {
    message: String,
    /// Absent on the line that only says that a prompt came.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<PathBuf>,
    /// The copy's name; none for a file that did not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<String>,
}

pub struct Checkpoints {
    folder: Option<PathBuf>,
    prompt: RefCell<String>,
    kept: RefCell<HashSet<PathBuf>>,
}

impl Checkpoints {
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, prompt: RefCell::default(), kept: RefCell::default() }
    }

    /// A new prompt: from here on changed files are kept again.
    pub fn begin(&self, message: &str) {
        message.clone_into(&mut self.prompt.borrow_mut());
        self.kept.borrow_mut().clear();
        self.note(&Entry { message: message.to_owned(), path: None, backup: None });
    }

    /// Keeps a file that is about to be written, once a prompt.
    pub fn before_write(&self, path: &Path) {
        let Some(folder) = &self.folder else { return };
        if !self.kept.borrow_mut().insert(path.to_owned()) {
            return;
        }
        let backup = match std::fs::metadata(path) {
            Ok(data) if data.len() > FILE_MAX => return,
            Ok(_) => match copy(path, folder) {
                Ok(name) => Some(name),
                Err(_) => return,
            },
            Err(_) => None,
        };
        let message = self.prompt.borrow().clone();
        self.note(&Entry { message, path: Some(path.to_owned()), backup });
    }

    /// A list that cannot be written costs the rewind, never the run.
    fn note(&self, entry: &Entry) {
        let Some(folder) = &self.folder else { return };
        let Ok(mut line) = serde_json::to_vec(entry) else { return };
        line.push(b'\n');
        let open = || {
            std::fs::create_dir_all(folder)?;
            std::fs::OpenOptions::new().create(true).append(true).open(folder.join(LIST))
        };
        let _ = open().and_then(|mut list| list.write_all(&line));
    }

    /// Each file changed since that prompt, with its copy from before; `None` for an unknown prompt.
    fn since(&self, message: &str) -> Option<BTreeMap<PathBuf, Option<String>>> {
        let text = std::fs::read_to_string(self.folder.as_ref()?.join(LIST)).ok()?;
        let entries = text.lines().filter_map(|line| serde_json::from_str::<Entry>(line).ok());
        let mut found = false;
        let mut files = BTreeMap::new();
        for entry in entries {
            found |= entry.message == message;
            if let Some(path) = entry.path.filter(|_| found) {
                files.entry(path).or_insert(entry.backup);
            }
        }
        found.then_some(files)
    }
}

const LIST: &str = "checkpoints.jsonl";

fn copy(path: &Path, folder: &Path) -> std::io::Result<String> {
    std::fs::create_dir_all(folder)?;
    let name = uuid::Uuid::new_v4().simple().to_string();
    std::fs::copy(path, folder.join(&name))?;
    Ok(name)
}

/// Why files are not as they were when a prompt came.
#[derive(Debug, thiserror::Error)]
pub enum RewindError {
    #[error("File rewinding is not enabled.")]
    Off,
    #[error("rewind_files needs \"user_message_id\", a string")]
    NoMessage,
    #[error("No file checkpoint found for this message.")]
    NoCheckpoint,
    #[error("{} cannot be restored: {why}. No file was changed.", .path.display())]
    Unusable { path: PathBuf, why: RestoreError },
    /// In the middle: files before this one are restored.
    #[error("{} cannot be restored: {why}", .path.display())]
    Unwritable { path: PathBuf, why: std::io::Error },
}

/// Why one file cannot be restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error(transparent)]
    Fence(#[from] PathRefusal),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("a symbolic link is in its place")]
    Link,
    #[error("it is outside of the folders of this session")]
    Outside,
    #[error("its copy is unreadable ({0})")]
    Copy(std::io::Error),
    #[error(transparent)]
    Read(#[from] std::io::Error),
}

/// One file of a rewind: what is there now, and what was there before.
struct Restored {
    target: Target,
    now: Option<Vec<u8>>,
    stamp: Option<Stamp>,
    before: Option<Vec<u8>>,
}

/// `rewind_files`: every file as it was when the prompt came. Everything is read before anything is written, so that a
/// problem leaves all files as they are.
pub fn rewind(
    checkpoints: &Checkpoints,
    workspace: &Workspace,
    fence: Option<&Rules>,
    request: &Value,
) -> Result<Value, RewindError> {
    let folder = checkpoints.folder.as_ref().ok_or(RewindError::Off)?;
    let message = request["user_message_id"].as_str().ok_or(RewindError::NoMessage)?;
    let files = checkpoints.since(message).ok_or(RewindError::NoCheckpoint)?;
    let mut changes = Vec::new();
    for (path, backup) in files {
        let permitted = fence.map_or(Ok(()), |fence| fence.may_write(&path)).map_err(RestoreError::from);
        let change = permitted
            .and_then(|()| restored(workspace, folder, &path, backup.as_deref()))
            .map_err(|why| RewindError::Unusable { path, why })?;
        if change.now != change.before {
            changes.push(change);
        }
    }
    let (mut insertions, mut deletions) = (0, 0);
    for change in &changes {
        let (added, removed) = line_changes(change.now.as_deref(), change.before.as_deref());
        insertions += added;
        deletions += removed;
    }
    if request["dry_run"] != true {
        for change in &changes {
            restore(workspace, change)
                .map_err(|why| RewindError::Unwritable { path: change.target.real.clone(), why })?;
        }
    }
    let changed: Vec<&PathBuf> = changes.iter().map(|change| &change.target.real).collect();
    Ok(json!({"canRewind": true, "filesChanged": changed, "insertions": insertions, "deletions": deletions}))
}

/// A path that is kept was written by a tool of ours, so it led where it says. If it now leads elsewhere, somebody has put a
/// link in its place; if it lies outside of the session's folders, it is not ours to write.
fn restored(workspace: &Workspace, folder: &Path, path: &Path, backup: Option<&str>) -> Result<Restored, RestoreError> {
    let target = workspace.resolve(&path.to_string_lossy())?.for_writing();
    if target.real != path || std::fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink()) {
        return Err(RestoreError::Link);
    }
    if !workspace.contains(&target.real) {
        return Err(RestoreError::Outside);
    }
    let before = match backup {
        Some(name) => Some(std::fs::read(folder.join(name)).map_err(RestoreError::Copy)?),
        None => None,
    };
    let (now, stamp) = match workspace.open_read(&target) {
        Ok(mut file) => {
            let mut bytes = Vec::new();
            let about = file.metadata()?;
            file.read_to_end(&mut bytes)?;
            (Some(bytes), Some(Stamp::of(&about)))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => (None, None),
        Err(error) => return Err(error.into()),
    };
    Ok(Restored { target, now, stamp, before })
}

fn restore(workspace: &Workspace, change: &Restored) -> std::io::Result<()> {
    match &change.before {
        Some(bytes) => workspace.replace(&change.target, bytes, change.stamp.as_ref()).map(drop),
        None => std::fs::remove_file(&change.target.real),
    }
}

/// Lines that the rewind adds and takes away.
fn line_changes(now: Option<&[u8]>, before: Option<&[u8]>) -> (usize, usize) {
    let lines = |bytes: Option<&[u8]>| -> Vec<String> {
        bytes.map(|bytes| String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect()).unwrap_or_default()
    };
    let (now, before) = (lines(now), lines(before));
    let had: HashSet<&String> = now.iter().collect();
    let has: HashSet<&String> = before.iter().collect();
    (before.iter().filter(|line| !had.contains(line)).count(), now.iter().filter(|line| !has.contains(line)).count())
}

#[cfg(test)]
#[path = "checkpoints_tests.rs"]
mod tests;
