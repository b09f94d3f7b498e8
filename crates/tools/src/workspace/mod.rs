//! The workspace: the folders of a run, the working folder of commands, and the resolution of paths.
//!
//! A path is resolved once, here, into a [`Target`]; policy judges that target and the tool opens that
//! same target ([`Workspace::open_read`], [`Workspace::replace`]), never the text it came from.
//! Deliberately absent: whether a path may be touched.

pub(crate) mod open;
mod replace;

use crate::stamp::Stamp;
pub use policy::PathTarget as Target;
use sandbox::Sandbox;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// As many links as the kernel itself follows in one path.
const MAX_LINKS: usize = 40;

#[derive(Debug)]
pub struct Workspace {
    /// Real folders: the project first, then those that were added.
    roots: Vec<PathBuf>,
    home: Option<PathBuf>,
    cwd: Mutex<Cwd>,
    /// The sandbox of commands, whose temporary folders are elsewhere for us.
    sandbox: Option<Arc<Sandbox>>,
}

#[derive(Debug, Clone)]
struct Cwd {
    given: PathBuf,
    real: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("the path is empty; give the path of a file or folder")]
    Empty,
    #[error("the path {0:?} contains a NUL byte, which no file name can")]
    Nul(String),
    #[error("{0} starts with ~ but no home folder is known; give an absolute path")]
    NoHome(String),
    #[error("{} has more than {MAX_LINKS} symbolic links in it, probably a circle; name the real file", .0.display())]
    TooManyLinks(PathBuf),
}

impl Workspace {
    /// `cwd` is the project's folder; `roots` are further folders that belong to the workspace.
    pub fn new(cwd: PathBuf, roots: Vec<PathBuf>, home: Option<PathBuf>) -> Self {
        let cwd = Cwd::at(cwd);
        let mut real_roots = vec![cwd.real.clone()];
        real_roots.extend(roots.into_iter().map(|root| Cwd::at(cwd.given.join(root)).real));
        Self { roots: real_roots, home, cwd: Mutex::new(cwd), sandbox: None }
    }

    /// Paths mean what they mean to commands in this sandbox.
    #[must_use]
    pub fn seen_from(mut self, sandbox: Option<Arc<Sandbox>>) -> Self {
        self.sandbox = sandbox;
        self
    }

    /// The folder that relative paths start from and commands run in.
    pub fn cwd(&self) -> PathBuf {
        self.lock().given.clone()
    }

    pub fn set_cwd(&self, cwd: PathBuf) {
        let cwd = Cwd::at(cwd);
        *self.lock() = cwd;
    }

    /// The project's own folder, links resolved. Unlike [`Self::cwd`] it never moves.
    pub fn project(&self) -> &Path {
        self.roots.first().map_or(Path::new("/"), PathBuf::as_path)
    }

    /// The project's folder and every added one, links resolved.
    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Accepts absolute paths, paths relative to the working folder, and `~`.
    pub fn resolve(&self, given: &str) -> Result<Target, PathError> {
        if given.is_empty() {
            return Err(PathError::Empty);
        }
        if given.contains('\0') {
            return Err(PathError::Nul(given.into()));
        }
        let path = match given.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                let home = self.home.as_ref().ok_or_else(|| PathError::NoHome(given.into()))?;
                home.join(rest.trim_start_matches('/'))
            }
            _ => self.cwd().join(given),
        };
        let mut real = follow_links(&path).ok_or_else(|| PathError::TooManyLinks(path.clone()))?;
        if let Some(sandbox) = &self.sandbox {
            let outside = sandbox.rules().outside(&real);
            // Only what commands have made there, or what is made now; other files of the machine stay where they are.
            if outside != real && (outside.exists() || !real.exists()) {
                real = follow_links(&outside).ok_or_else(|| PathError::TooManyLinks(path.clone()))?;
            }
        }
        Ok(Target { given: fold_dots(&path), real, write: false })
    }

    /// By path components, so `/w-evil` is not inside `/w`.
    pub fn contains(&self, real: &Path) -> bool {
        self.roots.iter().any(|root| real.starts_with(root))
    }

    /// Relative to the working folder when inside it.
    pub fn display(&self, real: &Path) -> String {
        let cwd = self.lock();
        let shown = real.strip_prefix(&cwd.real).ok().filter(|rest| !rest.as_os_str().is_empty());
        shown.unwrap_or(real).display().to_string()
    }

    /// The working folder with links resolved, which is how walked paths begin.
    pub(crate) fn real_cwd(&self) -> PathBuf {
        self.lock().real.clone()
    }

    /// Opens a regular file or folder for reading. Refuses symbolic links anywhere in the path (it was
    /// real when it was judged; a link there now was planted since) and anything a read could hang on.
    pub fn open_read(&self, target: &Target) -> io::Result<File> {
        open::open_read(&target.real)
    }

    /// Puts `bytes` in the file's place in one step. `was` is the file the new content was made from:
    /// `None` means the file must not exist yet. Refuses if anything else is found there.
    pub fn replace(&self, target: &Target, bytes: &[u8], was: Option<&Stamp>) -> io::Result<Stamp> {
        replace::replace(&target.real, bytes, was)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Cwd> {
        self.cwd.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cwd {
    fn at(given: PathBuf) -> Self {
        // A circle of links cannot be a folder; keeping it as text makes every use of it fail plainly.
        let real = follow_links(&given).unwrap_or_else(|| given.clone());
        Self { given, real }
    }
}

/// Symbolic links followed as far as the path exists. A path with too many links is nowhere: its own
/// name is then the answer, which no rule has allowed.
pub fn real_path(path: &Path) -> PathBuf {
    follow_links(path).unwrap_or_else(|| path.to_owned())
}

fn fold_dots(path: &Path) -> PathBuf {
    let mut folded = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                folded.pop();
            }
            part => folded.push(part),
        }
    }
    folded
}

/// What the kernel would open, except that missing parts are kept: they cannot be links, so folding
/// `..` over them as text is sound. `None` past [`MAX_LINKS`].
fn follow_links(path: &Path) -> Option<PathBuf> {
    let mut real = PathBuf::from("/");
    let mut ahead: Vec<PathBuf> = Vec::new();
    push_parts(&mut ahead, path);
    let mut links = 0;
    while let Some(part) = ahead.pop() {
        match part.components().next() {
            None | Some(Component::CurDir | Component::Prefix(_)) => {}
            Some(Component::RootDir) => real = PathBuf::from("/"),
            Some(Component::ParentDir) => {
                real.pop();
            }
            Some(Component::Normal(name)) => {
                real.push(name);
                if let Ok(link) = std::fs::read_link(&real) {
                    links += 1;
                    if links > MAX_LINKS {
                        return None;
                    }
                    real.pop();
                    push_parts(&mut ahead, &link);
                }
            }
        }
    }
    Some(real)
}

fn push_parts(ahead: &mut Vec<PathBuf>, path: &Path) {
    let from = ahead.len();
    ahead.extend(path.components().map(|part| PathBuf::from(part.as_os_str())));
    ahead[from..].reverse();
}

#[cfg(test)]
#[path = "workspace_tests.rs"]
mod tests;
