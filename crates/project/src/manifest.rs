//! `.claude-plugin/plugin.json`: a plugin's name, and where its parts are if not in the usual folders.
//!
//! Fields that nobody knows are passed over; a field of the wrong type fails the plugin, because half of one
//! would look like all of it.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::document_error::{DocumentError, FieldError};
use crate::plugins::{is_plugin_name, json};

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Manifest {
    pub(crate) name: String,
    pub(crate) version: Option<String>,
    /// Beside the usual folder.
    pub(crate) skills: Vec<PathBuf>,
    /// In place of the usual folder.
    pub(crate) commands: Option<Vec<PathBuf>>,
    pub(crate) agents: Option<Vec<PathBuf>>,
    pub(crate) output_styles: Option<Vec<PathBuf>>,
    pub(crate) hook_files: Vec<PathBuf>,
    pub(crate) hooks: Option<Value>,
    pub(crate) mcp_files: Vec<PathBuf>,
    pub(crate) mcp_servers: Option<Value>,
}

/// Fields that hold text, for the check of types alone.
const TEXTS: [&str; 5] = ["displayName", "version", "description", "homepage", "license"];

impl Manifest {
    /// A folder without the file is a plugin under the folder's name.
    pub(crate) fn read(root: &Path, folder: &str) -> Result<Self, DocumentError> {
        let file = root.join(".claude-plugin/plugin.json");
        let Some(value) = json(&file)? else {
            let name = folder.to_owned();
            return if is_plugin_name(&name) {
                Ok(Self { name, ..Self::default() })
            } else {
                Err(DocumentError::NoManifest(file))
            };
        };
        let Some(map) = value.as_object() else { return Err(DocumentError::NotObject(file)) };
        Self::parse(map, root).map_err(|error| DocumentError::Field { file, error })
    }

    fn parse(map: &Map<String, Value>, root: &Path) -> Result<Self, FieldError> {
        for key in TEXTS {
            text(map, key)?;
        }
        if map.get("keywords").is_some_and(|words| !is_list_of_text(words)) {
            return Err(FieldError::Keywords);
        }
        let name = text(map, "name")?.ok_or(FieldError::NoName)?;
        if !is_plugin_name(&name) {
            return Err(FieldError::BadName(name));
        }
        let (hook_files, hooks) = files_or_value(map, "hooks", root)?;
        let (mcp_files, mcp_servers) = files_or_value(map, "mcpServers", root)?;
        Ok(Self {
            name,
            version: text(map, "version")?,
            skills: paths(map, "skills", root)?.unwrap_or_default(),
            commands: paths(map, "commands", root)?,
            agents: paths(map, "agents", root)?,
            output_styles: paths(map, "outputStyles", root)?,
            hook_files,
            hooks,
            mcp_files,
            mcp_servers,
        })
    }
}

fn text(map: &Map<String, Value>, key: &str) -> Result<Option<String>, FieldError> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(FieldError::NotText(key.to_owned())),
    }
}

fn is_list_of_text(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(Value::is_string))
}

/// One path or a list of them; each stays inside the plugin.
fn paths(map: &Map<String, Value>, key: &str, root: &Path) -> Result<Option<Vec<PathBuf>>, FieldError> {
    let listed: Vec<&str> = match map.get(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(one)) => vec![one],
        Some(list @ Value::Array(items)) if is_list_of_text(list) => items.iter().filter_map(Value::as_str).collect(),
        Some(_) => return Err(FieldError::NotPaths(key.to_owned())),
    };
    listed.into_iter().map(|path| inside(root, path, key)).collect::<Result<_, _>>().map(Some)
}

fn inside(root: &Path, path: &str, key: &str) -> Result<PathBuf, FieldError> {
    let (key, path) = (key.to_owned(), path.to_owned());
    match root.join(&path).canonicalize() {
        Ok(real) if real.starts_with(root) => Ok(real),
        Ok(_) => Err(FieldError::Outside { key, path }),
        Err(error) => Err(FieldError::Unreadable { key, path, error }),
    }
}

/// Paths of files, or the value itself.
fn files_or_value(
    map: &Map<String, Value>,
    key: &str,
    root: &Path,
) -> Result<(Vec<PathBuf>, Option<Value>), FieldError> {
    match map.get(key) {
        Some(value @ Value::Object(_)) => Ok((Vec::new(), Some(value.clone()))),
        _ => Ok((paths(map, key, root)?.unwrap_or_default(), None)),
    }
}
