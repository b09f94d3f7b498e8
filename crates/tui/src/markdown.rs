//! Markdown as styled lines, for texts that may still be growing.
//!
//! A growing text is rendered anew as it comes; [`settle`] keeps its last words from flickering between
//! markup and text. Deliberately absent: syntax highlighting, links to click, images.

use crate::{clean, theme, wrap};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use std::borrow::Cow;
use std::ops::Range;

/// Deeper nesting is shown at this depth: indentation must not eat the line.
const DEPTH_MAX: usize = 6;

/// Rows of `width` columns.
pub fn render(text: &str, growing: bool, width: usize) -> Vec<Line<'static>> {
    let text = if growing { settle(text) } else { Cow::Borrowed(text) };
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer::new(width);
    for (event, place) in Parser::new_ext(&text, options).into_offset_iter() {
        let event = if inside_a_word(&text, &event, &place) { literal(&event) } else { event };
        writer.event(event);
    }
    writer.end_row();
    writer.rows
}

/// Stars between letters or digits are multiplication, globs, names: `2*3*4` is no emphasis.
fn inside_a_word(text: &str, event: &Event<'_>, place: &Range<usize>) -> bool {
    let emphasis =
        matches!(event, Event::Start(Tag::Emphasis | Tag::Strong) | Event::End(TagEnd::Emphasis | TagEnd::Strong));
    let before = text[..place.start].chars().next_back();
    let after = text[place.end..].chars().next();
    let in_word = |neighbour: Option<char>| neighbour.is_some_and(char::is_alphanumeric);
    emphasis && text[place.start..].starts_with('*') && (in_word(before) || in_word(after))
}

fn literal(event: &Event<'_>) -> Event<'static> {
    let strong = matches!(event, Event::Start(Tag::Strong) | Event::End(TagEnd::Strong));
    Event::Text(if strong { "**" } else { "*" }.into())
}

/// Makes the end of a growing text safe to show: open marks are closed, and a last line that may become
/// a bullet or an underline waits for its next character.
fn settle(text: &str) -> Cow<'_, str> {
    let last_line = text.rfind('\n').map_or(0, |at| at + 1);
    let tail = text[last_line..].trim();
    let could_be_markup = !tail.is_empty() && tail.chars().all(|c| "-=*+#>`~".contains(c) || c.is_ascii_digit());
    if could_be_markup && last_line > 0 {
        return Cow::Borrowed(&text[..last_line]);
    }
    if text.lines().filter(|line| is_fence(line)).count() % 2 == 1 {
        return Cow::Borrowed(text);
    }
    let start = text.rfind("\n\n").map_or(0, |at| at + 2);
    let paragraph = &text[start..];
    if paragraph.starts_with('|') {
        return Cow::Borrowed(&text[..start + whole_rows(paragraph)]);
    }
    let odd = |mark: &str| paragraph.matches(mark).count() % 2 == 1;
    let closing = match (odd("`"), odd("**")) {
        (true, _) if paragraph.ends_with('`') => return Cow::Borrowed(&text[..text.len() - 1]),
        (true, _) => "`",
        (false, true) if paragraph.ends_with("**") => return Cow::Borrowed(&text[..text.len() - 2]),
        (false, true) => "**",
        (false, false) => return Cow::Borrowed(text),
    };
    Cow::Owned(format!("{}{closing}", text.trim_end()))
}

/// A table grows by whole rows, and its head waits for the line that makes it one.
fn whole_rows(table: &str) -> usize {
    let whole = table.rfind('\n').map_or(0, |at| at + 1);
    if table[..whole].lines().count() < 2 { 0 } else { whole }
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

struct Writer {
    width: usize,
    rows: Vec<Line<'static>>,
    spans: Vec<Span<'static>>,
    styles: Vec<Style>,
    /// The next number of every open list; none for bullets.
    lists: Vec<Option<u64>>,
    quotes: usize,
    /// The mark of an item whose first row is still to come.
    marker: Option<String>,
    in_code: bool,
    table: Vec<Vec<String>>,
    in_table: bool,
}

impl Writer {
    fn new(width: usize) -> Self {
        Self {
            width,
            rows: Vec::new(),
            spans: Vec::new(),
            styles: Vec::new(),
            lists: Vec::new(),
            quotes: 0,
            marker: None,
            in_code: false,
            table: Vec::new(),
            in_table: false,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(code) | Event::InlineMath(code) | Event::DisplayMath(code) => self.push(&code, theme::CODE),
            Event::Html(html) | Event::InlineHtml(html) => self.lines(&html, theme::DIM),
            Event::FootnoteReference(name) => self.push(&format!("[{name}]"), theme::DIM),
            // Agents write lists of files and steps line by line; a line end is meant.
            Event::SoftBreak | Event::HardBreak => self.line_break(),
            Event::Rule => {
                self.gap();
                self.push("───", theme::DIM);
                self.end_row();
            }
            Event::TaskListMarker(done) => self.push(if done { "☑ " } else { "☐ " }, theme::PLAIN),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.gap(),
            Tag::Heading { level, .. } => {
                self.gap();
                self.styles.push(if level == HeadingLevel::H1 { theme::TITLE } else { theme::STRONG });
            }
            Tag::BlockQuote(_) => {
                self.gap();
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.gap();
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    self.push(&language, theme::DIM);
                    self.end_row();
                }
                self.in_code = true;
            }
            Tag::List(first) => {
                self.gap();
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::Table(_) => {
                self.gap();
                self.in_table = true;
            }
            Tag::TableHead | Tag::TableRow => self.table.push(Vec::new()),
            Tag::TableCell => {
                if let Some(row) = self.table.last_mut() {
                    row.push(String::new());
                }
            }
            Tag::Emphasis => self.styles.push(Style::new().add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.styles.push(theme::STRONG),
            Tag::Strikethrough => self.styles.push(Style::new().add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link { .. } | Tag::Image { .. } => self.styles.push(Style::new().add_modifier(Modifier::UNDERLINED)),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.end_row(),
            TagEnd::Heading(_) => {
                self.end_row();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.end_row();
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::CodeBlock => {
                self.end_row();
                self.in_code = false;
            }
            TagEnd::List(_) => {
                self.end_row();
                self.lists.pop();
            }
            TagEnd::Item => {
                self.end_row();
                self.marker = None;
            }
            TagEnd::Table => self.end_table(),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
            }
            _ => {}
        }
    }

    fn item(&mut self) {
        self.end_row();
        self.marker = Some(match self.lists.last_mut() {
            Some(Some(number)) => {
                *number = number.saturating_add(1);
                format!("{}. ", number.saturating_sub(1))
            }
            _ => "• ".to_owned(),
        });
    }

    fn text(&mut self, text: &str) {
        if self.in_code { self.lines(text, theme::CODE) } else { self.push(text, theme::PLAIN) }
    }

    /// Text whose line ends are meant.
    fn lines(&mut self, text: &str, style: Style) {
        let mut pieces = text.split('\n');
        if let Some(first) = pieces.next() {
            self.push(first, style);
        }
        for piece in pieces {
            if self.in_code && self.spans.is_empty() {
                self.spans.push(Span::raw(""));
            }
            self.end_row();
            self.push(piece, style);
        }
    }

    fn line_break(&mut self) {
        if self.in_table { self.push(" ", theme::PLAIN) } else { self.end_row() }
    }

    /// Markdown spells characters out (`&#x202e;`), so what it yields is cleaned once more.
    fn push(&mut self, text: &str, style: Style) {
        if text.is_empty() {
            return;
        }
        let text = clean::line(text);
        if self.in_table {
            if let Some(cell) = self.table.last_mut().and_then(|row| row.last_mut()) {
                cell.push_str(&text);
            }
            return;
        }
        let style = self.styles.iter().fold(style, |base, more| base.patch(*more));
        self.spans.push(Span::styled(text.into_owned(), style));
    }

    /// A blank row between blocks, but not inside lists and quotes: calm, yet compact.
    fn gap(&mut self) {
        self.end_row();
        if self.lists.is_empty() && self.quotes == 0 && !self.rows.is_empty() {
            self.rows.push(Line::default());
        }
    }

    fn end_row(&mut self) {
        if self.spans.is_empty() {
            return;
        }
        let mut spans = self.prefix();
        let hang = spans.iter().map(Span::width).sum();
        spans.append(&mut self.spans);
        self.rows.extend(wrap::fold(&Line::from(spans), self.width, hang));
    }

    fn prefix(&mut self) -> Vec<Span<'static>> {
        let mut prefix = Vec::new();
        if self.quotes > 0 {
            prefix.push(Span::styled("│ ".repeat(self.quotes.min(DEPTH_MAX)), theme::DIM));
        }
        let depth = self.lists.len().min(DEPTH_MAX);
        if depth > 0 {
            prefix.push(Span::raw("  ".repeat(depth - 1)));
            let marker = self.marker.as_mut().map(|marker| {
                let blank = " ".repeat(wrap::columns(marker));
                std::mem::replace(marker, blank)
            });
            prefix.push(Span::raw(marker.unwrap_or_default()));
        }
        if self.in_code {
            prefix.push(Span::raw("  "));
        }
        prefix
    }

    fn end_table(&mut self) {
        self.in_table = false;
        let table = std::mem::take(&mut self.table);
        let count = table.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| table.iter().filter_map(|row| row.get(column)).map(|c| wrap::columns(c)).max();
        let widths: Vec<usize> = (0..count).map(|column| widest(column).unwrap_or(0)).collect();
        for (at, row) in table.iter().enumerate() {
            let padded = |(cell, width): (&String, &usize)| {
                format!("{cell}{}", " ".repeat(width.saturating_sub(wrap::columns(cell))))
            };
            let text = row.iter().zip(&widths).map(padded).collect::<Vec<_>>().join("  ");
            self.push(text.trim_end(), if at == 0 { theme::STRONG } else { theme::PLAIN });
            self.end_row();
        }
    }
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
