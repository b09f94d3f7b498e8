//! What is wrong with a document that a plugin or a marketplace brings.

use settings::files::ReadFailure;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    #[error("{}: {failure}", file.display())]
    Read { file: PathBuf, failure: ReadFailure },
    #[error("{} is not JSON ({error})", file.display())]
    NotJson { file: PathBuf, error: serde_json::Error },
    #[error("{} is not a JSON object", .0.display())]
    NotObject(PathBuf),
    #[error("{} does not exist", .0.display())]
    Missing(PathBuf),
    #[error("{} is missing, and the folder's name cannot be a plugin's", .0.display())]
    NoManifest(PathBuf),
    #[error("{}: {error}", file.display())]
    Field { file: PathBuf, error: FieldError },
    #[error("its hooks are not an object of events")]
    Hooks,
    #[error("its MCP servers are not an object of names")]
    Servers,
}

/// A field of such a document.
#[derive(Debug, thiserror::Error)]
pub enum FieldError {
    #[error("it is not a JSON object")]
    NotObject,
    #[error("`{0}` must be text")]
    NotText(String),
    #[error("`keywords` must be a list of text")]
    Keywords,
    #[error("`plugins` must be a list")]
    Plugins,
    #[error("`name` is missing")]
    NoName,
    #[error("`name` is {0:?}; use letters, digits and dashes")]
    BadName(String),
    #[error("`{0}` must be a path or a list of paths")]
    NotPaths(String),
    #[error("`{key}` names {path}: {error}")]
    Unreadable { key: String, path: String, error: std::io::Error },
    #[error("`{key}` names {path}, which is outside the plugin")]
    Outside { key: String, path: String },
}
