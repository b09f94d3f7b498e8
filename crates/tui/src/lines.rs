//! An entry of the feed as rows of a given width.

use crate::feed::{Body, Check, Entry, GROWING_SHOWN, Speech};
use crate::state::ScreenState;
use crate::tool::{Side, Status, Tool};
use crate::{amounts, clean, markdown, theme, wrap};
use cycle::{IterationOutcome, Question, Receipt, RefusedClaim, RunVerdict, VerdictKind};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

/// Between the feed's text and what is beside it.
const MARGIN: usize = 1;
/// Narrower feeds drop durations: the subject is worth more.
const DURATIONS_FROM: usize = 50;
const DURATION_COLUMNS: usize = 9;
const NAME_COLUMNS: usize = 6;
/// What is folded of a line of output stands further in, so that lines can be told apart.
const HANG: usize = 4;
/// Rows of a diff, of a failure's output, that show without unfolding.
const DIFF_ROWS: usize = 6;
const FAILURE_ROWS: usize = 3;
const CHECK_ROWS: usize = 5;

/// A blank that lines are not folded at.
const STICKY: &str = "\u{a0}";

/// What the rows of an entry depend on besides the entry.
pub struct Look<'a> {
    pub width: usize,
    state: &'a ScreenState,
}

impl<'a> Look<'a> {
    pub fn new(state: &'a ScreenState, width: usize) -> Self {
        Self { width: width.saturating_sub(MARGIN).max(1), state }
    }

    pub fn rows(&self, entry: &Entry) -> Vec<Line<'static>> {
        let open = entry.open.unwrap_or(self.state.reader.open_all);
        let mut rows = match &entry.body {
            Body::Iteration { attempt, model, strategy } => {
                self.iteration(entry.iteration, *attempt, model, strategy.as_deref())
            }
            Body::Speech(speech) if speech.thinking => self.thinking(speech, open),
            Body::Speech(speech) => self.speech(speech),
            Body::Tool(tool) => self.tool(tool, open),
            Body::Check(check) => self.check(check, open),
            Body::Note(text) => self.marked("· ", text, theme::DIM),
            Body::Warning(text) => self.marked("! ", text, theme::PLAIN),
            Body::Person(text) => self.marked("▸ ", text, theme::ACCENT),
            Body::Question { question, answered } => self.question(question, *answered),
            Body::Receipt(receipt) => self.receipt(receipt, open),
            Body::Verdict(verdict) => self.verdict(verdict),
        };
        if entry.iteration < self.state.iteration {
            rows = rows.into_iter().map(|row| dimmed(&row)).collect();
        }
        if self.state.reader.selected == Some(entry.id) {
            select(&mut rows);
        }
        if !self.state.reader.search.is_empty() {
            rows = rows.into_iter().map(|row| highlighted(row, &self.state.reader.search)).collect();
        }
        rows
    }

    fn iteration(&self, number: u32, attempt: u32, model: &str, strategy: Option<&str>) -> Vec<Line<'static>> {
        let again = if attempt > 1 { format!(" · attempt {attempt}") } else { String::new() };
        let strategy = strategy.map(|strategy| format!(" · {strategy}")).unwrap_or_default();
        let text = wrap::cut(&format!("── iteration {number}{again} · {model}{strategy} "), self.width);
        let rule = "─".repeat(self.width.saturating_sub(wrap::columns(&text)));
        vec![Line::default(), Line::styled(text + &rule, theme::DIM)]
    }

    fn speech(&self, speech: &Speech) -> Vec<Line<'static>> {
        let indent = indent(speech.parent.as_deref());
        let text = if speech.growing { clean::tail(&speech.text, GROWING_SHOWN) } else { &speech.text };
        let mut rows = markdown::render(text, speech.growing, self.inner(indent));
        if speech.growing {
            let cursor = Span::styled("▌", theme::ACCENT);
            match rows.last_mut() {
                Some(row) => row.push_span(cursor),
                None => rows.push(Line::from(cursor)),
            }
        }
        indented(rows, indent)
    }

    fn thinking(&self, speech: &Speech, open: bool) -> Vec<Line<'static>> {
        let indent = indent(speech.parent.as_deref());
        let style = theme::DIM.add_modifier(Modifier::ITALIC);
        let mut lines: Vec<&str> = speech.text.lines().filter(|line| !line.trim().is_empty()).collect();
        if !open {
            lines.drain(..lines.len().saturating_sub(1));
            let line = lines.first().copied().unwrap_or_default();
            let text = wrap::cut(&format!("∴ {}", line.trim()), self.inner(indent));
            return indented(vec![Line::styled(text, style)], indent);
        }
        let fold = |line: &&str| wrap::fold(&Line::styled((*line).to_owned(), style), self.inner(indent), 0);
        indented(lines.iter().flat_map(fold).collect(), indent)
    }

    fn tool(&self, tool: &Tool, open: bool) -> Vec<Line<'static>> {
        let (glyph, style) = match tool.status {
            Status::Running => ("◐", theme::ACCENT),
            Status::Ok => ("●", theme::PLAIN),
            Status::Failed => ("✗", theme::FAILED),
            Status::Denied => ("⊘", theme::FAILED),
            Status::Lost => ("○", theme::DIM),
        };
        let took = tool.ended.unwrap_or(self.state.now).saturating_sub(tool.started);
        let counts = tool.diff.as_ref().map(|diff| format!("  +{} −{}", diff.added, diff.removed));
        let head = Head {
            indent: indent(tool.parent.as_deref()),
            glyph: Span::styled(glyph, style),
            name: &tool.name,
            subject: &tool.subject,
            after: &counts.unwrap_or_default(),
            took,
        };
        let mut rows = vec![self.head(&head)];
        rows.extend(self.diff(tool, open));
        let failed = matches!(tool.status, Status::Failed | Status::Denied);
        let shown = if open {
            usize::MAX
        } else if failed {
            FAILURE_ROWS
        } else {
            0
        };
        if open {
            rows.extend(self.output(&tool.input, usize::MAX, false));
        }
        // Folded, a failure shows the line that says what failed.
        let from = if open || !failed { 0 } else { failing_offset(&tool.output) };
        rows.extend(self.output(&tool.output[from..], shown, false));
        rows
    }

    fn head(&self, head: &Head<'_>) -> Line<'static> {
        let with_duration = self.width >= DURATIONS_FROM;
        let room = self.width.saturating_sub(if with_duration { DURATION_COLUMNS } else { 0 });
        let name = format!("{:<NAME_COLUMNS$}", wrap::cut(head.name, room / 2));
        let before = head.indent + 2 + wrap::columns(&name) + 2;
        let subject = wrap::cut(head.subject, room.saturating_sub(before + wrap::columns(head.after)));
        let mut spans = vec![
            Span::raw(" ".repeat(head.indent)),
            head.glyph.clone(),
            Span::raw(" "),
            Span::styled(name, theme::STRONG),
            Span::raw("  "),
            Span::raw(subject),
            Span::styled(head.after.to_owned(), theme::DIM),
        ];
        if with_duration {
            let used: usize = spans.iter().map(Span::width).sum();
            let took = amounts::duration(head.took);
            let gap = self.width.saturating_sub(used + wrap::columns(&took)).max(1);
            spans.push(Span::raw(" ".repeat(gap)));
            spans.push(Span::styled(took, theme::DIM));
        }
        Line::from(spans)
    }

    fn diff(&self, tool: &Tool, open: bool) -> Vec<Line<'static>> {
        let Some(diff) = &tool.diff else { return Vec::new() };
        let shown = if open { usize::MAX } else { DIFF_ROWS };
        let row = |(side, text): &(Side, String)| {
            let (mark, style) = match side {
                Side::Same => ("  ", theme::DIM),
                Side::Added => ("+ ", theme::ADDED),
                Side::Removed => ("- ", theme::REMOVED),
            };
            Line::styled(wrap::cut(&format!("{mark}{text}"), self.inner(6)), style)
        };
        let mut rows: Vec<_> = diff.rows.iter().take(shown).map(row).collect();
        let more = diff.rows.len().saturating_sub(shown);
        if more > 0 {
            rows.push(Line::styled(format!("… {more} more"), theme::DIM));
        }
        indented(rows, 6)
    }

    /// Some rows of output, from its beginning or from its end.
    fn output(&self, text: &str, shown: usize, from_end: bool) -> Vec<Line<'static>> {
        if shown == 0 || text.is_empty() {
            return Vec::new();
        }
        let lines: Vec<&str> = text.lines().collect();
        let more = lines.len().saturating_sub(shown);
        let kept = if from_end { &lines[more..] } else { &lines[..lines.len() - more] };
        let width = self.inner(6);
        let mut rows: Vec<Line<'static>> = if shown == usize::MAX {
            kept.iter()
                .flat_map(|line| wrap::fold(&Line::styled((*line).to_owned(), theme::DIM), width, HANG))
                .collect()
        } else {
            kept.iter().map(|line| Line::styled(wrap::cut(line, width), theme::DIM)).collect()
        };
        if more > 0 {
            let note = Line::styled(format!("… {more} more"), theme::DIM);
            if from_end { rows.insert(0, note) } else { rows.push(note) }
        }
        indented(rows, 6)
    }

    fn check(&self, check: &Check, open: bool) -> Vec<Line<'static>> {
        let (glyph, style, after) = match &check.done {
            None => ("◐", theme::ACCENT, String::new()),
            Some(done) if done.passed => ("✓", theme::ACCENT, String::new()),
            Some(done) => ("✗", theme::FAILED, format!("  exit {}", done.exit_code)),
        };
        let since = self.state.now.saturating_sub(check.started);
        let took = check.done.as_ref().map_or(since, |done| done.duration_ms);
        let glyph = Span::styled(glyph, style);
        let mut rows =
            vec![self.head(&Head { indent: 2, glyph, name: "check", subject: &check.command, after: &after, took })];
        if check.done.is_none() {
            // The last lines, while it runs.
            let shown = if open { usize::MAX } else { CHECK_ROWS };
            rows.extend(self.output(check.printing.trim_end(), shown, true));
        }
        if let Some(done) = &check.done {
            let shown = if open {
                usize::MAX
            } else if done.passed {
                0
            } else {
                CHECK_ROWS
            };
            rows.extend(self.output(&done.output, shown, true));
        }
        rows
    }

    fn question(&self, question: &Question, answered: bool) -> Vec<Line<'static>> {
        let style = if answered { theme::DIM } else { theme::ALARM };
        let mut rows = self.marked("? ", &question.text, style);
        for (at, option) in question.options.iter().enumerate() {
            rows.extend(self.marked("  ", &format!("{} {option}", at + 1), theme::PLAIN));
        }
        rows
    }

    fn receipt(&self, receipt: &Receipt, open: bool) -> Vec<Line<'static>> {
        let mut rows = self.marked("└ ", &receipt_words(receipt), theme::DIM);
        for span in rows.iter_mut().flat_map(|row| &mut row.spans) {
            span.content = span.content.replace(STICKY, " ").into();
        }
        // A failed check and a question stand above already.
        let new = matches!(
            receipt.outcome,
            IterationOutcome::Failed { .. } | IterationOutcome::Deferred | IterationOutcome::Cut
        );
        if let Some(blocking) = receipt.blocking.as_deref().filter(|_| new) {
            rows.extend(self.marked("  ", blocking, theme::PLAIN));
        }
        if open {
            rows.extend(self.receipt_details(receipt));
        }
        rows
    }

    /// What an unfolded receipt shows: the agent's summary, every file, what supports the outcome.
    fn receipt_details(&self, receipt: &Receipt) -> Vec<Line<'static>> {
        let mut rows = self.marked("  ", &receipt.summary, theme::PLAIN);
        for file in &receipt.changed.files {
            let text = format!("{}  +{} −{}", file.path, file.added, file.removed);
            rows.extend(self.marked("  ", &text, theme::DIM));
        }
        if receipt.changed.more_files > 0 {
            rows.extend(self.marked("  ", &format!("and {} more files", receipt.changed.more_files), theme::DIM));
        }
        for words in &receipt.evidence {
            rows.extend(self.marked("  ", words, theme::DIM));
        }
        rows
    }

    fn verdict(&self, verdict: &RunVerdict) -> Vec<Line<'static>> {
        let style = verdict_style(verdict.verdict);
        let mut rows = vec![Line::default()];
        let unchecked = if verdict.unchecked { " (unchecked)" } else { "" };
        rows.extend(self.marked("■ ", &format!("{}{unchecked}: {}", verdict.verdict.word(), verdict.reason), style));
        let sums = [
            plural(u64::from(verdict.iterations), "iteration"),
            format!("{} tokens", amounts::count(verdict.tokens.total())),
            amounts::usd(verdict.cost_usd),
            amounts::clock(verdict.elapsed_ms),
        ];
        rows.extend(self.marked("  ", &sums.join(" · "), theme::DIM));
        rows.extend(self.marked("  ", verdict.next_step(), theme::PLAIN));
        rows
    }

    /// Text under a mark, every line of it folded.
    fn marked(&self, mark: &'static str, text: &str, style: Style) -> Vec<Line<'static>> {
        let mut rows = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let mark = if at == 0 { mark } else { "  " };
            rows.extend(wrap::fold(&Line::styled(format!("{mark}{line}"), style), self.inner(2), 2));
        }
        indented(rows, 2)
    }

    fn inner(&self, indent: usize) -> usize {
        self.width.saturating_sub(indent).max(1)
    }
}

/// Where the line begins that says what failed.
fn failing_offset(output: &str) -> usize {
    let line = cycle::failing_line(output);
    line.as_ptr() as usize - output.as_ptr() as usize
}

/// One line of a call or a check.
struct Head<'a> {
    indent: usize,
    glyph: Span<'static>,
    name: &'a str,
    subject: &'a str,
    after: &'a str,
    took: u64,
}

/// What a sub-agent does stands further in.
fn indent(parent: Option<&str>) -> usize {
    if parent.is_some() { 4 } else { 2 }
}

fn indented(rows: Vec<Line<'static>>, indent: usize) -> Vec<Line<'static>> {
    rows.into_iter()
        .map(|mut row| {
            row.spans.insert(0, Span::raw(" ".repeat(indent)));
            row
        })
        .collect()
}

fn dimmed(row: &Line<'static>) -> Line<'static> {
    // The past has no alarms: red and accent fade with it.
    Line::styled(row.to_string(), theme::DIM)
}

/// The reader's choice has a mark at the margin.
fn select(rows: &mut [Line<'static>]) {
    let Some(row) = rows.iter_mut().find(|row| row.width() > 0) else { return };
    if let Some(margin) = row.spans.first_mut()
        && margin.content.starts_with(' ')
    {
        let rest = margin.content[1..].to_owned();
        row.spans.splice(0..1, [Span::styled("›", theme::TITLE), Span::raw(rest)]);
    }
}

/// Every occurrence of `wanted` reversed. Letters of other alphabets must match in case.
fn highlighted(row: Line<'static>, wanted: &str) -> Line<'static> {
    let text = row.to_string().to_ascii_lowercase();
    let wanted = wanted.to_ascii_lowercase();
    let hits: Vec<_> = text.match_indices(&wanted).map(|(at, _)| at..at + wanted.len()).collect();
    if hits.is_empty() {
        return row;
    }
    let style = row.style;
    let mut at = 0;
    let mut spans: Vec<Span<'static>> = Vec::new();
    for span in row.spans {
        for c in span.content.chars() {
            let hit = hits.iter().any(|hit| hit.contains(&at));
            let style = if hit { span.style.patch(theme::MATCH) } else { span.style };
            match spans.last_mut() {
                Some(last) if last.style == style => last.content.to_mut().push(c),
                _ => spans.push(Span::styled(c.to_string(), style)),
            }
            at += c.len_utf8();
        }
    }
    Line::from(spans).style(style)
}

pub fn verdict_style(kind: VerdictKind) -> Style {
    match kind {
        VerdictKind::Done => theme::TITLE,
        VerdictKind::Blocked | VerdictKind::Stuck | VerdictKind::Failed => theme::ALARM,
        VerdictKind::Limit | VerdictKind::Interrupted | VerdictKind::Terminated => theme::STRONG,
    }
}

fn receipt_words(receipt: &Receipt) -> String {
    let outcome = match &receipt.outcome {
        IterationOutcome::Progress => "progress",
        IterationOutcome::NoProgress => "no change",
        IterationOutcome::Done if receipt.is_checked() => "done and checked",
        IterationOutcome::Done => "done, with no checks",
        IterationOutcome::NotDone if matches!(receipt.refused, Some(RefusedClaim::OpenItems { .. })) => {
            "claimed done, but work is open"
        }
        IterationOutcome::NotDone if receipt.refused.is_some() => "claimed done, but nothing has changed",
        IterationOutcome::NotDone => "claimed done, a check disagreed",
        IterationOutcome::Blocked => "waits for a person",
        IterationOutcome::Failed { failure } => failure.words(),
        IterationOutcome::Deferred => "put off, does not count",
        IterationOutcome::Interrupted => "stopped by a person",
        IterationOutcome::Cut => "stopped by a limit",
    };
    let mut words = vec![outcome.to_owned()];
    let files = receipt.changed.files.len() as u64 + receipt.changed.more_files;
    if files > 0 {
        let sum = |side: fn(&cycle::FileChange) -> u64| {
            receipt.changed.files.iter().fold(0u64, |sum, file| sum.saturating_add(side(file)))
        };
        words.push(format!("{} +{} −{}", plural(files, "file"), sum(|f| f.added), sum(|f| f.removed)));
    }
    if !receipt.changed.commits.is_empty() {
        words.push(plural(receipt.changed.commits.len() as u64, "commit"));
    }
    words.push(plural(receipt.tool_calls, "call"));
    words.push(amounts::usd(receipt.cost_usd));
    words.push(amounts::duration(receipt.duration_ms));
    // Folded between facts, not inside them.
    words.join("\n").replace(' ', STICKY).replace('\n', &format!("{STICKY}· "))
}

fn plural(count: u64, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
