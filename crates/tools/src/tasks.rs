//! Background tasks: their identity, their status, and events about them.
//!
//! A registry, not a runner: the starter of a task keeps its [`Running`] end, listens for the wish to
//! stop, and says how it ended. Dropping that end counts as stopped, so every task that started also
//! finishes on the wire.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// Enough for servers, watchers and helpers; more is a model that lost count.
const MOST_RUNNING: usize = 32;

/// Finished tasks that can still be asked about.
const MOST_KEPT: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Running,
    Completed,
    Failed,
    Stopped,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }
}

/// A task that is about to start.
#[derive(Debug, Clone)]
pub struct NewTask {
    pub id: String,
    /// `local_bash`, `local_agent`.
    pub kind: &'static str,
    pub description: String,
    /// For shells, what they run.
    pub command: Option<String>,
    pub tool_use_id: String,
    pub output_file: PathBuf,
    /// Nobody asked for the background, so the process stays until the task has ended.
    pub is_awaited: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskInfo {
    pub id: String,
    pub kind: &'static str,
    pub description: String,
    pub command: Option<String>,
    pub tool_use_id: String,
    pub output_file: PathBuf,
    pub is_awaited: bool,
    pub status: Status,
    pub exit_code: Option<i32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskEvent {
    Started(TaskInfo),
    /// It has something to say while it runs.
    Said {
        task: TaskInfo,
        text: String,
    },
    /// The status is never `Running`.
    Finished {
        task: TaskInfo,
        summary: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    #[error("{MOST_RUNNING} background tasks are running already; stop one of them first")]
    TooMany,
    #[error("no background task has the id {0:?}")]
    Unknown(String),
    #[error("task {id} is not running any more, it has {}", .status.as_str())]
    NotRunning { id: String, status: Status },
}

/// Cheap to clone; all clones are the same registry.
#[derive(Debug, Clone, Default)]
pub struct Tasks(Arc<Registry>);

#[derive(Debug, Default)]
struct Registry {
    state: Mutex<TaskTable>,
    /// Told of every change, so that waiting needs no polling.
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct TaskTable {
    tasks: Vec<Entry>,
    /// A few a task, whose runner bounds them, and the starter of tasks reads them between turns.
    news: VecDeque<TaskEvent>,
    /// Calls that are waited for and could be left alone, and whether somebody wants that.
    awaited: Vec<(String, bool)>,
}

#[derive(Debug)]
struct Entry {
    info: TaskInfo,
    asked_to_stop: bool,
}

impl Tasks {
    /// Registers a task and announces it.
    pub fn begin(&self, new: NewTask) -> Result<Running, TaskError> {
        let NewTask { id, kind, description, command, tool_use_id, output_file, is_awaited } = new;
        let info = TaskInfo {
            id: id.clone(),
            kind,
            description,
            command,
            tool_use_id,
            output_file,
            is_awaited,
            status: Status::Running,
            exit_code: None,
        };
        {
            let mut state = self.lock();
            if state.running() >= MOST_RUNNING {
                return Err(TaskError::TooMany);
            }
            state.forget_oldest();
            state.news.push_back(TaskEvent::Started(info.clone()));
            state.tasks.push(Entry { info, asked_to_stop: false });
        }
        self.0.changed.send_replace(());
        Ok(Running { tasks: self.clone(), id, finished: false })
    }

    /// Notes that a call is waited for, as long as the guard lives.
    pub fn awaited(&self, tool_use_id: &str) -> Awaited {
        self.lock().awaited.push((tool_use_id.to_owned(), false));
        Awaited { tasks: self.clone(), tool_use_id: tool_use_id.to_owned() }
    }

    /// Asks that the call be waited for no longer, or all of them. Whether there was one.
    pub fn leave_alone(&self, tool_use_id: Option<&str>) -> bool {
        let mut any = false;
        for (id, is_left) in &mut self.lock().awaited {
            if tool_use_id.is_none_or(|wanted| wanted == id) {
                (*is_left, any) = (true, true);
            }
        }
        self.0.changed.send_replace(());
        any
    }

    /// Whether another task could begin now.
    pub fn room(&self) -> Result<(), TaskError> {
        if self.running_count() < MOST_RUNNING { Ok(()) } else { Err(TaskError::TooMany) }
    }

    pub fn list(&self) -> Vec<TaskInfo> {
        self.lock().tasks.iter().map(|entry| entry.info.clone()).collect()
    }

    pub fn get(&self, id: &str) -> Result<TaskInfo, TaskError> {
        self.lock().find(id).map(|entry| entry.info.clone()).ok_or_else(|| TaskError::Unknown(id.into()))
    }

    pub fn running_count(&self) -> usize {
        self.lock().running()
    }

    /// Whether [`Tasks::next_event`] would answer at once.
    pub fn has_news(&self) -> bool {
        !self.lock().news.is_empty()
    }

    /// The next piece of news, in order. May be cancelled; nothing is lost.
    pub async fn next_event(&self) -> TaskEvent {
        self.wait_for(|state| state.news.pop_front()).await
    }

    /// Takes the news of starts out of the queue, so that they can be told before the call's result.
    pub fn take_started(&self) -> Vec<TaskInfo> {
        let mut state = self.lock();
        let (started, rest) =
            std::mem::take(&mut state.news).into_iter().partition(|news| matches!(news, TaskEvent::Started(_)));
        state.news = rest;
        let started: VecDeque<TaskEvent> = started;
        started
            .into_iter()
            .filter_map(|news| match news {
                TaskEvent::Started(task) => Some(task),
                TaskEvent::Said { .. } | TaskEvent::Finished { .. } => None,
            })
            .collect()
    }

    /// The same without waiting.
    pub fn try_next_event(&self) -> Option<TaskEvent> {
        self.lock().news.pop_front()
    }

    /// The task once it has ended, or as it is after `limit`.
    pub async fn wait(&self, id: &str, limit: Duration) -> Result<TaskInfo, TaskError> {
        let ended = self.wait_for(|state| match state.find(id) {
            Some(entry) if entry.info.status == Status::Running => None,
            _ => Some(()),
        });
        let _ = timeout(limit, ended).await;
        self.get(id)
    }

    /// Asks a task to stop and waits up to `limit` for it to have done so.
    pub async fn stop(&self, id: &str, limit: Duration) -> Result<TaskInfo, TaskError> {
        {
            let mut state = self.lock();
            let entry = state.find(id).ok_or_else(|| TaskError::Unknown(id.into()))?;
            if entry.info.status != Status::Running {
                return Err(TaskError::NotRunning { id: id.into(), status: entry.info.status });
            }
            entry.asked_to_stop = true;
        }
        self.0.changed.send_replace(());
        self.wait(id, limit).await
    }

    /// Asks all to stop; returns when they have, or after `limit`.
    pub async fn stop_all(&self, limit: Duration) {
        for entry in &mut self.lock().tasks {
            entry.asked_to_stop = true;
        }
        self.0.changed.send_replace(());
        let _ = timeout(limit, self.wait_for(|state| (state.running() == 0).then_some(()))).await;
    }

    fn lock(&self) -> MutexGuard<'_, TaskTable> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn wait_for<T>(&self, mut look: impl FnMut(&mut TaskTable) -> Option<T>) -> T {
        // Subscribed before the look, so that a change in between wakes us.
        let mut changed = self.0.changed.subscribe();
        loop {
            if let Some(found) = look(&mut self.lock()) {
                return found;
            }
            // The sender lives in `self`; it cannot be gone.
            let _ = changed.changed().await;
        }
    }

    fn say(&self, id: &str, text: String) {
        let mut state = self.lock();
        if let Some(task) = state.find(id).map(|entry| entry.info.clone()) {
            state.news.push_back(TaskEvent::Said { task, text });
        }
        drop(state);
        self.0.changed.send_replace(());
    }

    fn finish(&self, id: &str, ending: Ending) {
        self.lock().finish(id, ending);
        self.0.changed.send_replace(());
    }
}

impl TaskTable {
    fn running(&self) -> usize {
        self.tasks.iter().filter(|entry| entry.info.status == Status::Running).count()
    }

    fn find(&mut self, id: &str) -> Option<&mut Entry> {
        self.tasks.iter_mut().find(|entry| entry.info.id == id)
    }

    fn finish(&mut self, id: &str, ending: Ending) {
        if let Some(entry) = self.find(id) {
            entry.info.status = ending.status;
            entry.info.exit_code = ending.exit_code;
            let task = entry.info.clone();
            self.news.push_back(TaskEvent::Finished { task, summary: ending.summary });
        }
    }

    fn forget_oldest(&mut self) {
        if self.tasks.len() >= MOST_KEPT + MOST_RUNNING
            && let Some(oldest) = self.tasks.iter().position(|entry| entry.info.status != Status::Running)
        {
            self.tasks.remove(oldest);
        }
    }
}

/// A call that is waited for.
#[derive(Debug)]
pub struct Awaited {
    tasks: Tasks,
    tool_use_id: String,
}

impl Awaited {
    /// Completes when somebody wants it to go on in the background.
    pub async fn left_alone(&self) {
        let is_left = |state: &mut TaskTable| state.awaited.iter().any(|(id, left)| *id == self.tool_use_id && *left);
        self.tasks.wait_for(|state| is_left(state).then_some(())).await;
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.tasks.lock().awaited.retain(|(id, _)| *id != self.tool_use_id);
    }
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    pub status: Status,
    pub exit_code: Option<i32>,
    /// One sentence for the model and for clients.
    pub summary: String,
}

/// The end of a task that belongs to its runner.
#[derive(Debug)]
pub struct Running {
    tasks: Tasks,
    id: String,
    finished: bool,
}

impl Running {
    /// Completes when somebody wants the task to stop.
    pub async fn stop_requested(&self) {
        self.tasks.wait_for(|state| state.find(&self.id).is_none_or(|entry| entry.asked_to_stop).then_some(())).await;
    }

    /// Tells whoever listens something before the end.
    pub(crate) fn say(&self, text: String) {
        self.tasks.say(&self.id, text);
    }

    pub fn finish(mut self, ending: Ending) {
        self.finished = true;
        self.tasks.finish(&self.id, ending);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.finished {
            let summary = format!("Background task {} was stopped with the session", self.id);
            self.tasks.finish(&self.id, Ending { status: Status::Stopped, exit_code: None, summary });
        }
    }
}

#[cfg(test)]
#[path = "tasks_tests.rs"]
mod tests;
