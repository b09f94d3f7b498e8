//! Beside the feed: the open work, and what the iterations cost.

use crate::state::State;
use crate::{amounts, theme, wrap};
use cycle::{TodoItem, TodoState};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// Blank row, cost.
const BELOW: usize = 2;
/// Done items above the first open one that stay in sight.
const DONE_SHOWN: usize = 2;

/// A side with nothing on it is the feed's.
pub fn wanted(state: &State) -> bool {
    !state.todo.is_empty() || state.costs.len() > 1
}

pub fn lines(state: &State, area: Rect) -> Vec<Line<'static>> {
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let mut lines = todo(state, width, height.saturating_sub(BELOW));
    if !state.costs.is_empty() && height > BELOW {
        lines.resize(height - 1, Line::default());
        let label = " cost ";
        let bars = amounts::sparkline(state.costs.iter(), width.saturating_sub(wrap::columns(label) + 1));
        lines.push(Line::from(vec![Span::styled(label, theme::DIM), Span::styled(bars, theme::ACCENT)]));
    }
    lines
}

fn todo(state: &State, width: usize, height: usize) -> Vec<Line<'static>> {
    if state.todo.is_empty() || height == 0 {
        return Vec::new();
    }
    let done = state.todo.iter().filter(|item| item.state == TodoState::Done).count();
    let mut lines = vec![Line::styled(format!(" todo {done}/{}", state.todo.len()), theme::STRONG)];
    let room = height - 1;
    let first_open = state.todo.iter().position(|item| item.state != TodoState::Done).unwrap_or(0);
    let latest_start = state.todo.len().saturating_sub(room);
    let start = first_open.saturating_sub(DONE_SHOWN).min(latest_start);
    lines.extend(state.todo.iter().skip(start).take(room).map(|item| row(item, width)));
    lines
}

fn row(item: &TodoItem, width: usize) -> Line<'static> {
    let (mark, style) = match item.state {
        TodoState::Done => ("✓", theme::DIM),
        TodoState::Active => ("▸", theme::ACCENT),
        TodoState::Open => (" ", theme::PLAIN),
    };
    Line::styled(wrap::cut(&format!("  {mark} {}", item.text), width), style)
}
