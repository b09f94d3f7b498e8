//! The screen as an SVG picture: for documents. The same view, drawn into cells that become text.

use crate::state::ScreenState;
use crate::view::view;
use cycle::LoopEvent;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

/// Of a cell, in the units of the picture.
const WIDE: f64 = 8.4;
const HIGH: f64 = 18.0;
const EDGE: f64 = 14.0;
/// Where letters stand in their row.
const BASE: f64 = 13.0;

const BACKGROUND: &str = "#14181c";
const PLAIN: &str = "#dde2e6";

/// The screen of these events, `columns` by `rows`.
pub fn picture<'a>(events: impl IntoIterator<Item = &'a LoopEvent>, columns: u16, rows: u16) -> String {
    let mut state = ScreenState::default();
    let mut last = 0;
    for event in events {
        state.apply(event);
        last = event.at;
    }
    state.tick(last);
    state.reader.size = (columns, rows);
    let Ok(mut terminal) = Terminal::new(TestBackend::new(columns, rows));
    let Ok(_) = terminal.draw(|frame| view(&state, frame));
    svg(terminal.backend().buffer())
}

fn svg(buffer: &Buffer) -> String {
    let (columns, rows) = (buffer.area.width, buffer.area.height);
    let (width, height) = (f64::from(columns) * WIDE + 2.0 * EDGE, f64::from(rows) * HIGH + 2.0 * EDGE);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"ui-monospace, \
         'DejaVu Sans Mono', Menlo, monospace\" font-size=\"14\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" \
         fill=\"{BACKGROUND}\"/>\n"
    );
    for y in 0..rows {
        let mut x = 0;
        while x < columns {
            let first = &buffer[(x, y)];
            let look = Look::of(first);
            let start = x;
            let mut words = String::new();
            while x < columns && Look::of(&buffer[(x, y)]) == look {
                words.push_str(buffer[(x, y)].symbol());
                x += 1;
            }
            if !words.trim().is_empty() || look.background.is_some() {
                text.push_str(&piece(&words, &look, start, x - start, y));
            }
        }
    }
    text.push_str("</svg>\n");
    text
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Look {
    colour: &'static str,
    background: Option<&'static str>,
    is_bold: bool,
    is_dim: bool,
}

impl Look {
    fn of(cell: &Cell) -> Self {
        let (colour, background) = (colour(cell.fg).unwrap_or(PLAIN), colour(cell.bg));
        let reversed = cell.modifier.contains(Modifier::REVERSED);
        Self {
            colour: if reversed { BACKGROUND } else { colour },
            background: if reversed { Some(colour) } else { background },
            is_bold: cell.modifier.contains(Modifier::BOLD),
            is_dim: cell.modifier.contains(Modifier::DIM),
        }
    }
}

/// The named colours that the theme has.
fn colour(colour: Color) -> Option<&'static str> {
    match colour {
        Color::Cyan => Some("#4cc3d6"),
        Color::Red => Some("#ff8787"),
        Color::Green => Some("#69c47c"),
        Color::Yellow => Some("#e5c07b"),
        Color::Blue => Some("#74a9f5"),
        Color::Magenta => Some("#c792ea"),
        Color::Gray | Color::DarkGray => Some("#8b959e"),
        _ => None,
    }
}

fn piece(words: &str, look: &Look, column: u16, columns: u16, row: u16) -> String {
    let indent = words.chars().take_while(|c| *c == ' ').count();
    let (x, y) = (EDGE + f64::from(column) * WIDE, EDGE + f64::from(row) * HIGH);
    let wide = f64::from(columns) * WIDE;
    let mut text = String::new();
    if let Some(background) = look.background {
        text.push_str(&format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{HIGH}\" fill=\"{background}\"/>\n"
        ));
    }
    let bold = if look.is_bold { " font-weight=\"bold\"" } else { "" };
    let dim = if look.is_dim { " opacity=\"0.6\"" } else { "" };
    let kept = words.trim_matches(' ');
    if kept.is_empty() {
        return text;
    }
    let length = kept.chars().count() as f64 * WIDE;
    // Not every viewer keeps several spaces; all keep these.
    let escaped = kept.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace(' ', "\u{a0}");
    let x = x + indent as f64 * WIDE;
    text.push_str(&format!(
        "<text x=\"{x:.1}\" y=\"{:.1}\" fill=\"{}\" textLength=\"{length:.1}\"{bold}{dim}>{escaped}</text>\n",
        y + BASE,
        look.colour
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::at_work;

    #[test]
    fn a_picture_shows_the_screen_and_nothing_of_it_is_markup() {
        let picture = picture(&at_work(), 100, 30);
        assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"), "{picture}");
        assert!(picture.contains("iteration") && picture.contains("help"), "{picture}");
        let tags = picture.split('<').skip(1).map(|rest| rest.split([' ', '>']).next().unwrap_or_default());
        assert!(tags.into_iter().all(|tag| ["svg", "/svg", "rect", "text", "/text"].contains(&tag)), "{picture}");
    }
}
