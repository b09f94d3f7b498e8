//! Requests about background tasks.

use super::error::{FieldError, text};
use super::group::{Group, Reply};
use crate::Options;
use output::Secrets;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::rc::Rc;
use std::time::Duration;
use tools::{TaskError, Tasks};

/// A stopped task gets this long to be gone before the client is answered.
const STOP_WAIT: Duration = Duration::from_secs(2);
/// Of a task's output: its end is what people look for.
const OUTPUT: u64 = 8 * 1024;

pub struct TaskRequests {
    pub options: Rc<Options>,
    pub secrets: Secrets,
    pub tasks: Tasks,
}

#[derive(Debug, thiserror::Error)]
enum TaskRequestError {
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error("background tasks are switched off for this session")]
    Off,
    #[error("the output of {id} cannot be read: {why}")]
    Output { id: String, why: std::io::Error },
}

impl Group for TaskRequests {
    fn answer(self: Rc<Self>, subtype: &str, request: Rc<Value>) -> Option<Reply> {
        Some(match subtype {
            "stop_task" => Reply::soon(async move { self.stop(&request).await }),
            "background_tasks" => Reply::now(self.background(&request)),
            "get_task_output" => Reply::now(self.output(&request)),
            _ => return None,
        })
    }
}

impl TaskRequests {
    async fn stop(&self, request: &Value) -> Result<Value, TaskRequestError> {
        match self.tasks.stop(text(request, "task_id")?, STOP_WAIT).await {
            // What is not there any more has stopped.
            Ok(_) | Err(TaskError::Unknown(_)) => Ok(json!({})),
            Err(error) => Err(error.into()),
        }
    }

    /// Commands that are waited for go on by themselves; agents are still waited for.
    fn background(&self, request: &Value) -> Result<Value, TaskRequestError> {
        if !self.options.tools.shell.background_allowed {
            return Err(TaskRequestError::Off);
        }
        let left = self.tasks.leave_alone(request["tool_use_id"].as_str());
        Ok(json!({"backgrounded": left}))
    }

    fn output(&self, request: &Value) -> Result<Value, TaskRequestError> {
        let id = text(request, "task_id")?;
        let task = self.tasks.get(id)?;
        let fail = |why: std::io::Error| TaskRequestError::Output { id: id.to_owned(), why };
        let mut file = match File::open(&task.output_file) {
            Ok(file) => file,
            // It has written nothing yet.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(json!({"output": "", "total_bytes": 0, "truncated": false}));
            }
            Err(error) => return Err(fail(error)),
        };
        let total = file.metadata().map_err(fail)?.len();
        file.seek(SeekFrom::Start(total.saturating_sub(OUTPUT))).map_err(fail)?;
        let mut bytes = Vec::new();
        file.take(OUTPUT).read_to_end(&mut bytes).map_err(fail)?;
        let output = String::from_utf8_lossy(&bytes).into_owned();
        let answer = json!({"output": output, "total_bytes": total, "truncated": total > OUTPUT});
        Ok(self.secrets.hide_value(answer))
    }
}
