//! TaskOutput and TaskStop: the model's two ways to deal with background tasks.

use crate::ToolOutcome;
use crate::context::ToolContext;
use crate::schema::{InputError, parse};
use crate::shell::output::{Excerpt, tail};
use crate::tasks::{Status, TaskInfo, Tasks};
use crate::tool::{Invocation, Tool, ToolFuture, ToolSpec, boxed};
use policy::names;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::time::Duration;

static OUTPUT_SPEC: ToolSpec = ToolSpec::beside_others(
    &names::TASK_OUTPUT,
    "Returns the state and the latest output of a background task, by default after waiting for it to end.\n\
        To look in while it runs, reading the task's output file with Read is as good.",
    r#"{"type":"object","properties":{"task_id":{"type":"string","description":"The id given when the task started"},"block":{"type":"boolean","description":"Wait for the task to end; true if left out"},"timeout":{"type":"number","description":"Milliseconds to wait at most; 30000 if left out, 600000 at most"}},"required":["task_id"],"additionalProperties":false}"#,
);

static STOP_SPEC: ToolSpec = ToolSpec::alone(
    &names::TASK_STOP,
    "Stops a background task and everything it started.",
    r#"{"type":"object","properties":{"task_id":{"type":"string","description":"The id given when the task started"},"shell_id":{"type":"string","description":"Old name of task_id"}},"required":[],"additionalProperties":false}"#,
);

const DEFAULT_WAIT: Duration = Duration::from_secs(30);
const LONGEST_WAIT: Duration = Duration::from_mins(10);

/// A task that does not end when asked is killed after a second; this is past that.
const STOP_WAIT: Duration = Duration::from_secs(5);

pub(crate) struct TaskOutput;

impl Tool for TaskOutput {
    fn spec(&self) -> &ToolSpec {
        &OUTPUT_SPEC
    }

    fn adapt(&self, called_as: &str, input: Value) -> Value {
        with_current_fields(&OUTPUT_SPEC, called_as, input)
    }

    fn run<'a>(&'a self, call: Invocation<'a>, context: &'a ToolContext) -> ToolFuture<'a> {
        boxed(output(call, context))
    }
}

pub(crate) struct TaskStop;

impl Tool for TaskStop {
    fn spec(&self) -> &ToolSpec {
        &STOP_SPEC
    }

    fn adapt(&self, called_as: &str, input: Value) -> Value {
        with_current_fields(&STOP_SPEC, called_as, input)
    }

    fn check(&self, input: &Value) -> Result<(), InputError> {
        let named = ["task_id", "shell_id"].iter().any(|field| input.get(field).is_some());
        let missing = InputError::Missing { tool: STOP_SPEC.entry.name, field: "task_id" };
        if named { Ok(()) } else { Err(missing) }
    }

    fn run<'a>(&'a self, call: Invocation<'a>, context: &'a ToolContext) -> ToolFuture<'a> {
        boxed(stop(call, context))
    }
}

/// The one of the former names that did not wait unless it was told to.
const NEVER_WAITED: &str = "BashOutput";

/// The input of a call by a former name, in today's fields; those that mean nothing any more are dropped.
fn with_current_fields(spec: &ToolSpec, called_as: &str, input: Value) -> Value {
    if called_as == spec.entry.name {
        return input;
    }
    let Value::Object(given) = input else { return input };
    let mut fields = Map::new();
    for (field, value) in given {
        match field.as_str() {
            "filter" => continue,
            "wait_up_to" => fields.insert("timeout".into(), json!(value.as_f64().map(|seconds| seconds * 1000.0))),
            "bash_id" | "shell_id" | "agentId" | "agent_id" => fields.insert("task_id".into(), value),
            _ => fields.insert(field, value),
        };
    }
    if called_as == NEVER_WAITED {
        fields.entry("block").or_insert(Value::Bool(false));
    }
    Value::Object(fields)
}

#[derive(Deserialize)]
struct OutputInput {
    task_id: String,
    block: Option<bool>,
    timeout: Option<f64>,
}

async fn output(call: Invocation<'_>, context: &ToolContext) -> Result<ToolOutcome, ToolOutcome> {
    let input: OutputInput = parse(OUTPUT_SPEC.entry.name, call.input)?;
    Ok(output_of(&input, &context.tasks, context.shell.max_output).await)
}

async fn output_of(input: &OutputInput, tasks: &Tasks, max_output: usize) -> ToolOutcome {
    let block = input.block.unwrap_or(true);
    let asked = input.timeout.filter(|ms| ms.is_finite() && *ms >= 0.0).map(|ms| Duration::from_millis(ms as u64));
    let limit = if block { asked.unwrap_or(DEFAULT_WAIT).min(LONGEST_WAIT) } else { Duration::ZERO };
    let found = if block { tasks.wait(&input.task_id, limit).await } else { tasks.get(&input.task_id) };
    match found {
        Ok(task) => shown(&task, block, &tail(&task.output_file, max_output).unwrap_or_default()),
        Err(error) => ToolOutcome::error(explained(&error.to_string(), tasks)),
    }
}

fn shown(task: &TaskInfo, blocked: bool, output: &Excerpt) -> ToolOutcome {
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
    ToolOutcome::text(text, structured)
}

#[derive(Deserialize)]
struct StopInput {
    task_id: Option<String>,
    shell_id: Option<String>,
}

async fn stop(call: Invocation<'_>, context: &ToolContext) -> Result<ToolOutcome, ToolOutcome> {
    let tool = STOP_SPEC.entry.name;
    let input: StopInput = parse(tool, call.input)?;
    let id = input.task_id.or(input.shell_id).ok_or(InputError::Missing { tool, field: "task_id" })?;
    Ok(stop_one(&id, &context.tasks).await)
}

async fn stop_one(id: &str, tasks: &Tasks) -> ToolOutcome {
    match tasks.stop(id, STOP_WAIT).await {
        Ok(task) => {
            let message = format!("Stopped task {} ({})", task.id, task.description);
            let mut structured = json!({"message": message, "task_id": task.id, "task_type": task.kind});
            if let Some(command) = &task.command {
                structured["command"] = json!(command);
            }
            ToolOutcome::text(message, structured)
        }
        Err(error) => ToolOutcome::error(explained(&error.to_string(), tasks)),
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
#[path = "task_tools_tests.rs"]
mod tests;
