//! The standing instructions: CLAUDE.md files from the administrator's down to the working folder's, with their
//! `@imports` and the rules beside them. AGENTS.md stands in where a folder has no CLAUDE.md.
//!
//! What belongs to some files only, the memory of subfolders and rules with `paths`, waits until such a file is
//! touched ([`Memory::near`]). Absent: writing any of it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use globset::GlobSet;

use crate::globs::{self, Scope};
use crate::reach::Reach;
use crate::{documents, frontmatter, markdown};
use settings::{Places, Settings, Sources, files, text};

/// The contract's limit: a larger file is skipped.
const FILE_MAX: u64 = 4 * 1024 * 1024;
/// How far imports may lead from the file that starts the chain.
const IMPORT_DEPTH: usize = 4;
/// Together far beyond any context window; keeps a folder of links from filling the memory.
const FILES_MAX: usize = 500;
const TOTAL_MAX: usize = 16 * 1024 * 1024;

/// Automatic memory is an index that the model keeps; only its beginning is read.
const AUTO_LINES: usize = 200;
const AUTO_BYTES: usize = 25 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryFile {
    pub path: PathBuf,
    /// `Managed`, `User`, `Project`, `Local` or `Auto`.
    pub kind: &'static str,
    pub text: String,
    pub cause: Cause,
}

/// Why a document was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// It stands before every conversation here.
    Start,
    /// A file in or below its folder was touched.
    Below { file: PathBuf },
    /// A file that its `paths` name was touched.
    Paths { globs: Vec<String>, file: PathBuf },
    /// Another document names it.
    Import { by: PathBuf },
}

#[derive(Debug, Clone, Default)]
pub struct MemoryOptions {
    /// Folders added with `--add-dir`, where their memory was asked for too.
    pub extra_dirs: Vec<PathBuf>,
    /// The index of the automatic memory, where it is on.
    pub auto: Option<PathBuf>,
}

/// What one conversation has been told, and what waits for its files.
#[derive(Debug, Clone)]
pub struct Memory {
    places: Places,
    sources: Sources,
    excludes: Vec<String>,
    extra_dirs: Vec<PathBuf>,
    seen: HashSet<PathBuf>,
    folders: HashSet<PathBuf>,
    /// Of those, the ones that nobody asked for yet.
    fresh: Vec<PathBuf>,
    waiting: Vec<Waiting>,
    files: usize,
    bytes: usize,
}

/// A rule for some files only.
#[derive(Debug, Clone)]
struct Waiting {
    path: PathBuf,
    real: PathBuf,
    kind: &'static str,
    /// The folders its patterns are relative to.
    bases: Vec<PathBuf>,
    scope: Scope,
    text: String,
}

/// The documents that stand before a conversation, in reading order: later is closer and weighs more.
pub fn memory(
    places: &Places,
    sources: Sources,
    settings: &Settings,
    options: &MemoryOptions,
) -> (Memory, Vec<MemoryFile>) {
    let mut memory = Memory {
        places: places.clone(),
        sources,
        excludes: settings.claude_md_excludes.clone(),
        extra_dirs: options.extra_dirs.clone(),
        seen: HashSet::new(),
        folders: HashSet::new(),
        fresh: Vec::new(),
        waiting: Vec::new(),
        files: 0,
        bytes: 0,
    };
    let found = memory.gather(&Cause::Start, |gathering| {
        let managed = places.managed_dir.join("CLAUDE.md");
        if let Some(text) = &settings.managed_claude_md {
            let (path, text) = (managed.clone(), text.clone());
            gathering.found.push(MemoryFile { path, kind: "Managed", text, cause: Cause::Start });
        }
        gathering.file(&managed, "Managed");
        if sources.user {
            gathering.file(&places.config_dir.join("CLAUDE.md"), "User");
            let bases = vec![places.project_dir().to_owned(), places.checkout_root()];
            gathering.rules(&places.config_dir.join("rules"), "User", &bases);
        }
        let folders: Vec<&Path> = places.project_dir().ancestors().collect();
        for folder in folders.into_iter().rev().chain(options.extra_dirs.iter().map(PathBuf::as_path)) {
            gathering.folder(folder, sources);
        }
        if let Some(index) = &options.auto {
            gathering.auto(index);
        }
    });
    (memory, found)
}

impl Memory {
    /// What a touched file brings with it: the memory of the folders between the working folder and the file, and
    /// the rules whose `paths` name it. Each document comes once. `file` is real (no links).
    pub fn near(&mut self, file: &Path) -> Vec<MemoryFile> {
        let file = &self.in_project(file);
        let folders = self.new_folders(file);
        let matches = |rule: &Waiting| rule.bases.iter().any(|base| rule.scope.covers(base, file));
        if folders.is_empty() && !self.waiting.iter().any(matches) {
            return Vec::new();
        }
        let sources = self.sources;
        let mut found = self.gather(&Cause::Below { file: file.to_owned() }, |gathering| {
            for folder in &folders {
                gathering.folder(folder, sources);
            }
        });
        self.fresh.extend(folders.iter().cloned());
        self.folders.extend(folders);
        let (now, later) = std::mem::take(&mut self.waiting).into_iter().partition(matches);
        self.waiting = later;
        let now: Vec<Waiting> = now;
        for rule in now {
            let cause = Cause::Paths { globs: rule.scope.patterns.clone(), file: file.to_owned() };
            found.extend(self.gather(&cause, |gathering| {
                if !gathering.seen.contains(&rule.real) {
                    let folder = rule.path.parent().unwrap_or(&rule.path);
                    gathering.keep(&Start { kind: rule.kind, folder }, &rule.path, &rule.real, &rule.text, 0);
                }
            }));
        }
        found
    }

    /// Folders below the working folder in which files were touched since this was last asked.
    pub fn take_folders(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.fresh)
    }

    /// The file's place in the checkout whose configuration counts.
    fn in_project(&self, file: &Path) -> PathBuf {
        let inner = file.strip_prefix(&self.places.cwd).ok();
        inner.map_or_else(|| file.to_owned(), |inner| self.places.project_dir().join(inner))
    }

    /// Folders strictly below the working folder (or an added one) that hold the file and were not looked at yet,
    /// outermost first.
    fn new_folders(&self, file: &Path) -> Vec<PathBuf> {
        let roots = std::iter::once(self.places.project_dir()).chain(self.extra_dirs.iter().map(PathBuf::as_path));
        let Some(root) = roots.into_iter().find(|root| file.starts_with(root)) else { return Vec::new() };
        let between = file.ancestors().skip(1).take_while(|folder| *folder != root);
        let mut folders: Vec<PathBuf> =
            between.filter(|folder| !self.folders.contains(*folder)).map(Path::to_owned).collect();
        folders.reverse();
        folders
    }

    fn gather(&mut self, cause: &Cause, what: impl FnOnce(&mut Gathering)) -> Vec<MemoryFile> {
        let places = self.places.clone();
        let mut gathering = Gathering {
            places: &places,
            reach: Reach::new(&places, &self.extra_dirs),
            excludes: globs::set(&self.excludes),
            cause,
            seen: std::mem::take(&mut self.seen),
            waiting: std::mem::take(&mut self.waiting),
            found: Vec::new(),
            files: self.files,
            bytes: self.bytes,
        };
        what(&mut gathering);
        let Gathering { seen, waiting, found, bytes, .. } = gathering;
        (self.seen, self.waiting, self.bytes) = (seen, waiting, bytes);
        self.files += found.len();
        found
    }
}

/// The beginning of an index of notes; what it names is read by whoever needs it. `None` where there is nothing in it.
pub fn memory_index(index: &Path) -> Option<String> {
    let (bytes, _) = files::read_head(index, AUTO_BYTES as u64).ok()??;
    let text = String::from_utf8_lossy(&bytes);
    let head: String = text.split_inclusive('\n').take(AUTO_LINES).collect();
    (!head.trim().is_empty() && !bytes.contains(&0)).then(|| text::visible(&head).into_owned())
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
    cause: &'a Cause,
    seen: HashSet<PathBuf>,
    waiting: Vec<Waiting>,
    found: Vec<MemoryFile>,
    /// Read before this gathering.
    files: usize,
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
            self.rules(&dot_claude.join("rules"), "Project", &[folder.to_owned()]);
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

    /// Rules for everything are kept now; those for some files wait for them. One whose scope cannot be read is for
    /// nothing.
    fn rules(&mut self, dir: &Path, kind: &'static str, bases: &[PathBuf]) {
        for path in documents::markdown_below(dir) {
            let Ok(real) = path.canonicalize() else { continue };
            if !self.may_start(&path, &real, kind) {
                continue;
            }
            let Some(text) = self.read(&real) else { continue };
            let Some(document) = frontmatter::parse(&text) else { continue };
            if !document.meta.has("paths") {
                self.keep(&Start { kind, folder: dir }, &path, &real, document.body, 0);
            } else if !self.waiting.iter().any(|rule| rule.real == real) {
                let scope = Scope::new(document.meta.globs("paths"));
                let text = document.body.to_owned();
                self.waiting.push(Waiting { path, real, kind, bases: bases.to_vec(), scope, text });
            }
        }
    }

    fn auto(&mut self, index: &Path) {
        if let Some(text) = memory_index(index) {
            self.found.push(MemoryFile { path: index.to_owned(), kind: "Auto", text, cause: self.cause.clone() });
        }
    }

    fn may_start(&self, path: &Path, real: &Path, kind: &str) -> bool {
        let from_folder = matches!(kind, "Project" | "Local");
        let excluded = kind != "Managed" && (self.excludes.is_match(path) || self.excludes.is_match(real));
        !excluded && (!from_folder || self.reach.may_hold(path))
    }

    /// `None` for what was read before, is too large, or is not text.
    fn read(&self, real: &Path) -> Option<String> {
        if self.seen.contains(real) || self.files + self.found.len() + self.waiting.len() >= FILES_MAX {
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
            self.found.push(MemoryFile { path: path.to_owned(), kind: start.kind, text, cause: self.cause.clone() });
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
            let first = self.found.len();
            self.keep(start, &path, &real, &text, depth);
            if let Some(file) = self.found.get_mut(first).filter(|file| file.path == path) {
                file.cause = Cause::Import { by: importer.to_owned() };
            }
        }
    }
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
