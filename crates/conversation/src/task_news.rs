//! Background tasks, as clients and the model are told of them.

use crate::hook_payload::AGENT_TASK;
use options::Options;
use output::{Output, Secrets, clock};
use serde_json::json;
use std::path::Path;
use std::rc::Rc;
use tools::{Status, TaskEvent, TaskInfo, Tasks};
use wire::{BackgroundTasksChanged, Event, System, TaskNotification, TaskStarted, TaskUpdated};

pub struct TaskNews {
    pub options: Rc<Options>,
    pub output: Rc<Output>,
    pub tasks: Tasks,
    pub secrets: Secrets,
}

/// Agents in the background that are at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agents {
    None,
    /// A call or a definition wanted each of them in the background.
    Wanted,
    /// Somebody may still count on the answer of one.
    Awaited,
}

impl TaskNews {
    pub fn agents(&self) -> Agents {
        let at_work = |task: &TaskInfo| task.kind == AGENT_TASK && task.status == Status::Running;
        let running: Vec<TaskInfo> = self.tasks.list().into_iter().filter(at_work).collect();
        if running.is_empty() {
            Agents::None
        } else if running.iter().any(|task| task.is_awaited) {
            Agents::Awaited
        } else {
            Agents::Wanted
        }
    }

    /// Tells of tasks that a call has started; always before the call's result.
    pub async fn tell_started(&self) {
        for task in self.tasks.take_started() {
            self.started(task).await;
        }
    }

    /// Tells the client; what the model should be told of it.
    pub async fn tell(&self, event: TaskEvent) -> Option<String> {
        match event {
            TaskEvent::Started(task) => {
                self.started(task).await;
                None
            }
            TaskEvent::Said { task, text } => Some(self.said(&task, &text)),
            TaskEvent::Finished { task, summary } => self.finished(task, summary).await,
        }
    }

    async fn started(&self, task: TaskInfo) {
        // An agent has been told of by whoever started it, who knows more of it.
        if task.kind == AGENT_TASK {
            return self.tell_set().await;
        }
        let started = TaskStarted {
            task_id: task.id,
            tool_use_id: task.tool_use_id,
            description: task.description,
            task_type: task.kind.into(),
            is_backgrounded: Some(true),
            ..TaskStarted::default()
        };
        self.output.send(Event::System(System::TaskStarted(Box::new(started)))).await;
        self.tell_set().await;
    }

    /// Clients replace what they know of running tasks by this.
    async fn tell_set(&self) {
        let running = self.tasks.list().into_iter().filter(|task| task.status == Status::Running);
        let shown =
            running.map(|task| json!({"task_id": task.id, "task_type": task.kind, "description": task.description}));
        let changed = BackgroundTasksChanged { tasks: shown.collect(), ..BackgroundTasksChanged::default() };
        self.output.send(Event::System(System::BackgroundTasksChanged(changed))).await;
    }

    /// Nothing of a secret is told to the model.
    fn said(&self, task: &TaskInfo, text: &str) -> String {
        let text = self.secrets.hide_text(text);
        let TaskInfo { id, description, .. } = task;
        format!(
            "<task-notification>\n<task-id>{id}</task-id>\n<summary>Monitor \"{description}\" says</summary>\n<event>{text}</event>\n</task-notification>"
        )
    }

    async fn finished(&self, task: TaskInfo, summary: String) -> Option<String> {
        let status = task.status.as_str();
        let patch = json!({"status": if status == "stopped" { "killed" } else { status }, "end_time": clock::now_ms()});
        let updated = TaskUpdated { task_id: task.id.clone(), patch, ..TaskUpdated::default() };
        self.output.send(Event::System(System::TaskUpdated(updated))).await;
        self.tell_set().await;
        let output_file = task.output_file.display().to_string();
        let most = self.options.limits.agent_output;
        let answer = if task.kind == AGENT_TASK { answer_in(&task.output_file, most) } else { String::new() };
        let words = notice(&task.id, status, &summary, &output_file, &answer);
        let notification = TaskNotification {
            task_id: task.id,
            tool_use_id: Some(task.tool_use_id),
            status: status.into(),
            output_file,
            summary,
            ..TaskNotification::default()
        };
        self.output.send(Event::System(System::TaskNotification(Box::new(notification)))).await;
        (status != "stopped").then_some(words)
    }
}

/// The model is told what a person watching the terminal would see.
fn notice(id: &str, status: &str, summary: &str, output_file: &str, answer: &str) -> String {
    let result = if answer.is_empty() { String::new() } else { format!("<result>{answer}</result>\n") };
    format!(
        "<task-notification>\n<task-id>{id}</task-id>\n<status>{status}</status>\n<summary>{summary}</summary>\n<output-file>{output_file}</output-file>\n{result}</task-notification>"
    )
}

/// What an agent in the background has answered; it was bounded when it was written.
fn answer_in(file: &Path, most: usize) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.chars().take(most.saturating_mul(2)).collect()
}
