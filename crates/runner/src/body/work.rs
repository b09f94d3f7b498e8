//! What the body is busy with: an agent, the summariser, a check. One thing at a time.

use super::checking::{Checking, PIECES_MAX};
use super::{
    AgentEnd, Body, Changes, CheckFinished, Command, Duration, EventKind, Input, Instant, Listener, Pin, Price, Report,
    Running, Said, Spent, Start, Verbatim, checks, now, rehearsal, replay, resets,
};
use crate::StartError;
use std::collections::HashSet;

pub(super) struct Work {
    pub running: Running,
    pub listener: Listener,
    pub iteration: u32,
    since: Instant,
    /// The first of what it said that was no event.
    pub opening: String,
    /// How to start it again; a summariser is not.
    pub start: Option<Start>,
    /// Whether it has said its first line.
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

impl Work {
    /// `model` is what was asked for.
    pub(super) fn new(running: Running, start: Option<Start>, model: &str, price: Price) -> Self {
        let iteration = start.as_ref().map_or(0, |start| start.iteration);
        let listener = Listener::priced(iteration, model, price);
        Self {
            running,
            listener,
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

pub(super) enum Doing {
    Nothing,
    Agent(Box<Work>),
    Summary(Box<Work>, u32),
    Check(Checking),
    Review(Pin<Box<dyn Future<Output = Input>>>),
}

pub(super) enum Happened {
    Command(Option<Command>),
    Said(Said),
    Checked(CheckFinished),
    /// A piece of what the check prints.
    Printed(String),
    Reviewed(Input),
    Tick,
}

impl Doing {
    /// May be cancelled and called again.
    pub(super) async fn next(&mut self) -> Happened {
        match self {
            Self::Nothing => std::future::pending().await,
            Self::Agent(work) | Self::Summary(work, _) => Happened::Said(work.running.next().await),
            Self::Check(checking) => checking.next().await,
            Self::Review(reviewing) => Happened::Reviewed(reviewing.as_mut().await),
        }
    }
}

impl Body<'_> {
    pub(super) async fn react(&mut self, happened: Happened) -> Vec<Input> {
        match happened {
            Happened::Command(command) => {
                if command == Some(Command::Stop) {
                    self.say_what_stop_does();
                }
                command.map(input_of).into_iter().collect()
            }
            Happened::Tick => {
                let now = now();
                self.wake = self.wake.filter(|at| *at > now);
                self.sinks.iter_mut().for_each(|sink| sink.tick(now));
                vec![Input::Tick]
            }
            Happened::Checked(finished) => self.checked(finished).into_iter().collect(),
            Happened::Printed(text) => {
                let iteration = if let Doing::Check(checking) = &self.doing { checking.iteration } else { 0 };
                self.derived(vec![EventKind::CheckOutput { iteration, text }]);
                Vec::new()
            }
            Happened::Reviewed(input) => {
                self.doing = Doing::Nothing;
                vec![input]
            }
            Happened::Said(said) => match std::mem::replace(&mut self.doing, Doing::Nothing) {
                Doing::Agent(work) => self.said(work, said).await,
                Doing::Summary(work, through) => self.summary_said(work, through, &said),
                other => {
                    self.doing = other;
                    Vec::new()
                }
            },
        }
    }

    /// The first Ctrl-C changes nothing at once, so it is said what it does.
    fn say_what_stop_does(&mut self) {
        let at_work = matches!(self.doing, Doing::Agent(_) | Doing::Check(_) | Doing::Review(_));
        if at_work && !std::mem::replace(&mut self.stop_was_asked, true) {
            let text = "the run ends after this iteration; Ctrl-C again ends it now".to_owned();
            self.tell(EventKind::Warning { iteration: None, text });
        }
    }

    async fn said(&mut self, mut work: Box<Work>, said: Said) -> Vec<Input> {
        match said {
            Said::Ended(end) => match self.again(&mut work, &end) {
                None => vec![self.agent_ended(*work, end).await],
                Some(Ok(())) => {
                    self.doing = Doing::Agent(work);
                    Vec::new()
                }
                Some(Err(error)) => vec![not_started(&error)],
            },
            Said::TooLong => {
                let text = "skipped a line of the agent that is too long to keep".to_owned();
                self.tell(EventKind::Warning { iteration: Some(work.iteration), text });
                self.doing = Doing::Agent(work);
                Vec::new()
            }
            Said::Line(line) => {
                let mut inputs = self.line(&mut work, &line);
                let cues = self.cues(&mut work);
                if cues.malformed {
                    inputs.extend(self.line(&mut work, rehearsal::MALFORMED));
                }
                if cues.crash {
                    work.running.crash();
                }
                self.doing = Doing::Agent(work);
                inputs
            }
        }
    }

    fn line(&mut self, work: &mut Work, line: &str) -> Vec<Input> {
        if line.trim().is_empty() {
            return Vec::new();
        }
        work.note_opening(line);
        let verbatim = Verbatim::new(line);
        self.publish(&EventKind::Agent { iteration: work.iteration, line: verbatim.clone() }.at(now()), false);
        let (turns, tokens) = (work.listener.heard().turns, work.listener.heard().tokens);
        let events = work.listener.hear(&replay::spoken(&verbatim));
        let in_call = work.track_calls(&events);
        work.running.set_in_call(in_call);
        self.derived(events);
        let heard = work.listener.heard();
        let mut inputs = Vec::new();
        if heard.tokens != tokens || heard.turns > turns {
            inputs.push(Input::Spending { tokens: heard.tokens, usd: heard.cost_usd });
        }
        if heard.turns > turns {
            work.open_calls.clear();
            work.running.set_in_call(false);
            inputs.extend(heard.answer.clone().map(Input::TurnEnded));
            // Nothing more can be asked of it.
            if !work.running.talks() {
                work.running.close_input();
            }
        }
        inputs
    }

    async fn agent_ended(&mut self, mut work: Work, end: AgentEnd) -> Input {
        let events = work.listener.end();
        self.derived(events);
        let (changed, tree) = self.changes().await;
        self.warn_of_nested(work.iteration, &changed);
        let heard = work.listener.into_heard();
        let open_work = self.open_work(&heard).await;
        let mut report = Report {
            end,
            heard,
            changed,
            open_work,
            tree,
            last_words: work.running.last_words(),
            duration_ms: work.since.elapsed().as_millis() as u64,
            limit_until: None,
        };
        report.limit_until = report.limit().and_then(|limit| self.limited_until(limit.reset.as_ref()));
        Input::AgentEnded(Box::new(report))
    }

    /// A repository inside this one decides what git runs for whoever works there later.
    fn warn_of_nested(&mut self, iteration: u32, changed: &Changes) {
        let nested = self.git.as_ref().map(|git| git.nested(changed)).unwrap_or_default();
        if !nested.is_empty() {
            let names = cycle::bounded(&nested.join(", "), NESTED_MAX);
            let text = format!("repositories inside this one were changed, which your own git obeys: {names}");
            self.tell(EventKind::Warning { iteration: Some(iteration), text });
        }
    }

    /// What is to go wrong after an agent's first line, where this is a rehearsal.
    fn cues(&self, work: &mut Work) -> rehearsal::Cues {
        let first = !std::mem::replace(&mut work.spoke, true);
        let cast = self.job.rehearsal.as_ref().zip(work.start.as_ref()).filter(|_| first);
        cast.map(|(rehearsal, start)| rehearsal.cues(start.iteration, start.attempt)).unwrap_or_default()
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
        self.tell(EventKind::CheckStarted { iteration, command: check.command.clone() });
        let (folder, limit): (_, Duration) = (self.job.folder.root().to_owned(), self.job.settings.check_time);
        let rules = self.job.rules.clone();
        let (tell, output) = self.job.settings.live.then(|| tokio::sync::mpsc::channel(PIECES_MAX)).unzip();
        let running = Box::pin(checks::run(check, iteration, folder, self.env.clone(), limit, rules, tell));
        self.doing = Doing::Check(Checking::new(iteration, done, running, output));
        None
    }

    fn checked(&mut self, finished: CheckFinished) -> Option<Input> {
        let Doing::Check(mut checking) = std::mem::replace(&mut self.doing, Doing::Nothing) else { return None };
        self.tell(EventKind::CheckFinished(finished.clone()));
        checking.done.push(finished);
        self.check(checking.iteration, checking.done)
    }

    pub(super) fn summarise(&mut self, through: u32, prompt: &str) -> Option<Input> {
        match self.launch_summariser(prompt, through, self.transport()) {
            Ok(running) => {
                let work = Work::new(running, None, &self.summary_model(), self.job.price);
                self.doing = Doing::Summary(Box::new(work), through);
                None
            }
            Err(_) => Some(summarised(through, None, Spent::default())),
        }
    }

    fn summary_said(&mut self, mut work: Box<Work>, through: u32, said: &Said) -> Vec<Input> {
        let mut spending = Vec::new();
        match said {
            Said::Line(line) => {
                let before = work.listener.heard().tokens;
                work.listener.hear(line);
                let heard = work.listener.heard();
                if heard.tokens != before {
                    spending.push(Input::Spending { tokens: heard.tokens, usd: heard.cost_usd });
                }
                if heard.answer.is_some() {
                    work.running.close_input();
                }
            }
            Said::TooLong => {}
            Said::Ended(_) => {
                work.listener.end();
                let heard = work.listener.into_heard();
                let structured = heard.answer.as_ref().and_then(|answer| answer.structured.as_ref());
                let summary = structured.and_then(|value| value["summary"].as_str()).map(str::to_owned);
                let spoken = heard.answer.as_ref().filter(|answer| !answer.is_error).map(|answer| answer.text.clone());
                let summary = summary.or(spoken).filter(|summary| !summary.trim().is_empty());
                let spent = Spent { usd: heard.cost_usd, tokens: heard.tokens, time_ms: 0 };
                return vec![summarised(through, summary, spent)];
            }
        }
        self.doing = Doing::Summary(work, through);
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
    Input::AgentEnded(Box::new(Report {
        end: AgentEnd::NotStarted(error.to_string()),
        heard: Listener::new(0).into_heard(),
        changed: Changes::default(),
        open_work: Vec::new(),
        tree: None,
        last_words: String::new(),
        duration_ms: 0,
        limit_until: None,
    }))
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
