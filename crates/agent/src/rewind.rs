//! `--rewind-files`: restores files for a session that no process holds any more.

use crate::Options;
use serde_json::{Value, json};
use tools::{Checkpoints, RewindError, Workspace, rewind};

/// Restores every file that our tools have changed since that prompt, under the same rules as the request of a client.
pub fn rewind_files(options: &Options, message: &str) -> Result<Value, RewindError> {
    let checkpoints = Checkpoints::new(options.checkpoint_dir.clone());
    let workspace = Workspace::new(options.cwd.clone(), options.extra_roots.clone(), options.places.home.clone());
    rewind(&checkpoints, &workspace, options.tools.shell.fence(), &json!({"user_message_id": message}))
}
