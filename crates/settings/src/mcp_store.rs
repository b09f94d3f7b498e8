//! MCP servers that the user adds and removes by command: in the global file for themselves, everywhere or in one
//! folder, and in `.mcp.json` for everybody who works on the project.
//!
//! Absent: what an entry means (`mcp`).

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::files::{self, FileLock};
use crate::scope::Scope;
use crate::{Places, SettingsError};

/// Others hold the lock only while they rewrite one file.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// A server that is configured somewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredServer {
    pub name: String,
    pub scope: Scope,
    pub entry: Value,
}

fn file(places: &Places, scope: Scope) -> PathBuf {
    match scope {
        Scope::User | Scope::Local => places.global_file(),
        Scope::Project => places.checkout_root().join(".mcp.json"),
    }
}

/// The map of servers in a file, made where it is missing. `None` where something else is in its place.
fn servers<'a>(state: &'a mut Map<String, Value>, places: &Places, scope: Scope) -> Option<&'a mut Map<String, Value>> {
    let holder = match scope {
        Scope::User | Scope::Project => state,
        Scope::Local => {
            let projects = state.entry("projects").or_insert_with(|| json!({})).as_object_mut()?;
            let folder = places.cwd.display().to_string();
            projects.entry(folder).or_insert_with(|| json!({})).as_object_mut()?
        }
    };
    holder.entry("mcpServers").or_insert_with(|| json!({})).as_object_mut()
}

fn change<T>(
    places: &Places,
    scope: Scope,
    how: impl FnOnce(&mut Map<String, Value>) -> T,
) -> Result<T, SettingsError> {
    let file = file(places, scope);
    let _lock = FileLock::acquire(&file, LOCK_PATIENCE)?;
    let mut state = files::read_object(&file)?;
    let before = state.clone();
    let refused = || SettingsError::Refused { file: file.clone(), reason: "its servers are not an object".to_owned() };
    let done = how(servers(&mut state, places, scope).ok_or_else(refused)?);
    if state != before {
        files::write_object(&file, &state)?;
    }
    Ok(done)
}

/// False where the name is taken there.
pub fn add_server(places: &Places, scope: Scope, name: &str, entry: &Value) -> Result<bool, SettingsError> {
    change(places, scope, |servers| {
        let free = !servers.contains_key(name);
        if free {
            servers.insert(name.to_owned(), entry.clone());
        }
        free
    })
}

/// False where there is none of this name.
pub fn remove_server(places: &Places, scope: Scope, name: &str) -> Result<bool, SettingsError> {
    change(places, scope, |servers| servers.shift_remove(name).is_some())
}

/// Stronger first: of the user in this folder, of the project, of the user.
pub fn stored_servers(places: &Places) -> Vec<StoredServer> {
    let mut found: Vec<StoredServer> = Vec::new();
    for scope in [Scope::Local, Scope::Project, Scope::User] {
        let mut state = files::read_object(&file(places, scope)).unwrap_or_default();
        let Some(servers) = servers(&mut state, places, scope) else { continue };
        for (name, entry) in servers {
            if !found.iter().any(|known| known.name == *name) {
                found.push(StoredServer { name: name.clone(), scope, entry: entry.take() });
            }
        }
    }
    found
}

/// Forgets which of a project's servers the user has approved or rejected.
pub fn reset_project_choices(places: &Places) -> Result<(), SettingsError> {
    let file = places.global_file();
    let _lock = FileLock::acquire(&file, LOCK_PATIENCE)?;
    let mut state = files::read_object(&file)?;
    let before = state.clone();
    let project = state.get_mut("projects").and_then(|projects| projects.get_mut(places.cwd.display().to_string()));
    if let Some(project) = project.and_then(Value::as_object_mut) {
        for key in ["enabledMcpjsonServers", "disabledMcpjsonServers", "enableAllProjectMcpServers"] {
            project.shift_remove(key);
        }
    }
    if state == before { Ok(()) } else { files::write_object(&file, &state) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::Bed;

    #[test]
    fn servers_are_kept_where_they_were_added_and_everything_else_stays() {
        let bed = Bed::new();
        let global = bed.file("home/.claude.json", r#"{"z":1,"projects":{"/x":{"a":1}}}"#);
        let entry = json!({"command": "run"});
        for scope in [Scope::User, Scope::Local, Scope::Project] {
            assert!(add_server(&bed.places, scope, "srv", &entry).unwrap());
            assert!(!add_server(&bed.places, scope, "srv", &json!({})).unwrap(), "taken");
        }
        let stored = stored_servers(&bed.places);
        assert_eq!(stored, [StoredServer { name: "srv".into(), scope: Scope::Local, entry: entry.clone() }]);
        assert!(remove_server(&bed.places, Scope::Local, "srv").unwrap());
        assert_eq!(stored_servers(&bed.places)[0].scope, Scope::Project);
        assert!(remove_server(&bed.places, Scope::Project, "srv").unwrap());
        assert_eq!(stored_servers(&bed.places)[0].scope, Scope::User);
        assert!(!remove_server(&bed.places, Scope::Project, "srv").unwrap());
        let state: Value = serde_json::from_str(&std::fs::read_to_string(global).unwrap()).unwrap();
        assert_eq!((&state["z"], &state["projects"]["/x"]["a"]), (&json!(1), &json!(1)));
        bed.file("home/.claude.json", r#"{"mcpServers":[]}"#);
        assert!(matches!(add_server(&bed.places, Scope::User, "a", &entry), Err(SettingsError::Refused { .. })));
    }
}
