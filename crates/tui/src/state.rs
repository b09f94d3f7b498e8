//! The state of the screen: a fold over the run's events, and the reader's position.
//!
//! Deliberately absent: clocks (time comes with events and ticks), terminals, and the agent's raw lines,
//! which are told again in digests.

use crate::feed::{Body, Check, CheckDone, Entry, Feed, Speech};
use crate::reader::{Reader, Scroll};
use crate::tool::{self, Status, Tool};
use crate::{clean, replay};
use cycle::{
    CheckFinished, EventKind, IterationOutcome, IterationStarted, LoopEvent, Question, Receipt, RunLimits, RunStarted,
    RunVerdict, TodoItem, Tokens, ToolResult, VerdictKind,
};
use std::collections::VecDeque;

/// As many as the widest screen has bars for.
const PAST_MAX: usize = 300;
/// More open work than fits any screen.
const TODO_MAX: usize = 300;
/// Words that are one line each.
const LINE_MAX: usize = 300;
/// Notes, warnings, questions: longer ones are in the recording.
const NOTE_MAX: usize = 4 * 1024;

/// Everything that [`crate::view`] shows.
#[derive(Debug, Clone, Default)]
pub struct ScreenState {
    pub(crate) title: String,
    pub(crate) folder: String,
    pub(crate) model: String,
    pub(crate) limits: RunLimits,
    pub(crate) iteration: u32,
    pub(crate) phase: Phase,
    /// Iterations that ended, earlier runs included.
    spent: Spending,
    /// The iteration that runs.
    current: Spending,
    pub(crate) context_tokens: u64,
    pub(crate) context_window: u64,
    pub(crate) past: VecDeque<PastIteration>,
    pub(crate) todo: Vec<TodoItem>,
    pub(crate) question: Option<Question>,
    pub(crate) verdict: Option<RunVerdict>,
    pub(crate) feed: Feed,
    pub(crate) reader: Reader,
    pub(crate) playing: Option<replay::Playing>,
    /// The run works elsewhere, and goes on when this screen is left.
    pub(crate) attached: bool,
    started: Option<u64>,
    elapsed_before: u64,
    /// When something happened last.
    heard: u64,
    pub(crate) now: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    #[default]
    Starting,
    Working,
    Checking,
    Waiting {
        until: u64,
        reason: String,
    },
    Paused,
    /// Between two iterations.
    Between,
    Ended,
}

/// An iteration that ended, for the side.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PastIteration {
    pub iteration: u32,
    pub outcome: IterationOutcome,
    pub usd: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Spending {
    pub usd: f64,
    pub tokens: Tokens,
}

impl Spending {
    fn plus(self, usd: f64, tokens: Tokens) -> Self {
        Self { usd: self.usd + amount(usd), tokens: self.tokens.plus(tokens) }
    }
}

/// A hostile cost must not turn a sum into no number at all.
fn amount(usd: f64) -> f64 {
    if usd.is_finite() { usd.max(0.0) } else { 0.0 }
}

impl ScreenState {
    /// Knows nothing of the run any more, but still what its reader does.
    pub(crate) fn forget_run(&mut self) {
        let reader = std::mem::take(&mut self.reader);
        *self = Self { reader, ..Self::default() };
        self.reader.selected = None;
        self.reader.scroll = Scroll::Follow;
    }

    /// Time passes without an event. It never runs backwards on the screen.
    pub fn tick(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    pub fn apply(&mut self, event: &LoopEvent) {
        self.tick(event.at);
        self.heard = self.now;
        self.end_retry(&event.kind);
        match &event.kind {
            EventKind::RunStarted(run) => self.run_started(run, event.at),
            EventKind::IterationStarted(start) => self.iteration_started(start),
            // How the agent is spoken with is said in a warning, too.
            EventKind::Agent { .. } | EventKind::Transport { .. } => {}
            EventKind::AgentText(speech) => self.speech(speech, false),
            EventKind::AgentThinking(speech) => self.speech(speech, true),
            EventKind::ToolCall(call) => {
                self.settle_speech();
                let tool = Tool::new(call, event.at, &self.folder);
                self.feed.push(call.iteration, Body::Tool(Box::new(tool)));
            }
            EventKind::ToolResult(result) => self.tool_result(result, event.at),
            EventKind::PermissionDenied { id, message, tool, iteration } => {
                if !self.finish_tool(id, Status::Denied, message, event.at) {
                    self.feed.push(*iteration, Body::Note(note(&format!("{tool} was refused: {message}"))));
                }
            }
            EventKind::ApiRetry(retry) => {
                let until = event.at.saturating_add(retry.delay_ms);
                self.phase = Phase::Waiting { until, reason: line(&retry_words(retry)) };
            }
            EventKind::Work(work) => {
                let id = work.id.as_ref().map_or(String::new(), |id| format!("{id} "));
                self.feed.push(self.iteration, Body::Note(note(&format!("new work: {id}{}", work.title))));
            }
            EventKind::SummaryFailed { reason, cost_usd, tokens, .. } => {
                self.spent = self.spent.plus(*cost_usd, *tokens);
                self.feed.push(self.iteration, Body::Warning(note(reason)));
            }
            EventKind::Usage(usage) => {
                self.current = Spending::default().plus(usage.cost_usd.unwrap_or(self.current.usd), usage.tokens);
                self.context_tokens = usage.context_tokens;
                self.context_window = usage.context_window;
            }
            EventKind::Question(question) => self.asked(question),
            EventKind::Answered { id, text } => self.answered(id, text),
            EventKind::Todo { items } => self.todo = items.iter().take(TODO_MAX).map(tidy_item).collect(),
            EventKind::CheckStarted { iteration, command } => self.check_started(*iteration, command, event.at),
            EventKind::CheckOutput { text, .. } => self.check_prints(text),
            EventKind::CheckFinished(check) => self.check_finished(check, event.at),
            EventKind::ReviewStarted { iteration } => {
                self.phase = Phase::Checking;
                self.feed.push(*iteration, Body::Note("another agent reviews the work".to_owned()));
            }
            EventKind::Reviewed { iteration, approved, text, cost_usd, tokens, .. } => {
                self.spent = self.spent.plus(*cost_usd, *tokens);
                let body = if *approved {
                    Body::Note("the reviewer approves".to_owned())
                } else {
                    Body::Warning(note(&format!("the reviewer does not approve:\n{text}")))
                };
                self.feed.push(*iteration, body);
            }
            EventKind::Waiting { until, reason, .. } => {
                self.phase = Phase::Waiting { until: *until, reason: line(reason) };
            }
            EventKind::Paused => self.phase = Phase::Paused,
            EventKind::Resumed => {
                self.phase = Phase::Between;
                self.reader.pause_wanted = false;
            }
            EventKind::Steered { iteration, text } => self.feed.push(*iteration, Body::Person(note(text))),
            EventKind::StrategyChanged { iteration, strategy, reason } => {
                self.feed.push(*iteration, Body::Note(note(&format!("another way, {strategy}: {reason}"))));
            }
            EventKind::Summarised { through, summary, cost_usd, tokens } => {
                self.spent = self.spent.plus(*cost_usd, *tokens);
                let text = format!("iterations up to {through} in short: {summary}");
                self.feed.push(self.iteration, Body::Note(note(&text)));
            }
            EventKind::IterationEnded { iteration, receipt } => {
                self.close_open(event.at);
                self.spent = self.spent.plus(receipt.cost_usd, receipt.tokens);
                self.current = Spending::default();
                self.remember(*iteration, receipt);
                self.phase = Phase::Between;
                let mut receipt = tidy_receipt(receipt);
                receipt.blocking.take_if(|blocking| self.was_just_said(blocking));
                self.feed.push(*iteration, Body::Receipt(Box::new(receipt)));
            }
            EventKind::Warning { iteration, text } => {
                self.feed.push(iteration.unwrap_or(self.iteration), Body::Warning(note(text)));
            }
            EventKind::Verdict(verdict) => self.ended(verdict),
        }
    }

    /// An agent that waited for the API and now says something does not wait any more.
    fn end_retry(&mut self, kind: &EventKind) {
        use EventKind::{AgentText, AgentThinking, ToolCall, ToolResult, Usage};
        let speaks = matches!(kind, AgentText(_) | AgentThinking(_) | ToolCall(_) | ToolResult(_) | Usage(_));
        if speaks && matches!(self.phase, Phase::Waiting { .. }) {
            self.phase = Phase::Working;
        }
    }

    fn run_started(&mut self, run: &RunStarted, at: u64) {
        self.title = line(&run.title);
        self.folder.clone_from(&run.folder);
        self.model = line(&run.model);
        self.limits = run.limits;
        self.started = Some(at);
        self.verdict = None;
        self.phase = Phase::Starting;
        // After a watch the next run starts from nothing.
        self.iteration = 0;
        self.elapsed_before = 0;
        self.spent = Spending::default();
        if let Some(before) = &run.resumed {
            self.spent = Spending::default().plus(before.cost_usd, before.tokens);
            self.iteration = before.iterations;
            self.elapsed_before = before.elapsed_ms;
            let text = format!("goes on after iteration {}", before.iterations);
            self.feed.push(self.iteration, Body::Note(text));
        }
        if let Some(words) = &run.unconfined {
            self.feed.push(self.iteration, Body::Note(line(words)));
        }
    }

    fn iteration_started(&mut self, start: &IterationStarted) {
        self.settle_speech();
        // The run went on without an answer.
        self.question = None;
        self.iteration = start.iteration;
        self.phase = Phase::Working;
        self.current = Spending::default();
        self.context_tokens = 0;
        let strategy = start.strategy.as_deref().map(line);
        let body = Body::Iteration { attempt: start.attempt, model: line(&start.model), strategy };
        self.feed.push(start.iteration, body);
    }

    /// A piece is appended to the speech that grows; a whole text takes its place.
    fn speech(&mut self, said: &cycle::AgentText, thinking: bool) {
        let text = clean::block(&said.text);
        let same = |speech: &Speech| speech.growing && speech.thinking == thinking && speech.parent == said.parent;
        let changed = self.feed.change_recent(
            |entry| matches!(&entry.body, Body::Speech(speech) if same(speech)),
            |entry| {
                if let Body::Speech(speech) = &mut entry.body {
                    if said.partial {
                        speech.text.push_str(&text);
                    } else {
                        text.as_ref().clone_into(&mut speech.text);
                        speech.growing = false;
                    }
                }
            },
        );
        if !changed && !text.is_empty() {
            let text = clean::tail(&text, crate::feed::TEXT_MAX).to_owned();
            let speech = Speech { text, thinking, growing: said.partial, parent: said.parent.clone() };
            self.feed.push(said.iteration, Body::Speech(speech));
        }
    }

    /// An error that the agent told in its last words need not be told again.
    fn was_just_said(&self, text: &str) -> bool {
        let last = self.feed.entries().back().map(|entry| &entry.body);
        matches!(last, Some(Body::Speech(speech)) if !speech.text.trim().is_empty() && text.contains(speech.text.trim()))
    }

    /// Nothing more comes to a speech after which something else happened.
    fn settle_speech(&mut self) {
        let grows = |body: &Body| matches!(body, Body::Speech(speech) if speech.growing && speech.parent.is_none());
        while self.feed.change_recent(
            |entry| grows(&entry.body),
            |entry| {
                if let Body::Speech(speech) = &mut entry.body {
                    speech.growing = false;
                }
            },
        ) {}
    }

    fn tool_result(&mut self, result: &ToolResult, at: u64) {
        let status = if result.is_error { Status::Failed } else { Status::Ok };
        self.finish_tool(&result.id, status, &result.text, at);
        if !result.is_error {
            self.close_question(&result.id);
        }
    }

    /// A refusal stays one, though the refused call gets an answer too.
    fn finish_tool(&mut self, call: &str, status: Status, output: &str, at: u64) -> bool {
        let output = tool::told(output, &self.folder);
        self.feed.change(
            |entry| matches!(&entry.body, Body::Tool(tool) if tool.call == call),
            |entry| {
                if let Body::Tool(tool) = &mut entry.body {
                    let status = if tool.status == Status::Denied { Status::Denied } else { status };
                    tool.finish(status, &output, at);
                }
            },
        )
    }

    /// What an iteration left open gets no end any more.
    fn close_open(&mut self, at: u64) {
        let open = |entry: &Entry| match &entry.body {
            Body::Tool(tool) => tool.status == Status::Running,
            Body::Speech(speech) => speech.growing,
            _ => false,
        };
        let close = |entry: &mut Entry| match &mut entry.body {
            Body::Tool(tool) => tool.finish(Status::Lost, "", at),
            Body::Speech(speech) => speech.growing = false,
            _ => {}
        };
        while self.feed.change(open, close) {}
    }

    fn asked(&mut self, question: &Question) {
        let known =
            |entry: &Entry| matches!(&entry.body, Body::Question { question: asked, .. } if asked.id == question.id);
        if self.feed.entries().iter().any(known) {
            return;
        }
        let mut question = question.clone();
        question.text = note(&question.text);
        question.options = question.options.iter().take(TODO_MAX).map(|option| line(option)).collect();
        self.feed.push(question.iteration, Body::Question { question: Box::new(question.clone()), answered: false });
        self.question = Some(question);
    }

    fn answered(&mut self, id: &str, text: &str) {
        self.close_question(id);
        self.feed.push(self.iteration, Body::Person(note(text)));
    }

    fn close_question(&mut self, id: &str) {
        if self.question.take_if(|question| question.id == id).is_none() {
            return;
        }
        self.feed.change(
            |entry| matches!(&entry.body, Body::Question { question, .. } if question.id == id),
            |entry| {
                if let Body::Question { answered, .. } = &mut entry.body {
                    *answered = true;
                }
            },
        );
    }

    fn check_started(&mut self, iteration: u32, command: &str, at: u64) {
        self.phase = Phase::Checking;
        self.feed.push(
            iteration,
            Body::Check(Check { command: line(command), started: at, printing: String::new(), done: None }),
        );
    }

    /// Of what it prints, the end stays until the check is over.
    fn check_prints(&mut self, text: &str) {
        self.feed.change_recent(
            |entry| matches!(&entry.body, Body::Check(run) if run.done.is_none()),
            |entry| {
                if let Body::Check(run) = &mut entry.body {
                    let all = format!("{}{}", run.printing, clean::block(clean::tail(text, NOTE_MAX)));
                    clean::tail(&all, NOTE_MAX).clone_into(&mut run.printing);
                }
            },
        );
    }

    fn check_finished(&mut self, check: &CheckFinished, at: u64) {
        let command = line(&check.command);
        let done = CheckDone {
            passed: check.passed,
            exit_code: check.exit_code,
            output: clean::block(clean::tail(&check.output, NOTE_MAX).trim_end()).into_owned(),
            duration_ms: check.duration_ms,
        };
        let found = self.feed.change(
            |entry| matches!(&entry.body, Body::Check(run) if run.done.is_none() && run.command == command),
            |entry| {
                if let Body::Check(run) = &mut entry.body {
                    run.printing.clear();
                    run.done = Some(done.clone());
                }
            },
        );
        if !found {
            let check_body = Check { command, started: at, printing: String::new(), done: Some(done) };
            self.feed.push(check.iteration, Body::Check(check_body));
        }
    }

    fn ended(&mut self, verdict: &RunVerdict) {
        self.close_open(self.now);
        self.phase = Phase::Ended;
        let mut verdict = verdict.clone();
        verdict.reason = note(&verdict.reason);
        self.feed.push(self.iteration, Body::Verdict(Box::new(verdict.clone())));
        self.verdict = Some(verdict);
    }

    fn remember(&mut self, iteration: u32, receipt: &Receipt) {
        self.past.push_back(PastIteration {
            iteration,
            outcome: receipt.outcome.clone(),
            usd: amount(receipt.cost_usd),
        });
        if self.past.len() > PAST_MAX {
            self.past.pop_front();
        }
    }

    /// So far, the running iteration included.
    pub(crate) fn spending(&self) -> Spending {
        self.spent.plus(self.current.usd, self.current.tokens)
    }

    /// What the running iteration has cost so far, where something is known of it.
    pub(crate) fn running_usd(&self) -> Option<f64> {
        Some(self.current.usd).filter(|usd| *usd > 0.0)
    }

    pub(crate) fn elapsed_ms(&self) -> u64 {
        match (&self.verdict, self.started) {
            (Some(verdict), _) => verdict.elapsed_ms,
            (None, Some(started)) => self.elapsed_before.saturating_add(self.now.saturating_sub(started)),
            (None, None) => 0,
        }
    }

    /// The time since the last output of a working agent, where no tool call explains the silence.
    pub(crate) fn silence_ms(&self) -> Option<u64> {
        let busy = |entry: &Entry| matches!(&entry.body, Body::Tool(tool) if tool.status == Status::Running);
        let silent = self.phase == Phase::Working && !self.feed.recent().any(busy);
        silent.then(|| self.now.saturating_sub(self.heard))
    }

    pub(crate) fn is_done(&self) -> bool {
        self.verdict.as_ref().is_some_and(|verdict| verdict.verdict == VerdictKind::Done)
    }

    pub(crate) fn ended_run(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// A person who looks in the morning wants to see the end; a person who stopped the run knows it.
    pub(crate) fn worth_a_look(&self) -> bool {
        let by_hand =
            |verdict: &RunVerdict| matches!(verdict.verdict, VerdictKind::Interrupted | VerdictKind::Terminated);
        self.verdict.as_ref().is_some_and(|verdict| !by_hand(verdict))
    }
}

fn line(text: &str) -> String {
    clean::line(clean::head(text.trim(), LINE_MAX)).into_owned()
}

fn note(text: &str) -> String {
    clean::block(clean::head(text.trim(), NOTE_MAX)).into_owned()
}

fn tidy_item(item: &TodoItem) -> TodoItem {
    TodoItem { text: line(&item.text), state: item.state }
}

fn tidy_receipt(receipt: &Receipt) -> Receipt {
    let mut receipt = receipt.clone();
    receipt.summary = note(&receipt.summary);
    receipt.blocking = receipt.blocking.as_deref().map(note);
    receipt.evidence = receipt.evidence.iter().take(cycle::Changes::FILES_MAX).map(|text| line(text)).collect();
    receipt.changed.files.truncate(cycle::Changes::FILES_MAX);
    for file in &mut receipt.changed.files {
        file.path = line(&file.path);
    }
    receipt.changed.commits = receipt.changed.commits.iter().take(PAST_MAX).map(|text| line(text)).collect();
    receipt
}

/// The agent itself waits for the API.
fn retry_words(retry: &cycle::ApiRetry) -> String {
    let of = if retry.most > 0 { format!(" of {}", retry.most) } else { String::new() };
    format!("{}; the agent tries again ({}{of})", retry.words(), retry.attempt)
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
