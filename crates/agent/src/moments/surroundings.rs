//! What happens around a conversation: where it is, what it may touch, who should know.

use super::fields;
use crate::hearing::{fire, fire_outside};
use crate::hooks::HookEvent;
use crate::shared::{Lane, Shared};
use crate::watching::Change;
use serde_json::{Value, json};
use std::path::Path;

/// A command went to another folder and stays there.
pub async fn cwd_changed(shared: &Shared, lane: &Lane, old: &Path, new: &Path) {
    let fields = fields([("old_cwd", json!(old)), ("new_cwd", json!(new))]);
    fire(shared, lane, HookEvent::CwdChanged, None, fields, None).await;
}

/// A folder became one to work in.
pub async fn directory_added(shared: &Shared, directory: &Path, source: &str) {
    let fields = fields([("directory", json!(directory)), ("source", json!(source))]);
    keep_contexts(shared, fire_outside(shared, HookEvent::DirectoryAdded, Some(source), fields).await.contexts);
}

/// A watched file is another than before.
pub async fn file_changed(shared: &Shared, change: &Change) {
    let name = change.path.file_name().unwrap_or_default().to_string_lossy();
    let fields = fields([("file_path", json!(change.path)), ("event", json!(change.what.as_str()))]);
    keep_contexts(shared, fire_outside(shared, HookEvent::FileChanged, Some(&name), fields).await.contexts);
}

/// A person should look.
pub async fn notify(shared: &Shared, lane: Option<&Lane>, kind: &str, message: &str) {
    let fields = fields([("message", json!(message)), ("notification_type", json!(kind))]);
    match lane {
        Some(lane) => fire(shared, lane, HookEvent::Notification, Some(kind), fields, None).await,
        None => fire_outside(shared, HookEvent::Notification, Some(kind), fields).await,
    };
}

/// Rules or the mode refused a call and nobody was there to be asked. True where the model may try it again.
pub async fn denied(shared: &Shared, lane: &Lane, (id, name): (&str, &str), input: &Value, reason: &str) -> bool {
    let fields = fields([
        ("tool_name", json!(name)),
        ("tool_input", input.clone()),
        ("tool_use_id", json!(id)),
        ("reason", json!(reason)),
    ]);
    fire(shared, lane, HookEvent::PermissionDenied, Some(name), fields, Some(id)).await.retry
}

fn keep_contexts(shared: &Shared, contexts: Vec<String>) {
    shared.live.ear.late.borrow_mut().extend(contexts);
}
