//! What happens around a conversation: where it is, what it may touch, who should know.

use crate::hearing::{fire, fire_outside};
use crate::shared::{Lane, Shared};
use hooks::file_watch::Change;
use hooks::{CwdChanged, DirectoryAdded, FileChanged, Notification, PermissionDenied};
use serde_json::Value;
use std::path::Path;

/// A command went to another folder and stays there.
pub async fn cwd_changed(shared: &Shared, lane: &Lane, old: &Path, new: &Path) {
    fire(shared, lane, &CwdChanged { old_cwd: old, new_cwd: new }).await;
}

/// A folder became one to work in.
pub async fn directory_added(shared: &Shared, directory: &Path, source: &str) {
    keep_contexts(shared, fire_outside(shared, &DirectoryAdded { directory, source }).await.contexts);
}

/// A watched file is another than before.
pub async fn file_changed(shared: &Shared, change: &Change) {
    let name = change.path.file_name().unwrap_or_default().to_string_lossy();
    let payload = FileChanged { file_name: &name, file_path: &change.path, event: change.what.as_str() };
    keep_contexts(shared, fire_outside(shared, &payload).await.contexts);
}

/// A person should look.
pub async fn notify(shared: &Shared, lane: Option<&Lane>, kind: &str, message: &str) {
    let payload = Notification { message, notification_type: kind };
    match lane {
        Some(lane) => fire(shared, lane, &payload).await,
        None => fire_outside(shared, &payload).await,
    };
}

/// Rules or the mode refused a call and nobody was there to be asked. True where the model may try it again.
pub async fn denied(shared: &Shared, lane: &Lane, (id, name): (&str, &str), input: &Value, reason: &str) -> bool {
    let payload = PermissionDenied { tool_name: name, tool_input: input, tool_use_id: id, reason };
    fire(shared, lane, &payload).await.retry
}

fn keep_contexts(shared: &Shared, contexts: Vec<String>) {
    shared.live.ear.late.borrow_mut().extend(contexts);
}
