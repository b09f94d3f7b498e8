//! Agents that nobody waits for: a task among the background tasks, and a word to the model when it has
//! finished.
//!
//! An interrupt of the conversation does not reach them; being stopped by name, and the end of the
//! process, do.

use super::{Assignment, Counted, Launch, Ready, SubagentError, Subagents, status_word};
use conversation::{AGENT_TASK, Active, Conversation, Inside};
use serde_json::json;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tokio::sync::mpsc::channel;
use tools::{Ending, NewTask, Running, Status};
use turn::{CallResult, SubagentStatus};

/// Whether any is still at work.
pub fn any_running(tasks: &tools::Tasks) -> bool {
    tasks.list().iter().any(|task| task.kind == AGENT_TASK && task.status == Status::Running)
}

impl Subagents {
    /// Starts an agent and returns at once.
    pub async fn launch(
        self: &Rc<Self>,
        parent: &Conversation,
        assignment: &Assignment,
        counted: Counted,
        inside: Inside<'_>,
    ) -> Result<CallResult, SubagentError> {
        self.resources.tasks.room()?;
        let ready = self.prepare(parent, assignment, counted, Some(inside)).await?;
        let agent_id = ready.agent_id.clone();
        let active = self.remember(&ready, assignment);
        let launch = Launch::of(&ready, assignment);
        let output_file = self.start(ready, active, &launch).await?;
        let words = format!(
            "The agent {agent_id} is launched and works in the background. You are told when it has finished; its answer is then in {}.",
            output_file.display()
        );
        let structured = json!({
            "status": "async_launched",
            "agentId": agent_id,
            "description": assignment.description,
            "prompt": assignment.task,
            "outputFile": output_file,
        });
        Ok(CallResult::text(words, structured))
    }

    /// Lets an agent work as a background task. The file will hold its answer.
    pub async fn start(
        self: &Rc<Self>,
        ready: Ready,
        active: Active,
        launch: &Launch,
    ) -> Result<PathBuf, SubagentError> {
        let spill_dir = &self.options.tools.shell.spill_dir;
        let output_file = open_output(spill_dir, &launch.task_id).map_err(SubagentError::AnswerFile)?;
        let new = NewTask {
            id: launch.task_id.clone(),
            kind: AGENT_TASK,
            description: launch.description.clone(),
            command: None,
            tool_use_id: launch.tool_use_id.clone(),
            output_file: output_file.clone(),
        };
        let running = self.resources.tasks.begin(new)?;
        self.announce(launch, Some(true)).await;
        let work = work(Rc::clone(self), ready, running, output_file.clone(), launch.description.clone());
        tokio::task::spawn_local(async move {
            let _active = active;
            work.await;
        });
        Ok(output_file)
    }
}

/// There from the start, so that looking in early finds nothing rather than an error.
fn open_output(folder: &Path, agent_id: &str) -> std::io::Result<PathBuf> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let path = folder.join(format!("{agent_id}.output"));
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    Ok(path)
}

async fn work(subagents: Rc<Subagents>, ready: Ready, running: Running, output_file: PathBuf, description: String) {
    let (_nobody, inbox) = channel(1);
    // Dropped where it is to stop, which ends what it started.
    let finished = tokio::select! {
        finished = subagents.carry_out(ready, inbox) => Some(finished),
        () = running.stop_requested() => None,
    };
    let status = finished.as_ref().map_or(SubagentStatus::Stopped, |finished| finished.status);
    if let Some(finished) = finished {
        let answer = subagents.secrets.hide(finished.result).words();
        let file = std::fs::OpenOptions::new().append(true).open(&output_file);
        // The notice says where the answer should be; a disk that is full is found out there.
        let _ = file.and_then(|mut file| file.write_all(answer.as_bytes()));
    }
    let summary = format!("Agent \"{description}\" {}", status_word(status));
    let status = match status {
        SubagentStatus::Completed => Status::Completed,
        SubagentStatus::Failed => Status::Failed,
        SubagentStatus::Stopped => Status::Stopped,
    };
    running.finish(Ending { status, exit_code: None, summary });
}
