//! What the documents of a folder may pull into the conversation. A cloned repository chooses its links and
//! `@imports`; neither may carry the user's keys to a model.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use settings::Places;

/// Imports from the user's configuration folder are notes, never state: credentials live there too.
const NOTES: [&str; 3] = ["md", "markdown", "txt"];

pub(crate) struct Reach<'a> {
    places: &'a Places,
    /// The checkout we are in, the main checkout, folders the caller added.
    roots: Vec<PathBuf>,
    home: OnceCell<Option<PathBuf>>,
    config_dir: OnceCell<PathBuf>,
    trusted: OnceCell<bool>,
    plain_folders: RefCell<HashMap<PathBuf, bool>>,
}

impl<'a> Reach<'a> {
    pub(crate) fn new(places: &'a Places, added: &[PathBuf]) -> Self {
        let mut roots = vec![places.checkout_root(), places.project_root()];
        roots.dedup();
        roots.extend(added.iter().filter_map(|dir| dir.canonicalize().ok()));
        Self {
            places,
            roots,
            home: OnceCell::new(),
            config_dir: OnceCell::new(),
            trusted: OnceCell::new(),
            plain_folders: RefCell::default(),
        }
    }

    /// Whether a document of the project may be what this path leads to. Plain files always; links must stay in
    /// the project, or the user vouched for the folder and they lead to an ordinary place in the user's home.
    pub(crate) fn may_hold(&self, path: &Path) -> bool {
        if self.is_plain(path) {
            return true;
        }
        let Ok(real) = path.canonicalize() else { return false };
        real == path || self.in_project(&real) || (self.is_trusted() && self.in_open_home(&real))
    }

    /// Whether no part of the path is a link. Folders are looked at once: resolving each of hundreds of documents
    /// from the root would be most of the start.
    fn is_plain(&self, path: &Path) -> bool {
        let spelled_out = path.is_absolute() && path.components().all(|part| !matches!(part, Component::ParentDir));
        let is_link = |path: &Path| path.symlink_metadata().map_or(true, |metadata| metadata.is_symlink());
        spelled_out && !is_link(path) && path.parent().is_some_and(|folder| self.is_plain_folder(folder))
    }

    fn is_plain_folder(&self, folder: &Path) -> bool {
        if let Some(known) = self.plain_folders.borrow().get(folder) {
            return *known;
        }
        let plain = match folder.parent() {
            None => true,
            Some(parent) => {
                folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) && self.is_plain_folder(parent)
            }
        };
        self.plain_folders.borrow_mut().insert(folder.to_owned(), plain);
        plain
    }

    /// Whether a file of the project that lies in `folder`, or anything it imports, may import `real` (resolved).
    pub(crate) fn project_may_import(&self, folder: &Path, real: &Path) -> bool {
        self.in_project(real) || openly_below(folder, real) || self.is_note_of_the_user(real)
    }

    /// Whether the user's own memory may import `real` (resolved).
    pub(crate) fn user_may_import(&self, real: &Path) -> bool {
        self.in_project(real) || self.is_note_of_the_user(real) || self.in_open_home(real)
    }

    fn in_project(&self, real: &Path) -> bool {
        self.roots.iter().any(|root| {
            // A project that contains the home folder does not own the keys in it.
            let holds_home = self.home().is_some_and(|home| home.starts_with(root));
            real.starts_with(root) && (!holds_home || openly_below(root, real))
        })
    }

    fn is_note_of_the_user(&self, real: &Path) -> bool {
        let config_dir = self
            .config_dir
            .get_or_init(|| self.places.config_dir.canonicalize().unwrap_or_else(|_| self.places.config_dir.clone()));
        let is_note = real.extension().and_then(|extension| extension.to_str()).is_some_and(|e| NOTES.contains(&e));
        is_note && openly_below(config_dir, real)
    }

    fn in_open_home(&self, real: &Path) -> bool {
        self.home().is_some_and(|home| openly_below(home, real))
    }

    fn home(&self) -> Option<&Path> {
        let home = || self.places.home.as_ref().map(|home| home.canonicalize().unwrap_or_else(|_| home.clone()));
        self.home.get_or_init(home).as_deref()
    }

    pub(crate) fn is_trusted(&self) -> bool {
        *self.trusted.get_or_init(|| settings::is_trusted(self.places))
    }
}

/// Below the folder with no hidden part on the way: `.ssh`, `.aws` and their kind are not notes.
fn openly_below(dir: &Path, real: &Path) -> bool {
    let Ok(rest) = real.strip_prefix(dir) else { return false };
    dir.parent().is_some() && rest.components().all(|part| !part.as_os_str().as_encoded_bytes().starts_with(b"."))
}
