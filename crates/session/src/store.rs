//! Where conversations live: `<config>/projects/<slug>/<id>.jsonl`, and how one is found again.

use crate::peek::Peek;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;
use unicode_normalization::UnicodeNormalization as _;

/// Longer folder names are cut here and told apart by a hash; file systems allow 255 bytes.
const SLUG_MAX: usize = 200;

/// A title is looked for in at most this many files of a folder, newest first.
const TITLES_MAX: usize = 2_000;

/// The folder name of a project. Other programs compute the same name, in UTF-16 as JavaScript counts.
pub fn slug(real_cwd: &Path) -> String {
    let path: String = real_cwd.to_string_lossy().nfc().collect();
    let units: Vec<u16> = path.encode_utf16().collect();
    let clean = |unit: &u16| match u8::try_from(*unit) {
        Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
        _ => '-',
    };
    let name: String = units.iter().take(SLUG_MAX).map(clean).collect();
    if units.len() <= SLUG_MAX { name } else { format!("{name}-{}", base36(hash(&units))) }
}

fn hash(units: &[u16]) -> u32 {
    let sum = units.iter().fold(0_i32, |sum, unit| sum.wrapping_mul(31).wrapping_add(i32::from(*unit)));
    sum.unsigned_abs()
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

/// True for a UUID in its usual form. Nothing else may name a session, so no name can be a path.
pub fn is_session_id(id: &str) -> bool {
    id.len() == uuid::fmt::Hyphenated::LENGTH && uuid::Uuid::try_parse(id).is_ok()
}

/// The conversations of one project, among those of all projects.
#[derive(Debug, Clone)]
pub struct Store {
    projects: PathBuf,
    project: PathBuf,
}

impl Store {
    /// `project_dir_name` replaces the slug; a name that is more than one plain folder name is ignored.
    pub fn new(config_dir: &Path, real_cwd: &Path, project_dir_name: Option<&str>) -> Self {
        let projects = config_dir.join("projects");
        let name = project_dir_name.filter(|name| is_plain_name(name)).map_or_else(|| slug(real_cwd), str::to_owned);
        Self { project: projects.join(name), projects }
    }

    /// Where a session of this project is, or would be.
    pub fn path(&self, id: &str) -> PathBuf {
        self.project.join(format!("{}.jsonl", safe(id)))
    }

    pub(crate) fn project_dir(&self) -> &Path {
        &self.project
    }

    /// The folder of this project's sessions.
    pub fn folder(&self) -> &Path {
        &self.project
    }

    /// The folder beside a session's file, for what belongs to it: sub-agents, spilled tool results.
    pub fn side_dir(&self, id: &str) -> PathBuf {
        self.project.join(safe(id))
    }

    /// Where what was learnt about the project is kept.
    pub fn memory_dir(&self) -> PathBuf {
        self.project.join("memory")
    }

    /// Where a sub-agent's own conversation is, or would be.
    pub fn agent_path(&self, id: &str, agent_id: &str) -> PathBuf {
        self.side_dir(id).join("subagents").join(format!("agent-{}.jsonl", safe(agent_id)))
    }

    /// A session by its id or by the exact title a user gave it: of this project first, then of any.
    pub fn find(&self, id_or_title: &str) -> Option<PathBuf> {
        if is_session_id(id_or_title) {
            let name = format!("{id_or_title}.jsonl");
            return self.folders().into_iter().map(|folder| folder.join(&name)).find(|path| is_session(path));
        }
        if id_or_title.is_empty() {
            return None;
        }
        let is_titled = |path: &PathBuf| Peek::at(path).and_then(|peek| peek.title()).as_deref() == Some(id_or_title);
        self.folders().into_iter().find_map(|folder| {
            sessions_by_age(&folder).into_iter().take(TITLES_MAX).map(|(_, path)| path).find(is_titled)
        })
    }

    /// The session of this project that was written last, passing over sub-agents and empty ones.
    pub fn newest(&self) -> Option<(String, PathBuf)> {
        sessions_by_age(&self.project).into_iter().map(|(_, path)| path).find_map(|path| {
            let id = path.file_stem()?.to_str()?.to_owned();
            Peek::at(&path).filter(Peek::is_conversation).map(|_| (id, path))
        })
    }

    /// This project's folder, then the others in a stable order.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = std::fs::read_dir(&self.projects)
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| *path != self.project)
            .collect();
        folders.sort();
        folders.insert(0, self.project.clone());
        folders
    }
}

fn is_plain_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name)
}

/// Ids come from a caller; whatever they hold, they stay one file name.
fn safe(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect()
}

fn is_session(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
}

/// Session files of a folder, the newest first.
pub(crate) fn sessions_by_age(folder: &Path) -> Vec<(SystemTime, PathBuf)> {
    let mut sessions: Vec<(SystemTime, PathBuf)> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .filter(|path| path.file_stem().and_then(|stem| stem.to_str()).is_some_and(is_session_id))
        .filter_map(|path| {
            let metadata = path.metadata().ok().filter(|metadata| metadata.is_file() && metadata.len() > 0)?;
            Some((metadata.modified().ok()?, path))
        })
        .collect();
    sessions.sort_by(|one, other| other.cmp(one));
    sessions
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
