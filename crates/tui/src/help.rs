//! The list of keys, over everything else.

use crate::state::ScreenState;
use crate::theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};

const RUN: &[(&str, &str)] = &[
    ("p", "pause after this iteration, or go on"),
    ("s", "steer: write to the running agent"),
    ("a", "answer the question that waits"),
    ("Ctrl-C", "end after this iteration; twice: now"),
    ("x x", "stop now"),
    ("[ ] Enter", "choose an iteration, unfold its receipt"),
];
const ATTACHED: &[(&str, &str)] = &[
    ("q Ctrl-C", "leave; the run goes on"),
    ("p", "pause after this iteration, or go on"),
    ("s", "steer: write to the running agent"),
    ("a", "answer the question that waits"),
    ("x x", "stop the run now"),
    ("[ ] Enter", "choose an iteration, unfold its receipt"),
];
const PLAY: &[(&str, &str)] = &[
    ("space", "pause or play"),
    ("← →", "10 seconds back or on"),
    ("[ ]", "an iteration back or on"),
    ("0 to 9", "to that tenth of the recording"),
    ("- +", "slower, faster"),
    ("q", "leave"),
];
const READ: &[(&str, &str)] = &[
    ("↑ ↓ PgUp PgDn", "scroll"),
    ("Home End", "to the start, to the end"),
    ("Tab Enter", "choose a call, unfold it"),
    ("e", "unfold everything, or fold it"),
    ("/ n N Esc", "search, older, newer, enough"),
    ("f", "filter: all, words, tools, problems"),
    ("Ctrl-L Ctrl-Z", "draw anew; back to the shell"),
];

pub fn show(state: &ScreenState, frame: &mut Frame) {
    let mine = match state {
        ScreenState { playing: Some(_), .. } => PLAY,
        ScreenState { attached: true, .. } => ATTACHED,
        _ => RUN,
    };
    let row = |(key, words): &(&'static str, &'static str)| {
        Line::from(vec![Span::styled(format!(" {key:<14}"), theme::ACCENT), Span::raw(*words)])
    };
    let lines: Vec<Line<'_>> = mine.iter().chain(READ).map(row).collect();
    let screen = frame.area();
    let width = 56.min(screen.width);
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).min(screen.height);
    let area = Rect::new((screen.width - width) / 2, (screen.height - height) / 2, width, height);
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(" keys ").border_style(theme::DIM)), area);
}
