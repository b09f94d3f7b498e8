//! `.claude-plugin/plugin.json`: a plugin's name, and where its parts are if not in the usual folders.
//!
//! Fields that nobody knows are passed over; a field of the wrong type fails the plugin, because half of one
//! would look like all of it.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

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
    pub(crate) fn read(root: &Path, folder: &str) -> Result<Self, String> {
        let file = root.join(".claude-plugin/plugin.json");
        let Some(value) = json(&file)? else {
            let name = folder.to_owned();
            return if is_plugin_name(&name) {
                Ok(Self { name, ..Self::default() })
            } else {
                Err(format!("{} is missing, and the folder's name cannot be a plugin's", file.display()))
            };
        };
        let map = value.as_object().ok_or_else(|| format!("{} is not a JSON object", file.display()))?;
        Self::parse(map, root).map_err(|why| format!("{}: {why}", file.display()))
    }

    fn parse(map: &Map<String, Value>, root: &Path) -> Result<Self, String> {
        for key in TEXTS {
            text(map, key)?;
        }
        if map.get("keywords").is_some_and(|words| !is_list_of_text(words)) {
            return Err("`keywords` must be a list of text".to_owned());
        }
        let name = text(map, "name")?.ok_or("`name` is missing")?;
        if !is_plugin_name(&name) {
            return Err(format!("`name` is {name:?}; use letters, digits and dashes"));
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

fn text(map: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{key}` must be text")),
    }
}

fn is_list_of_text(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(Value::is_string))
}

/// One path or a list of them; each stays inside the plugin.
fn paths(map: &Map<String, Value>, key: &str, root: &Path) -> Result<Option<Vec<PathBuf>>, String> {
    let listed: Vec<&str> = match map.get(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(one)) => vec![one],
        Some(list @ Value::Array(items)) if is_list_of_text(list) => items.iter().filter_map(Value::as_str).collect(),
        Some(_) => return Err(format!("`{key}` must be a path or a list of paths")),
    };
    listed.into_iter().map(|path| inside(root, path, key)).collect::<Result<_, _>>().map(Some)
}

fn inside(root: &Path, path: &str, key: &str) -> Result<PathBuf, String> {
    let real = root.join(path).canonicalize().map_err(|error| format!("`{key}` names {path}: {error}"))?;
    if real.starts_with(root) { Ok(real) } else { Err(format!("`{key}` names {path}, which is outside the plugin")) }
}

/// Paths of files, or the value itself.
fn files_or_value(map: &Map<String, Value>, key: &str, root: &Path) -> Result<(Vec<PathBuf>, Option<Value>), String> {
    match map.get(key) {
        Some(value @ Value::Object(_)) => Ok((Vec::new(), Some(value.clone()))),
        _ => Ok((paths(map, key, root)?.unwrap_or_default(), None)),
    }
}
