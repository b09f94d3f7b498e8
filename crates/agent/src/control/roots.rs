//! `register_repo_root`: one more folder to work in, below those there are.

use crate::moments;
use crate::shared::Shared;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::rc::Rc;

/// Takes the folder in. Only what lies strictly below a folder of the session: a client's message may come from
/// a model, and must not widen what it was started with.
pub fn register(shared: &Rc<Shared>, request: &Value) -> Result<Value, String> {
    let given = request["directory"].as_str().ok_or("register_repo_root needs \"directory\", a string")?;
    let options = &shared.options;
    let folder = std::fs::canonicalize(options.cwd.join(given))
        .map_err(|error| format!("{given} cannot be used as a folder to work in: {error}"))?;
    if !folder.is_dir() {
        return Err(format!("{given} is not a folder"));
    }
    let mut roots: Vec<PathBuf> = std::iter::once(&options.cwd).chain(&options.extra_roots).cloned().collect();
    let is_below = roots.iter().any(|root| folder != *root && folder.starts_with(root));
    roots.extend(shared.live.extra_roots.borrow().iter().cloned());
    if roots.contains(&folder) {
        return Err(format!("{} is one already", folder.display()));
    }
    if !is_below {
        return Err(format!("{} is not below a folder that this session was started with", folder.display()));
    }
    shared.live.extra_roots.borrow_mut().push(folder.clone());
    // Told beside the conversation: hooks may live in the client, who waits for our answer first.
    let (shared, answer) = (Rc::clone(shared), json!({"directory": folder}));
    shared.live.ear.between.begin();
    tokio::task::spawn_local(async move {
        moments::directory_added(&shared, &folder, "register_repo_root").await;
        shared.live.ear.between.end();
    });
    Ok(answer)
}
