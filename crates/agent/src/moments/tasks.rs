//! A task is put on the session's list, or said to be done.

use super::fields;
use crate::hearing::fire;
use crate::hooks::HookEvent;
use crate::own::Task;
use crate::shared::{Lane, Shared};
use serde_json::json;

#[derive(Debug, Clone, Copy)]
pub enum TaskMoment {
    Created,
    Completed,
}

/// A hook's no, and whether the whole run stops with it.
pub struct TaskRefused {
    pub reason: String,
    pub stop: Option<String>,
}

pub async fn task(shared: &Shared, lane: &Lane, moment: TaskMoment, task: &Task) -> Result<(), TaskRefused> {
    let event = match moment {
        TaskMoment::Created => HookEvent::TaskCreated,
        TaskMoment::Completed => HookEvent::TaskCompleted,
    };
    let fields = fields([
        ("task_id", json!(task.id)),
        ("task_subject", json!(task.subject)),
        ("task_description", json!(task.description)),
    ]);
    let verdict = fire(shared, lane, event, None, fields, None).await;
    match verdict.blocked.clone().or_else(|| verdict.stop.clone()) {
        Some(reason) => Err(TaskRefused { reason, stop: verdict.stop }),
        None => Ok(()),
    }
}
