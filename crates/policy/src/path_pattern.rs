//! Patterns of paths in rules, and the spellings that file systems take for the same name.

use std::path::{Component, Path, PathBuf};

use unicode_normalization::UnicodeNormalization;

use crate::pattern::{List, path_segments};

/// Removes `.`, doubled slashes and `..` by name alone, as `cd` does.
pub fn normalise(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                if !out.pop() {
                    out.push("/");
                }
            }
            other => out.push(other),
        }
    }
    out
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Anchor {
    FileSystem,
    Home,
    Source,
    Project,
    /// `./p`: like `Project`, but an allow rule means that one place.
    ProjectPinned,
}

/// Where patterns start from.
pub(crate) struct Places<'a> {
    pub(crate) project: &'a Path,
    pub(crate) home: Option<&'a Path>,
    /// Of the file that the rule stands in.
    pub(crate) source: &'a Path,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathPattern {
    anchor: Anchor,
    segments: Vec<String>,
}

impl PathPattern {
    pub(crate) fn parse(text: &str) -> Self {
        let (anchor, rest) = if let Some(rest) = text.strip_prefix("//") {
            (Anchor::FileSystem, rest)
        } else if let Some(rest) = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            (Anchor::Home, rest)
        } else if let Some(rest) = text.strip_prefix('/') {
            (Anchor::Source, rest)
        } else if let Some(rest) = text.strip_prefix("./") {
            (Anchor::ProjectPinned, rest)
        } else {
            (Anchor::Project, text)
        };
        let segments = rest.split('/').filter(|s| !s.is_empty() && *s != ".").map(str::to_owned).collect();
        Self { anchor, segments }
    }

    pub(crate) fn base(&self, places: &Places<'_>) -> Option<PathBuf> {
        match self.anchor {
            Anchor::FileSystem => Some(PathBuf::from("/")),
            Anchor::Home => places.home.map(Path::to_path_buf),
            Anchor::Source => Some(places.source.to_path_buf()),
            // The project, not the directory a shell has wandered to: `cd` must not move a rule.
            Anchor::Project | Anchor::ProjectPinned => Some(places.project.to_path_buf()),
        }
    }

    /// The folder below which everything is that it can match.
    pub(crate) fn folder(&self, places: &Places<'_>) -> Option<PathBuf> {
        let mut folder = self.base(places)?;
        if !self.any_depth(List::Deny) {
            // The last part may be the file itself.
            let parents = &self.segments[..self.segments.len().saturating_sub(1)];
            folder.extend(parents.iter().take_while(|part| !part.contains(['*', '?', '[', '\\'])));
        }
        Some(normalise(&folder))
    }

    /// A bare name holds at any depth; so does `dir/**`, but only to restrict.
    fn any_depth(&self, list: List) -> bool {
        let floats = match self.anchor {
            Anchor::Project => true,
            Anchor::ProjectPinned => list != List::Allow,
            Anchor::FileSystem | Anchor::Home | Anchor::Source => false,
        };
        let directory = self.segments.len() == 2 && self.segments[1] == "**" && list != List::Allow;
        floats && (self.segments.len() == 1 || directory)
    }

    /// `path` is [`spelled`] for the same list.
    pub(crate) fn matches(&self, mut base: PathBuf, path: &Path, list: List) -> bool {
        let ups = self.segments.iter().take_while(|s| *s == "..").count();
        for _ in 0..ups {
            base.pop();
        }
        let Ok(below) = path.strip_prefix(spelled(&base, list)) else { return false };
        let segments = &self.segments[ups..];
        if segments.is_empty() {
            return list != List::Allow;
        }
        let segments: Vec<String> = match list {
            List::Allow => segments.to_vec(),
            List::Ask | List::Deny => segments.iter().map(|segment| fold(segment)).collect(),
        };
        let names: Vec<_> = below.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        let anywhere = self.any_depth(list).then_some("**");
        let wanted: Vec<&str> = anywhere.into_iter().chain(segments.iter().map(String::as_str)).collect();
        path_segments(&wanted, &names)
    }
}

/// One spelling for all that some file system takes for the same name: in any case, composed or not, with
/// characters that it passes over.
pub(crate) fn fold(name: &str) -> String {
    if name.is_ascii() {
        return trimmed(name.to_ascii_lowercase());
    }
    let seen: String = name.chars().filter(|c| !is_passed_over(*c)).collect();
    // By way of capitals, which join letters that have two small forms.
    trimmed(seen.to_lowercase().to_uppercase().to_lowercase().nfc().collect())
}

/// Joiners, marks of direction and the like, which HFS+ ignores in names.
fn is_passed_over(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

fn trimmed(lower: String) -> String {
    let trimmed = lower.trim_end_matches(['.', ' ']);
    if trimmed.is_empty() || trimmed.len() == lower.len() { lower } else { trimmed.to_owned() }
}

pub(crate) fn folded(path: &Path) -> PathBuf {
    path.components()
        .map(|part| match part {
            Component::Normal(name) => PathBuf::from(fold(&name.to_string_lossy())),
            other => PathBuf::from(other.as_os_str()),
        })
        .collect()
}

/// Allow takes a path by its letter; what restricts takes it in every spelling.
pub(crate) fn spelled(path: &Path, list: List) -> PathBuf {
    match list {
        List::Allow => path.to_path_buf(),
        List::Ask | List::Deny => folded(path),
    }
}
