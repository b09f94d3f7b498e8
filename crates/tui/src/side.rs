//! Beside the feed: the open work, how the iterations went, and what they cost.

use crate::state::{PastIteration, Phase, ScreenState};
use crate::{amounts, theme, wrap};
use cycle::{IterationOutcome, TodoItem, TodoState};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// With fewer columns the side would take the feed's.
const FROM: u16 = 80;
/// What only repeats the feed in short has to have more room than that.
const FROM_WITHOUT_TODO: u16 = 100;
/// Blank row, tokens, cost.
const BELOW: usize = 3;
/// Done items above the first open one that stay in sight.
const DONE_SHOWN: usize = 2;
/// Iterations beneath a list of open work, which is worth more.
const PAST_SHOWN: usize = 6;

/// A side with nothing on it is the feed's.
pub fn wanted(state: &ScreenState, width: u16) -> bool {
    let from = if state.todo.is_empty() { FROM_WITHOUT_TODO } else { FROM };
    width >= from && (state.iteration > 0 || !state.todo.is_empty())
}

pub fn lines(state: &ScreenState, area: Rect) -> Vec<Line<'static>> {
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let with_sums = height > BELOW * 2;
    let room = if with_sums { height - BELOW } else { height };
    let most = if state.todo.is_empty() { room } else { room / 2 };
    let past = iterations(state, width, most);
    let mut lines = todo(state, width, room - past.len());
    lines.extend(past);
    if with_sums {
        lines.resize(height + 1 - BELOW, Line::default());
        lines.push(tokens(state, width));
        lines.push(cost(state, width));
    }
    lines
}

fn todo(state: &ScreenState, width: usize, height: usize) -> Vec<Line<'static>> {
    if state.todo.is_empty() || height == 0 {
        return Vec::new();
    }
    let done = state.todo.iter().filter(|item| item.state == TodoState::Done).count();
    let mut lines = vec![Line::styled(format!(" todo {done}/{}", state.todo.len()), theme::STRONG)];
    let room = height - 1;
    let first_open = state.todo.iter().position(|item| item.state != TodoState::Done).unwrap_or(0);
    let latest_start = state.todo.len().saturating_sub(room);
    let start = first_open.saturating_sub(DONE_SHOWN).min(latest_start);
    lines.extend(state.todo.iter().skip(start).take(room).map(|item| item_row(item, width)));
    lines
}

fn item_row(item: &TodoItem, width: usize) -> Line<'static> {
    let (mark, style) = match item.state {
        TodoState::Done => ("✓", theme::DIM),
        TodoState::Active => ("▸", theme::ACCENT),
        TodoState::Open => ("·", theme::PLAIN),
    };
    Line::styled(wrap::cut(&format!("  {mark} {}", item.text), width), style)
}

/// The latest iterations, the running one last, under a headline.
fn iterations(state: &ScreenState, width: usize, height: usize) -> Vec<Line<'static>> {
    let above = usize::from(!state.todo.is_empty());
    let running = running(state);
    let count = state.past.len() + usize::from(running.is_some());
    let most = if above > 0 { PAST_SHOWN } else { usize::MAX };
    let shown = count.min(most).min(height.saturating_sub(1 + above));
    if shown == 0 {
        return Vec::new();
    }
    let mut lines = vec![Line::default(); above];
    lines.push(Line::styled(" iterations", theme::STRONG));
    let past = state.past.iter().map(|past| past_row(past, width));
    let so_far = state.running_usd().map_or(String::new(), amounts::usd);
    let now = running.map(|word| row(state.iteration, "◐", word, &so_far, width, theme::ACCENT));
    lines.extend(past.chain(now).skip(count - shown));
    lines
}

fn running(state: &ScreenState) -> Option<&'static str> {
    match state.phase {
        Phase::Working => Some("at work"),
        Phase::Checking => Some("checks"),
        Phase::Starting | Phase::Waiting { .. } | Phase::Paused | Phase::Between | Phase::Ended => None,
    }
}

fn past_row(past: &PastIteration, width: usize) -> Line<'static> {
    let (mark, word) = match &past.outcome {
        IterationOutcome::Progress => ("●", "progress"),
        IterationOutcome::NoProgress => ("○", "no change"),
        IterationOutcome::Done => ("✓", "done"),
        IterationOutcome::NotDone => ("✗", "not done"),
        IterationOutcome::Blocked => ("?", "asks"),
        IterationOutcome::Failed { .. } => ("✗", "failed"),
        IterationOutcome::Deferred => ("…", "put off"),
        IterationOutcome::Interrupted => ("■", "stopped"),
        IterationOutcome::Cut => ("■", "limit"),
    };
    let style = if past.outcome == IterationOutcome::Done { theme::ACCENT } else { theme::DIM };
    row(past.iteration, mark, word, &amounts::usd(past.usd), width, style)
}

/// Number, mark and word to the left, an amount to the right.
fn row(number: u32, mark: &str, word: &str, amount: &str, width: usize, style: Style) -> Line<'static> {
    let left = format!(" {number:>3} {mark} {word}");
    let gap = width.saturating_sub(wrap::columns(&left) + wrap::columns(amount) + 1);
    let text = if gap > 0 { format!("{left}{}{amount}", " ".repeat(gap)) } else { left };
    Line::styled(wrap::cut(&text, width), style)
}

fn tokens(state: &ScreenState, width: usize) -> Line<'static> {
    let (label, sum) = (" tokens", amounts::count(state.spending().tokens.total()));
    let gap = width.saturating_sub(label.len() + sum.len() + 1);
    Line::styled(format!("{label}{}{sum}", " ".repeat(gap)), theme::DIM)
}

fn cost(state: &ScreenState, width: usize) -> Line<'static> {
    let label = " cost ";
    let running = state.running_usd();
    let costs: Vec<f64> = state.past.iter().map(|past| past.usd).chain(running).collect();
    // The same sum as in the first line.
    let last = amounts::usd(state.spending().usd);
    let room = width.saturating_sub(wrap::columns(label) + wrap::columns(&last) + 2);
    let bars = amounts::sparkline(costs.iter(), room);
    let gap = " ".repeat(room - bars.chars().count() + 1);
    Line::from(vec![
        Span::styled(label, theme::DIM),
        Span::styled(bars, theme::ACCENT),
        Span::styled(gap + &last, theme::DIM),
    ])
}
