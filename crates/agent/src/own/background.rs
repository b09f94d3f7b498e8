//! Agents that nobody waits for: a task among the background tasks, and a word to the model when it has
//! finished.
//!
//! An interrupt of the conversation does not reach them; being stopped by name, and the end of the
//! process, do.

use crate::InputFormat;
use crate::calls::Done;
use crate::cancel::Cancel;
use crate::own::errand::{self, Errand, Ready};
use crate::shared::{Lane, Shared};
use serde_json::json;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tools::{Ending, NewTask, Outcome, Running, Status};

/// How the registry of tasks knows agents.
pub const KIND: &str = "local_agent";

/// Only the main conversation hears of tasks that finish, so only it may start them; and a caller that
/// gave one prompt reads one result, so there the agent is waited for.
pub fn may_launch(shared: &Shared, lane: &Lane) -> bool {
    let talks_on = shared.options.input == InputFormat::StreamJson;
    talks_on && lane.role.is_main() && shared.options.tools.shell.background_allowed
}

/// Whether any is still at work.
pub fn any_running(shared: &Shared) -> bool {
    shared.kit.tasks.list().iter().any(|task| task.kind == KIND && task.status == Status::Running)
}

/// Sends an agent and returns at once.
pub async fn launch(shared: &Rc<Shared>, lane: &Lane, errand: &Errand<'_>) -> Done {
    if let Err(problem) = shared.kit.tasks.room() {
        return Outcome::error(problem.to_string()).into();
    }
    let ready = match errand::prepare(shared, lane, errand, Rc::new(Cancel::default())).await {
        Ok(ready) => ready,
        Err(problem) => return Outcome::error(problem).into(),
    };
    let agent_id = ready.agent_id.clone();
    let output_file = match open_output(&shared.options.tools.shell.spill_dir, &agent_id) {
        Ok(file) => file,
        Err(error) => return Outcome::error(format!("No file for the agent's answer could be made: {error}")).into(),
    };
    let new = NewTask {
        id: agent_id.clone(),
        kind: KIND,
        description: errand.description.to_owned(),
        command: None,
        tool_use_id: errand.tool_use_id.to_owned(),
        output_file: output_file.clone(),
    };
    let running = match shared.kit.tasks.begin(new) {
        Ok(running) => running,
        Err(problem) => return Outcome::error(problem.to_string()).into(),
    };
    errand::announce(shared, errand, &agent_id, Some(true)).await;
    let description = errand.description.to_owned();
    tokio::task::spawn_local(work(Rc::clone(shared), ready, running, output_file.clone(), description));
    let words = format!(
        "The agent {agent_id} is launched and works in the background. You are told when it has finished; its answer is then in {}.",
        output_file.display()
    );
    let structured = json!({
        "status": "async_launched",
        "agentId": agent_id,
        "description": errand.description,
        "prompt": errand.task,
        "outputFile": output_file,
    });
    Outcome::text(words, structured).into()
}

/// There from the start, so that looking in early finds nothing rather than an error.
fn open_output(folder: &Path, agent_id: &str) -> std::io::Result<PathBuf> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let path = folder.join(format!("{agent_id}.output"));
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    Ok(path)
}

async fn work(shared: Rc<Shared>, ready: Ready, running: Running, output_file: PathBuf, description: String) {
    // Dropped where it is to stop, which ends what it started.
    let finished = tokio::select! {
        finished = errand::carry_out(&shared, ready) => Some(finished),
        () = running.stop_requested() => None,
    };
    let status = finished.as_ref().map_or(Status::Stopped, |finished| finished.status);
    if let Some(finished) = finished {
        let answer = crate::after::text_of(&shared.secrets.hide(finished.outcome));
        let file = std::fs::OpenOptions::new().append(true).open(&output_file);
        // The notice says where the answer should be; a disk that is full is found out there.
        let _ = file.and_then(|mut file| file.write_all(answer.as_bytes()));
    }
    let summary = format!("Agent \"{description}\" {}", status.as_str());
    running.finish(Ending { status, exit_code: None, summary });
}
