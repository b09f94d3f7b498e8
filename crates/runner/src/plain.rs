//! A run as lines of text, for logs and for terminals without a screen; and as JSON, for programs.

use crate::Sink;
use cycle::amounts::{clock, count, duration, usd};
use cycle::{
    AgentText, CheckFinished, EventKind, IterationFailure, IterationOutcome, LoopEvent, Question, Receipt, TodoItem,
    TodoState, ToolCall,
};
use cycle::{RunVerdict, ToolResult, Verbatim, clean};
use jiff::tz::TimeZone;
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

/// What a line shows of a tool's argument, and of a failed result.
const SHOWN: usize = 100;
/// Calls whose results are still to come. An agent with more at once has its failures shown without a name.
const OPEN_MAX: usize = 256;

/// Events as lines. Whatever agents write is made harmless first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plain {
    folder: String,
    /// How to go on after the end is not said.
    no_hints: bool,
    /// The folder was told by the loop, and not by an agent.
    placed: bool,
    most: u32,
    /// Names of the calls that run, by id.
    open: HashMap<String, String>,
    /// Done and all, as last told.
    todo: (usize, usize),
    /// The text that comes in pieces (`--live`), and how many of its lines were told.
    growing: String,
    told: usize,
    /// The last line of the running check that is not whole yet, and whether lines of it were told.
    printing: (String, bool),
    /// A wait, and how much of it was left when it was last spoken of.
    wait: Option<(u64, u64)>,
}

/// Of a text in pieces: longer ones are told at their end.
const GROWING_MAX: usize = 1024 * 1024;

/// Upwards: a wait of two seconds is still one a millisecond after it began.
fn whole_seconds(ms: u64) -> u64 {
    ms.div_ceil(1000).saturating_mul(1000)
}

/// A wait is spoken of again when this much of it is left: often at its end, seldom before.
const COUNTDOWN_MS: [u64; 8] = [10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000, 3_600_000, 7_200_000];
/// Before that, once in so long.
const COUNTDOWN_EVERY_MS: u64 = 3_600_000;

impl Plain {
    /// For logs that do not say where they were made.
    fn within(folder: &Path) -> Self {
        Self { folder: format!("{}/", folder.display()), ..Self::default() }
    }

    /// How long a wait still lasts, where it is time to say so.
    pub(crate) fn countdown(&mut self, now: u64) -> Option<String> {
        let (until, before) = self.wait?;
        let left = until.saturating_sub(now);
        let passed = |mark: &&u64| (left..before).contains(mark);
        let due = COUNTDOWN_MS.iter().any(|mark| passed(&mark)) || before.saturating_sub(left) >= COUNTDOWN_EVERY_MS;
        if left == 0 || !due {
            return None;
        }
        self.wait = Some((until, left));
        Some(format!("  still waiting, {} left", clock(left)))
    }

    pub(crate) fn lines(&mut self, event: &LoopEvent) -> Vec<String> {
        self.wait = match &event.kind {
            EventKind::Waiting { until, .. } => Some((*until, until.saturating_sub(event.at))),
            _ => None,
        };
        let text = match &event.kind {
            EventKind::RunStarted(start) => {
                self.folder = format!("{}/", start.folder);
                self.placed = true;
                self.most = start.limits.iterations;
                let again = start.resumed.as_ref().map_or(String::new(), |resumed| {
                    format!(", going on after {} and {}", iterations(resumed.iterations), usd(resumed.cost_usd))
                });
                let confined = start.sandbox.as_ref().map(|words| format!(" · sandbox: {words}"));
                let open = start.unconfined.as_ref().map(|words| format!(" · {words}"));
                let confined: String = confined.into_iter().chain(open).collect();
                let agent = format!("{} {}{confined}", start.backend, start.model);
                format!("ralph ▸ {} · run {} · {agent}{again}", start.title, start.run)
            }
            EventKind::IterationStarted(start) => {
                self.open.clear();
                let of = if self.most > 0 { format!(" of {}", self.most) } else { String::new() };
                let again = if start.attempt > 1 { format!(", attempt {}", start.attempt) } else { String::new() };
                format!("\n── iteration {}{of}{again} ──", start.iteration)
            }
            EventKind::AgentText(AgentText { partial: true, text, parent: None, .. }) => self.piece(text),
            EventKind::AgentText(AgentText { partial: false, text, parent: None, .. }) => self.whole(text),
            EventKind::ToolCall(call) => self.call(call),
            EventKind::ToolResult(result) => return self.result(result).iter().map(|line| harmless(line)).collect(),
            EventKind::PermissionDenied { tool, message, .. } => format!("  ✗ {tool} was not allowed: {message}"),
            EventKind::Question(question) => question_lines(question),
            EventKind::Answered { text, .. } => format!("  answer: {text}"),
            EventKind::Todo { items } => return self.todo(items).into_iter().collect(),
            EventKind::CheckStarted { .. } => {
                self.printing = (String::new(), false);
                return Vec::new();
            }
            EventKind::CheckOutput { text, .. } => self.printed(text),
            EventKind::CheckFinished(check) => self.check_lines(check),
            EventKind::ReviewStarted { .. } => "  another agent reviews the work".into(),
            EventKind::Reviewed { approved: true, .. } => "  ✓ review: approved".into(),
            EventKind::Reviewed { text, .. } => format!("  ✗ review\n{}", indented(text)),
            EventKind::ApiRetry(retry) => retry_line(retry),
            EventKind::Work(work) => {
                let id = work.id.as_ref().map_or(String::new(), |id| format!("{id} "));
                format!("  works on: {id}{}", work.title)
            }
            EventKind::SummaryFailed { reason, .. } => format!("  ! {reason}"),
            EventKind::Waiting { until, reason, .. } => {
                format!("  waits {}: {reason}", clock(whole_seconds(until.saturating_sub(event.at))))
            }
            EventKind::Paused => "  paused".into(),
            EventKind::Resumed => "  going on".into(),
            EventKind::Steered { text, .. } => format!("  steered: {text}"),
            EventKind::StrategyChanged { strategy, reason, .. } => format!("  {reason}; trying {strategy}"),
            EventKind::Summarised { through, .. } => format!("  summarised the iterations up to {through}"),
            EventKind::IterationEnded { iteration, receipt } => receipt_lines(*iteration, receipt),
            EventKind::Warning { text, .. } => format!("  ! {text}"),
            EventKind::Verdict(verdict) => verdict_lines(verdict, !self.no_hints),
            EventKind::Agent { line, .. } if !self.placed => {
                self.place(line);
                return Vec::new();
            }
            _ => return Vec::new(),
        };
        text.lines().map(harmless).collect()
    }

    /// A piece of a text: its lines are told as soon as they are whole.
    fn piece(&mut self, text: &str) -> String {
        if self.growing.len() < GROWING_MAX {
            self.growing.push_str(text);
        }
        let grown = self.growing.trim_start();
        let whole = grown.matches('\n').count();
        let new = grown.lines().take(whole).skip(self.told).map(|line| format!("  {line}"));
        let new = new.collect::<Vec<_>>().join("\n");
        self.told = whole.max(self.told);
        new
    }

    /// A text at its end: what was not told in pieces.
    fn whole(&mut self, text: &str) -> String {
        self.growing.clear();
        let told = std::mem::take(&mut self.told);
        let rest = text.trim().lines().skip(told).map(|line| format!("  {line}"));
        rest.collect::<Vec<_>>().join("\n")
    }

    /// What a check prints (`--live`), in whole lines.
    fn printed(&mut self, text: &str) -> String {
        self.printing.0.push_str(text);
        let Some(end) = self.printing.0.rfind('\n') else {
            let surplus = self.printing.0.len().saturating_sub(GROWING_MAX);
            let surplus = self.printing.0.ceil_char_boundary(surplus);
            self.printing.0.drain(..surplus);
            return String::new();
        };
        self.printing.1 = true;
        let rest = self.printing.0.split_off(end + 1);
        let whole = std::mem::replace(&mut self.printing.0, rest);
        whole.lines().map(|line| format!("    │ {line}")).collect::<Vec<_>>().join("\n")
    }

    /// Where its lines were told as they came, only what is left of them, and the one that says what failed.
    fn check_lines(&mut self, check: &CheckFinished) -> String {
        let (rest, told) = std::mem::take(&mut self.printing);
        let rest = Some(rest).filter(|rest| told && !rest.is_empty()).map(|rest| format!("    │ {rest}\n"));
        let mark = if check.passed { "✓" } else { "✗" };
        let line = format!("  {mark} check: {} ({})", check.command, duration(check.duration_ms));
        let output = match (check.passed, told) {
            (true, _) => String::new(),
            (false, true) => format!("\n  {}", failure(&check.output)),
            (false, false) => format!("\n{}", indented(check.output.trim())),
        };
        format!("{}{line}{output}", rest.unwrap_or_default())
    }

    /// Logs of other loops begin with an agent that says where it is.
    fn place(&mut self, line: &Verbatim) {
        let event = line.value();
        if let Some(folder) = event["cwd"].as_str().filter(|folder| event["type"] == "system" && folder.len() > 1) {
            self.folder = format!("{}/", folder.trim_end_matches('/'));
        }
    }

    fn call(&mut self, call: &ToolCall) -> String {
        if self.open.len() < OPEN_MAX {
            self.open.insert(call.id.clone(), call.name.clone());
        }
        let names =
            ["command", "file_path", "notebook_path", "path", "pattern", "url", "query", "description", "skill"];
        let main = names.iter().find_map(|name| call.input[*name].as_str());
        let main = main
            .map_or_else(|| if call.input.is_object() { String::new() } else { call.input.to_string() }, str::to_owned);
        tool_line("●", call.parent.as_deref(), &call.name, &first_line(&main.replace(&self.folder, "")))
    }

    /// Only failures are worth a line; with their name, because calls may run side by side.
    fn result(&mut self, result: &ToolResult) -> Option<String> {
        let name = self.open.remove(&result.id).unwrap_or_default();
        result.is_error.then(|| tool_line("✗", result.parent.as_deref(), &name, &failure(&result.text)))
    }

    fn todo(&mut self, items: &[TodoItem]) -> Option<String> {
        let done = items.iter().filter(|item| item.state == TodoState::Done).count();
        let now = (done, items.len());
        let before = std::mem::replace(&mut self.todo, now);
        (before != now).then(|| format!("  todo: {done} of {} done", items.len()))
    }
}

/// The agent itself waits for the API.
fn retry_line(retry: &cycle::ApiRetry) -> String {
    let of = if retry.most > 0 { format!(" of {}", retry.most) } else { String::new() };
    let (words, delay) = (retry.words(), clock(whole_seconds(retry.delay_ms)));
    format!("  {words}; the agent tries again in {delay} ({}{of})", retry.attempt)
}

fn tool_line(mark: &str, parent: Option<&str>, name: &str, words: &str) -> String {
    let nested = if parent.is_some() { "  " } else { "" };
    format!("  {nested}{mark} {name:<6} {words}")
}

fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    cycle::bounded(line.trim(), SHOWN)
}

/// The exit code, and the line that says what failed.
fn failure(text: &str) -> String {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let failing = cycle::failing_line(text).trim();
    let line = if first.to_lowercase().starts_with("exit code") && first != failing {
        format!("{first}: {failing}")
    } else {
        failing.to_owned()
    };
    cycle::bounded(&line, SHOWN)
}

fn indented(text: &str) -> String {
    text.trim().lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

fn question_lines(question: &Question) -> String {
    let mut text = format!("  ? {}", question.text);
    for (at, option) in question.options.iter().enumerate() {
        text.push_str(&format!("\n    {} {option}", at + 1));
    }
    text
}

fn receipt_lines(iteration: u32, receipt: &Receipt) -> String {
    let outcome = match &receipt.outcome {
        IterationOutcome::Progress => "progress",
        IterationOutcome::NoProgress => "no progress",
        IterationOutcome::Done => "done",
        IterationOutcome::NotDone => "not done",
        IterationOutcome::Blocked => "blocked",
        IterationOutcome::Failed { failure } => failure.words(),
        IterationOutcome::Deferred => "put off",
        IterationOutcome::Interrupted => "interrupted",
        IterationOutcome::Cut => "cut by a limit",
    };
    let changed = &receipt.changed;
    let files = changed.files.len() as u64 + changed.more_files;
    let (added, removed) = changed.files.iter().fold((0u64, 0u64), |(added, removed), file| {
        (added.saturating_add(file.added), removed.saturating_add(file.removed))
    });
    let change = match files {
        0 if changed.known => " · nothing changed".to_owned(),
        0 => String::new(),
        1 => format!(" · 1 file +{added} −{removed}"),
        files => format!(" · {files} files +{added} −{removed}"),
    };
    let tokens = count(receipt.tokens.total());
    let spent = format!("{} · {tokens} tokens · {}", usd(receipt.cost_usd), duration(receipt.duration_ms));
    let why = match (&receipt.outcome, &receipt.blocking) {
        (IterationOutcome::Blocked, _) => "\n  answer with: ralph answer \"…\"".to_owned(),
        // The verdict follows at once, and says it.
        (IterationOutcome::Failed { failure: IterationFailure::Credentials | IterationFailure::Start }, _) => {
            String::new()
        }
        (IterationOutcome::Failed { .. } | IterationOutcome::Cut | IterationOutcome::Deferred, Some(why)) => {
            format!("\n  {}", first_line(why))
        }
        _ => String::new(),
    };
    format!("iteration {iteration}: {outcome}{change} · {spent}{why}")
}

fn verdict_lines(verdict: &RunVerdict, hint: bool) -> String {
    let (cost, time) = (usd(verdict.cost_usd), clock(verdict.elapsed_ms));
    let spent = format!("{} · {cost} · {time}", iterations(verdict.iterations));
    let unchecked = if verdict.unchecked { " (unchecked)" } else { "" };
    let line = format!("\n{}{unchecked}: {} ({spent})", verdict.verdict.word(), verdict.reason);
    match (&verdict.question, hint) {
        (Some(question), _) => format!("{line}\n{}\n{}", indented(&question.text), verdict.next_step()),
        (None, true) => format!("{line}. {}", verdict.next_step()),
        (None, false) => line,
    }
}

fn iterations(count: u32) -> String {
    if count == 1 { "1 iteration".to_owned() } else { format!("{count} iterations") }
}

/// Without blanks at the end, and without anything that a terminal would obey.
fn harmless(line: &str) -> String {
    clean::line(line.trim_end()).into_owned()
}

/// Plain lines, one write each.
pub struct PlainSink<W> {
    out: W,
    plain: Plain,
    /// Lines begin with the time there.
    zone: Option<TimeZone>,
}

/// A line with the time of its event. Blank lines stay blank.
pub(crate) fn with_time(line: &str, at: u64, zone: &TimeZone) -> String {
    let Some(at) = i64::try_from(at).ok().and_then(|at| jiff::Timestamp::from_millisecond(at).ok()) else {
        return line.to_owned();
    };
    if line.is_empty() { String::new() } else { format!("{} {line}", at.to_zoned(zone.clone()).strftime("%H:%M:%S")) }
}

impl<W: Write> PlainSink<W> {
    pub fn new(out: W) -> Self {
        Self { out, plain: Plain::default(), zone: None }
    }

    /// For runs that ended long ago.
    #[must_use]
    pub fn without_hints(mut self) -> Self {
        self.plain.no_hints = true;
        self
    }

    #[must_use]
    pub fn with_times(self, zone: Option<TimeZone>) -> Self {
        Self { zone, ..self }
    }

    /// For recordings that may not say where they were made.
    pub fn within(out: W, folder: &Path) -> Self {
        Self { out, plain: Plain::within(folder), zone: None }
    }

    fn write(&mut self, line: &str, at: u64) {
        let line = self.zone.as_ref().map_or_else(|| line.to_owned(), |zone| with_time(line, at, zone));
        // A reader that left is no reason to stop the run.
        let _ = self.out.write_all(format!("{line}\n").as_bytes()).and_then(|()| self.out.flush());
    }
}

impl<W: Write> Sink for PlainSink<W> {
    fn event(&mut self, event: &LoopEvent) {
        for line in self.plain.lines(event) {
            self.write(&line, event.at);
        }
    }

    fn tick(&mut self, now: u64) {
        if let Some(line) = self.plain.countdown(now) {
            self.write(&line, now);
        }
    }
}

/// Every event as a line of JSON; the schema is that of `cycle::LoopEvent`.
pub struct JsonSink<W> {
    out: W,
}

impl<W: Write> JsonSink<W> {
    pub fn new(out: W) -> Self {
        Self { out }
    }
}

impl<W: Write> Sink for JsonSink<W> {
    fn event(&mut self, event: &LoopEvent) {
        let _ = self.out.write_all(format!("{}\n", event.to_line()).as_bytes()).and_then(|()| self.out.flush());
    }
}

#[cfg(test)]
#[path = "plain_tests.rs"]
mod tests;
