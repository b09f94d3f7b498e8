//! TaskOutput and TaskStop: the model's two ways to deal with background tasks.

use crate::bash_output::{Excerpt, tail};
use crate::ctx::{Ctx, Invocation};
use crate::input::parse;
use crate::tasks::{Status, TaskInfo, Tasks};
use crate::{Outcome, ToolSpec};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::time::Duration;

pub(crate) const OUTPUT_SPEC: ToolSpec = ToolSpec {
    name: "TaskOutput",
    description: "Returns the state and the latest output of a background task, by default after waiting for it to end.\n\
        To look in while it runs, reading the task's output file with Read is as good.",
    schema: r#"{"type":"object","properties":{"task_id":{"type":"string","description":"The id given when the task started"},"block":{"type":"boolean","description":"Wait for the task to end; true if left out"},"timeout":{"type":"number","description":"Milliseconds to wait at most; 30000 if left out, 600000 at most"}},"required":["task_id"],"additionalProperties":false}"#,
    read_only: true,
};

pub(crate) const STOP_SPEC: ToolSpec = ToolSpec {
    name: "TaskStop",
    description: "Stops a background task and everything it started.",
    schema: r#"{"type":"object","properties":{"task_id":{"type":"string","description":"The id given when the task started"},"shell_id":{"type":"string","description":"Old name of task_id"}},"required":[],"additionalProperties":false}"#,
    read_only: false,
};

const DEFAULT_WAIT: Duration = Duration::from_secs(30);
const LONGEST_WAIT: Duration = Duration::from_mins(10);

/// A task that does not end when asked is killed after a second; this is past that.
const STOP_WAIT: Duration = Duration::from_secs(5);

/// For what these tools were called in older versions; transcripts and rules still say so.
pub(crate) fn current_name(name: &str) -> Option<&'static str> {
    match name {
        "BashOutput" | "AgentOutputTool" => Some(OUTPUT_SPEC.name),
        "KillShell" | "KillBash" => Some(STOP_SPEC.name),
        _ => None,
    }
}

/// The input of such a call in today's fields; those that mean nothing any more are dropped.
pub(crate) fn modernised(name: &str, input: &Value) -> Option<Value> {
    current_name(name)?;
    let mut fields = Map::new();
    for (field, value) in input.as_object().into_iter().flatten() {
        match field.as_str() {
            "filter" => continue,
            "wait_up_to" => fields.insert("timeout".into(), json!(value.as_f64().map(|seconds| seconds * 1000.0))),
            "bash_id" | "shell_id" | "agentId" | "agent_id" => fields.insert("task_id".into(), value.clone()),
            other => fields.insert(other.into(), value.clone()),
        };
    }
    if name == "BashOutput" {
        fields.entry("block").or_insert(Value::Bool(false));
    }
    Some(Value::Object(fields))
}

#[derive(Deserialize)]
struct OutputInput {
    task_id: String,
    block: Option<bool>,
    timeout: Option<f64>,
}

pub(crate) async fn output(call: &Invocation<'_>, ctx: &Ctx) -> Outcome {
    match parse::<OutputInput>(OUTPUT_SPEC.name, call.input) {
        Ok(input) => output_of(&input, &ctx.tasks, ctx.shell.max_output).await,
        Err(text) => Outcome::misuse(text),
    }
}

async fn output_of(input: &OutputInput, tasks: &Tasks, max_output: usize) -> Outcome {
    let block = input.block.unwrap_or(true);
    let asked = input.timeout.filter(|ms| ms.is_finite() && *ms >= 0.0).map(|ms| Duration::from_millis(ms as u64));
    let limit = if block { asked.unwrap_or(DEFAULT_WAIT).min(LONGEST_WAIT) } else { Duration::ZERO };
    let found = if block { tasks.wait(&input.task_id, limit).await } else { tasks.get(&input.task_id) };
    match found {
        Ok(task) => shown(&task, block, &tail(&task.output_file, max_output).unwrap_or_default()),
        Err(error) => Outcome::error(explained(&error.to_string(), tasks)),
    }
}

fn shown(task: &TaskInfo, blocked: bool, output: &Excerpt) -> Outcome {
    let retrieval = match (task.status, blocked) {
        (Status::Running, true) => "timeout",
        (Status::Running, false) => "not_ready",
        _ => "success",
    };
    let code = task.exit_code.map(|code| format!(", exit code {code}")).unwrap_or_default();
    let rest = if output.whole {
        String::new()
    } else {
        format!("\nOnly the end of its output is shown; all of it is in {}", task.output_file.display())
    };
    let said = if output.text.is_empty() { "(no output so far)" } else { &output.text };
    let text = format!("Task {} ({}): {}{code}{rest}\n\n{said}", task.id, task.description, task.status.as_str());
    let structured = json!({
        "retrieval_status": retrieval,
        "task": {
            "task_id": task.id,
            "task_type": task.kind,
            "status": task.status.as_str(),
            "description": task.description,
            "output": output.text,
            "exitCode": task.exit_code,
        },
    });
    Outcome::text(text, structured)
}

#[derive(Deserialize)]
struct StopInput {
    task_id: Option<String>,
    shell_id: Option<String>,
}

pub(crate) async fn stop(call: &Invocation<'_>, ctx: &Ctx) -> Outcome {
    let input = match parse::<StopInput>(STOP_SPEC.name, call.input) {
        Ok(input) => input,
        Err(text) => return Outcome::misuse(text),
    };
    match input.task_id.or(input.shell_id) {
        Some(id) => stop_one(&id, &ctx.tasks).await,
        None => Outcome::misuse("InputValidationError: TaskStop needs `task_id`, a string"),
    }
}

async fn stop_one(id: &str, tasks: &Tasks) -> Outcome {
    match tasks.stop(id, STOP_WAIT).await {
        Ok(task) => {
            let message = format!("Stopped task {} ({})", task.id, task.description);
            let mut structured = json!({"message": message, "task_id": task.id, "task_type": task.kind});
            if let Some(command) = &task.command {
                structured["command"] = json!(command);
            }
            Outcome::text(message, structured)
        }
        Err(error) => Outcome::error(explained(&error.to_string(), tasks)),
    }
}

/// With the ids that would have been right.
fn explained(problem: &str, tasks: &Tasks) -> String {
    let running: Vec<String> =
        tasks.list().into_iter().filter(|task| task.status == Status::Running).map(|task| task.id).collect();
    if running.is_empty() {
        format!("{problem}. No background task is running.")
    } else {
        format!("{problem}. Running: {}.", running.join(", "))
    }
}

#[cfg(test)]
#[path = "tasks_tools_tests.rs"]
mod tests;
