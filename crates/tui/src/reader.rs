//! The reader of the screen: position, typed text, search.

use crate::clean;
use crate::feed::{Body, Entry};
use crate::tool::Status;

/// A message to an agent is a message, not a file.
const INPUT_MAX: usize = 8 * 1024;

#[derive(Debug, Clone, Default)]
pub struct Reader {
    pub scroll: Scroll,
    pub mode: Mode,
    pub filter: Filter,
    pub search: String,
    /// The last step of the search found nothing more.
    pub missed: bool,
    /// The row that was found.
    pub hit: Option<Hit>,
    pub selected: Option<u64>,
    /// Everything that can be unfolded is.
    pub open_all: bool,
    pub pause_wanted: bool,
    pub finish_wanted: bool,
    /// Columns and rows of the screen.
    pub size: (u16, u16),
}

/// A row of the feed with the words searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    pub entry: u64,
    pub row: usize,
    /// From 1, the newest first.
    pub number: usize,
    pub of: usize,
}

/// Where the feed's first visible row is. An entry holds its place while others come and go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scroll {
    /// The end is always visible.
    #[default]
    Follow,
    At {
        entry: u64,
        row: usize,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Reading,
    Typing(Purpose, Input),
    Help,
    /// Asked whether to stop now.
    Stopping,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Steer,
    Answer,
    Search,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Filter {
    #[default]
    All,
    /// What is said: by the agent, by people, by the loop.
    Words,
    Tools,
    /// What went wrong or waits for somebody.
    Problems,
}

impl Filter {
    pub fn next(self) -> Self {
        match self {
            Self::All => Self::Words,
            Self::Words => Self::Tools,
            Self::Tools => Self::Problems,
            Self::Problems => Self::All,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Words => "words",
            Self::Tools => "tools",
            Self::Problems => "problems",
        }
    }

    /// Where iterations begin and how the run ended is always shown.
    pub fn shows(self, entry: &Entry) -> bool {
        let always = matches!(entry.body, Body::Iteration { .. } | Body::Verdict(_));
        always
            || match self {
                Self::All => true,
                Self::Words => !matches!(entry.body, Body::Tool(_) | Body::Check(_)),
                Self::Tools => matches!(entry.body, Body::Tool(_) | Body::Check(_)),
                Self::Problems => is_problem(&entry.body),
            }
    }
}

fn is_problem(body: &Body) -> bool {
    match body {
        Body::Tool(tool) => matches!(tool.status, Status::Failed | Status::Denied | Status::Lost),
        Body::Check(check) => check.done.as_ref().is_some_and(|done| !done.passed),
        Body::Warning(_) | Body::Question { .. } => true,
        Body::Receipt(receipt) => receipt.blocking.is_some(),
        Body::Iteration { .. } | Body::Speech(_) | Body::Note(_) | Body::Person(_) | Body::Verdict(_) => false,
    }
}

/// One line being typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Input {
    pub text: String,
    /// In bytes, always between two characters.
    pub cursor: usize,
}

impl Input {
    /// Line ends become blanks: this is one line.
    pub fn insert(&mut self, text: &str) {
        for c in text.chars().map(|c| if c == '\n' || c == '\r' { ' ' } else { c }) {
            if self.text.len() + c.len_utf8() > INPUT_MAX || c.is_control() || clean::is_hidden(c) {
                continue;
            }
            self.text.insert(self.cursor, c);
            self.cursor += c.len_utf8();
        }
    }

    pub fn left(&mut self) {
        self.cursor -= self.text[..self.cursor].chars().next_back().map_or(0, char::len_utf8);
    }

    pub fn right(&mut self) {
        self.cursor += self.text[self.cursor..].chars().next().map_or(0, char::len_utf8);
    }

    pub fn home(&mut self) {
        self.cursor = 0;
    }

    pub fn end(&mut self) {
        self.cursor = self.text.len();
    }

    pub fn backspace(&mut self) {
        if self.cursor > 0 {
            self.left();
            self.text.remove(self.cursor);
        }
    }

    pub fn delete(&mut self) {
        if self.cursor < self.text.len() {
            self.text.remove(self.cursor);
        }
    }

    /// Back to the beginning of the word before the cursor.
    pub fn delete_word(&mut self) {
        let kept = self.text[..self.cursor].trim_end();
        let start = kept.rfind(' ').map_or(0, |at| at + 1);
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_moves_by_characters() {
        let mut input = Input::default();
        input.insert("aü世\nb\u{1b}\u{202e}\u{200b}");
        assert_eq!(input.text, "aü世 b");
        input.left();
        input.left();
        input.backspace();
        assert_eq!((input.text.as_str(), input.cursor), ("aü b", 3));
        input.home();
        input.left();
        input.delete();
        input.end();
        input.right();
        input.insert("!");
        assert_eq!(input.text, "ü b!");
        input.delete_word();
        assert_eq!((input.text.as_str(), input.cursor), ("ü ", 3));
        input.delete_word();
        input.backspace();
        input.delete_word();
        assert_eq!(input, Input::default());
    }

    #[test]
    fn input_has_an_end() {
        let mut input = Input::default();
        input.insert(&"世".repeat(INPUT_MAX));
        assert!(input.text.len() <= INPUT_MAX);
    }
}
