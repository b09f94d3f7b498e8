//! An iteration's agent: started, and started again where it turns out that it needs a terminal.

use super::work::{Doing, Work, not_started};
use super::{AgentEnd, Body, EventKind, Input, Running, Start, prompt};
use crate::OutputFormat;
use crate::agent::Bounds;
use crate::backend::{Call, needs_file};
use crate::transport::{Attempt, Need, Transport};
use proc::sandbox::Sandbox;

/// A prompt in a file: what is said instead of it.
fn by_file(path: &std::path::Path) -> String {
    format!("Read {} and carry out the task in it.", path.display())
}

impl Body<'_> {
    pub(super) async fn start(&mut self, start: Start) -> Option<Input> {
        self.wake = None;
        self.before = match &self.git {
            Some(git) => git.snapshot().await,
            None => None,
        };
        let text = match self.prompt(&start) {
            Ok(text) => text,
            Err(why) => return Some(not_started(why)),
        };
        self.tell(start.event(text.chars().count() as u64));
        if start.iteration == 1 && start.attempt == 1 {
            self.show_todo();
        }
        let transport = self.transport();
        match self.launch(&start, &text, transport) {
            Ok(running) => {
                self.doing = Doing::Agent(Box::new(Work::new(running, transport, Some(start))));
                None
            }
            Err(why) => Some(not_started(why)),
        }
    }

    fn prompt(&self, start: &Start) -> Result<String, String> {
        let settings = &self.job.settings;
        let sources = prompt::read(&self.job.folder, settings).map_err(|error| error.to_string())?;
        Ok(prompt::assemble(&sources, start, settings.is_structured()))
    }

    pub(super) fn transport(&self) -> Transport {
        self.need.transport(self.job.settings.pty_mode || self.job.backend.needs_terminal)
    }

    fn launch(&self, start: &Start, text: &str, transport: Transport) -> Result<Running, String> {
        let settings = &self.job.settings;
        let filed = needs_file(settings.output_format, transport, text);
        let text = if filed { self.file(&format!("prompt_{}.md", start.iteration), text)? } else { text.to_owned() };
        let call = self.job.backend.call(settings, transport, start, &text, &self.job.auth, &self.env);
        self.run_call(call, &text, self.job.held.as_ref().map(|held| &*held.work))
    }

    pub(super) fn launch_summariser(
        &self,
        prompt: &str,
        through: u32,
        transport: Transport,
    ) -> Result<Running, String> {
        let filed = needs_file(OutputFormat::StreamJson, transport, prompt);
        let text = if filed { self.file(&format!("summary_{through}.md"), prompt)? } else { prompt.to_owned() };
        let call = self.job.backend.summary_call(transport, &text, &self.job.auth, &self.env);
        self.run_call(call, &text, self.job.held.as_ref().map(|held| &*held.look))
    }

    fn run_call(&self, mut call: Call, text: &str, sandbox: Option<&Sandbox>) -> Result<Running, String> {
        let bounds = Bounds::with_idle(self.job.settings.idle);
        if let (Some(held), Some(sandbox)) = (&self.job.held, sandbox) {
            held.bring_state()?;
            held.dress(sandbox, &mut call.env);
        }
        Running::start(&self.job.backend.program, call, self.job.folder.root(), text, bounds, sandbox)
    }

    /// Puts a prompt into a file; what is said instead of it.
    fn file(&self, name: &str, text: &str) -> Result<String, String> {
        let path = self.job.folder.run(&self.run).join(name);
        let written = crate::files::replace(&path, text.as_bytes());
        written.map(|()| by_file(&path)).map_err(|error| format!("{} cannot be written: {error}", path.display()))
    }

    /// An agent that will not work without a terminal gets one, once, in the same iteration.
    pub(super) fn again(&mut self, work: &mut Work, end: &AgentEnd) -> Option<Result<(), String>> {
        let words = format!("{}{}", work.opening, work.running.last_words());
        let attempt = Attempt { transport: work.transport, end, heard: work.listener.heard(), words: &words };
        let next = self.need.after(&attempt);
        let before = std::mem::replace(&mut self.need, next);
        if before == next || next != Need::Tried {
            return None;
        }
        let start = work.start.clone()?;
        let text = "the agent did not work without a terminal; starting it again on one".to_owned();
        self.tell(EventKind::Warning { iteration: Some(work.iteration), text });
        let started =
            self.prompt(&start).and_then(|text| self.launch(&start, &text, Transport::Terminal)).map(|running| {
                // The listener stays: a replay hears both attempts as one.
                work.running = running;
                work.transport = Transport::Terminal;
                work.opening.clear();
            });
        Some(started)
    }
}
