//! The few colours: terminal defaults, one accent, dim for the past, red for what failed, bold red for what needs a person.
//!
//! Named colours only, so that every terminal theme keeps its contrast.

use ratatui::style::{Color, Modifier, Style};

pub const PLAIN: Style = Style::new();
pub const ACCENT: Style = Style::new().fg(Color::Cyan);
pub const DIM: Style = Style::new().add_modifier(Modifier::DIM);
pub const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
pub const TITLE: Style = Style::new().fg(Color::Cyan).add_modifier(Modifier::BOLD);
/// What failed: a call, a check.
pub const FAILED: Style = Style::new().fg(Color::Red);
/// Only for what needs a person.
pub const ALARM: Style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
pub const CODE: Style = Style::new().fg(Color::Cyan);
pub const MATCH: Style = Style::new().add_modifier(Modifier::REVERSED);
/// In diffs colour is content, not alarm.
pub const ADDED: Style = Style::new().fg(Color::Green);
pub const REMOVED: Style = Style::new().fg(Color::Red);
