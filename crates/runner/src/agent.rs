//! One agent process: its lines as they come, messages to it, and its end, whichever way it ends.

use crate::backend::Call;
use cycle::AgentEnd;
use proc::{Output, Piped, Spec, Stdin};
use serde_json::json;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// No agent has reason to write more in one iteration.
const FLOOD: u64 = 256 * 1024 * 1024;
/// A longer line is not kept: it would have to fit into memory several times over.
const LINE_MAX: usize = 16 * 1024 * 1024;
const READ: usize = 64 * 1024;
/// Between asking an agent to end and killing it and all it started.
const GRACE: Duration = Duration::from_secs(5);
/// After its last result and the end of its input an agent has nothing left to do.
const LEAVE: Duration = Duration::from_secs(10);
/// What a dead agent's children still write is not waited for longer than this.
const PIPES_HELD: Duration = Duration::from_millis(200);
/// Messages waiting for an agent that does not read; more are refused.
const MESSAGES_MAX: usize = 32;

#[derive(Debug)]
pub(crate) enum Said {
    Line(String),
    /// A line too long to keep.
    TooLong,
    Ended(AgentEnd),
}

#[derive(Debug)]
pub(crate) struct Running {
    child: Piped,
    out: Receiver,
    messages: Option<mpsc::Sender<Vec<u8>>>,
    buffer: Vec<u8>,
    /// Of the buffer: no newline up to here.
    scanned: usize,
    /// The rest of a line that is too long.
    skipping: bool,
    total: u64,
    idle: Duration,
    silent_at: Instant,
    leave_by: Option<Instant>,
    /// Decided; the process only has to be stopped.
    ending: Option<AgentEnd>,
    closed: bool,
}

impl Running {
    /// Starts it and gives it the prompt. A call that does not talk has the prompt among its arguments.
    pub(crate) fn start(program: &Path, call: Call, cwd: &Path, prompt: &str, idle: Duration) -> Result<Self, String> {
        let spec = Spec {
            program: program.into(),
            args: call.args,
            cwd: cwd.to_owned(),
            env: call.env,
            stdin: Stdin::Pipe,
            output: Output::Pipes,
            arg0: None,
        };
        let mut child = Piped::spawn(spec).map_err(|error| error.to_string())?;
        let (stdin, out) = child.take_pipes().ok_or("the agent has no pipes")?;
        let mut running = Self {
            child,
            out,
            messages: None,
            buffer: Vec::new(),
            scanned: 0,
            skipping: false,
            total: 0,
            idle,
            silent_at: Instant::now() + idle,
            leave_by: None,
            ending: None,
            closed: false,
        };
        if call.talks {
            let (sender, receiver) = mpsc::channel(MESSAGES_MAX);
            tokio::spawn(feed(stdin, receiver));
            running.messages = Some(sender);
            running.say(prompt);
        }
        Ok(running)
    }

    /// Whether the message is on its way.
    pub(crate) fn say(&mut self, text: &str) -> bool {
        let content = json!([{"type": "text", "text": text}]);
        let line = json!({"type": "user", "message": {"role": "user", "content": content}});
        self.silent_at = Instant::now() + self.idle;
        self.messages.as_ref().is_some_and(|sender| sender.try_send(format!("{line}\n").into_bytes()).is_ok())
    }

    pub(crate) fn close_input(&mut self) {
        self.messages = None;
        self.leave_by = Some(Instant::now() + LEAVE);
    }

    pub(crate) fn stop(&mut self) {
        self.ending.get_or_insert(AgentEnd::Stopped);
    }

    /// Kills the process itself, as a fault of its own would.
    pub(crate) fn crash(&self) {
        let pid = i32::try_from(self.child.pid()).ok().and_then(rustix::process::Pid::from_raw);
        // It may be gone already, which is as good.
        let _ = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL));
    }

    pub(crate) fn last_words(&self) -> String {
        self.child.last_words()
    }

    /// The next line, or the end. May be cancelled and called again.
    pub(crate) async fn next(&mut self) -> Said {
        loop {
            if let Some(end) = self.ending.clone() {
                self.child.stop(GRACE).await;
                return Said::Ended(end);
            }
            if let Some(said) = self.take_line() {
                return said;
            }
            if self.closed {
                return Said::Ended(self.wait().await);
            }
            if self.total > FLOOD {
                self.ending = Some(AgentEnd::Flooded);
                continue;
            }
            self.read().await;
        }
    }

    async fn read(&mut self) {
        let mut chunk = vec![0; READ];
        let until = self.leave_by.map_or(self.silent_at, |leave| leave.min(self.silent_at));
        let read = tokio::select! {
            biased;
            read = timeout_at(until, self.out.read(&mut chunk)) => read,
            _ = self.child.wait() => {
                // Only what it left behind can still hold the pipe.
                let rest = timeout_at(Instant::now() + PIPES_HELD, self.out.read(&mut chunk)).await;
                self.closed = rest.is_err();
                if rest.is_err() {
                    return;
                }
                rest
            }
        };
        match read {
            Ok(Ok(count @ 1..)) => {
                self.total += count as u64;
                self.silent_at = Instant::now() + self.idle;
                self.keep(&chunk[..count]);
            }
            Ok(_) => self.closed = true,
            Err(_) if self.leave_by.is_some_and(|leave| leave <= Instant::now()) => {
                self.ending = Some(AgentEnd::Lingered);
            }
            Err(_) => self.ending = Some(AgentEnd::Silent),
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let ends = bytes.contains(&b'\n');
        if !ends && self.buffer.len() + bytes.len() > LINE_MAX {
            self.skipping = true;
            self.buffer.clear();
            self.scanned = 0;
        }
        if ends || !self.skipping {
            self.buffer.extend_from_slice(bytes);
        }
    }

    fn take_line(&mut self) -> Option<Said> {
        let found = self.buffer[self.scanned..].iter().position(|byte| *byte == b'\n');
        let end = match found.map(|at| self.scanned + at) {
            Some(end) => end,
            None if self.closed && (self.skipping || !self.buffer.is_empty()) => self.buffer.len(),
            None => {
                self.scanned = self.buffer.len();
                return None;
            }
        };
        let line: Vec<u8> = self.buffer.drain(..(end + 1).min(self.buffer.len())).collect();
        self.scanned = 0;
        if std::mem::take(&mut self.skipping) {
            return Some(Said::TooLong);
        }
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        Some(Said::Line(String::from_utf8_lossy(line).into_owned()))
    }

    /// It closed its output; it should be gone, or nearly.
    async fn wait(&mut self) -> AgentEnd {
        let Ok(exit) = timeout_at(Instant::now() + LEAVE, self.child.wait()).await else {
            self.child.stop(GRACE).await;
            return AgentEnd::Lingered;
        };
        match (exit.code, exit.signal) {
            (Some(code), _) => AgentEnd::Exited(code),
            (None, Some(signal)) => AgentEnd::Signalled(signal),
            (None, None) => AgentEnd::Exited(exit.shell_code()),
        }
    }
}

/// An agent that does not read blocks only this task.
async fn feed(mut stdin: Sender, mut messages: mpsc::Receiver<Vec<u8>>) {
    while let Some(message) = messages.recv().await {
        if stdin.write_all(&message).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
#[path = "agent_tests.rs"]
mod tests;
