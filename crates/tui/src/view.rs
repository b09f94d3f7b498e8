//! The screen of a state. Pure: the same state and size give the same cells.
//!
//! Narrow terminals lose the side first, then durations, never the feed.

use crate::reader::{Filter, Input, Mode, Purpose};
use crate::scroll::Window;
use crate::state::{Phase, ScreenState};
use crate::{amounts, header, help, lines, side, theme, wrap};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// A quarter of the screen, but no wider than lists need.
const SIDE_MAX: u16 = 44;

/// Models think for seconds; longer than this a person wonders.
const SILENT_FROM_MS: u64 = 10_000;

/// Where things are.
#[derive(Debug, Clone, Copy)]
pub struct Areas {
    pub header: Rect,
    pub feed: Rect,
    pub side: Option<Rect>,
    top_rule: Rect,
    bottom_rule: Rect,
    footer: Rect,
}

impl Areas {
    pub fn of(state: &ScreenState, size: (u16, u16)) -> Self {
        let (width, height) = size;
        let row = |y: u16, rows: u16| Rect::new(0, y.min(height), width, rows.min(height.saturating_sub(y)));
        let body = row(2, height.saturating_sub(4));
        let side_width = (width / 4).min(SIDE_MAX);
        let with_side = side::wanted(state, width);
        let feed_width = if with_side { width - side_width - 1 } else { width };
        Self {
            header: row(0, 1),
            top_rule: row(1, 1),
            feed: Rect { width: feed_width, ..body },
            side: with_side.then_some(Rect { x: feed_width + 1, width: side_width, ..body }),
            bottom_rule: row(height.saturating_sub(2).max(2), 1),
            footer: row(height.saturating_sub(1).max(1), 1),
        }
    }
}

/// Draws everything.
pub fn view(state: &ScreenState, frame: &mut Frame) {
    let screen = frame.area();
    let areas = Areas::of(state, (screen.width, screen.height));
    put(frame, areas.header, &header::line(state, usize::from(screen.width)));
    rule(frame, areas.top_rule, &areas, "┬", &Span::raw(""));
    let window = Window::new(state, areas.feed.width, areas.feed.height);
    feed(&window, frame, &areas);
    if let Some(area) = areas.side {
        for y in area.top()..area.bottom() {
            put(frame, Rect::new(area.x - 1, y, 1, 1), &Line::styled("│", theme::DIM));
        }
        for (row, line) in side::lines(state, area).iter().enumerate() {
            put(frame, row_of(area, row), line);
        }
    }
    rule(frame, areas.bottom_rule, &areas, "┴", &status(state, &window));
    footer(state, frame, areas.footer);
    if state.reader.mode == Mode::Help {
        help::show(state, frame);
    }
}

fn feed(window: &Window<'_>, frame: &mut Frame, areas: &Areas) {
    if areas.feed.is_empty() {
        return;
    }
    for (row, line) in window.rows().iter().enumerate() {
        put(frame, row_of(areas.feed, row), line);
    }
}

fn row_of(area: Rect, row: usize) -> Rect {
    let row = u16::try_from(row).unwrap_or(u16::MAX);
    Rect { y: area.y.saturating_add(row), height: u16::from(row < area.height), ..area }
}

fn put(frame: &mut Frame, area: Rect, line: &Line<'_>) {
    let area = area.intersection(frame.area());
    if !area.is_empty() {
        frame.render_widget(line, area);
    }
}

/// A rule across the screen, joined to the side, with some words in it.
fn rule(frame: &mut Frame, area: Rect, areas: &Areas, join: &str, words: &Span<'static>) {
    let width = usize::from(area.width);
    let mut text = "─".repeat(width);
    if let Some(side) = areas.side {
        let before = usize::from(side.x - 1);
        text = format!("{}{join}{}", "─".repeat(before), "─".repeat(width.saturating_sub(before + 1)));
    }
    put(frame, area, &Line::styled(text, theme::DIM));
    if !words.content.is_empty() {
        let words = Span::styled(wrap::cut(&format!(" {} ", words.content), width.saturating_sub(4)), words.style);
        put(frame, Rect { x: area.x.saturating_add(2), ..area }, &Line::from(words));
    }
}

/// What is special right now: the words in the lower rule.
fn status(state: &ScreenState, window: &Window<'_>) -> Span<'static> {
    let (special, style) = special(state);
    let words: Vec<String> = special.into_iter().chain(reading(state, window)).collect();
    Span::styled(words.join(" · "), style)
}

fn special(state: &ScreenState) -> (Option<String>, Style) {
    if let Some(playing) = &state.playing {
        return (Some(playing.words()), theme::ACCENT);
    }
    let words = match &state.phase {
        Phase::Ended => return ended(state),
        _ if state.question.is_some() => {
            return (Some("a question waits for you: a answers".to_owned()), theme::ALARM);
        }
        Phase::Waiting { until, reason } => {
            Some(format!("waits {}: {reason}", amounts::clock(until.saturating_sub(state.now))))
        }
        Phase::Paused => Some("paused: p goes on".to_owned()),
        _ if state.reader.finish_wanted => Some("ends after this iteration; Ctrl-C again stops now".to_owned()),
        _ if state.reader.pause_wanted => Some("pauses after this iteration; p takes it back".to_owned()),
        Phase::Checking => Some("checks".to_owned()),
        Phase::Working => state
            .silence_ms()
            .filter(|ms| *ms >= SILENT_FROM_MS)
            .map(|ms| format!("nothing heard for {}", amounts::clock(ms))),
        _ => None,
    };
    (words, theme::ACCENT)
}

fn ended(state: &ScreenState) -> (Option<String>, Style) {
    let Some(verdict) = &state.verdict else { return (None, theme::PLAIN) };
    (Some(format!("{}: q leaves", verdict.verdict.word())), lines::verdict_style(verdict.verdict))
}

/// What of the feed is shown, where that is not its end.
fn reading(state: &ScreenState, window: &Window<'_>) -> Vec<String> {
    let mut words = Vec::new();
    if state.reader.filter != Filter::All {
        words.push(format!("only {}", state.reader.filter.word()));
    }
    if !state.reader.search.is_empty() {
        let found = match (state.reader.hit, state.reader.missed) {
            (None, _) => "no more found".to_owned(),
            (Some(hit), true) => format!("{} of {}, no more", hit.number, hit.of),
            (Some(hit), false) => format!("{} of {}, n older, N newer", hit.number, hit.of),
        };
        words.push(format!("/{}: {found}", state.reader.search));
    }
    if window.more_below() {
        words.push("more below: End".to_owned());
    }
    words
}

fn footer(state: &ScreenState, frame: &mut Frame, area: Rect) {
    match &state.reader.mode {
        Mode::Typing(purpose, input) => typing(frame, area, *purpose, input),
        Mode::Stopping => put(frame, area, &Line::styled(" stop now? x stops, any other key goes on", theme::ALARM)),
        Mode::Reading | Mode::Help => put(frame, area, &hints(state, usize::from(area.width))),
    }
}

/// A key, what it does, and the same in short.
type Hint = (&'static str, &'static str, &'static str);

const PLAY_HINTS: &[Hint] = &[
    ("q", "leave", "leave"),
    ("space", "pause", "pause"),
    ("← →", "seek", "seek"),
    ("- +", "speed", "speed"),
    ("/", "search", "find"),
    ("f", "filter", "filter"),
    ("?", "help", "help"),
];
const ENDED_HINTS: &[Hint] = &[
    ("q", "leave", "leave"),
    ("↑ ↓", "scroll", "scroll"),
    ("/", "search", "find"),
    ("f", "filter", "filter"),
    ("?", "help", "help"),
];
const ASKED_HINTS: &[Hint] = &[
    ("a", "answer", "answer"),
    ("s", "steer", "steer"),
    ("p", "pause", "pause"),
    ("x", "stop now", "stop"),
    ("?", "help", "help"),
];
const HELD_HINTS: &[Hint] = &[
    ("p", "go on", "go on"),
    ("s", "steer", "steer"),
    ("x", "stop now", "stop"),
    ("/", "search", "find"),
    ("?", "help", "help"),
];
const RUN_HINTS: &[Hint] = &[
    ("p", "pause after this one", "pause"),
    ("s", "steer", "steer"),
    ("x", "stop now", "stop"),
    ("/", "search", "find"),
    ("f", "filter", "filter"),
    ("?", "help", "help"),
];
const ATTACHED_HINTS: &[Hint] = &[
    ("q", "leave, the run goes on", "leave"),
    ("p", "pause", "pause"),
    ("s", "steer", "steer"),
    ("x", "stop now", "stop"),
    ("/", "search", "find"),
    ("f", "filter", "filter"),
    ("?", "help", "help"),
];

/// Short words where the long ones do not fit; then fewer, but always the way to help.
fn hints(state: &ScreenState, width: usize) -> Line<'static> {
    let all = match state {
        ScreenState { playing: Some(_), .. } => PLAY_HINTS,
        _ if state.ended_run() => ENDED_HINTS,
        _ if state.question.is_some() => ASKED_HINTS,
        _ if state.phase == Phase::Paused || state.reader.pause_wanted => HELD_HINTS,
        _ if state.attached => ATTACHED_HINTS,
        _ => RUN_HINTS,
    };
    let long = hint_spans(all.iter().map(|(key, long, _)| (*key, *long)));
    let short = |kept: usize| {
        let (last, others) = all.split_last()?;
        let some = others.iter().take(kept).chain([last]).map(|(key, _, short)| (*key, *short));
        Some(hint_spans(some))
    };
    let fits = |line: &Line<'static>| line.width() <= width;
    let shorter = (0..all.len()).rev().filter_map(short);
    std::iter::once(long).chain(shorter).find(fits).unwrap_or_default()
}

fn hint_spans(hints: impl Iterator<Item = (&'static str, &'static str)>) -> Line<'static> {
    let pair =
        |(key, word)| [Span::styled(format!(" {key} "), theme::ACCENT), Span::styled(format!("{word} "), theme::DIM)];
    hints.flat_map(pair).collect()
}

/// The line being typed; its beginning gives way so that the cursor stays visible.
fn typing(frame: &mut Frame, area: Rect, purpose: Purpose, input: &Input) {
    let label = match purpose {
        Purpose::Steer => " steer ▸ ",
        Purpose::Answer => " answer ▸ ",
        Purpose::Search => " search ▸ ",
    };
    let room = usize::from(area.width).saturating_sub(wrap::columns(label) + 1);
    let before = &input.text[..input.cursor];
    let mut from = 0;
    while wrap::columns(&before[from..]) > room {
        from += before[from..].chars().next().map_or(1, char::len_utf8);
    }
    let cursor = wrap::columns(label) + wrap::columns(&before[from..]);
    put(frame, area, &Line::from(vec![Span::styled(label, theme::TITLE), Span::raw(input.text[from..].to_owned())]));
    if !area.is_empty() {
        let x = area.x + u16::try_from(cursor).unwrap_or(u16::MAX).min(area.width - 1);
        frame.set_cursor_position(Position { x, y: area.y });
    }
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
