//! `register_repo_root`: one more folder to work in, below those there are.

use super::error::{FieldError, text};
use crate::Options;
use conversation::HookRunner;
use conversation::rules::Rules;
use hooks::DirectoryAdded;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::rc::Rc;

/// Why a folder is not taken in.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error("{given} cannot be used as a folder to work in: {why}")]
    Unusable { given: String, why: std::io::Error },
    #[error("{0} is not a folder")]
    NoFolder(String),
    #[error("{} is one already", .0.display())]
    Known(PathBuf),
    #[error("{} is not below a folder that this session was started with", .0.display())]
    Outside(PathBuf),
}

/// Takes the folder in. Only what lies strictly below a folder of the session: a client's message may come from
/// a model, and must not widen what it was started with.
pub fn register(options: &Options, rules: &Rules, hooks: &Rc<HookRunner>, request: &Value) -> Result<Value, RootError> {
    let given = text(request, "directory")?;
    let folder = std::fs::canonicalize(options.cwd.join(given))
        .map_err(|why| RootError::Unusable { given: given.to_owned(), why })?;
    if !folder.is_dir() {
        return Err(RootError::NoFolder(given.to_owned()));
    }
    let mut roots: Vec<PathBuf> = std::iter::once(&options.cwd).chain(&options.extra_roots).cloned().collect();
    let is_below = roots.iter().any(|root| folder != *root && folder.starts_with(root));
    let mut added = rules.extra_roots();
    roots.extend(added.iter().cloned());
    if roots.contains(&folder) {
        return Err(RootError::Known(folder));
    }
    if !is_below {
        return Err(RootError::Outside(folder));
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
