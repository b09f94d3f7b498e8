//! The standing instructions: CLAUDE.md files from the administrator's down to the working folder's, with their
//! `@imports` and the rules beside them. AGENTS.md stands in where a folder has no CLAUDE.md.
//!
//! Absent: rules with `paths` and files in subfolders, which load when a file there is read, and automatic memory.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::reach::Reach;
use crate::{Places, Settings, Sources, documents, files, frontmatter, markdown, text};

/// The contract's limit: a larger file is skipped.
const FILE_MAX: u64 = 4 * 1024 * 1024;
/// How far imports may lead from the file that starts the chain.
const IMPORT_DEPTH: usize = 4;
/// Together far beyond any context window; keeps a folder of links from filling the memory.
const FILES_MAX: usize = 500;
const TOTAL_MAX: usize = 16 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryFile {
    pub path: PathBuf,
    /// `Managed`, `User`, `Project` or `Local`.
    pub kind: &'static str,
    pub text: String,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct MemoryOptions<'a> {
    /// Folders added with `--add-dir`, where their memory was asked for too.
    pub extra_dirs: &'a [PathBuf],
}

/// In reading order: later is closer and weighs more.
pub fn memory(places: &Places, sources: Sources, settings: &Settings, options: MemoryOptions) -> Vec<MemoryFile> {
    let mut gathering = Gathering {
        places,
        reach: Reach::new(places, options.extra_dirs),
        excludes: excludes(&settings.claude_md_excludes),
        seen: HashSet::new(),
        found: Vec::new(),
        bytes: 0,
    };
    let managed = places.managed_dir.join("CLAUDE.md");
    if let Some(text) = &settings.managed_claude_md {
        gathering.found.push(MemoryFile { path: managed.clone(), kind: "Managed", text: text.clone() });
    }
    gathering.file(&managed, "Managed");
    if sources.user {
        gathering.file(&places.config_dir.join("CLAUDE.md"), "User");
        gathering.rules(&places.config_dir.join("rules"), "User");
    }
    let folders: Vec<&Path> = places.cwd.ancestors().collect();
    for folder in folders.into_iter().rev().chain(options.extra_dirs.iter().map(PathBuf::as_path)) {
        gathering.folder(folder, sources);
    }
    gathering.found
}

/// A pattern that is none excludes nothing; the others still count.
fn excludes(patterns: &[String]) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        if let Ok(glob) = GlobBuilder::new(pattern).literal_separator(true).build() {
            set.add(glob);
        }
    }
    set.build().unwrap_or_else(|_| GlobSet::empty())
}

/// The file that a chain of imports began with decides how far the chain may reach.
struct Start<'a> {
    kind: &'static str,
    folder: &'a Path,
}

struct Gathering<'a> {
    places: &'a Places,
    reach: Reach<'a>,
    excludes: GlobSet,
    seen: HashSet<PathBuf>,
    found: Vec<MemoryFile>,
    bytes: usize,
}

impl Gathering<'_> {
    fn folder(&mut self, folder: &Path, sources: Sources) {
        let dot_claude = folder.join(".claude");
        let is_project = sources.project && !self.places.is_own_config(&dot_claude);
        if sources.project {
            let mut any = self.file(&folder.join("CLAUDE.md"), "Project");
            if is_project {
                any |= self.file(&dot_claude.join("CLAUDE.md"), "Project");
            }
            if !any {
                self.file(&folder.join("AGENTS.md"), "Project");
            }
        }
        if is_project {
            self.rules(&dot_claude.join("rules"), "Project");
        }
        if sources.local {
            self.file(&folder.join("CLAUDE.local.md"), "Local");
        }
    }

    /// Whether there is such a file, used or not.
    fn file(&mut self, path: &Path, kind: &'static str) -> bool {
        let Ok(real) = path.canonicalize() else { return false };
        if self.may_start(path, &real, kind)
            && let Some(text) = self.read(&real)
        {
            self.keep(&Start { kind, folder: path.parent().unwrap_or(path) }, path, &real, &text, 0);
        }
        true
    }

    fn rules(&mut self, dir: &Path, kind: &'static str) {
        for path in documents::markdown_below(dir) {
            let Ok(real) = path.canonicalize() else { continue };
            if !self.may_start(&path, &real, kind) {
                continue;
            }
            let Some(text) = self.read(&real) else { continue };
            // A scoped rule waits for its files; one whose scope cannot be read is not for everything.
            if let Some(document) = frontmatter::parse(&text).filter(|document| !document.meta.has("paths")) {
                self.keep(&Start { kind, folder: dir }, &path, &real, document.body, 0);
            }
        }
    }

    fn may_start(&self, path: &Path, real: &Path, kind: &str) -> bool {
        let from_folder = matches!(kind, "Project" | "Local");
        let excluded = kind != "Managed" && (self.excludes.is_match(path) || self.excludes.is_match(real));
        !excluded && (!from_folder || self.reach.may_hold(path))
    }

    /// `None` for what was read before, is too large, or is not text.
    fn read(&self, real: &Path) -> Option<String> {
        if self.seen.contains(real) || self.found.len() >= FILES_MAX {
            return None;
        }
        let bytes = files::read(real, FILE_MAX).ok()??;
        if bytes.contains(&0) || self.bytes + bytes.len() > TOTAL_MAX {
            return None;
        }
        let text = String::from_utf8_lossy(&bytes);
        Some(text.strip_prefix('\u{FEFF}').unwrap_or(&text).to_owned())
    }

    fn keep(&mut self, start: &Start, path: &Path, real: &Path, raw: &str, depth: usize) {
        self.seen.insert(real.to_owned());
        self.bytes += raw.len();
        let text = text::visible(&markdown::without_comments(raw)).into_owned();
        let imports = markdown::imports(&text);
        if !text.trim().is_empty() {
            self.found.push(MemoryFile { path: path.to_owned(), kind: start.kind, text });
        }
        if depth < IMPORT_DEPTH {
            for written in imports {
                self.import(start, &written, path, depth + 1);
            }
        }
    }

    fn import(&mut self, start: &Start, written: &str, importer: &Path, depth: usize) {
        let Some(folder) = importer.parent() else { return };
        // A sentence may end right after the path.
        let trimmed = written.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"', '\'']);
        let candidates = [written, trimmed].map(|name| self.places.resolve(name, folder));
        let Some((path, real)) = candidates.into_iter().find_map(|path| {
            let real = path.canonicalize().ok()?;
            real.is_file().then_some((path, real))
        }) else {
            return;
        };
        let allowed = match start.kind {
            "Managed" => real.starts_with(&self.places.managed_dir),
            "User" => self.reach.user_may_import(&real),
            _ => self.reach.project_may_import(start.folder, &real),
        };
        if allowed
            && !self.excludes.is_match(&real)
            && let Some(text) = self.read(&real)
        {
            self.keep(start, &path, &real, &text, depth);
        }
    }
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
