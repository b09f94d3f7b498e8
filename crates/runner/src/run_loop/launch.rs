//! The start of an iteration's agent, and its second start on the other transport where the first did not work.

use super::work::{Activity, AgentWork, not_started};
use super::{AgentEnd, AgentProcess, EventKind, Input, IterationStart, RunLoop, prompt};
use crate::agent::Bounds;
use crate::backend::Call;
use crate::helper::{get, set};
use crate::transport::{Attempt, Transport, TransportChoice};
use crate::{OutputFormat, SandboxMode, StartError};
use process::Env;
use sandbox::Sandbox;
use std::ffi::OsStr;
use std::time::Duration;

/// Agents that answer in events say which session they are in long before this.
const FIRST_WORD: Duration = Duration::from_secs(10);

/// A prompt in a file: what is said instead of it.
fn by_file(path: &std::path::Path) -> String {
    format!("Read {} and carry out the task in it.", path.display())
}

impl RunLoop<'_> {
    pub(super) async fn start(&mut self, start: IterationStart) -> Option<Input> {
        self.wake = None;
        self.way = start.way;
        self.before = match &self.git {
            Some(git) => git.snapshot().await,
            None => None,
        };
        let text = match self.prompt(&start) {
            Ok(text) => text,
            Err(error) => return Some(not_started(&error)),
        };
        self.emit(start.event(text.chars().count() as u64));
        if start.iteration == 1 && start.attempt == 1 {
            self.show_todo();
        }
        match self.launch(&start, &text, self.transport()) {
            Ok(running) => {
                let model = start.model.clone();
                self.activity = Activity::Agent(Box::new(AgentWork::new(running, Some(start), &model, self.job.price)));
                None
            }
            Err(error) => Some(not_started(&error)),
        }
    }

    fn prompt(&self, start: &IterationStart) -> Result<String, StartError> {
        let settings = &self.job.settings;
        let sources = prompt::read(&self.job.folder, settings)?;
        Ok(prompt::assemble(&sources, start, settings.is_structured()))
    }

    pub(super) fn transport(&self) -> Transport {
        self.transport_choice.transport()
    }

    fn launch(&self, start: &IterationStart, text: &str, transport: Transport) -> Result<AgentProcess, StartError> {
        let settings = &self.job.settings;
        let filed = self.job.backend.needs_file(settings.output_format, transport, text);
        let text = if filed { self.file(&format!("prompt_{}.md", start.iteration), text)? } else { text.to_owned() };
        let mut call = self.job.backend.call(settings, transport, start, &text, &self.job.auth, &self.env);
        self.take_way(start.way, &mut call.env);
        leave_wakeups_to_the_loop(&mut call.env);
        if let Some(trace) = &self.job.trace {
            let context = trace.iteration(start.iteration, start.attempt).to_string();
            set(&mut call.env, "TRACEPARENT", Some(OsStr::new(&context)));
        }
        let socket = self.reachable_beads();
        match &socket {
            Some(socket) => self.job.backend.open_beads(&mut call, socket),
            None => self.work_without_daemon(&mut call.env),
        }
        self.run_call(call, &text, self.first_word(), self.job.confined.as_ref().map(|confined| &*confined.work))
    }

    /// The socket of the issue tracker's daemon, where the daemon runs now and the sandbox can open it.
    fn reachable_beads(&self) -> Option<std::path::PathBuf> {
        self.job.beads_socket.clone().filter(|socket| sandbox::reaches_beads(socket))
    }

    /// A sandbox that opens no socket: an issue tracker inside works on its files and not through its daemon.
    fn work_without_daemon(&self, env: &mut Env) {
        const VARIABLE: &str = "BEADS_NO_DAEMON";
        if self.job.settings.sandbox != SandboxMode::Off && get(env, VARIABLE).is_none() {
            set(env, VARIABLE, Some(OsStr::new("1")));
        }
    }

    /// The environment of this way to a model; the run's own needs no change.
    pub(super) fn take_way(&self, way: usize, env: &mut Env) {
        let Some(other) = way.checked_sub(1).and_then(|at| self.job.fallback.get(at)) else { return };
        for (name, value) in &other.env {
            set(env, name, value.as_deref().map(OsStr::new));
        }
    }

    /// Another provider may not have the summariser's model, so there its own one condenses.
    pub(super) fn summary_model(&self) -> String {
        self.fallback().map_or_else(|| self.job.settings.summary_model.clone(), |other| other.model.clone())
    }

    /// The fallback that the last agent used, if it was one.
    pub(super) fn fallback(&self) -> Option<&crate::Fallback> {
        self.way.checked_sub(1).and_then(|at| self.job.fallback.get(at))
    }

    /// How long its first word is waited for, where it would come at once and there is another way.
    fn first_word(&self) -> Option<Duration> {
        let events = matches!(self.job.settings.output_format, OutputFormat::StreamJson | OutputFormat::Args);
        (events && self.transport_choice.is_trial()).then_some(FIRST_WORD)
    }

    pub(super) fn launch_summariser(
        &self,
        prompt: &str,
        through: u32,
        transport: Transport,
    ) -> Result<AgentProcess, StartError> {
        let filed = self.job.backend.needs_file(OutputFormat::StreamJson, transport, prompt);
        let text = if filed { self.file(&format!("summary_{through}.md"), prompt)? } else { prompt.to_owned() };
        let model = self.summary_model();
        let mut call = self.job.backend.summary_call(&model, transport, &text, &self.job.auth, &self.env);
        self.take_way(self.way, &mut call.env);
        self.work_without_daemon(&mut call.env);
        self.run_call(call, &text, None, self.job.confined.as_ref().map(|confined| &*confined.look))
    }

    fn run_call(
        &self,
        mut call: Call,
        text: &str,
        first_word: Option<Duration>,
        sandbox: Option<&Sandbox>,
    ) -> Result<AgentProcess, StartError> {
        let bounds = Bounds { first_word, ..Bounds::with_idle(self.job.settings.idle) };
        if let (Some(confined), Some(sandbox)) = (&self.job.confined, sandbox) {
            confined.copy_state()?;
            confined.prepare_env(sandbox, &mut call.env);
        }
        let (program, folder) = (&self.job.backend.program, self.job.folder.root());
        let mut running = AgentProcess::start(program, call, folder, text, bounds, sandbox)?;
        if self.reads_all {
            running.end_messages();
        }
        Ok(running)
    }

    /// Puts a prompt into a file; what is said instead of it.
    fn file(&self, name: &str, text: &str) -> Result<String, StartError> {
        let path = self.job.folder.run(&self.run).join(name);
        let written = crate::files::replace(&path, text.as_bytes());
        written.map(|()| by_file(&path)).map_err(|source| StartError::Write { file: path, source })
    }

    /// An agent that will not work in one way is started again in the other, once, in the same iteration.
    pub(super) fn restart_on_other_transport(
        &mut self,
        work: &mut AgentWork,
        end: &AgentEnd,
    ) -> Option<Result<(), StartError>> {
        let words = format!("{}{}", work.opening, work.running.stderr_tail());
        let attempt = Attempt { end, output: work.reader.output(), words: &words };
        let next = self.transport_choice.after(&attempt);
        let before = std::mem::replace(&mut self.transport_choice, next);
        let transport = next.transport();
        self.reads_all |= work.running.was_input_closed_early() && next == TransportChoice::Settled(Transport::Pipe);
        if before.transport() == transport {
            return None;
        }
        self.emit(EventKind::Transport { iteration: work.iteration, transport });
        let start = work.start.clone().filter(|_| matches!(next, TransportChoice::Second(_)))?;
        let text = match transport {
            Transport::Terminal => "the agent did not work without a terminal; starting it again on one",
            Transport::Pipe => "the agent said nothing on a terminal; starting it again on pipes",
        };
        self.emit(EventKind::Warning { iteration: Some(work.iteration), text: text.to_owned() });
        let started = self.prompt(&start).and_then(|text| self.launch(&start, &text, transport)).map(|running| {
            // The listener stays: a replay hears both attempts as one.
            work.running = running;
            work.opening.clear();
        });
        Some(started)
    }
}

/// An iteration ends with its result: an agent that stays for a time that it has set itself would be ended as one that does not
/// leave. The loop is what begins again. A user who has set the variable is obeyed.
fn leave_wakeups_to_the_loop(env: &mut Env) {
    const VARIABLE: &str = "CLAUDE_CODE_DISABLE_CRON";
    if get(env, VARIABLE).is_none() {
        set(env, VARIABLE, Some(OsStr::new("1")));
    }
}
