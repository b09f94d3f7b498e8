//! A run as lines of text, for logs and for terminals without a screen; and as JSON, for programs.

use crate::Sink;
use cycle::{EventKind, LoopEvent, Outcome, Receipt, Speech, ToolCall, Verdict};
use std::io::Write;

/// What a line shows of a tool's argument, and of a failed result.
const SHOWN: usize = 100;

/// Events as lines. Whatever agents write is made harmless first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plain {
    folder: String,
    most: u32,
    /// A wait, and how much of it was left when it was last spoken of.
    wait: Option<(u64, u64)>,
}

/// A wait is spoken of again when this much of it is left: often at its end, seldom before.
const COUNTDOWN_MS: [u64; 8] = [10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000, 3_600_000, 7_200_000];
/// Before that, once in so long.
const COUNTDOWN_EVERY_MS: u64 = 3_600_000;

impl Plain {
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
        Some(format!("  still waiting, {} left", seconds(left)))
    }

    pub(crate) fn lines(&mut self, event: &LoopEvent) -> Vec<String> {
        self.wait = match &event.kind {
            EventKind::Waiting { until, .. } => Some((*until, until.saturating_sub(event.at))),
            _ => None,
        };
        let text = match &event.kind {
            EventKind::RunStarted(start) => {
                self.folder = format!("{}/", start.folder);
                self.most = start.limits.iterations;
                let again = start.resumed.as_ref().map_or(String::new(), |resumed| {
                    format!(", going on after {} iterations and ${:.2}", resumed.iterations, resumed.cost_usd)
                });
                format!("ralph ▸ {} · run {} · {} {}{again}", start.title, start.run, start.backend, start.model)
            }
            EventKind::IterationStarted(start) => {
                let of = if self.most > 0 { format!(" of {}", self.most) } else { String::new() };
                let again = if start.attempt > 1 { format!(", attempt {}", start.attempt) } else { String::new() };
                format!("── iteration {}{of}{again} ──", start.iteration)
            }
            EventKind::AgentText(Speech { partial: false, text, parent: None, .. }) => indented(text),
            EventKind::ToolCall(call) => self.call(call),
            EventKind::ToolResult(result) if result.is_error => format!("    ✗ {}", first_line(&result.text)),
            EventKind::PermissionDenied { tool, message, .. } => format!("  ✗ {tool} was not allowed: {message}"),
            EventKind::Question(question) => format!("  ? {}", question.text),
            EventKind::Answered { text, .. } => format!("  answer: {text}"),
            EventKind::CheckFinished(check) => {
                let mark = if check.passed { "✓" } else { "✗" };
                let mut text = format!("  {mark} check: {} ({})", check.command, seconds(check.duration_ms));
                if !check.passed {
                    text.push_str(&format!("\n{}", indented(check.output.trim())));
                }
                text
            }
            EventKind::Waiting { until, reason, .. } => {
                format!("  waiting {} ({reason})", seconds(until.saturating_sub(event.at)))
            }
            EventKind::Paused => "  paused".into(),
            EventKind::Resumed => "  going on".into(),
            EventKind::Steered { text, .. } => format!("  steered: {text}"),
            EventKind::StrategyChanged { strategy, reason, .. } => format!("  {reason}; trying {strategy}"),
            EventKind::Summarised { through, .. } => format!("  summarised the iterations up to {through}"),
            EventKind::IterationEnded { iteration, receipt } => receipt_line(*iteration, receipt),
            EventKind::Warning { text, .. } => format!("  ! {text}"),
            EventKind::Verdict(verdict) => verdict_line(verdict),
            _ => return Vec::new(),
        };
        text.lines().map(harmless).collect()
    }

    fn call(&self, call: &ToolCall) -> String {
        let names =
            ["command", "file_path", "notebook_path", "path", "pattern", "url", "query", "description", "skill"];
        let main = names.iter().find_map(|name| call.input[*name].as_str());
        let main = main
            .map_or_else(|| if call.input.is_object() { String::new() } else { call.input.to_string() }, str::to_owned);
        let nested = if call.parent.is_some() { "  " } else { "" };
        format!("  {nested}● {:<6} {}", call.name, first_line(&main.replace(&self.folder, "")))
    }
}

fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    cycle::bounded(line.trim(), SHOWN)
}

fn indented(text: &str) -> String {
    text.trim().lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

fn seconds(ms: u64) -> String {
    match ms / 1000 {
        0..10 => format!("{:.1} s", ms as f64 / 1000.0),
        count @ 10..120 => format!("{count} s"),
        count @ 120..7200 => format!("{} min", count / 60),
        count => format!("{} h {} min", count / 3600, count % 3600 / 60),
    }
}

fn receipt_line(iteration: u32, receipt: &Receipt) -> String {
    let outcome = match &receipt.outcome {
        Outcome::Progress => "progress",
        Outcome::NoProgress => "no progress",
        Outcome::Done => "done",
        Outcome::NotDone => "not done",
        Outcome::Blocked => "blocked",
        Outcome::Failed { failure } => failure.words(),
        Outcome::Deferred => "put off",
        Outcome::Interrupted => "interrupted",
        Outcome::Cut => "cut by a limit",
    };
    let changed = &receipt.changed;
    let files = changed.files.len() as u64 + changed.more_files;
    let (added, removed) =
        changed.files.iter().fold((0, 0), |(added, removed), file| (added + file.added, removed + file.removed));
    let change = match files {
        0 if changed.known => " · nothing changed".to_owned(),
        0 => String::new(),
        1 => format!(" · 1 file +{added} −{removed}"),
        files => format!(" · {files} files +{added} −{removed}"),
    };
    let tokens = receipt.tokens.total();
    let spent = format!("${:.2} · {tokens} tokens · {}", receipt.cost_usd, seconds(receipt.duration_ms));
    let why = match (&receipt.outcome, &receipt.blocking) {
        (Outcome::Failed { .. } | Outcome::Cut | Outcome::Deferred, Some(why)) => format!("\n  {}", first_line(why)),
        (Outcome::Blocked, _) => "\n  answer with: ralph answer \"…\"".to_owned(),
        _ => String::new(),
    };
    format!("iteration {iteration}: {outcome}{change} · {spent}{why}")
}

fn verdict_line(verdict: &Verdict) -> String {
    let question = verdict.question.as_ref().map_or(String::new(), |question| {
        format!("\n{}\nAnswer with: ralph answer \"…\", then: ralph resume", indented(&question.text))
    });
    let spent =
        format!("{} iterations · ${:.2} · {}", verdict.iterations, verdict.cost_usd, seconds(verdict.elapsed_ms));
    format!("{}: {} ({spent}){question}", verdict.verdict.word(), verdict.reason)
}

/// Control characters could move the cursor or retitle the window, and direction marks could reorder what
/// is read: both are shown as a mark instead.
fn harmless(line: &str) -> String {
    let odd = |letter: char| {
        letter != '\t' && letter.is_control()
            || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
    };
    line.chars().map(|letter| if odd(letter) { '\u{fffd}' } else { letter }).collect()
}

/// Plain lines, one write each.
pub struct PlainSink<W> {
    out: W,
    plain: Plain,
}

impl<W: Write> PlainSink<W> {
    pub fn new(out: W) -> Self {
        Self { out, plain: Plain::default() }
    }

    fn write(&mut self, line: &str) {
        // A reader that left is no reason to stop the run.
        let _ = self.out.write_all(format!("{line}\n").as_bytes()).and_then(|()| self.out.flush());
    }
}

impl<W: Write> Sink for PlainSink<W> {
    fn event(&mut self, event: &LoopEvent) {
        for line in self.plain.lines(event) {
            self.write(&line);
        }
    }

    fn tick(&mut self, now: u64) {
        if let Some(line) = self.plain.countdown(now) {
            self.write(&line);
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
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn shown(kind: EventKind) -> Vec<String> {
        let mut plain = Plain { folder: "/w/".into(), most: 3, wait: None };
        plain.lines(&kind.at(0))
    }

    #[test]
    fn escape_sequences_from_agents_are_neutralised() {
        let text = "a\u{1b}]0;title\u{7}b\r\u{202e}c";
        let speech = Speech { iteration: 1, text: text.into(), partial: false, parent: None };
        let line = shown(EventKind::AgentText(speech)).remove(0);
        assert!(!line.contains(['\u{1b}', '\u{7}', '\r', '\u{202e}']), "{line:?}");
        assert!(line.contains("title"));
    }

    #[test]
    fn a_call_is_one_line_with_a_relative_path() {
        let call = |input: Value| ToolCall { iteration: 1, id: "t".into(), name: "Read".into(), input, parent: None };
        assert_eq!(shown(EventKind::ToolCall(call(json!({"file_path": "/w/src/a.rs"})))), ["  ● Read   src/a.rs"]);
        assert_eq!(shown(EventKind::ToolCall(call(json!({"command": "a\nb"})))), ["  ● Read   a"]);
        assert_eq!(shown(EventKind::ToolCall(call(json!(null)))).len(), 1);
    }

    #[test]
    fn a_wait_is_counted_down_seldom_at_first_and_then_more_often() {
        let mut plain = Plain::default();
        let three_hours = 3 * 3_600_000;
        let wait = EventKind::Waiting { iteration: 1, until: three_hours, reason: "limit".into() };
        assert_eq!(plain.lines(&wait.at(0)), ["  waiting 3 h 0 min (limit)"]);
        let said: Vec<String> = (0..=three_hours / 1000).filter_map(|second| plain.countdown(second * 1000)).collect();
        let left = ["120 min", "60 min", "30 min", "10 min", "5 min", "60 s", "30 s", "10 s"];
        let expected = left.map(|left| format!("  still waiting, {left} left"));
        assert_eq!(said.iter().map(|line| line.replace("2 h 0 min", "120 min")).collect::<Vec<_>>(), expected);
        plain.lines(&EventKind::Resumed.at(1));
        assert_eq!(plain.countdown(three_hours - 1000), None, "the wait is over");
    }

    #[test]
    fn a_receipt_reads_well() {
        let receipt = Receipt { cost_usd: 0.5, duration_ms: 61_000, ..Receipt::default() };
        assert_eq!(receipt_line(2, &receipt), "iteration 2: progress · $0.50 · 0 tokens · 61 s");
    }
}
