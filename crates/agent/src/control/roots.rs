//! `register_repo_root`: one more folder to work in, below those there are.

use crate::Options;
use conversation::HookRunner;
use conversation::rules::Rules;
use hooks::DirectoryAdded;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::rc::Rc;

/// Takes the folder in. Only what lies strictly below a folder of the session: a client's message may come from
/// a model, and must not widen what it was started with.
pub fn register(options: &Options, rules: &Rules, hooks: &Rc<HookRunner>, request: &Value) -> Result<Value, String> {
    let given = request["directory"].as_str().ok_or("register_repo_root needs \"directory\", a string")?;
    let folder = std::fs::canonicalize(options.cwd.join(given))
        .map_err(|error| format!("{given} cannot be used as a folder to work in: {error}"))?;
    if !folder.is_dir() {
        return Err(format!("{given} is not a folder"));
    }
    let mut roots: Vec<PathBuf> = std::iter::once(&options.cwd).chain(&options.extra_roots).cloned().collect();
    let is_below = roots.iter().any(|root| folder != *root && folder.starts_with(root));
    let mut added = rules.extra_roots();
    roots.extend(added.iter().cloned());
    if roots.contains(&folder) {
        return Err(format!("{} is one already", folder.display()));
    }
    if !is_below {
        return Err(format!("{} is not below a folder that this session was started with", folder.display()));
    }
    added.push(folder.clone());
    rules.set_extra_roots(added);
    // Told beside the conversation: hooks may live in the client, who waits for our answer first.
    let (hooks, answer) = (Rc::clone(hooks), json!({"directory": folder}));
    hooks.between.begin();
    tokio::task::spawn_local(async move {
        hooks.tell_outside(&DirectoryAdded { directory: &folder, source: "register_repo_root" }).await;
        hooks.between.end();
    });
    Ok(answer)
}
