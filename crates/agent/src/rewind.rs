//! `--rewind-files`: restores files for a session that no process holds any more.

use crate::Options;
use serde_json::{Value, json};
use std::path::Path;
use tools::{Checkpoints, Workspace, rewind};

/// Restores every file that our tools have changed since that prompt, under the same rules as the request of a client.
pub fn rewind_files(options: &Options, message: &str) -> Result<Value, String> {
    let checkpoints = Checkpoints::new(options.checkpoint_dir.clone());
    let workspace = Workspace::new(options.cwd.clone(), options.extra_roots.clone(), options.places.home.clone());
    let fence = options.tools.shell.fence();
    let may_write = |path: &Path| match fence {
        Some(fence) => fence.may_write(path).map_err(|why| why.to_string()),
        None => Ok(()),
    };
    rewind(&checkpoints, &workspace, &may_write, &json!({"user_message_id": message}))
}
