//! One agent process: its lines as they come, messages to it, and its end. The caller sees no difference between
//! pipes and a terminal.

use crate::backend::Call;
use crate::start_error::StartError;
use crate::transport::Transport;
use cycle::AgentEnd;
use process::{Confine, Output, Piped, Spec, Stdin, Terminal};
use sandbox::Sandbox;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// A longer line is not kept: it would have to fit into memory several times over.
const LINE_MAX: usize = 16 * 1024 * 1024;
const READ: usize = 64 * 1024;
/// What a dead agent's children still write is not waited for longer than this.
const PIPES_HELD: Duration = Duration::from_millis(200);
/// Messages waiting for an agent that does not read; more are refused.
const MESSAGES_MAX: usize = 32;
/// An agent that reads all of its input before its first word speaks this soon after the end of it.
const AFTER_INPUT: Duration = Duration::from_secs(5);
/// A deadline that is noticed this much too late was slept through: this process was stopped, or the machine
/// was. The agent has not been heard in that time, which is not the same as silent.
const SLEPT: Duration = Duration::from_millis(250);

/// A tool call that lasts longer than this is taken as hung. Builds and test suites take less.
const CALL_MAX: Duration = Duration::from_hours(2);

/// Limits for an agent process: silence, output, time to exit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Silence.
    pub idle: Duration,
    /// Until the first byte, of an agent that would speak at once; there is another way to start it.
    pub first_word: Option<Duration>,
    /// After its last result and the end of its input an agent has nothing left to do.
    pub leave: Duration,
    /// Between asking an agent to end and killing it and all it started.
    pub grace: Duration,
    /// No agent has reason to write more in one iteration.
    pub bytes: u64,
    /// Nor as many lines that are no events: each of them is recorded.
    pub noise: u64,
}

impl Bounds {
    pub(crate) fn with_idle(idle: Duration) -> Self {
        Self {
            idle,
            first_word: None,
            leave: Duration::from_secs(10),
            grace: Duration::from_secs(5),
            bytes: 256 * 1024 * 1024,
            noise: 100_000,
        }
    }
}

#[derive(Debug)]
pub(crate) enum AgentEvent {
    Line(String),
    /// A line too long to keep.
    TooLong,
    Ended(AgentEnd),
}

#[derive(Debug)]
pub(crate) struct AgentProcess {
    child: Piped,
    out: AgentStream,
    messages: Option<mpsc::Sender<Vec<u8>>>,
    buffer: Vec<u8>,
    /// Of the buffer: no newline up to here.
    scanned: usize,
    /// The rest of a line that is too long.
    skipping: bool,
    total: u64,
    noise: u64,
    bounds: Bounds,
    silent_at: Instant,
    /// A tool call is open: the agent waits for it, too.
    in_call: bool,
    /// The agent has written nothing yet, and there is another transport to start it on.
    on_trial: bool,
    /// Its input was ended early, because it said nothing while it might still read.
    hushed: bool,
    /// It has told that it has more to do.
    is_busy: bool,
    leave_by: Option<Instant>,
    /// Decided; the process only has to be stopped.
    ending: Option<AgentEnd>,
    closed: bool,
}

/// Where its words come from.
#[derive(Debug)]
enum AgentStream {
    Pipe(Receiver),
    Terminal(Terminal),
}

impl AgentStream {
    /// Appends what comes next and tells how much came. May be cancelled and called again.
    async fn read(&mut self, into: &mut Vec<u8>) -> std::io::Result<usize> {
        match self {
            Self::Pipe(pipe) => {
                into.reserve(READ);
                pipe.read_buf(into).await
            }
            Self::Terminal(terminal) => terminal.read(into).await,
        }
    }
}

impl AgentProcess {
    /// Starts it and gives it the prompt. A call that does not talk has the prompt among its arguments.
    pub(crate) fn start(
        program: &Path,
        call: Call,
        cwd: &Path,
        prompt: &str,
        bounds: Bounds,
        sandbox: Option<&Sandbox>,
    ) -> Result<Self, StartError> {
        let spec = Spec {
            program: program.into(),
            args: call.args,
            cwd: cwd.to_owned(),
            env: call.env,
            stdin: Stdin::Pipe,
            output: Output::Pipes,
            arg0: None,
        };
        let sandbox = sandbox.map(|sandbox| sandbox as &dyn Confine);
        let (child, stdin, out) = match call.transport {
            Transport::Pipe => {
                let mut child = Piped::start(spec, sandbox)?;
                let (stdin, out) = child.take_pipes().ok_or(StartError::NoPipes)?;
                (child, Some(stdin), AgentStream::Pipe(out))
            }
            Transport::Terminal => {
                let (child, terminal) = Piped::on_terminal(spec, sandbox)?;
                (child, None, AgentStream::Terminal(terminal))
            }
        };
        let mut running = Self {
            child,
            out,
            messages: None,
            buffer: Vec::new(),
            scanned: 0,
            skipping: false,
            total: 0,
            noise: 0,
            bounds,
            silent_at: Instant::now() + bounds.idle,
            in_call: false,
            on_trial: false,
            hushed: false,
            is_busy: false,
            leave_by: None,
            ending: None,
            closed: false,
        };
        if let (true, Some(stdin)) = (call.talks, stdin) {
            let (sender, receiver) = mpsc::channel(MESSAGES_MAX);
            tokio::spawn(feed(stdin, receiver));
            running.messages = Some(sender);
            running.send(prompt);
        }
        if let Some(first) = bounds.first_word {
            running.on_trial = true;
            running.silent_at = Instant::now() + first.min(bounds.idle);
        }
        Ok(running)
    }

    /// Whether messages can reach it.
    pub(crate) fn takes_messages(&self) -> bool {
        self.messages.is_some()
    }

    /// Whether the message is on its way.
    pub(crate) fn send(&mut self, text: &str) -> bool {
        let line = wire::Input::prompt(text).to_line();
        self.silent_at = Instant::now() + self.silence_limit();
        self.messages.as_ref().is_some_and(|sender| sender.try_send(line).is_ok())
    }

    /// How long the agent may write nothing.
    fn silence_limit(&self) -> Duration {
        if self.in_call { CALL_MAX.max(self.bounds.idle) } else { self.bounds.idle }
    }

    /// Says whether a tool call is open. Silence counts from the end of the last call.
    pub(crate) fn set_in_call(&mut self, in_call: bool) {
        if std::mem::replace(&mut self.in_call, in_call) != in_call {
            self.silent_at = Instant::now() + self.silence_limit();
        }
    }

    /// No more messages; it may work as long as it likes.
    pub(crate) fn end_messages(&mut self) {
        self.messages = None;
    }

    /// Whether it spoke only when its input had ended.
    pub(crate) fn was_input_closed_early(&self) -> bool {
        self.hushed
    }

    /// Says whether the agent has more to do, although a turn has ended: agents that it started, or another turn. Then it may stay.
    pub(crate) fn set_busy(&mut self, is_busy: bool) {
        self.is_busy = is_busy;
        if is_busy {
            self.leave_by = None;
        }
    }

    pub(crate) fn close_input(&mut self) {
        self.messages = None;
        self.leave_by = (!self.is_busy).then(|| Instant::now() + self.bounds.leave);
        if let AgentStream::Terminal(terminal) = &self.out {
            terminal.end_input();
        }
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

    pub(crate) fn stderr_tail(&self) -> String {
        self.child.stderr_tail()
    }

    /// The next line, or the end. May be cancelled and called again.
    pub(crate) async fn next(&mut self) -> AgentEvent {
        loop {
            if let Some(end) = self.ending.clone() {
                self.child.stop(self.bounds.grace).await;
                process::end_orphans().await;
                return AgentEvent::Ended(end);
            }
            if self.total > self.bounds.bytes || self.noise > self.bounds.noise {
                self.ending = Some(AgentEnd::Flooded);
                continue;
            }
            if let Some(agent_event) = self.take_line() {
                return agent_event;
            }
            if self.closed {
                let end = self.wait().await;
                // A child in a session of its own would go on changing files beside the next iteration.
                process::end_orphans().await;
                return AgentEvent::Ended(end);
            }
            self.read().await;
        }
    }

    async fn read(&mut self) {
        let mut chunk = Vec::new();
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
                self.on_trial = false;
                self.silent_at = Instant::now() + self.silence_limit();
                self.keep(&chunk);
            }
            Ok(_) => self.closed = true,
            Err(_) => self.on_deadline(until, Instant::now()),
        }
    }

    /// Nothing came until the deadline.
    fn on_deadline(&mut self, deadline: Instant, now: Instant) {
        if now > deadline + SLEPT {
            let silence_limit = self.bounds.first_word.filter(|_| self.on_trial).unwrap_or(self.silence_limit());
            self.silent_at = now + silence_limit;
            self.leave_by = self.leave_by.map(|_| now + self.bounds.leave);
        } else if self.leave_by.is_some_and(|leave| leave <= now) {
            self.ending = Some(AgentEnd::Lingered);
        } else if self.on_trial && !self.stderr_tail().trim().is_empty() {
            // It complains, or tells of its start: that is not nothing.
            self.on_trial = false;
            self.silent_at = now + self.bounds.idle;
        } else if self.on_trial && self.messages.take().is_some() {
            self.hushed = true;
            self.silent_at = now + AFTER_INPUT.min(self.bounds.idle);
        } else {
            self.ending = Some(AgentEnd::Silent(u64::try_from(self.silence_limit().as_millis()).unwrap_or(u64::MAX)));
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

    fn take_line(&mut self) -> Option<AgentEvent> {
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
            return Some(AgentEvent::TooLong);
        }
        let line = shown(&line);
        if !matches!(line.first(), Some(b'{' | b'[')) {
            self.noise += 1;
        }
        Some(AgentEvent::Line(String::from_utf8_lossy(line).into_owned()))
    }

    /// It closed its output; it should be gone, or nearly.
    async fn wait(&mut self) -> AgentEnd {
        let Ok(exit) = timeout_at(Instant::now() + self.bounds.leave, self.child.wait()).await else {
            self.child.stop(self.bounds.grace).await;
            return AgentEnd::Lingered;
        };
        match (exit.code, exit.signal) {
            (Some(code), _) => AgentEnd::Exited(code),
            (None, Some(signal)) => AgentEnd::Signalled(signal),
            (None, None) => AgentEnd::Exited(exit.shell_code()),
        }
    }
}

/// What a reader would have seen of a line in the end: a carriage return overwrites what stood before it.
fn shown(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let end = line.iter().rposition(|byte| *byte != b'\r').map_or(0, |last| last + 1);
    let start = line[..end].iter().rposition(|byte| *byte == b'\r').map_or(0, |last| last + 1);
    &line[start..end]
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
