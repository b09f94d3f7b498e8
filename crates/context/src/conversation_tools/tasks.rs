//! TaskCreate, TaskUpdate, TaskGet, TaskList: the session's own list of what is to be done. Hooks may refuse a
//! new task, and refuse that one is done.

use super::task_list::{Task, TaskList};
use policy::names;
use serde_json::{Value, json};
use std::cell::RefCell;
use tools::ToolSpec;
use turn::{CallResult, ToolFinish};

pub static SPECS: [ToolSpec; 4] = [
    ToolSpec::alone(
        &names::TASK_CREATE,
        "Add a task to the list of this session, which the user can see. For work of three or more steps; one call a task.",
        r#"{"type":"object","properties":{"subject":{"type":"string","description":"What is to be done, as a short order: Run the tests"},"description":{"type":"string","description":"What it takes to be done"},"activeForm":{"type":"string","description":"The same while it is being done: Running the tests"},"metadata":{"type":"object"}},"required":["subject","description"],"additionalProperties":false}"#,
    ),
    ToolSpec::alone(
        &names::TASK_UPDATE,
        "Change a task of the list. Set in_progress before you start on it and completed as soon as it is really done; deleted removes it.",
        r#"{"type":"object","properties":{"taskId":{"type":"string"},"status":{"type":"string","enum":["pending","in_progress","completed","deleted"]},"subject":{"type":"string"},"description":{"type":"string"},"activeForm":{"type":"string"},"addBlocks":{"type":"array","items":{"type":"string"},"description":"Tasks that have to wait for this one"},"addBlockedBy":{"type":"array","items":{"type":"string"},"description":"Tasks that this one has to wait for"},"owner":{"type":"string"},"metadata":{"type":"object","description":"Merged; null removes a key"}},"required":["taskId"],"additionalProperties":false}"#,
    ),
    ToolSpec::beside_others(
        &names::TASK_GET,
        "Look at one task of the list, with its description and what it waits for.",
        r#"{"type":"object","properties":{"taskId":{"type":"string"}},"required":["taskId"],"additionalProperties":false}"#,
    ),
    ToolSpec::beside_others(
        &names::TASK_LIST,
        "The tasks of this session and how they stand.",
        r#"{"type":"object","properties":{},"additionalProperties":false}"#,
    ),
];

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

/// Runs one. `may`: what hooks say.
pub async fn run(
    list: &RefCell<TaskList>,
    name: &str,
    input: &Value,
    may: impl AsyncFn(TaskMoment, &Task) -> Result<(), TaskRefused>,
) -> ToolFinish {
    match name {
        "TaskCreate" => create(list, input, may).await,
        "TaskUpdate" => update(list, input, may).await,
        "TaskGet" => get(list, input).into(),
        _ => {
            let list = list.borrow();
            CallResult::text(list.lines(), json!({"tasks": list.listing()})).into()
        }
    }
}

fn refused(words: String, stop: Option<String>) -> ToolFinish {
    ToolFinish { stop, ..ToolFinish::from(CallResult::error(words)) }
}

async fn create(
    list: &RefCell<TaskList>,
    input: &Value,
    may: impl AsyncFn(TaskMoment, &Task) -> Result<(), TaskRefused>,
) -> ToolFinish {
    let made = list.borrow_mut().create(input);
    let task = match made {
        Ok(task) => task,
        Err(error) => return CallResult::error(error.to_string()).into(),
    };
    if let Err(no) = may(TaskMoment::Created, &task).await {
        list.borrow_mut().remove(&task.id);
        return refused(format!("A hook refused the task: {}", no.reason), no.stop);
    }
    // Clients read the id out of this line.
    let words = format!("Task #{} created successfully: {}", task.id, task.subject);
    let structured = json!({"task": {"id": task.id, "subject": task.subject, "description": task.description}});
    CallResult::text(words, structured).into()
}

async fn update(
    list: &RefCell<TaskList>,
    input: &Value,
    may: impl AsyncFn(TaskMoment, &Task) -> Result<(), TaskRefused>,
) -> ToolFinish {
    let id = input["taskId"].as_str().unwrap_or_default();
    let known = list.borrow().get(id).cloned();
    if let Some(task) = known.filter(|task| input["status"] == "completed" && task.shown()["status"] != "completed")
        && let Err(no) = may(TaskMoment::Completed, &task).await
    {
        return refused(format!("A hook says that it is not done: {}", no.reason), no.stop);
    }
    let updated = list.borrow_mut().update(input);
    let Some(updated) = updated else {
        let words = format!("Task #{} not found", id.trim_start_matches('#'));
        let structured = json!({"success": false, "taskId": id, "updatedFields": [], "error": words});
        return CallResult::text(words, structured).into();
    };
    let mut structured = json!({"success": true, "taskId": id, "updatedFields": updated.fields});
    if let Some((from, to)) = &updated.status {
        structured["statusChange"] = json!({"from": from, "to": to});
    }
    let what = if updated.fields.is_empty() { "nothing".into() } else { updated.fields.join(", ") };
    CallResult::text(format!("Updated task #{}: {what}", id.trim_start_matches('#')), structured).into()
}

fn get(list: &RefCell<TaskList>, input: &Value) -> CallResult {
    let list = list.borrow();
    match list.get(input["taskId"].as_str().unwrap_or_default()) {
        Some(task) => CallResult::text(task.shown().to_string(), json!({"task": task.shown()})),
        None => CallResult::text("Task not found", json!({"task": null})),
    }
}
