//! What is waiting to be done, and everything that may happen outside a turn.

use super::stdin::{self, Line};
use super::{recall, warn};
use crate::own::background;
use crate::shared::Shared;
use crate::state::{self, State};
use crate::{InputFormat, StdinKind};
use crate::{control, hearing};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tools::{TaskEvent, TaskInfo};
use wire::{Event, ExitCode, Input, System, TaskNotification, TaskUpdated, UserInput};

/// Prompts that may wait. A client that queues more waits itself: its lines stay in the pipe.
const QUEUE_MAX: usize = 1024;

/// A timer needs some end; a day is for ever to it.
const FOR_EVER: Duration = Duration::from_hours(24);

/// Something for a turn to start with.
pub enum Work {
    Prompt(Box<UserInput>),
    /// A background task finished after the turn that started it, or a hook has something to say.
    Notice {
        words: String,
    },
    /// Go on with the call that was put off, without a prompt.
    Deferred,
}

/// One thing that happened outside the turn.
pub enum Happened {
    Line(Option<Line>),
    Signal(ExitCode),
    Task(TaskEvent),
    /// A hook in the background wants to be heard.
    Woken(String),
    ReaderLeft,
}

/// What comes of waiting.
pub enum Outside {
    Work(Work),
    /// Nothing is queued and nothing can come any more.
    Over,
    Stop(ExitCode),
}

pub struct Desk {
    queue: VecDeque<Work>,
    lines: Option<mpsc::Receiver<Line>>,
    interrupt: Signal,
    terminate: Signal,
    hangup: Option<Signal>,
    bad_lines: u32,
    /// The client's `initialize` has to come before anything is done.
    awaits_client: bool,
    /// Since when only background tasks keep us here.
    lingering_since: Option<Instant>,
    /// Context that a client added without asking for an answer; goes with the next prompt.
    held: Vec<Value>,
}

impl Desk {
    pub fn open(shared: &Shared, input: InputFormat, prompt: Option<String>) -> std::io::Result<Self> {
        let lines = match (input, shared.options.stdin) {
            (InputFormat::Text, _) | (_, StdinKind::Closed) => None,
            _ => Some(stdin::lines()?),
        };
        let lines_come = lines.is_some();
        let waits = prompt.is_none() && input == InputFormat::Text && shared.live.deferred.borrow().is_some();
        let first = prompt.map(|text| Work::Prompt(Box::new(typed(text)))).or(waits.then_some(Work::Deferred));
        let queue = first.into_iter().collect();
        Ok(Self {
            queue,
            lines,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: shared.options.ends_with_terminal.then(|| signal(SignalKind::hangup())).transpose()?,
            bad_lines: 0,
            awaits_client: shared.options.await_initialize && lines_come,
            lingering_since: None,
            held: Vec::new(),
        })
    }

    pub fn saw_bad_line(&self) -> bool {
        self.bad_lines > 0
    }

    /// Context that no prompt took along.
    pub fn left_over(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.held)
    }

    /// Waits for the next thing to do.
    pub async fn next(&mut self, shared: &Rc<Shared>) -> Outside {
        loop {
            let work = if self.awaits_client { None } else { self.queue.pop_front() };
            if let Some(work) = work {
                self.lingering_since = None;
                return Outside::Work(work);
            }
            self.rest(shared).await;
            let Some(until) = self.stays_until(shared) else {
                return Outside::Over;
            };
            let happened = tokio::select! {
                happened = self.happening(shared) => happened,
                () = tokio::time::sleep_until(until) => continue,
            };
            if let Some(exit) = self.handle(shared, happened).await {
                return Outside::Stop(exit);
            }
        }
    }

    /// At the end: what was stopped with us is told, because clients wait for every task that started.
    pub async fn settle(&mut self, shared: &Shared) {
        while let Some(event) = shared.kit.tasks.try_next_event() {
            self.task(shared, event).await;
        }
        self.queue.clear();
        self.rest(shared).await;
    }

    /// Tells the client that nothing is being done, unless agents still work in the background.
    pub async fn rest(&self, shared: &Shared) {
        if self.queue.is_empty() && !background::any_running(shared) && !shared.kit.tasks.has_news() {
            state::tell(shared, State::Idle).await;
        }
    }

    /// Until when we stay although nothing is queued; `None` where there is nothing to stay for.
    fn stays_until(&mut self, shared: &Shared) -> Option<Instant> {
        let now = Instant::now();
        if self.lines.is_some() {
            return Some(now + FOR_EVER);
        }
        if shared.kit.tasks.running_count() == 0 && !shared.kit.tasks.has_news() {
            return None;
        }
        let since = *self.lingering_since.get_or_insert(now);
        let linger = &shared.options.limits.linger;
        let limit = if background::any_running(shared) { linger.agents.unwrap_or(FOR_EVER) } else { linger.shells };
        let until = since + limit;
        (until > now).then_some(until)
    }

    /// Waits for one thing to happen. May be dropped at any time without losing anything.
    pub async fn happening(&mut self, shared: &Shared) -> Happened {
        let room = self.queue.len() < QUEUE_MAX;
        tokio::select! {
            _ = self.terminate.recv() => Happened::Signal(ExitCode::Terminated),
            () = hung_up(self.hangup.as_mut()) => Happened::Signal(ExitCode::Terminated),
            _ = self.interrupt.recv() => Happened::Signal(ExitCode::Interrupted),
            () = shared.emitter.writer().reader_left() => Happened::ReaderLeft,
            event = shared.kit.tasks.next_event() => Happened::Task(event),
            words = hearing::woken(shared), if room => Happened::Woken(words),
            line = receive(self.lines.as_mut()), if room && self.lines.is_some() => Happened::Line(line),
        }
    }

    /// Waits for a signal alone.
    pub async fn signalled(&mut self) -> ExitCode {
        tokio::select! {
            _ = self.terminate.recv() => ExitCode::Terminated,
            () = hung_up(self.hangup.as_mut()) => ExitCode::Terminated,
            _ = self.interrupt.recv() => ExitCode::Interrupted,
        }
    }

    /// Does what the happening asks for; `Some` where it asks us to stop.
    pub async fn handle(&mut self, shared: &Rc<Shared>, happened: Happened) -> Option<ExitCode> {
        match happened {
            Happened::Signal(exit) => return Some(exit),
            Happened::ReaderLeft => return Some(ExitCode::Failure),
            Happened::Line(None) => {
                self.lines = None;
                self.awaits_client = false;
                shared.link.close();
            }
            Happened::Line(Some(Line::TooLong)) => self.bad_line("a line on stdin is over 64 MiB and was thrown away"),
            Happened::Line(Some(Line::Bytes(line))) => match Input::parse(&line) {
                Ok(Some(input)) => self.take(shared, input).await,
                Ok(None) => {}
                Err(error) => self.bad_line(&error.to_string()),
            },
            Happened::Task(event) => self.task(shared, event).await,
            Happened::Woken(words) => {
                let words = format!("<system-reminder>\nA hook in the background says:\n{words}\n</system-reminder>");
                self.queue.push_back(Work::Notice { words });
            }
        }
        None
    }

    fn bad_line(&mut self, problem: &str) {
        self.bad_lines += 1;
        warn(&format!("error: {problem}; the line was skipped"));
    }

    async fn take(&mut self, shared: &Rc<Shared>, input: Input) {
        match input {
            Input::User(prompt) if prompt.should_query == Some(false) => self.held.push(prompt.message.content),
            Input::User(mut prompt) => {
                prompt.message.content = with_held(std::mem::take(&mut self.held), prompt.message.content);
                self.queue.push_back(Work::Prompt(prompt));
            }
            Input::ControlRequest { request_id, request } => {
                let waiting = recall::answer(&mut self.queue, &request);
                let is_first = request["subtype"] == "initialize";
                control::handle(shared, request_id, request, waiting).await;
                self.awaits_client &= !is_first;
            }
            Input::ControlResponse(line) => shared.link.answer(line.response),
            Input::ControlCancel(_) | Input::KeepAlive | Input::Unknown(_) => {}
        }
    }

    async fn task(&mut self, shared: &Shared, event: TaskEvent) {
        match event {
            TaskEvent::Started(task) => crate::calls::announce(shared, task).await,
            TaskEvent::Finished { task, summary } => self.finished(shared, task, summary).await,
        }
    }

    async fn finished(&mut self, shared: &Shared, task: TaskInfo, summary: String) {
        let status = task.status.as_str();
        let patch =
            json!({"status": if status == "stopped" { "killed" } else { status }, "end_time": crate::clock::now_ms()});
        let updated = TaskUpdated { task_id: task.id.clone(), patch, ..TaskUpdated::default() };
        shared.emitter.send(Event::System(System::TaskUpdated(updated))).await;
        let output_file = task.output_file.display().to_string();
        let answer = if task.kind == background::KIND { answer_in(&task.output_file, shared) } else { String::new() };
        let words = notice(&task.id, status, &summary, &output_file, &answer);
        let notification = TaskNotification {
            task_id: task.id,
            tool_use_id: Some(task.tool_use_id),
            status: status.into(),
            output_file,
            summary,
            ..TaskNotification::default()
        };
        shared.emitter.send(Event::System(System::TaskNotification(Box::new(notification)))).await;
        if status != "stopped" {
            self.queue.push_back(Work::Notice { words });
        }
    }
}

async fn hung_up(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

async fn receive(lines: Option<&mut mpsc::Receiver<Line>>) -> Option<Line> {
    match lines {
        Some(lines) => lines.recv().await,
        None => std::future::pending().await,
    }
}

/// A prompt of the command line in the form of a message.
fn typed(text: String) -> UserInput {
    UserInput::text(text)
}

fn with_held(held: Vec<Value>, content: Value) -> Value {
    if held.is_empty() {
        return content;
    }
    let mut blocks: Vec<Value> = held.into_iter().flat_map(crate::conversation::blocks_of).collect();
    blocks.extend(crate::conversation::blocks_of(content));
    Value::Array(blocks)
}

/// The model is told what a person watching the terminal would see.
fn notice(id: &str, status: &str, summary: &str, output_file: &str, answer: &str) -> String {
    let result = if answer.is_empty() { String::new() } else { format!("<result>{answer}</result>\n") };
    format!(
        "<task-notification>\n<task-id>{id}</task-id>\n<status>{status}</status>\n<summary>{summary}</summary>\n<output-file>{output_file}</output-file>\n{result}</task-notification>"
    )
}

/// What an agent in the background has answered; it was bounded when it was written.
fn answer_in(file: &Path, shared: &Shared) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.chars().take(shared.options.limits.agent_output.saturating_mul(2)).collect()
}
