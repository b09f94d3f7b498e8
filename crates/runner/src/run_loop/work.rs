//! The current activity of a run: an agent, the summariser, a check or a review. One at a time.

use super::checking::{Checking, PIECES_MAX};
use super::{
    AgentEnd, AgentEvent, AgentProcess, Changes, CheckFinished, Command, Duration, EventKind, Input, Instant,
    IterationReport, IterationStart, OutputReader, Pin, Price, RunLoop, Spent, Verbatim, checks, now, rehearsal,
    replay, resets,
};
use crate::StartError;
use std::collections::HashSet;

pub(super) struct AgentWork {
    pub running: AgentProcess,
    pub reader: OutputReader,
    pub iteration: u32,
    since: Instant,
    /// The first lines of the agent that were no events.
    pub opening: String,
    /// How to start it again; a summariser is not.
    pub start: Option<IterationStart>,
    /// Whether the agent has written its first line.
    spoke: bool,
    /// Tool calls without a result yet.
    open_calls: HashSet<String>,
}

/// Of the names in a warning.
const NESTED_MAX: usize = 200;

/// Calls at once; further ones do not keep silence from counting.
const OPEN_CALLS_MAX: usize = 1000;

/// Of an agent's first words: enough to find a complaint in.
const OPENING_MAX: usize = 4 * 1024;

impl AgentWork {
    /// `model` is what was asked for.
    pub(super) fn new(running: AgentProcess, start: Option<IterationStart>, model: &str, price: Price) -> Self {
        let iteration = start.as_ref().map_or(0, |start| start.iteration);
        let reader = OutputReader::priced(iteration, model, price);
        Self {
            running,
            reader,
            iteration,
            since: Instant::now(),
            opening: String::new(),
            start,
            spoke: false,
            open_calls: HashSet::new(),
        }
    }

    /// Follows which tool calls are open. Whether any is.
    fn track_calls(&mut self, events: &[EventKind]) -> bool {
        for event in events {
            match event {
                EventKind::ToolCall(call) if self.open_calls.len() < OPEN_CALLS_MAX => {
                    self.open_calls.insert(call.id.clone());
                }
                EventKind::ToolResult(result) => {
                    self.open_calls.remove(&result.id);
                }
                _ => {}
            }
        }
        !self.open_calls.is_empty()
    }

    fn note_opening(&mut self, line: &str) {
        if self.opening.len() < OPENING_MAX && !line.starts_with('{') {
            self.opening.push_str(&cycle::bounded(line, OPENING_MAX));
            self.opening.push('\n');
        }
    }
}

pub(super) enum Activity {
    Nothing,
    Agent(Box<AgentWork>),
    Summary(Box<AgentWork>, u32),
    Check(Checking),
    Review(Pin<Box<dyn Future<Output = Input>>>),
}

pub(super) enum ActivityEvent {
    Command(Option<Command>),
    Agent(AgentEvent),
    Checked(CheckFinished),
    /// A piece of what the check prints.
    Printed(String),
    Reviewed(Input),
    Tick,
}

impl Activity {
    /// May be cancelled and called again.
    pub(super) async fn next(&mut self) -> ActivityEvent {
        match self {
            Self::Nothing => std::future::pending().await,
            Self::Agent(work) | Self::Summary(work, _) => ActivityEvent::Agent(work.running.next().await),
            Self::Check(checking) => checking.next().await,
            Self::Review(reviewing) => ActivityEvent::Reviewed(reviewing.as_mut().await),
        }
    }
}

impl RunLoop<'_> {
    pub(super) async fn react(&mut self, happened: ActivityEvent) -> Vec<Input> {
        match happened {
            ActivityEvent::Command(command) => {
                if command == Some(Command::Stop) {
                    self.say_what_stop_does();
                }
                command.map(input_of).into_iter().collect()
            }
            ActivityEvent::Tick => {
                let now = now();
                self.wake = self.wake.filter(|at| *at > now);
                self.sinks.iter_mut().for_each(|sink| sink.tick(now));
                vec![Input::Tick]
            }
            ActivityEvent::Checked(finished) => self.on_check_finished(finished).into_iter().collect(),
            ActivityEvent::Printed(text) => {
                let iteration = if let Activity::Check(checking) = &self.activity { checking.iteration } else { 0 };
                self.emit_derived(vec![EventKind::CheckOutput { iteration, text }]);
                Vec::new()
            }
            ActivityEvent::Reviewed(input) => {
                self.activity = Activity::Nothing;
                vec![input]
            }
            ActivityEvent::Agent(event) => match std::mem::replace(&mut self.activity, Activity::Nothing) {
                Activity::Agent(work) => self.on_agent_event(work, event).await,
                Activity::Summary(work, through) => self.on_summary_event(work, through, &event),
                other => {
                    self.activity = other;
                    Vec::new()
                }
            },
        }
    }

    /// The first Ctrl-C changes nothing at once, so it is said what it does.
    fn say_what_stop_does(&mut self) {
        let at_work = matches!(self.activity, Activity::Agent(_) | Activity::Check(_) | Activity::Review(_));
        if at_work && !std::mem::replace(&mut self.stop_was_asked, true) {
            let text = "the run ends after this iteration; Ctrl-C again ends it now".to_owned();
            self.emit(EventKind::Warning { iteration: None, text });
        }
    }

    async fn on_agent_event(&mut self, mut work: Box<AgentWork>, event: AgentEvent) -> Vec<Input> {
        match event {
            AgentEvent::Ended(end) => match self.restart_on_other_transport(&mut work, &end) {
                None => vec![self.agent_ended(*work, end).await],
                Some(Ok(())) => {
                    self.activity = Activity::Agent(work);
                    Vec::new()
                }
                Some(Err(error)) => vec![not_started(&error)],
            },
            AgentEvent::TooLong => {
                let text = "skipped a line of the agent that is too long to keep".to_owned();
                self.emit(EventKind::Warning { iteration: Some(work.iteration), text });
                self.activity = Activity::Agent(work);
                Vec::new()
            }
            AgentEvent::Line(line) => {
                let mut inputs = self.line(&mut work, &line);
                let pending_faults = self.pending_faults(&mut work);
                if pending_faults.malformed {
                    inputs.extend(self.line(&mut work, rehearsal::MALFORMED));
                }
                if pending_faults.crash {
                    work.running.crash();
                }
                self.activity = Activity::Agent(work);
                inputs
            }
        }
    }

    fn line(&mut self, work: &mut AgentWork, line: &str) -> Vec<Input> {
        if line.trim().is_empty() {
            return Vec::new();
        }
        work.note_opening(line);
        let verbatim = Verbatim::new(line);
        self.publish(&EventKind::Agent { iteration: work.iteration, line: verbatim.clone() }.at(now()), false);
        let (turns, tokens) = (work.reader.output().turns, work.reader.output().tokens);
        let events = work.reader.read_line(&replay::recorded_text(&verbatim));
        let in_call = work.track_calls(&events);
        work.running.set_in_call(in_call);
        work.running.set_busy(work.reader.output().is_busy());
        self.emit_derived(events);
        let output = work.reader.output();
        let mut inputs = Vec::new();
        if output.tokens != tokens || output.turns > turns {
            inputs.push(Input::Spending { tokens: output.tokens, usd: output.cost_usd });
        }
        if output.turns > turns {
            work.open_calls.clear();
            work.running.set_in_call(false);
            inputs.extend(output.answer.clone().map(Input::TurnEnded));
            // Nothing more can be asked of it.
            if !work.running.takes_messages() {
                work.running.close_input();
            }
        }
        inputs
    }

    async fn agent_ended(&mut self, mut work: AgentWork, end: AgentEnd) -> Input {
        let events = work.reader.end();
        self.emit_derived(events);
        let (changed, tree) = self.changes().await;
        self.warn_of_nested(work.iteration, &changed);
        let output = work.reader.into_output();
        let open_work = self.open_work(&output).await;
        let mut report = IterationReport {
            end,
            output,
            changed,
            open_work,
            tree,
            stderr_tail: work.running.stderr_tail(),
            duration_ms: work.since.elapsed().as_millis() as u64,
            limit_until: None,
        };
        report.limit_until = report.limit().and_then(|limit| self.limited_until(limit.reset.as_ref()));
        Input::AgentEnded(Box::new(report))
    }

    /// A repository inside this one can make git run programs for every later user of that folder.
    fn warn_of_nested(&mut self, iteration: u32, changed: &Changes) {
        let nested = self.git.as_ref().map(|git| git.nested(changed)).unwrap_or_default();
        if !nested.is_empty() {
            let names = cycle::bounded(&nested.join(", "), NESTED_MAX);
            let text = format!("repositories inside this one were changed, which your own git obeys: {names}");
            self.emit(EventKind::Warning { iteration: Some(iteration), text });
        }
    }

    /// What is to go wrong after an agent's first line, where this is a rehearsal.
    fn pending_faults(&self, work: &mut AgentWork) -> rehearsal::PendingFaults {
        let first = !std::mem::replace(&mut work.spoke, true);
        let cast = self.job.rehearsal.as_ref().zip(work.start.as_ref()).filter(|_| first);
        cast.map(|(rehearsal, start)| rehearsal.pending_faults(start.iteration, start.attempt)).unwrap_or_default()
    }

    fn limited_until(&self, reset: Option<&cycle::Reset>) -> Option<u64> {
        let until = reset.and_then(|reset| resets::moment(reset, now(), &self.job.zone));
        if self.job.rehearsal.is_none() {
            return until;
        }
        let most = now().saturating_add(rehearsal::WAIT.as_millis() as u64);
        Some(until.map_or(most, |until| until.min(most)))
    }

    async fn changes(&self) -> (Changes, Option<u64>) {
        let (Some(git), Some(before)) = (&self.git, &self.before) else { return (Changes::default(), None) };
        let changed = git.changes(before).await;
        let after = git.snapshot().await;
        // What lay about uncommitted before is no change of this iteration.
        let moved = after.as_ref() != Some(before);
        let changed = if moved { changed } else { Changes { known: true, ..Changes::default() } };
        (changed, after.map(|snapshot| snapshot.tree))
    }

    /// The next check, or the end of them.
    pub(super) fn check(&mut self, iteration: u32, done: Vec<CheckFinished>) -> Option<Input> {
        let Some(check) = self.checks.get(done.len()).cloned() else {
            return Some(Input::ChecksEnded(done));
        };
        self.emit(EventKind::CheckStarted { iteration, command: check.command.clone() });
        let (folder, limit): (_, Duration) = (self.job.folder.root().to_owned(), self.job.settings.check_time);
        let rules = self.job.rules.clone();
        let (sender, output) = self.job.settings.live.then(|| tokio::sync::mpsc::channel(PIECES_MAX)).unzip();
        let running = Box::pin(checks::run(check, iteration, folder, self.env.clone(), limit, rules, sender));
        self.activity = Activity::Check(Checking::new(iteration, done, running, output));
        None
    }

    fn on_check_finished(&mut self, finished: CheckFinished) -> Option<Input> {
        let Activity::Check(mut checking) = std::mem::replace(&mut self.activity, Activity::Nothing) else {
            return None;
        };
        self.emit(EventKind::CheckFinished(finished.clone()));
        checking.done.push(finished);
        self.check(checking.iteration, checking.done)
    }

    pub(super) fn summarise(&mut self, through: u32, prompt: &str) -> Option<Input> {
        match self.launch_summariser(prompt, through, self.transport()) {
            Ok(running) => {
                let work = AgentWork::new(running, None, &self.summary_model(), self.job.price);
                self.activity = Activity::Summary(Box::new(work), through);
                None
            }
            Err(_) => Some(summarised(through, None, Spent::default())),
        }
    }

    fn on_summary_event(&mut self, mut work: Box<AgentWork>, through: u32, event: &AgentEvent) -> Vec<Input> {
        let mut spending = Vec::new();
        match event {
            AgentEvent::Line(line) => {
                let before = work.reader.output().tokens;
                work.reader.read_line(line);
                let output = work.reader.output();
                if output.tokens != before {
                    spending.push(Input::Spending { tokens: output.tokens, usd: output.cost_usd });
                }
                if output.answer.is_some() {
                    work.running.close_input();
                }
            }
            AgentEvent::TooLong => {}
            AgentEvent::Ended(_) => {
                work.reader.end();
                let output = work.reader.into_output();
                let structured = output.answer.as_ref().and_then(|answer| answer.structured.as_ref());
                let summary = structured.and_then(|value| value["summary"].as_str()).map(str::to_owned);
                let recorded_text =
                    output.answer.as_ref().filter(|answer| !answer.is_error).map(|answer| answer.text.clone());
                let summary = summary.or(recorded_text).filter(|summary| !summary.trim().is_empty());
                let spent = Spent { usd: output.cost_usd, tokens: output.tokens, time_ms: 0 };
                return vec![summarised(through, summary, spent)];
            }
        }
        self.activity = Activity::Summary(work, through);
        spending
    }
}

/// A summary has to fit into every prompt that follows.
const SUMMARY_MAX: usize = 16 * 1024;

fn summarised(through: u32, summary: Option<String>, spent: Spent) -> Input {
    let summary = summary.map(|summary| cycle::bounded(&summary, SUMMARY_MAX));
    Input::Summarised { through, summary, usd: spent.usd, tokens: spent.tokens }
}

pub(super) fn not_started(error: &StartError) -> Input {
    let output = OutputReader::new(0).into_output();
    Input::AgentEnded(Box::new(IterationReport::unchanged(AgentEnd::NotStarted(error.to_string()), output)))
}

fn input_of(command: Command) -> Input {
    match command {
        Command::Stop => Input::Stop,
        Command::StopNow => Input::StopNow,
        Command::Terminate => Input::Terminate,
        Command::Pause => Input::Pause,
        Command::Resume => Input::Resume,
        Command::Steer(text) => Input::Steer(text),
        Command::Answer(text) => Input::Answer(text),
    }
}
