//! The tree of a command in the small language.

/// Why a text is not in the language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Outside {
    #[error("it is too long")]
    TooLong,
    #[error("it holds the control character {0:?}")]
    Control(char),
    #[error("it uses `{0}`, whose meaning is known only when it runs")]
    Sign(char),
    #[error("it uses a form that is not checked here")]
    Form,
    #[error("it sets a variable")]
    Assignment,
}

/// One word, as the program gets it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// As written.
    pub(crate) raw: String,
    /// Quotes and backslashes removed.
    pub(crate) text: String,
    /// Holds a pattern that the shell puts file names in place of; then `text` has only plain characters beside it.
    pub(crate) glob: bool,
}

impl Word {
    /// Neither quotes nor backslashes nor patterns.
    pub(crate) fn is_plain(&self) -> bool {
        !self.glob && self.raw == self.text
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Input,
    Output,
    Error,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Redirect {
    Read(Word),
    Write {
        from: Stream,
        to: Word,
        append: bool,
    },
    /// `2>&1` and `>&2`.
    Join {
        from: Stream,
        to: Stream,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Command {
    /// Variables that change nothing about what runs: name and value.
    pub(crate) variables: Vec<(String, String)>,
    /// At least one.
    pub(crate) words: Vec<Word>,
    pub(crate) redirects: Vec<Redirect>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pipeline {
    pub(crate) timed: bool,
    pub(crate) negated: bool,
    pub(crate) commands: Vec<Command>,
}

/// How a pipeline follows the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Join {
    Then,
    And,
    Or,
}

/// A whole command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) items: Vec<(Join, Pipeline)>,
}
