//! Styled lines folded to a width: between words where it can, inside them where it must.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// One grapheme or a run of equal style.
type Piece = (String, Style);

/// Folds `text` to `width` columns; rows after the first begin with `hang` blanks.
pub fn fold(text: &Line<'_>, width: usize, hang: usize) -> Vec<Line<'static>> {
    let width = width.max(1);
    let hang = if hang + 1 < width { hang } else { 0 };
    let mut rows = Rows { width, hang, done: Vec::new(), row: Vec::new(), used: 0 };
    for word in words(text) {
        rows.put(word);
    }
    rows.finish()
}

/// Cuts to `width` columns, saying so with an ellipsis.
pub fn cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for grapheme in Span::raw(text).styled_graphemes(Style::new()) {
        let wide = columns(grapheme.symbol);
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        out.push_str(grapheme.symbol);
    }
    if width > 0 {
        out.push('…');
    }
    out
}

pub fn columns(text: &str) -> usize {
    Span::raw(text).width()
}

#[derive(Default)]
struct Word {
    pieces: Vec<Piece>,
    columns: usize,
    blank: bool,
}

/// Alternating runs of blanks and of everything else.
fn words(text: &Line<'_>) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for grapheme in text.styled_graphemes(Style::new()) {
        let blank = grapheme.symbol == " ";
        if words.last().is_none_or(|word| word.blank != blank) {
            words.push(Word { blank, ..Word::default() });
        }
        let Some(word) = words.last_mut() else { continue };
        word.columns += columns(grapheme.symbol);
        word.pieces.push((grapheme.symbol.to_owned(), grapheme.style));
    }
    words
}

struct Rows {
    width: usize,
    hang: usize,
    done: Vec<Line<'static>>,
    row: Vec<Piece>,
    used: usize,
}

impl Rows {
    fn put(&mut self, word: Word) {
        if self.used + word.columns <= self.width {
            self.used += word.columns;
            return self.row.extend(word.pieces);
        }
        if word.blank {
            return self.next_row();
        }
        if word.columns <= self.width - self.hang && self.used > self.hang {
            self.next_row();
        }
        for (symbol, style) in word.pieces {
            let wide = columns(&symbol);
            if self.used + wide > self.width && self.used > self.hang {
                self.next_row();
            }
            self.used += wide;
            self.row.push((symbol, style));
        }
    }

    fn next_row(&mut self) {
        let row = std::mem::take(&mut self.row);
        self.done.push(joined(row));
        self.row.push((" ".repeat(self.hang), Style::new()));
        self.used = self.hang;
    }

    fn finish(mut self) -> Vec<Line<'static>> {
        let nothing_new = !self.done.is_empty() && self.used == self.hang;
        if !nothing_new {
            self.done.push(joined(self.row));
        }
        self.done
    }
}

/// Neighbours of equal style become one span.
fn joined(pieces: Vec<Piece>) -> Line<'static> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    for (symbol, style) in pieces {
        match spans.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push_str(&symbol),
            _ => spans.push(Span::styled(symbol, style)),
        }
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn folded(text: &str, width: usize, hang: usize) -> Vec<String> {
        fold(&Line::raw(text.to_owned()), width, hang).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn folds_between_words() {
        for (text, width, hang, rows) in [
            ("", 5, 0, vec![""]),
            ("one two three", 7, 0, vec!["one two", "three"]),
            ("one two three", 7, 2, vec!["one two", "  three"]),
            ("abcdefgh", 3, 0, vec!["abc", "def", "gh"]),
            ("ab cdefgh", 4, 0, vec!["ab c", "defg", "h"]),
            ("世界世界", 3, 0, vec!["世", "界", "世", "界"]),
            ("fits   ", 4, 0, vec!["fits"]),
            ("  indented", 20, 0, vec!["  indented"]),
        ] {
            assert_eq!(folded(text, width, hang), rows, "{text:?} in {width}");
        }
    }

    #[test]
    fn cuts_say_that_they_cut() {
        assert_eq!(
            (cut("abcdef", 4).as_str(), cut("abcd", 4).as_str(), cut("世界", 3).as_str()),
            ("abc…", "abcd", "世…")
        );
        assert_eq!(cut("ab", 0), "");
    }

    proptest! {
        #[test]
        fn no_row_is_wider_than_asked(text in "[a-z 世é]{0,80}", width in 2usize..40, hang in 0usize..10) {
            for row in folded(&text, width, hang) {
                prop_assert!(columns(&row) <= width, "{row:?}");
            }
        }

        #[test]
        fn no_letter_is_lost(text in "[a-z 世]{0,80}", width in 2usize..40) {
            let letters = |s: &str| s.replace(' ', "");
            prop_assert_eq!(letters(&folded(&text, width, 0).concat()), letters(&text));
        }
    }
}
