//! Agents that nobody waits for: a task among the background tasks, and a word to the model when it has
//! finished.
//!
//! An interrupt of the conversation does not reach them; being stopped by name, and the end of the
//! process, do.

use super::{Assignment, Counted, Finished, Launch, Ready, SubagentError, Subagents, status_word};
use conversation::{AGENT_TASK, Active, Conversation, Inside};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use output::Secrets;
use serde_json::{Value, json};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::timeout;
use tools::{Ending, NewTask, Running, Status};
use turn::{AgentWait, CallResult, Input, QUICK_AGENT, SubagentStatus};
use wire::{Event, System, TaskUpdated};

/// An agent's work to its end.
type Work = LocalBoxFuture<'static, Finished>;

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
        let active = self.remember(&ready, assignment);
        let launch = Launch::of(&ready, assignment);
        let output_file = self.start(ready, active, &launch).await?;
        Ok(launched(&launch, &output_file))
    }

    /// Lets an agent work as a background task. The file will hold its answer.
    pub async fn start(
        self: &Rc<Self>,
        ready: Ready,
        active: Active,
        launch: &Launch,
    ) -> Result<PathBuf, SubagentError> {
        let (running, output_file) = self.register(launch, false)?;
        self.announce(launch, Some(true)).await;
        let (_nobody, inbox) = channel(1);
        self.spawn(Rc::clone(self).work(ready, inbox), active, launch, (running, output_file.clone()));
        Ok(output_file)
    }

    /// An agent's work to its end, wherever that is waited for.
    pub fn work(self: Rc<Self>, ready: Ready, inbox: Receiver<Input>) -> Work {
        async move { self.carry_out(ready, inbox).await }.boxed_local()
    }

    /// Completes when an agent that is waited for should go on in the background, and can.
    pub async fn left_alone(&self, parent: &Conversation, launch: &Launch, wait: AgentWait) -> (Running, PathBuf) {
        if !parent.role.is_main() || !self.options.tools.shell.background_allowed {
            return std::future::pending().await;
        }
        let awaited = self.resources.tasks.awaited(&launch.tool_use_id);
        match wait {
            AgentWait::Briefly => drop(timeout(QUICK_AGENT, awaited.left_alone()).await),
            AgentWait::ToTheEnd | AgentWait::No => awaited.left_alone().await,
        }
        match self.register(launch, true) {
            Ok(registered) => registered,
            // One for which there is no room is waited for.
            Err(_) => std::future::pending().await,
        }
    }

    /// Lets an agent that was waited for go on in the background.
    pub async fn leave(
        self: &Rc<Self>,
        work: Work,
        active: Active,
        launch: &Launch,
        registered: (Running, PathBuf),
    ) -> Finished {
        self.stats.leave_in_background();
        let result = launched(launch, &registered.1);
        let patch = json!({"is_backgrounded": true});
        let updated = TaskUpdated { task_id: launch.task_id.clone(), patch, ..TaskUpdated::default() };
        self.output.send(Event::System(System::TaskUpdated(updated))).await;
        self.spawn(work, active, launch, registered);
        Finished { result, status: SubagentStatus::Completed, totals: Value::Null }
    }

    fn register(&self, launch: &Launch, is_awaited: bool) -> Result<(Running, PathBuf), SubagentError> {
        self.resources.tasks.room()?;
        let spill_dir = &self.options.tools.shell.spill_dir;
        let output_file = open_output(spill_dir, &launch.task_id).map_err(SubagentError::AnswerFile)?;
        let new = NewTask {
            id: launch.task_id.clone(),
            kind: AGENT_TASK,
            description: launch.description.clone(),
            command: None,
            tool_use_id: launch.tool_use_id.clone(),
            output_file: output_file.clone(),
            is_awaited,
        };
        Ok((self.resources.tasks.begin(new)?, output_file))
    }

    fn spawn(self: &Rc<Self>, work: Work, active: Active, launch: &Launch, registered: (Running, PathBuf)) {
        let secrets = self.secrets.clone();
        let description = launch.description.clone();
        tokio::task::spawn_local(async move {
            let _active = active;
            let (running, output_file) = registered;
            finish(work, running, &output_file, &description, &secrets).await;
        });
    }
}

fn launched(launch: &Launch, output_file: &Path) -> CallResult {
    let words = format!(
        "The agent {} is launched and works in the background. You are told when it has finished; its answer is then in {}.",
        launch.task_id,
        output_file.display()
    );
    let structured = json!({
        "status": "async_launched",
        "isAsync": true,
        "agentId": launch.task_id,
        "description": launch.description,
        "prompt": launch.prompt,
        "outputFile": output_file,
    });
    CallResult::text(words, structured)
}

/// There from the start, so that looking in early finds nothing rather than an error.
fn open_output(folder: &Path, agent_id: &str) -> std::io::Result<PathBuf> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let path = folder.join(format!("{agent_id}.output"));
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    Ok(path)
}

/// Waits for the end, and tells it.
async fn finish(work: Work, running: Running, output_file: &Path, description: &str, secrets: &Secrets) {
    // Dropped where it is to stop, which ends what it started.
    let finished = tokio::select! {
        finished = work => Some(finished),
        () = running.stop_requested() => None,
    };
    let status = finished.as_ref().map_or(SubagentStatus::Stopped, |finished| finished.status);
    if let Some(finished) = finished {
        let answer = secrets.hide(finished.result).words();
        let file = std::fs::OpenOptions::new().append(true).open(output_file);
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
