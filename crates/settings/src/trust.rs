//! Which folders the user trusts: `projects[<path>].hasTrustDialogAccepted` in the global file.
//!
//! Trust comes from the user's own file alone; nothing inside a folder can say that it is trusted. A repository is
//! known by its top folder and its first commit, so that another one in its place is not trusted. Both must match,
//! and neither a repository below nor a folder below inherits it. At a start, no history is walked: the record names
//! the commit, and it is enough that the repository has it. Records without a commit (from before, or of a repository
//! that had none yet) count for their exact path until [`trust`] completes them, as every start of a loop does.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

use crate::files::{self, FileLock, STATE_MAX};
use crate::repository::{Top, git_dir};
use crate::{Places, SettingsError, objects};

const ACCEPTED: &str = "hasTrustDialogAccepted";
/// Ours, beside the reference's word.
const FIRST_COMMIT: &str = "ralphFirstCommit";
/// Others hold this lock only while they rewrite one file.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);
/// Of a commit's name, as people read it.
const SHORT_ID: usize = 10;

/// The words we need of a file that may hold megabytes.
#[derive(Deserialize)]
struct GlobalState {
    #[serde(default)]
    projects: HashMap<String, ProjectState>,
}

#[derive(Deserialize)]
struct ProjectState {
    #[serde(default, rename = "hasTrustDialogAccepted")]
    accepted: Option<Value>,
    #[serde(default, rename = "ralphFirstCommit")]
    first_commit: Option<Value>,
}

/// Whether the user trusts the working folder, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// A folder that is no repository, by its path.
    Folder(PathBuf),
    /// The repository at this path, which has the recorded first commit.
    Repository {
        top: PathBuf,
        first_commit: String,
    },
    /// The repository at this path; the record names no commit.
    Path(PathBuf),
    NotRecorded(PathBuf),
    /// The record is for a repository that began with another commit.
    Replaced {
        top: PathBuf,
        first_commit: String,
    },
    /// The user's file cannot be read.
    Unknown {
        file: PathBuf,
        reason: String,
    },
}

impl Trust {
    pub fn is_trusted(&self) -> bool {
        matches!(self, Self::Folder(_) | Self::Repository { .. } | Self::Path(_))
    }

    /// For people, one line.
    pub fn explanation(&self) -> String {
        let short = |id: &str| id.chars().take(SHORT_ID).collect::<String>();
        match self {
            Self::Folder(folder) => format!("yes: you trusted the folder {}", folder.display()),
            Self::Repository { top, first_commit } => {
                format!("yes: you trusted the repository {} (first commit {})", top.display(), short(first_commit))
            }
            Self::Path(top) => format!(
                "yes: you trusted the path {}; 'ralph trust' there also records the repository's first commit",
                top.display()
            ),
            Self::NotRecorded(top) => {
                format!("no: {} is not trusted ('ralph trust' there lets its settings grant things)", top.display())
            }
            Self::Replaced { top, first_commit } => format!(
                "no: what you trusted at {} began with commit {}, which is not there ('ralph trust' accepts what is there now)",
                top.display(),
                short(first_commit)
            ),
            Self::Unknown { file, reason } => format!("no: {} cannot be read: {reason}", file.display()),
        }
    }
}

/// Looks the working folder up. What cannot be found out is not trusted.
pub fn trust_state(places: &Places) -> Trust {
    let file = places.global_file();
    let top = Top::of(places.project_dir());
    match records(&file) {
        Ok(state) => judge(&top, &state),
        Err(error) => Trust::Unknown { file, reason: error.to_string() },
    }
}

pub fn is_trusted(places: &Places) -> bool {
    trust_state(places).is_trusted()
}

/// Why the records cannot be used.
#[derive(Debug, thiserror::Error)]
enum RecordsError {
    #[error(transparent)]
    Read(#[from] files::ReadFailure),
    #[error("it is not valid JSON ({0})")]
    NotJson(#[from] serde_json::Error),
}

fn records(file: &Path) -> Result<HashMap<String, ProjectState>, RecordsError> {
    let text = files::read_text(file, STATE_MAX)?.unwrap_or_default();
    if text.trim().is_empty() {
        return Ok(HashMap::new());
    }
    let state: GlobalState = serde_json::from_str(&text)?;
    Ok(state.projects)
}

fn judge(top: &Top, projects: &HashMap<String, ProjectState>) -> Trust {
    let wanted = key(top.path());
    let path = top.path().to_owned();
    let mut replaced = None;
    for (_, project) in projects.iter().filter(|(path, _)| key(Path::new(path)) == wanted) {
        if project.accepted != Some(Value::Bool(true)) {
            continue;
        }
        match (top, &project.first_commit) {
            (Top::Folder(_), None | Some(Value::Null)) => return Trust::Folder(path),
            (Top::Repository(_), None | Some(Value::Null)) => return Trust::Path(path),
            (Top::Repository(top), Some(Value::String(id)))
                if git_dir(top).is_some_and(|dir| objects::has_commit(&dir, id)) =>
            {
                return Trust::Repository { top: path, first_commit: id.clone() };
            }
            (_, Some(recorded)) => replaced = Some(recorded.as_str().unwrap_or_default().to_owned()),
        }
    }
    match replaced {
        Some(first_commit) => Trust::Replaced { top: path, first_commit },
        None => Trust::NotRecorded(path),
    }
}

/// One spelling for one folder: some file systems hand out decomposed names.
fn key(path: &Path) -> String {
    let text: String = path.to_string_lossy().nfc().collect();
    match text.trim_end_matches('/') {
        "" => "/".to_owned(),
        trimmed => trimmed.to_owned(),
    }
}

/// `ralph trust`: records the repository (or folder) we are in and says which folder that is.
/// Everything else in the global file stays; a broken file is never overwritten.
pub fn trust(places: &Places) -> Result<PathBuf, SettingsError> {
    let top = Top::of(places.project_dir());
    record(places, &top)?;
    Ok(top.path().to_owned())
}

/// A clone or worktree that we made ourselves is trusted as its source is. False where the source is not trusted; then
/// nothing is recorded. `made` must be real (no links).
pub fn inherit_trust(source: &Places, made: &Path) -> Result<bool, SettingsError> {
    if !is_trusted(source) {
        return Ok(false);
    }
    let top = Top::of(made);
    // A folder inside something larger would pass the source's trust on to all of it.
    if top.path() != made && Top::of(source.project_dir()) != top {
        return Ok(false);
    }
    record(source, &top)?;
    Ok(true)
}

/// Removes the records of folders at this path or below it that are gone. A folder that still exists keeps its record: trust
/// that a person gave is never taken away here.
pub fn forget_trust(places: &Places, top: &Path) -> Result<(), SettingsError> {
    let (file, top) = (places.global_file(), key(top));
    let inside = format!("{top}/");
    let is_gone = |path: &str| {
        let known = key(Path::new(path));
        (known == top || known.starts_with(&inside)) && Path::new(path).symlink_metadata().is_err()
    };
    let _lock = FileLock::acquire(&file, LOCK_PATIENCE)?;
    let mut state = files::read_object(&file)?;
    let Some(projects) = state.get_mut("projects").and_then(Value::as_object_mut) else { return Ok(()) };
    let before = projects.len();
    projects.retain(|path, _| !is_gone(path));
    if projects.len() != before {
        files::write_object(&file, &state)?;
    }
    Ok(())
}

fn record(places: &Places, top: &Top) -> Result<(), SettingsError> {
    let file = places.global_file();
    let first_commit = match top {
        Top::Repository(top) => git_dir(top).and_then(|dir| objects::first_commit(&dir)),
        Top::Folder(_) => None,
    };
    let _lock = FileLock::acquire(&file, LOCK_PATIENCE)?;
    let mut state = files::read_object(&file)?;
    let refused =
        |what: &str| SettingsError::Refused { file: file.clone(), reason: format!("`{what}` in it is not an object") };
    let projects = state.entry("projects").or_insert_with(|| Value::Object(serde_json::Map::new()));
    let project = projects
        .as_object_mut()
        .ok_or_else(|| refused("projects"))?
        .entry(key(top.path()))
        .or_insert_with(|| Value::Object(serde_json::Map::new()));
    let project = project.as_object_mut().ok_or_else(|| refused("projects.<folder>"))?;
    let before = project.clone();
    project.insert(ACCEPTED.to_owned(), Value::Bool(true));
    match first_commit {
        Some(id) => project.insert(FIRST_COMMIT.to_owned(), Value::String(id)),
        None => project.shift_remove(FIRST_COMMIT),
    };
    if *project != before {
        files::write_object(&file, &state)?;
    }
    Ok(())
}

/// The folders that the user's file has a record of: trust, servers.
pub fn recorded_projects(places: &Places) -> Result<Vec<String>, SettingsError> {
    let file = places.global_file();
    let state = records(&file).map_err(|reason| SettingsError::Refused { file, reason: reason.to_string() })?;
    let mut paths: Vec<String> = state.into_keys().collect();
    paths.sort();
    Ok(paths)
}

/// Removes the records of these folders; everything else in the file stays.
pub fn forget_projects(places: &Places, paths: &[String]) -> Result<(), SettingsError> {
    if paths.is_empty() {
        return Ok(());
    }
    let file = places.global_file();
    let _lock = FileLock::acquire(&file, LOCK_PATIENCE)?;
    let mut state = files::read_object(&file)?;
    if let Some(projects) = state.get_mut("projects").and_then(Value::as_object_mut) {
        projects.retain(|path, _| !paths.contains(path));
        files::write_object(&file, &state)?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
