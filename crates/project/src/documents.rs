//! Finding and reading the Markdown documents of a `.claude` folder: bounded in depth, number and size.

use std::path::{Path, PathBuf};

use crate::ProjectError;
use crate::frontmatter;
use crate::reach::Reach;
use settings::{Places, Sources, files};

/// Deep enough for any grouping by folder, shallow enough for a link that points at its own parent.
const DEPTH_MAX: usize = 6;
/// More documents than anybody can list; a runaway folder stops here.
const DOCUMENTS_MAX: usize = 2000;
/// Usually holds the whole head of a document, so that one read is enough.
const HEAD: u64 = 8 * 1024;
/// A head that does not close within this is not one.
const HEAD_MAX: u64 = 64 * 1024;
/// Bodies go to a model; beyond this none could read them.
const BODY_MAX: u64 = 4 * 1024 * 1024;

/// One `.claude` folder (or its like) and whose it is.
pub(crate) struct Shelf {
    pub(crate) dir: PathBuf,
    pub(crate) source: &'static str,
}

impl Shelf {
    pub(crate) fn is_folder(&self) -> bool {
        self.source == "project"
    }
}

/// The administrator's, the user's, and the projects' from the working folder up to the root of the checkout.
pub(crate) fn shelves(places: &Places, sources: Sources) -> Vec<Shelf> {
    let mut shelves = vec![Shelf { dir: places.managed_dir.join(".claude"), source: "managed" }];
    if sources.user {
        shelves.push(Shelf { dir: places.config_dir.clone(), source: "user" });
    }
    if sources.project {
        let projects = places.folders_up().into_iter().map(|dir| dir.join(".claude"));
        let projects = projects.filter(|dir| !places.is_own_config(dir));
        shelves.extend(projects.map(|dir| Shelf { dir, source: "project" }));
    }
    shelves
}

/// Markdown files below a folder, in the order of their names.
pub(crate) fn markdown_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(dir, DEPTH_MAX, &mut found);
    found
}

fn walk(dir: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for path in sorted_entries(dir) {
        if found.len() >= DOCUMENTS_MAX {
            return;
        }
        if is_markdown(&path) {
            found.push(path);
        } else if depth > 1 && path.is_dir() {
            walk(&path, depth - 1, found);
        }
    }
}

pub(crate) fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}

pub(crate) fn sorted_entries(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = dir.read_dir() else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().take(DOCUMENTS_MAX).map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The first part of a document, with its whole frontmatter. `None` if it is missing, not text, out of reach of
/// the folder that names it, or its frontmatter never ends.
pub(crate) fn head(path: &Path, shelf: &Shelf, reach: &Reach) -> Option<String> {
    if shelf.is_folder() && !reach.may_hold(path) {
        return None;
    }
    for limit in [HEAD, HEAD_MAX] {
        let (bytes, whole) = files::read_head(path, limit).ok()??;
        let text = head_text(bytes)?;
        if frontmatter::is_closed(&text) {
            return Some(text);
        }
        if whole {
            return None;
        }
    }
    None
}

/// A cut can fall inside a character; binary is refused.
fn head_text(bytes: Vec<u8>) -> Option<String> {
    if bytes.contains(&0) {
        return None;
    }
    let text = String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Some(text.strip_prefix('\u{FEFF}').map(str::to_owned).unwrap_or(text))
}

/// The text below the frontmatter.
pub(crate) fn body(path: &Path) -> Result<String, ProjectError> {
    let fail = |reason: String| ProjectError::Document { file: path.to_owned(), reason };
    let text = files::read_text(path, BODY_MAX).map_err(|failure| fail(failure.to_string()))?;
    let text = text.ok_or_else(|| fail("it is gone".to_owned()))?;
    Ok(settings::text::visible(frontmatter::body(&text)).into_owned())
}
