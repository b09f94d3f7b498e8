//! Goals on a screen: columns by state, and one card chosen.
//!
//! A fold over nothing: whoever shows a board brings the cards anew. Deliberately absent: where cards come from, and
//! what is behind one.

use crate::clean;
use crate::terminal::{self, Picture, TerminalGuard};
use crate::theme;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use crossterm::{event, queue};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::{Frame, Terminal};
use std::io;
use std::time::{Duration, Instant};

/// How often cards are brought anew.
const REFRESH: Duration = Duration::from_secs(1);
/// Narrower columns hold no words.
const COLUMN_MIN: u16 = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    pub id: i64,
    pub title: String,
    /// Below the title: what it costs, asks, or waits for.
    pub note: String,
    /// Which of the columns.
    pub column: usize,
    pub needs_person: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Board {
    pub columns: Vec<&'static str>,
    pub cards: Vec<Card>,
    chosen: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoardAction {
    Open(i64),
    Leave,
    Redraw,
}

impl Board {
    pub fn new(columns: &[&'static str]) -> Self {
        Self { columns: columns.to_vec(), ..Self::default() }
    }

    /// The chosen card stays chosen, wherever it went.
    pub fn bring(&mut self, cards: Vec<Card>) {
        self.cards = cards;
        if !self.chosen.is_some_and(|id| self.cards.iter().any(|card| card.id == id)) {
            self.chosen = self.cards.first().map(|card| card.id);
        }
    }

    fn column(&self, column: usize) -> Vec<&Card> {
        self.cards.iter().filter(|card| card.column == column).collect()
    }

    /// Column and row of the chosen card.
    fn place(&self) -> Option<(usize, usize)> {
        let chosen = self.cards.iter().find(|card| Some(card.id) == self.chosen)?;
        let row = self.column(chosen.column).iter().position(|card| card.id == chosen.id)?;
        Some((chosen.column, row))
    }

    fn step_row(&mut self, by: isize) {
        let Some((column, row)) = self.place() else { return };
        let cards = self.column(column);
        let row = row.saturating_add_signed(by).min(cards.len().saturating_sub(1));
        self.chosen = cards.get(row).map(|card| card.id);
    }

    /// To the next column that has cards.
    fn step_column(&mut self, by: isize) {
        let Some((mut column, row)) = self.place() else { return };
        while let Some(next) = column.checked_add_signed(by).filter(|next| *next < self.columns.len()) {
            column = next;
            let cards = self.column(column);
            if let Some(last) = cards.len().checked_sub(1) {
                self.chosen = cards.get(row.min(last)).map(|card| card.id);
                return;
            }
        }
    }

    pub fn press(&mut self, key: KeyEvent) -> Option<BoardAction> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c' | 'd') if control => return Some(BoardAction::Leave),
            KeyCode::Char('l') if control => return Some(BoardAction::Redraw),
            KeyCode::Char('q') | KeyCode::Esc => return Some(BoardAction::Leave),
            KeyCode::Enter => return self.chosen.map(BoardAction::Open),
            KeyCode::Up | KeyCode::Char('k') => self.step_row(-1),
            KeyCode::Down | KeyCode::Char('j') => self.step_row(1),
            KeyCode::Left | KeyCode::Char('h') => self.step_column(-1),
            KeyCode::Right | KeyCode::Char('l') => self.step_column(1),
            _ => {}
        }
        None
    }

    /// Pure: the same board and size give the same cells. Where columns do not fit, those around the chosen are shown.
    pub fn view(&self, frame: &mut Frame) {
        let area = frame.area();
        let chosen = self.place();
        let fit = usize::from((area.width / COLUMN_MIN).max(1)).min(self.columns.len().max(1));
        let first = chosen.map_or(0, |(column, _)| (column + 1).saturating_sub(fit));
        let width = area.width / u16::try_from(fit).unwrap_or(1).max(1);
        for (at, column) in (first..self.columns.len()).take(fit).enumerate() {
            let x = width * u16::try_from(at).unwrap_or(0);
            let place = Rect::new(x, 0, width.saturating_sub(1), area.height.saturating_sub(1));
            self.draw_column(frame, place, column, chosen.filter(|(of, _)| *of == column).map(|(_, row)| row));
        }
        let keys = Line::styled("arrows choose · Enter opens the run · q leaves", theme::DIM);
        frame.render_widget(keys, Rect::new(0, area.height.saturating_sub(1), area.width, area.height.min(1)));
    }

    fn draw_column(&self, frame: &mut Frame, place: Rect, column: usize, chosen: Option<usize>) {
        let cards = self.column(column);
        let title = format!("{} {}", self.columns[column], cards.len());
        let row = |y: u16| Rect::new(place.x, place.y + y, place.width, place.height.saturating_sub(y).min(1));
        frame.render_widget(Line::styled(title, theme::TITLE), row(0));
        // Two rows a card; the chosen one is always visible.
        let fit = usize::from(place.height.saturating_sub(1) / 2);
        let first = chosen.map_or(0, |row| (row + 1).saturating_sub(fit));
        for (at, card) in cards.iter().skip(first).take(fit).enumerate() {
            let y = 1 + 2 * u16::try_from(at).unwrap_or(0);
            let style = match (chosen == Some(first + at), card.needs_person) {
                (true, _) => theme::MATCH,
                (false, true) => theme::ALARM,
                (false, false) => theme::PLAIN,
            };
            frame.render_widget(card_line(card, style), row(y));
            frame.render_widget(Line::styled(clean::line(&card.note), theme::DIM), row(y + 1));
        }
    }
}

fn card_line(card: &Card, style: Style) -> Line<'_> {
    Line::from(vec![
        Span::styled(format!("{} ", card.id), theme::ACCENT),
        Span::styled(clean::line(&card.title), style),
    ])
}

/// Shows the board until a card is opened (its number) or somebody leaves. Blocks.
pub fn show_board(board: &mut Board, mut bring: impl FnMut() -> Vec<Card>) -> io::Result<Option<i64>> {
    let _entered = TerminalGuard::enter()?;
    let picture = Picture::default();
    let mut canvas = Terminal::new(CrosstermBackend::new(picture.clone()))?;
    let mut brought: Option<Instant> = None;
    loop {
        if brought.is_none_or(|at| at.elapsed() >= REFRESH) {
            board.bring(bring());
            brought = Some(Instant::now());
        }
        if !terminal::is_ours() {
            return Ok(None);
        }
        queue!(canvas.backend_mut(), BeginSynchronizedUpdate)?;
        canvas.draw(|frame| board.view(frame))?;
        queue!(canvas.backend_mut(), EndSynchronizedUpdate)?;
        picture.send()?;
        if !event::poll(REFRESH / 4)? {
            continue;
        }
        if let Event::Key(key) = event::read()?
            && key.kind != KeyEventKind::Release
        {
            match board.press(key) {
                Some(BoardAction::Open(id)) => return Ok(Some(id)),
                Some(BoardAction::Leave) => return Ok(None),
                Some(BoardAction::Redraw) => {
                    let area = canvas.size()?.into();
                    canvas.resize(area)?;
                }
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::backend::TestBackend;

    fn card(id: i64, column: usize) -> Card {
        Card { id, title: format!("goal {id}"), note: "$0.01".into(), column, needs_person: false }
    }

    fn pressed(board: &mut Board, code: KeyCode) -> Option<BoardAction> {
        board.press(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn keys_choose_and_the_choice_follows_its_card() {
        let mut board = Board::new(&["queued", "running", "done"]);
        board.bring(vec![card(1, 0), card(2, 0), card(3, 2)]);
        assert_eq!(pressed(&mut board, KeyCode::Down), None);
        assert_eq!(pressed(&mut board, KeyCode::Enter), Some(BoardAction::Open(2)));
        pressed(&mut board, KeyCode::Right);
        assert_eq!(board.chosen, Some(3), "an empty column is passed by");
        pressed(&mut board, KeyCode::Left);
        board.bring(vec![card(1, 0), card(2, 1), card(3, 2)]);
        pressed(&mut board, KeyCode::Down);
        assert_eq!(pressed(&mut board, KeyCode::Char('q')), Some(BoardAction::Leave));
        board.bring(Vec::new());
        assert_eq!(pressed(&mut board, KeyCode::Enter), None);
    }

    #[test]
    fn every_size_can_be_drawn_and_words_of_agents_are_text() {
        for (width, height) in [(1, 1), (10, 3), (60, 15), (300, 80)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            let mut board = Board::new(&["queued", "running", "done"]);
            let evil = Card { title: "\u{1b}[2Jx".into(), ..card(2, 1) };
            board.bring((0..50).map(|id| card(id + 10, 2)).chain([card(1, 0), evil]).collect());
            terminal.draw(|frame| board.view(frame)).unwrap();
            let text: String =
                terminal.backend().buffer().content().iter().map(ratatui::buffer::Cell::symbol).collect();
            assert!(!text.contains('\u{1b}'));
        }
    }
}
