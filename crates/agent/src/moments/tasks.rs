//! A task is put on the session's list, or said to be done.

use crate::hearing::fire;
use crate::own::Task;
use crate::shared::{Lane, Shared};
use hooks::{TaskCompleted, TaskCreated};

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
    let (task_id, task_subject, task_description) = (&*task.id, &*task.subject, &*task.description);
    let verdict = match moment {
        TaskMoment::Created => fire(shared, lane, &TaskCreated { task_id, task_subject, task_description }).await,
        TaskMoment::Completed => fire(shared, lane, &TaskCompleted { task_id, task_subject, task_description }).await,
    };
    match verdict.blocked.clone().or_else(|| verdict.stop.clone()) {
        Some(reason) => Err(TaskRefused { reason, stop: verdict.stop }),
        None => Ok(()),
    }
}
