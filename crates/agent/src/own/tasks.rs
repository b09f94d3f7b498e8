//! TaskCreate, TaskUpdate, TaskGet, TaskList: the session's own list of what is to be done. Hooks may refuse a
//! new task, and refuse that one is done.

use crate::ask::ToolCall;
use crate::calls::Done;
use crate::moments::{self, TaskMoment};
use crate::permit::permit;
use crate::shared::{Lane, Shared};
use crate::toolset::canonical;
use policy::names;
use serde_json::{Value, json};
use tools::{Outcome, ToolSpec};

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

pub fn is_one(name: &str) -> bool {
    SPECS.iter().any(|spec| spec.name == name)
}

pub async fn run(shared: &Shared, lane: &Lane, call: &ToolCall) -> Done {
    let name = canonical(&call.name);
    let Some(spec) = SPECS.iter().find(|spec| spec.name == name) else {
        return Outcome::misuse(format!("No such tool available: {name}")).into();
    };
    let input = match spec.check(call.input.clone()) {
        Ok(input) => input,
        Err(problem) => return Outcome::from(problem).into(),
    };
    let permitted = match permit(shared, lane, &call.id, name, input, Vec::new()).await {
        Ok(permitted) => permitted,
        Err(refused) => return refused.into(),
    };
    // A hook or the client may have changed it.
    let input = match spec.check(permitted.input.clone()) {
        Ok(input) => input,
        Err(problem) => return Outcome::from(problem).into(),
    };
    let (outcome, stop) = match name {
        "TaskCreate" => create(shared, lane, &input).await,
        "TaskUpdate" => update(shared, lane, &input).await,
        "TaskGet" => (get(shared, &input), None),
        _ => {
            let list = shared.task_list.borrow();
            (Outcome::text(list.lines(), json!({"tasks": list.listing()})), None)
        }
    };
    Done { stop, ..Done::from(outcome) }.of(permitted)
}

/// An outcome, and why the run should stop.
type Ended = (Outcome, Option<String>);

async fn create(shared: &Shared, lane: &Lane, input: &Value) -> Ended {
    let made = shared.task_list.borrow_mut().create(input);
    let task = match made {
        Ok(task) => task,
        Err(problem) => return (Outcome::error(problem), None),
    };
    let heard = moments::task(shared, lane, TaskMoment::Created, &task).await;
    if let Err(refused) = heard {
        shared.task_list.borrow_mut().remove(&task.id);
        return (Outcome::error(format!("A hook refused the task: {}", refused.reason)), refused.stop);
    }
    // Clients read the id out of this line.
    let words = format!("Task #{} created successfully: {}", task.id, task.subject);
    let structured = json!({"task": {"id": task.id, "subject": task.subject, "description": task.description}});
    (Outcome::text(words, structured), None)
}

async fn update(shared: &Shared, lane: &Lane, input: &Value) -> Ended {
    let id = input["taskId"].as_str().unwrap_or_default();
    let known = shared.task_list.borrow().get(id).cloned();
    if let Some(task) = known.filter(|task| input["status"] == "completed" && task.shown()["status"] != "completed")
        && let Err(refused) = moments::task(shared, lane, TaskMoment::Completed, &task).await
    {
        return (Outcome::error(format!("A hook says that it is not done: {}", refused.reason)), refused.stop);
    }
    let updated = shared.task_list.borrow_mut().update(input);
    let Some(updated) = updated else {
        let words = format!("Task #{} not found", id.trim_start_matches('#'));
        let structured = json!({"success": false, "taskId": id, "updatedFields": [], "error": words});
        return (Outcome::text(words, structured), None);
    };
    let mut structured = json!({"success": true, "taskId": id, "updatedFields": updated.fields});
    if let Some((from, to)) = &updated.status {
        structured["statusChange"] = json!({"from": from, "to": to});
    }
    let what = if updated.fields.is_empty() { "nothing".into() } else { updated.fields.join(", ") };
    (Outcome::text(format!("Updated task #{}: {what}", id.trim_start_matches('#')), structured), None)
}

fn get(shared: &Shared, input: &Value) -> Outcome {
    let list = shared.task_list.borrow();
    match list.get(input["taskId"].as_str().unwrap_or_default()) {
        Some(task) => Outcome::text(task.shown().to_string(), json!({"task": task.shown()})),
        None => Outcome::text("Task not found", json!({"task": null})),
    }
}
