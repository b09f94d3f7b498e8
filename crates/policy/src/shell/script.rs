//! The parts of a parsed script.

use super::place::Place;
use super::word::Word;

/// The commands of a shell text, in the order in which they stand there.
#[derive(Debug, Clone, Default)]
pub struct Script {
    pub commands: Vec<SimpleCommand>,
    /// Something in it can run code that was not seen: a function definition, evaluated data.
    pub opaque: bool,
}

/// A program with its words, assignments and redirections.
#[derive(Debug, Clone, Default)]
pub struct SimpleCommand {
    /// The words as written, one space between them; no assignments, no redirections.
    pub text: String,
    pub words: Vec<Word>,
    pub assignments: Vec<Assignment>,
    pub redirects: Vec<Redirect>,
    /// Where it runs, as far as `cd` in the same script tells.
    pub place: Place,
    /// Which program runs is not known before it does.
    pub opaque: bool,
}

/// `NAME=value` before a program.
#[derive(Debug, Clone)]
pub struct Assignment {
    pub name: String,
    /// As written, for rules that name it.
    pub raw: String,
}

/// A redirection from or into a file.
#[derive(Debug, Clone)]
pub struct Redirect {
    pub target: Word,
    pub write: bool,
}
