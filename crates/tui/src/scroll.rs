//! The visible rows of the feed, and scrolling.
//!
//! Only what is near the window is laid out: the length of the feed costs nothing.

use crate::feed::Entry;
use crate::lines::Look;
use crate::reader::Scroll;
use crate::state::ScreenState;
use ratatui::text::Line;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

type Rows = Rc<Vec<Line<'static>>>;

/// A place in the feed: an index among its entries and a row of that entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    index: usize,
    row: usize,
}

/// The feed seen through a window of `width` by `height`.
pub struct Window<'a> {
    state: &'a ScreenState,
    look: Look<'a>,
    height: usize,
    /// One picture asks for the same rows many times, and long texts are slow to fold.
    laid: RefCell<HashMap<u64, Rows>>,
}

impl<'a> Window<'a> {
    pub fn new(state: &'a ScreenState, width: u16, height: u16) -> Self {
        let look = Look::new(state, usize::from(width));
        Self { state, look, height: usize::from(height).max(1), laid: RefCell::default() }
    }

    pub fn rows(&self) -> Vec<Line<'static>> {
        let top = self.top();
        let mut rows = Vec::with_capacity(self.height);
        for (index, entry) in self.visible_from(top.index) {
            let skip = if index == top.index { top.row } else { 0 };
            rows.extend(self.lay(entry).iter().skip(skip).cloned());
            if rows.len() >= self.height {
                break;
            }
        }
        rows.truncate(self.height);
        rows
    }

    /// Is there anything under the window?
    pub fn more_below(&self) -> bool {
        self.top() != self.last_top()
    }

    /// Where the window is after it was moved by `rows`, downwards if positive.
    pub fn moved(&self, rows: isize) -> Scroll {
        let top = self.top();
        let to = if rows < 0 { self.up(top, rows.unsigned_abs()) } else { self.down(top, rows.unsigned_abs()) };
        self.scroll_to(to)
    }

    /// Shows the entry at the top.
    pub fn at_entry(&self, id: u64) -> Scroll {
        self.scroll_to(Place { index: self.state.feed.position(id), row: 0 })
    }

    pub fn shows(&self, id: u64) -> bool {
        let top = self.top();
        let index = self.state.feed.position(id);
        let rows_before: usize =
            self.visible_from(top.index).take_while(|(at, _)| *at < index).map(|(_, entry)| self.count(entry)).sum();
        index >= top.index && rows_before < self.height + top.row
    }

    /// Shows this row of the entry, near the top of the window, unless it is visible already.
    pub fn at_row(&self, id: u64, row: usize) -> Scroll {
        let index = self.state.feed.position(id);
        let place = Place { index, row };
        let top = self.top();
        let visible = place >= top && place < self.down(top, self.height);
        if visible {
            return self.state.reader.scroll;
        }
        // With its beginning, where both fit into the window.
        let from = if row + 1 < self.height { Place { index, row: 0 } } else { self.up(place, self.height / 3) };
        self.scroll_to(from)
    }

    /// The rows of an entry, as it is folded now, that have these words (in small letters) in them.
    pub fn hits(&self, entry: &Entry, wanted: &str) -> Vec<usize> {
        let has = |row: &Line<'static>| row.to_string().to_ascii_lowercase().contains(wanted);
        self.lay(entry).iter().enumerate().filter(|(_, row)| has(row)).map(|(at, _)| at).collect()
    }

    fn top(&self) -> Place {
        match self.state.reader.scroll {
            Scroll::Follow => self.last_top(),
            Scroll::At { entry, row } => {
                let at = Place { index: self.state.feed.position(entry), row };
                // A window never shows less than it could.
                at.min(self.last_top())
            }
        }
    }

    fn scroll_to(&self, place: Place) -> Scroll {
        let last = self.last_top();
        match self.state.feed.entries().get(place.index) {
            Some(entry) if place < last => Scroll::At { entry: entry.id, row: place.row },
            _ => Scroll::Follow,
        }
    }

    /// The top of the window that shows the end.
    fn last_top(&self) -> Place {
        let end = Place { index: self.state.feed.entries().len(), row: 0 };
        self.up(end, self.height)
    }

    fn up(&self, from: Place, rows: usize) -> Place {
        if from.row >= rows {
            return Place { row: from.row - rows, ..from };
        }
        let mut left = rows - from.row;
        let mut place = Place { index: from.index, row: 0 };
        for (index, entry) in self.visible_before(from.index) {
            let count = self.count(entry);
            if count >= left {
                return Place { index, row: count - left };
            }
            left -= count;
            place = Place { index, row: 0 };
        }
        place
    }

    fn down(&self, from: Place, rows: usize) -> Place {
        let mut left = from.row + rows;
        for (index, entry) in self.visible_from(from.index) {
            let count = self.count(entry);
            if count > left {
                return Place { index, row: left };
            }
            left -= count;
        }
        Place { index: self.state.feed.entries().len(), row: 0 }
    }

    fn count(&self, entry: &Entry) -> usize {
        self.lay(entry).len()
    }

    fn lay(&self, entry: &Entry) -> Rows {
        Rc::clone(self.laid.borrow_mut().entry(entry.id).or_insert_with(|| Rc::new(self.look.rows(entry))))
    }

    fn visible_from(&self, index: usize) -> impl Iterator<Item = (usize, &'a Entry)> {
        let filter = self.state.reader.filter;
        self.state.feed.entries().iter().enumerate().skip(index).filter(move |(_, entry)| filter.shows(entry))
    }

    fn visible_before(&self, index: usize) -> impl Iterator<Item = (usize, &'a Entry)> {
        let filter = self.state.reader.filter;
        let entries = self.state.feed.entries();
        let rest = entries.len().saturating_sub(index);
        entries.iter().enumerate().rev().skip(rest).filter(move |(_, entry)| filter.shows(entry))
    }
}

#[cfg(test)]
#[path = "scroll_tests.rs"]
mod tests;
