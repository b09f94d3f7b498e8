//! What one conversation knows of the instruction files.

use hooks::InstructionsLoaded;
use project::{Cause, Memory, MemoryFile};
use std::path::Path;

/// What one conversation knows of the instruction files; nothing where they are not for it.
#[derive(Default)]
pub struct Known {
    pub memory: Option<Memory>,
    /// Skills for some files only, and of subfolders, that the model was told of.
    pub told_skills: Vec<String>,
    /// Documents that came into the conversation and that nobody was told of yet.
    pub news: Vec<News>,
}

/// A document without its text.
pub struct News {
    path: String,
    kind: &'static str,
    reason: &'static str,
    cause: Cause,
}

impl News {
    pub fn of(file: &MemoryFile, reason: Option<&'static str>) -> Self {
        let own = match &file.cause {
            Cause::Start => reason.unwrap_or("session_start"),
            Cause::Below { .. } => "nested_traversal",
            Cause::Paths { .. } => "path_glob_match",
            Cause::Import { .. } => "include",
        };
        Self { path: file.path.display().to_string(), kind: file.kind, reason: own, cause: file.cause.clone() }
    }

    pub fn payload(&self) -> InstructionsLoaded<'_> {
        let text = |path: &Path| Some(path.to_string_lossy().into_owned());
        let (globs, trigger_file_path, parent_file_path) = match &self.cause {
            Cause::Start => (None, None, None),
            Cause::Below { file } => (None, text(file), None),
            Cause::Paths { globs, file } => (Some(globs.as_slice()), text(file), None),
            Cause::Import { by } => (None, None, text(by)),
        };
        InstructionsLoaded {
            file_path: &self.path,
            memory_type: self.kind,
            load_reason: self.reason,
            globs,
            trigger_file_path,
            parent_file_path,
        }
    }
}
